/**
 * Both ends of the pipeline benchmark: the evaluator, or its floor, in a process of its own, and the feeds that this
 * one sends, with the scenes that they tell of.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';
import type { Frame, Obj } from '../../../src/metric/evaluation.js';
import { randomFrom } from '../../kit/random.js';
import { crowd } from '../crowd.js';
import type { Measured } from './server.js';

const SERVER = fileURLToPath(new URL('./server.js', import.meta.url));
export const OBJECTS = 20;
const BATCH_FRAMES = 16;
const CREDIT = 256;
/** how far one feed of a stream may be ahead of the other */
const SKEW_FRAMES = 256;

/** A server in a process of its own. */
export class Far {
  /** those of every evaluator */
  static settings = {};

  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
    readonly folder: string,
    /** milliseconds from the start of the process until its port was open, and until everything was recovered */
    readonly openMs: number,
    readonly recoveredMs: number,
  ) {}

  /** Everything in one thread unless `evaluation` says otherwise; in a new folder unless one is given. */
  static async start(
    role: 'floor' | 'evaluator',
    prof = false,
    evaluation: object = { workers: 0 },
    other = {},
    folder = mkdtempSync(join(tmpdir(), 'tgospa-bench-')),
  ): Promise<Far> {
    // floor and evaluator alike, as `tgospa` is started
    const execArgv = ['--expose-gc', '--max-semi-space-size=64', ...(prof ? ['--cpu-prof'] : [])];
    const settings = { evaluation, ...Far.settings, ...other };
    const began = performance.now();
    const child = fork(SERVER, [role, join(folder, 'data'), JSON.stringify(settings)], { execArgv });
    let openMs = 0;
    for (;;) {
      const [{ url }] = (await once(child, 'message')) as [{ url?: string }];
      const ms = performance.now() - began;
      if (url) return new Far(child, url, folder, openMs, ms);
      openMs = ms;
    }
  }

  reset(): void {
    this.child.send('reset');
  }

  async measure(): Promise<Measured> {
    this.child.send('measure');
    const [{ measured }] = (await once(this.child, 'message')) as [{ measured: Measured }];
    return measured;
  }

  /** Resolves when there were so many reports since the last reset; to measure would collect garbage for a second. */
  async judged(reports: number): Promise<void> {
    this.child.send({ judged: reports });
    await once(this.child, 'message');
  }

  async heap(): Promise<void> {
    this.child.send('heap');
    console.log(await once(this.child, 'message'));
  }

  /** As a crash: the folder stays. */
  async kill(): Promise<string> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
    return this.folder;
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.disconnect();
    await gone;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** One feed: sends what it is given, within the credit and not far ahead of its sibling. */
export class Feed {
  sent = 0;
  acked = 0;
  sibling: Feed | null = null;
  #limit = 0;
  #ended!: () => void;
  #stored: Array<{ seq: number; resolve: () => void }> = [];

  private constructor(
    readonly socket: WebSocket,
    /** JSON of the objects of frame n */
    readonly bodyOf: (n: number) => string,
  ) {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.type === 'ack') this.#acked(message.seq);
      else if (message.type === 'ended') this.#ended();
      else if (message.type === 'reject') throw new Error(message.message);
    });
  }

  static async open(url: string, stream: string, tracker: string | undefined, bodyOf: Feed['bodyOf']): Promise<Feed> {
    // the certificate of the TLS row is nobody's
    const socket = new WebSocket(url, ['tgospa.v1'], { perMessageDeflate: false, rejectUnauthorized: false });
    await once(socket, 'open');
    const role = tracker === undefined ? 'reference' : 'tracker';
    socket.send(JSON.stringify({ type: 'hello', stream, role, tracker, format: 'native' }));
    const [answer] = await once(socket, 'message');
    if (!String(answer).includes('"welcome"')) throw new Error(String(answer));
    return new Feed(socket, bodyOf);
  }

  /** Sends up to this many frames in all; resolves when they are acked. */
  sendUpTo(count: number): Promise<void> {
    this.#limit = count;
    if (this.acked >= count) return Promise.resolve();
    const stored = new Promise<void>((resolve) => this.#stored.push({ seq: count, resolve }));
    this.pump();
    return stored;
  }

  end(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    this.socket.send('{"type":"end"}');
    return ended;
  }

  pump(): void {
    for (;;) {
      const room = Math.min(this.#limit, this.acked + CREDIT, (this.sibling?.acked ?? Infinity) + SKEW_FRAMES);
      const count = Math.min(BATCH_FRAMES, room - this.sent);
      if (count <= 0 || (count < BATCH_FRAMES && room < this.#limit)) return;
      const frames: string[] = [];
      for (let n = 0; n < count; n++) {
        const seq = ++this.sent;
        frames.push(`{"seq":${seq},"k":${seq},"objects":${this.bodyOf(seq)}}`);
      }
      this.socket.send(`{"type":"frames","frames":[${frames.join(',')}]}`);
    }
  }

  #acked(seq: number): void {
    this.acked = seq;
    while (this.#stored.length > 0 && this.#stored[0].seq <= seq) this.#stored.shift()!.resolve();
    this.pump();
    this.sibling?.pump();
  }
}

/** The two feeds of one stream. */
export async function openStream(url: string, stream: string, bodies: Bodies): Promise<Feed[]> {
  const feeds = [
    await Feed.open(url, stream, undefined, bodies.reference),
    await Feed.open(url, stream, 'tracker', bodies.tracker),
  ];
  feeds[0].sibling = feeds[1];
  feeds[1].sibling = feeds[0];
  return feeds;
}

/** The same frames as two references: stored, and judged against nobody. */
export const openUnjudged: typeof openStream = async (url, stream, bodies) => [
  await Feed.open(url, `${stream}-a`, undefined, bodies.reference),
  await Feed.open(url, `${stream}-b`, undefined, bodies.tracker),
];

export interface Bodies {
  reference: (n: number) => string;
  tracker: (n: number) => string;
}

/** Frames that go round; their text is made before anything is measured. */
export function bodiesOf(scene: SceneName, seed: number): Bodies {
  const frames = SCENES[scene](seed);
  const rounded = (_: string, value: unknown) => (typeof value === 'number' ? Math.round(value * 100) / 100 : value);
  const reference = frames.map((frame) => JSON.stringify(frame.reference, rounded));
  const tracker = frames.map((frame) => JSON.stringify(frame.tracker, rounded));
  return { reference: (n) => reference[n % frames.length], tracker: (n) => tracker[n % frames.length] };
}

const SCENE_FRAMES = 1200;
export type SceneName = 'calm' | 'crowd' | 'detections';

const SCENES: Record<SceneName, (seed: number) => Frame[]> = {
  /** everybody in a lane of his own, a good tracker that misses three in a hundred */
  calm: (seed) => {
    const next = randomFrom(seed);
    return Array.from({ length: SCENE_FRAMES }, (_, k) => {
      const reference: Obj[] = [];
      const tracker: Obj[] = [];
      for (let lane = 0; lane < OBJECTS; lane++) {
        const walked = k + 13 * lane;
        const id = `${lane}-${Math.floor(walked / 200)}`;
        const [left, top] = [(walked % 200) * 5, lane * 120];
        reference.push({ id, box: [left, top, 40, 100] });
        if (next() < 0.97) tracker.push({ id, box: [left + 6 * next() - 3, top + 8 * next() - 4, 40, 100] });
      }
      return { reference, tracker };
    });
  },
  /** people overlap, tracks break, swap and are invented */
  crowd: (seed) => crowd(OBJECTS, SCENE_FRAMES, seed),
  /** the same, from a detector that gives every detection a name of its own: the hardest there is */
  detections: (seed) =>
    crowd(OBJECTS, SCENE_FRAMES, seed).map(({ reference, tracker }, k) => ({
      reference,
      tracker: tracker.map((object, n) => ({ ...object, id: `${k}-${n}` })),
    })),
};
