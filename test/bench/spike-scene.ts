/**
 * Traffic for the spike detector: objects that come and go, seen by a tracker with the habits of real ones. Misses come
 * in runs of 5 to 30 frames, newcomers are found 0 to 4 frames late, tracks outlive their object by 0 to 2 frames,
 * clutter has a geometric life, every object has an error level of its own; on top, if wanted, occlusions that hide a
 * part of the scene, showers of clutter, and a day with a night. Seeded. It gives glances, not frames: a day of 20
 * objects at 10 frames/s takes seconds.
 */
import { emptyGlance, type Glance } from '../../src/metric/evaluation.js';

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

export interface TrafficOptions {
  seed: number;
  /** in the mean */
  objects: number;
  framesPerSecond?: number;
  missShare?: number;
  clutterPerSecond?: number;
  switchesPerObjectSecond?: number;
  /** standard deviation of the logarithm of an object's own error level */
  errorSpread?: number;
  /** of an object's own rate of misses */
  missSpread?: number;
  /** every two minutes a part of the scene is hidden for some seconds */
  occlusions?: boolean;
  /** every ten minutes, for 20 s, clutter comes `showerFactor` times as often */
  showers?: boolean;
  /** fewer objects, more misses, clutter and error by night */
  diurnal?: boolean;
  lifeSeconds?: number;
  /** frames at 10 frames/s, the shortest and the longest; or a geometric length with their mean */
  missFrames?: readonly [number, number];
  missGeometric?: boolean;
  clutterLifeSeconds?: number;
  /** share of the objects that an occlusion hides, and seconds for which it does, the least and the most */
  occludedShare?: readonly [number, number];
  occludedSeconds?: readonly [number, number];
  showerFactor?: number;
  /** how far the time between two occlusions or showers may be off, as a share of it */
  jitter?: number;
  /** of the log error around an object's level: what is kept from a frame at 10 frames/s to the next, and its spread */
  errorPersistence?: number;
  errorDeviation?: number;
  /** what the dead of night adds to misses, clutter and errors */
  nightFactor?: number;
}

/** A scene of the kind that real trackers see, with habits drawn from the whole range of them. */
export function drawTraffic(seed: number, objects: number): TrafficOptions {
  const chance = new Chance(seed + 7919 * objects);
  const between = (low: number, high: number) => low + (high - low) * chance.next();
  const log = (low: number, high: number) => low * (high / low) ** chance.next();
  return {
    seed,
    objects,
    missShare: log(0.004, 0.12),
    clutterPerSecond: log(0.03, 1.5),
    switchesPerObjectSecond: log(0.0005, 0.005),
    errorSpread: between(0.21, 0.47),
    missSpread: between(0, 0.8),
    lifeSeconds: log(8, 200),
    missFrames: chance.next() < 0.5 ? [5, 30] : [3, 25],
    missGeometric: chance.next() < 0.4,
    clutterLifeSeconds: log(0.3, 4),
    occludedShare: chance.next() < 0.5 ? [0.3, 0.8] : [0.6, 1],
    occludedSeconds: chance.next() < 0.5 ? [1, 3] : [0.5, 5],
    showerFactor: log(6, 40),
    jitter: between(0, 0.5),
    errorPersistence: between(0, 0.95),
    errorDeviation: between(0.2, 0.5),
    nightFactor: between(0.2, 1),
  };
}

/** What is wrong with the tracker, as factors of what is usual. */
export interface TrafficFault {
  missed?: number;
  false?: number;
  switch?: number;
  localization?: number;
  /** it sees nothing any more */
  covered?: boolean;
  /** this share of the objects, by where they are, is never found again */
  blind?: number;
}

/** What an oracle may know about the newest frame. */
export interface Seen {
  /** runs of misses that begin, objects that might have */
  lost: number;
  exposed: number;
  /** clutter that appears */
  appeared: number;
  switched: number;
  /** sum of innovations of the log errors, in standard deviations, and of how many objects */
  noise: number;
  noisy: number;
}

interface Walker {
  id: string;
  track: string;
  /** frames until it leaves */
  life: number;
  /** frames for which it is not found; below 0 it is held */
  hidden: number;
  /** frames until the next run of misses, were it held */
  untilMiss: number;
  untilSwitch: number;
  level: number;
  missiness: number;
  /** log error around its level */
  error: number;
  place: number;
  fresh: boolean;
}

const SETTLE_FRAMES = 30;
const DAY_SECONDS = 86_400;
const NORMALS = 1 << 16;

export class Traffic {
  readonly seen: Seen = { lost: 0, exposed: 0, appeared: 0, switched: 0, noise: 0, noisy: 0 };
  fault: TrafficFault = {};
  readonly options: Required<TrafficOptions>;
  readonly #chance: Chance;
  readonly #normals = new Float64Array(NORMALS);
  #walkers: Walker[] = [];
  #tails: Array<{ id: string; left: number }> = [];
  #clutter: Array<{ id: string; left: number }> = [];
  readonly #halves = new Uint8Array(SETTLE_FRAMES);
  #pending = 0;
  #count = 0;
  #frame = -1;
  #untilArrival = 0;
  #untilClutter = 0;
  #untilOcclusion: number;
  #showerFrames = 0;
  #untilShower: number;
  #seconds = 0;
  #fps: number;
  readonly #glance: Glance = emptyGlance();

  constructor(options: TrafficOptions) {
    this.options = {
      framesPerSecond: 10,
      missShare: 0.02,
      clutterPerSecond: 0.2,
      switchesPerObjectSecond: 0.001,
      errorSpread: 0.35,
      missSpread: 0,
      occlusions: false,
      showers: false,
      diurnal: false,
      lifeSeconds: 60,
      missFrames: [5, 30],
      missGeometric: false,
      clutterLifeSeconds: 1.2,
      occludedShare: [0.3, 0.8],
      occludedSeconds: [1, 3],
      showerFactor: 15,
      jitter: 0.5,
      errorPersistence: 0.9,
      errorDeviation: 0.35,
      nightFactor: 0.5,
      ...options,
    };
    this.#fps = this.options.framesPerSecond;
    this.#chance = new Chance(options.seed);
    for (let n = 0; n < NORMALS; n++) this.#normals[n] = this.#chance.normal();
    this.#untilOcclusion = this.#every(120);
    this.#untilShower = this.#every(600);
    for (let n = 0; n < this.options.objects; n++) {
      const walker = this.#arrive();
      walker.hidden = -1;
    }
  }

  get seconds(): number {
    return this.#seconds;
  }

  /** The tracker and the scene stay as they are, frames come more or less often. */
  set framesPerSecond(value: number) {
    this.#fps = value;
  }

  /** 0 at noon, 1 at midnight; the day begins at noon. */
  get #night(): number {
    return this.options.diurnal ? (1 - Math.cos((2 * Math.PI * this.#seconds) / DAY_SECONDS)) / 2 : 0;
  }

  #wait(perFrame: number): number {
    return -Math.log(this.#chance.next()) / Math.max(perFrame, 1e-12);
  }

  #normal(): number {
    return this.#normals[Math.floor(this.#chance.next() * NORMALS)];
  }

  #arrive(): Walker {
    const { lifeSeconds, errorSpread, missSpread, errorDeviation } = this.options;
    const walker: Walker = {
      id: `t${++this.#count}`,
      track: `y${this.#count}`,
      life: Math.max(2 * this.#fps, this.#wait(1 / (lifeSeconds * this.#fps))),
      hidden: Math.floor(5 * this.#chance.next()),
      untilMiss: 0,
      untilSwitch: 0,
      level: errorSpread * this.#normal(),
      missiness: Math.exp(missSpread * this.#normal() - missSpread ** 2 / 2),
      error: errorDeviation * this.#normal(),
      place: this.#chance.next(),
      fresh: true,
    };
    walker.untilMiss = this.#wait(1);
    walker.untilSwitch = this.#wait(1);
    this.#walkers.push(walker);
    return walker;
  }

  /** Runs of misses that begin per held object and second. */
  get lossPerSecond(): number {
    const { missShare, framesPerSecond } = this.options;
    return (missShare / (1 - missShare) / this.#runMean) * framesPerSecond;
  }

  /** Standard deviation of the noise of a log error in one frame. */
  get innovation(): number {
    const { errorDeviation, errorPersistence } = this.options;
    return errorDeviation * Math.sqrt(1 - errorPersistence ** 2);
  }

  glance(): Glance {
    const { options, fault, seen } = this;
    const fps = this.#fps;
    const night = this.#night;
    this.#seconds += 1 / fps;
    this.#frame++;
    seen.lost = seen.exposed = seen.appeared = seen.switched = seen.noise = seen.noisy = 0;
    this.#comeAndGo(night);
    this.#occlude();
    this.#moveClutter(night);
    const glance = this.#glance;
    const { properTruths, properTracks, errors, missed } = glance;
    let proper = 0;
    let lost = 0;
    let halves = 0;
    let localization = 0;
    const missHazard = (this.lossPerSecond / fps) * (fault.missed ?? 1) * (1 + options.nightFactor * night);
    const switchHazard = (options.switchesPerObjectSecond / fps) * (fault.switch ?? 1);
    const scale = Math.log(0.1) + Math.log(fault.localization ?? 1) + Math.log(1 + 0.6 * options.nightFactor * night);
    const keep = options.errorPersistence ** (10 / fps);
    const add = options.errorDeviation * Math.sqrt(1 - keep * keep);
    for (const walker of this.#walkers) {
      if (walker.hidden < 0 && !walker.fresh) {
        seen.exposed++;
        walker.untilMiss -= missHazard * walker.missiness;
        if (walker.untilMiss < 0) {
          seen.lost++;
          walker.untilMiss = this.#wait(1);
          walker.hidden = this.#runFrames();
        }
      }
      const noise = this.#normal();
      walker.error = keep * walker.error + add * noise;
      walker.hidden--;
      const blind = fault.covered || (fault.blind !== undefined && walker.place < fault.blind);
      if (walker.hidden >= 0 || blind) {
        missed[lost++] = walker.id;
        continue;
      }
      walker.untilSwitch -= switchHazard;
      if (walker.untilSwitch < 0) {
        walker.untilSwitch = this.#wait(1);
        walker.track = `y${++this.#count}`;
        halves += 2;
        seen.switched++;
      }
      walker.fresh = false;
      seen.noise += noise;
      seen.noisy++;
      const error = Math.min(0.49, Math.exp(scale + walker.level + walker.error));
      properTruths[proper] = walker.id;
      properTracks[proper] = walker.track;
      errors[proper++] = error;
      localization += error;
    }
    if (properTruths.length !== proper) properTruths.length = properTracks.length = errors.length = proper;
    if (missed.length !== lost) missed.length = lost;
    this.#fillFalse();
    const slot = this.#frame % SETTLE_FRAMES;
    glance.settledHalves = this.#halves[slot];
    this.#halves[slot] = halves;
    this.#pending += halves - glance.settledHalves;
    glance.frame = this.#frame;
    glance.halves = halves;
    glance.pendingHalves = this.#pending;
    glance.localization = localization;
    return glance;
  }

  #runFrames(): number {
    const { missFrames, missGeometric } = this.options;
    const frames = missGeometric ? this.#wait(1 / this.#runMean) : this.#between(missFrames);
    return Math.max(1, Math.round((frames * this.#fps) / 10));
  }

  get #runMean(): number {
    return (this.options.missFrames[0] + this.options.missFrames[1]) / 2;
  }

  #between([low, high]: readonly [number, number]): number {
    return low + (high - low) * this.#chance.next();
  }

  /** Frames until the next of what comes every so many seconds. */
  #every(seconds: number): number {
    const { jitter } = this.options;
    return this.#fps * seconds * (1 - jitter + 2 * jitter * this.#chance.next());
  }

  #comeAndGo(night: number): void {
    const { objects, lifeSeconds } = this.options;
    const walkers = this.#walkers;
    for (let n = walkers.length - 1; n >= 0; n--) {
      const walker = walkers[n];
      if (--walker.life > 0) continue;
      const left = Math.floor(3 * this.#chance.next());
      if (walker.hidden < 0 && left > 0 && !this.fault.covered) this.#tails.push({ id: walker.track, left });
      walkers[n] = walkers[walkers.length - 1];
      walkers.pop();
    }
    const rate = (objects / (lifeSeconds * this.#fps)) * (1 - 0.9 * night);
    this.#untilArrival -= rate;
    while (this.#untilArrival < 0) {
      this.#untilArrival += this.#wait(1);
      this.#arrive();
    }
  }

  /** A part of those who are held is hidden, each for a time of its own. */
  #occlude(): void {
    if (!this.options.occlusions || --this.#untilOcclusion > 0) return;
    this.#untilOcclusion = this.#every(120);
    const share = this.#between(this.options.occludedShare);
    for (const walker of this.#walkers)
      if (walker.hidden < 0 && this.#chance.next() < share)
        walker.hidden = Math.round(this.#fps * this.#between(this.options.occludedSeconds));
  }

  #moveClutter(night: number): void {
    const { options, fault, seen } = this;
    const fps = this.#fps;
    if (options.showers && --this.#untilShower <= 0) {
      this.#untilShower = this.#every(600);
      this.#showerFrames = 20 * fps;
    }
    const factor =
      (this.#showerFrames-- > 0 ? options.showerFactor : 1) * (1 + options.nightFactor * night) * (fault.false ?? 1);
    for (const list of [this.#clutter, this.#tails])
      for (let n = list.length - 1; n >= 0; n--) {
        if (--list[n].left > 0) continue;
        list[n] = list[list.length - 1];
        list.pop();
      }
    this.#untilClutter -= fault.covered ? 0 : (options.clutterPerSecond / fps) * factor;
    while (this.#untilClutter < 0) {
      this.#untilClutter += this.#wait(1);
      const left = Math.max(1, Math.ceil(this.#wait(1 / (options.clutterLifeSeconds * fps))));
      this.#clutter.push({ id: `f${++this.#count}`, left });
      seen.appeared++;
    }
  }

  #fillFalse(): void {
    const list = this.#glance.false;
    let count = 0;
    if (!this.fault.covered) {
      for (const { id } of this.#clutter) list[count++] = id;
      for (const { id } of this.#tails) list[count++] = id;
    }
    if (list.length !== count) list.length = count;
  }
}
