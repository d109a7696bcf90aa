/**
 * The room on the disk, looked at before every commit but not more often than needed: a store that fills its disk
 * cannot even be compacted, so the last of it is left free.
 */
import type { Folder } from './folder.js';
import { StorageFault } from './storage-fault.js';

const CHECK_MS = 100;

export class FreeSpace {
  #checkedMs = 0;

  constructor(
    readonly folder: Pick<Folder, 'dir' | 'space'>,
    /** or a twentieth of a small disk */
    readonly minFreeBytes: number,
  ) {}

  /** What is free, and how much of it must stay so. */
  room(): { freeBytes: number; neededBytes: number } {
    const { freeBytes, totalBytes } = this.folder.space();
    return { freeBytes, neededBytes: Math.min(this.minFreeBytes, Math.floor(totalBytes / 20)) };
  }

  /** Throws when there is too little room to go on safely; `now` looks whether or not it is time. */
  check(now = false): void {
    const timeMs = performance.now();
    if (!now && timeMs - this.#checkedMs < CHECK_MS) return;
    const { freeBytes, neededBytes: least } = this.room();
    if (freeBytes < least)
      throw new StorageFault(
        'storage_full',
        `${freeBytes} bytes are free at ${this.folder.dir} and ${least} are needed; free some space, or lower data.minFreeBytes (now ${this.minFreeBytes})`,
      );
    this.#checkedMs = timeMs;
  }
}
