/**
 * The numbers that surveillance people expect, all from the assignment that the metric reports: SIAP, position error,
 * gaps and continuity, latency and bias. Fed frame by frame, in order; what is not judged is left out of every count.
 * Memory is bounded: of a truth a few numbers are kept while it is about, at most `truthsMax` of them.
 *
 *   completeness      tracked truths / truths              (JT / J, over all frames; also called PD, PU)
 *   spuriousness      tracks of nobody / tracks            ((N - NA) / N)
 *   ambiguity         tracks of truths / tracked truths    (NA / JT: pairs, and extra tracks within c of a tracked
 *                                                          truth)
 *   positional accuracy    mean distance of both           (PA)
 *   rate of number changes changes of track / time tracked (R)
 *   longest segment   longest time with one track / time of the truth, summed over truths (LS)
 */

import type { Located, PerformanceFrame } from './frame.js';
import { alongAcross, type Fit, TRUTHS_MIN } from './kinematics.js';
import { FeedLatency, type LatencyState, type SearchTerms } from './latency.js';
import { displacement, type Plane, velocityAt } from './place.js';
import { type QuantileState, Quantiles } from './quantile.js';

export interface PerformanceTerms {
  plane: Plane;
  /** a truth that is missed in more frames than this in a row has a gap */
  gapSteps: number;
  truthsMax: number;
  /** how a latency is looked for that is too large for the metric's pairs; not at all when absent */
  search?: SearchTerms;
}

export interface ErrorNumbers {
  rms: number;
  p95: number;
  /** along the way of the truth, ahead positive, and across it; null where nothing moves */
  along: { mean: number; rms: number } | null;
  across: { mean: number; rms: number } | null;
}

export interface PerformanceNumbers {
  truthInstances: number;
  trackInstances: number;
  notJudged: { truths: number; tracks: number };
  detectionProbability: number;
  /** its standard error; objects are missed as wholes, so it counts objects. Null where they are too few to tell */
  detectionProbabilityError: number | null;
  siap: {
    completeness: number;
    spuriousness: number;
    ambiguity: number;
    positionalAccuracy: number;
    numberChangeRate: number;
    longestSegmentShare: number;
  };
  error: ErrorNumbers | null;
  continuity: {
    longestGap: number;
    gapShare: number;
    /** changes of track per hour of a truth's time, where times are seconds */
    changesPerObjectHour: number;
    firstPair: { mean: number; max: number } | null;
    neverPaired: number;
  };
  latency: Fit | null;
}

/** One truth that is about. Plain data. */
interface Life {
  first: number;
  last: number;
  /** its newest place, and the one before; with the error of the newest where it is in a pair */
  at: number[];
  before: number[] | null;
  beforeT: number;
  error: number[] | null;
  track: string | null;
  /** the track of its last pair, which may be over */
  lastTrack: string | null;
  lastPair: number;
  segmentStart: number;
  longest: number;
  missedSteps: number;
  /** when what it misses began: its last pair, or its birth */
  gapStart: number;
  paired: boolean;
  seen: number;
  tracked: number;
}

interface Sums {
  truths: number;
  tracked: number;
  tracks: number;
  assigned: number;
  extra: number;
  distance: number;
  squares: number;
  along: number;
  alongSquares: number;
  across: number;
  acrossSquares: number;
  moving: number;
  changes: number;
  timeTracked: number;
  /** of truths that are gone: their longest segments, their time, time in gaps */
  longest: number;
  lifetime: number;
  gapTime: number;
  longestGap: number;
  firstPairs: number;
  firstPairTime: number;
  firstPairMax: number;
  neverPaired: number;
  /** of truths that are gone: how many, and sums of squares and products of how often each was seen and tracked */
  gone: number;
  seenSquares: number;
  trackedSquares: number;
  seenTracked: number;
  truthsNotJudged: number;
  tracksNotJudged: number;
}

/** Plain JSON; its version stands in store/formats.ts. What is added to it is missing in stored states. */
export interface PerformanceState {
  terms: PerformanceTerms;
  sums: Sums;
  lives: Array<[string, Life]>;
  errors: QuantileState;
  latency: LatencyState;
  /** of the newest frame */
  t: number | null;
}

const NO_SUMS: Sums = {
  truths: 0,
  tracked: 0,
  tracks: 0,
  assigned: 0,
  extra: 0,
  distance: 0,
  squares: 0,
  along: 0,
  alongSquares: 0,
  across: 0,
  acrossSquares: 0,
  moving: 0,
  changes: 0,
  timeTracked: 0,
  longest: 0,
  lifetime: 0,
  gapTime: 0,
  longestGap: 0,
  firstPairs: 0,
  firstPairTime: 0,
  firstPairMax: 0,
  neverPaired: 0,
  gone: 0,
  seenSquares: 0,
  trackedSquares: 0,
  seenTracked: 0,
  truthsNotJudged: 0,
  tracksNotJudged: 0,
};
const HOUR = 3600;

export class Performance {
  readonly terms: PerformanceTerms;
  readonly #sums: Sums;
  readonly #lives: Map<string, Life>;
  readonly #errors: Quantiles;
  readonly #latency: FeedLatency;
  #t: number | null;

  constructor(terms: PerformanceTerms, state?: PerformanceState) {
    this.terms = terms;
    this.#sums = { ...(state?.sums ?? NO_SUMS) };
    this.#lives = new Map(state?.lives.map(([id, life]) => [id, { ...life }]));
    this.#errors = new Quantiles(state?.errors);
    this.#latency = new FeedLatency(terms, state?.latency);
    this.#t = state?.t ?? null;
  }

  /** Adds the next frame. Where times go back, a scene begins anew: everybody of before is gone. */
  update(frame: PerformanceFrame): void {
    const { t, truths, tracks, pairs, extras } = frame;
    if (this.#t !== null && t < this.#t) this.#forgetAll();
    this.#t = t;
    this.#latency.update(frame);
    const sums = this.#sums;
    sums.extra += extras.length;
    for (const distance of extras) sums.distance += distance;
    const partnerOf = new Map(pairs.map(({ truth, track, distance }) => [truth, { track, distance }]));
    const assigned = new Set(pairs.map(({ track }) => track));
    const placeOf = new Map(tracks.map(({ id, place }) => [id, place]));
    for (const truth of truths) {
      const partner = partnerOf.get(truth.id);
      if (truth.judged === false && !partner) sums.truthsNotJudged++;
      else this.#see(truth, t, partner && { ...partner, place: placeOf.get(partner.track)! });
    }
    for (const track of tracks) {
      if (assigned.has(track.id)) sums.assigned++;
      else if (track.judged === false) {
        sums.tracksNotJudged++;
        continue;
      }
      sums.tracks++;
    }
  }

  #see(
    { id, place }: Located,
    t: number,
    partner?: { track: string; distance: number; place: readonly number[] },
  ): void {
    const sums = this.#sums;
    sums.truths++;
    const life = this.#life(id, t, place);
    this.#move(life, t, place);
    life.seen++;
    if (partner) {
      sums.tracked++;
      life.tracked++;
      sums.distance += partner.distance;
      this.#pair(life, t, partner.track);
      life.error = displacement(place, partner.place, this.terms.plane);
      const squared = life.error.reduce((sum, value) => sum + value * value, 0);
      sums.squares += squared;
      this.#errors.add(Math.sqrt(squared));
    } else {
      life.missedSteps++;
      life.track = null;
      life.error = null;
    }
    life.last = t;
  }

  /** The truth, with what was known of it; the longest unseen makes room when there are too many. */
  #life(id: string, t: number, place: readonly number[]): Life {
    let life = this.#lives.get(id);
    if (life) {
      // the newest stand last
      this.#lives.delete(id);
    } else {
      if (this.#lives.size >= this.terms.truthsMax) this.#forget(this.#lives.keys().next().value as string);
      life = {
        first: t,
        last: t,
        at: [...place],
        before: null,
        beforeT: t,
        error: null,
        track: null,
        lastTrack: null,
        lastPair: t,
        segmentStart: t,
        longest: 0,
        missedSteps: 0,
        gapStart: t,
        paired: false,
        seen: 0,
        tracked: 0,
      };
    }
    this.#lives.set(id, life);
    return life;
  }

  /** The velocity at a place is known when the next one has come: that of the way from the one before to it. */
  #move(life: Life, t: number, place: readonly number[]): void {
    if (t > life.last) {
      if (life.error && life.before && t > life.beforeT) this.#explain(life, t, place);
      life.before = life.at;
      life.beforeT = life.last;
      life.at = [...place];
    }
  }

  #explain({ at, before, beforeT, error }: Life, t: number, place: readonly number[]): void {
    const v = velocityAt(at, before!, place, t - beforeT, this.terms.plane);
    const parts = alongAcross(v, error!);
    if (!parts) return;
    const sums = this.#sums;
    sums.moving++;
    sums.along += parts.along;
    sums.alongSquares += parts.along ** 2;
    sums.across += parts.across;
    sums.acrossSquares += parts.across ** 2;
  }

  #pair(life: Life, t: number, track: string): void {
    const sums = this.#sums;
    if (!life.paired) {
      sums.firstPairs++;
      sums.firstPairTime += t - life.first;
      sums.firstPairMax = Math.max(sums.firstPairMax, t - life.first);
    } else if (life.lastTrack !== track) sums.changes++;
    this.#closeGap(life, t);
    if (life.track === track) sums.timeTracked += t - life.last;
    else life.segmentStart = t;
    life.longest = Math.max(life.longest, t - life.segmentStart);
    life.paired = true;
    life.track = life.lastTrack = track;
    life.lastPair = t;
    life.missedSteps = 0;
    life.gapStart = t;
  }

  #closeGap(life: Life, t: number): void {
    if (life.missedSteps === 0) return;
    const sums = this.#sums;
    sums.longestGap = Math.max(sums.longestGap, t - life.gapStart);
    if (life.missedSteps > this.terms.gapSteps) sums.gapTime += t - life.gapStart;
  }

  #forgetAll(): void {
    for (const id of [...this.#lives.keys()]) this.#forget(id);
    this.#latency.restart();
  }

  /** What is known of a truth goes into the sums. */
  #forget(id: string): void {
    addLife(this.#sums, this.#lives.get(id)!, this.terms.gapSteps);
    this.#lives.delete(id);
  }

  /** The numbers up to here, as if every truth had ended where it was last seen. */
  get(): PerformanceNumbers {
    const sums = { ...this.#sums };
    for (const life of this.#lives.values()) addLife(sums, life, this.terms.gapSteps);
    const completeness = ratio(sums.tracked, sums.truths);
    return {
      truthInstances: sums.truths,
      trackInstances: sums.tracks,
      notJudged: { truths: sums.truthsNotJudged, tracks: sums.tracksNotJudged },
      detectionProbability: completeness,
      detectionProbabilityError: detectionError(sums, completeness),
      siap: {
        completeness,
        spuriousness: ratio(sums.tracks - sums.assigned - sums.extra, sums.tracks),
        ambiguity: 1 + ratio(sums.extra, sums.tracked),
        positionalAccuracy: ratio(sums.distance, sums.tracked + sums.extra),
        numberChangeRate: ratio(sums.changes, sums.timeTracked),
        longestSegmentShare: ratio(sums.longest, sums.lifetime),
      },
      error: sums.tracked === 0 ? null : this.#errorNumbers(sums),
      continuity: {
        longestGap: sums.longestGap,
        gapShare: ratio(sums.gapTime, sums.lifetime),
        changesPerObjectHour: ratio(sums.changes * HOUR, sums.lifetime),
        firstPair:
          sums.firstPairs === 0 ? null : { mean: sums.firstPairTime / sums.firstPairs, max: sums.firstPairMax },
        neverPaired: sums.neverPaired,
      },
      latency: this.#latency.fit(),
    };
  }

  #errorNumbers(sums: Sums): ErrorNumbers {
    const part = (sum: number, squares: number) =>
      sums.moving === 0 ? null : { mean: sum / sums.moving, rms: Math.sqrt(squares / sums.moving) };
    return {
      rms: Math.sqrt(sums.squares / sums.tracked),
      p95: this.#errors.quantile(0.95),
      along: part(sums.along, sums.alongSquares),
      across: part(sums.across, sums.acrossSquares),
    };
  }

  toJSON(): PerformanceState {
    return {
      terms: this.terms,
      sums: { ...this.#sums },
      lives: [...this.#lives].map(([id, life]) => [id, { ...life }]),
      errors: this.#errors.toJSON(),
      latency: this.#latency.toJSON(),
      t: this.#t,
    };
  }
}

function addLife(sums: Sums, life: Life, gapSteps: number): void {
  sums.longest += life.longest;
  sums.lifetime += life.last - life.first;
  if (!life.paired) sums.neverPaired++;
  sums.gone++;
  sums.seenSquares += life.seen ** 2;
  sums.trackedSquares += life.tracked ** 2;
  sums.seenTracked += life.seen * life.tracked;
  if (life.missedSteps === 0) return;
  sums.longestGap = Math.max(sums.longestGap, life.last - life.gapStart);
  if (life.missedSteps > gapSteps) sums.gapTime += life.last - life.gapStart;
}

/** Of a ratio of sums over objects. */
function detectionError({ gone, truths, seenSquares, trackedSquares, seenTracked }: Sums, p: number): number | null {
  if (gone < TRUTHS_MIN) return null;
  const squares = trackedSquares - 2 * p * seenTracked + p * p * seenSquares;
  return Math.sqrt(Math.max(0, squares) * (gone / (gone - 1))) / truths;
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
