/**
 * A frame in the window: its objects, its pairs and what is assigned.
 */

import { BITS, bitsBelow, DecimalReader, INVERSES, NumberDraft, TWOS } from './decimals.js';
import { ExactSum } from './exact-sum.js';
import type { FrameEdges } from './frame-edges.js';
import type { Kinds, PackedFrame } from './packed-frame.js';
import { benefitQuanta, roundedOff } from './quanta.js';
import { aloneOf, power, priceShare, type Tariff, type Units } from './tariff.js';
import type { Edge, Trajectory } from './trajectory.js';

/** cut to length it is a new list, faster than by filling that */
const zeros: 0[] = [];
/** where the numbers of a frame are put together */
const draft = new NumberDraft();

/** places among the numbers of a frame */
const LOCALIZATION = 0;
const COUNTED = 1;
const COSTS = 2;

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

/** What most frames of a window have in common; one object for all of them. */
interface Layout {
  readonly tariff: Tariff;
  readonly stride: number;
  /** of the place of an object in its feed; the ends of 2 ** so many pairs are in one number */
  readonly placeBits: number;
  readonly endsShift: number;
  /** null where pairs have no edges */
  readonly edges: FrameEdges | null;
  /** some cost less than the full price alone */
  readonly hasShares: boolean;
  /** coordinates of truths, and of tracks, have too many decimals to be packed */
  readonly longTruths: boolean;
  readonly longTracks: boolean;
  /** as they came */
  readonly truthKinds: Kinds | null;
  readonly trackKinds: Kinds | null;
}

const isSame = (one: Layout, other: Layout): boolean =>
  one.tariff === other.tariff &&
  one.stride === other.stride &&
  one.placeBits === other.placeBits &&
  one.edges === other.edges &&
  one.hasShares === other.hasShares &&
  one.longTruths === other.longTruths &&
  one.longTracks === other.longTracks &&
  one.truthKinds === other.truthKinds &&
  one.trackKinds === other.trackKinds;

const NO_UNITS: Units = { missed: 0, false: 0, missedJudged: 0, falseJudged: 0 };

/** 2 ** so many whole numbers of some bits have room in one */
const shiftFor = (bits: number): number => 31 - Math.clz32(Math.max(1, BITS / bits));

/** how many numbers it takes */
const roomFor = (count: number, shift: number): number => (count + (1 << shift) - 1) >> shift;

/** Puts the ends of pairs into the draft. */
function pushEnds({ count, truth, track }: FoundPairs, placeBits: number, shift: number): void {
  const together = 1 << shift;
  for (let pair = 0; pair < count; pair += together) {
    let ends = 0;
    for (let n = 0; n < together && pair + n < count; n++)
      ends += (truth[pair + n] + track[pair + n] * TWOS[placeBits]) * TWOS[2 * n * placeBits];
    draft.push(ends);
  }
}

/** A frame in the window. Pairs are ordered by truth, then track. */
export class FrameRecord {
  /** assigned pairs, valid unless `touched`, as `localization` is */
  proper = 0;
  /**
   * what another assignment may gain because benefits were rounded, in parts of a quantum, and the cheapest of those
   * pairs; whole numbers, which need no memory of their own
   */
  rounding = 0;
  roundedPair = -1;
  /** what of it is counted in the totals of the window, of which its half-switches always are; null once it is left */
  tally: Tally | null = null;
  countedProper = 0;
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

  private readonly layout: Layout;
  readonly pairCount: number;
  /**
   * Most of what a window holds is here: the sums over the assigned pairs, and what of them is counted; of each pair
   * distance^p, below 0, or -0, where it is assigned; then, in frames in which some cost less than the full price
   * alone, of each truth and each track the share of the price, and what it costs alone before it is raised to the
   * exponent; then the places of the ends of the pairs in this frame; then the coordinates of truths and tracks, packed
   * where they have few decimals. A plain list: a typed array of this size
   * takes longer to make than to fill, and dies as young.
   */
  private readonly values: number[];
  /** of each pair how much it is assigned, while one is so in part */
  private parts: number[] | null = null;
  /** what is missed and false, where shares differ */
  private units: Units | null = null;

  constructor(
    readonly number: number,
    packed: PackedFrame,
    readonly truths: Trajectory[],
    readonly tracks: Trajectory[],
    found: FoundPairs,
    /** where the edges of its pairs are; null in per-frame GOSPA */
    edges: FrameEdges | null,
    public edgesFrom: number,
    tariff: Tariff,
    /** the frame before it */
    before: FrameRecord | null,
  ) {
    const { count, distance } = found;
    const { reference, tracker, stride } = packed;
    this.pairCount = count;
    draft.clear();
    draft.push(0);
    draft.push(0);
    for (let pair = 0; pair < count; pair++) draft.push(power(distance[pair], tariff.exponent));
    const hasShares = !!(reference.alone || tracker.alone);
    if (hasShares) {
      const lists = [aloneOf(reference, tariff), aloneOf(tracker, tariff)];
      for (const [n, { ids }] of [reference, tracker].entries())
        for (let at = 0; at < ids.length; at++) draft.push(priceShare(lists[n](at), tariff));
      for (const [n, { ids }] of [reference, tracker].entries())
        for (let at = 0; at < ids.length; at++) draft.push(lists[n](at));
    }
    // as many as in the frame before, which then has the same layout
    const placeBits = Math.max(bitsBelow(Math.max(truths.length, tracks.length)), before?.layout.placeBits ?? 0);
    const endsShift = shiftFor(2 * placeBits);
    pushEnds(found, placeBits, endsShift);
    const [ofTruths, ofTracks] = [truths.length * stride, tracks.length * stride];
    const longTruths = !draft.pushDecimals(reference.coordinates, ofTruths, stride);
    if (longTruths) draft.pushAll(reference.coordinates, ofTruths);
    const longTracks = !draft.pushDecimals(tracker.coordinates, ofTracks, stride);
    if (longTracks) draft.pushAll(tracker.coordinates, ofTracks);
    this.values = draft.take();
    const kinds = { truthKinds: reference.kinds ?? null, trackKinds: tracker.kinds ?? null };
    const layout = { tariff, stride, placeBits, endsShift, edges, hasShares, longTruths, longTracks, ...kinds };
    this.layout = before && isSame(layout, before.layout) ? before.layout : layout;
  }

  /** distance^p of the assigned pairs, valid unless `touched`. */
  get localization(): number {
    return this.values[LOCALIZATION];
  }

  set localization(localization: number) {
    this.values[LOCALIZATION] = localization;
  }

  get countedLocalization(): number {
    return this.values[COUNTED];
  }

  set countedLocalization(localization: number) {
    this.values[COUNTED] = localization;
  }

  /** Half-switches on the way into this frame. */
  get halves(): number {
    return this.ownHalves;
  }

  set halves(halves: number) {
    if (this.tally !== null) this.tally.halves += halves - this.ownHalves;
    this.ownHalves = halves;
  }

  get tariff(): Tariff {
    return this.layout.tariff;
  }

  /** Coordinates of one object. */
  get stride(): number {
    return this.layout.stride;
  }

  get truthKinds(): Kinds | null {
    return this.layout.truthKinds;
  }

  get trackKinds(): Kinds | null {
    return this.layout.trackKinds;
  }

  /** Whether some cost less than the full price alone. */
  get hasShares(): boolean {
    return this.layout.hasShares;
  }

  private get sharesAt(): number {
    return COSTS + this.pairCount;
  }

  /** c^p */
  get unit(): number {
    return this.tariff.unit;
  }

  /** distance^p of a pair. */
  distanceCost(pair: number): number {
    return Math.abs(this.values[COSTS + pair]);
  }

  /**
   * c^p less what a pair earns: distance^p, and what its ends cost less than the full price alone; below c^p, for every
   * pair earns something.
   */
  cost(pair: number): number {
    const cost = this.distanceCost(pair);
    return !this.hasShares ? cost : Math.min(cost + this.excused(pair), this.unit * ALMOST);
  }

  /** What a pair earns in quanta, not rounded; no digit is lost where its ends cost next to nothing alone. */
  earned(pair: number): number {
    return this.saved(pair) - this.spent(pair);
  }

  /** Quanta that the ends of a pair would cost alone, and those that it costs instead. */
  private saved(pair: number): number {
    const { missed, false: falsePrice, quanta, unit } = this.tariff;
    if (!this.hasShares) return quanta;
    return ((missed * this.truthShare(pair) + falsePrice * this.trackShare(pair)) / unit) * quanta;
  }

  private spent(pair: number): number {
    return (this.distanceCost(pair) / this.unit) * this.tariff.quanta;
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
    return !this.hasShares ? this.truths.length - this.proper : this.unitsLeft.missed;
  }

  get falseUnits(): number {
    return !this.hasShares ? this.tracks.length - this.proper : this.unitsLeft.false;
  }

  /** How many are missed; those that cost nothing alone are not judged, and not counted. */
  get missedCount(): number {
    return !this.hasShares ? this.truths.length - this.proper : this.unitsLeft.missedJudged;
  }

  get falseCount(): number {
    return !this.hasShares ? this.tracks.length - this.proper : this.unitsLeft.falseJudged;
  }

  /** Whether an object, by its place among truths and then tracks, costs something alone. */
  isJudged(at: number): boolean {
    return !this.hasShares || this.values[this.sharesAt + at] > 0;
  }

  /**
   * What is missed and false in such prices, and how many of it are judged, under any assignment of the pairs; null
   * where everybody costs the full price.
   */
  unitsUnder(on: (pair: number) => number): Units | null {
    if (!this.hasShares) return null;
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
    if (!this.hasShares) return null;
    const from = this.sharesAt + this.truths.length + this.tracks.length + first;
    return this.values.slice(from, from + count);
  }

  /** Adds up what is assigned, where shares differ. */
  addUpShares(): void {
    if (!this.hasShares) return;
    this.units = this.unitsUnder((pair) => this.on(pair));
  }

  private get unitsLeft(): Units {
    return this.units ?? NO_UNITS;
  }

  /** 1 where the pair is assigned; between 0 and 1 in a fractional optimum. */
  on(pair: number): number {
    if (this.parts !== null) return this.parts[pair];
    const cost = this.values[COSTS + pair];
    return cost < 0 || Object.is(cost, -0) ? 1 : 0;
  }

  assign(pair: number, on: number): void {
    this.assigned = null;
    if (this.parts === null && on !== 0 && on !== 1) this.parts = this.allOn();
    if (this.parts !== null) {
      this.parts[pair] = on;
      return;
    }
    const cost = this.distanceCost(pair);
    this.values[COSTS + pair] = on === 1 ? -cost : cost;
  }

  private allOn(): number[] {
    while (zeros.length < this.pairCount) zeros.push(0);
    const all: number[] = zeros.slice(0, this.pairCount);
    for (let pair = 0; pair < all.length; pair++) all[pair] = this.on(pair);
    return all;
  }

  /** Keeps what is assigned until it is added up again; what was kept before stays. */
  remember(): void {
    this.remembered ??= this.allOn();
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
    const assignment = { on: this.allOn(), halves: this.halves };
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
    return this.place(pair, 0);
  }

  trackIndex(pair: number): number {
    return this.place(pair, 1);
  }

  private place(pair: number, side: 0 | 1): number {
    const { placeBits, endsShift } = this.layout;
    const at = pair >> endsShift;
    const bit = (2 * (pair - (at << endsShift)) + side) * placeBits;
    return (this.values[this.endsAt + at] * INVERSES[bit]) & ((1 << placeBits) - 1);
  }

  truthAt(pair: number): Trajectory {
    return this.truths[this.truthIndex(pair)];
  }

  trackAt(pair: number): Trajectory {
    return this.tracks[this.trackIndex(pair)];
  }

  /** How many of its pairs have an edge: all, or none in per-frame GOSPA. */
  get edgeCount(): number {
    return this.layout.edges === null ? 0 : this.pairCount;
  }

  /** The edge of a pair, as long as the frame is in the window. */
  edgeAt(pair: number): Edge {
    return this.layout.edges!.at(this.edgesFrom + pair);
  }

  /** Copies of the coordinates, `stride` for each object. */
  truthNumbers(): number[] {
    const { truths, stride, coordinatesAt } = this;
    const count = truths.length * stride;
    if (this.layout.longTruths) return this.values.slice(coordinatesAt, coordinatesAt + count);
    return new DecimalReader(this.values, coordinatesAt).decimals(count, stride);
  }

  trackNumbers(): number[] {
    const { truths, tracks, stride, values } = this;
    const { longTruths, longTracks } = this.layout;
    const ofTruths = truths.length * stride;
    const count = tracks.length * stride;
    // they are the last
    if (longTracks) return values.slice(values.length - count);
    const reader = new DecimalReader(values, this.coordinatesAt + (longTruths ? ofTruths : 0));
    if (!longTruths) reader.decimals(ofTruths, stride);
    return reader.decimals(count, stride);
  }

  private get coordinatesAt(): number {
    return this.endsAt + roomFor(this.pairCount, this.layout.endsShift);
  }

  private get endsAt(): number {
    return this.sharesAt + (this.hasShares ? 2 * (this.truths.length + this.tracks.length) : 0);
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
