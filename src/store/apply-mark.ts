/**
 * The record that is being applied, in a file beside the store that outlives the process: a record that has ended it
 * twice is known at the next start. Being killed from outside once, or at two different
 * records, proves nothing. The file is gone after a clean end; where there is one, the records that were stored by then
 * are marked one by one when they are applied again, and no others: a mark costs a tenth of what a frame does.
 *
 * Layout, all float64: its position, 0 in between, and unused slots, which earlier versions had for further threads;
 * then positions and how often the process has died at each of them.
 */
import type { Folder, MarkFile } from './folder.js';

/** deaths at the same record after which the record is to blame */
const DEATHS_MAX = 2;
const SLOTS = 64;
const FILE = 'applying';

export class ApplyMark {
  readonly #file: MarkFile;
  readonly #bytes = Buffer.alloc(8);
  #position = 0;
  /** positions of records that have ended the process again and again */
  readonly culprits: ReadonlySet<number>;
  readonly #watchedUpTo: number;

  /** `lastPosition`: that of the newest record in the log. */
  constructor(
    readonly folder: Folder,
    lastPosition: number,
  ) {
    this.#watchedUpTo = folder.read(FILE) ? lastPosition : 0;
    const deaths = this.#read();
    this.culprits = new Set([...deaths].flatMap(([position, count]) => (count >= DEATHS_MAX ? [position] : [])));
    this.#file = folder.mark(FILE);
    const numbers = new Float64Array(3 * SLOTS);
    for (const [n, entry] of [...deaths].slice(0, SLOTS).entries()) numbers.set(entry, SLOTS + 2 * n);
    this.#file.write(Buffer.from(numbers.buffer));
  }

  /** This record is about to be applied; 0: none is. */
  at(position: number): void {
    const watched = position <= this.#watchedUpTo ? position : 0;
    if (watched === this.#position) return;
    this.#position = watched;
    this.#bytes.writeDoubleLE(watched);
    this.#file.write(this.#bytes);
  }

  /** The process ends, with nothing being applied. */
  close(clean: boolean): void {
    this.#file.close();
    if (clean) this.folder.remove(FILE);
  }

  /** Position: deaths there in a row. */
  #read(): Map<number, number> {
    const bytes = this.folder.read(FILE);
    if (!bytes || bytes.length < 3 * SLOTS * 8) return new Map();
    const numbers = new Float64Array(Uint8Array.from(bytes).buffer);
    const before = new Map<number, number>();
    for (let n = 0; n < SLOTS; n++) {
      const [position, deaths] = numbers.subarray(SLOTS + 2 * n, SLOTS + 2 * n + 2);
      if (position > 0) before.set(position, deaths);
    }
    const running = numbers.subarray(0, SLOTS).filter((position) => position > 0);
    if (running.length === 0) return before;
    return new Map([...running].map((position) => [position, (before.get(position) ?? 0) + 1]));
  }
}
