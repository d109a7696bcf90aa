/**
 * The objects of feeds that report them one by one, as trajectories: where each of them is at any time. Several feeds
 * of one side may know the same object; then the one that heard of it last is believed. What two reports more than the
 * greatest gap apart leave open is not judged, and so is who should have been heard of again. An id that ends, or comes
 * back after the greatest gap, is a new trajectory: its epoch is part of its name from the second one on.
 *
 * Bounded: by the number of objects, reports of each, and names of those that are gone. State is plain JSON.
 */
import type { SkipRule } from '../wire/codes.js';
import { type FeedPart, NO_OBJECTS, type PackedList, putExtra, type Shape } from '../wire/objects.js';
import { between, beyond, type Motion, onwards } from './motion.js';
import { addInterval, type Intervals, longestInterval, noIntervals, usualInterval } from './report-intervals.js';

export interface ReportLimits {
  /** milliseconds between two reports beyond which nothing is known in between */
  greatestGapMs: number;
  idsMax: number;
  reportsPerIdMax: number;
}

/** One report; a place of NaN says only that the object has ended. */
interface Mark extends Motion {
  epoch: number;
  kind?: string;
  confidence?: number;
  ignored?: boolean;
  ended?: boolean;
}

interface Known {
  epoch: number;
  /** of the newest report, epoch milliseconds */
  last: number;
  ended: boolean;
  /** by feed, in the order of their times */
  feeds: Record<string, Mark[]>;
}

/** Plain JSON. */
export interface TrajectoriesState {
  shape: Shape;
  stride: number;
  known: Array<[id: string, known: Known]>;
  /** epochs of those that are forgotten */
  epochs: Array<[id: string, epoch: number]>;
  intervals: Intervals;
  /** how old the report before was, by the newest of anybody, when an object was heard of again */
  waits: Intervals;
  firstMs: number;
  /** of all, and of all but the object that has it: it alone may be wrong */
  newestMs: number;
  newestId: string | null;
  othersMs: number;
  closedMs: number;
}

/** What was not taken of a message, by rule. */
export type Untaken = Record<
  Extract<SkipRule, 'report_repeated' | 'report_late' | 'report_ahead' | 'ids_exceeded'>,
  number
>;

/** The objects of a side at one moment; `unclear` are those that are there, perhaps, and are not judged. */
export interface Picture {
  objects: PackedList;
  unclear: PackedList;
}

/** the share of reports that must come in time for positions between them */
const TIMELY_SHARE = 0.95;
/** objects of which one may be out of line: of two nobody knows which */
const BELIEVED_MIN = 3;

type Found = { place: number[]; mark: Mark; clear: boolean } | null;

export class Trajectories {
  readonly #known: Map<string, Known>;
  readonly #epochs: Map<string, number>;
  readonly #state: Omit<TrajectoriesState, 'known' | 'epochs'>;

  constructor(
    readonly limits: ReportLimits,
    readonly onEarth: boolean,
    state?: TrajectoriesState,
  ) {
    const { known = [], epochs = [], ...rest } = state ?? fresh();
    this.#known = new Map(known);
    this.#epochs = new Map(epochs);
    this.#state = rest;
  }

  /** Of the oldest and the newest report there was, epoch milliseconds. */
  get firstMs(): number {
    return this.#state.firstMs;
  }

  /** Up to the greatest gap one object may be ahead of all others; beyond it, its clock is wrong. */
  get newestMs(): number {
    const { newestMs, othersMs } = this.#state;
    return this.#isAhead(newestMs) ? othersMs : newestMs;
  }

  #isAhead(t: number): boolean {
    return this.#known.size >= BELIEVED_MIN && t - this.#state.othersMs > this.limits.greatestGapMs;
  }

  /** How many objects are known. */
  get size(): number {
    return this.#known.size;
  }

  /** Half of the reports of an object follow each other faster than this, milliseconds; null while nothing is known. */
  get medianIntervalMs(): number | null {
    return usualInterval(this.#state.intervals, 0.5);
  }

  /** A lateness with which nearly all of them come in time to know what lies in between, whatever their order. */
  get timelyMs(): number | null {
    return longestInterval(this.#state.waits, TIMELY_SHARE);
  }

  /** Adds what a feed says; objects without a time of their own have that of their frame, or `receivedMs`. */
  add(feed: string, { objects, t }: FeedPart, receivedMs: number): Untaken {
    const untaken: Untaken = { report_repeated: 0, report_late: 0, report_ahead: 0, ids_exceeded: 0 };
    if (objects.ids.length > 0) Object.assign(this.#state, { shape: objects.shape, stride: objects.stride });
    for (let n = 0; n < objects.ids.length; n++) {
      const own = objects.times?.[n] ?? t;
      this.#addOne(feed, objects, n, own === undefined ? receivedMs : own * 1000, untaken);
    }
    return untaken;
  }

  #addOne(feed: string, objects: PackedList, n: number, t: number, untaken: Untaken): void {
    const id = objects.ids[n];
    const known = this.#known.get(id) ?? this.#meet(id, t, untaken);
    const marks = known.feeds[feed] ?? [];
    if (marks.some((mark) => mark.t === t)) {
      untaken.report_repeated++;
      return;
    }
    if (t <= this.#state.closedMs) {
      untaken.report_late++;
      // the best there is from now on, unless something newer is known
      if (t < known.last) return;
    }
    this.#state.firstMs = Math.min(this.#state.firstMs, t);
    this.#reach(id, t);
    if (this.#state.newestId === id && this.#isAhead(t)) untaken.report_ahead++;
    const newest = marks[marks.length - 1];
    if (newest && t > newest.t) this.#count(newest.t, t);
    if (t > known.last && (known.ended || t - known.last > this.limits.greatestGapMs)) known.epoch++;
    insertMark(marks, markOf(objects, n, t, known.epoch));
    if (marks.length > this.limits.reportsPerIdMax) marks.shift();
    known.feeds[feed] = marks;
    if (t < known.last) return;
    known.last = t;
    known.ended = objects.ended?.[n] === true;
    // the one not heard of for longest comes first
    this.#known.delete(id);
    this.#known.set(id, known);
  }

  #reach(id: string, t: number): void {
    const state = this.#state;
    if (id === state.newestId) state.newestMs = Math.max(state.newestMs, t);
    else if (t > state.newestMs) Object.assign(state, { othersMs: state.newestMs, newestId: id, newestMs: t });
    else state.othersMs = Math.max(state.othersMs, t);
  }

  /** Who comes back after the greatest gap was not waited for. */
  #count(before: number, t: number): void {
    const { intervals, waits } = this.#state;
    addInterval(intervals, t - before);
    if (t - before <= this.limits.greatestGapMs) addInterval(waits, Math.max(this.newestMs, t) - before);
  }

  /** An object that is new, or was forgotten. */
  #meet(id: string, t: number, untaken: Untaken): Known {
    const before = this.#epochs.get(id);
    this.#epochs.delete(id);
    const known: Known = { epoch: before === undefined ? 0 : before + 1, last: t, ended: false, feeds: {} };
    if (this.#known.size >= this.limits.idsMax) {
      const [oldest, gone] = this.#known.entries().next().value!;
      this.#forget(oldest, gone);
      untaken.ids_exceeded++;
    }
    this.#known.set(id, known);
    return known;
  }

  #forget(id: string, { epoch }: Known): void {
    this.#known.delete(id);
    this.#epochs.set(id, epoch);
    if (this.#epochs.size > this.limits.idsMax) this.#epochs.delete(this.#epochs.keys().next().value!);
  }

  /**
   * Who is where at a time. So long the last report that is known speaks for an object; whoever should have been heard
   * of again by then is unclear.
   */
  at(t: number, heldMs: number): Picture {
    const clear: Array<[string, number[], Mark]> = [];
    const unclear: Array<[string, number[], Mark]> = [];
    for (const [id, known] of this.#known) {
      const found = this.#find(known, t, heldMs);
      if (!found) continue;
      const { epoch } = found.mark;
      const name = epoch === 0 ? id : `${id}#${epoch + 1}`;
      const isClear = found.clear && !found.mark.ignored;
      (isClear ? clear : unclear).push([name, found.place, found.mark]);
    }
    return { objects: this.#list(clear), unclear: this.#list(unclear) };
  }

  /** What the feed says that heard of the object last; who knows it for certain goes first. */
  #find({ feeds }: Known, t: number, heldMs: number): Found {
    let best: Found = null;
    for (const marks of Object.values(feeds)) {
      const found = this.#amongMarks(marks, t, heldMs);
      if (!found) continue;
      if (!best || (found.clear && !best.clear) || (found.clear === best.clear && found.mark.t > best.mark.t))
        best = found;
    }
    return best;
  }

  #amongMarks(marks: readonly Mark[], t: number, heldMs: number): Found {
    let at = marks.length - 1;
    while (at >= 0 && marks[at].t > t) at--;
    if (at < 0) return null;
    const before = marks[at];
    const after = marks[at + 1];
    if (before.ended && before.t < t) return null;
    if (Number.isNaN(before.place[0])) return null;
    if (before.t === t) return { place: before.place, mark: before, clear: true };
    if (!after) return this.#after(before, marks[at - 1], t, heldMs);
    const isPlaced = !Number.isNaN(after.place[0]);
    const place = isPlaced ? between(before, after, t, this.onEarth) : this.#onwards(before, marks[at - 1], t);
    return { place, mark: before, clear: after.t - before.t <= this.limits.greatestGapMs };
  }

  /** After the last report that is known of. */
  #after(mark: Mark, earlier: Mark | undefined, t: number, heldMs: number): Found {
    if (t - mark.t > this.limits.greatestGapMs) return null;
    return { place: this.#onwards(mark, earlier, t), mark, clear: t - mark.t <= heldMs };
  }

  /** As it said that it moves, or as it came from the report before; one that is too old tells nothing. */
  #onwards(mark: Mark, earlier: Mark | undefined, t: number): number[] {
    const isKnown = earlier && earlier.epoch === mark.epoch && mark.t - earlier.t <= this.limits.greatestGapMs;
    if (mark.velocity || !isKnown || Number.isNaN(earlier.place[0])) return onwards(mark, t, this.onEarth);
    return beyond(earlier, mark, t, this.onEarth);
  }

  #list(found: Array<[string, number[], Mark]>): PackedList {
    if (found.length === 0) return NO_OBJECTS;
    const { shape, stride } = this.#state;
    const ids = found.map(([name]) => name);
    const list: PackedList = { shape, stride, ids, coordinates: found.flatMap(([, place]) => place) };
    for (const [n, [, , { kind, confidence }]] of found.entries()) {
      if (kind !== undefined) putExtra(list, 'classes', n, kind);
      if (confidence !== undefined) putExtra(list, 'confidences', n, confidence);
    }
    return list;
  }

  /** Nobody will ask about a time up to this one again. */
  close(t: number): void {
    if (t <= this.#state.closedMs) return;
    this.#state.closedMs = t;
    for (const [id, known] of this.#known) {
      if (known.last < t - this.limits.greatestGapMs) this.#forget(id, known);
      else for (const marks of Object.values(known.feeds)) dropBefore(marks, t);
    }
  }

  /** Another scene from now on, at any time; how often reports come is still known. */
  restart(): void {
    this.#known.clear();
    this.#epochs.clear();
    const { intervals, waits } = this.#state;
    const { known: _known, epochs: _epochs, ...rest } = fresh();
    Object.assign(this.#state, rest, { intervals, waits });
  }

  toJSON(): TrajectoriesState {
    return { ...this.#state, known: [...this.#known], epochs: [...this.#epochs] };
  }
}

const fresh = (): TrajectoriesState => ({
  shape: 'point',
  stride: 0,
  known: [],
  epochs: [],
  intervals: noIntervals(),
  waits: noIntervals(),
  firstMs: Number.MAX_VALUE,
  newestMs: -Number.MAX_VALUE,
  newestId: null,
  othersMs: -Number.MAX_VALUE,
  closedMs: -Number.MAX_VALUE,
});

function markOf({ coordinates, stride, ...extras }: PackedList, n: number, t: number, epoch: number): Mark {
  const mark: Mark = { t, place: coordinates.slice(n * stride, (n + 1) * stride), epoch };
  const { velocities, classes, confidences, ignored, ended } = extras;
  if (velocities?.[n]) mark.velocity = velocities[n];
  if (classes?.[n] != null) mark.kind = classes[n]!;
  if (confidences?.[n] != null) mark.confidence = confidences[n]!;
  if (ignored?.[n]) mark.ignored = true;
  if (ended?.[n]) mark.ended = true;
  return mark;
}

function insertMark(marks: Mark[], mark: Mark): void {
  let at = marks.length;
  while (at > 0 && marks[at - 1].t > mark.t) at--;
  marks.splice(at, 0, mark);
}

/** Keeps the last two at or before this time, which tell where an object goes, and those after it. */
function dropBefore(marks: Mark[], t: number): void {
  let at = 0;
  while (at + 2 < marks.length && marks[at + 2].t <= t) at++;
  if (at > 0) marks.splice(0, at);
}
