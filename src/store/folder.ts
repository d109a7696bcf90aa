/**
 * The data folder as the store and recovery see it: a database, a few small files beside it, and the room that is left.
 * Everything that is kept goes through this door, so that a simulated disk can stand behind it. This one is the real
 * folder under data.dir.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Database, openDatabase } from './database.js';

export interface Space {
  freeBytes: number;
  totalBytes: number;
}

/** A small file that is written in place, again and again; it outlives the process, not the machine. */
export interface MarkFile {
  write(bytes: Uint8Array): void;
  close(): void;
}

export interface Folder {
  /** its path, for people */
  readonly dir: string;
  openDatabase(): Promise<Database>;
  /** the room on its disk */
  space(): Space;
  /** the names of the files in a folder below it, sorted */
  names(folder: string): string[];
  /** null when there is no such file */
  read(name: string): Buffer | null;
  write(name: string, text: string): void;
  remove(name: string): void;
  mark(name: string): MarkFile;
}

export class DataFolder implements Folder {
  constructor(readonly dir: string) {}

  openDatabase(): Promise<Database> {
    return openDatabase(this.dir);
  }

  space(): Space {
    const { bavail, blocks, bsize } = statfsSync(this.dir);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  }

  names(folder: string): string[] {
    try {
      return readdirSync(join(this.dir, folder)).sort();
    } catch {
      return [];
    }
  }

  read(name: string): Buffer | null {
    try {
      return readFileSync(join(this.dir, name));
    } catch {
      return null;
    }
  }

  write(name: string, text: string): void {
    const file = join(this.dir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  remove(name: string): void {
    rmSync(join(this.dir, name), { force: true });
  }

  mark(name: string): MarkFile {
    const fd = openSync(join(this.dir, name), 'w');
    return { write: (bytes) => void writeSync(fd, bytes, 0, bytes.length, 0), close: () => closeSync(fd) };
  }
}
