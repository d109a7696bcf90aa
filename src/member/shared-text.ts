/**
 * A text on the brokers that any process changes: a change is made to the newest text, again if somebody else was
 * first, and holds once it is stored. What others have stored is heard with all else that processes say.
 */
import { type Cell, type CellValue, FencedError, TooLargeError } from '../cluster/nats/cell.js';
import { HttpFault } from '../edge/http-fault.js';

/** How long somebody waits for the brokers; they may need 9 s to elect a leader, in milliseconds. */
const PATIENCE_MS = 12_000;
const LATE = 'the brokers have not stored it in time; it may hold nevertheless: look before you say it again';

export class SharedText {
  #newest = { revision: 0, text: '' };
  #turn: Promise<void> = Promise.resolve();

  constructor(
    readonly cell: Cell,
    /** the newest value that was heard of */
    readonly heard: () => CellValue,
    readonly patienceMs = PATIENCE_MS,
  ) {}

  get text(): string {
    return this.#learn(this.heard());
  }

  /** Resolves when what `next` makes of the newest text is stored; null leaves it. One change after another. */
  change(next: (text: string) => string | null): Promise<void> {
    const signal = AbortSignal.timeout(this.patienceMs);
    const late = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new HttpFault('not_stored', LATE)));
    });
    const changed = this.#turn.then(() => this.#change(next, signal));
    this.#turn = changed.catch(() => {});
    return Promise.race([changed, late]);
  }

  async #change(next: (text: string) => string | null, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const value = await this.cell.read(signal);
      const text = next(this.#learn(value));
      if (text === null) return;
      const bytes = Buffer.from(text);
      try {
        this.#learn({ revision: await this.cell.write(value.revision, bytes, signal), bytes });
        return;
      } catch (error) {
        if (error instanceof TooLargeError) throw new HttpFault('not_stored', error.message);
        if (!(error instanceof FencedError)) throw error;
      }
    }
  }

  /** The newest that is known by now. */
  #learn({ revision, bytes }: CellValue): string {
    if (revision > this.#newest.revision) this.#newest = { revision, text: Buffer.from(bytes).toString() };
    return this.#newest.text;
  }
}
