/**
 * A simulated disk with one data folder. What was written with `sync` outlives every process; what is under way when
 * its process dies is there or not, as a whole, which is what LevelDB makes of a torn write. It can be slow, full, or
 * fail with the write done or not, and it can be damaged while nobody uses it.
 */
import type { Database, Operation, Range } from '../../src/store/database.js';
import type { Folder, MarkFile, Space } from '../../src/store/folder.js';
import type { Process, World } from './world.js';

export type DiskFault = 'full' | 'failing' | 'slow' | 'none';

const FREE: Space = { freeBytes: 1e12, totalBytes: 2e12 };
const FULL: Space = { freeBytes: 1e6, totalBytes: 2e12 };

export class Disk {
  readonly data = new Map<string, Buffer>();
  readonly files = new Map<string, Buffer>();
  fault: DiskFault = 'none';
  /** milliseconds of a write, from and to */
  writeMs: [number, number] = [0.2, 4];
  #keys: string[] | null = null;

  constructor(readonly world: World) {}

  folder(process: Process): Folder {
    return new SimulatedFolder(this, process);
  }

  /** Keys in order. */
  get keys(): string[] {
    this.#keys ??= [...this.data.keys()].sort();
    return this.#keys;
  }

  apply(operations: readonly Operation[]): void {
    this.#keys = null;
    for (const operation of operations)
      if (operation.type === 'put') this.data.set(operation.key, Buffer.from(operation.value));
      else this.data.delete(operation.key);
  }

  /** Changes something that is stored, while nobody has it open; says what. */
  damage(): string {
    const { world, keys } = this;
    const key = keys[Math.floor(world.random() * keys.length)];
    if (world.chance(0.25)) {
      this.apply([{ type: 'del', key }]);
      return `lost ${key}`;
    }
    const value = Buffer.from(this.data.get(key)!);
    if (value.length === 0) return 'nothing';
    const at = Math.floor(world.random() * value.length);
    value[at] ^= 1 << Math.floor(world.random() * 8);
    this.apply([{ type: 'put', key, value }]);
    return `flipped byte ${at} of ${key}`;
  }

  /** The end of what was written last is gone. */
  cutTail(): string {
    const commits = this.keys.filter((key) => key.startsWith('b'));
    const count = Math.min(commits.length, 1 + Math.floor(this.world.random() * 5));
    this.apply(commits.slice(-count).map((key) => ({ type: 'del', key })));
    return `lost the last ${count} commits`;
  }

  /** The machine lost its power: marks that were never flushed are older than they were, or gone. */
  losePower(): void {
    for (const name of [...this.files.keys()]) if (this.world.chance(0.5)) this.files.delete(name);
  }
}

class SimulatedFolder implements Folder {
  readonly dir = 'data';

  constructor(
    readonly disk: Disk,
    readonly process: Process,
  ) {}

  async openDatabase(): Promise<Database> {
    await this.disk.world.delay(this.disk.world.between(1, 20), this.process);
    return new SimulatedDatabase(this.disk, this.process);
  }

  space(): Space {
    return this.disk.fault === 'full' ? FULL : FREE;
  }

  names(folder: string): string[] {
    const prefix = `${folder}/`;
    return [...this.disk.files.keys()]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length))
      .sort();
  }

  read(name: string): Buffer | null {
    return this.disk.files.get(name) ?? null;
  }

  write(name: string, text: string): void {
    this.disk.files.set(name, Buffer.from(text));
  }

  remove(name: string): void {
    this.disk.files.delete(name);
  }

  mark(name: string): MarkFile {
    this.disk.files.set(name, Buffer.alloc(0));
    return {
      write: (bytes) => {
        const before = this.disk.files.get(name);
        if (before && before.length >= bytes.length) before.set(bytes);
        else this.disk.files.set(name, Buffer.from(bytes));
      },
      close() {},
    };
  }
}

class SimulatedDatabase implements Database {
  #closed = false;

  constructor(
    readonly disk: Disk,
    readonly process: Process,
  ) {}

  get #world(): World {
    return this.disk.world;
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('Database is not open');
  }

  async #read(): Promise<void> {
    this.#assertOpen();
    await this.#world.delay(this.#world.between(0.01, 0.2), this.process);
  }

  async get(key: string): Promise<Buffer | undefined> {
    await this.#read();
    return this.disk.data.get(key);
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined;
  }

  put(key: string, value: Buffer): Promise<void> {
    return this.batch([{ type: 'put', key, value }]);
  }

  async batch(operations: Operation[]): Promise<void> {
    this.#assertOpen();
    const { disk, process } = this;
    const world = this.#world;
    // what is handed over may be filled again once this has resolved
    const own = operations.map((one) => (one.type === 'put' ? { ...one, value: Buffer.from(one.value) } : one));
    const [leastMs, mostMs] = disk.fault === 'slow' ? [100, 1500] : disk.writeMs;
    const totalMs = world.between(leastMs, mostMs);
    const failing = disk.fault === 'failing' || disk.fault === 'full';
    // somewhere within its time it is on the disk, whether or not anybody hears of it
    const arrives = !failing || (disk.fault === 'failing' && world.chance(0.5));
    if (arrives) await this.#arrive(own, totalMs * world.random());
    else await world.delay(totalMs * 0.5, process);
    await world.delay(totalMs * 0.5, process);
    if (failing)
      throw new Error('batch failed', {
        cause: new Error(disk.fault === 'full' ? 'IO error: No space left on device' : 'IO error: Input/output error'),
      });
  }

  /** A write that has left the process arrives, although that may die meanwhile. */
  async #arrive(operations: Operation[], delayMs: number): Promise<void> {
    const world = this.#world;
    const handedOver = world.chance(0.5);
    if (!handedOver) {
      await world.delay(delayMs, this.process);
      this.disk.apply(operations);
      return;
    }
    // the kernel has it: the death of the process no longer matters
    this.disk.apply(operations);
    await world.delay(delayMs, this.process);
  }

  async *iterator(range: Range): AsyncGenerator<[string, Buffer]> {
    await this.#read();
    for (const key of this.#keysIn(range)) {
      const value = this.disk.data.get(key);
      if (value) yield [key, value];
    }
  }

  async *keys(range: Range): AsyncGenerator<string> {
    await this.#read();
    yield* this.#keysIn(range);
  }

  #keysIn({ gte, lt, reverse, limit = Number.POSITIVE_INFINITY }: Range): string[] {
    const found = this.disk.keys.filter((key) => key >= gte && key < lt);
    if (reverse) found.reverse();
    return found.slice(0, limit);
  }

  async compactRange(): Promise<void> {
    await this.#read();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#world.delay(1, this.process);
  }
}
