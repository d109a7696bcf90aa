/**
 * A street, for spikes, in frames: people walk ways of their own through a picture of 1920 by 1080, alone or two
 * together, wait, meet and cross. Who stands behind somebody is not seen; a tracker with habits drawn from the whole
 * range of real ones loses people in runs, finds newcomers late, predicts those it has just lost, knows some of them
 * again, exchanges those who cross, now and then only for a moment, and sees people where there are none. Seeded.
 */
import type { Frame, Obj } from '../../src/index.js';
import type { Box } from '../../src/metric/evaluation.js';
import { Chance } from './spike-scene.js';

export const STREET_FPS = 10;
const [WIDTH, HEIGHT] = [1920, 1080];
/** people stand between here and the lower edge */
const HORIZON = 420;
const WAIT_SECONDS = 8;

interface Person {
  id: string;
  track: string;
  /** feet */
  x: number;
  y: number;
  /** where it goes next, the last of them out of the picture; with whom, and where that one is from here */
  ways: Array<[x: number, y: number]>;
  with?: Person;
  beside: number;
  /** pixels a frame where people are 200 pixels high */
  speed: number;
  waits: number;
  /** frames until it is found for the first time; for which it is lost; since it was found; who hides it */
  unfound: number;
  lost: number;
  gone: number;
  behind?: Person;
  /** frames after which an exchange is taken back, and with whom it was */
  back: number;
  partner?: Person;
  /** its own error, its own rate of misses, and the errors now, of place and size */
  level: number;
  missiness: number;
  errors: [number, number, number];
  box: Box;
  /** of the newest frame in which it was found, and how it moved */
  seen: Box;
  motion: [number, number];
}

/** What the tracker is like. */
function drawHabits(chance: Chance) {
  const between = (low: number, high: number) => low + (high - low) * chance.next();
  const log = (low: number, high: number) => low * (high / low) ** chance.next();
  return {
    hiddenFrom: between(0.5, 0.8),
    lossPerSecond: log(0.003, 0.06),
    lostFrames: between(4, 15),
    coastFrames: Math.floor(between(0, 8)),
    knownAgain: between(0.5, 0.98),
    knownFrames: log(10, 100),
    exchange: log(0.02, 0.4),
    flicker: log(0.005, 0.2),
    switchPerSecond: log(0.0002, 0.003),
    error: between(0.02, 0.06),
    errorSpread: between(0.21, 0.47),
    errorKept: between(0.3, 0.95),
    missSpread: between(0, 0.8),
    clutterPerSecond: log(0.01, 0.4),
    clutterFrames: log(3, 30),
    lifeSeconds: log(12, 40),
    paired: between(0.1, 0.5),
    waiting: between(0.1, 0.6),
  };
}

export class Street {
  /** factor of the rate of misses: a fault */
  missed = 1;
  readonly habits: ReturnType<typeof drawHabits>;
  readonly #chance: Chance;
  #people: Person[] = [];
  #clutter: Array<{ id: string; box: Box; left: number }> = [];
  #count = 0;

  constructor(
    seed: number,
    readonly objects: number,
  ) {
    this.#chance = new Chance(seed + 104_729 * objects);
    this.habits = drawHabits(this.#chance);
  }

  frame(): Frame {
    this.#arrive();
    for (const person of this.#people) this.#walk(person);
    this.#people = this.#people.filter(({ ways }) => ways.length > 0);
    this.#hide();
    const tracker = [...this.#people.flatMap((person) => this.#track(person)), ...this.#falses()];
    return { reference: this.#people.map(({ id, box }) => ({ id, box })), tracker };
  }

  #happens(chance: number): boolean {
    return this.#chance.next() < chance;
  }

  #wait(frames: number): number {
    return Math.ceil(-Math.log(this.#chance.next()) * frames);
  }

  #place(edge: boolean): [number, number] {
    const y = HORIZON + (HEIGHT - HORIZON) * this.#chance.next();
    if (edge) return [this.#happens(0.5) ? -60 : WIDTH + 60, y];
    return [WIDTH * (0.1 + 0.8 * this.#chance.next()), y];
  }

  /** So many that there are as many people as there should be, in the mean over the minutes. */
  #arrive(): void {
    const { lifeSeconds, paired, waiting } = this.habits;
    const stay = lifeSeconds + waiting * WAIT_SECONDS;
    if (!this.#happens(this.objects / stay / STREET_FPS / (1 + paired))) return;
    const first = this.#person();
    const [from, to] = [first.ways[0], this.#place(true)];
    // ways through the picture of any length; who waits stays longer
    first.ways = [this.#place(false), ...(this.#happens(0.5) ? [this.#place(false)] : []), to];
    [first.x, first.y] = from;
    const length = Math.hypot(first.ways[0][0] - from[0], first.ways[0][1] - from[1]) + 1200;
    first.speed = (length / lifeSeconds / STREET_FPS) * (0.7 + 0.6 * this.#chance.next());
    this.#people.push(first);
    if (!this.#happens(paired)) return;
    const second = this.#person();
    Object.assign(second, { with: first, ways: first.ways, speed: first.speed, x: first.x, y: first.y });
    this.#people.push(second);
  }

  #person(): Person {
    const { errorSpread, missSpread } = this.habits;
    const chance = this.#chance;
    const id = ++this.#count;
    const box: Box = [0, 0, 0, 0];
    return {
      ...{
        id: `t${id}`,
        track: `y${id}`,
        x: 0,
        y: 0,
        ways: [this.#place(true)],
        beside: (this.#happens(0.5) ? 1 : -1) * (1 + 0.2 * Math.abs(chance.normal())),
      },
      ...{ speed: 1, waits: 0, unfound: Math.floor(5 * chance.next()), lost: 0, gone: 0, back: 0 },
      level: Math.exp(errorSpread * chance.normal()),
      missiness: Math.exp(missSpread * chance.normal() - missSpread ** 2 / 2),
      ...{ errors: [chance.normal(), chance.normal(), chance.normal()], box, seen: box, motion: [0, 0] },
    };
  }

  #walk(person: Person): void {
    const size = heightAt(person.y) / 200;
    const lead = person.with;
    if (lead && lead.ways.length > 0) {
      // beside each other, closer and farther
      const apart = Math.abs(person.beside) + 0.03 * this.#chance.normal();
      person.beside = Math.sign(person.beside) * Math.max(0.8, apart - 0.01 * (apart - 1.2));
      person.x = lead.x + 60 * size * person.beside;
      person.y = lead.y + 12 * size * (this.#chance.next() - 0.5) + 15 * Math.sign(person.beside);
    } else if (--person.waits < 0) {
      const [[x, y]] = person.ways;
      const [dx, dy] = [x - person.x, y - person.y];
      const [step, way] = [person.speed * size, Math.hypot(dx, dy)];
      if (way <= step) {
        person.ways = person.ways.slice(1);
        if (this.#happens(this.habits.waiting)) person.waits = this.#wait(STREET_FPS * WAIT_SECONDS);
      } else {
        person.x += (dx / way) * step;
        person.y += (dy / way) * step;
      }
    }
    if (lead) person.ways = lead.ways;
    const height = heightAt(person.y);
    person.box = [person.x - 0.2 * height, person.y - height, 0.4 * height, height];
  }

  /** Who is behind somebody is not seen; when they part, the tracker may take one for the other. */
  #hide(): void {
    const { hiddenFrom, exchange, flicker } = this.habits;
    const people = [...this.#people].sort((a, b) => b.y - a.y);
    people.forEach((person, n) => {
      const front = people.slice(0, n).find((one) => coveredShare(person.box, one.box) > hiddenFrom);
      const behind = person.behind;
      if (!front && behind && behind.unfound < 0 && this.#happens(exchange)) swap(person, behind);
      person.behind = front;
      if (--person.back === 0 && person.partner) swap(person, person.partner);
      const close = people.slice(0, n).find((one) => coveredShare(person.box, one.box) > 0.3);
      if (!close || front || person.back > 0 || !this.#happens(flicker / STREET_FPS)) return;
      swap(person, close);
      person.partner = close;
      person.back = this.#wait(5);
    });
  }

  #track(person: Person): Obj[] {
    const { lossPerSecond, lostFrames, coastFrames, knownAgain, knownFrames, switchPerSecond } = this.habits;
    const [left, , width] = person.box;
    const inside = left + width > 20 && left < WIDTH - 20;
    if (person.unfound >= 0) {
      if (inside && !person.behind) person.unfound--;
      if (person.unfound >= 0) return [];
    }
    if (person.lost > 0) person.lost--;
    else if (this.#happens((this.missed * lossPerSecond * person.missiness) / STREET_FPS))
      person.lost = this.#wait(lostFrames);
    if (person.lost > 0 || person.behind || !inside) {
      person.gone++;
      if (person.gone > coastFrames || person.seen[2] === 0) return [];
      const [x, y, seenWidth, height] = person.seen;
      const [dx, dy] = person.motion;
      return [{ id: person.track, box: [x + person.gone * dx, y + person.gone * dy, seenWidth, height] }];
    }
    const known = person.gone <= coastFrames || this.#happens(knownAgain * Math.exp(-person.gone / knownFrames));
    if (!known || this.#happens(switchPerSecond / STREET_FPS)) person.track = `y${++this.#count}`;
    const box = this.#look(person);
    if (person.gone === 0 && person.seen[2] > 0)
      person.motion = [0, 1].map((n) => 0.8 * person.motion[n] + 0.2 * (box[n] - person.seen[n])) as [number, number];
    person.gone = 0;
    person.seen = box;
    return [{ id: person.track, box }];
  }

  #look({ box: [x, y, width, height], level, errors }: Person): Box {
    const { error, errorKept } = this.habits;
    const added = Math.sqrt(1 - errorKept ** 2);
    for (let n = 0; n < errors.length; n++) errors[n] = errorKept * errors[n] + added * this.#chance.normal();
    const size = 1 + error * level * errors[2];
    const share = error * level;
    return [x + share * width * errors[0], y + share * height * errors[1], width * size, height * size];
  }

  /** People where there are none, some of them beside people. */
  #falses(): Obj[] {
    const { clutterPerSecond, clutterFrames } = this.habits;
    if (this.#happens(clutterPerSecond / STREET_FPS)) {
      const of = this.#people[Math.floor(this.#people.length * this.#chance.next())];
      const [x, y] = this.#happens(0.5) && of ? [of.x + 40 * this.#chance.normal(), of.y] : this.#place(false);
      const height = heightAt(y) * (0.6 + 0.6 * this.#chance.next());
      const box: Box = [x - 0.2 * height, y - height, 0.4 * height, height];
      this.#clutter.push({ id: `f${++this.#count}`, box, left: this.#wait(clutterFrames) });
    }
    this.#clutter = this.#clutter.filter((one) => one.left-- > 0);
    return this.#clutter.map(({ id, box }) => ({ id, box }));
  }
}

const heightAt = (y: number): number => 80 + (220 * (y - HORIZON)) / (HEIGHT - HORIZON);

function swap(one: Person, other: Person): void {
  [one.track, other.track] = [other.track, one.track];
}

/** The share of a box that lies behind another one. */
function coveredShare([x, y, width, height]: Box, [left, top, wide, high]: Box): number {
  const across = Math.min(x + width, left + wide) - Math.max(x, left);
  const down = Math.min(y + height, top + high) - Math.max(y, top);
  return across > 0 && down > 0 ? (across * down) / (width * height) : 0;
}
