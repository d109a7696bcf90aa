/**
 * How late a tracker is, however late: the fit of error = bias - latency * velocity over pairs that belong together.
 * The metric's own pairs serve while the tracker is less late than its cut-off forgives. Beyond, only those that are
 * slow or turn are still close to where they are, and what they tell is wrong: then tracks are compared with where the
 * truths were so long ago, paired anew, and fitted again, until both agree. Where nothing pairs any more, the delay
 * under which most does is looked for first.
 *
 * Bounded: the last frames are kept, so many and so many objects of them. State is plain data.
 */

import type { Located, PerformanceFrame } from './frame.js';
import { type Fit, type FitState, LatencyFit, type Line } from './kinematics.js';
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
  delay: Delay | null;
  /** frames at the end that are not in the fit yet: what comes after them is needed */
  waiting: number;
  fit: FitState;
}

/** What is taken out before pairs are looked for; times in the unit of `t`. */
interface Delay {
  latency: number;
  bias: number[];
}

/** A truth and a track close to where it was: its velocity then, and how far away the track lies from there. */
interface Neighbours {
  truth: string;
  v: number[];
  e: number[];
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
  pairs: number;
  possible: number;
  line: Line | null;
}

/** objects of the frames that are kept, for each truth that may be about */
const OBJECTS_PER_TRUTH = 4;
/** frames without which nothing is looked for */
const FRAMES_MIN = 6;
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

export class FeedLatency {
  readonly #frames: Kept[];
  #delay: Delay | null;
  #waiting: number;
  #fit: LatencyFit;

  constructor(
    readonly terms: LatencyTerms,
    state?: LatencyState,
  ) {
    this.#frames = [...(state?.frames ?? [])];
    this.#delay = state?.delay ?? null;
    this.#waiting = state?.waiting ?? 0;
    this.#fit = new LatencyFit(terms.truthsMax, state?.fit);
  }

  /** Another scene from now on. */
  restart(): void {
    this.#frames.length = 0;
    this.#waiting = 0;
  }

  /** Keeps a frame. */
  update({ t, truths, tracks, pairs }: PerformanceFrame): void {
    const { search } = this.terms;
    if (!search) return;
    this.#frames.push({ t, truths, tracks, pairs });
    this.#waiting = this.#delay ? this.#waiting + 1 : 0;
    const { plane, truthsMax } = this.terms;
    if (this.#delay) this.#work(this.#delay, new Scene(this.#frames, { ...search, plane, truthsMax }));
    this.#shorten(search.framesMax);
  }

  /** A pair of the metric whose velocity has become known; it counts while the tracker is not too late for that. */
  add(truth: string, v: readonly number[], e: readonly number[]): void {
    if (!this.#delay) this.#fit.add(truth, v, e);
  }

  /** The latency; looks for it where it is too large for the metric's pairs. Null when nobody can tell. */
  fit(): Fit | null {
    const { search, plane, truthsMax } = this.terms;
    if (search && this.#frames.length >= FRAMES_MIN)
      this.#review(new Scene(this.#frames, { ...search, plane, truthsMax }));
    return this.#fit.fit();
  }

  toJSON(): LatencyState {
    const state = { frames: this.#frames, delay: this.#delay, waiting: this.#waiting };
    return { ...state, fit: this.#fit.toJSON() };
  }

  #shorten(framesMax: number): void {
    const objectsMax = OBJECTS_PER_TRUTH * this.terms.truthsMax;
    const sizeOf = ({ truths, tracks }: Kept) => truths.length + tracks.length;
    let count = this.#frames.reduce((sum, frame) => sum + sizeOf(frame), 0);
    while (this.#frames.length > framesMax || (count > objectsMax && this.#frames.length > FRAMES_MIN))
      count -= sizeOf(this.#frames.shift()!);
    this.#waiting = Math.min(this.#waiting, this.#frames.length);
  }

  #review(scene: Scene): void {
    const none: Delay = { latency: 0, bias: [] };
    const told = scene.converge(this.#delay ?? none);
    const isForgiven = told.line !== null && scene.isForgiven(told.delay) && scene.pairedShare() >= PAIRED;
    if (isForgiven) {
      if (this.#delay) this.#change(null, scene);
      return;
    }
    const best = told.score >= PAIRED ? told : scene.search(told);
    const isBetter = best.score >= SCORE_MIN && best.score > BETTER * scene.trial(none).score;
    if (!isBetter || scene.isForgiven(best.delay)) return;
    const change = Math.abs(best.delay.latency - (this.#delay?.latency ?? 0));
    if (!this.#delay || change > SAME * scene.interval) this.#change(best.delay, scene);
  }

  /** Begins anew with the frames that are kept. */
  #change(delay: Delay | null, scene: Scene): void {
    this.#delay = delay;
    this.#fit = new LatencyFit(this.terms.truthsMax);
    this.#waiting = this.#frames.length;
    if (delay) this.#work(delay, scene);
    else {
      for (const frame of this.#frames) for (const { truth, v, e } of scene.asPaired(frame)) this.#fit.add(truth, v, e);
      this.#waiting = 0;
    }
  }

  /** Adds frames whose truths are known around the time that they show. */
  #work(delay: Delay, scene: Scene): void {
    const newest = this.#frames[this.#frames.length - 1].t;
    while (this.#waiting > 0) {
      const frame = this.#frames[this.#frames.length - this.#waiting];
      if (frame.t - delay.latency + scene.interval > newest) return;
      for (const { truth, v, e } of scene.neighbours(frame, delay))
        this.#fit.add(
          truth,
          v,
          e.map((value, d) => value - delay.latency * v[d]),
        );
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
  terms: SceneTerms,
): { latency: number; score: number; pairs: number; possible: number } | null {
  if (frames.length < FRAMES_MIN) return null;
  const scene = new Scene(frames, terms);
  const none = scene.trial({ latency: 0, bias: [] });
  const { delay, score, pairs, possible, line } = scene.search(scene.converge(none.delay));
  const isBetter = line !== null && score >= SCORE_MIN && score > BETTER * none.score;
  return isBetter && !scene.isForgiven(delay) ? { latency: line.latency, score, pairs, possible } : null;
}

type SceneTerms = Omit<LatencyTerms, 'search'> & SearchTerms;

/** The frames that are kept, as ways of truths. */
class Scene {
  readonly #ways = new Map<string, Way>();
  /** the usual time between two frames */
  readonly interval: number;

  constructor(
    readonly frames: readonly Kept[],
    readonly terms: SceneTerms,
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
    const reach = 0.6 * (this.frames[this.frames.length - 1].t - this.frames[0].t);
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
    let [possible, pairs, score] = [0, 0, 0];
    for (const frame of frames) {
      const found = this.neighbours(frame, delay, tracksMax);
      possible += Math.min(tracksMax, found.possible);
      for (const { truth, v, e, closeness } of found) {
        score += closeness;
        pairs++;
        fit.add(
          truth,
          v,
          e.map((value, d) => value - delay.latency * v[d]),
        );
      }
    }
    return { delay, score: possible > 0 ? score / possible : 0, pairs, possible, line: fit.line() };
  }

  /** Truths as they were so long before a frame, each with the track that is closest, the closest first. */
  neighbours({ t, truths, tracks }: Kept, { latency, bias }: Delay, tracksMax = Number.POSITIVE_INFINITY): Found {
    const then = [...this.#ways].flatMap(([id, way]) => this.#at(id, way, t - latency));
    const close: Array<Neighbours & { closeness: number; track: string }> = [];
    const sizeOf = new Map(truths.map(({ id, size }) => [id, size ?? 1]));
    for (const { id, place, size = 1 } of tracks.slice(0, tracksMax))
      for (const { truth, at, v } of then) {
        const gate = this.terms.gate * (this.terms.bySize ? (sizeOf.get(truth) ?? size) : 1);
        if (this.#isFar(at, place, gate + Math.abs(bias[0] ?? 0))) continue;
        const e = displacement(at, place, this.terms.plane);
        const far = Math.hypot(...e.map((value, d) => value - (bias[d] ?? 0)));
        if (far < gate) close.push({ truth, track: id, v, e, closeness: 1 - far / gate });
      }
    close.sort((a, b) => b.closeness - a.closeness);
    const taken = new Set<string>();
    const pairs = close.filter(({ truth, track }) => {
      if (taken.has(`t${truth}`) || taken.has(`k${track}`)) return false;
      taken.add(`t${truth}`).add(`k${track}`);
      return true;
    });
    return Object.assign(pairs, { possible: Math.min(then.length, tracks.length) });
  }

  /** The pairs of the metric, where the velocity of the truth is known. */
  asPaired({ t, tracks, pairs }: Kept): Neighbours[] {
    const placeOf = new Map(tracks.map(({ id, place }) => [id, place]));
    return pairs.flatMap(({ truth, track }) =>
      this.#at(truth, this.#ways.get(truth)!, t).map(({ at, v }) => ({
        truth,
        v,
        e: displacement(at, placeOf.get(track)!, this.terms.plane),
      })),
    );
  }

  /** Along the first axis alone. */
  #isFar(from: readonly number[], to: readonly number[], gate: number): boolean {
    const apart = Math.abs(from[0] - to[0]);
    return (this.terms.plane === 'earth' ? apart * DEGREE_M : apart) > gate;
  }

  /** Where a truth is at a time, and its velocity, as the places before and after tell. */
  #at(truth: string, way: Way, t: number): Array<{ truth: string; at: number[]; v: number[] }> {
    const at = this.#placeAt(way, t);
    const [before, after] = [this.#placeAt(way, t - this.interval), this.#placeAt(way, t + this.interval)];
    if (!at || !before || !after) return [];
    return [{ truth, at, v: velocityAt(at, before, after, 2 * this.interval, this.terms.plane) }];
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

/** Pairs of one frame, and how many there could be. */
type Found = Array<Neighbours & { closeness: number }> & { possible: number };

/** nowhere is a degree of latitude shorter, metres */
const DEGREE_M = 110_500;

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
