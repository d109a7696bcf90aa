/**
 * Plays a plan in a simulated world, and says what is wrong with how it went. Invariants: what was acked is stored,
 * whatever happens to the process; every event of a stream is published, and one that comes again is the same; frames
 * that are acked on both feeds are soon judged, or the evaluator says that they are not, at any time; in the end
 * windows, counters and history are those of a run that nobody interrupted; and where the disk was damaged, what
 * differs is named.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import { type LiveEvent, reportMessage } from '../../src/wire/events.js';
import { Disk } from './disk.js';
import { Evaluator } from './evaluator.js';
import { type Line, Network } from './network.js';
import { calm, type Fault, type Plan, planOf } from './plan.js';
import type { Scene, SceneFeed } from './scene.js';
import { type Process, World } from './world.js';

/** What is left of a stream in the end. */
interface Outcome {
  reports: unknown[];
  windows: unknown[];
  /** by feed and type */
  events: Record<string, number>;
  feeds: unknown[];
}

export interface Run {
  plan: Plan;
  /** what is wrong; empty when all is well */
  violations: string[];
  outcomes: Map<string, Outcome>;
  /** what has happened, in one word */
  digest: string;
  /** what happened, for people */
  story: string[];
  events: number;
}

/** milliseconds after which a run that is not over never will be */
const PATIENCE_MS = 900_000;
/** how often a look is taken at what is judged, and how many looks in a row may find the same frames not judged */
const LOOK_MS = 250;
const LOOKS = 12;
/** frames that may wait for what comes after them */
const WAITING_FRAMES = 2;
/** what depends on the clock, and on nothing else */
const TIMES = new Set(['atMs', 'receivedMs', 'lastReceivedMs', 'solveMs', 'since', 'n', 'spikes', 'gauges']);

/** events that tell of the interruption itself */
const TELLING = new Set(['resuming', 'finding', 'incident']);

const baselines = new Map<string, Map<string, Outcome>>();

/** Plays a seed, and compares it with the same scene in a calm world. */
export const simulate = (seed: number): Promise<Run> => playPlan(planOf(seed));

export async function playPlan(plan: Plan): Promise<Run> {
  const run = await new Player(plan).play();
  const key = `${plan.scene.seed} ${plan.config.evaluation.heavyMs}`;
  let expected = baselines.get(key);
  if (!expected) {
    const baseline = await new Player(calm(plan)).play();
    if (baseline.violations.length > 0)
      run.violations.push(`scene ${plan.scene.seed} fails in a calm world: ${baseline.violations[0]}`);
    expected = baseline.outcomes;
    baselines.set(key, expected);
  }
  if (run.outcomes.size > 0) compare(run, expected);
  return run;
}

function compare(run: Run, expected: Map<string, Outcome>): void {
  for (const [stream, outcome] of expected) {
    const got = run.outcomes.get(stream);
    if (isDeepStrictEqual(got, outcome)) continue;
    const named = run.story.some((line) => line.startsWith(`damaged ${stream}:`) || line.startsWith('damaged *:'));
    if (!named) run.violations.push(`${stream} differs from an uninterrupted run: ${difference(got, outcome)}`);
  }
}

function difference(got: unknown, expected: unknown, path = ''): string {
  if (isDeepStrictEqual(got, expected)) return '';
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
  if (!isObject(got) || !isObject(expected))
    return `${path} is ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`;
  const keys = [...new Set([...Object.keys(got), ...Object.keys(expected)])];
  return keys
    .map((key) => difference(got[key], expected[key], `${path}.${key}`))
    .filter(Boolean)
    .slice(0, 4)
    .join('; ');
}

/** A client and its way to the evaluator. */
interface Sender {
  feed: SceneFeed;
  process: Process;
  line: Line;
  client: FeedClient | null;
  ackedSeq: number;
  opened: boolean;
  done: boolean;
}

class Player {
  readonly #world: World;
  readonly #disk: Disk;
  readonly #network: Network;
  readonly #evaluator: Evaluator;
  readonly #senders: Sender[];
  readonly #violations: string[] = [];
  readonly #story: string[] = [];
  /** by stream and number */
  readonly #published = new Map<string, Map<number, string>>();
  /** interruptions that are under way or to come */
  #pending: number;
  /** restarts happen one at a time */
  #restarting: Promise<void> = Promise.resolve();
  #damaged = false;
  /** by stream and tracker: frames that were judged, and how many looks ago that began */
  readonly #stalls = new Map<string, { frames: number; looks: number }>();

  constructor(readonly plan: Plan) {
    const world = new World(plan.seed);
    this.#world = world;
    world.hiccups = plan.hiccups;
    this.#disk = new Disk(world);
    this.#network = new Network(world);
    this.#evaluator = new Evaluator(world, this.#disk, this.#network, plan.config);
    this.#evaluator.onEvent = (event) => this.#observe(event);
    this.#evaluator.onStart = (process) => this.#lookAgain(process);
    this.#pending = plan.faults.length;
    this.#senders = plan.scene.feeds.map((feed) => {
      const process = world.start(`${feed.stream}/${feed.tracker ?? 'reference'}`);
      const line = this.#network.line(process);
      return { feed, process, line, client: null, ackedSeq: 0, opened: false, done: false };
    });
  }

  async play(): Promise<Run> {
    const outcomes = new Map<string, Outcome>();
    try {
      await this.#world.run(() => this.#script(outcomes));
    } catch (error) {
      this.#violations.push(String((error as Error).stack ?? error));
    }
    for (const { violations } of this.#evaluator.readers) this.#violations.push(...violations);
    for (const { errors, name } of [...this.#senders.map(({ process }) => process)])
      for (const error of errors) this.#violations.push(`${name} threw ${(error as Error).stack}`);
    const { digest, events } = this.#world;
    return { plan: this.plan, violations: this.#violations, outcomes, digest, story: this.#story, events };
  }

  async #script(outcomes: Map<string, Outcome>): Promise<void> {
    await this.#evaluator.start();
    for (const sender of this.#senders) this.#world.after(0, sender.process, () => this.#connect(sender));
    await this.#until(() => this.#senders.every(({ opened }) => opened), 'a feed was never opened');
    for (const fault of this.plan.faults)
      void this.#world.delay(fault.atMs).then(() => this.#happen(fault).finally(() => this.#pending--));
    for (const sender of this.#senders)
      this.#world.after(this.#world.between(0, 20), sender.process, () => void this.#send(sender));
    await this.#until(
      () => (this.#pending === 0 && this.#senders.every(({ done }) => done)) || this.#evaluator.refusal !== null,
      'the run is stuck',
    );
    if (this.#evaluator.refusal) this.#refused(this.#evaluator.refusal);
    else await this.#inspect(outcomes);
  }

  /** Damage may keep it from starting, if it says so. */
  #refused(error: Error): void {
    this.#log(`refused to start: ${error.message}`);
    if (!this.#damaged) this.#violations.push(`the evaluator does not start: ${error.stack}`);
  }

  async #until(condition: () => boolean, complaint: string): Promise<void> {
    const endMs = this.#world.nowMs + PATIENCE_MS;
    while (!condition()) {
      if (this.#world.nowMs > endMs) throw new Error(`${complaint}: ${this.#state()}`);
      await this.#world.delay(100);
    }
  }

  #state(): string {
    const senders = this.#senders.map(({ process, client, done, ackedSeq }) => ({
      name: process.name,
      done,
      ackedSeq,
      pending: client?.pending,
      connected: client?.connected,
    }));
    const { live, complaints } = this.#evaluator;
    return JSON.stringify({ senders, health: live?.health(), streams: live?.streams(), last: complaints.slice(-5) });
  }

  #log(line: string): void {
    this.#story.push(line);
    this.#world.record(line);
  }

  #connect(sender: Sender): void {
    const { feed, line } = sender;
    const { stream, tracker } = feed;
    const role = tracker === null ? { role: 'reference' as const } : { role: 'tracker' as const, tracker };
    const client = connect({ url: 'ws://simulated', stream, ...role, WebSocket: line.WebSocket, retryForever: true });
    sender.client = client;
    client.on('open', ({ nextSeq }) => {
      sender.opened = true;
      if (nextSeq <= sender.ackedSeq && !this.#damaged)
        this.#violations.push(`${sender.process.name}: ${sender.ackedSeq} was acked, and ${nextSeq} is asked for`);
    });
    client.on('ack', ({ seq }) => {
      sender.ackedSeq = seq;
    });
    client.on('reject', (reject) => {
      // the hello is said again
      if (reject.seq !== undefined) this.#violations.push(`${sender.process.name}: ${JSON.stringify(reject)}`);
    });
    client.on('close', ({ code, reason }) => {
      if (!sender.done) this.#violations.push(`${sender.process.name} was closed: ${code} ${reason}`);
    });
  }

  /** Sends every frame at its time, whether connected or not. */
  async #send(sender: Sender): Promise<void> {
    const { scene } = this.plan;
    const client = sender.client!;
    const startMs = performance.now();
    try {
      for (const [n, objects] of sender.feed.frames.entries()) {
        const waitMs = startMs + n * scene.periodMs - performance.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        await client.send(frameOf(scene, n, objects));
      }
      await client.end();
      sender.done = true;
      await client.close();
    } catch (error) {
      sender.done = true;
      this.#violations.push(`${sender.process.name}: ${(error as Error).message}`);
    }
  }

  async #happen(fault: Fault): Promise<void> {
    this.#log(`${Math.round(this.#world.nowMs)} ms: ${JSON.stringify(fault)}`);
    const world = this.#world;
    switch (fault.kind) {
      case 'kill':
      case 'stop':
        this.#restarting = this.#restarting.then(() => this.#restart(fault));
        return this.#restarting;
      case 'disk':
        this.#disk.fault = fault.fault;
        await world.delay(fault.forMs);
        this.#disk.fault = 'none';
        return;
      case 'cut':
        this.#senders[fault.feed].line.cut(fault.clientHearsMs, fault.serverHearsMs, fault.deadMs);
        return;
      case 'stall':
        this.#senders[fault.feed].line.stall(fault.forMs);
        return;
      case 'suspend': {
        const process = fault.feed === null ? this.#evaluator.process : this.#senders[fault.feed].process;
        if (process) world.suspend(process, fault.forMs);
        return;
      }
      case 'clock':
        world.wallOffsetMs += fault.byMs;
        return;
    }
  }

  async #restart(fault: Extract<Fault, { kind: 'kill' | 'stop' }>): Promise<void> {
    const { downMs, losesPower, damages } = fault;
    if (this.#evaluator.refusal) return;
    if (fault.kind === 'stop') await this.#evaluator.stop();
    else this.#evaluator.kill();
    // with the mark beside it lost too, nobody can know that a store was longer once
    if (losesPower && !this.#damaged) this.#disk.losePower();
    for (let n = 0; n < damages && this.#disk.data.size > 0; n++) {
      this.#damaged = true;
      // a store that was cut looks like one that was never longer; only the mark beside it says otherwise
      const cuts = this.#world.chance(0.2) && this.#disk.files.has('acked');
      this.#log(cuts ? this.#disk.cutTail() : this.#disk.damage());
    }
    await this.#world.delay(downMs);
    await this.#evaluator.start();
  }

  #observe(event: LiveEvent): void {
    if (event.n === undefined) return;
    const published = this.#published.get(event.stream) ?? new Map<number, string>();
    this.#published.set(event.stream, published);
    const text = wordsOf(event);
    const before = published.get(event.n);
    published.set(event.n, text);
    if (before !== undefined && before !== text && !this.#damaged)
      this.#violations.push(`event ${event.n} of ${event.stream} comes again, and is another one: ${before} ${text}`);
  }

  /** In the evaluator's own time: while it is suspended or down it cannot say anything. */
  #lookAgain(process: Process): void {
    this.#stalls.clear();
    const look = () => {
      this.#look();
      this.#world.after(LOOK_MS, process, look);
    };
    this.#world.after(LOOK_MS, process, look);
  }

  /** No stream is silent without saying so. */
  #look(): void {
    const live = this.#evaluator.live!;
    const { ready, degraded } = live.health();
    const told = new Set(degraded.map(({ stream }) => stream));
    for (const { stream, series, feeds, resuming, restoring } of live.streams()) {
      const isExcused = !ready || resuming || restoring || told.has(stream) || told.has('*');
      const seqOf = (who: string | null) => feeds.find(({ tracker }) => tracker === who)?.seq ?? 0;
      for (const { tracker, frames } of series) {
        const key = `${stream}/${tracker}`;
        const due = Math.min(seqOf(null), seqOf(tracker)) - WAITING_FRAMES;
        const stall = this.#stalls.get(key);
        const isStill = stall !== undefined && stall.frames === frames && frames < due && !isExcused;
        const looks = isStill ? stall.looks + 1 : 0;
        this.#stalls.set(key, { frames, looks });
        if (looks === LOOKS)
          this.#violations.push(`${key}: ${frames} of ${due} frames are judged, and nobody is told of the rest`);
      }
    }
  }

  async #inspect(outcomes: Map<string, Outcome>): Promise<void> {
    const { live, process } = this.#evaluator;
    // what was published last may still be under way
    await this.#world.delay(2000, process!);
    this.#evaluator.readers.at(-1)!.finish();
    const { degraded } = live!.health();
    for (const { event, fields } of this.#evaluator.complaints)
      if (event === 'data_damaged') this.#log(`damaged ${fields.stream ?? '*'}: ${fields.message}`);
    for (const { stream, reason } of degraded) this.#log(`damaged ${stream}: ${reason}`);
    if (degraded.length > 0 && !this.#damaged) this.#violations.push(`degraded: ${JSON.stringify(degraded)}`);
    for (const { stream, feeds, series } of live!.streams()) {
      const events: Record<string, number> = {};
      for (const event of live!.recentEvents(stream)) {
        const { type, tracker, count = 1 } = event as LiveEvent & { count?: number };
        if (!TELLING.has(type)) events[`${tracker} ${type}`] = (events[`${tracker} ${type}`] ?? 0) + count;
      }
      const windows = [];
      for (const { tracker, profile } of sorted(series))
        windows.push(timeless(await live!.window(stream, tracker, profile)));
      const reports = live!.reports().filter((report) => report.stream === stream);
      outcomes.set(stream, {
        reports: sorted(reports).map((report) => timeless(reportMessage(report))),
        windows,
        events,
        feeds: sorted(feeds).map(timeless),
      });
    }
    if (!this.#damaged) this.#checkNumbers();
  }

  /** No event was left out. */
  #checkNumbers(): void {
    for (const [stream, published] of this.#published) {
      const last = Math.max(...published.keys());
      for (let n = 1; n <= last; n++)
        if (!published.has(n)) this.#violations.push(`event ${n} of ${stream} was never published (of ${last})`);
    }
  }
}

/** What identifies an event; of a report, not every number of its window. */
function wordsOf(event: LiveEvent): string {
  if (event.type !== 'report') return JSON.stringify(timeless(event));
  const { tracker, profile, k, report } = event;
  const { frame, frames, cost, count, settled } = report;
  return `report ${tracker} ${profile} ${k} ${frame} ${frames} ${cost.total} ${count.switches} ${settled.frames} ${settled.cost.total}`;
}

/** Who comes first may differ. */
const sorted = <T extends { tracker: string | null; profile?: string }>(list: T[]): T[] =>
  [...list].sort((a, b) => (`${a.tracker} ${a.profile}` < `${b.tracker} ${b.profile}` ? -1 : 1));

function frameOf({ byTime, periodMs }: Scene, n: number, objects: ClientFrame['objects']): ClientFrame {
  return byTime ? { t: 1_763_251_200 + (n * periodMs) / 1000, objects } : { k: n + 1, objects };
}

function timeless(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner) => (TIMES.has(key) ? undefined : inner)) ?? 'null');
}
