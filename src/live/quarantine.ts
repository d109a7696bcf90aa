/**
 * Records that were set aside because applying them failed: one file each in `quarantine` under data.dir, for people to
 * look at and for every later replay to leave out. Whoever deletes a file has its record tried again at the next start,
 * as long as the log still holds it. A log that others may take over holds what is set aside itself: all owners of a
 * partition leave out the same records, and the files are for people only.
 */
import { join } from 'node:path';
import type { Folder } from '../store/folder.js';
import type { DurableLog, SetAside, Stored } from '../store/log-port.js';
import type { LiveLogger } from './logger.js';

/** the oldest go when there are more */
const FILES_MAX = 1000;
const FOLDER = 'quarantine';

/** why a record is set aside that nobody lives to tell about */
export const ENDED_TWICE = 'the process ended twice when it was applied';

export class Quarantine {
  readonly #setAside = new Map<number, SetAside>();
  /** stream: records set aside since the start */
  readonly counts = new Map<string, number>();

  constructor(
    readonly folder: Pick<Folder, 'dir' | 'names' | 'read' | 'write' | 'remove'>,
    readonly logger: Pick<LiveLogger, 'warn' | 'error'>,
    /** positions of records that have ended the process */
    readonly culprits: ReadonlySet<number> = new Set(),
    readonly log: Pick<DurableLog, 'setAside' | 'saveSetAside'> = {},
  ) {
    if (log.setAside) for (const one of log.setAside) this.#setAside.set(one.position, one);
    else for (const name of this.#files()) this.#load(name);
  }

  get size(): number {
    return this.#setAside.size;
  }

  /** Whether a record is left out; one that has ended the process again and again is set aside now. */
  excludes(stored: Stored): boolean {
    if (this.has(stored)) return true;
    if (!this.culprits.has(stored.position)) return false;
    this.add(stored, ENDED_TWICE);
    return true;
  }

  has({ position, record }: Stored): boolean {
    const mark = this.#setAside.get(position);
    return (
      mark !== undefined && mark.stream === record.stream && mark.atMs === record.atMs && mark.kind === record.kind
    );
  }

  /** Sets a record aside for good. */
  add({ position, record }: Stored, reason: string): void {
    const { stream, kind, atMs } = record;
    this.#setAside.set(position, { position, stream, kind, atMs });
    this.log.saveSetAside?.({ position, stream, kind, atMs });
    this.counts.set(stream, (this.counts.get(stream) ?? 0) + 1);
    const name = `${FOLDER}/${String(position).padStart(15, '0')}.json`;
    const file = join(this.folder.dir, name);
    this.logger.error('record_failed', { position, stream, kind, error: reason, file });
    try {
      this.folder.write(name, `${JSON.stringify({ position, stream, kind, atMs, reason, record })}\n`);
      for (const old of this.#files().slice(0, -FILES_MAX)) this.folder.remove(`${FOLDER}/${old}`);
    } catch (error) {
      // it is left out until the next start, and fails there once more
      this.logger.error('quarantine_failed', { file, error });
    }
  }

  #files(): string[] {
    return this.folder.names(FOLDER).filter((name) => name.endsWith('.json'));
  }

  #load(name: string): void {
    try {
      const { position, stream, kind, atMs } = JSON.parse(String(this.folder.read(`${FOLDER}/${name}`)));
      this.#setAside.set(position, { position, stream, kind, atMs });
    } catch (error) {
      this.logger.warn('quarantine_unreadable', { file: join(this.folder.dir, FOLDER, name), error });
    }
  }
}
