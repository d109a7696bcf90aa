/**
 * What is bad whatever is usual: nothing has ever matched; nothing is found for longer than it happens; more is missed
 * than found for a minute; nearly all objects change their tracks at once; the stream is worse than its objective. A
 * new stream is judged by this at once, and slow decay that nothing abrupt gives away is found. The objective is
 * checked over two windows at once, a long one so that it matters and a short one so that it is still so: an hour and
 * five minutes at the objective itself, five minutes and half a minute at three times it.
 */
import type { Census } from './census.js';
import type { Objective, SpikeSettings } from './settings.js';
import type { Signal } from './signals.js';

/** Why something is a spike. */
export type SpikeReason = 'worse' | 'never_matched' | 'mostly_missed' | 'objective';

/** seconds; sums over them fade exponentially */
const WINDOWS = [30, 300, 3600] as const;
const BURNS = [
  { long: 2, short: 1, factor: 1 },
  { long: 1, short: 0, factor: 3 },
] as const;
/** of each window */
const W = { seconds: 0, objects: 1, missed: 2, false: 3, switches: 4 } as const;
const W_SIZE = 5;
const AT = {
  ...{ matched: 0, unmatched: 1, mostly: 2, mostlyObjects: 3, smooth: 4, exchanged: 5 },
  windows: 6,
  /** seconds for which nothing has been found, and the two longest times that passed so far, the longer one first */
  blackout: 6 + WINDOWS.length * W_SIZE,
  longest: 7 + WINDOWS.length * W_SIZE,
  longestBut: 8 + WINDOWS.length * W_SIZE,
} as const;
/** a share is smoothed over so many seconds */
const SMOOTH_SECONDS = 5;
/** An objective is judged on at least so many seconds of objects, and events beyond what it allows. */
const VOLUME_MIN = 120;
const EVENTS_MIN = 5;
/** objects that must be missed for more to be missed than found */
const OBJECTS_MIN = 2;
/** Nearly all objects, and so many, get other tracks in one frame: ids began anew, or were exchanged. */
const EXCHANGED_SHARE = 0.8;
const EXCHANGED_MIN = 4;

/**
 * Of so many objects none is found: for so many seconds, or so many times as long as has happened twice, that is a
 * spike; once may have been a fault. Two objects count less, one nothing. What lasted for longer than the floor was a
 * fault, and older times are forgotten.
 */
const BLACKOUT_OBJECTS = 3;
const BLACKOUT_SECONDS = 4;
const BLACKOUT_FACTOR = 1.5;
const BLACKOUT_MEMORY_SECONDS = 7 * 86_400;

export const FLOOR_SIZE = AT.longestBut + 1;

export class Floor {
  constructor(
    private readonly state: Float64Array,
    private readonly settings: SpikeSettings,
  ) {}

  update(census: Census, seconds: number): void {
    const { truths, pairs } = census;
    this.#followMatches(truths, pairs, census.lost.length, seconds);
    this.#followBlackout(truths, pairs, seconds);
    this.#fillWindows(census, seconds);
    const { atOnce } = census;
    this.state[AT.exchanged] = atOnce >= EXCHANGED_MIN && atOnce >= EXCHANGED_SHARE * pairs ? 1 : 0;
  }

  #followMatches(truths: number, pairs: number, lost: number, seconds: number): void {
    const { state } = this;
    if (truths === 0) return;
    if (pairs > 0) state[AT.matched] = 1;
    else if (state[AT.matched] === 0) state[AT.unmatched] += seconds;
    const share = 1 - pairs / truths;
    state[AT.smooth] += (share - state[AT.smooth]) * Math.min(1, seconds / SMOOTH_SECONDS);
    const mostly = state[AT.smooth] > 0.5;
    if (mostly && state[AT.mostly] === 0) state[AT.mostlyObjects] = Math.max(lost, truths - pairs);
    else if (mostly) state[AT.mostlyObjects] += lost;
    state[AT.mostly] = mostly ? state[AT.mostly] + seconds : 0;
  }

  #followBlackout(truths: number, pairs: number, seconds: number): void {
    const { state } = this;
    const kept = 1 - seconds / BLACKOUT_MEMORY_SECONDS;
    state[AT.longest] *= kept;
    state[AT.longestBut] *= kept;
    if (pairs === 0 && truths > 1) state[AT.blackout] += seconds * Math.min(1, truths / BLACKOUT_OBJECTS);
    if (pairs === 0 || state[AT.blackout] === 0) return;
    const lasted = state[AT.blackout];
    state[AT.blackout] = 0;
    if (lasted > this.settings.floorSeconds) return;
    state[AT.longestBut] = Math.max(state[AT.longestBut], Math.min(lasted, state[AT.longest]));
    state[AT.longest] = Math.max(lasted, state[AT.longest]);
  }

  /** Nothing has been found for longer than ever happens, of a tracker that has found something. */
  get #isBlackout(): boolean {
    const { state } = this;
    const least = Math.max(BLACKOUT_SECONDS, BLACKOUT_FACTOR * state[AT.longestBut]);
    return state[AT.matched] === 1 && state[AT.blackout] >= least;
  }

  #fillWindows({ truths, missed, false: falses, switches }: Census, seconds: number): void {
    const { state } = this;
    for (let n = 0; n < WINDOWS.length; n++) {
      const at = AT.windows + n * W_SIZE;
      const kept = 1 - seconds / WINDOWS[n];
      state[at + W.seconds] = state[at + W.seconds] * kept + seconds;
      state[at + W.objects] = state[at + W.objects] * kept + truths * seconds;
      state[at + W.missed] = state[at + W.missed] * kept + missed.level * seconds;
      state[at + W.false] = state[at + W.false] * kept + falses.begun;
      state[at + W.switches] = state[at + W.switches] * kept + switches;
    }
  }

  /** Why the signal is a spike whatever is usual; null when it is none. */
  reasonFor(signal: Signal): SpikeReason | null {
    const { state } = this;
    const { floorSeconds, objective } = this.settings;
    if (signal === 'missed') {
      if (state[AT.matched] === 0 && state[AT.unmatched] >= floorSeconds / 2) return 'never_matched';
      if (this.#isBlackout) return 'worse';
      if (this.missedMost && state[AT.mostlyObjects] >= OBJECTS_MIN) return 'mostly_missed';
    }
    if (signal === 'switch' && state[AT.exchanged] === 1) return 'worse';
    const allowed = allowedBy(objective, signal);
    return allowed !== null && BURNS.some((burn) => this.#burns(signal, allowed, burn)) ? 'objective' : null;
  }

  /** More is missed than found. */
  get missesMost(): boolean {
    return this.state[AT.mostly] > 0;
  }

  /** More has been missed than found for so long that it is bad as such. */
  get missedMost(): boolean {
    return this.state[AT.mostly] >= this.settings.floorSeconds;
  }

  #burns(signal: Signal, allowed: number, { long, short, factor }: (typeof BURNS)[number]): boolean {
    return this.#exceeds(signal, allowed * factor, long, true) && this.#exceeds(signal, allowed * factor, short, false);
  }

  #exceeds(signal: Signal, allowed: number, window: number, volume: boolean): boolean {
    const { state } = this;
    const at = AT.windows + window * W_SIZE;
    const [objects, seconds] = [state[at + W.objects], state[at + W.seconds]];
    const exposure = signal === 'false' ? seconds : objects;
    const seen = state[at + (signal === 'missed' ? W.missed : signal === 'false' ? W.false : W.switches)];
    if (volume && (exposure < VOLUME_MIN || seen - allowed * exposure < EVENTS_MIN)) return false;
    return exposure > 0 && seen > allowed * exposure;
  }
}

/** Per second of an object, or for false tracks per second. */
function allowedBy({ missRatio, falsePerMinute, switchesPerObjectHour }: Objective, signal: Signal): number | null {
  if (signal === 'missed') return missRatio;
  if (signal === 'false') return falsePerMinute === null ? null : falsePerMinute / 60;
  if (signal === 'switch') return switchesPerObjectHour === null ? null : switchesPerObjectHour / 3600;
  return null;
}
