/**
 * Up to which record everything was acked, in a file beside the store: a store that was cut in its tail looks like one
 * that was never longer.
 */
import { crc32 } from 'node:zlib';
import type { Folder, MarkFile } from './folder.js';

const FILE = 'acked';

/** The file that says up to which record everything was acked; it outlives the process, not the machine. */
export class AckedMark {
  #file: MarkFile | null = null;

  constructor(readonly folder: Pick<Folder, 'read' | 'mark'>) {}

  /** 0 when there is none, or it is damaged itself. */
  read(): number {
    const [position = '', checksum] = this.folder.read(FILE)?.toString().trim().split(' ') ?? [];
    return crc32(position) === Number(checksum) ? Number(position) : 0;
  }

  write(position: number): void {
    this.#file ??= this.folder.mark(FILE);
    this.#file.write(Buffer.from(`${`${position} ${crc32(String(position))}`.padEnd(40)}\n`));
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }
}
