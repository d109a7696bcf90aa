/**
 * Spikes of things that are counted: missed truths, false tracks, switches.
 *
 * Misses and false tracks come in runs, so frames are not independent, but the beginnings of runs nearly are. A frame
 * brings x runs that begin, out of e objects that might, or at a rate r for the whole scene. With odds of a beginning
 * `rise` times the usual p the log likelihood ratio is
 *   x log(rise) - e log(1 + p (rise - 1)),     or     x log(rise) - r (rise - 1)
 * Newcomers that are not found in time are counted the same way, with odds of their own; and a change may be many runs
 * that begin in one frame and then do not end. What begins no more often but
 * lasts longer (a region that is lost) shows in the level, objects in a run now: block by block it is compared with
 * what is usual, z in standard deviations of blocks, and a rise by m of them adds m z - m^2 / 2.
 * Rates are per second, or per frame where that expects more: a camera may change its frame rate.
 */
import { DayCurve, dayCurveSize } from './day-curve.js';
import { Evidence, evidenceSize, type Finding } from './evidence.js';
import type { SpikeSettings } from './settings.js';
import { type Prior, plainRate, Usual, upperRate, usualSize, young } from './usual.js';

/** One frame as a detector sees it. */
export interface Counts {
  /** runs that begin, out of objects that might have begun one */
  begun: number;
  exposed: number;
  /** newcomers that were found or not in time, and those of them that were not */
  matured: number;
  unfound: number;
  /** young runs that might have ended, and those of them that did */
  carried: number;
  ended: number;
  /** objects in a run */
  level: number;
  /** truths present */
  objects: number;
}

export const noCounts = (): Counts => ({
  begun: 0,
  exposed: 0,
  matured: 0,
  unfound: 0,
  carried: 0,
  ended: 0,
  level: 0,
  objects: 0,
});

export interface Rise {
  factor: number;
  weight: number;
  /** how much a young series is mistrusted */
  young: number;
  /** only in its first frame, after which runs end so much more rarely */
  stay?: number;
}

export interface CountTraits {
  /** beginnings per object that might, or for the whole scene */
  per: 'object' | 'scene';
  /** factors of odds that are looked for; weights share out what false alarms there may be */
  rises: readonly Rise[];
  begin: Prior;
  /** per object of the scene, for beginnings that are counted for all: a busier scene has more */
  beginPerObject?: Prior;
  newcomer?: Prior;
  /** ends of young runs, per second */
  end?: Prior;
  /** objects in a run: per object, or for the scene */
  level: Prior;
  levelRises: readonly number[];
  /** a level that rises by less is no matter */
  levelStepMin: number;
}

/** Learned sums. */
const SUM = {
  begun: 0,
  /** objects times seconds, objects times frames: that might have begun a run */
  exposed: 1,
  exposedFrames: 2,
  matured: 3,
  unfound: 4,
  /** times seconds */
  level: 5,
  objects: 6,
  seconds: 7,
  frames: 8,
  /** squares of what blocks differ from the usual level by, over their objects; number of blocks */
  squares: 9,
  blocks: 10,
  carried: 11,
  ended: 12,
} as const;
const SUMS = 13;
const AT = { blockSeconds: 0, blockLevel: 1, blockObjects: 2, ratesTime: 3, own: 4 } as const;
/** Levels are compared in blocks of so many seconds. */
const LEVEL_SECONDS = 4;
/** Blocks of levels of so many seconds are believed to spread as much as counts of their own size. */
const SPREAD_PRIOR_BLOCKS = 10;
/** What is rare is held back until so many events would have come, and remembered for so many; seconds, at most. */
const HOLD_EVENTS = 20;
const HOLD_SECONDS_MAX = 3600;
const MEMORY_EVENTS = 200;
const MEMORY_SECONDS_MAX = 43_200;
/** Levels persist, and wander more than counts do: more is asked of them. */
const LEVEL_CAUTION = 1.6;
/** evidence of a burst fades by so much in a second in which nothing tells */
const FADING = 0.1;
const Z_MAX = 4;
const SHIFT_MAX = 1.5;

export const countDetectorSize = ({ rises, levelRises }: CountTraits) =>
  AT.own + usualSize(SUMS) + dayCurveSize() + evidenceSize(rises.length + levelRises.length);

export class CountDetector {
  readonly usual: Usual;
  readonly #day: DayCurve;
  readonly #evidence: Evidence;
  // in force for a block
  #perSecond = 0;
  #perFrame = 0;
  #perObjectSecond = 0;
  #newcomer = 0;
  #endPerSecond = 0;
  #level = 0;
  #blockVariance = 1;
  #learned = false;

  constructor(
    private readonly traits: CountTraits,
    private readonly state: Float64Array,
    private readonly settings: SpikeSettings,
  ) {
    const day = AT.own + usualSize(SUMS);
    const evidence = day + dayCurveSize();
    this.usual = new Usual(state.subarray(AT.own, day), SUMS, settings.memorySeconds, settings.holdSeconds);
    this.#day = new DayCurve(state.subarray(day, evidence));
    this.#evidence = new Evidence(state.subarray(evidence), settings.falseAlarmSeconds);
    this.#setRates(state[AT.ratesTime]);
    if (this.#evidence.thresholds()[0] === 0) this.#evidence.advance(0, (kind) => this.#least(kind));
  }

  get score(): number {
    return this.#learned ? this.#evidence.score : 0;
  }

  get alarming(): boolean {
    return this.#learned && this.#evidence.alarming;
  }

  /** Objects in a run, or switches, per frame: as usual with so many objects. */
  expected(objects: number): number {
    return this.traits.per === 'object' ? this.#level * objects : this.#level;
  }

  /** Beginnings per second as usual in a scene of so many objects. */
  usualRate(objects: number): number {
    return this.traits.per === 'object'
      ? this.#perSecond * objects
      : Math.max(this.#perSecond, this.#perObjectSecond * objects);
  }

  /** Adds a frame that lasts `seconds`. */
  update(counts: Counts, k: number, seconds: number): void {
    this.#learned = this.usual.age > this.settings.learnSeconds;
    if (!this.#learned) return;
    const { begun, exposed, matured, unfound, level } = counts;
    const { rises, per } = this.traits;
    const scene = per === 'scene';
    const chance = scene
      ? this.#sceneRate(counts.objects, seconds)
      : Math.max(this.#perSecond * seconds, this.#perFrame);
    for (let kind = 0; kind < rises.length; kind++) {
      const { factor: rise, stay } = rises[kind];
      const gain = Math.log(rise);
      const loss = scene ? chance * (rise - 1) : exposed * Math.log1p(Math.min(0.5, chance) * (rise - 1));
      let fresh = begun * gain - loss;
      if (matured > 0) fresh += unfound * gain - matured * Math.log1p(this.#newcomer * (rise - 1));
      let going = fresh;
      if (stay !== undefined) {
        going = this.#staying(counts, seconds, stay);
        fresh += going;
        going -= FADING * seconds;
      }
      this.#evidence.update(kind, going, fresh, k, seconds, level);
    }
    if (this.traits.levelRises.length > 0) this.#gatherLevel(counts, k, seconds);
  }

  /** log likelihood ratio of ends that are `stay` times as likely as usual. */
  #staying({ carried, ended }: Counts, seconds: number, stay: number): number {
    if (carried === 0) return 0;
    const chance = Math.min(0.9, this.#endPerSecond * seconds);
    return ended * Math.log(stay) - (carried - ended) * Math.log((1 - chance) / (1 - stay * chance));
  }

  #sceneRate(objects: number, seconds: number): number {
    return Math.max(this.#perSecond * seconds, this.#perFrame, this.#perObjectSecond * objects * seconds);
  }

  #gatherLevel({ level, objects }: Counts, k: number, seconds: number): void {
    const { state } = this;
    state[AT.blockSeconds] += seconds;
    state[AT.blockLevel] += level * seconds;
    state[AT.blockObjects] += this.#levelBase(objects) * seconds;
    if (state[AT.blockSeconds] >= LEVEL_SECONDS) this.#testLevel(k);
  }

  #levelBase(objects: number): number {
    return this.traits.per === 'object' ? objects : 1;
  }

  #testLevel(k: number): void {
    const { state, traits } = this;
    const base = state[AT.blockObjects];
    const seconds = state[AT.blockSeconds];
    if (base > 0) {
      const excess = state[AT.blockLevel] - this.#level * base;
      const deviation = Math.sqrt(this.#blockVariance * base);
      const z = Math.max(-Z_MAX, Math.min(Z_MAX, excess / deviation));
      traits.levelRises.forEach((rise, n) => {
        const step = Math.max(traits.levelStepMin, this.#raised(rise) - this.#level);
        const shift = Math.min(SHIFT_MAX, (step * base) / deviation);
        const ratio = shift * z - (shift * shift) / 2;
        this.#evidence.update(traits.rises.length + n, ratio, ratio, k, seconds, state[AT.blockLevel] / seconds);
      });
    }
    state.fill(0, AT.blockSeconds, AT.ratesTime);
  }

  /** The level with odds `rise` times the usual ones. */
  #raised(rise: number): number {
    const level = this.#level;
    return this.traits.per === 'object' ? (rise * level) / (1 + (rise - 1) * level) : rise * level;
  }

  /** Adds a frame to what will be usual. */
  learn(
    { begun, exposed, matured, unfound, carried, ended, level, objects }: Counts,
    seconds: number,
    time: number,
  ): void {
    const { block } = this.usual;
    block[SUM.begun] += begun;
    block[SUM.exposed] += exposed * seconds;
    block[SUM.exposedFrames] += exposed;
    block[SUM.matured] += matured;
    block[SUM.unfound] += unfound;
    block[SUM.carried] += carried * seconds;
    block[SUM.ended] += ended;
    block[SUM.level] += level * seconds;
    block[SUM.objects] += objects * seconds;
    block[SUM.seconds] += seconds;
    block[SUM.frames]++;
    this.#advance(seconds, time);
  }

  #advance(seconds: number, time: number): void {
    const { block } = this.usual;
    const length = block[SUM.seconds];
    // how far a block is off, in the last moment before it is closed
    const base = this.traits.per === 'object' ? block[SUM.objects] : length;
    const excess = block[SUM.level] - this.#level * base;
    block[SUM.squares] = base > 0 ? (excess * excess) / base : 0;
    block[SUM.blocks] = base > 0 ? 1 : 0;
    const [events, exposure] = [block[SUM.begun], this.traits.per === 'object' ? block[SUM.exposed] : length];
    const closed = this.usual.advance(seconds);
    if (closed === 0) return;
    this.#day.add(time, events, exposure);
    this.#setRates(time);
    this.#evidence.advance(closed, (kind) => this.#least(kind));
  }

  /** What is held back was part of an alarm. */
  drop(): void {
    this.usual.drop();
  }

  #setRates(time: number): void {
    this.state[AT.ratesTime] = time;
    const { sums } = this.usual;
    const { per, begin, beginPerObject, newcomer, end, level } = this.traits;
    const object = per === 'object';
    const exposure = object ? sums[SUM.exposed] : sums[SUM.seconds];
    const recent = upperRate(sums[SUM.begun], exposure, begin);
    this.#perSecond = Math.max(recent, Math.min(3 * recent, this.#day.rate(time)));
    const frames = object ? sums[SUM.exposedFrames] : sums[SUM.frames];
    // the prior weighs as many frames as it weighs seconds
    const pace = exposure > 0 ? frames / exposure : 0;
    this.#perFrame = pace > 0 ? this.#perSecond / pace : 0;
    this.#perObjectSecond = beginPerObject ? upperRate(sums[SUM.begun], sums[SUM.objects], beginPerObject) : 0;
    this.#newcomer = newcomer ? Math.min(1, upperRate(sums[SUM.unfound], sums[SUM.matured], newcomer)) : 0;
    this.#endPerSecond = end ? plainRate(sums[SUM.ended], sums[SUM.carried], end) : 0;
    const { memorySeconds, holdSeconds } = this.settings;
    const often = this.#often();
    this.usual.holdSeconds = Math.max(holdSeconds, Math.min(HOLD_SECONDS_MAX, HOLD_EVENTS / often));
    this.usual.memorySeconds = Math.max(memorySeconds, Math.min(MEMORY_SECONDS_MAX, MEMORY_EVENTS / often));
    const base = object ? sums[SUM.objects] : sums[SUM.seconds];
    this.#level = Math.max(level.least, plainRate(sums[SUM.level], base, level));
    // believed before: runs of a second or two, so that a block of an object has a variance of so much
    const believed = Math.max(0.01, this.#level) * 2;
    this.#blockVariance =
      (sums[SUM.squares] + believed * SPREAD_PRIOR_BLOCKS) / (sums[SUM.blocks] + SPREAD_PRIOR_BLOCKS);
  }

  /** Beginnings per second. */
  #often(): number {
    const { sums } = this.usual;
    return Math.max(1 / 300, (sums[SUM.begun] + 1) / (sums[SUM.seconds] + 1));
  }

  /** The threshold that the model promises: one false alarm among the beginnings of `falseAlarmSeconds`. */
  #least(kind: number): number {
    const { rises, levelRises } = this.traits;
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    if (kind >= rises.length)
      return caution ** 2 * LEVEL_CAUTION * Math.log((levelRises.length * falseAlarmSeconds) / LEVEL_SECONDS);
    const { factor, weight, young: power } = rises[kind];
    return caution ** power * Math.log((factor / weight) * Math.max(10, this.#often() * falseAlarmSeconds));
  }

  finding(): Finding {
    return this.#evidence.finding();
  }

  /** A spike is over: the test begins anew. */
  reset(): void {
    this.#evidence.reset();
  }

  evidenceSums(): number[] {
    return this.#evidence.sums();
  }

  thresholds(): number[] {
    return this.#evidence.thresholds();
  }

  /** The level of the spike is usual from now on; `restore` undoes it. */
  relearn(): void {
    this.usual.relearn();
    this.#evidence.reset();
    this.#setRates(this.state[AT.ratesTime]);
  }

  restore(): void {
    this.usual.restore();
    this.#setRates(this.state[AT.ratesTime]);
  }
}
