/**
 * A text on the brokers that one process at a time writes: whoever claims it reads what the one before had written, and
 * from then on that one can write nothing any more.
 */
import type { Cell } from '../cluster/nats/cell.js';

export class OwnedText {
  #saving: Promise<void> = Promise.resolve();

  private constructor(
    readonly cell: Cell,
    /** as it was when it was claimed; empty when there was none */
    readonly text: string,
    private revision: number,
  ) {}

  static async claim(cell: Cell, signal: AbortSignal): Promise<OwnedText> {
    const { revision, bytes } = await cell.read(signal);
    return new OwnedText(cell, Buffer.from(bytes).toString(), await cell.write(revision, bytes, signal));
  }

  /** Resolves when it is stored; rejects when another process has claimed it. */
  save(text: string): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      this.revision = await this.cell.write(this.revision, Buffer.from(text));
    });
    // who does not wait for it hears of it with the next one
    this.#saving.catch(() => {});
    return this.#saving;
  }
}
