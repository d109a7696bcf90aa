/**
 * Watches one series for spikes: takes every frame's glance, tells when a spike begins and ends. While one lasts,
 * nothing is learned. State is one flat array and three lists of ids; `fromJSON` resumes exactly where `toJSON` was
 * called, so that what is found does not depend on restarts.
 */

import type { Glance } from '../metric/evaluation.js';
import { type Ending, EPISODE_SIZE, Episode } from './episode.js';
import { ErrorDetector, errorDetectorSize } from './error-detector.js';
import { type RunCounts, RunDetector, runDetectorSize } from './run-detector.js';
import { FALSE, MISSED, SIGNALS, type Signal, SMOOTH_FRAMES, SWITCH } from './signals.js';

export interface SpikeSettings {
  signals: Signal[];
  /** at least so many frames, in the mean, between two false alarms of a signal */
  falseAlarmFrames: number;
  learnFrames: number;
  memoryFrames: number;
  calmFrames: number;
  adoptFrames: number;
  objectsMax: number;
}

/** A spike that begins or ends. */
export interface SpikeNews {
  phase: 'start' | 'end';
  signal: Signal;
  /** frame it began with, as far as can be told */
  k: number;
  /** frame at which this was known */
  at: number;
  /** per frame: missed truths, false tracks, switches; or the mean localization error */
  expected: number;
  observed: number;
  /** 1 is the threshold */
  score: number;
  /** truths, or for false the tracks, that were concerned when it began */
  objects: string[];
  /** how it ended */
  reason?: Ending | 'closed';
}

/** A signal as it is now. */
export interface SpikeGauge {
  active: boolean;
  score: number;
  expected: number;
  observed: number;
  /** spikes so far */
  count: number;
}

/** Everything a SpikeWatch knows. Plain JSON; its version stands in store/formats.ts. */
export interface SpikeState {
  /** the numbers of each piece; a piece that is missing, or of another length, begins anew */
  pieces: Partial<Record<Piece, number[]>>;
  held: string[];
  missed: string[];
  false: string[];
  objects: Partial<Record<Signal, string[]>>;
}

const COMMON = { seen: 0, pendingHalves: 1, owedHalves: 2, objects: 3, counts: 4 } as const;
/** The state is one flat array: these pieces, one behind the other. */
const SIZES = {
  common: COMMON.counts,
  counts: SIGNALS.length,
  missed: runDetectorSize(MISSED),
  false: runDetectorSize(FALSE),
  switch: runDetectorSize(SWITCH),
  localization: errorDetectorSize(),
  episodes: SIGNALS.length * EPISODE_SIZE,
} as const;
type Piece = keyof typeof SIZES;
const PIECES = Object.keys(SIZES) as Piece[];
const STATE_SIZE = PIECES.reduce((sum, piece) => sum + SIZES[piece], 0);
/** half-switches of the frames before, after an interruption */
const UNKNOWN = -1;
/** Errors below this share of the cut-off are all the same: nothing is off. */
const LEAST_ERROR_SHARE = 0.01;

const noCounts = (): RunCounts => ({ begun: 0, exposed: 0, ended: 0, carried: 0, level: 0, objects: 0 });

export class SpikeWatch {
  readonly #settings: SpikeSettings;
  readonly #state = new Float64Array(STATE_SIZE);
  #missed!: RunDetector;
  #false!: RunDetector;
  #switch!: RunDetector;
  #error!: ErrorDetector;
  #episodes = {} as Record<Signal, Episode>;
  readonly #counts = { missed: noCounts(), false: noCounts(), switch: noCounts() };
  #held: string[] = [];
  #missedIds = new Set<string>();
  #falseIds = new Set<string>();
  /** truths that were held and are missed, tracks that were not false and are, in the newest frame */
  readonly #lost: string[] = [];
  readonly #risen: string[] = [];
  #meanError = 0;
  #pairs = 0;
  #objects: Partial<Record<Signal, string[]>> = {};

  constructor(
    settings: SpikeSettings,
    /** of the metric: exponent and cut-off give errors their size */
    readonly exponent: number,
    readonly cutoff: number,
  ) {
    this.#settings = settings;
    this.#wire();
  }

  /** Every detector works on its own piece of the one state. */
  #wire(): void {
    const settings = this.#settings;
    this.#missed = new RunDetector(MISSED, this.#piece('missed'), settings);
    this.#false = new RunDetector(FALSE, this.#piece('false'), settings);
    this.#switch = new RunDetector(SWITCH, this.#piece('switch'), settings);
    this.#error = new ErrorDetector(this.#piece('localization'), settings);
    const episodes = this.#piece('episodes');
    SIGNALS.forEach((signal, n) => {
      const own = episodes.subarray(n * EPISODE_SIZE, (n + 1) * EPISODE_SIZE);
      this.#episodes[signal] = new Episode(own, settings, SMOOTH_FRAMES[signal]);
    });
  }

  #piece(name: Piece): Float64Array {
    const before = PIECES.slice(0, PIECES.indexOf(name)).reduce((sum, piece) => sum + SIZES[piece], 0);
    return this.#state.subarray(before, before + SIZES[name]);
  }

  /** Takes in the newest frame, which has the number `k`; what begins or ends with it. */
  update(glance: Glance, k: number, switched: () => string[]): SpikeNews[] {
    const isFirst = this.#state[COMMON.pendingHalves] === UNKNOWN;
    this.#count(glance);
    if (isFirst) return [];
    this.#missed.update(this.#counts.missed, k);
    this.#false.update(this.#counts.false, k);
    this.#switch.update(this.#counts.switch, k);
    this.#error.update(this.#meanError, this.#pairs, k);
    const news: SpikeNews[] = [];
    let calm = true;
    for (const signal of this.#settings.signals) {
      this.#follow(signal, k, glance, switched, news);
      if (this.#episodes[signal].active) calm = false;
    }
    if (calm) this.#learn();
    return news;
  }

  /**
   * Nothing is known of the newest frame: what begins is found from the next ones alone, beginning with a first that
   * only says how things are. What is usual, and spikes that last, stay.
   */
  interrupt(): void {
    this.#state[COMMON.pendingHalves] = UNKNOWN;
    for (const signal of SIGNALS) if (!this.#episodes[signal].active) this.#detector(signal).reset();
  }

  #follow(signal: Signal, k: number, glance: Glance, switched: () => string[], news: SpikeNews[]): void {
    const episode = this.#episodes[signal];
    const level = this.#level(signal);
    if (signal === 'localization' && this.#pairs === 0) return;
    episode.observe(level);
    if (episode.active) {
      const ending = episode.follow(level, this.#expected(signal));
      if (ending) news.push(this.#end(signal, k, ending));
      return;
    }
    const detector = this.#detector(signal);
    if (!detector.alarming) return;
    const { score } = detector;
    const { firstFrame, observed } = detector.finding();
    const expected = this.#expected(signal);
    episode.start(Math.min(firstFrame, k), observed);
    for (const one of SIGNALS) this.#detector(one).dropBlock();
    this.#state[COMMON.counts + SIGNALS.indexOf(signal)]++;
    const objects = this.#concerned(signal, glance, switched).slice(0, this.#settings.objectsMax);
    this.#objects[signal] = objects;
    news.push({ phase: 'start', signal, k: episode.firstFrame, at: k, expected, observed, score, objects });
  }

  #end(signal: Signal, at: number, reason: Ending | 'closed'): SpikeNews {
    const episode = this.#episodes[signal];
    const detector = this.#detector(signal);
    const { score } = detector;
    const news: SpikeNews = {
      phase: 'end',
      signal,
      k: episode.firstFrame,
      at,
      expected: this.#expected(signal),
      observed: episode.mean,
      score,
      objects: this.#objects[signal] ?? [],
      reason,
    };
    delete this.#objects[signal];
    if (reason === 'adopted') detector.relearn();
    else detector.reset();
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

  gauge(signal: Signal): SpikeGauge {
    const { active, observed } = this.#episodes[signal];
    const { score } = this.#detector(signal);
    const count = this.#state[COMMON.counts + SIGNALS.indexOf(signal)];
    return { active, score, expected: this.#expected(signal), observed, count };
  }

  get signals(): readonly Signal[] {
    return this.#settings.signals;
  }

  #detector(signal: Signal): RunDetector | ErrorDetector {
    return signal === 'missed'
      ? this.#missed
      : signal === 'false'
        ? this.#false
        : signal === 'switch'
          ? this.#switch
          : this.#error;
  }

  #level(signal: Signal): number {
    return signal === 'localization' ? this.#meanError : this.#counts[signal].level;
  }

  #expected(signal: Signal): number {
    return this.#detector(signal).expected(this.#state[COMMON.objects]);
  }

  #learn(): void {
    this.#missed.learn(this.#counts.missed);
    this.#false.learn(this.#counts.false);
    this.#switch.learn(this.#counts.switch);
    this.#error.learn();
  }

  #count(glance: Glance): void {
    const truths = glance.properTruths.length + glance.missed.length;
    this.#state[COMMON.objects] = truths;
    this.#countMissed(glance, truths);
    this.#countFalse(glance, truths);
    this.#countSwitches(glance, truths);
    this.#pairs = glance.properTruths.length;
    const mean = this.#pairs === 0 ? 0 : (glance.localization / this.#pairs) ** (1 / this.exponent);
    this.#meanError = Math.max(mean, LEAST_ERROR_SHARE * this.cutoff);
    this.#state[COMMON.seen]++;
  }

  /** A truth that was never held is not lost: a run begins with one that was held in the frame before. */
  #countMissed({ properTruths, missed }: Glance, truths: number): void {
    const counts = this.#counts.missed;
    const before = this.#missedIds;
    const held = this.#held;
    const lost = this.#lost;
    if (lost.length > 0) lost.length = 0;
    let carried = 0;
    let ended = 0;
    for (const id of missed) {
      if (before.has(id)) carried++;
      else if (held.includes(id)) lost.push(id);
    }
    if (before.size > 0) for (const id of properTruths) if (before.has(id)) ended++;
    counts.begun = lost.length;
    counts.carried = carried + ended;
    counts.ended = ended;
    counts.exposed = truths - counts.carried;
    counts.level = missed.length;
    counts.objects = truths;
    if (before.size > 0) before.clear();
    for (const id of missed) before.add(id);
    for (let n = 0; n < properTruths.length; n++) held[n] = properTruths[n];
    if (held.length !== properTruths.length) held.length = properTruths.length;
  }

  #countFalse({ false: falseIds }: Glance, truths: number): void {
    const counts = this.#counts.false;
    const before = this.#falseIds;
    const risen = this.#risen;
    if (risen.length > 0) risen.length = 0;
    for (const id of falseIds) if (!before.has(id)) risen.push(id);
    counts.begun = risen.length;
    counts.carried = before.size;
    counts.ended = before.size - (falseIds.length - risen.length);
    counts.level = falseIds.length;
    counts.objects = truths;
    if (before.size > 0) before.clear();
    for (const id of falseIds) before.add(id);
  }

  /**
   * Switches come to light a few frames late and may be taken back, so what counts is how many more there are in the
   * frames that are not settled yet than there were at most before.
   */
  #countSwitches({ pendingHalves, settledHalves }: Glance, truths: number): void {
    const counts = this.#counts.switch;
    const state = this.#state;
    const more = pendingHalves + settledHalves - state[COMMON.pendingHalves];
    const owed = state[COMMON.owedHalves];
    const fresh = Math.max(0, more - owed);
    state[COMMON.owedHalves] = pendingHalves === 0 ? 0 : Math.max(0, owed - more);
    state[COMMON.pendingHalves] = pendingHalves;
    counts.begun = counts.level = fresh / 2;
    counts.objects = truths;
  }

  /** Who is concerned by what begins now, the newest first. */
  #concerned(signal: Signal, glance: Glance, switched: () => string[]): string[] {
    if (signal === 'missed') return [...new Set([...this.#lost, ...glance.missed])];
    if (signal === 'false') return [...new Set([...this.#risen, ...glance.false])];
    return signal === 'switch' ? switched() : glance.properTruths;
  }

  toJSON(): SpikeState {
    return {
      pieces: Object.fromEntries(PIECES.map((name) => [name, Array.from(this.#piece(name))])),
      held: this.#held,
      missed: [...this.#missedIds],
      false: [...this.#falseIds],
      objects: this.#objects,
    };
  }

  /** Resumes exactly where `toJSON` was called; without a state it begins anew. */
  static fromJSON(
    state: SpikeState | undefined,
    settings: SpikeSettings,
    exponent: number,
    cutoff: number,
  ): SpikeWatch {
    const watch = new SpikeWatch(settings, exponent, cutoff);
    if (!state) return watch;
    for (const name of PIECES) {
      const numbers = state.pieces[name];
      if (numbers?.length === SIZES[name]) watch.#piece(name).set(numbers);
    }
    watch.#held = [...state.held];
    watch.#missedIds = new Set(state.missed);
    watch.#falseIds = new Set(state.false);
    watch.#objects = state.objects;
    watch.#wire();
    return watch;
  }
}
