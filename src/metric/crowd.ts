/**
 * A frame that has more pairs than the budget can pay for: thousands within one cut-off have millions. Nobody looks for
 * all of them. Both feeds are put in order along the first axis; from there an object looks at its neighbours, nearest
 * along the axis first, until none can be nearer, or it has looked at enough. That gives an answer, the better of
 * carrying on who is held and of everybody choosing the nearest who is left; and what the frame costs at least: nobody
 * earns more than with the nearest, and what was not looked at is no nearer than it is along the axis.
 *
 * Such a frame has no edges. The engines solve the others, and the changes between all of them are counted anew. So it
 * is for frames whose pairs could be found, while the engines are late because of those before.
 *
 * Without a budget, too, millions of pairs are more than fit into memory as edges: `thinPairs` keeps the frame's own
 * best matching, pairs that the window knows already, and the nearest of each truth. The best matching being among
 * them, what the frame costs at least, alone, is as it was; but a window with such a frame is only as certain as the
 * sum of that (read-out.ts).
 */

import { cheapestMatching } from './assignment.js';
import { axisFloor, distances, lowOf, type PairDistance } from './distance.js';
import type { DistanceName } from './params.js';
import type { Budget } from './window/budget.js';
import { Changes } from './window/changes.js';
import type { WindowContents } from './window/contents.js';
import type { FoundPairs, FrameRecord, Kinds, PackedFeed, PackedFrame } from './window/frame-record.js';
import { aloneOf, kinshipOf, pairCost, power } from './window/tariff.js';
import type { Trajectory } from './window/trajectory.js';

/** neighbours that an object looks at, at least and at most; all of them take no more than half of the budget */
const LOOKS_MIN = 12;
const LOOKS_MAX = 48;
/** looks for one unit of work, and how often everybody looks */
const LOOKS_PER_WORK = 4;
const SEARCHES = 4;
const NONE = -1;

/** Pairs of a frame that any budget pays for, of each object, and of each millisecond. */
const PAIRS_FREE = 2 ** 11;
const PAIRS_PER_OBJECT = 4;
const PAIRS_PER_MS = 400;

/** Times as many are found and matched within their frame, but not given to the engines. */
const MATCHED_FACTOR = 2;

/** How many pairs of a frame a budget pays for in the engines, and how many within the frame. */
export function pairsAfforded(
  budget: Budget,
  { reference, tracker }: PackedFrame,
): { solved: number; matched: number } {
  const byObjects = PAIRS_PER_OBJECT * (reference.ids.length + tracker.ids.length);
  const solved = Math.max(PAIRS_FREE, byObjects, PAIRS_PER_MS * budget.leftMs);
  return { solved, matched: MATCHED_FACTOR * solved };
}

/** An answer for a crowd. */
export interface CrowdMatch {
  /** the pairs that are assigned */
  readonly found: FoundPairs;
  /** what the frame costs at least, alone */
  readonly least: number;
}

/** The objects of a feed in order along the first axis. */
class Line {
  readonly count: number;
  readonly coordinates: Float64Array;
  readonly kinds: Kinds | null;
  /** of each place the object, and where it begins */
  readonly object: Int32Array;
  readonly key: Float64Array;
  /** of each place, which is one more than in the lists above, the next that is not taken, upwards and downwards */
  private readonly up: Int32Array;
  private readonly down: Int32Array;

  constructor({ ids, coordinates, kinds = null }: PackedFeed, name: DistanceName, stride: number) {
    this.count = ids.length;
    this.coordinates = coordinates;
    this.kinds = kinds;
    const own = Float64Array.from(ids, (_, n) => lowOf(name, coordinates, n, stride, 0));
    this.object = Int32Array.from(own.keys()).sort((a, b) => own[a] - own[b] || a - b);
    this.key = Float64Array.from(this.object, (n) => own[n]);
    this.up = Int32Array.from({ length: this.count + 2 }, (_, n) => n);
    this.down = this.up.slice();
  }

  free(): void {
    for (let n = 0; n < this.up.length; n++) this.up[n] = this.down[n] = n;
  }

  take(place: number): void {
    this.up[place + 1] = place + 2;
    this.down[place + 1] = place;
  }

  /** The first place from one on that is not taken; `count` or -1 where there is none. */
  above(place: number): number {
    return follow(this.up, place + 1) - 1;
  }

  below(place: number): number {
    return follow(this.down, place + 1) - 1;
  }

  /** The first place whose key is not less. */
  seek(key: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.key[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function follow(next: Int32Array, from: number): number {
  let at = from;
  while (next[at] !== at) {
    next[at] = next[next[at]];
    at = next[at];
  }
  return at;
}

export class CrowdMatcher {
  private readonly distance: PairDistance;
  private looks = 0;
  private looksMax = LOOKS_MAX;
  /** of the last search: the nearest place, how far it is, and how near any may be */
  private place = NONE;
  private nearest = 0;
  private floor = 0;

  constructor(
    private readonly contents: WindowContents,
    private readonly name: DistanceName,
  ) {
    this.distance = distances[name];
  }

  /** Matches a frame after those of the window. */
  match(packed: PackedFrame, budget: Budget): CrowdMatch {
    const { contents, name } = this;
    const truths = new Line(packed.reference, name, packed.stride);
    const tracks = new Line(packed.tracker, name, packed.stride);
    this.looks = 0;
    const objects = packed.reference.ids.length + packed.tracker.ids.length;
    const afforded = (budget.leftWork * LOOKS_PER_WORK) / (SEARCHES * objects);
    this.looksMax = Math.floor(Math.min(LOOKS_MAX, Math.max(LOOKS_MIN, afforded)));
    const floors = this.floors(truths, tracks, packed.stride);
    const order = Int32Array.from(floors.keys()).sort((a, b) => floors[a] - floors[b] || a - b);
    const changes = Changes.through(contents.framewise ? [] : contents.frameList());
    const choice = new Choice(contents, packed, this.distance, changes);
    const left = choice.carryOn();
    this.fill(choice, left.truths, left.tracks, order, truths, tracks, packed);
    if (!contents.framewise && choice.count > 0) {
      const alone = new Choice(contents, packed, this.distance, changes);
      this.fill(alone, null, null, order, truths, tracks, packed);
      alone.carryOn();
      if (alone.worth() > choice.worth()) choice.become(alone);
    }
    const earned = Math.min(
      this.mostEarned(floors, tracks.count),
      this.mostEarned(this.floors(tracks, truths, packed.stride), truths.count),
    );
    budget.spend((objects + this.looks) / LOOKS_PER_WORK);
    return { found: choice.pairs(), least: Math.max(0, choice.unmatched - earned) };
  }

  /**
   * Assigns in a frame that has all of its pairs, the last of the window, the better of carrying on and of its own best
   * matching, of each truth the pair.
   */
  assign(frame: FrameRecord, pairOf: Int32Array): void {
    const { contents } = this;
    const packed = frame.packed();
    const changes = Changes.through(contents.frameList().slice(0, -1));
    const choice = new Choice(contents, packed, this.distance, changes);
    const alone = new Choice(contents, packed, this.distance, changes);
    const left = choice.carryOn();
    pairOf.forEach((pair, truth) => {
      if (pair === NONE) return;
      const track = frame.trackIndex(pair);
      const distance = frame.distanceCost(pair) ** (1 / contents.terms.exponent);
      alone.join(truth, track, distance, false);
      if (!left.truths[truth] && !left.tracks[track]) choice.join(truth, track, distance, true);
    });
    alone.carryOn();
    if (alone.worth() > choice.worth()) choice.become(alone);
    for (let pair = 0; pair < frame.pairCount; pair++)
      frame.assign(pair, choice.has(frame.truthIndex(pair), frame.trackIndex(pair)) ? 1 : 0);
  }

  /** Of each object of a feed how near the nearest of another may be. */
  private floors(from: Line, to: Line, stride: number): Float64Array {
    to.free();
    return Float64Array.from({ length: from.count }, (_, n) => {
      this.search(from, n, to, stride);
      return this.floor;
    });
  }

  /** What at most `count` objects can earn that are no nearer to anybody. */
  private mostEarned(floors: Float64Array, count: number): number {
    const { cutoff, exponent } = this.contents.terms;
    const { unit } = this.contents;
    let sum = 0;
    floors
      .slice()
      .sort()
      .subarray(0, count)
      .forEach((floor) => {
        // a little more, for what is rounded
        if (floor < cutoff) sum += unit - power(floor, exponent) * (1 - 1e-9);
      });
    return sum;
  }

  /** Gives the truths that are left, in an order, the nearest track that is left, where that is worth a change. */
  private fill(
    choice: Choice,
    truthTaken: Uint8Array | null,
    trackTaken: Uint8Array | null,
    order: Int32Array,
    truths: Line,
    tracks: Line,
    { stride }: PackedFrame,
  ): void {
    tracks.free();
    if (trackTaken)
      for (let place = 0; place < tracks.count; place++) if (trackTaken[tracks.object[place]]) tracks.take(place);
    for (const truth of order) {
      if (truthTaken?.[truth]) continue;
      this.search(truths, truth, tracks, stride);
      if (this.place === NONE || !choice.join(truth, tracks.object[this.place], this.nearest, truthTaken !== null))
        continue;
      tracks.take(this.place);
    }
  }

  /** Looks for the nearest of those in a line who are not taken. */
  private search(from: Line, n: number, to: Line, stride: number): void {
    const { name } = this;
    const { cutoff } = this.contents.terms;
    const { coordinates } = from;
    const key = lowOf(name, coordinates, n, stride, 0);
    const start = to.seek(key);
    let above = to.above(start);
    let below = to.below(start - 1);
    this.place = NONE;
    this.nearest = cutoff;
    for (let looks = 0; ; looks++) {
      const up = above < to.count ? axisFloor(name, coordinates, n, key, to.key[above]) : cutoff;
      const down = below >= 0 ? axisFloor(name, coordinates, n, key, to.key[below]) : cutoff;
      this.floor = Math.min(this.nearest, up, down);
      // none can be nearer
      if (this.floor >= this.nearest || looks === this.looksMax) break;
      const place = up <= down ? above : below;
      if (up <= down) above = to.above(above + 1);
      else below = to.below(below - 1);
      this.looks++;
      if ((from.kinds?.[n] ?? null) !== (to.kinds?.[to.object[place]] ?? null)) continue;
      const d = this.distance(coordinates, n, to.coordinates, to.object[place], stride);
      if (d >= this.nearest) continue;
      this.nearest = d;
      this.place = place;
    }
  }
}

/** What is assigned in a frame, after those of a window. */
class Choice {
  /** of each truth its track, and how far it is */
  private partner: Int32Array;
  private distance: Float64Array;
  count = 0;
  /** what the frame costs if nobody is matched */
  readonly unmatched: number;
  private readonly truths: (Trajectory | undefined)[];
  private readonly tracks: (Trajectory | undefined)[];
  private readonly cost: (truth: number, track: number, distance: number) => number;

  constructor(
    private readonly contents: WindowContents,
    private readonly packed: PackedFrame,
    private readonly between: PairDistance,
    /** up to the frame */
    private readonly changes: Changes,
  ) {
    const { reference, tracker } = packed;
    const { tariff } = contents;
    this.partner = new Int32Array(reference.ids.length).fill(NONE);
    this.distance = new Float64Array(reference.ids.length);
    this.truths = reference.ids.map((id) => contents.truths.get(id));
    this.tracks = tracker.ids.map((id) => contents.tracks.get(id));
    const [truthAlone, trackAlone] = [aloneOf(reference, tariff), aloneOf(tracker, tariff)];
    const areKin = kinshipOf(packed);
    this.cost = (truth, track, distance) =>
      areKin?.(truth, track) === false
        ? Number.POSITIVE_INFINITY
        : pairCost(distance, truthAlone(truth), trackAlone(track), tariff);
    const full = pairCost(0, tariff.admissibleError, tariff.admissibleError, tariff);
    let unmatched = 0;
    for (let n = 0; n < reference.ids.length; n++)
      unmatched += tariff.missed - (pairCost(0, truthAlone(n), tariff.admissibleError, tariff) - full);
    for (let n = 0; n < tracker.ids.length; n++)
      unmatched += tariff.false - (pairCost(0, tariff.admissibleError, trackAlone(n), tariff) - full);
    this.unmatched = unmatched;
  }

  /** Assigns those who are held, close and not taken; returns who is taken then. */
  carryOn(): { truths: Uint8Array; tracks: Uint8Array } {
    const { packed, contents, truths, tracks, changes } = this;
    const taken = { truths: new Uint8Array(truths.length), tracks: new Uint8Array(tracks.length) };
    if (contents.framewise) return taken;
    this.partner.forEach((track, truth) => {
      if (track !== NONE) taken.truths[truth] = taken.tracks[track] = 1;
    });
    const places = new Map<number, number>();
    tracks.forEach((track, j) => {
      if (track) places.set(track.slot, j);
    });
    truths.forEach((truth, i) => {
      const j = truth && places.get(changes.partnerOf(truth));
      if (j === undefined || taken.truths[i] || taken.tracks[j]) return;
      const d = this.between(packed.reference.coordinates, i, packed.tracker.coordinates, j, packed.stride);
      if (d >= contents.terms.cutoff || this.cost(i, j, d) >= contents.unit) return;
      this.assign(i, j, d);
      taken.truths[i] = taken.tracks[j] = 1;
    });
    return taken;
  }

  has(truth: number, track: number): boolean {
    return this.partner[truth] === track;
  }

  private assign(truth: number, track: number, distance: number): void {
    this.partner[truth] = track;
    this.distance[truth] = distance;
    this.count++;
  }

  /** Assigns a pair if it earns something, more than its changes cost where they count; whether it did. */
  join(truth: number, track: number, distance: number, changesCount: boolean): boolean {
    const { contents, changes } = this;
    const earned = contents.unit - this.cost(truth, track, distance);
    const price = changesCount ? contents.prices.half * changes.ofJoin(this.truths[truth], this.tracks[track]) : 0;
    if (earned <= price) return false;
    this.assign(truth, track, distance);
    return true;
  }

  /** What is earned, less what changes cost. */
  worth(): number {
    const { contents, truths, tracks } = this;
    let worth = 0;
    const joins: [Trajectory | undefined, Trajectory | undefined][] = [];
    this.partner.forEach((track, truth) => {
      if (track === NONE) return;
      worth += contents.unit - this.cost(truth, track, this.distance[truth]);
      joins.push([truths[truth], tracks[track]]);
    });
    return worth - contents.prices.half * this.changes.ofJoins(joins);
  }

  become(other: Choice): void {
    this.partner = other.partner;
    this.distance = other.distance;
    this.count = other.count;
  }

  pairs(): FoundPairs {
    const truth = Array.from(this.partner.keys()).filter((i) => this.partner[i] !== NONE);
    return {
      count: truth.length,
      truth,
      track: truth.map((i) => this.partner[i]),
      distance: truth.map((i) => this.distance[i]),
    };
  }
}

/** pairs of a frame up to which all are kept */
export const PAIRS_MAX = 2 ** 17;
/** nearest tracks that are kept of each truth */
const NEAREST = 4;

/** Few of many pairs, which are ordered by truth, then track. */
export function thinPairs(found: FoundPairs, packed: PackedFrame, contents: WindowContents): FoundPairs {
  const rows = packed.reference.ids.length;
  const columns = packed.tracker.ids.length;
  const start = new Int32Array(rows + 1);
  for (let pair = 0; pair < found.count; pair++) start[found.truth[pair] + 1]++;
  for (let i = 0; i < rows; i++) start[i + 1] += start[i];
  const cost = costsOf(found, packed, contents);
  const keep = new Uint8Array(found.count);
  if (!contents.framewise) {
    keepNearest(found, start, keep);
    keepKnown(found, packed, contents, start, keep);
  }
  const table = { rows, columns, start, column: found.track, cost, alone: contents.unit };
  const { pairOf: matching } = cheapestMatching(table);
  for (let i = 0; i < rows; i++) if (matching[i] >= 0) keep[matching[i]] = 1;
  const kept: number[] = [];
  for (let pair = 0; pair < found.count; pair++) if (keep[pair]) kept.push(pair);
  return {
    count: kept.length,
    truth: kept.map((pair) => found.truth[pair]),
    track: kept.map((pair) => found.track[pair]),
    distance: kept.map((pair) => found.distance[pair]),
  };
}

function costsOf(found: FoundPairs, { reference, tracker }: PackedFrame, { tariff }: WindowContents): Float64Array {
  const [truthAlone, trackAlone] = [aloneOf(reference, tariff), aloneOf(tracker, tariff)];
  const cost = new Float64Array(found.count);
  for (let pair = 0; pair < found.count; pair++)
    cost[pair] = pairCost(found.distance[pair], truthAlone(found.truth[pair]), trackAlone(found.track[pair]), tariff);
  return cost;
}

function keepNearest({ distance }: FoundPairs, start: Int32Array, keep: Uint8Array): void {
  for (let i = 0; i + 1 < start.length; i++) {
    for (let n = 0; n < NEAREST; n++) {
      let nearest = -1;
      for (let pair = start[i]; pair < start[i + 1]; pair++)
        if (!keep[pair] && (nearest < 0 || distance[pair] < distance[nearest])) nearest = pair;
      if (nearest >= 0) keep[nearest] = 1;
    }
  }
}

/** Keeps the pairs of edges that the window has. */
function keepKnown(
  found: FoundPairs,
  { reference, tracker }: PackedFrame,
  contents: WindowContents,
  start: Int32Array,
  keep: Uint8Array,
): void {
  const columnOf = new Map(tracker.ids.map((id, j) => [id, j]));
  reference.ids.forEach((id, i) => {
    const known = new Set(contents.truths.get(id)?.edges.map(({ track }) => columnOf.get(track.id)));
    if (known.size === 0) return;
    for (let pair = start[i]; pair < start[i + 1]; pair++) if (known.has(found.track[pair])) keep[pair] = 1;
  });
}
