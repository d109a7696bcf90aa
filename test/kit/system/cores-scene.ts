/**
 * A scene of several streams, sent by clients that come back, to an evaluator that is opened again and again on one
 * folder, with other numbers of workers, and killed meanwhile. What is left in the end must be as if nothing happened.
 */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import WebSocket from 'ws';
import { connect, type FeedClient } from '../../../src/client.js';
import type { Frame } from '../../../src/index.js';
import type { LiveEvent } from '../../../src/wire/events.js';
import { crowd } from '../../bench/crowd.js';
import { CoresProcess } from './cores-process.js';
import { timeless } from './evaluator-process.js';
import { freePort, until } from './system.js';

/** How an evaluator ends after so many frames of each stream, and which of its workers are killed on the way there. */
export interface Life {
  workers: number;
  upTo: number;
  end: 'stop' | 'kill';
  /** slots, at these frames */
  workerKills?: Array<{ frame: number; slot: number }>;
}

const WINDOW_FRAMES = 30;
const PROFILE = 'online-surveillance';
/** frames that a client may be ahead */
const AHEAD = 16;

const configOf = (dir: string, port: number, workers: number) => ({
  listen: { port },
  data: { dir, groupCommitMs: 3, snapshotFrames: 60 },
  evaluation: { workers, budgetMs: 600_000 },
  streams: { defaults: { windowFrames: WINDOW_FRAMES, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
});

interface Outcome {
  windows: Record<string, unknown>;
  counters: string[];
  events: Record<string, unknown[]>;
}

export class CoresScene {
  readonly streams: string[];
  readonly #frames: Frame[][];
  readonly #dir = mkdtempSync(join(tmpdir(), 'tgospa-cores-'));

  constructor(
    streamCount: number,
    readonly frameCount: number,
  ) {
    this.streams = Array.from({ length: streamCount }, (_, n) => `stream-${n}`);
    this.#frames = this.streams.map((_, n) => crowd(4, frameCount, 11 + n));
  }

  dispose(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Everything is sent over these lives, the last of which must go to the end; returns what is left then. */
  async run(name: string, lives: Life[]): Promise<Outcome> {
    const [dir, port] = [join(this.#dir, name), await freePort()];
    const feeds = this.streams.map((stream) => [undefined, 't'].map((tracker) => open(port, stream, tracker)));
    // a tracker is judged from the moment it is there
    const opened = Promise.all(feeds.flat().map((feed) => new Promise((resolve) => feed.on('open', resolve))));
    let sent = 0;
    try {
      for (const { workers, upTo, end, workerKills = [] } of lives) {
        const evaluator = await CoresProcess.start(configOf(dir, port, workers));
        await opened;
        if (sent === 0) await this.#allKnown(`http://127.0.0.1:${port}`);
        const kills = [...workerKills];
        for (; sent < upTo; sent++) {
          await this.#send(feeds, sent);
          // the client is not told: it goes on while the worker comes back
          while (kills.length > 0 && kills[0].frame <= sent) await evaluator.killWorker(kills.shift()!.slot);
        }
        const isLast = sent === this.frameCount;
        if (isLast) {
          await Promise.all(feeds.flat().map((feed) => feed.end()));
          const outcome = await this.#outcome(`http://127.0.0.1:${port}`);
          await evaluator[end]();
          return outcome;
        }
        await evaluator[end]();
      }
    } finally {
      await Promise.all(feeds.flat().map((feed) => feed.close({ flush: false })));
    }
    throw new Error('the last life must go to the end');
  }

  /** A welcome is no promise: who dies before the greeting is on disk hears it again, in any order. */
  async #allKnown(http: string): Promise<void> {
    await until('every feed is on disk', async () => {
      const answer = await (await fetch(`${http}/v1/streams`)).json();
      const { streams } = answer as { streams: Array<{ feeds: unknown[] }> };
      return streams.length === this.streams.length && streams.every(({ feeds }) => feeds.length === 2);
    });
  }

  async #send(feeds: FeedClient[][], n: number): Promise<void> {
    for (const [at, [reference, tracker]] of feeds.entries()) {
      const frame = this.#frames[at][n];
      await reference.send({ k: n + 1, objects: frame.reference as never });
      // one that misses a frame now and then
      if (n % 7 > 0) await tracker.send({ k: n + 1, objects: frame.tracker as never });
    }
  }

  async #outcome(http: string): Promise<Outcome> {
    const json = async (path: string) => (await (await fetch(`${http}${path}`)).json()) as { events: LiveEvent[] };
    const windows: Record<string, unknown> = {};
    const events: Record<string, unknown[]> = {};
    for (const stream of this.streams) {
      windows[stream] = timeless(await json(`/v1/window?stream=${stream}&tracker=t&profile=${PROFILE}`));
      events[stream] = summaryOf((await json(`/v1/events?stream=${stream}&limit=1000`)).events);
    }
    const text = await (await fetch(`${http}/metrics`)).text();
    const counters = text
      .split('\n')
      .filter((line) => /^tgospa_(frames|proper|missed|false|switches|lifetime|window)[a-z_]*\{.*profile=/.test(line))
      // counted since the start of the process
      .filter((line) => !line.startsWith('tgospa_frames_judged_total'))
      .sort();
    assert.ok(counters.length >= 10 * this.streams.length, 'counters of every stream');
    return { windows, events, counters };
  }
}

/** What was said, in an order that does not depend on which feed came first; sums of what is said all the time. */
function summaryOf(events: LiveEvent[]): unknown[] {
  const sums = new Map<string, number>();
  for (const event of events)
    if (event.type !== 'switch' && event.type !== 'resuming')
      sums.set(event.type, (sums.get(event.type) ?? 0) + ('count' in event ? event.count : 1));
  const switches = events.filter(({ type }) => type === 'switch').map(({ n: _n, ...event }) => timeless(event));
  return [...[...sums].sort(), ...switches];
}

const open = (port: number, stream: string, tracker?: string): FeedClient =>
  connect({
    url: `http://127.0.0.1:${port}`,
    stream,
    role: tracker === undefined ? 'reference' : 'tracker',
    tracker,
    WebSocket,
    backoffMs: 20,
    backoffMaxMs: 200,
    // a busy machine takes long to start an evaluator
    retryForever: true,
    bufferFrames: AHEAD,
    batchFrames: 4,
  });
