/**
 * One spike from its beginning to its end. Whether it is over is a sequential test in the other direction: second by
 * second, how much better does what is usual explain the scene than what the spike brought, by share of the objects.
 * Once that is proven a clock of calm runs; it runs backwards, and faster, while the spike is there again. A spike
 * that came back within the hour must stay away for longer. Without objects nothing is proven, and nothing ends.
 */
import type { Signal } from './signals.js';

const AT = {
  active: 0,
  firstFrame: 1,
  /** when it began */
  begun: 2,
  /** 1 when it is beyond doubt */
  certain: 3,
  lasted: 4,
  /** log likelihood ratio of calm against the spike; seconds of calm */
  relief: 5,
  calm: 6,
  /** what the spike brings, as a share of objects, a rate per second, or a log error: sum and weight */
  bad: 7,
  badWeight: 8,
  /** what was usual when it began, in the same unit */
  usual: 9,
  adopted: 10,
  /** spikes before it that began within an hour of the next one */
  relapses: 11,
  /** the level lately, and its sum over the spike */
  fast: 12,
  sum: 13,
  // the second that is being gathered
  seconds: 14,
  level: 15,
  objects: 16,
  begins: 17,
  proof: 18,
  worsened: 19,
  /** of what comes and stays: tracks at a time, usual when it began, and of the spike */
  usualLevel: 20,
  badLevel: 21,
} as const;

export const EPISODE_SIZE = 22;

export interface EpisodeSettings {
  calmSeconds: number;
  adoptSeconds: number;
}

export type Ending = 'recovered' | 'adopted';

/** What an episode looks at in a frame. */
export interface EpisodeFrame {
  level: number;
  /** truths, or pairs */
  objects: number;
  /** runs that begin */
  begun: number;
  /** something in the frame shows whether the tracker is well */
  proves: boolean;
}

/**
 * Calm is settled at this ratio, e^10 to 1: it is looked at every second of an hour. It goes no further, so that a
 * relapse is seen at once.
 */
const SETTLED = 10;
/**
 * One good second counts no more than this; a bad one may undo all proof: ids that begin anew every five seconds are
 * calm in between.
 */
const SECOND_MAX = 5;
/** seconds that an object is missed for, or a track false: seconds are not independent */
const RUN_SECONDS = 2;
/** after a spike that was short, this share of the calm will do, or so many times as long as it was: it pages nobody */
const SHORT_CALM = 1 / 3;
const SHORT_FACTOR = 2;
const RELAPSE_SECONDS = 3600;
/** the first relapse, if it was bad for no longer than this, is one more burst of those that happen */
const BURST_SECONDS = 12;
/** any other must be calm so many times as long, up to half an hour */
const RELAPSE_FACTOR = 60;
const RELAPSE_SECONDS_MAX = 1800;
/** the clock of calm runs backwards so much faster */
const BACKWARDS = 5;
const LEAST_SHARE = 0.01;
/** tracks at a time that are usual at least, and by how many more it is worse at least */
const LEAST_LEVEL = 0.1;
const LEVEL_STEP = 1;
const ERROR_VARIANCE = 0.3;
/**
 * Seconds for which the error of an object is much the same. At first all objects are those the spike began with, and
 * that they are better tells at once; later it may be others that are there, which proves nothing.
 */
const ERROR_SECONDS = 4;
const ERROR_SECONDS_MAX = 30;
const SAME_OBJECTS_SHARE = 1 / 4;

export class Episode {
  constructor(
    readonly signal: Signal,
    private readonly state: Float64Array,
    private readonly settings: EpisodeSettings,
    /** over which the level is smoothed */
    private readonly smoothSeconds: number,
  ) {}

  get active(): boolean {
    return this.state[AT.active] === 1;
  }

  get adopted(): boolean {
    return this.state[AT.adopted] === 1;
  }

  /** It seems to be over. */
  get calm(): boolean {
    return this.state[AT.calm] > 0;
  }

  /** The level lately. */
  get observed(): number {
    return this.state[AT.fast];
  }

  get firstFrame(): number {
    return this.state[AT.firstFrame];
  }

  /** When it began, in seconds. */
  get begun(): number {
    return this.state[AT.begun];
  }

  /** Mean level while the spike lasted. */
  get mean(): number {
    return this.state[AT.lasted] === 0 ? this.state[AT.fast] : this.state[AT.sum] / this.state[AT.lasted];
  }

  observe(level: number, seconds: number): void {
    const { state } = this;
    state[AT.fast] += (level - state[AT.fast]) * Math.min(1, seconds / this.smoothSeconds);
  }

  /** `usual` and `bad` are a share of objects, a rate per second, or a log error; levels those of `observe`. */
  start(firstFrame: number, time: number, level: number, usual: number, bad: number, usualLevel: number): void {
    const { state } = this;
    state[AT.usualLevel] = usualLevel;
    state[AT.badLevel] = level;
    const back = state[AT.begun] > 0 && time - state[AT.begun] < RELAPSE_SECONDS;
    state[AT.relapses] = back ? state[AT.relapses] + 1 : 0;
    state[AT.certain] = 0;
    state[AT.active] = 1;
    state[AT.firstFrame] = firstFrame;
    state[AT.begun] = time;
    state[AT.fast] = level;
    state[AT.usual] = usual;
    state[AT.bad] = bad;
    state[AT.badWeight] = 1;
    state.fill(0, AT.lasted, AT.bad);
    state[AT.adopted] = state[AT.sum] = state[AT.worsened] = 0;
    state.fill(0, AT.seconds, AT.worsened);
  }

  get certain(): boolean {
    return this.state[AT.certain] === 1;
  }

  /** It is beyond doubt; false when that is known. */
  confirm(): boolean {
    if (this.certain) return false;
    this.state[AT.certain] = 1;
    return true;
  }

  stop(): void {
    this.state[AT.active] = 0;
  }

  /** It has got worse since it was adopted; false when that was said within the hour. */
  worsen(): boolean {
    const { state } = this;
    if (state[AT.lasted] < state[AT.worsened]) return false;
    state[AT.worsened] = state[AT.lasted] + RELAPSE_SECONDS;
    return true;
  }

  /** One more frame of the spike, which cannot end while it is `floored`; how it ended, when it did. */
  follow({ level, objects, begun, proves }: EpisodeFrame, seconds: number, floored: boolean): Ending | null {
    const { state } = this;
    state[AT.lasted] += seconds;
    state[AT.sum] += level * seconds;
    state[AT.seconds] += seconds;
    state[AT.level] += level * seconds;
    state[AT.objects] += objects * seconds;
    state[AT.begins] += begun;
    if (proves) state[AT.proof] += seconds;
    if (state[AT.seconds] >= 1) this.#closeSecond();
    if (state[AT.calm] >= this.#calmSeconds && !floored) {
      this.stop();
      return 'recovered';
    }
    if (state[AT.lasted] < this.settings.adoptSeconds || this.adopted) return null;
    state[AT.adopted] = 1;
    return 'adopted';
  }

  get #calmSeconds(): number {
    const { state } = this;
    const { calmSeconds } = this.settings;
    const bad = state[AT.lasted] - state[AT.calm];
    if (state[AT.relapses] === 0 || (state[AT.relapses] === 1 && bad <= BURST_SECONDS)) {
      return Math.min(calmSeconds, Math.max(calmSeconds * SHORT_CALM, SHORT_FACTOR * bad));
    }
    return Math.max(calmSeconds, Math.min(RELAPSE_SECONDS_MAX, RELAPSE_FACTOR * calmSeconds));
  }

  #closeSecond(): void {
    const { state } = this;
    const gathered = state[AT.seconds];
    if (state[AT.proof] > 0) {
      const ratio = Math.max(-SETTLED, Math.min(SECOND_MAX, this.#ratio()));
      state[AT.relief] = Math.max(0, Math.min(SETTLED, state[AT.relief] + ratio));
      // good seconds too, as long as it is not over: a spike has some, and without them what is left looks like calm
      if (ratio < 0 || state[AT.relief] < SETTLED / 2) this.#addBad();
      if (state[AT.relief] >= SETTLED || (state[AT.calm] > 0 && ratio > 0)) state[AT.calm] += gathered;
      else if (state[AT.relief] < SETTLED / 2) state[AT.calm] = Math.max(0, state[AT.calm] - BACKWARDS * gathered);
    }
    state.fill(0, AT.seconds, AT.worsened);
  }

  /** The mean over the last five minutes of the spike, or so. */
  #addBad(): void {
    const { state } = this;
    const weight = Math.min(300, state[AT.badWeight] + 1);
    state[AT.bad] += (this.#measure() - state[AT.bad]) / weight;
    state[AT.badLevel] += (state[AT.level] / state[AT.seconds] - state[AT.badLevel]) / weight;
    state[AT.badWeight] = weight;
  }

  /** What the second brought, in the unit of usual and bad. */
  #measure(): number {
    const { state } = this;
    if (this.signal === 'missed') return state[AT.objects] > 0 ? state[AT.level] / state[AT.objects] : 0;
    if (this.signal === 'localization') return Math.log(Math.max(1e-9, state[AT.level] / state[AT.seconds]));
    return state[AT.begins] / state[AT.seconds];
  }

  /** log likelihood ratio of calm against the spike, for the second that was gathered. */
  #ratio(): number {
    const { state } = this;
    const { usual, bad } = this.#levels();
    const seconds = state[AT.seconds];
    if (this.signal === 'missed') {
      const missed = state[AT.level];
      const found = state[AT.objects] - missed;
      return (missed * Math.log(usual / bad) + found * Math.log((1 - usual) / (1 - bad))) / RUN_SECONDS;
    }
    if (this.signal === 'localization') {
      const pairs = state[AT.objects] / seconds;
      const alike = Math.max(ERROR_SECONDS, Math.min(ERROR_SECONDS_MAX, SAME_OBJECTS_SHARE * state[AT.lasted]));
      return ((bad - usual) * ((bad + usual) / 2 - this.#measure()) * pairs) / ERROR_VARIANCE / alike;
    }
    const begins = state[AT.begins] * Math.log(usual / bad) + (bad - usual) * seconds;
    if (this.signal === 'switch') return begins;
    const level = this.#levelRatio();
    return level < 0 ? begins + level : Math.max(begins, level);
  }

  /** What came once and stays begins no more: as long as it is there nothing is over. */
  #levelRatio(): number {
    const { state } = this;
    const usual = Math.max(LEAST_LEVEL, 1.3 * state[AT.usualLevel]);
    const bad = Math.max(state[AT.badLevel], 2 * usual, usual + LEVEL_STEP);
    return (state[AT.level] * Math.log(usual / bad) + (bad - usual) * state[AT.seconds]) / RUN_SECONDS;
  }

  /** The two levels that are told apart: never closer than what would be looked for. */
  #levels(): { usual: number; bad: number } {
    const { state } = this;
    if (this.signal === 'localization') {
      const usual = state[AT.usual];
      return { usual, bad: Math.max(state[AT.bad], usual + Math.log(1.2)) };
    }
    if (this.signal === 'missed') {
      const usual = Math.min(0.9, Math.max(LEAST_SHARE, 1.3 * state[AT.usual]));
      return { usual, bad: Math.min(0.99, Math.max(state[AT.bad], (2 * usual) / (1 + usual))) };
    }
    const usual = 1.3 * state[AT.usual];
    return { usual, bad: Math.max(state[AT.bad], 2 * usual) };
  }
}
