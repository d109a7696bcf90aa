/**
 * Spikes of things that are counted: missed truths, false tracks, switches.
 *
 * Misses and false tracks come in runs, so frames are not independent, but the beginnings of runs nearly are. With e of
 * them expected since a change may have begun, and n that came, the likelihood ratio of `rise` times the usual rate is
 *   rise^n ((a + e) / (a + rise e))^(a + n)
 * where the usual rate is itself only known from a beginnings: for a large a this is rise^n exp(-e (rise - 1)).
 * Newcomers that are not found in time count the same way, with a rate of their own; and a change may be many runs that
 * begin in one frame and then do not end. What begins no more often but lasts longer (a region that is lost) shows in
 * the level, objects in a run now: block by block it is compared with what is usual, z in standard deviations of
 * blocks, and a rise by m of them adds m z - m^2 / 2.
 * Rates are per second, or per frame where that expects more: a camera may change its frame rate.
 */
import { DayCurve, dayCurveSize } from './day-curve.js';
import { Detector } from './detector.js';
import { evidenceSize } from './evidence.js';
import type { SpikeSettings } from './settings.js';
import { type Prior, plainRate, upperRate, usualSize, young } from './usual.js';

/** One frame as a detector sees it. */
export interface Counts {
  /** what begins, out of objects that might have begun one, or for which something might have come in the scene */
  begun: number;
  exposed: number;
  /** of what begins, how much is of objects that are not exposed: something of theirs began seconds ago */
  again: number;
  /** newcomers that were found or not in time, and those of them that were not */
  matured: number;
  unfound: number;
  /** of those that came, how high a rise must be to bring so many by one object; what is no repetition: 0 */
  repeated: number[];
  /** how old the young runs are that might have ended: those that go on, and those that ended */
  readonly stayed: number[];
  readonly ended: number[];
  /** objects in a run */
  level: number;
  /** truths present */
  objects: number;
}

export const noCounts = (): Counts => ({
  begun: 0,
  exposed: 0,
  again: 0,
  matured: 0,
  unfound: 0,
  repeated: [],
  stayed: [],
  ended: [],
  level: 0,
  objects: 0,
});

/** Runs end more rarely the older they are; seconds up to which they are of an age, and after which they are old. */
export const RUN_AGES = [0.25, 1, 3, 10] as const;

/** of the last age, per second, as long as nothing is known */
const OLD_RUN_ENDS = 0.25;

const OLDEST_RUN = RUN_AGES[RUN_AGES.length - 1];

/** Counts a run that goes on, or ends, at an age; unless it is old. */
export function carry(counts: Counts, age: number, ends: boolean): void {
  if (age <= OLDEST_RUN) (ends ? counts.ended : counts.stayed).push(age);
}

/** Nothing was counted of runs. */
export function clearRuns({ repeated, stayed, ended }: Counts): void {
  if (repeated.length > 0) repeated.length = 0;
  if (stayed.length > 0) stayed.length = 0;
  if (ended.length > 0) ended.length = 0;
}

/** Which of the ages a run is of. */
function ageOf(seconds: number): number {
  let age = 0;
  while (seconds > RUN_AGES[age]) age++;
  return age;
}

export interface Rise {
  factor: number;
  weight: number;
  /** times the threshold that the model promises: trackers are rougher than models, most like small changes */
  caution: number;
  /** by how much of itself that is raised for a series that is old, where false alarms count by the day */
  aged?: number;
  /** how much a young series is mistrusted */
  young: number;
  /** by which power of how much beginnings cluster over minutes it is less certain: the longer it takes, the higher */
  clustered: number;
  /** only in its first frame, after which runs end so much more rarely: all runs, or those that began with it */
  stay?: number;
  atOnce?: boolean;
  /** what begins again within seconds counts once */
  apart?: boolean;
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
  /** of minutes: squares of what their beginnings differ from those expected by, over these; number of minutes */
  surprise: 11,
  minutes: 12,
  /** by age: young runs times seconds, those of them that ended */
  carried: 13,
  ended: 13 + RUN_AGES.length,
  /** objects that are there when something begins; squares of objects times seconds */
  crowds: 13 + 2 * RUN_AGES.length,
  squaredObjects: 14 + 2 * RUN_AGES.length,
} as const;
const SUMS = SUM.squaredObjects + 1;
const AT = {
  blockSeconds: 0,
  blockLevel: 1,
  blockObjects: 2,
  ratesTime: 3,
  /** the last block of levels, as it will be learned */
  squares: 4,
  /** the minute that is gathered: seconds, beginnings that came and were expected; and the surprise of the last */
  minute: 5,
  minuteCame: 6,
  minuteExpected: 7,
  surprise: 8,
  /** of each rise, since it may have begun: runs that came, runs that were expected; of a burst, those that began it */
  changes: 9,
} as const;
/** Levels are compared in blocks of so many seconds: longer than a run of misses, so that blocks hardly depend. */
const LEVEL_SECONDS = 40;
/** Blocks of levels are believed to spread as much as runs of a second or two would, with the weight of so many. */
const SPREAD_PRIOR_BLOCKS = 10;
const SPREAD_PRIOR_SECONDS = 3;
/** What is rare is held back until so many events would have come, and remembered for so many; seconds, at most. */
const HOLD_EVENTS = 20;
const HOLD_SECONDS_MAX = 3600;
const MEMORY_EVENTS = 200;
const MEMORY_SECONDS_MAX = 43_200;
/**
 * Beginnings cluster where objects differ: minutes differ by more than chance. Believed before: not at all, with the
 * weight of so many minutes; and a little is chance.
 */
const MINUTE_SECONDS = 60;
const CLUSTER_PRIOR_MINUTES = 10;
const CLUSTER_CHANCE = 0.9;
/**
 * What comes in a scene comes with the scene, with its objects, or where two of them meet: as often as there are
 * objects to the power of 0, 1 or 2. Which may be anything, and is known as if from so much before: one over the
 * variance of what may be anything between 0 and 1. It is believed to be a half where there are more objects than
 * usual, and 0 where there are fewer: a rate that is too low cries wolf.
 */
const POWER_PRIOR = 12;
const POWER_OF_MORE = 0.5;
const POWER_OF_FEWER = 0;
/** Rates wander: no usual rate is known better than from so many events. */
const KNOWN_EVENTS_MAX = 400;
/** Levels persist, and wander more than counts do: more is asked of them. */
const LEVEL_CAUTION = 1.8;
/** A level tells no more than runs of so many seconds would: one object that is lost twice is no normal error. */
const RUN_SECONDS = 2;
/** a series is half old after so long */
const AGED_SECONDS = 1800;
/** what begins within so many seconds begins at once; what else comes and goes says nothing of it */
const AT_ONCE_SECONDS = 0.2;
/** so many runs that begin at once are not learned while they are in doubt */
const DOUBTED_RUNS = 3;
/** evidence of a burst fades by so much in a second in which nothing tells */
const FADING = 0.1;
/** Repetitions by one object count as usual up to what a rise of so much would bring. */
const REPEATED_MAX = 10;
/** runs that make a shower */
const SHOWER_MIN = 4;
const Z_MAX = 4;
const SHIFT_MAX = 1.5;
/**
 * Peaks of the sum above h are exp(-h) times so many as there are events, divided by the rise: 0.64 / 3, 3.2 / 10,
 * 14 / 40 by simulation.
 */
const PEAKS_PER_EVENT = 1 / 3;

const usualAt = ({ rises }: CountTraits) => AT.changes + 2 * rises.length;
const dayAt = (traits: CountTraits) => usualAt(traits) + usualSize(SUMS);
const evidenceAt = (traits: CountTraits) => dayAt(traits) + dayCurveSize();

export const countDetectorSize = (traits: CountTraits) =>
  evidenceAt(traits) + evidenceSize(traits.rises.length + traits.levelRises.length);

export class CountDetector extends Detector {
  readonly #day: DayCurve;
  // in force for a block
  #perSecond = 0;
  #perFrame = 0;
  #perObjectSecond = 0;
  /** the power of objects by which things come, where there are more of them than usual, and fewer */
  #powerOfMore = POWER_OF_MORE;
  #powerOfFewer = POWER_OF_FEWER;
  /** objects at a time, weighted by themselves: among so many, things come as often by objects as by meetings */
  #crowd = 1;
  #knownEvents = 1;
  /** how much evidence of each rise counts, given how much more the beginnings of minutes differ than by chance */
  readonly #scales: number[];
  #newcomer = 0;
  readonly #endPerSecond: number[] = RUN_AGES.map(() => 0);
  #level = 0;
  #blockVariance = 1;
  /** of each rise: log likelihood ratio of what came since it may have begun, until rates change; NaN when unknown */
  readonly #ratios: number[];
  readonly #logFactors: readonly number[];

  constructor(
    private readonly traits: CountTraits,
    state: Float64Array,
    settings: SpikeSettings,
    numbers?: readonly number[],
  ) {
    super(state, settings, usualAt(traits), SUMS, evidenceAt(traits), numbers);
    this.#ratios = traits.rises.map(() => Number.NaN);
    this.#scales = traits.rises.map(() => 1);
    this.#logFactors = traits.rises.map(({ factor }) => Math.log(factor));
    this.#day = new DayCurve(state.subarray(dayAt(traits), evidenceAt(traits)));
    this.resume();
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

  /** Runs that begin per second: of an object that might, or of the scene. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** Adds a frame that lasts `seconds`. */
  update(counts: Counts, k: number, seconds: number): void {
    this.learned = this.usual.age > this.settings.learnSeconds;
    if (!this.learned) return;
    const { traits } = this;
    for (let kind = 0; kind < traits.rises.length; kind++) {
      const { factor, stay, apart } = traits.rises[kind];
      const came = cameUnder(counts, factor) - (apart ? counts.again : 0);
      if (stay === undefined) this.#testRise(kind, came, counts, k, seconds);
      else this.#testBurst(kind, came, counts, k, seconds);
    }
    this.#gatherMinute(cameUnder(counts, REPEATED_MAX), this.#expectedOf(counts, seconds, 1), seconds);
    if (traits.levelRises.length > 0) this.#gatherLevel(counts, k, seconds);
  }

  #testRise(kind: number, came: number, counts: Counts, k: number, seconds: number): void {
    const { state } = this;
    const at = AT.changes + 2 * kind;
    const { factor, apart } = this.traits.rises[kind];
    const expected = this.#expectedOf(counts, seconds, factor, apart);
    // most frames bring nothing, and nothing comes of nothing
    if (came === 0 && !this.evidence.has(kind)) {
      this.evidence.elapse(kind, seconds);
      this.#ratios[kind] = Number.NaN;
      state[at] = 0;
      state[at + 1] = expected;
      return;
    }
    const ratio = this.#ratio(kind, state[at] + came, state[at + 1] + expected);
    const before = this.#ratios[kind];
    const going = ratio - (Number.isNaN(before) ? this.#ratio(kind, state[at], state[at + 1]) : before);
    // without an event a change that begins now is less likely than none, however much
    const fresh = came === 0 ? 0 : this.#ratio(kind, came, expected);
    const scale = this.#scales[kind];
    const old = this.evidence.update(kind, scale * going, scale * fresh, k, seconds, counts.level);
    this.#ratios[kind] = old ? ratio : Number.NaN;
    state[at] = old ? state[at] + came : came;
    state[at + 1] = old ? state[at + 1] + expected : expected;
  }

  /** Many runs that begin in one frame, and then do not end. */
  #testBurst(kind: number, came: number, counts: Counts, k: number, seconds: number): void {
    const { factor, stay = 1, atOnce = false } = this.traits.rises[kind];
    if (came === 0 && (atOnce || counts.stayed.length + counts.ended.length === 0) && !this.evidence.has(kind)) {
      this.evidence.elapse(kind, seconds);
      return;
    }
    const ago = this.evidence.secondsSince(kind);
    const [youngest, oldest] = atOnce ? [ago - AT_ONCE_SECONDS, ago + seconds / 2] : [0, OLDEST_RUN];
    const staying = this.#staying(counts, seconds, stay, youngest, oldest);
    const expected = this.#expectedOf(counts, seconds, factor);
    const fresh = atOnce ? this.#likeliestRatio(came, expected, factor) : this.#ratio(kind, came, expected) + staying;
    const old = this.evidence.update(kind, staying - FADING * seconds, fresh, k, seconds, counts.level);
    if (!old) this.state[AT.changes + 2 * kind] = came;
  }

  /** The alarm is of more and more runs that begin, so many of them, and not of many at once that stay. */
  get isShower(): boolean {
    const { rises } = this.traits;
    const [sums, thresholds] = [this.sums(), this.thresholds()];
    return rises.every(
      ({ stay }, kind) =>
        sums[kind] < thresholds[kind] || (stay === undefined && this.state[AT.changes + 2 * kind] >= SHOWER_MIN),
    );
  }

  /** Runs that began since the likeliest change may have. */
  get cameSince(): number {
    const { likeliest } = this.evidence;
    return likeliest < this.traits.rises.length ? this.state[AT.changes + 2 * likeliest] : 0;
  }

  #gatherMinute(came: number, expected: number, seconds: number): void {
    const { state } = this;
    state[AT.minute] += seconds;
    state[AT.minuteCame] += came;
    state[AT.minuteExpected] += expected;
    if (state[AT.minute] < MINUTE_SECONDS) return;
    // one that is expected is added: minutes in which hardly anything might happen say nothing
    const excess = state[AT.minuteCame] - state[AT.minuteExpected];
    state[AT.surprise] = (excess * excess + 1) / (state[AT.minuteExpected] + 1);
    state.fill(0, AT.minute, AT.surprise);
  }

  /** Runs and newcomers that are expected to begin or fail in a frame; fewer where a rise could not be as high. */
  #expectedOf({ objects, exposed, matured }: Counts, seconds: number, rise: number, apart = false): number {
    if (this.traits.per === 'scene')
      return this.#sceneRate(objects, seconds) * (apart && exposed < objects ? exposed / objects : 1);
    const chance = Math.min(0.5, Math.max(this.#perSecond * seconds, this.#perFrame));
    const expected = exposed > 0 ? exposed * raisedOdds(chance, rise) : 0;
    return matured > 0 ? expected + matured * raisedOdds(this.#newcomer, rise) : expected;
  }

  /** log likelihood ratio of a rise of the usual rate when `came` came and `expected` were to. */
  #ratio(kind: number, came: number, expected: number): number {
    const known = this.#knownEvents;
    const { factor } = this.traits.rises[kind];
    const less = Math.log((known + factor * expected) / (known + expected));
    return came * this.#logFactors[kind] - (known + came) * less;
  }

  /** The same of the rise that explains it best: where much comes all the time, a few at once are no hundredfold. */
  #likeliestRatio(came: number, expected: number, most: number): number {
    const factor = Math.min(most, came / expected);
    if (!(factor > 1)) return 0;
    const known = this.#knownEvents;
    return came * Math.log(factor) - (known + came) * Math.log((known + factor * expected) / (known + expected));
  }

  /** log likelihood ratio of ends that are `stay` times as likely as usual, of runs of so many seconds. */
  #staying({ stayed, ended }: Counts, seconds: number, stay: number, youngest: number, oldest: number): number {
    let ratio = 0;
    for (const run of ended) if (run > youngest && run <= oldest) ratio += Math.log(stay);
    for (const run of stayed) {
      if (run <= youngest || run > oldest) continue;
      const chance = Math.min(0.9, this.#endPerSecond[ageOf(run)] * seconds);
      ratio -= Math.log((1 - chance) / (1 - stay * chance));
    }
    return ratio;
  }

  #sceneRate(objects: number, seconds: number): number {
    const ofScene = Math.max(this.#perSecond * seconds, this.#perFrame);
    const ofObjects = this.#perObjectSecond * objects * seconds;
    if (ofObjects < ofScene) return ofScene + this.#powerOfFewer * (ofObjects - ofScene);
    const power = this.#powerOfMore;
    if (power <= 1) return ofScene + power * (ofObjects - ofScene);
    const ofMeetings = (ofObjects * objects) / this.#crowd;
    return Math.max(ofScene, ofObjects + (power - 1) * (ofMeetings - ofObjects));
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
      state[AT.squares] = (excess * excess) / base;
      const deviation = Math.sqrt(this.#blockVariance * base);
      const z = Math.max(-Z_MAX, Math.min(Z_MAX, excess / deviation));
      traits.levelRises.forEach((rise, n) => {
        const step = Math.max(traits.levelStepMin, this.#raised(rise) - this.#level);
        const shift = Math.min(SHIFT_MAX, (step * base) / deviation);
        const factor = 1 + step / this.#level;
        const runs = state[AT.blockLevel] * Math.log(factor) - this.#level * base * (factor - 1);
        const ratio = Math.min(shift * z - (shift * shift) / 2, Math.max(0, runs / RUN_SECONDS));
        this.evidence.update(traits.rises.length + n, ratio, ratio, k, seconds, state[AT.blockLevel] / seconds);
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
  learn(counts: Counts, seconds: number, time: number): void {
    const { exposed, matured, unfound, stayed, ended, level, objects } = counts;
    const { block } = this.usual;
    const begun = cameUnder(counts, REPEATED_MAX) - unfound;
    block[SUM.begun] += begun;
    block[SUM.crowds] += begun * objects;
    block[SUM.squaredObjects] += objects * objects * seconds;
    block[SUM.exposed] += exposed * seconds;
    block[SUM.exposedFrames] += exposed;
    block[SUM.matured] += matured;
    block[SUM.unfound] += unfound;
    for (const run of stayed) block[SUM.carried + ageOf(run)] += seconds;
    for (const run of ended) {
      block[SUM.carried + ageOf(run)] += seconds;
      block[SUM.ended + ageOf(run)]++;
    }
    block[SUM.level] += level * seconds;
    block[SUM.objects] += objects * seconds;
    block[SUM.seconds] += seconds;
    block[SUM.frames]++;
    this.#advance(seconds, time);
  }

  #advance(seconds: number, time: number): void {
    const { state } = this;
    const { block } = this.usual;
    if (state[AT.squares] > 0) {
      block[SUM.squares] += state[AT.squares];
      block[SUM.blocks]++;
      state[AT.squares] = 0;
    }
    if (state[AT.surprise] > 0) {
      block[SUM.surprise] += state[AT.surprise];
      block[SUM.minutes]++;
      state[AT.surprise] = 0;
    }
    const events = block[SUM.begun];
    const exposure = this.traits.per === 'object' ? block[SUM.exposed] : block[SUM.seconds];
    const closed = this.usual.advance(seconds, this.doubted);
    if (closed === 0) return;
    this.#day.add(time, events, exposure);
    state[AT.ratesTime] = time;
    this.setRates();
    this.advanceEvidence(closed);
  }

  protected setRates(): void {
    const time = this.state[AT.ratesTime];
    const { sums } = this.usual;
    const { per, begin, beginPerObject, newcomer, end, level } = this.traits;
    const object = per === 'object';
    const exposure = object ? sums[SUM.exposed] : sums[SUM.seconds];
    const recent = plainRate(sums[SUM.begun], exposure, begin);
    this.#knownEvents = Math.min(KNOWN_EVENTS_MAX, sums[SUM.begun] + begin.rate * begin.weight);
    this.#perSecond = Math.max(recent, Math.min(3 * recent, this.#day.rate(time)));
    const frames = object ? sums[SUM.exposedFrames] : sums[SUM.frames];
    // the prior weighs as many frames as it weighs seconds
    const pace = exposure > 0 ? frames / exposure : 0;
    this.#perFrame = pace > 0 ? this.#perSecond / pace : 0;
    this.#perObjectSecond = beginPerObject ? plainRate(sums[SUM.begun], sums[SUM.objects], beginPerObject) : 0;
    if (!object) this.#setPowers();
    this.#newcomer = newcomer ? Math.min(1, upperRate(sums[SUM.unfound], sums[SUM.matured], newcomer)) : 0;
    const minutes = sums[SUM.minutes] + CLUSTER_PRIOR_MINUTES;
    const clustering = Math.max(1, (CLUSTER_CHANCE * (sums[SUM.surprise] + CLUSTER_PRIOR_MINUTES)) / minutes);
    this.traits.rises.forEach(({ clustered }, kind) => {
      this.#scales[kind] = clustering ** -clustered;
    });
    this.#ratios.fill(Number.NaN);
    if (end) this.#setEnds(end);
    const { memorySeconds, holdSeconds } = this.settings;
    const often = this.#often();
    this.usual.holdSeconds = Math.max(holdSeconds, Math.min(HOLD_SECONDS_MAX, HOLD_EVENTS / often));
    this.usual.memorySeconds = Math.max(memorySeconds, Math.min(MEMORY_SECONDS_MAX, MEMORY_EVENTS / often));
    const base = object ? sums[SUM.objects] : sums[SUM.seconds];
    this.#level = Math.max(level.least, plainRate(sums[SUM.level], base, level));
    const believed = Math.max(0.01, this.#level) * SPREAD_PRIOR_SECONDS;
    this.#blockVariance =
      (sums[SUM.squares] + believed * SPREAD_PRIOR_BLOCKS) / (sums[SUM.blocks] + SPREAD_PRIOR_BLOCKS);
  }

  /**
   * If things come by a power of objects, those that are there then are more than usual by that power of their relative
   * variance, exactly for 0 and 1, and for 2 where objects are as skew as a gamma distribution: each event tells of the
   * power with the weight of that variance.
   */
  #setPowers(): void {
    const { sums } = this.usual;
    const usual = sums[SUM.objects] / sums[SUM.seconds];
    if (!(usual > 0)) return;
    this.#crowd = sums[SUM.squaredObjects] / sums[SUM.objects];
    const known = sums[SUM.begun] * Math.max(0, this.#crowd / usual - 1);
    const more = sums[SUM.crowds] / usual - sums[SUM.begun];
    const power = (before: number) => (before * POWER_PRIOR + more) / (POWER_PRIOR + known);
    this.#powerOfMore = Math.max(0, Math.min(2, power(POWER_OF_MORE)));
    this.#powerOfFewer = Math.max(0, Math.min(1, power(POWER_OF_FEWER)));
  }

  /** Until it is known better, runs are believed to end alike at all ages but the last, which few come to. */
  #setEnds(end: Prior): void {
    const { sums } = this.usual;
    const last = RUN_AGES.length - 1;
    let [ended, carried] = [0, 0];
    for (let age = 0; age < last; age++) {
      ended += sums[SUM.ended + age];
      carried += sums[SUM.carried + age];
    }
    const alike = plainRate(ended, carried, end);
    for (let age = 0; age <= last; age++) {
      const rate = age < last ? alike : Math.min(alike, OLD_RUN_ENDS);
      this.#endPerSecond[age] = plainRate(sums[SUM.ended + age], sums[SUM.carried + age], { ...end, rate });
    }
  }

  /** Beginnings per second. */
  #often(): number {
    const { sums } = this.usual;
    return Math.max(1 / 300, (sums[SUM.begun] + 1) / (sums[SUM.seconds] + 1));
  }

  /** How long runs are is learned as they come: one or two that are long are no reason. */
  protected override doubts(kind: number): boolean {
    const { stay, atOnce } = this.traits.rises[kind] ?? {};
    return stay === undefined || (atOnce === true && this.state[AT.changes + 2 * kind] >= DOUBTED_RUNS);
  }

  /** The threshold that the model promises: one false alarm among the beginnings of `falseAlarmSeconds`. */
  protected least(kind: number): number {
    const { rises, levelRises } = this.traits;
    const { falseAlarmSeconds } = this.settings;
    const caution = young(this.usual.age);
    if (kind >= rises.length)
      return caution ** 2 * LEVEL_CAUTION * Math.log((levelRises.length * falseAlarmSeconds) / LEVEL_SECONDS);
    const { factor, weight, caution: least, aged = 0, young: power } = rises[kind];
    const { age } = this.usual;
    return (
      least *
      (1 + (aged * age) / (age + AGED_SECONDS)) *
      caution ** power *
      Math.log(((factor * PEAKS_PER_EVENT) / weight) * Math.max(10, this.#often() * falseAlarmSeconds))
    );
  }
}

/** The chance of an event as it counts against one `rise` times as likely: less, where it could not be. */
const raisedOdds = (chance: number, rise: number) =>
  rise === 1 ? chance : Math.log1p(chance * (rise - 1)) / (rise - 1);

/** What came, without repetitions by one object that not even such a rise would bring: they are the object's own. */
function cameUnder({ begun, unfound, repeated }: Counts, rise: number): number {
  let came = begun + unfound;
  for (let n = 0; n < repeated.length; n++) if (repeated[n] > rise) came--;
  return came;
}
