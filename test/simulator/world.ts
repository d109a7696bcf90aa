/**
 * A world in which time is simulated. Everything that happens is an event of one process of this world; events happen
 * one after the other, in the order of simulated time, and everything random comes from one seed: the same seed gives
 * the same run, event by event. Processes can be suspended and killed as real ones can.
 *
 * While `run` is at work, the timers and clocks of Node are those of this world, so that the product under test needs
 * none of its own. Between two events every promise has settled; the clock moves a little whenever somebody looks at
 * it, and on a slow machine now and then by a lot.
 */
import { createHash } from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { type Random, randomFrom } from '../kit/random.js';

const START_MS = 1_763_251_200_000;
/** milliseconds that looking at the clock takes */
const CLOCK_READ_MS = 0.002;
/** events after which a run counts as one that never ends */
const EVENTS_MAX = 2_000_000;

const real = {
  setImmediate: globalThis.setImmediate,
  performanceNow: performance.now.bind(performance),
};
const timersPromises = createRequire(import.meta.url)('node:timers/promises') as Record<string, unknown>;

/** Whose events happen: a program that runs on a machine of this world. */
export class Process {
  alive = true;
  /** its events wait until then */
  suspendedUntilMs = 0;
  /** what went wrong in it and was caught by nobody */
  readonly errors: unknown[] = [];
  readonly onDeath: Array<() => void> = [];

  constructor(
    readonly name: string,
    readonly startedMs: number,
  ) {}
}

class Timer {
  cancelled = false;

  constructor(
    readonly world: World,
    readonly process: Process,
    readonly action: () => void,
    readonly delayMs: number,
    readonly repeats: boolean,
  ) {}

  schedule(): void {
    this.world.push(this.world.nowMs + this.delayMs, this.process, () => this.#fire(), this);
  }

  #fire(): void {
    if (this.cancelled) return;
    if (this.repeats) this.schedule();
    this.action();
  }

  cancel(): void {
    this.cancelled = true;
  }

  refresh(): Timer {
    const again = new Timer(this.world, this.process, this.action, this.delayMs, this.repeats);
    this.world.replaced.set(this, again);
    this.cancelled = true;
    again.schedule();
    return this;
  }

  ref(): Timer {
    return this;
  }

  unref(): Timer {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

interface Event {
  atMs: number;
  order: number;
  process: Process;
  action: () => void;
  timer: Timer | null;
}

export class World {
  nowMs = 0;
  /** by which the wall clock is ahead of what it should be */
  wallOffsetMs = 0;
  /** how often looking at the clock takes long, and how long then */
  hiccups = { share: 0, mostMs: 0 };
  readonly random: Random;
  /** timers that were refreshed, and what fires in their place */
  readonly replaced = new WeakMap<Timer, Timer>();
  readonly #heap: Event[] = [];
  #order = 0;
  #current: Process;
  readonly #outside = new Process('world', 0);
  readonly #digest = createHash('sha1');
  events = 0;

  constructor(readonly seed: number) {
    this.random = randomFrom(seed);
    this.#current = this.#outside;
  }

  /** A number from `least` up to `most`. */
  between(least: number, most: number): number {
    return least + (most - least) * this.random();
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  start(name: string): Process {
    return new Process(name, this.nowMs);
  }

  /** Nothing of this process happens any more. */
  kill(process: Process): void {
    process.alive = false;
    for (const hear of process.onDeath.splice(0)) hear();
  }

  suspend(process: Process, forMs: number): void {
    process.suspendedUntilMs = Math.max(process.suspendedUntilMs, this.nowMs + forMs);
  }

  /** Something happens in a process, after a while. */
  after(delayMs: number, process: Process, action: () => void): void {
    this.push(this.nowMs + delayMs, process, action, null);
  }

  /** Resolves after a while, for whoever plans what happens in this world. */
  delay(delayMs: number, process = this.#outside): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, process, resolve));
  }

  push(atMs: number, process: Process, action: () => void, timer: Timer | null): void {
    this.#insert({ atMs, order: this.#order++, process, action, timer });
  }

  #insert(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(event, heap[above])) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1], heap[below])) below++;
      if (!isBefore(heap[below], last!)) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last!;
    return first;
  }

  /** What has happened so far, in one word. */
  get digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 12);
  }

  /** Adds something to what the digest is of. */
  record(text: string): void {
    this.#digest.update(`${this.nowMs.toFixed(3)} ${text}\n`);
  }

  /** Lets happen what happens until the promise is settled. */
  async run<T>(script: () => Promise<T>): Promise<T> {
    const restore = this.#install();
    let over = false;
    try {
      const result = script();
      result.then(
        () => {
          over = true;
        },
        () => {
          over = true;
        },
      );
      await settled();
      while (!over) {
        if (this.events++ > EVENTS_MAX) throw new Error(`the run does not end: ${EVENTS_MAX} events`);
        if (!this.#step()) throw new Error('nothing is left to happen, and the run is not over');
        await settled();
      }
      return await result;
    } finally {
      restore();
    }
  }

  /** The next event; false when there is none. */
  #step(): boolean {
    const event = this.#pop();
    if (!event) return false;
    const { process, atMs, action, timer } = event;
    if (!process.alive || timer?.cancelled) return true;
    if (process.suspendedUntilMs > atMs) {
      // what waits keeps its order
      this.#insert({ ...event, atMs: process.suspendedUntilMs });
      return true;
    }
    this.nowMs = Math.max(this.nowMs, atMs);
    this.#current = process;
    this.#digest.update(`${this.nowMs.toFixed(3)} ${process.name}\n`);
    try {
      action();
    } catch (error) {
      process.errors.push(error);
    }
    return true;
  }

  /** The clock is read, which takes time. */
  #readClock(): number {
    const { share, mostMs } = this.hiccups;
    this.nowMs += share > 0 && this.chance(share) ? this.between(0, mostMs) : CLOCK_READ_MS;
    return this.nowMs;
  }

  #timer(action: () => void, delayMs: number, repeats: boolean): Timer {
    const timer = new Timer(this, this.#current, action, delayMs, repeats);
    timer.schedule();
    return timer;
  }

  /** Puts the clocks and timers of this world in the place of the real ones; gives back how to undo it. */
  #install(): () => void {
    const globals = globalThis as unknown as Record<string, unknown>;
    const cancel = (timer?: Timer) => {
      for (let one = timer; one instanceof Timer; one = this.replaced.get(one)) one.cancel();
    };
    const soonMs = () => this.between(0, 0.02);
    const own: Record<string, unknown> = {
      setTimeout: (action: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
        this.#timer(() => action(...args), Math.max(1, Number(ms) || 0), false),
      setInterval: (action: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
        this.#timer(() => action(...args), Math.max(1, Number(ms) || 0), true),
      setImmediate: (action: (...args: unknown[]) => void, ...args: unknown[]) =>
        this.#timer(() => action(...args), soonMs(), false),
      clearTimeout: cancel,
      clearInterval: cancel,
      clearImmediate: cancel,
    };
    const undo: Array<() => void> = [];
    const replace = (target: Record<string, unknown>, key: string, value: unknown) => {
      const before = Object.getOwnPropertyDescriptor(target, key);
      Object.defineProperty(target, key, { value, configurable: true, writable: true, enumerable: true });
      undo.push(() => {
        if (before) Object.defineProperty(target, key, before);
        else delete target[key];
      });
    };
    for (const [key, value] of Object.entries(own)) replace(globals, key, value);
    replace(timersPromises, 'setImmediate', () => this.#later(soonMs()));
    replace(timersPromises, 'setTimeout', (ms: number) => this.#later(ms));
    replace(performance as never, 'now', () => this.#readClock() - this.#current.startedMs);
    replace(Date as never, 'now', () => Math.floor(START_MS + this.#readClock() + this.wallOffsetMs));
    replace(Math as never, 'random', () => this.random());
    syncBuiltinESMExports();
    return () => {
      for (const one of undo.reverse()) one();
      syncBuiltinESMExports();
    };
  }

  #later(ms: number): Promise<void> {
    const process = this.#current;
    return new Promise((resolve) => this.after(ms, process, resolve));
  }
}

const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** Every promise that can be settled has been. */
const settled = () => new Promise<void>((resolve) => real.setImmediate(resolve));
