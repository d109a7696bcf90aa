/**
 * The record that is being applied, in a file beside the store that outlives the process: a record that has ended it
 * twice is known at the next start. Being killed from outside once, or at two different
 * records, proves nothing. The file is gone after a clean end; where there is one, the records that were stored by then
 * are marked one by one when they are applied again, and no others: a mark costs a tenth of what a frame does.
 *
 * On a log that others may take over, the log knows how often processes have ended at which record. All records of a
 * takeover are marked, a process that comes back tells the others where it ended, and the file is gone as soon as the
 * process has let go of the log.
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

  /** `lastPosition`: that of the newest record in the log. `told`: deaths by position, where the log knows them. */
  constructor(
    readonly folder: Folder,
    lastPosition: number,
    readonly told?: ReadonlyMap<number, number>,
  ) {
    this.#watchedUpTo = told || folder.read(FILE) ? lastPosition : 0;
    const deaths = told ?? deathsIn(folder);
    this.culprits = new Set([...deaths].flatMap(([position, count]) => (count >= DEATHS_MAX ? [position] : [])));
    this.#file = folder.mark(FILE);
    const numbers = new Float64Array(3 * SLOTS);
    if (!told) for (const [n, entry] of [...deaths].slice(0, SLOTS).entries()) numbers.set(entry, SLOTS + 2 * n);
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
    if (clean || this.told) this.folder.remove(FILE);
  }

  /** The records that the process before was applying when it ended; to be asked once. */
  static handOver(folder: Folder): number[] {
    const deaths = deathsIn(folder);
    folder.remove(FILE);
    return [...deaths.keys()];
  }
}

/** Position: deaths there in a row. */
function deathsIn(folder: Folder): Map<number, number> {
  const bytes = folder.read(FILE);
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
