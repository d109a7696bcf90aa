/**
 * The record that recovery is at, in a file under data.dir that outlives the process: a record that has ended it twice
 * in a row is known at the third start. Being killed from outside once, or at two different records, proves nothing.
 */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** deaths at the same record after which the record is to blame */
const DEATHS_MAX = 2;

export class RecoveryMark {
  readonly #file: string;
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(8);
  /** position of the record that ended the process again and again; 0 when there is none */
  readonly culprit: number;

  constructor(dir: string) {
    this.#file = join(dir, 'recovering');
    const [position, before, deaths] = this.#read();
    const count = position === 0 ? deaths : position === before ? deaths + 1 : 1;
    const last = position || before;
    this.culprit = count >= DEATHS_MAX ? last : 0;
    this.#fd = openSync(this.#file, 'w');
    const numbers = Buffer.alloc(24);
    for (const [n, value] of [0, last, count].entries()) numbers.writeDoubleLE(value, n * 8);
    writeSync(this.#fd, numbers, 0, numbers.length, 0);
  }

  /** This record is about to be applied. */
  at(position: number): void {
    this.#bytes.writeDoubleLE(position);
    writeSync(this.#fd, this.#bytes, 0, 8, 0);
  }

  /** Recovery has come through. */
  close(): void {
    closeSync(this.#fd);
    rmSync(this.#file, { force: true });
  }

  /** Position, the one before it, and deaths there. */
  #read(): [number, number, number] {
    try {
      const bytes = readFileSync(this.#file);
      return [bytes.readDoubleLE(0), bytes.readDoubleLE(8), bytes.readDoubleLE(16)];
    } catch {
      return [0, 0, 0];
    }
  }
}
