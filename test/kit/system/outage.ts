/**
 * An interruption of live feeds, over the real process and the package's client: streams with perfect trackers send at
 * their frame rate, the evaluator or one of the feeds is away for a while, and in the end counters, events and windows
 * are those of a run that nobody interrupted. Time passes here as it does for users.
 */
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../../src/client.js';
import { randomFrom } from '../random.js';
import { EvaluatorProcess, timeless } from './evaluator-process.js';

/**
 * Who is away: the evaluator (killed, or stopped by SIGSTOP), or the connections of one role; with `disk`, those of the
 * trackers just after the evaluator's disk began to take nothing for some seconds. Or nobody is, and the wall clock of
 * the evaluator is an hour ahead or behind for that time.
 */
export type Kind = 'kill' | 'suspend' | 'reference' | 'tracker' | 'disk' | 'ahead' | 'behind';

/** Runs inside the evaluator: each SIGUSR2 sets its wall clock by an hour, and the next one sets it back. */
const clockStep = (hours: number) =>
  `data:text/javascript,${encodeURIComponent(`
    const { now } = Date;
    let offMs = 0;
    Date.now = () => now() + offMs;
    process.on('SIGUSR2', () => { offMs = offMs === 0 ? ${hours * 3_600_000} : 0; });
  `)}`;
const CLOCKS: Partial<Record<Kind, string>> = { ahead: clockStep(1), behind: clockStep(-1) };

/**
 * Runs inside the evaluator: on SIGUSR2 the threads that write files wait for longer than the lateness, for somebody
 * who writes into a pipe.
 */
const STUCK_DISK = `data:text/javascript,${encodeURIComponent(`
  import { execFileSync } from 'node:child_process';
  import { constants, mkdtempSync, open, openSync, rmSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  const THREADS_MAX = 64;
  process.on('SIGUSR2', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-stuck-'));
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (let n = 0; n < THREADS_MAX; n++) open(pipe, 'r', () => {});
    setTimeout(() => {
      openSync(pipe, constants.O_RDWR);
      rmSync(folder, { recursive: true });
    }, 5000);
  });
`)}`;

export interface Outage {
  kind: Kind;
  streams: number;
  fps: number;
  /** frames of every stream */
  frames: number;
  outageMs: number;
  seed: number;
  /** of the section pairing */
  pairing?: Record<string, unknown>;
}

interface Told {
  type: string;
  tracker?: string;
  count?: number;
}

/** What is left in the end, by stream. */
export interface Aftermath {
  /** counters and gauges of the series, without their stream */
  counters: string[];
  /** sums by feed and type; an event that only tells of the interruption is none */
  events: Record<string, number>;
  window: unknown;
  /** what was told of the interruption and of what came of it, in order */
  told: object[];
}

const OBJECTS = 6;
const PROFILE = 'online-surveillance';

/** Boxes that drift; the tracker sees all of them, a little off, and loses one now and then. */
function objectsAt(stream: number, k: number, isTracker: boolean): ClientObject[] {
  const all = Array.from({ length: OBJECTS }, (_, n): ClientObject => {
    const left = 120 * n + ((k * (n + 1 + stream)) % 60);
    return { id: `${isTracker ? 't' : 'g'}${n}`, box: [left + (isTracker ? k % 3 : 0), 40 * n, 50, 90] };
  });
  return all;
}

/**
 * How far this process was behind the times it sends at, in milliseconds: on a machine that gives it no time the
 * senders themselves are late, and whoever judges them is right to say so.
 */
export const sender = { lagMs: 0 };

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const configOf = (pairing: Record<string, unknown>) => ({
  evaluation: { budgetMs: 10_000 },
  streams: { defaults: { windowFrames: 30, pairing } },
});

/** A WebSocket that can be made unreachable: its connections die and new ones fail, until it is allowed again. */
class Line {
  #allowed = true;
  readonly #open = new Set<WebSocket>();
  readonly WebSocket: typeof WebSocket;

  constructor() {
    const line = this;
    this.WebSocket = class extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(line.#allowed ? url : 'ws://127.0.0.1:1', protocols);
        line.#open.add(this);
        this.on('close', () => line.#open.delete(this));
        this.on('error', () => {});
      }
    } as typeof WebSocket;
  }

  cut(): void {
    this.#allowed = false;
    for (const socket of this.#open) socket.terminate();
  }

  mend(): void {
    this.#allowed = true;
  }
}

interface Feed {
  stream: number;
  isTracker: boolean;
  client: FeedClient;
  line: Line;
}

/** Plays an outage; with `outageMs` 0 nothing happens, and frames are sent as fast as they go. */
export async function play(outage: Outage): Promise<Aftermath[]> {
  const { kind, streams, fps, frames, outageMs, seed, pairing = {} } = outage;
  const random = randomFrom(seed);
  const calm = outageMs === 0;
  sender.lagMs = 0;
  const evaluator = await EvaluatorProcess.create(configOf(calm ? { latenessMs: 1e7, silenceMs: 1e7 } : pairing));
  const feeds: Feed[] = [];
  try {
    await evaluator.start(kind === 'disk' ? STUCK_DISK : CLOCKS[kind]);
    for (let n = 0; n < 2 * streams; n++) feeds.push(openFeed(evaluator.http, n >> 1, n % 2 === 1));
    await Promise.all(feeds.map(({ client }) => new Promise((resolve) => client.on('open', resolve))));
    const sending = feeds.map((feed) => sendAll(feed, frames, calm ? 0 : 1000 / fps, random() * (1000 / fps)));
    const trouble = calm
      ? undefined
      : interrupt(evaluator, feeds, kind, (frames / fps) * 150 + random() * 1000, outageMs);
    await Promise.all([...sending, trouble]);
    return await Promise.all(Array.from({ length: streams }, (_, n) => aftermath(evaluator, `gate-${n}`)));
  } finally {
    await Promise.all(feeds.map(({ client }) => client.close({ flush: false })));
    await evaluator.dispose();
  }
}

function openFeed(url: string, stream: number, isTracker: boolean): Feed {
  const line = new Line();
  const role = isTracker ? { role: 'tracker' as const, tracker: 'sort' } : { role: 'reference' as const };
  const client = connect({ url, stream: `gate-${stream}`, ...role, WebSocket: line.WebSocket as never });
  return { stream, isTracker, client, line };
}

/** Sends every frame at its time, whether connected or not, and ends the feed: who waits for others is silent. */
async function sendAll(
  { stream, isTracker, client }: Feed,
  frames: number,
  periodMs: number,
  phaseMs: number,
): Promise<void> {
  const startMs = performance.now() + phaseMs;
  for (let k = 1; k <= frames; k++) {
    const waitMs = startMs + k * periodMs - performance.now();
    if (periodMs > 0 && waitMs > 0) await delay(waitMs);
    if (periodMs > 0) sender.lagMs = Math.max(sender.lagMs, performance.now() - startMs - k * periodMs);
    await client.send({ k, objects: objectsAt(stream, k, isTracker) });
  }
  await client.end();
}

/** The clock has jumped, the evaluator has noticed, and now it jumps back. */
async function setClockBack(evaluator: EvaluatorProcess): Promise<void> {
  if (!evaluator.output.includes('"event":"clock_jumped"')) throw new Error('nobody noticed that the clock was set');
  evaluator.signal('SIGUSR2');
}

async function interrupt(
  evaluator: EvaluatorProcess,
  feeds: Feed[],
  kind: Kind,
  afterMs: number,
  outageMs: number,
): Promise<void> {
  await delay(afterMs);
  const lines = feeds.filter(({ isTracker }) => isTracker === (kind !== 'reference')).map(({ line }) => line);
  if (kind === 'disk') evaluator.signal('SIGUSR2');
  // so that something waits for the disk when the lines are cut
  if (kind === 'disk') await delay(300);
  if (kind === 'kill') await evaluator.kill();
  else if (kind === 'suspend') evaluator.signal('SIGSTOP');
  else if (CLOCKS[kind]) evaluator.signal('SIGUSR2');
  else for (const line of lines) line.cut();
  await delay(outageMs);
  if (kind === 'kill') await evaluator.start();
  else if (kind === 'suspend') evaluator.signal('SIGCONT');
  else if (CLOCKS[kind]) await setClockBack(evaluator);
  else for (const line of lines) line.mend();
}

async function aftermath(evaluator: EvaluatorProcess, stream: string): Promise<Aftermath> {
  const window = await evaluator.json(`/v1/window?stream=${stream}&tracker=sort&profile=${PROFILE}`);
  const { events } = await evaluator.json<{ events: Told[] }>(`/v1/events?stream=${stream}&limit=10000`);
  const sums: Record<string, number> = {};
  for (const { type, tracker, count } of events)
    if (type !== 'resuming')
      sums[`${tracker ?? 'reference'} ${type}`] = (sums[`${tracker ?? 'reference'} ${type}`] ?? 0) + (count ?? 1);
  const metrics = await (await fetch(`${evaluator.http}/metrics`)).text();
  const counters = metrics
    .split('\n')
    .filter((line) => /^tgospa_(frames|proper|missed|false|switches|lifetime|window)[a-z_]*\{.*profile=/.test(line))
    // frames judged are counted from the start of the process
    .filter((line) => line.includes(`stream="${stream}"`) && !line.startsWith('tgospa_frames_judged'))
    .map((line) => line.replace(`stream="${stream}",`, ''))
    .sort();
  return { counters, events: sums, window: timeless(window, 'stream'), told: events };
}
