/**
 * Who is in the scene, frame by frame: turns glances into what the detectors count. A truth that was held and is missed
 * has begun a run; one that was never held is a newcomer, and counts only when it is not found in time; a track whose
 * truth has left is a tail, and counts as false only when it stays. The error of a pair is taken against the own level
 * of its truth, learned while it lives.
 */
import type { Glance } from '../metric/evaluation.js';
import { type Counts, carry, clearRuns, noCounts } from './count-detector.js';
import { type Errors, noErrors } from './error-detector.js';
import { MEAN_SECONDS, OWN } from './own-level.js';

/**
 * seconds for which a truth must have been held before its own level means something, over which it is learned, and in
 * which it is held back, so that a shift is found before it is learned
 */
const LEVEL_SECONDS = 2;
const LEVEL_SECONDS_MAX = 60;
/** a level that was learned from so many seconds counts half */
const TRUST_SECONDS = 6;
const BATCH_SECONDS_MAX = 15;
/**
 * An object may be lost so often, or a track be false, before that is a habit of its own: then as often as rises that
 * are looked for would bring it. Remembered over so many seconds that it was held, and since it was false.
 */
const REPEATS = 1;
/** Where there are so few, that many more than expected are a habit, whatever is looked for. */
const FEW_OBJECTS = 2;
const EXCESS_MAX = 6;
const HABIT_SECONDS = 600;
const FALSE_AGAIN_SECONDS = 60;
/** A switch counts when it has stood for so long, since many are taken back; unless so many come at once. */
const STANDING_SECONDS = 0.5;
const AT_ONCE = 4;
const EVENTS_AT_ONCE = 3;
/** so often one truth may go back and forth before it is more than a habit, among so many tracks */
const HABITS_MAX = 5;
const TRACKS_KEPT = 4;
/** Who changes its track while objects meet may do so more than once: within so many seconds that is one change. */
const MEETING_SECONDS = 3;
/** a truth that was away for longer is a newcomer */
const AWAY_SECONDS = 10;
/** Errors below this share of the cut-off are all the same: nothing is off. */
const LEAST_ERROR_SHARE = 0.01;

/** more than there are frames */
const AGAIN = 2 ** 40;
const timesOf = (risen: number): number => 1 + Math.floor(risen / AGAIN);

/** a frame that is no matter any more; a number that JSON has */
const LONG_AGO = -AGAIN;

/** half-switches of the frames before, after an interruption */
const UNKNOWN = -1;

/**
 * What is remembered of a truth: numbers in these places, after its own level for the test of small shifts
 * (own-level.ts). A plain list of fractions, flat in memory, because every truth of every series has one.
 */
type Known = number[];
const KNOWN = {
  /** frame in which it was last there, counted from the first */
  seen: 11,
  /** 1 or 0 */
  held: 12,
  /** it was held, or should have been long ago */
  mature: 13,
  /** seconds for which it was there before it was found, and for which it has been missed since; 0 while it is held */
  age: 14,
  run: 15,
  /** runs that it has begun, in so many seconds for which it was held */
  begins: 16,
  exposed: 17,
  /** log error: its own level, seconds that was learned from, and the last one, with its frame */
  level: 18,
  weight: 19,
  last: 20,
  lastFrame: 21,
  /** log errors of the batch that is held back, and of the one that is gathered: sums, and seconds */
  waiting: 22,
  waitingSeconds: 23,
  batch: 24,
  batchSeconds: 25,
} as const;
const NUMBERS = Object.values(KNOWN);
const OWN_NUMBERS = Object.values(OWN);
/** that copies of it are flat, it never held anything but fractions at first */
const NEWCOMER: Known = [...OWN_NUMBERS, ...NUMBERS].map(() => 0.5);
NEWCOMER.fill(0);
NEWCOMER[OWN.shows0] = NEWCOMER[OWN.shows1] = 1;

export interface CensusSettings {
  newcomerSeconds: number;
  tailSeconds: number;
}

/** Plain JSON. */
export interface CensusState {
  frame: number;
  pendingHalves: number;
  owedHalves: number;
  truths: Array<[id: string, ...numbers: number[]]>;
  pairs: Array<[truth: string, track: string]>;
  /** tracks that are false: seconds for which they are tails, below 0 seconds for which they count */
  false: Array<[id: string, seconds: number]>;
  /** tracks that were false lately: how often they have become so, and in which frame the last time */
  risen: Array<[id: string, times: number, frame: number]>;
  /** truths that were lost, and the tracks they had then */
  lostTracks: Array<[truth: string, track: string]>;
  /** truths that changed their track lately: frame of the last time, habits, the last that counted, from which */
  switched: Array<[id: string, frame: number, habits: number, counted: number, ...tracks: string[]]>;
  /** switches that have not stood for long yet: the frame they came to light in, how many, and how many again */
  switchesWaiting: Array<[frame: number, switches: number, again: number]>;
}

export class Census {
  readonly missed: Counts = noCounts();
  readonly false: Counts = noCounts();
  readonly switch: Counts = noCounts();
  readonly errors: Errors = noErrors();
  truths = 0;
  pairs = 0;
  /** mean error of the proper pairs */
  meanError = 0;
  /** switches that came to light with the newest frame, of whatever kind: for what a stream promises */
  switches = 0;
  /** truths that changed their tracks in the newest frame, where these are more than a few */
  atOnce = 0;
  /** truths that were held and are missed, tracks that were not false and are, in the newest frame */
  readonly lost: string[] = [];
  readonly risen: string[] = [];
  #known = new Map<string, Known>();
  #falseFor = new Map<string, number>();
  #falseNow = new Map<string, number>();
  /** of a track that was false: the frame in which it became so, and AGAIN for each time before; one number is small */
  #risenBefore = new Map<string, number>();
  #switched = new Map<string, { frame: number; habits: number; counted: number; tracks: string[] }>();
  /** switches that have not stood for long yet: the frame they came to light in, how many, and how many again */
  #switchesWaiting: CensusState['switchesWaiting'] = [];
  /** truths that were lost, and the tracks they had then, until they are away for long */
  readonly #lostTracks = new Map<string, string>();
  /** in which frames truths changed their tracks that may do so again without being counted */
  #meeting: number[] = [];
  #truthsBefore: string[] = [];
  #tracksBefore: string[] = [];
  /** what is known of the pairs of the frame before: mostly those of the next one, in the same order */
  #heldBefore: Known[] = [];
  #frame = 0;
  #pendingHalves = 0;
  #owedHalves = 0;
  #untilPurge = 0;
  readonly #leastError: number;
  readonly #leastCost: number;

  constructor(
    private readonly settings: CensusSettings,
    readonly exponent: number,
    cutoff: number,
  ) {
    this.#leastError = LEAST_ERROR_SHARE * cutoff;
    this.#leastCost = this.#leastError ** exponent;
  }

  /** The next frame only says how things are. */
  interrupt(): void {
    this.#pendingHalves = UNKNOWN;
    this.#switchesWaiting.length = 0;
  }

  get interrupted(): boolean {
    return this.#pendingHalves === UNKNOWN;
  }

  /**
   * Counts a frame that lasts `seconds`; `lossPerSecond` is usual for an object that is held. Without `learnLevels`
   * only newcomers get a level.
   */
  count(glance: Glance, seconds: number, persistence: number, lossPerSecond: number, learnLevels: boolean): void {
    this.#frame++;
    this.truths = glance.properTruths.length + glance.missed.length;
    this.pairs = glance.properTruths.length;
    this.#countMissed(glance, seconds, lossPerSecond);
    this.#countHeld(glance, seconds, persistence, learnLevels);
    this.#countFalse(glance, seconds);
    for (const id of this.lost) {
      const at = this.#truthsBefore.indexOf(id);
      if (at >= 0) this.#lostTracks.set(id, this.#tracksBefore[at]);
    }
    this.#countSwitches(glance, seconds);
    const mean = this.pairs === 0 ? 0 : (glance.localization / this.pairs) ** (1 / this.exponent);
    this.meanError = Math.max(mean, this.#leastError);
    copy(glance.properTruths, this.#truthsBefore);
    copy(glance.properTracks, this.#tracksBefore);
    this.#untilPurge -= seconds;
    if (this.#untilPurge <= 0) this.#purge(seconds);
  }

  #knownOf(id: string): Known {
    let known = this.#known.get(id);
    if (known) return known;
    known = NEWCOMER.slice();
    this.#known.set(id, known);
    return known;
  }

  #countMissed({ missed }: Glance, seconds: number, lossPerSecond: number): void {
    const counts = this.missed;
    const { lost } = this;
    if (lost.length > 0) lost.length = 0;
    clearRuns(counts);
    counts.begun = counts.exposed = counts.matured = counts.unfound = 0;
    counts.level = missed.length;
    counts.objects = this.truths;
    for (const id of missed) {
      const known = this.#knownOf(id);
      if (known[KNOWN.held] === 1) {
        counts.exposed++;
        // after a while away nobody knows how it was lost
        if (known[KNOWN.seen] >= this.#frame - 1) {
          counts.begun++;
          lost.push(id);
          if (known[KNOWN.begins] >= REPEATS)
            counts.repeated.push(this.#riseOf(known[KNOWN.begins], lossPerSecond * (known[KNOWN.exposed] + seconds)));
          noteBegin(known);
        }
        known[KNOWN.held] = 0;
        known[KNOWN.run] = seconds;
      } else if (known[KNOWN.run] > 0) {
        carry(counts, known[KNOWN.run], false);
        known[KNOWN.run] += seconds;
      } else if (known[KNOWN.mature] === 0 && known[KNOWN.age] > this.settings.newcomerSeconds) {
        known[KNOWN.mature] = 1;
        counts.matured++;
        counts.unfound++;
        lost.push(id);
      }
      known[KNOWN.age] += seconds;
      known[KNOWN.seen] = this.#frame;
    }
  }

  /** How high a rise must be to bring so many by one object, of which some were expected. */
  #riseOf(begins: number, expected: number): number {
    const isHabit = this.truths <= FEW_OBJECTS && begins - expected > EXCESS_MAX;
    return isHabit ? Number.POSITIVE_INFINITY : (begins - REPEATS) / expected;
  }

  #countHeld(glance: Glance, seconds: number, persistence: number, learn: boolean): void {
    const { properTruths, errors: costs } = glance;
    const { missed: counts, errors } = this;
    const frame = this.#frame;
    const held = this.#heldBefore;
    const before = this.#truthsBefore;
    const power = 1 / this.exponent;
    const leastValue = Math.log(this.#leastError);
    let [noiseSum, trustSum, trustSquares, doubt, noisy] = [0, 0, 0, 0, 0];
    let [products, squares, noiseSquares] = [0, 0, 0];
    const { due } = errors;
    if (due.length > 0) due.length = 0;
    for (let n = 0; n < properTruths.length; n++) {
      const id = properTruths[n];
      const known = n < held.length && before[n] === id ? held[n] : this.#knownOf(id);
      held[n] = known;
      if (known[KNOWN.held] === 1) counts.exposed++;
      else this.#find(known);
      known[KNOWN.seen] = frame;
      known[KNOWN.exposed] += seconds;
      const value = costs[n] > this.#leastCost ? power * Math.log(costs[n]) : leastValue;
      const weight = known[KNOWN.weight];
      if (weight > 0 && known[KNOWN.lastFrame] === frame - 1) {
        const was = known[KNOWN.last] - known[KNOWN.level];
        const now = value - known[KNOWN.level];
        const noise = now - persistence * was;
        const trust = weight / (weight + TRUST_SECONDS);
        noiseSum += trust * noise;
        trustSum += trust;
        trustSquares += trust * trust;
        doubt += (trust * trust) / weight;
        noisy++;
        products += now * was;
        squares += was * was;
        noiseSquares += noise * noise;
      }
      known[KNOWN.last] = value;
      known[KNOWN.lastFrame] = frame;
      known[KNOWN.batch] += value * seconds;
      known[KNOWN.batchSeconds] += seconds;
      known[OWN.sum] += value * seconds;
      known[OWN.seconds] += seconds;
      if (known[OWN.seconds] >= MEAN_SECONDS) due.push(known);
      if (known[KNOWN.batchSeconds] >= LEVEL_SECONDS && known[KNOWN.batchSeconds] >= batchSeconds(known))
        closeBatch(known, learn);
    }
    if (held.length > properTruths.length) held.length = properTruths.length;
    errors.noise = noiseSum;
    errors.trust = trustSum;
    errors.trustSquares = trustSquares;
    errors.doubt = doubt;
    errors.noisy = noisy;
    errors.products = products;
    errors.squares = squares;
    errors.noiseSquares = noiseSquares;
    errors.learns = learn;
    errors.pairs = properTruths.length;
  }

  /** A truth that was not held is: a newcomer, or one whose run of misses is over. */
  #find(known: Known): void {
    const { missed: counts } = this;
    if (known[KNOWN.mature] === 0) {
      known[KNOWN.mature] = 1;
      counts.matured++;
    }
    if (known[KNOWN.run] > 0) carry(counts, known[KNOWN.run], true);
    known[KNOWN.run] = 0;
    known[KNOWN.held] = 1;
  }

  #countFalse({ false: falseIds }: Glance, seconds: number): void {
    const counts = this.false;
    const { risen } = this;
    const before = this.#falseFor;
    const now = this.#falseNow;
    if (risen.length > 0) risen.length = 0;
    clearRuns(counts);
    let tails = 0;
    for (const id of falseIds) {
      const known = before.get(id);
      let run = known ?? (this.#isTail(id) ? 0 : -seconds);
      if (run >= 0) run += seconds;
      else if (known !== undefined) {
        carry(counts, -run, false);
        run -= seconds;
      }
      if (run > this.settings.tailSeconds) run = -seconds;
      if (run < 0 && (known === undefined || known >= 0)) this.#rise(id);
      if (run >= 0) tails++;
      now.set(id, run);
    }
    for (const [id, run] of before) if (run < 0 && !now.has(id)) carry(counts, -run, true);
    this.#falseFor = now;
    this.#falseNow = before;
    if (before.size > 0) before.clear();
    counts.begun = risen.length;
    counts.exposed = this.truths;
    counts.level = falseIds.length - tails;
    counts.objects = this.truths;
  }

  /** A track that flickers is one that is false, not many. */
  #rise(id: string): void {
    this.risen.push(id);
    const before = this.#risenBefore.get(id);
    const times = before === undefined ? 0 : timesOf(before);
    if (times >= REPEATS) this.false.repeated.push(Number.POSITIVE_INFINITY);
    this.#risenBefore.set(id, this.#frame + times * AGAIN);
  }

  /** It was paired a frame ago, with a truth that has left. */
  #isTail(track: string): boolean {
    const at = this.#tracksBefore.indexOf(track);
    return at >= 0 && this.#known.get(this.#truthsBefore[at])?.[KNOWN.seen] !== this.#frame;
  }

  /**
   * Switches come to light a few frames late and may be taken back, so what counts is how many more there are in the
   * frames that are not settled yet than there were at most before, and only once they have stood for a moment.
   */
  #countSwitches(glance: Glance, seconds: number): void {
    const { pendingHalves, settledHalves } = glance;
    const counts = this.switch;
    const waiting = this.#switchesWaiting;
    const more = this.interrupted ? 0 : pendingHalves + settledHalves - this.#pendingHalves;
    const fresh = Math.max(0, more - this.#owedHalves);
    this.#owedHalves = pendingHalves === 0 ? 0 : Math.max(0, this.#owedHalves - more);
    this.#pendingHalves = pendingHalves;
    counts.begun = counts.again = 0;
    if (more < 0) takeBack(waiting, -more / 2);
    this.atOnce = 0;
    this.switches = fresh / 2;
    if (fresh > 0) {
      const { exchanges, repeated, again } = this.#repetitions(glance, seconds);
      const changes = fresh / 2 - repeated;
      // what more than a few do at once is no habit of theirs, and is not taken back; two pairs may do so by chance
      if (fresh >= 2 * AT_ONCE && fresh / 2 - exchanges >= EVENTS_AT_ONCE) counts.begun = this.atOnce = fresh / 2;
      else if (changes > 0) waiting.push([this.#frame, changes, Math.min(again, changes)]);
    }
    while (waiting.length > 0 && (this.#frame - waiting[0][0]) * seconds >= STANDING_SECONDS) {
      const [, switches, repeatedly] = waiting.shift()!;
      counts.begun += switches;
      counts.again += repeatedly;
    }
    while (this.#meeting.length > 0 && (this.#frame - this.#meeting[0]) * seconds >= MEETING_SECONDS)
      this.#meeting.shift();
    counts.level = counts.begun;
    counts.objects = this.truths;
    counts.exposed = Math.max(0, this.truths - this.#meeting.length);
  }

  /**
   * How many of the switches are none by themselves: of a truth that goes back to a track that it had just before, as
   * two that meet may do again and again, and the second of two that take each other's. Who was lost meanwhile had the
   * track from before. And how many are of a truth `again`, within seconds of one that counted: the same meeting.
   */
  #repetitions({ properTruths, properTracks }: Glance, seconds: number) {
    const before = new Map(this.#lostTracks);
    for (const [n, id] of this.#truthsBefore.entries()) before.set(id, this.#tracksBefore[n]);
    const owners = new Map([...before].map(([id, track]) => [track, id]));
    const now = new Map(properTruths.map((id, n) => [id, properTracks[n]]));
    const changed = new Set<string>();
    let [exchanges, repeated, again] = [0, 0, 0];
    for (const [id, track] of now) {
      const last = before.get(id);
      if (last === undefined || last === track) continue;
      const known = this.#switched.get(id) ?? { frame: 0, habits: 0, counted: LONG_AGO, tracks: [] };
      const isHabit = known.tracks.includes(track) && ++known.habits <= HABITS_MAX;
      const other = owners.get(track);
      const isExchange = other !== undefined && changed.has(other) && now.get(other) === last;
      changed.add(id);
      if (isExchange) exchanges++;
      if (isHabit || isExchange) repeated++;
      else if ((this.#frame - known.counted) * seconds < MEETING_SECONDS) again++;
      else {
        known.counted = this.#frame;
        this.#meeting.push(this.#frame);
      }
      known.tracks = [last, ...known.tracks.filter((one) => one !== last)].slice(0, TRACKS_KEPT);
      known.frame = this.#frame;
      this.#switched.set(id, known);
    }
    return { exchanges, repeated, again };
  }

  #purge(seconds: number): void {
    this.#untilPurge = AWAY_SECONDS / 2;
    const oldest = this.#frame - AWAY_SECONDS / seconds;
    for (const [id, known] of this.#known) if (known[KNOWN.seen] < oldest) this.#known.delete(id);
    for (const id of this.#lostTracks.keys()) if (!this.#known.has(id)) this.#lostTracks.delete(id);
    const forgotten = this.#frame - FALSE_AGAIN_SECONDS / seconds;
    for (const [id, risen] of this.#risenBefore) if (risen % AGAIN < forgotten) this.#risenBefore.delete(id);
    for (const [id, { frame }] of this.#switched) if (frame < forgotten) this.#switched.delete(id);
  }

  toJSON(): CensusState {
    return {
      frame: this.#frame,
      pendingHalves: this.#pendingHalves,
      owedHalves: this.#owedHalves,
      truths: [...this.#known].map(([id, known]) => [
        id,
        ...NUMBERS.map((at) => known[at]),
        ...OWN_NUMBERS.map((at) => known[at]),
        this.#untilPurge,
      ]),
      pairs: this.#truthsBefore.map((truth, n) => [truth, this.#tracksBefore[n]]),
      false: [...this.#falseFor],
      risen: [...this.#risenBefore].map(([id, risen]) => [id, timesOf(risen), risen % AGAIN]),
      lostTracks: [...this.#lostTracks],
      switched: [...this.#switched].map(([id, { frame, habits, counted, tracks }]) => [
        ...([id, frame, habits, counted] as const),
        ...tracks,
      ]),
      switchesWaiting: this.#switchesWaiting.map((one) => [...one]),
    };
  }

  restore(state: CensusState): void {
    this.#frame = state.frame;
    this.#pendingHalves = state.pendingHalves;
    this.#owedHalves = state.owedHalves;
    for (const [id, ...numbers] of state.truths) {
      const known = this.#knownOf(id);
      for (const [n, at] of [...NUMBERS, ...OWN_NUMBERS].entries()) known[at] = numbers[n];
      this.#untilPurge = numbers[NUMBERS.length + OWN_NUMBERS.length];
    }
    this.#truthsBefore = state.pairs.map(([truth]) => truth);
    this.#tracksBefore = state.pairs.map(([, track]) => track);
    this.#heldBefore = [];
    this.#falseFor = new Map(state.false);
    this.#risenBefore = new Map(state.risen.map(([id, times, frame]) => [id, frame + (times - 1) * AGAIN]));
    for (const [truth, track] of state.lostTracks) this.#lostTracks.set(truth, track);
    this.#switched = new Map(
      state.switched.map(([id, frame, habits, counted, ...tracks]) => [id, { frame, habits, counted, tracks }]),
    );
    this.#meeting = [...this.#switched.values()].map(({ counted }) => counted).sort((a, b) => a - b);
    this.#switchesWaiting = state.switchesWaiting.map((one) => [...one]);
  }
}

/** The newest ones were none. */
function takeBack(waiting: CensusState['switchesWaiting'], count: number): void {
  let left = count;
  while (left > 0 && waiting.length > 0) {
    const newest = waiting[waiting.length - 1];
    const taken = Math.min(left, newest[1]);
    left -= taken;
    newest[1] -= taken;
    newest[2] = Math.min(newest[1], newest[2]);
    if (newest[1] <= 0) waiting.pop();
  }
}

function noteBegin(known: Known): void {
  known[KNOWN.begins]++;
  if (known[KNOWN.exposed] < HABIT_SECONDS) return;
  known[KNOWN.begins] /= 2;
  known[KNOWN.exposed] /= 2;
}

/** The longer a truth is known, the longer its batches. */
const batchSeconds = (known: Known) => Math.max(LEVEL_SECONDS, Math.min(BATCH_SECONDS_MAX, known[KNOWN.weight] / 2));

/** A batch is learned when the next one is complete; the first one at once, to have something. */
function closeBatch(known: Known, learn: boolean): void {
  if (known[KNOWN.weight] === 0) {
    known[KNOWN.weight] = known[KNOWN.batchSeconds];
    known[KNOWN.level] = known[KNOWN.batch] / known[KNOWN.batchSeconds];
  } else if (learn) {
    if (known[KNOWN.waitingSeconds] > 0) {
      known[KNOWN.weight] = Math.min(LEVEL_SECONDS_MAX, known[KNOWN.weight] + known[KNOWN.waitingSeconds]);
      known[KNOWN.level] +=
        (known[KNOWN.waiting] - known[KNOWN.level] * known[KNOWN.waitingSeconds]) / known[KNOWN.weight];
    }
    known[KNOWN.waiting] = known[KNOWN.batch];
    known[KNOWN.waitingSeconds] = known[KNOWN.batchSeconds];
  }
  known[KNOWN.batch] = known[KNOWN.batchSeconds] = 0;
}

function copy(from: readonly string[], to: string[]): void {
  for (let n = 0; n < from.length; n++) if (to[n] !== from[n]) to[n] = from[n];
  if (to.length !== from.length) to.length = from.length;
}
