/**
 * How late a tracker is, however late: the fit of error = bias - latency * velocity over pairs that belong together.
 * The metric's own pairs serve while the tracker is less late than its cut-off forgives. Beyond, only those that are
 * slow or turn are still close to where they are, and what they tell is wrong: then tracks are compared with where the
 * truths were so long ago, paired anew, and fitted again, until both agree. Where nothing pairs any more, the delay
 * under which most does is looked for first. The metric's own pairs, too, are compared with where their truths were:
 * what remains to be found is then next to nothing, and neither turns nor jitter make it more or less.
 *
 * Bounded: the last frames are kept, so many and so many objects of them. State is plain data.
 */

import type { Located, PerformanceFrame } from './frame.js';
import { type Fit, type FitState, LatencyFit, type Line, type PairMotion } from './kinematics.js';
import { displacement, type Plane, placeBetween, velocityAt } from './place.js';

export interface LatencyTerms {
  plane: Plane;
  truthsMax: number;
  /** absent: the metric's pairs are all there is */
  search?: SearchTerms;
}

export interface SearchTerms {
  /** two this far apart are no pair: in the unit of places, or as a share of the size of a box */
  gate: number;
  bySize: boolean;
  /** frames that are kept */
  framesMax: number;
}

/** A frame as it is kept. */
type Kept = Pick<PerformanceFrame, 't' | 'truths' | 'tracks' | 'pairs'>;

/** Plain data. */
export interface LatencyState {
  frames: Kept[];
  /** under which tracks are paired anew; null: the metric's pairs serve, and `shift` is taken out */
  delay: Delay | null;
  shift: number;
  /** whether no frame was dropped yet */
  whole: boolean;
  /** frames at the end that are not in the fit yet: what comes after them is needed */
  waiting: number;
  fit: FitState;
}

/** What is taken out before pairs are looked for; times in the unit of `t`. */
interface Delay {
  latency: number;
  bias: number[];
}

/** A truth and a track close to where it was: its velocities then, and where the track lies from there. */
interface Neighbours extends PairMotion {
  truth: string;
}

/** Where a truth was, in the order of times. */
interface Way {
  times: number[];
  places: Array<readonly number[]>;
}

/** How much of what could pair does so under a delay, and what the pairs tell. */
interface Trial {
  delay: Delay;
  score: number;
  /** the same of those that move, each as much as it moves: whoever stands pairs under any delay */
  moving: number;
  pairs: number;
  possible: number;
  line: Line | null;
}

/** objects of the frames that are kept, for each truth that may be about */
const OBJECTS_PER_TRUTH = 4;
/** frames without which nothing is looked for */
const FRAMES_MIN = 6;
/** frames that are kept in any case */
const FRAMES_KEPT_MIN = 16;
/** frames, and tracks of them, that a delay is tried with */
const TRIED_FRAMES = 16;
const ROUGH_FRAMES = 5;
const ROUGH_TRACKS = 32;
/** delays that are tried to both sides */
const DELAYS_MAX = 40;
const ROUNDS_MAX = 8;
/** of the gate: errors that are larger on the way are in part cut off by it */
const FORGIVEN = 0.25;
/** share of possible pairs that there are while nothing is wrong */
const PAIRED = 0.6;
/** what a delay must explain, and by how much more than none */
const SCORE_MIN = 0.25;
const BETTER = 1.25;
/** intervals that a truth may be unseen in a way */
const UNSEEN_MAX = 3;
/** of an interval: a delay that changes by less is the same */
const SAME = 0.05;
/** intervals to places from which the other velocity of a truth is worked out, at most and at least */
const FAR_MAX = 4;
const FAR_MIN = 2;
/** of the frames that are kept: so many may wait, the others are needed to know where truths were */
const WAITING_SHARE = 1 / 8;
/** of the time of the frames that are kept */
const SHIFT_MAX = 0.5;
/** of itself: a shift that changes by less is the same */
const SHIFT_SAME = 0.005;

export class FeedLatency {
  readonly #frames: Kept[];
  #delay: Delay | null;
  #shift: number;
  #whole: boolean;
  #waiting: number;
  #fit: LatencyFit;
  /** of the frames that are kept */
  #objects: number;

  constructor(
    readonly terms: LatencyTerms,
    state?: LatencyState,
  ) {
    this.#frames = [...(state?.frames ?? [])];
    this.#delay = state?.delay ?? null;
    this.#shift = state?.shift ?? 0;
    this.#whole = state?.whole ?? true;
    this.#waiting = state?.waiting ?? 0;
    this.#fit = new LatencyFit(terms.truthsMax, state?.fit);
    this.#objects = this.#frames.reduce((sum, frame) => sum + sizeOf(frame), 0);
  }

  /** Another scene from now on. */
  restart(): void {
    if (this.#frames.length > 0) this.#work(this.#keptFrames());
    this.#frames.length = 0;
    this.#objects = 0;
    this.#whole = false;
    this.#waiting = 0;
  }

  /** Adds a frame. */
  update({ t, truths, tracks, pairs }: PerformanceFrame): void {
    this.#frames.push({ t, truths, tracks, pairs });
    this.#objects += truths.length + tracks.length;
    this.#waiting++;
    this.#shorten();
  }

  /** The latency; looks for it where it is too large for the metric's pairs. Null when nobody can tell. */
  fit(): Fit | null {
    if (this.#frames.length >= FRAMES_MIN) {
      const kept = this.#keptFrames();
      this.#work(kept);
      if (this.terms.search) this.#review(kept);
      if (!this.#delay) this.#refine(kept);
    }
    return this.#fit.fit();
  }

  toJSON(): LatencyState {
    const state = { frames: this.#frames, delay: this.#delay, shift: this.#shift, whole: this.#whole };
    return { ...state, waiting: this.#waiting, fit: this.#fit.toJSON() };
  }

  #keptFrames(): KeptFrames {
    const { plane, truthsMax, search } = this.terms;
    return new KeptFrames(this.#frames, { gate: 0, bySize: false, framesMax: 0, ...search, plane, truthsMax });
  }

  #shorten(): void {
    const framesMax = Math.max(this.terms.search?.framesMax ?? 0, FRAMES_KEPT_MIN);
    const objectsMax = OBJECTS_PER_TRUTH * this.terms.truthsMax;
    let excess = 0;
    while (
      this.#frames.length - excess > framesMax ||
      (this.#objects > objectsMax && this.#frames.length - excess > FRAMES_KEPT_MIN)
    )
      this.#objects -= sizeOf(this.#frames[excess++]);
    if (excess === 0) return;
    if (this.#waiting > WAITING_SHARE * this.#frames.length) this.#work(this.#keptFrames());
    this.#frames.splice(0, excess);
    this.#whole = false;
    this.#waiting = Math.min(this.#waiting, this.#frames.length);
  }

  #review(kept: KeptFrames): void {
    const none: Delay = { latency: 0, bias: [] };
    const told = kept.converge(this.#delay ?? none);
    const isForgiven = told.line !== null && kept.isForgiven(told.delay) && kept.pairedShare() >= PAIRED;
    if (isForgiven) {
      if (this.#delay) this.#change(null, kept);
      return;
    }
    const best = told.score >= PAIRED ? told : kept.search(told);
    const isBetter = best.score >= SCORE_MIN && best.moving > BETTER * kept.trial(none).moving;
    if (!isBetter || kept.isForgiven(best.delay)) return;
    const change = Math.abs(best.delay.latency - (this.#delay?.latency ?? 0));
    if (!this.#delay || change > SAME * kept.interval) this.#change(best.delay, kept);
  }

  /** Takes out what is found, until nothing more is; what was dropped remains as it was added. */
  #refine(kept: KeptFrames): void {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const found = this.#fit.fit();
      if (!found || Math.abs(found.latency) > SHIFT_MAX * kept.time) return;
      // what is not told from none is none
      const shift = Math.abs(found.latency) > 2 * found.latencyError ? found.latency : 0;
      if (Math.abs(shift - this.#shift) < SHIFT_SAME * Math.abs(shift) + 1e-3 * kept.interval) return;
      this.#shift = shift;
      if (!this.#whole) return;
      this.#again(kept);
    }
  }

  #change(delay: Delay | null, kept: KeptFrames): void {
    this.#delay = delay;
    this.#shift = 0;
    this.#again(kept);
  }

  /** Begins anew with the frames that are kept. */
  #again(kept: KeptFrames): void {
    this.#fit = new LatencyFit(this.terms.truthsMax);
    this.#waiting = this.#frames.length;
    this.#work(kept);
  }

  /** Adds frames whose truths are known around the time that they show. */
  #work(kept: KeptFrames): void {
    const { latency } = this.#delay ?? { latency: this.#shift };
    while (this.#waiting > 0) {
      const frame = this.#frames[this.#frames.length - this.#waiting];
      if (frame.t - latency + FAR_MAX * kept.interval > kept.newest) return;
      const pairs = this.#delay ? kept.neighbours(frame, this.#delay) : kept.asPaired(frame, latency);
      for (const pair of pairs) this.#fit.add(pair.truth, asLate(pair, latency));
      this.#waiting--;
    }
  }
}

/**
 * The delay that explains why the tracks of a few frames lie where no truth is; null when none does. How many pairs it
 * makes, of how many there could be in the frames that were looked at.
 */
export function findDelay(
  frames: readonly Kept[],
  terms: DelayTerms,
): { latency: number; score: number; pairs: number; possible: number } | null {
  if (frames.length < FRAMES_MIN) return null;
  const kept = new KeptFrames(frames, terms);
  const none = kept.trial({ latency: 0, bias: [] });
  const { delay, score, pairs, possible, line } = kept.search(kept.converge(none.delay));
  const isBetter = line !== null && score >= SCORE_MIN && score > BETTER * none.score;
  return isBetter && !kept.isForgiven(delay) ? { latency: line.latency, score, pairs, possible } : null;
}

type DelayTerms = Omit<LatencyTerms, 'search'> & SearchTerms;

/** The frames that are kept, as the ways of their truths. */
class KeptFrames {
  readonly #ways = new Map<string, Way>();
  /** the usual time between two frames */
  readonly interval: number;

  constructor(
    readonly frames: readonly Kept[],
    readonly terms: DelayTerms,
  ) {
    for (const { t, truths } of frames)
      for (const { id, place } of truths) {
        const way = this.#ways.get(id) ?? { times: [], places: [] };
        if (way.times.length === 0) this.#ways.set(id, way);
        way.times.push(t);
        way.places.push(place);
      }
    const gaps = frames.slice(1).map(({ t }, n) => t - frames[n].t);
    this.interval = median(gaps.filter((gap) => gap > 0));
  }

  get newest(): number {
    return this.frames[this.frames.length - 1].t;
  }

  /** from the first frame to the last */
  get time(): number {
    return this.newest - this.frames[0].t;
  }

  /** Pairs of all that could be, as the metric has them. */
  pairedShare(): number {
    const sum = (of: (frame: Kept) => number) => this.frames.reduce((total, frame) => total + of(frame), 0);
    return sum(({ pairs }) => pairs.length) / Math.max(1, sum(possibleIn));
  }

  /** Whether nearly nobody is cut off under such a delay. */
  isForgiven({ latency, bias }: Delay): boolean {
    const speeds = [...this.#ways.values()].map((way) => this.#speed(way)).sort((a, b) => a - b);
    const fast = speeds[Math.floor(0.9 * (speeds.length - 1))] ?? 0;
    return Math.abs(latency) * fast + Math.hypot(...bias) <= FORGIVEN * this.#gate;
  }

  get #gate(): number {
    if (!this.terms.bySize) return this.terms.gate;
    const sizes = this.frames.flatMap(({ truths }) => truths.map(({ size = 0 }) => size));
    return this.terms.gate * median(sizes);
  }

  #speed({ times, places }: Way): number {
    const last = times.length - 1;
    const way = displacement(places[0], places[last], this.terms.plane);
    return last === 0 ? 0 : Math.hypot(...way) / (times[last] - times[0]);
  }

  /** Fit, pair again, fit, until nothing changes. */
  converge(start: Delay, frames = spread(this.frames, TRIED_FRAMES)): Trial {
    let best = this.trial(start, frames);
    for (let round = 0; round < ROUNDS_MAX && best.line; round++) {
      const { latency, bias } = best.line;
      const next = this.trial({ latency, bias }, frames);
      // what pairs less well is no step forward
      if (!(next.score > best.score * (1 - 1e-9))) break;
      const isSame = Math.abs(latency - best.delay.latency) < 1e-3 * this.interval;
      best = next;
      if (isSame) break;
    }
    return best;
  }

  /** The delay under which most pairs, looked for to both sides and settled. */
  search(known: Trial): Trial {
    const few = spread(this.frames, ROUGH_FRAMES);
    const reach = 0.6 * this.time;
    const step = Math.max(this.interval / 2, reach / DELAYS_MAX);
    const tried = Array.from({ length: 2 * Math.floor(reach / step) + 1 }, (_, n) =>
      this.trial({ latency: (n % 2 === 0 ? n / 2 : -(n + 1) / 2) * step, bias: [] }, few, ROUGH_TRACKS),
    );
    const likeliest = tried.sort((a, b) => b.score - a.score).slice(0, 3);
    return likeliest
      .map(({ delay }) => this.converge(delay))
      .reduce((best, one) => (one.score > best.score ? one : best), known);
  }

  trial(delay: Delay, frames = spread(this.frames, TRIED_FRAMES), tracksMax = Number.POSITIVE_INFINITY): Trial {
    const fit = new LatencyFit(this.terms.truthsMax);
    let [possible, pairs, score, moved, moves] = [0, 0, 0, 0, 0];
    for (const frame of frames) {
      const found = this.neighbours(frame, delay, tracksMax);
      possible += Math.min(tracksMax, found.possible);
      moves += found.moves;
      for (const pair of found) {
        score += pair.closeness;
        moved += pair.closeness * Math.hypot(...pair.w);
        pairs++;
        fit.add(pair.truth, asLate(pair, delay.latency));
      }
    }
    const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);
    const scores = { score: share(score, possible), moving: share(moved, moves) };
    return { delay, ...scores, pairs, possible, line: fit.line() };
  }

  /** Truths as they were so long before a frame, each with the track that is closest, the closest first. */
  neighbours({ t, truths, tracks }: Kept, { latency, bias }: Delay, tracksMax = Number.POSITIVE_INFINITY): Found {
    const then = [...this.#ways].flatMap(([id, way]) => this.#at(id, way, t - latency));
    const close: Array<Neighbours & { closeness: number; track: string }> = [];
    const sizeOf = new Map(truths.map(({ id, size }) => [id, size ?? 1]));
    for (const { id, place, size = 1 } of tracks.slice(0, tracksMax))
      for (const { truth, at, v, w } of then) {
        const gate = this.terms.gate * (this.terms.bySize ? (sizeOf.get(truth) ?? size) : 1);
        if (this.#isFar(at, place, gate + Math.abs(bias[0] ?? 0))) continue;
        const e = displacement(at, place, this.terms.plane);
        const far = Math.hypot(...e.map((value, d) => value - (bias[d] ?? 0)));
        if (far < gate) close.push({ truth, track: id, v, w, e, closeness: 1 - far / gate });
      }
    close.sort((a, b) => b.closeness - a.closeness);
    const taken = new Set<string>();
    const pairs = close.filter(({ truth, track }) => {
      if (taken.has(`t${truth}`) || taken.has(`k${track}`)) return false;
      taken.add(`t${truth}`).add(`k${track}`);
      return true;
    });
    const moves = then.reduce((sum, { w }) => sum + Math.hypot(...w), 0);
    return Object.assign(pairs, { possible: Math.min(then.length, tracks.length), moves });
  }

  /** The pairs of the metric, where the truth is known so long before. */
  asPaired({ t, tracks, pairs }: Kept, latency: number): Neighbours[] {
    const placeOf = new Map(tracks.map(({ id, place }) => [id, place]));
    return pairs.flatMap(({ truth, track }) =>
      this.#at(truth, this.#ways.get(truth)!, t - latency).map(({ at, v, w }) => ({
        truth,
        v,
        w,
        e: displacement(at, placeOf.get(track)!, this.terms.plane),
      })),
    );
  }

  /** Along the first axis alone. */
  #isFar(from: readonly number[], to: readonly number[], gate: number): boolean {
    const apart = Math.abs(from[0] - to[0]);
    return (this.terms.plane === 'earth' ? apart * DEGREE_M : apart) > gate;
  }

  /** Where a truth is at a time, and its velocities, as places before and after tell, close by and farther away. */
  #at(truth: string, way: Way, t: number): Array<Omit<PairMotion, 'e'> & { truth: string; at: number[] }> {
    const at = this.#placeAt(way, t);
    const v = at && this.#velocity(way, at, t, 1);
    if (!v) return [];
    for (let far = FAR_MAX; far >= FAR_MIN; far--) {
      const w = this.#velocity(way, at, t, far);
      if (w) return [{ truth, at, v, w }];
    }
    return [];
  }

  #velocity(way: Way, at: readonly number[], t: number, intervals: number): number[] | null {
    const apart = intervals * this.interval;
    const before = this.#placeAt(way, t - apart);
    const after = before && this.#placeAt(way, t + apart);
    return after && velocityAt(at, before, after, 2 * apart, this.terms.plane);
  }

  #placeAt({ times, places }: Way, t: number): number[] | null {
    // what was rounded is no reason not to know a place
    const slack = 1e-6 * this.interval;
    let [low, high] = [0, times.length - 1];
    if (t < times[low] - slack || t > times[high] + slack) return null;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle;
      else high = middle;
    }
    const gap = times[high] - times[low];
    if (gap > UNSEEN_MAX * this.interval) return null;
    const share = gap > 0 ? Math.max(0, Math.min(1, (t - times[low]) / gap)) : 0;
    return placeBetween(places[low], places[high], share, this.terms.plane);
  }
}

/** Pairs of one frame, how many there could be, and the speeds of all truths together. */
type Found = Array<Neighbours & { closeness: number }> & { possible: number; moves: number };

/** A pair as it would lie if nothing had been taken out. */
const asLate = ({ v, w, e }: PairMotion, latency: number): PairMotion => ({
  v,
  w,
  e: e.map((value, d) => value - latency * v[d]),
});

/** nowhere is a degree of latitude shorter, metres */
const DEGREE_M = 110_500;

const sizeOf = ({ truths, tracks }: Kept) => truths.length + tracks.length;
const possibleIn = ({ truths, tracks }: Kept) => Math.min(truths.filter(isJudged).length, tracks.length);
const isJudged = ({ judged }: Located) => judged !== false;

/** So many, equally far apart. */
function spread<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, n) => list[Math.floor(((n + 0.5) * list.length) / most)]);
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}
