/**
 * A reference that came late: its parts take their places among the stored records of trackers, as if they had come in
 * time. Nobody is charged for what is not stored: parts before the first of a tracker, or behind the last one, are left
 * out. What the log says about time that passed, and about the reference of then, no longer counts.
 */
import type { Part } from '../../../adapters/kit/adapter.js';
import type { LogRecord, PartRecord } from '../../store/record.js';
import { pack } from '../../wire/objects.js';

export class LateReference {
  #next = 0;
  #seq = 0;
  #opened = false;
  readonly #trackers = new Set<string>();
  /** by frame number; otherwise by time */
  #numbered: boolean | null = null;

  constructor(
    readonly stream: string,
    readonly parts: readonly Part[],
  ) {}

  /** The records that take the place of a stored one. */
  *among(record: LogRecord): Generator<LogRecord> {
    if (record.kind === 'retire' || record.kind === 'configure') yield record;
    if (record.kind === 'retire' && record.tracker === null) this.#opened = false;
    if (record.kind === 'open' && record.role === 'tracker') yield this.#open(record.tracker!, record.atMs);
    if (record.kind !== 'part' || record.role !== 'tracker') return;
    if (!this.#trackers.has(record.tracker!)) yield this.#open(record.tracker!, record.atMs);
    yield* this.#upTo(record);
    yield record;
  }

  #open(tracker: string, atMs: number): LogRecord {
    this.#trackers.add(tracker);
    return { kind: 'open', stream: this.stream, atMs, role: 'tracker', tracker };
  }

  /** Parts of the reference up to the moment of a tracker's. */
  *#upTo({ part, atMs }: PartRecord): Generator<LogRecord> {
    const { stream, parts } = this;
    this.#numbered ??= part.k !== undefined && parts[0]?.k !== undefined;
    const at = this.#placeOf(part);
    if (at === undefined) return;
    if (!this.#opened) {
      this.#opened = true;
      yield { kind: 'open', stream, atMs, role: 'reference', tracker: null };
      while (this.#next < parts.length && (this.#placeOf(parts[this.#next]) ?? at) < at) this.#next++;
    }
    for (; this.#next < parts.length && (this.#placeOf(parts[this.#next]) ?? at) <= at; this.#next++) {
      const { k, t, objects } = parts[this.#next];
      const own = { ...(k === undefined ? {} : { k }), ...(t === undefined ? {} : { t }) };
      const late = { seq: ++this.#seq, ...own, objects: pack(objects) };
      yield { kind: 'part', stream, atMs, role: 'reference', tracker: null, part: late };
    }
  }

  #placeOf({ k, t }: { k?: number; t?: number }): number | undefined {
    return this.#numbered ? k : t;
  }
}
