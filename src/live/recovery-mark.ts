/**
 * The record that recovery is at, in a file under data.dir that outlives the process: a record that has ended it twice
 * in a row is known at the third start. Being killed from outside once, or at two different records, proves nothing.
 */
import type { Folder, MarkFile } from '../store/folder.js';

/** deaths at the same record after which the record is to blame */
const DEATHS_MAX = 2;
const FILE = 'recovering';

export class RecoveryMark {
  readonly #file: MarkFile;
  readonly #bytes = Buffer.alloc(8);
  /** position of the record that ended the process again and again; 0 when there is none */
  readonly culprit: number;

  constructor(readonly folder: Pick<Folder, 'read' | 'mark' | 'remove'>) {
    const [position, before, deaths] = this.#read();
    const count = position === 0 ? deaths : position === before ? deaths + 1 : 1;
    const last = position || before;
    this.culprit = count >= DEATHS_MAX ? last : 0;
    this.#file = folder.mark(FILE);
    const numbers = Buffer.alloc(24);
    for (const [n, value] of [0, last, count].entries()) numbers.writeDoubleLE(value, n * 8);
    this.#file.write(numbers);
  }

  /** This record is about to be applied. */
  at(position: number): void {
    this.#bytes.writeDoubleLE(position);
    this.#file.write(this.#bytes);
  }

  /** Recovery has come through. */
  close(): void {
    this.#file.close();
    this.folder.remove(FILE);
  }

  /** Position, the one before it, and deaths there. */
  #read(): [number, number, number] {
    const bytes = this.folder.read(FILE);
    if (!bytes || bytes.length < 24) return [0, 0, 0];
    return [bytes.readDoubleLE(0), bytes.readDoubleLE(8), bytes.readDoubleLE(16)];
  }
}
