/**
 * Spikes of things that are counted: missed truths, false tracks, switches.
 *
 * Misses and false tracks come in runs, so frames are not independent, but the beginnings of runs nearly are. A frame
 * brings
 *   x  runs that begin, out of e objects that might (truths held the frame before), or at a rate per frame (false tracks, switches)
 *   y  runs that end, out of m that might
 *   v  objects in a run now: what is shown to people
 * With odds of a beginning `rise` times the usual p, and odds of an end `stay` times the usual q, the log likelihood
 * ratio is
 *   x log(rise) - e log(1 + p (rise - 1))  +  y log(stay) - m log(1 + q (stay - 1))
 * and, where beginnings come at a rate r per frame, - r (rise - 1) instead of the second term. Changes of kind `burst`
 * begin with many runs in one frame, which then stay. Real runs come in clusters: the ratio is taken to the power 1/f,
 * f being the variance of what begins in a block of frames over its mean, learned like everything else.
 */
import { BLOCK_FRAMES, keptPerBlock, type Prior, plainRate, upperRate } from './baseline.js';
import { type Finding, Mixture, mixtureSize } from './mixture.js';

/** One frame as a detector sees it. */
export interface RunCounts {
  /** runs that begin */
  begun: number;
  /** objects that might have begun one */
  exposed: number;
  /** runs that ended, of those that might have */
  ended: number;
  carried: number;
  /** objects in a run */
  level: number;
  /** objects that count for the level: truths present */
  objects: number;
}

/** A kind of change looked for; factors of odds. */
export interface Change {
  weight: number;
  /** on beginnings while it lasts */
  rise: number;
  /** on beginnings in its first frame */
  burst?: number;
  /** on ends */
  stay?: number;
}

export interface RunTraits {
  /** beginnings per object that might, or per frame */
  per: 'object' | 'frame';
  changes: readonly Change[];
  begin: Prior;
  /** per object of the scene, for beginnings that are counted per frame: a busier scene has more */
  beginPerObject?: Prior;
  end: Prior;
  level: Prior;
}

export interface DetectorSettings {
  falseAlarmFrames: number;
  learnFrames: number;
  memoryFrames: number;
}

/** Where each number of the state stands. */
const AT = {
  frames: 0,
  // sums with forgetting
  begun: 1,
  exposed: 2,
  objects: 3,
  ended: 4,
  carried: 5,
  level: 6,
  weight: 7,
  spread: 8,
  spreadWeight: 9,
  // the block that is being gathered
  blockFrames: 10,
  blockBegun: 11,
  blockExposed: 12,
  blockObjects: 13,
  blockEnded: 14,
  blockCarried: 15,
  blockLevel: 16,
  blockExpected: 17,
  // in force
  beginRate: 18,
  beginPerObject: 19,
  endRate: 20,
  levelPerObject: 21,
  levelPerFrame: 22,
  spreading: 23,
  mixture: 24,
} as const;

/** Spread is believed to be 1 with the weight of so many blocks. */
const SPREAD_PRIOR_BLOCKS = 6;
/** Beyond this it is no spread but a change, and a single block counts no more than its square. */
const SPREAD_MAX = 3;

export const runDetectorSize = ({ changes }: RunTraits) => AT.mixture + mixtureSize(changes.length);

export class RunDetector {
  readonly #mixture: Mixture;
  readonly #kept: number;
  // derived from what is in force
  readonly #beginGain: Float64Array;
  readonly #burstGain: Float64Array;
  readonly #stayGain: Float64Array;
  readonly #beginLoss: Float64Array;
  readonly #burstLoss: Float64Array;
  readonly #stayLoss: Float64Array;

  constructor(
    private readonly traits: RunTraits,
    private readonly state: Float64Array,
    private readonly settings: DetectorSettings,
  ) {
    const { changes } = traits;
    this.#mixture = new Mixture(
      state.subarray(AT.mixture),
      changes.map(({ weight }) => weight),
      settings.falseAlarmFrames,
    );
    this.#kept = keptPerBlock(settings.memoryFrames);
    const column = () => new Float64Array(changes.length);
    this.#beginGain = column();
    this.#burstGain = column();
    this.#stayGain = column();
    this.#beginLoss = column();
    this.#burstLoss = column();
    this.#stayLoss = column();
    if (state[AT.beginRate] === 0) this.#setRates();
    this.#derive();
  }

  /** 1 is an alarm. */
  get score(): number {
    return this.#mixture.score();
  }

  /** It is one. */
  get alarming(): boolean {
    return this.#mixture.exceeded;
  }

  /** Objects in a run, or switches, per frame: as usual with so many objects. */
  expected(objects: number): number {
    return Math.max(this.state[AT.levelPerFrame], this.state[AT.levelPerObject] * objects);
  }

  /** Takes in a frame with the number `k`. */
  update({ begun, exposed, ended, carried, level, objects }: RunCounts, k: number): void {
    if (++this.state[AT.frames] <= this.settings.learnFrames) return;
    const perFrame = this.traits.per === 'frame';
    if (!perFrame && exposed + carried === 0) return;
    const chance = perFrame ? this.#rate(objects) : exposed;
    const power = 1 / this.state[AT.spreading];
    for (let kind = 0; kind < this.#beginGain.length; kind++) {
      const ends = ended * this.#stayGain[kind] - carried * this.#stayLoss[kind];
      const going = (begun * this.#beginGain[kind] - chance * this.#beginLoss[kind] + ends) * power;
      const fresh = (begun * this.#burstGain[kind] - chance * this.#burstLoss[kind] + ends) * power;
      this.#mixture.update(kind, going, fresh, k, level);
    }
  }

  /**
   * Beginnings to be expected in a frame with so many objects: the larger of what frames and objects lead one to
   * expect.
   */
  #rate(objects: number): number {
    return Math.max(this.state[AT.beginRate], this.state[AT.beginPerObject] * objects);
  }

  /** Adds a calm frame to what is usual. */
  learn({ begun, exposed, ended, carried, level, objects }: RunCounts): void {
    const { state } = this;
    state[AT.blockBegun] += begun;
    state[AT.blockExposed] += exposed;
    state[AT.blockObjects] += objects;
    state[AT.blockEnded] += ended;
    state[AT.blockCarried] += carried;
    state[AT.blockLevel] += level;
    state[AT.blockExpected] += this.traits.per === 'frame' ? this.#rate(objects) : exposed * state[AT.beginRate];
    if (++state[AT.blockFrames] === BLOCK_FRAMES) this.#closeBlock();
  }

  #closeBlock(): void {
    const { state } = this;
    const kept = this.#kept;
    const expected = state[AT.blockExpected];
    // before there is a rate worth the name, the spread around it means nothing
    if (state[AT.frames] > this.settings.learnFrames && expected > 0) {
      const excess = state[AT.blockBegun] - expected;
      state[AT.spread] =
        state[AT.spread] * kept + Math.min(SPREAD_MAX ** 2, (excess * excess) / Math.max(expected, 0.25));
      state[AT.spreadWeight] = state[AT.spreadWeight] * kept + 1;
    }
    state[AT.begun] = state[AT.begun] * kept + state[AT.blockBegun];
    state[AT.exposed] = state[AT.exposed] * kept + state[AT.blockExposed];
    state[AT.objects] = state[AT.objects] * kept + state[AT.blockObjects];
    state[AT.ended] = state[AT.ended] * kept + state[AT.blockEnded];
    state[AT.carried] = state[AT.carried] * kept + state[AT.blockCarried];
    state[AT.level] = state[AT.level] * kept + state[AT.blockLevel];
    state[AT.weight] = state[AT.weight] * kept + BLOCK_FRAMES;
    this.dropBlock();
    this.#setRates();
    this.#derive();
  }

  /** What was gathered since the last block does not count. */
  dropBlock(): void {
    this.state.fill(0, AT.blockFrames, AT.blockExpected + 1);
  }

  #setRates(): void {
    const { state, traits } = this;
    const { per, begin, beginPerObject, end, level } = traits;
    state[AT.beginRate] = upperRate(state[AT.begun], per === 'frame' ? state[AT.weight] : state[AT.exposed], begin);
    state[AT.beginPerObject] = beginPerObject ? upperRate(state[AT.begun], state[AT.objects], beginPerObject) : 0;
    state[AT.endRate] = Math.min(0.95, plainRate(state[AT.ended], state[AT.carried], end));
    state[AT.levelPerObject] = plainRate(state[AT.level], state[AT.objects], level);
    state[AT.levelPerFrame] = per === 'frame' ? plainRate(state[AT.level], state[AT.weight], level) : 0;
    const blocks = state[AT.spreadWeight] + SPREAD_PRIOR_BLOCKS;
    state[AT.spreading] = Math.min(SPREAD_MAX, Math.max(1, (state[AT.spread] + SPREAD_PRIOR_BLOCKS) / blocks));
  }

  /** The factors of the likelihood ratio that stay the same for a block. */
  #derive(): void {
    const { state, traits } = this;
    for (let kind = 0; kind < traits.changes.length; kind++) {
      const { rise, burst = rise, stay = 1 } = traits.changes[kind];
      const loss = (factor: number) =>
        traits.per === 'frame' ? factor - 1 : Math.log1p(state[AT.beginRate] * (factor - 1));
      this.#beginGain[kind] = Math.log(rise);
      this.#burstGain[kind] = Math.log(burst);
      this.#stayGain[kind] = Math.log(stay);
      this.#beginLoss[kind] = loss(rise);
      this.#burstLoss[kind] = loss(burst);
      this.#stayLoss[kind] = Math.log1p(state[AT.endRate] * (stay - 1));
    }
  }

  finding(): Finding {
    return this.#mixture.finding();
  }

  /** A spike is over: the test begins anew. */
  reset(): void {
    this.#mixture.reset();
  }

  /** Forgets what was usual. */
  relearn(): void {
    this.state.fill(0);
    this.#setRates();
    this.#derive();
  }
}
