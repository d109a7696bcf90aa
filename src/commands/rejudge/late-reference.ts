/**
 * A reference that came late: its parts take their places among the stored records of trackers, as if they had come in
 * time. Nobody is charged for what is not stored: parts before the first of a tracker, or behind the last one, are left
 * out. What the log says about time that passed, and about the reference of then, no longer counts.
 */
import type { Part } from '../../../adapters/kit/adapter.js';
import type { LogRecord, PartRecord } from '../../store/record.js';
import { type FeedPart, type ObjectReport, pack, packReports } from '../../wire/objects.js';

export class LateReference {
  #next = 0;
  #seq = 0;
  #opened = false;
  #lastMs = 0;
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
      while (this.#next < parts.length && this.#isOver(parts[this.#next], at)) this.#next++;
    }
    for (; this.#next < parts.length && (this.#placeOf(parts[this.#next]) ?? at) <= at; this.#next++) {
      yield this.#part(parts[this.#next], atMs);
    }
    this.#lastMs = atMs;
  }

  /** Reports behind the last part of a tracker: they tell where objects were on the way to them. */
  *afterwards(): Generator<LogRecord> {
    for (; this.#opened && this.#next < this.parts.length; this.#next++)
      if (this.parts[this.#next].reports) yield this.#part(this.parts[this.#next], this.#lastMs);
  }

  #part({ k, t, objects, reports }: Part, atMs: number): LogRecord {
    const seq = ++this.#seq;
    const own = { ...(k === undefined ? {} : { k }), ...(t === undefined ? {} : { t }) };
    const placed = objects.find(({ box, point }) => box ?? point);
    const stride = (placed?.box ?? placed?.point)?.length ?? 1;
    const part: FeedPart = reports
      ? { seq, objects: packReports(objects as ObjectReport[], placed?.box ? 'box' : 'point', stride), reports: true }
      : { seq, ...own, objects: pack(objects) };
    return { kind: 'part', stream: this.stream, atMs, role: 'reference', tracker: null, part };
  }

  /** Whether a part is of no use from a moment on; reports tell where objects were on the way from them. */
  #isOver(part: Part, at: number): boolean {
    return !part.reports && (this.#placeOf(part) ?? at) < at;
  }

  #placeOf({ k, t, objects }: Pick<FeedPart, 'k' | 't'> & { objects: unknown }): number | undefined {
    if (this.#numbered) return k;
    const { times } = objects as Partial<FeedPart['objects']>;
    return t ?? (times && Math.max(...times.map((time) => time ?? 0)));
  }
}
