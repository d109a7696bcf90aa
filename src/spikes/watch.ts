/**
 * Watches one series for spikes: every frame's glance and time go in, spikes that start, change and end come out. What
 * is usual is learned for each signal by itself, and not from its own spikes. State is one flat array and the census;
 * `fromJSON` resumes exactly where `toJSON` was called, so that what is found does not depend on restarts.
 */

import type { Glance } from '../metric/evaluation.js';
import { Census, type CensusState } from './census.js';
import { CountDetector, countDetectorSize } from './count-detector.js';
import { type Ending, EPISODE_SIZE, Episode, type EpisodeFrame } from './episode.js';
import { ErrorDetector, errorDetectorSize } from './error-detector.js';
import { FLOOR_SIZE, Floor, type SpikeReason } from './floor.js';
import { type SpikeKeys, type SpikeSettings, spikeSettings } from './settings.js';
import { SIGNALS, type Signal } from './signals.js';
import { FALSE, MISSED, SWITCH } from './traits.js';

/** A spike that starts, changes or ends. */
export interface SpikeNews {
  phase: 'start' | 'update' | 'end';
  signal: Signal;
  /** frame it began with, as far as can be told */
  k: number;
  /** frame at which this was known */
  at: number;
  /** when it began, epoch seconds, where times are known */
  since?: number;
  /** per frame: missed truths, false tracks, switches; or the mean localization error */
  expected: number;
  observed: number;
  /** 1 is the threshold */
  score: number;
  /** truths, or for false the tracks, that were concerned when it began */
  objects: string[];
  /** how many truths (tracks, for false) are concerned now, out of how many */
  concerned?: number;
  of?: number;
  /** why it is one: worse than usual, or bad whatever is usual */
  why?: SpikeReason;
  /** beyond doubt: half as much evidence again as an alarm asks for, missed and false at once, or bad as such */
  certain: boolean;
  /** how it ended; of an update, that it is beyond doubt, lasts at a level that is learned by now, or got worse */
  reason?: Ending | 'closed' | 'certain' | 'worse' | 'retired';
}

/** A signal as it is now. */
export interface SpikeGauge {
  active: boolean;
  /** a spike that is beyond doubt */
  certain: boolean;
  score: number;
  expected: number;
  observed: number;
  /** spikes so far */
  count: number;
  /** runs of misses, false tracks, switches that have begun */
  begun: number;
}

/** When a frame was: its number, and epoch seconds where they are known. */
export interface FrameTime {
  k: number;
  t?: number;
}

/** Everything a SpikeWatch knows. Plain JSON; its version stands in store/formats.ts. */
export interface SpikeState {
  /** the numbers of each piece; a piece that is missing, or of another length, starts anew */
  pieces: Partial<Record<Piece, number[]>>;
  census?: CensusState;
  objects: Partial<Record<Signal, string[]>>;
  /** spikes that last, and were known to a version whose numbers mean nothing any more */
  lasting?: Array<{ signal: Signal; k: number }>;
}

/**
 * A burst of a young series: seconds for which it is held. Of an occlusion, the level it came to, and seconds for which
 * it has been over; of clutter, seconds it had lasted before, tracks that began, when the last did, and how much better
 * what is usual explains what came since.
 */
const HELD = { seconds: 0, peak: 1, over: 2, before: 3, begun: 4, lastBegun: 5, relief: 6 } as const;
const HELD_SIZE = 7;
/** Occlusions and showers of clutter pass within so many seconds; other signals have nothing of the kind. */
const PASSING_SECONDS: Partial<Record<Signal, number>> = { missed: 5, false: 25 };
/** In the first minute somebody is setting up the stream, and wants to see everything. */
const SETUP_SECONDS = 60;
/** an occlusion begins within so many seconds, is over for so many, at so much of what it came to */
const ABRUPT_SECONDS = 1;
const OVER_SECONDS = 1;
const OVER_SHARE = 1 / 3;
/**
 * A shower is over when that is e^8 times as likely as that it goes on; below e^1 it does. What is usual is taken a
 * little higher, and a shower for twice that at least: so are ends of spikes decided.
 */
const SHOWER_OVER = 8;
const SHOWER_DOUBT = 1;
const USUAL_MARGIN = 1.3;
const SHOWER_RISE = 2;
/** Other evidence of so much of its threshold says that it is no such thing. */
const JOINT_SCORE = 0.5;
const COMMON = { time: 0, interval: 1, frames: 2, timed: 3, why: 4, counts: 8 } as const;
/** The state is one flat array: these pieces, one behind the other. */
const SIZES = {
  common: COMMON.counts,
  counts: SIGNALS.length,
  begun: SIGNALS.length,
  missed: countDetectorSize(MISSED),
  false: countDetectorSize(FALSE),
  switch: countDetectorSize(SWITCH),
  localization: errorDetectorSize(),
  episodes: SIGNALS.length * EPISODE_SIZE,
  floor: FLOOR_SIZE,
  held: SIGNALS.length * HELD_SIZE,
} as const;
type Piece = keyof typeof SIZES;
const PIECES = Object.keys(SIZES) as Piece[];
const [MISSED_AT, FALSE_AT, SWITCH_AT] = (['missed', 'false', 'switch'] as const).map((signal) =>
  SIGNALS.indexOf(signal),
);
const STATE_SIZE = PIECES.reduce((sum, piece) => sum + SIZES[piece], 0);
/** Seconds over which what is observed is smoothed; switches are rare and need more. */
const SMOOTH_SECONDS: Record<Signal, number> = { missed: 1, false: 1, switch: 5, localization: 1 };
const REASONS: readonly SpikeReason[] = ['worse', 'never_matched', 'mostly_missed', 'objective'];
/** Frames without any time are taken to come so fast; a gap longer than this is nobody's. */
const INTERVAL_SECONDS = 1 / 30;
const GAP_SECONDS = 10;
/** the interval between frames is learned over so many */
const INTERVAL_FRAMES = 20;
/** A spike that was adopted has got worse when its level is so many times what it was. */
const WORSE = 1.5;
/** A spike is beyond doubt at so many times its threshold: false alarms hardly ever come that far. */
const CERTAIN = 1.5;
/** and so many objects are concerned, where it wakes people */
const CERTAIN_OBJECTS = 2;
/** By the floor, calm is a share of missed objects of so much. */
const FLOOR_CALM = 0.35;

export class SpikeWatch {
  readonly #settings: SpikeSettings;
  readonly #state = new Float64Array(STATE_SIZE);
  readonly #census: Census;
  #missed!: CountDetector;
  #false!: CountDetector;
  #switch!: CountDetector;
  #error!: ErrorDetector;
  #floor!: Floor;
  #episodes = {} as Record<Signal, Episode>;
  #objects: Partial<Record<Signal, string[]>> = {};
  #begun!: Float64Array;
  #held!: Float64Array;
  readonly #moment: EpisodeFrame = { level: 0, objects: 0, begun: 0, proves: false };

  constructor(
    settings: SpikeKeys,
    /** of the metric: exponent and cut-off give errors their size */
    readonly exponent: number,
    readonly cutoff: number,
  ) {
    this.#settings = spikeSettings(settings);
    this.#census = new Census(this.#settings, exponent, cutoff);
    this.#wire();
  }

  /** Every detector works on its own piece of the one state, with what was stored of it. */
  #wire(pieces: Partial<SpikeState['pieces']> = {}): void {
    const settings = this.#settings;
    this.#begun = this.#piece('begun');
    this.#held = this.#piece('held');
    this.#missed = new CountDetector(MISSED, this.#piece('missed'), settings, pieces.missed);
    this.#false = new CountDetector(FALSE, this.#piece('false'), settings, pieces.false);
    this.#switch = new CountDetector(SWITCH, this.#piece('switch'), settings, pieces.switch);
    this.#error = new ErrorDetector(this.#piece('localization'), settings, pieces.localization);
    this.#floor = new Floor(this.#piece('floor'), settings);
    const episodes = this.#piece('episodes');
    SIGNALS.forEach((signal, n) => {
      const own = episodes.subarray(n * EPISODE_SIZE, (n + 1) * EPISODE_SIZE);
      this.#episodes[signal] = new Episode(signal, own, settings, SMOOTH_SECONDS[signal]);
    });
  }

  #piece(name: Piece): Float64Array {
    const before = PIECES.slice(0, PIECES.indexOf(name)).reduce((sum, piece) => sum + SIZES[piece], 0);
    return this.#state.subarray(before, before + SIZES[name]);
  }

  /** Adds the newest frame; what starts, changes or ends with it. `switched` names truths that changed their track. */
  update(glance: Glance, mark: FrameTime, switched: () => string[] = () => []): SpikeNews[] {
    const seconds = this.#elapse(mark);
    const { k } = mark;
    const census = this.#census;
    const { interrupted } = census;
    const learnsLevels = !this.#episodes.localization.active;
    census.count(glance, seconds, this.#error.persistence(seconds), this.#missed.perSecond, learnsLevels);
    if (interrupted) return NONE;
    this.#missed.update(census.missed, k, seconds);
    this.#false.update(census.false, k, seconds);
    this.#switch.update(census.switch, k, seconds);
    this.#error.update(census.errors, census.meanError, k, seconds);
    this.#floor.update(census, seconds);
    this.#begun[MISSED_AT] += census.missed.begun + census.missed.unfound;
    this.#begun[FALSE_AT] += census.false.begun;
    this.#begun[SWITCH_AT] += census.switch.begun;
    let news: SpikeNews[] = NONE;
    for (const signal of this.#settings.signals) {
      const one = this.#follow(signal, k, seconds, glance, switched);
      if (one) news = news === NONE ? [one] : [...news, one];
    }
    this.#learn(seconds);
    return news;
  }

  /**
   * Nothing is known of the newest frame: what starts is found from the next ones alone, beginning with a first that
   * only says how things are. What is usual, and spikes that last, stay.
   */
  interrupt(): void {
    this.#census.interrupt();
    this.#held.fill(0);
    for (const signal of SIGNALS) if (!this.#episodes[signal].active) this.#detector(signal).reset();
  }

  /** Seconds that a frame stands for: the usual interval, so that jitter and gaps do not matter. */
  #elapse({ t }: FrameTime): number {
    const state = this.#state;
    const interval = state[COMMON.interval] || INTERVAL_SECONDS;
    const frames = ++state[COMMON.frames];
    state[COMMON.timed] = t === undefined ? 0 : 1;
    if (t === undefined) {
      state[COMMON.time] += interval;
      return interval;
    }
    const apart = t - state[COMMON.time];
    state[COMMON.time] = t;
    if (frames > 1 && apart > 0 && apart < GAP_SECONDS) {
      const weight = 1 / Math.min(INTERVAL_FRAMES, frames - 1);
      state[COMMON.interval] = interval + (apart - interval) * weight;
    }
    return state[COMMON.interval] || INTERVAL_SECONDS;
  }

  #follow(signal: Signal, k: number, seconds: number, glance: Glance, switched: () => string[]): SpikeNews | undefined {
    const episode = this.#episodes[signal];
    const census = this.#census;
    if (signal === 'localization' && census.pairs === 0) return undefined;
    episode.observe(signal === 'localization' ? census.meanError : census[signal].level, seconds);
    const detector = this.#detector(signal);
    const alarming = detector.alarming;
    if (!episode.active) {
      const reason = alarming ? 'worse' : this.#floor.reasonFor(signal);
      if (!reason && !this.#isHeld(signal)) return undefined;
      if ((signal === 'missed' || signal === 'false') && this.#mayPass(signal, reason, k, seconds)) return undefined;
      return this.#start(signal, k, reason ?? 'worse', glance, switched);
    }
    if (signal === 'missed' && census.lost.length > 0) this.#gatherLost();
    const floor = this.#floor.reasonFor(signal);
    const floored = floor !== null || (signal === 'missed' && this.#floor.missesMost);
    const ending = episode.follow(this.#momentOf(signal), seconds, floored);
    if (episode.calm) detector.subside();
    if (ending === 'recovered') return this.#end(signal, k, ending);
    if (ending === 'adopted') {
      detector.relearn();
      return this.#news('update', signal, k, 'adopted');
    }
    const certain = (alarming && this.#isCertain(signal)) || (floor !== null && floor !== 'worse');
    if (certain && episode.confirm() && this.#settings.critical.includes(signal))
      return this.#news('update', signal, k, 'certain');
    if (!alarming || !episode.adopted) return undefined;
    // what is worse than the spike itself is news, at most once an hour
    const worse = episode.observed > WORSE * this.#expected(signal) && episode.worsen();
    detector.reset();
    return worse ? this.#news('update', signal, k, 'worse') : undefined;
  }

  /** A burst that may pass by itself, in a series that has not seen many: when it does it is learned, and not told. */
  #mayPass(signal: 'missed' | 'false', reason: SpikeReason | null, k: number, seconds: number): boolean {
    const detector = signal === 'missed' ? this.#missed : this.#false;
    const at = SIGNALS.indexOf(signal) * HELD_SIZE;
    const held = this.#held.subarray(at, at + HELD_SIZE);
    if (!this.#isHeld(signal)) {
      const { age } = detector.usual;
      const young = age >= SETUP_SECONDS && age < this.#settings.youngSeconds;
      const lasted = (k - detector.finding().firstFrame) * seconds;
      if (reason !== 'worse' || !young || !this.#looksPassing(signal, lasted)) return false;
      held[HELD.before] = held[HELD.lastBegun] = lasted;
      held[HELD.begun] = Math.max(0, detector.cameSince - this.#census[signal].begun);
      detector.open();
    }
    held[HELD.seconds] += seconds;
    const over = signal === 'missed' ? this.#isOcclusionOver(held, seconds) : this.#isShowerOver(held, seconds);
    if (over) {
      detector.reset();
      held.fill(0);
      return true;
    }
    const passing = (reason === null || reason === 'worse') && this.#isAlone(signal);
    const inTime = held[HELD.seconds] < PASSING_SECONDS[signal]! || held[HELD.relief] >= SHOWER_DOUBT;
    if (passing && inTime) return true;
    held.fill(0);
    return false;
  }

  #isOcclusionOver(held: Float64Array, seconds: number): boolean {
    const { level } = this.#census.missed;
    const expected = this.#expected('missed');
    held[HELD.peak] = Math.max(held[HELD.peak], level);
    const over = level - expected <= OVER_SHARE * (held[HELD.peak] - expected);
    held[HELD.over] = over ? held[HELD.over] + seconds : 0;
    return held[HELD.over] >= OVER_SECONDS;
  }

  /** Clutter comes and goes by the moment, so a moment without says nothing: the tracks that begin do. */
  #isShowerOver(held: Float64Array, seconds: number): boolean {
    const { begun } = this.#census.false;
    if (begun > 0) {
      held[HELD.begun] += begun;
      held[HELD.lastBegun] = held[HELD.before] + held[HELD.seconds];
    }
    const usual = USUAL_MARGIN * this.#false.usualRate(this.#census.truths);
    const shower = Math.max(SHOWER_RISE * usual, held[HELD.begun] / Math.max(seconds, held[HELD.lastBegun]));
    const relief = (shower - usual) * seconds - begun * Math.log(shower / usual);
    held[HELD.relief] = Math.max(0, held[HELD.relief] + relief);
    return held[HELD.relief] >= SHOWER_OVER;
  }

  #looksPassing(signal: 'missed' | 'false', lasted: number): boolean {
    const kind = signal === 'missed' ? lasted <= ABRUPT_SECONDS : this.#false.isShower;
    return kind && this.#isAlone(signal);
  }

  /** What is hidden makes no false tracks, and clutter hides nothing; a tracker that finds nothing at all is ill. */
  #isAlone(signal: 'missed' | 'false'): boolean {
    const other = signal === 'missed' ? this.#false : this.#missed;
    return this.#census.pairs > 0 && other.score < JOINT_SCORE;
  }

  /** An alarm beyond doubt: by far and of more than one object, or when objects are lost and tracks false at once. */
  #isCertain(signal: Signal): boolean {
    const both = (signal === 'missed' || signal === 'false') && this.#missed.alarming && this.#false.alarming;
    const ofOne = signal === 'missed' && (this.#objects.missed?.length ?? 0) < CERTAIN_OBJECTS;
    // one that is lost again and again has habits of its own, unless it is not found for long
    return both || (this.#detector(signal).score >= CERTAIN && (!ofOne || this.#floor.missedMost));
  }

  /** Objects join a spike until there are enough of them. */
  #gatherLost(): void {
    const before = this.#objects.missed ?? [];
    if (before.length >= CERTAIN_OBJECTS) return;
    this.#objects.missed = [...new Set([...before, ...this.#census.lost])].slice(0, CERTAIN_OBJECTS);
  }

  #isHeld(signal: Signal): boolean {
    return this.#held[SIGNALS.indexOf(signal) * HELD_SIZE + HELD.seconds] > 0;
  }

  #momentOf(signal: Signal): EpisodeFrame {
    const moment = this.#moment;
    const census = this.#census;
    if (signal === 'localization') {
      moment.level = census.meanError;
      moment.objects = census.pairs;
      moment.begun = 0;
    } else {
      moment.level = census[signal].level;
      moment.objects = census.truths;
      moment.begun = census[signal].begun;
    }
    // a tracker that finds nothing proves nothing about its clutter
    moment.proves = signal === 'missed' ? census.truths > 0 : census.pairs > 0;
    return moment;
  }

  #start(signal: Signal, k: number, why: SpikeReason, glance: Glance, switched: () => string[]): SpikeNews {
    const episode = this.#episodes[signal];
    const detector = this.#detector(signal);
    const finding = detector.finding();
    const level = signal === 'localization' ? this.#census.meanError : this.#census[signal].level;
    const observed = why === 'worse' ? Math.max(finding.observed, level) : episode.observed;
    const firstFrame = why === 'worse' ? Math.min(finding.firstFrame, k) : k;
    const [usual, bad] = this.#levels(signal, why, observed);
    episode.start(firstFrame, this.#state[COMMON.time], observed, usual, bad, this.#expected(signal));
    const kept = Math.max(CERTAIN_OBJECTS, this.#settings.objectsMax);
    this.#objects[signal] = this.#concerned(signal, glance, switched).slice(0, kept);
    if (why !== 'worse' || this.#isCertain(signal)) episode.confirm();
    this.#state[COMMON.why + SIGNALS.indexOf(signal)] = REASONS.indexOf(why);
    detector.open();
    this.#piece('counts')[SIGNALS.indexOf(signal)]++;
    return { ...this.#news('start', signal, k), observed };
  }

  /** What is usual and what is bad, as a share of objects, a rate per second, or a log error. */
  #levels(signal: Signal, why: SpikeReason, observed: number): [usual: number, bad: number] {
    if (signal === 'localization') return [this.#error.mean, Math.log(Math.max(1e-9, observed))];
    const { truths } = this.#census;
    if (signal === 'missed') {
      const expected = this.#missed.expected(1);
      return [why === 'worse' ? expected : Math.min(expected, FLOOR_CALM), Math.min(1, observed / Math.max(1, truths))];
    }
    const usual = (signal === 'false' ? this.#false : this.#switch).usualRate(truths);
    return [usual, 3 * usual];
  }

  #news(phase: SpikeNews['phase'], signal: Signal, at: number, reason?: SpikeNews['reason']): SpikeNews {
    const episode = this.#episodes[signal];
    const census = this.#census;
    const news: SpikeNews = {
      phase,
      signal,
      k: episode.firstFrame,
      at,
      expected: this.#expected(signal),
      observed: phase === 'end' ? episode.mean : episode.observed,
      score: this.#detector(signal).score,
      objects: this.#objects[signal]?.slice(0, this.#settings.objectsMax) ?? [],
      certain: episode.certain,
      why: REASONS[this.#state[COMMON.why + SIGNALS.indexOf(signal)]],
    };
    if (signal === 'missed' || signal === 'false') {
      news.concerned = census[signal].level;
      news.of = signal === 'missed' ? census.truths : census.pairs + census.false.level;
    }
    if (this.#state[COMMON.timed] === 1) news.since = episode.begun;
    if (reason) news.reason = reason;
    return news;
  }

  #end(signal: Signal, at: number, reason: Ending | 'closed'): SpikeNews {
    const news = this.#news('end', signal, at, reason);
    delete this.#objects[signal];
    const detector = this.#detector(signal);
    if (this.#episodes[signal].adopted) detector.restore();
    detector.reset();
    return news;
  }

  /** The series is over, or only some signals are watched from now on: spikes of the others end. */
  close(at: number, kept: readonly Signal[] = []): SpikeNews[] {
    return this.#settings.signals
      .filter((signal) => this.#episodes[signal].active && !kept.includes(signal))
      .map((signal) => {
        this.#episodes[signal].stop();
        return this.#end(signal, at, 'closed');
      });
  }

  /** The tracker is gone while its reference lives: its spikes stay, and say so. */
  retire(at: number): SpikeNews[] {
    return this.#settings.signals
      .filter((signal) => this.#episodes[signal].active)
      .map((signal) => this.#news('update', signal, at, 'retired'));
  }

  gauge(signal: Signal): SpikeGauge {
    const { active, certain, observed } = this.#episodes[signal];
    const { score } = this.#detector(signal);
    const count = this.#piece('counts')[SIGNALS.indexOf(signal)];
    const begun = this.#begun[SIGNALS.indexOf(signal)];
    return { active, certain: active && certain, score, expected: this.#expected(signal), observed, count, begun };
  }

  /** The thresholds in force, by kind of change: for those who tune. */
  thresholds(signal: Signal): number[] {
    return this.#detector(signal).thresholds();
  }

  /** The evidence so far, by kind of change. */
  sums(signal: Signal): number[] {
    return this.#detector(signal).sums();
  }

  get signals(): readonly Signal[] {
    return this.#settings.signals;
  }

  #detector(signal: Signal): CountDetector | ErrorDetector {
    return signal === 'missed'
      ? this.#missed
      : signal === 'false'
        ? this.#false
        : signal === 'switch'
          ? this.#switch
          : this.#error;
  }

  #expected(signal: Signal): number {
    return signal === 'localization' ? this.#error.expected() : this.#detector(signal).expected(this.#census.truths);
  }

  /** Each signal by itself, unless it has a spike; a tracker that finds nothing of what is there teaches nothing. */
  #learn(seconds: number): void {
    const census = this.#census;
    const time = this.#state[COMMON.time];
    const alive = census.truths === 0 || census.pairs > 0;
    if (this.#learns('missed')) this.#missed.learn(census.missed, seconds, time);
    if (alive && this.#learns('false')) this.#false.learn(census.false, seconds, time);
    if (alive && this.#learns('switch')) this.#switch.learn(census.switch, seconds, time);
    if (this.#learns('localization')) this.#error.learn(census.errors, census.meanError, seconds);
  }

  #learns(signal: Signal): boolean {
    const episode = this.#episodes[signal];
    return episode.active ? episode.adopted : !this.#isHeld(signal);
  }

  /** Who is concerned by what starts now, the newest first. */
  #concerned(signal: Signal, glance: Glance, switched: () => string[]): string[] {
    const { lost, risen } = this.#census;
    if (signal === 'missed') return [...new Set([...lost, ...glance.missed])];
    if (signal === 'false') return [...new Set([...risen, ...glance.false])];
    return signal === 'switch' ? switched() : [...glance.properTruths];
  }

  /** A spike of a version whose numbers mean nothing any more lasts until the scene is as good as most are. */
  #resume(signal: Signal, k: number): void {
    const [usual, bad] =
      signal === 'missed'
        ? [FLOOR_CALM / 5, 2 * FLOOR_CALM]
        : signal === 'localization'
          ? [Math.log(this.cutoff / 4), Math.log(this.cutoff / 2)]
          : this.#levels(signal, 'worse', 0);
    this.#episodes[signal].start(k, 0, 0, usual, bad, this.#expected(signal));
    this.#episodes[signal].confirm();
  }

  toJSON(): SpikeState {
    return {
      pieces: Object.fromEntries(
        PIECES.map((name) => [name, isSignal(name) ? this.#detector(name).toJSON() : Array.from(this.#piece(name))]),
      ),
      census: this.#census.toJSON(),
      objects: this.#objects,
    };
  }

  /** Resumes exactly where `toJSON` was called; without a state it starts anew. */
  static fromJSON(state: SpikeState | undefined, settings: SpikeKeys, exponent: number, cutoff: number): SpikeWatch {
    const watch = new SpikeWatch(settings, exponent, cutoff);
    if (!state) return watch;
    for (const name of PIECES) {
      const numbers = state.pieces[name];
      if (!isSignal(name) && numbers?.length === SIZES[name]) watch.#piece(name).set(numbers);
    }
    if (state.census) watch.#census.restore(state.census);
    watch.#objects = state.objects;
    watch.#wire(state.pieces);
    for (const { signal, k } of state.lasting ?? []) watch.#resume(signal, k);
    return watch;
  }
}

const isSignal = (name: string): name is Signal => SIGNALS.includes(name as Signal);

const NONE: SpikeNews[] = [];
