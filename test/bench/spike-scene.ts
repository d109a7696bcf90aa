/**
 * Scenes for the spike detector, simulated as counts: 20 objects at 30 frames/s that arrive and depart, misses in runs
 * (mean 5 frames), false tracks that stay for a while, switches, localization errors that persist from frame to frame.
 * Seeded. Events are drawn by their distance, not frame by frame, so that a day of 2.6 million frames takes a second.
 */
import type { RunCounts } from '../../src/spikes/run-detector.js';

export const FRAMES_PER_DAY = 30 * 86_400;
/** Objects come and go in so many places, each taken four fifths of the time: 20 objects in the mean. */
const PLACES = Number(process.env.PLACES ?? 25);
const OBJECTS = 20;
/** mean frames an object is there, and a place is empty */
const LIFE_FRAMES = 600;
const EMPTY_FRAMES = LIFE_FRAMES * (PLACES / OBJECTS - 1);
const RUN_FRAMES = 5;

/** xoshiro128**, as numbers in (0, 1). */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #d: number;
  #spare = 0;
  #hasSpare = false;

  constructor(seed: number) {
    const next = () => {
      seed = (seed + 0x9e3779b9) | 0;
      let mixed = seed ^ (seed >>> 16);
      mixed = Math.imul(mixed, 0x21f0aaad);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed, 0x735a2d97);
      return mixed ^ (mixed >>> 15);
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next();
  }

  next(): number {
    const b = this.#b;
    const shifted = b << 9;
    const five = Math.imul(b, 5);
    const result = Math.imul((five << 7) | (five >>> 25), 9);
    this.#c ^= this.#a;
    this.#d ^= b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return ((result >>> 0) + 0.5) / 2 ** 32;
  }

  normal(): number {
    if (this.#hasSpare) {
      this.#hasSpare = false;
      return this.#spare;
    }
    let x: number;
    let y: number;
    let square: number;
    do {
      x = 2 * this.next() - 1;
      y = 2 * this.next() - 1;
      square = x * x + y * y;
    } while (square >= 1);
    const scale = Math.sqrt((-2 * Math.log(square)) / square);
    this.#spare = y * scale;
    this.#hasSpare = true;
    return x * scale;
  }
}

/** Successes among trials of one probability, drawn by the distance from one success to the next. */
class Trials {
  #left = 0;
  #probability = 0;

  constructor(readonly chance: Chance) {}

  set probability(value: number) {
    this.#probability = value;
    this.#left = this.#distance();
  }

  #distance(): number {
    return this.#probability === 0
      ? Number.POSITIVE_INFINITY
      : Math.floor(Math.log(this.chance.next()) / Math.log1p(-this.#probability));
  }

  among(count: number): number {
    let successes = 0;
    this.#left -= count;
    while (this.#left < 0) {
      successes++;
      this.#left += this.#distance() + 1;
    }
    return successes;
  }
}

/** Events at a rate per frame, drawn by the time from one to the next. */
class Arrivals {
  #left = 0;
  #rate = 0;

  constructor(readonly chance: Chance) {}

  set rate(value: number) {
    this.#rate = value;
    this.#left = this.#time();
  }

  #time(): number {
    return -Math.log(this.chance.next()) / this.#rate;
  }

  frame(): number {
    let count = 0;
    for (this.#left -= 1; this.#left < 0; this.#left += this.#time()) count++;
    return count;
  }
}

export interface CountScene {
  /** One frame further; the same object every time. */
  step(): RunCounts;
  /** From the next frame on the tracker is bad. */
  break(): void;
}

export const startOf = (share: number) => share / (1 - share) / RUN_FRAMES;

/** Objects that arrive and depart, and are missed in runs. */
export class MissScene implements CountScene {
  readonly counts: RunCounts = { begun: 0, exposed: 0, ended: 0, carried: 0, level: 0, objects: 0 };
  readonly #chance: Chance;
  readonly #arriving: Trials;
  readonly #departing: Trials;
  readonly #losing: Trials;
  readonly #finding: Trials;
  #held = OBJECTS;
  #missed = 0;
  /** missed until they depart */
  #gone = 0;
  #burst = false;

  constructor(
    seed: number,
    readonly fault: 'runs' | 'atOnce',
  ) {
    this.#chance = new Chance(seed);
    this.#arriving = new Trials(this.#chance);
    this.#arriving.probability = 1 / EMPTY_FRAMES;
    this.#departing = new Trials(this.#chance);
    this.#departing.probability = 1 / LIFE_FRAMES;
    this.#losing = new Trials(this.#chance);
    this.#losing.probability = startOf(0.02);
    this.#finding = new Trials(this.#chance);
    this.#finding.probability = 1 / RUN_FRAMES;
  }

  break(): void {
    if (this.fault === 'runs') this.#losing.probability = startOf(0.3);
    else this.#burst = true;
  }

  step(): RunCounts {
    const leavingHeld = Math.min(this.#held, this.#departing.among(this.#held));
    const leavingMissed = Math.min(this.#missed, this.#departing.among(this.#missed));
    const leavingGone = Math.min(this.#gone, this.#departing.among(this.#gone));
    const arrived = this.#arriving.among(PLACES - this.#held - this.#missed - this.#gone);
    const held = this.#held - leavingHeld;
    const missed = this.#missed - leavingMissed;
    const gone = this.#gone - leavingGone;
    const ended = this.#finding.among(missed);
    let begun = this.#losing.among(held);
    let lost = 0;
    if (this.#burst) {
      // 30 % of the objects, to the nearest whole number, and for good
      for (let n = begun; n < held; n++) if (this.#chance.next() < 0.3) lost++;
      this.#burst = false;
      this.#losing.probability = startOf(0.3);
    }
    begun += lost;
    this.#held = held + arrived + ended - begun;
    this.#missed = missed - ended + begun - lost;
    this.#gone = gone + lost;
    const { counts } = this;
    counts.begun = begun;
    counts.exposed = held + arrived;
    counts.ended = ended;
    counts.carried = missed + gone;
    counts.level = this.#missed + this.#gone;
    counts.objects = this.#held + counts.level;
    return counts;
  }
}

/** Events at a rate per frame that stay for a while (false tracks) or not (switches). */
export class RateScene implements CountScene {
  readonly counts: RunCounts = { begun: 0, exposed: 0, ended: 0, carried: 0, level: 0, objects: OBJECTS };
  readonly #events: Arrivals;
  readonly #ending: Trials;
  readonly #arriving: Trials;
  readonly #departing: Trials;
  #level = 0;

  constructor(
    seed: number,
    readonly usual: number,
    readonly bad: number,
    readonly staysFrames: number,
  ) {
    const chance = new Chance(seed);
    this.#events = new Arrivals(chance);
    this.#events.rate = usual;
    this.#ending = new Trials(chance);
    this.#ending.probability = staysFrames === 0 ? 0 : 1 / staysFrames;
    this.#arriving = new Trials(chance);
    this.#arriving.probability = 1 / EMPTY_FRAMES;
    this.#departing = new Trials(chance);
    this.#departing.probability = 1 / LIFE_FRAMES;
  }

  break(): void {
    this.#events.rate = this.bad;
  }

  step(): RunCounts {
    const { counts } = this;
    counts.objects +=
      this.#arriving.among(PLACES - counts.objects) - Math.min(counts.objects, this.#departing.among(counts.objects));
    counts.begun = this.#events.frame();
    if (this.staysFrames === 0) {
      counts.level = counts.begun;
      return counts;
    }
    counts.carried = this.#level;
    counts.ended = this.#ending.among(this.#level);
    this.#level += counts.begun - counts.ended;
    counts.level = this.#level;
    return counts;
  }
}

/** Localization errors: each object's is the length of a vector of two that wanders back to 0 (autoregression). */
export class ErrorScene {
  readonly #chance: Chance;
  readonly #arriving: Trials;
  readonly #departing: Trials;
  readonly #offsets: Float64Array = new Float64Array(256);
  #count = OBJECTS;
  #scale = 1;

  constructor(
    seed: number,
    /** how much of an error is left in the next frame */
    readonly persistence = 0.9,
  ) {
    this.#chance = new Chance(seed);
    this.#arriving = new Trials(this.#chance);
    this.#arriving.probability = 1 / EMPTY_FRAMES;
    this.#departing = new Trials(this.#chance);
    this.#departing.probability = 1 / LIFE_FRAMES;
    for (let n = 0; n < 2 * this.#count; n++) this.#offsets[n] = this.#chance.normal();
  }

  get pairs(): number {
    return this.#count;
  }

  break(): void {
    this.#scale = 1.5;
  }

  /** Mean error of the next frame; 0 without objects. */
  step(): number {
    const offsets = this.#offsets;
    const leaving = Math.min(this.#count, this.#departing.among(this.#count));
    for (let n = 0; n < leaving; n++) {
      const at = 2 * Math.floor(this.#chance.next() * this.#count--);
      offsets[at] = offsets[2 * this.#count];
      offsets[at + 1] = offsets[2 * this.#count + 1];
    }
    const old = this.#count;
    this.#count = old + this.#arriving.among(PLACES - old);
    const noise = Math.sqrt(1 - this.persistence ** 2);
    let sum = 0;
    for (let n = 0; n < this.#count; n++) {
      const [keep, add] = n < old ? [this.persistence, noise] : [0, 1];
      const x = keep * offsets[2 * n] + add * this.#chance.normal();
      const y = keep * offsets[2 * n + 1] + add * this.#chance.normal();
      offsets[2 * n] = x;
      offsets[2 * n + 1] = y;
      sum += Math.sqrt(x * x + y * y);
    }
    return this.#count === 0 ? 0 : (this.#scale * 0.1 * sum) / this.#count;
  }
}
