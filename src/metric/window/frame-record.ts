/**
 * A frame in the window: its objects, its pairs and what is assigned.
 */

import { ExactSum } from './exact-sum.js';
import type { Kinds, PackedFrame } from './packed-frame.js';
import { benefitQuanta, roundedOff } from './quanta.js';
import { firstOf, joined, secondOf } from './short-numbers.js';
import { aloneOf, power, priceShare, type Tariff, type Units } from './tariff.js';
import type { Edge, Trajectory } from './trajectory.js';

/** cut to length it is a new list, faster than by filling that */
const zeros: 0[] = [];
/**
 * where the numbers of a frame are put together; never holds anything but fractions at first, so that it and its copies
 * are flat in memory
 */
const draft: number[] = [0.5];

/** the ends of a pair in one number: what the index of the truth is multiplied by */
const ENDS = 2 ** 26;

export type { Kinds, PackedFeed, PackedFrame } from './packed-frame.js';

/** Of each pair whether it is assigned, and the half-switches on the way into the frame. */
export interface FrameAssignment {
  on: number[];
  halves: number;
  /** of frames that do not have all of their pairs, which they have, by the places of their ends */
  pairs?: { truth: number[]; track: number[] };
}

/** Some pairs of a frame with the slots of their ends, to go through them again and again. */
export interface PairList {
  readonly number: number;
  readonly pairs: Int32Array;
  readonly truths: Int32Array;
  readonly tracks: Int32Array;
  /** of a frame that lacks pairs: the slots of everybody in it */
  readonly seen: Int32Array | null;
  /** what the pairs earn */
  readonly earned: number;
}

/** Puts coordinates into the draft from a place on, two and two; where it ends, or -1 where one is not short. */
function draftShort(coordinates: ArrayLike<number>, count: number, from: number): number {
  if (from < 0) return from;
  let at = from;
  for (let n = 0; n < count; n += 2) {
    const both = joined(coordinates[n], n + 1 < count ? coordinates[n + 1] : 0);
    if (Number.isNaN(both)) return -1;
    draft[at++] = both;
  }
  return at;
}

/** The same one by one. */
function draftAll(coordinates: ArrayLike<number>, count: number, from: number): number {
  for (let n = 0; n < count; n++) draft[from + n] = coordinates[n];
  return from + count;
}

/** A frame in the window. Pairs are ordered by truth, then track. */
export class FrameRecord {
  /** sums over the assigned pairs, valid unless `touched` */
  proper = 0;
  localization = 0;
  /**
   * what another assignment may gain because benefits were rounded, in parts of a quantum, and the cheapest of those
   * pairs; whole numbers, which need no memory of their own
   */
  rounding = 0;
  roundedPair = -1;
  /** what of it is counted in the totals of the window, of which its half-switches always are; null once it is left */
  tally: Tally | null = null;
  countedProper = 0;
  countedLocalization = 0;
  private ownHalves = 0;
  touched = false;
  /** not all of its pairs are here */
  thinned = false;
  /** what the engine that works it knows of it */
  annex: unknown = null;
  /** the pairs that are assigned, once somebody has asked for them (changes.ts) */
  assigned: PairList | null = null;
  /** of each pair what it was in the last solve, while another goes on */
  private remembered: number[] | null = null;

  readonly stride: number;
  /**
   * One piece of memory, because most of what a window holds is here: the coordinates of the truths and of the tracks,
   * `stride` for each, two and two where they are short; then of each pair distance^p; then of each pair 1 where it is
   * assigned, or between 0 and 1 in a fractional optimum; then of each pair the indices of its truth and its track in
   * this frame; then, in frames in which some cost less than the full price alone, of each truth and each track the
   * share of the price, and what it costs alone before it is raised to the exponent. A plain list: a typed array of
   * this size takes longer to make than to fill, and dies as young.
   */
  private readonly values: number[];
  private readonly isShort: boolean;
  readonly pairCount: number;
  private readonly costAt: number;
  private readonly onAt: number;
  private readonly endsAt: number;
  /** -1 where everybody costs the full price alone */
  private readonly sharesAt: number;
  /** as they came */
  readonly truthKinds: Kinds | null;
  readonly trackKinds: Kinds | null;
  /** what is missed and false in prices of a full miss and a full false object, where shares differ */
  private missedShares = 0;
  private falseShares = 0;
  private missedJudged = 0;
  private falseJudged = 0;

  constructor(
    readonly number: number,
    packed: PackedFrame,
    readonly truths: Trajectory[],
    readonly tracks: Trajectory[],
    /** of each pair; none in per-frame GOSPA; not changed once the frame has entered */
    public edges: readonly Edge[],
    found: FoundPairs,
    readonly tariff: Tariff,
  ) {
    const { count, truth, track, distance } = found;
    const { reference, tracker, stride } = packed;
    this.stride = stride;
    this.pairCount = count;
    const [ofTruths, ofTracks] = [truths.length * stride, tracks.length * stride];
    let at = draftShort(tracker.coordinates, ofTracks, draftShort(reference.coordinates, ofTruths, 0));
    this.isShort = at >= 0;
    if (at < 0) at = draftAll(tracker.coordinates, ofTracks, draftAll(reference.coordinates, ofTruths, 0));
    this.costAt = at;
    this.onAt = this.costAt + count;
    this.endsAt = this.onAt + count;
    for (let pair = 0; pair < count; pair++) draft[at++] = power(distance[pair], tariff.exponent);
    for (let pair = 0; pair < count; pair++) draft[at++] = 0;
    for (let pair = 0; pair < count; pair++) draft[at++] = truth[pair] * ENDS + track[pair];
    this.truthKinds = reference.kinds ?? null;
    this.trackKinds = tracker.kinds ?? null;
    this.sharesAt = reference.alone || tracker.alone ? at : -1;
    if (this.sharesAt >= 0) at = this.draftShares(packed, at);
    this.values = draft.slice(0, at);
  }

  private draftShares({ reference, tracker }: PackedFrame, from: number): number {
    const { tariff } = this;
    let at = from;
    const objects = this.truths.length + this.tracks.length;
    for (const feed of [reference, tracker]) {
      const alone = aloneOf(feed, tariff);
      for (let n = 0; n < feed.ids.length; n++) {
        draft[at + objects] = alone(n);
        draft[at++] = priceShare(alone(n), tariff);
      }
    }
    return at + objects;
  }

  /** Half-switches on the way into this frame. */
  get halves(): number {
    return this.ownHalves;
  }

  set halves(halves: number) {
    if (this.tally !== null) this.tally.halves += halves - this.ownHalves;
    this.ownHalves = halves;
  }

  /** Whether some cost less than the full price alone. */
  get hasShares(): boolean {
    return this.sharesAt >= 0;
  }

  /** c^p */
  get unit(): number {
    return this.tariff.unit;
  }

  /** distance^p of a pair. */
  distanceCost(pair: number): number {
    return this.values[this.costAt + pair];
  }

  /**
   * c^p less what a pair earns: distance^p, and what its ends cost less than the full price alone; below c^p, for every
   * pair earns something.
   */
  cost(pair: number): number {
    const cost = this.values[this.costAt + pair];
    return this.sharesAt < 0 ? cost : Math.min(cost + this.excused(pair), this.unit * ALMOST);
  }

  /** What a pair earns in quanta, not rounded; no digit is lost where its ends cost next to nothing alone. */
  earned(pair: number): number {
    return this.saved(pair) - this.spent(pair);
  }

  /** Quanta that the ends of a pair would cost alone, and those that it costs instead. */
  private saved(pair: number): number {
    const { missed, false: falsePrice, quanta, unit } = this.tariff;
    if (this.sharesAt < 0) return quanta;
    return ((missed * this.truthShare(pair) + falsePrice * this.trackShare(pair)) / unit) * quanta;
  }

  private spent(pair: number): number {
    return (this.values[this.costAt + pair] / this.unit) * this.tariff.quanta;
  }

  private excused(pair: number): number {
    const { missed, false: falsePrice } = this.tariff;
    return missed * (1 - this.truthShare(pair)) + falsePrice * (1 - this.trackShare(pair));
  }

  private truthShare(pair: number): number {
    return this.values[this.sharesAt + this.truthIndex(pair)];
  }

  private trackShare(pair: number): number {
    return this.values[this.sharesAt + this.truths.length + this.trackIndex(pair)];
  }

  /** What is missed, in prices of a full miss: their number, unless some cost less. */
  get missedUnits(): number {
    return this.sharesAt < 0 ? this.truths.length - this.proper : this.missedShares;
  }

  get falseUnits(): number {
    return this.sharesAt < 0 ? this.tracks.length - this.proper : this.falseShares;
  }

  /** How many are missed; those that cost nothing alone are not judged, and not counted. */
  get missedCount(): number {
    return this.sharesAt < 0 ? this.truths.length - this.proper : this.missedJudged;
  }

  get falseCount(): number {
    return this.sharesAt < 0 ? this.tracks.length - this.proper : this.falseJudged;
  }

  /** Whether an object, by its place among truths and then tracks, costs something alone. */
  isJudged(at: number): boolean {
    return this.sharesAt < 0 || this.values[this.sharesAt + at] > 0;
  }

  /**
   * What is missed and false in such prices, and how many of it are judged, under any assignment of the pairs; null
   * where everybody costs the full price.
   */
  unitsUnder(on: (pair: number) => number): Units | null {
    if (this.sharesAt < 0) return null;
    const n = this.truths.length;
    const left = new Float64Array(n + this.tracks.length).fill(1);
    for (let pair = 0; pair < this.pairCount; pair++) {
      left[this.truthIndex(pair)] -= on(pair);
      left[n + this.trackIndex(pair)] -= on(pair);
    }
    const units: Units = { missed: 0, false: 0, missedJudged: 0, falseJudged: 0 };
    left.forEach((share, at) => {
      const price = this.values[this.sharesAt + at];
      units[at < n ? 'missed' : 'false'] += share * price;
      if (price > 0) units[at < n ? 'missedJudged' : 'falseJudged'] += share;
    });
    return units;
  }

  /** Of each truth, or track, what it costs alone; null where everybody costs the full price. */
  truthAlone(): number[] | null {
    return this.alone(0, this.truths.length);
  }

  trackAlone(): number[] | null {
    return this.alone(this.truths.length, this.tracks.length);
  }

  private alone(first: number, count: number): number[] | null {
    if (this.sharesAt < 0) return null;
    const from = this.sharesAt + this.truths.length + this.tracks.length + first;
    return this.values.slice(from, from + count);
  }

  /** Adds up what is assigned, where shares differ. */
  addUpShares(): void {
    if (this.sharesAt < 0) return;
    const units = this.unitsUnder((pair) => this.on(pair));
    this.missedShares = units?.missed ?? 0;
    this.falseShares = units?.false ?? 0;
    this.missedJudged = units?.missedJudged ?? 0;
    this.falseJudged = units?.falseJudged ?? 0;
  }

  /** 1 where the pair is assigned; between 0 and 1 in a fractional optimum. */
  on(pair: number): number {
    return this.values[this.onAt + pair];
  }

  assign(pair: number, on: number): void {
    this.values[this.onAt + pair] = on;
    this.assigned = null;
  }

  /** Keeps what is assigned until it is added up again; what was kept before stays. */
  remember(): void {
    this.remembered ??= this.values.slice(this.onAt, this.endsAt);
  }

  forget(): void {
    this.remembered = null;
  }

  /** What `on` was in the last solve. */
  wasOn(pair: number): number {
    return this.remembered === null ? this.on(pair) : this.remembered[pair];
  }

  private pairs(): { truth: number[]; track: number[] } {
    const pairs = { truth: new Array<number>(this.pairCount), track: new Array<number>(this.pairCount) };
    for (let pair = 0; pair < this.pairCount; pair++) {
      pairs.truth[pair] = this.truthIndex(pair);
      pairs.track[pair] = this.trackIndex(pair);
    }
    return pairs;
  }

  /** A copy of what is assigned, to be put back with `reassign`. */
  assignment(): FrameAssignment {
    const assignment = { on: this.values.slice(this.onAt, this.endsAt), halves: this.halves };
    return this.thinned ? { ...assignment, pairs: this.pairs() } : assignment;
  }

  reassign(assignment: FrameAssignment): void {
    this.putBack(assignment);
    addUp(this);
  }

  /** The same where its sums are not yet added up. */
  putBack({ on, halves }: FrameAssignment): void {
    on.forEach((each, pair) => {
      this.assign(pair, each);
    });
    this.halves = halves;
  }

  /** What a pair earns in quanta, at least 1: c^p - distance^p, or less where its ends cost less alone. */
  benefit(pair: number): number {
    return benefitQuanta(this.saved(pair), this.spent(pair));
  }

  /** Quanta that the benefit of a pair has lost, or won, by rounding. */
  roundedOff(pair: number): number {
    return roundedOff(this.saved(pair), this.spent(pair));
  }

  /**
   * What decides between pairs that are equal in every other way: it depends on where their ends stand in the frame,
   * not on ids.
   */
  rank(pair: number): number {
    const mixed = Math.imul(this.truthIndex(pair) + 1, 0x9e3779b1) ^ Math.imul(this.trackIndex(pair) + 1, 0x85ebca77);
    return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae3d) >>> 16;
  }

  truthIndex(pair: number): number {
    return Math.floor(this.values[this.endsAt + pair] / ENDS);
  }

  trackIndex(pair: number): number {
    const ends = this.values[this.endsAt + pair];
    return ends - Math.floor(ends / ENDS) * ENDS;
  }

  truthAt(pair: number): Trajectory {
    return this.truths[this.truthIndex(pair)];
  }

  trackAt(pair: number): Trajectory {
    return this.tracks[this.trackIndex(pair)];
  }

  /** Copies of the coordinates, `stride` for each object. */
  truthNumbers(): number[] {
    return this.places(0, this.truths.length * this.stride);
  }

  trackNumbers(): number[] {
    const ofTruths = this.truths.length * this.stride;
    return this.places(this.isShort ? (ofTruths + 1) >> 1 : ofTruths, this.tracks.length * this.stride);
  }

  private places(from: number, count: number): number[] {
    if (!this.isShort) return this.values.slice(from, from + count);
    const places: number[] = [];
    for (let at = from; places.length < count; at++) {
      const both = this.values[at];
      places.push(firstOf(both));
      if (places.length < count) places.push(secondOf(both));
    }
    return places;
  }

  truthCoordinates(): Float64Array {
    return Float64Array.from(this.truthNumbers());
  }

  trackCoordinates(): Float64Array {
    return Float64Array.from(this.trackNumbers());
  }

  /** The frame as it came. */
  packed(): PackedFrame {
    const idsOf = (members: Trajectory[]) => members.map((t) => t.id);
    const { truths, tracks, truthKinds, trackKinds } = this;
    return {
      reference: {
        ids: idsOf(truths),
        coordinates: this.truthCoordinates(),
        alone: this.truthAlone(),
        kinds: truthKinds,
      },
      tracker: {
        ids: idsOf(tracks),
        coordinates: this.trackCoordinates(),
        alone: this.trackAlone(),
        kinds: trackKinds,
      },
      stride: this.stride,
    };
  }
}

/** Sums over the frames of a window, of assignments that are not fractional. */
export class Tally {
  readonly localization = new ExactSum();
  proper = 0;
  halves = 0;
  truths = 0;
  tracks = 0;
  /** frames in which some cost less than the full price alone */
  shared = 0;
  /** frames with pairs that another assignment may gain by because of rounding */
  readonly rounded = new Set<FrameRecord>();

  enter(frame: FrameRecord): void {
    frame.tally = this;
    this.halves += frame.halves;
    this.truths += frame.truths.length;
    this.tracks += frame.tracks.length;
    if (frame.hasShares) this.shared++;
  }

  /** The sums of a frame have changed. */
  update(frame: FrameRecord): void {
    this.proper += frame.proper - frame.countedProper;
    if (frame.localization !== frame.countedLocalization) {
      this.localization.add(-frame.countedLocalization);
      this.localization.add(frame.localization);
    }
    frame.countedProper = frame.proper;
    frame.countedLocalization = frame.localization;
    if (frame.roundedPair >= 0) this.rounded.add(frame);
    else this.rounded.delete(frame);
  }

  leave(frame: FrameRecord): void {
    frame.tally = null;
    this.halves -= frame.halves;
    this.truths -= frame.truths.length;
    this.tracks -= frame.tracks.length;
    if (frame.hasShares) this.shared--;
    this.proper -= frame.countedProper;
    this.localization.add(-frame.countedLocalization);
    this.rounded.delete(frame);
  }
}

/** A frame and some of its pairs, in order. */
export interface FramePairs {
  readonly frame: FrameRecord;
  readonly pairs: Int32Array;
}

/** Pairs closer than the cut-off: indices of their ends and their distances; the first `count` of each list. */
export interface FoundPairs {
  readonly count: number;
  readonly truth: ArrayLike<number>;
  readonly track: ArrayLike<number>;
  readonly distance: ArrayLike<number>;
}

// scratch: how many pairs each object of a frame is in
let truthPairs = new Uint32Array(64);
let trackPairs = new Uint32Array(64);

const cleared = (scratch: Uint32Array<ArrayBuffer>, length: number) =>
  scratch.length < length ? new Uint32Array(2 * length) : scratch.fill(0, 0, length);

/** Of each pair 1 where neither end has another. */
export function lonePairs(frame: FrameRecord): (0 | 1)[] {
  truthPairs = cleared(truthPairs, frame.truths.length);
  trackPairs = cleared(trackPairs, frame.tracks.length);
  while (zeros.length < frame.pairCount) zeros.push(0);
  const lone: (0 | 1)[] = zeros.slice(0, frame.pairCount);
  for (let pair = 0; pair < lone.length; pair++) {
    truthPairs[frame.truthIndex(pair)]++;
    trackPairs[frame.trackIndex(pair)]++;
  }
  for (let pair = 0; pair < lone.length; pair++) {
    if (truthPairs[frame.truthIndex(pair)] === 1 && trackPairs[frame.trackIndex(pair)] === 1) lone[pair] = 1;
  }
  return lone;
}

/** the greatest share below 1 */
const ALMOST = 1 - 2 ** -53;
/** parts of a quantum in which `rounding` is told */
export const ROUNDING_PARTS = 256;
/** changes that one more pair in one frame may bring about: it comes and goes, and so do two that it displaces */
export const CHANGES_PER_PAIR = 6;
/** a pair that earns so many quanta was rounded down */
const ROUNDED_DOWN = 4;

/** Adds up what is assigned. */
export function addUp(frame: FrameRecord): void {
  let proper = 0;
  let localization = 0;
  let rounding = 0;
  let most = 0;
  let roundedPair = -1;
  const almostUnit = frame.unit * (1 - ROUNDED_DOWN / frame.tariff.quanta);
  for (let pair = 0; pair < frame.pairCount; pair++) {
    const on = frame.on(pair);
    const cost = frame.cost(pair);
    if (on > 0) {
      proper += on;
      localization += on * frame.distanceCost(pair);
      // what earns next to nothing was rounded up
      if (cost < almostUnit) continue;
    }
    const off = frame.roundedOff(pair);
    rounding += off;
    if (off > most) most = off;
    if (roundedPair < 0 || frame.distanceCost(pair) < frame.distanceCost(roundedPair)) roundedPair = pair;
  }
  frame.proper = proper;
  frame.localization = localization;
  // no assignment has more pairs than that
  const pairsMax = Math.min(frame.truths.length, frame.tracks.length);
  frame.rounding = Math.ceil(Math.min(rounding, pairsMax * most) * ROUNDING_PARTS);
  frame.roundedPair = roundedPair;
  frame.addUpShares();
  frame.touched = false;
  frame.forget();
}
