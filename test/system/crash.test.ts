/**
 * The real process, killed with SIGKILL at random moments while clients send, and started again on the same folder. In
 * the end everything must be as in a run that nobody interrupted. The seed of the moments is printed; CRASH_SEED
 * repeats it.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import WebSocket from 'ws';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import type { Frame } from '../../src/index.js';
import { crowd } from '../bench/crowd.js';
import { randomFrom } from '../kit/random.js';
import { EvaluatorProcess, timeless } from '../kit/system/evaluator-process.js';

const FRAMES = 450;
const KILLS = 4;
const WINDOW_FRAMES = 30;
const TRACKERS = ['a', 'b'];
const PROFILE = 'online-surveillance';
/** Small commits and frequent snapshots, so that kills meet all of them; nobody is late in a test of losses. */
const configOf = (evaluation: Record<string, number>) => ({
  data: { groupCommitMs: 3, snapshotFrames: 120 },
  evaluation,
  // its reader gets every report
  limits: { liveShare: 1 },
  streams: { defaults: { windowFrames: WINDOW_FRAMES, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
});
/** Nothing depends on how fast the machine is. */
const UNHURRIED = { budgetMs: 10_000 };

interface Outcome {
  /** `tracker k`: the report as text; a kill may swallow some that were on the wire */
  reports: Map<string, string>;
  windows: unknown[];
  counters: string[];
  events: unknown[];
}

/** Reads /v1/live, through every restart. */
class Reader {
  readonly reports = new Map<string, string>();
  readonly contradictions: string[] = [];
  #socket: WebSocket | null = null;

  async open(http: string): Promise<void> {
    this.#socket = new WebSocket(`${http.replace('http', 'ws')}/v1/live`, ['tgospa.v1']);
    this.#socket.on('error', () => {});
    this.#socket.on('message', (data) => this.#keep(JSON.parse(String(data))));
    await once(this.#socket, 'open');
  }

  close(): void {
    this.#socket?.terminate();
  }

  #keep(message: { type: string; tracker: string; k: number; skipped?: number; settled: { frames: number } }): void {
    if (message.type !== 'report') return;
    const { skipped: _skipped, ...report } = message;
    // the end of the feeds brings one more report of the last frame
    const key = `${report.tracker} ${report.k} ${report.settled.frames}`;
    const text = JSON.stringify(timeless(report));
    const before = this.reports.get(key);
    if (before !== undefined && before !== text) this.contradictions.push(`${key}\n${before}\n${text}`);
    this.reports.set(key, text);
  }
}

describe('a crash', () => {
  const evaluators: EvaluatorProcess[] = [];
  const clients: FeedClient[] = [];
  const frames = TRACKERS.map((_, n) => crowd(8, FRAMES, 5 + n));

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close({ flush: false });
    for (const evaluator of evaluators.splice(0)) await evaluator.dispose();
  });

  async function start(evaluation: Record<string, number>): Promise<EvaluatorProcess> {
    const evaluator = await EvaluatorProcess.create(configOf(evaluation));
    evaluators.push(evaluator);
    await evaluator.start();
    return evaluator;
  }

  const open = (evaluator: EvaluatorProcess, tracker?: string): FeedClient => {
    const client = connect({
      url: evaluator.http,
      stream: 'gate',
      role: tracker === undefined ? 'reference' : 'tracker',
      tracker,
      WebSocket,
      backoffMs: 20,
      backoffMaxMs: 100,
      bufferFrames: 64,
      batchFrames: 8,
    });
    clients.push(client);
    return client;
  };

  /** Tracker a is judged against its own scene; b misses every seventh frame altogether. */
  const objectsOf = (role: 'reference' | 'tracker', n: number, k: number): ClientFrame['objects'] =>
    frames[n][k][role] as Frame['reference'] as ClientFrame['objects'];

  /** Sends everything, killing and restarting at the given numbers of acked frames; returns what is left in the end. */
  async function run(
    kills: Array<{ afterFrames: number; delayMs: number }>,
    evaluation: Record<string, number>,
  ): Promise<Outcome> {
    const evaluator = await start(evaluation);
    const reader = new Reader();
    await reader.open(evaluator.http);
    const feeds = [open(evaluator), ...TRACKERS.map((tracker) => open(evaluator, tracker))];
    // a tracker is judged from the moment it is there
    await Promise.all(feeds.map((feed) => new Promise((resolve) => feed.on('open', resolve))));
    const acked = feeds.map(() => 0);
    let killing: Promise<void> | null = null;
    for (const [n, feed] of feeds.entries()) {
      feed.on('ack', ({ seq }) => {
        acked[n] = seq;
        const total = acked.reduce((sum, one) => sum + one);
        if (killing || kills.length === 0 || total < kills[0].afterFrames) return;
        killing = crash(kills.shift()!.delayMs);
      });
      feed.on('open', ({ nextSeq }) => assert.ok(nextSeq > acked[n], `acked ${acked[n]}, but goes on at ${nextSeq}`));
      feed.on('reject', (reject) => assert.fail(JSON.stringify(reject)));
    }
    const crash = async (delayMs: number) => {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      reader.close();
      await evaluator.kill();
      await evaluator.start();
      await reader.open(evaluator.http);
      killing = null;
    };
    for (let k = 0; k < FRAMES; k++) {
      // what is sent before somebody reads again is compared with nothing, and on a busy machine that is nearly all
      await killing;
      await feeds[0].send({ k: k + 1, objects: objectsOf('reference', 0, k) });
      await feeds[1].send({ k: k + 1, objects: objectsOf('tracker', 0, k) });
      if (k % 7 > 0) await feeds[2].send({ k: k + 1, objects: objectsOf('tracker', 1, k) });
    }
    await killing;
    await Promise.all(feeds.map((feed) => feed.end()));
    assert.equal(kills.length, 0, `${kills.length} kills never came`);
    const outcome = await outcomeOf(evaluator, reader);
    await Promise.all(feeds.map((feed) => feed.close()));
    reader.close();
    await evaluator.kill();
    assert.equal(evaluator.errors, '');
    assert.deepEqual(reader.contradictions, []);
    return outcome;
  }

  async function outcomeOf(evaluator: EvaluatorProcess, { reports }: Reader): Promise<Outcome> {
    const query = (tracker: string) => `/v1/window?stream=gate&tracker=${tracker}&profile=${PROFILE}`;
    const windows = await Promise.all(TRACKERS.map((tracker) => evaluator.json(query(tracker))));
    // that a stream resumes is told of the interruption alone
    const { events } = (await evaluator.json('/v1/events?stream=gate&limit=1000')) as {
      events: Parameters<typeof summaryOf>[0];
    };
    const metrics = await (await fetch(`${evaluator.http}/metrics`)).text();
    const counters = metrics
      .split('\n')
      .filter((line) => /^tgospa_(frames|proper|missed|false|switches|lifetime|window)[a-z_]*\{.*profile=/.test(line))
      // counted since the start of the process
      .filter((line) => !line.startsWith('tgospa_frames_judged_total'))
      .sort(); // series stand in the order in which they came up
    return {
      reports,
      windows: windows.map((window) => timeless(window)),
      counters,
      events: summaryOf(events),
    };
  }

  /**
   * What the events of each tracker say, whatever the order in which the feeds took turns: switches, and sums of the
   * rest.
   */
  function summaryOf(events: Array<{ type: string; tracker?: string | null; n?: number; count?: number }>): unknown[] {
    const sums = new Map<string, number>();
    for (const { type, tracker, count } of events)
      if (type !== 'switch' && type !== 'resuming')
        sums.set(`${tracker} ${type}`, (sums.get(`${tracker} ${type}`) ?? 0) + (count ?? 1));
    const switches = TRACKERS.flatMap((name) =>
      events.filter(({ type, tracker }) => type === 'switch' && tracker === name),
    );
    return [...[...sums].sort(), ...switches.map(({ n: _n, ...event }) => timeless(event))];
  }

  let undisturbed: Outcome;

  before(async () => {
    undisturbed = await run([], { ...UNHURRIED, workers: 0 });
    assert.ok(undisturbed.counters.length > 20 && undisturbed.events.length > 20);
  });

  for (const [where, evaluation] of [
    ['the main thread', { ...UNHURRIED, workers: 0 }],
    ['two workers', { ...UNHURRIED, workers: 2 }],
  ] as const)
    it(`at any moment loses nothing that was acked, and changes no window, counter or event, in ${where}`, async () => {
      const seed = Number(process.env.CRASH_SEED ?? Date.now() % 1e6);
      console.log(`      seed ${seed}`);
      const random = randomFrom(seed);
      // over the first four fifths of what three feeds send, one of them less than the others
      const kills = Array.from({ length: KILLS }, (_, n) => ({
        afterFrames: Math.floor(((n + random()) / (KILLS + 1)) * 2.75 * FRAMES),
        delayMs: random() * 25,
      }));
      const disturbed = await run(kills, evaluation);
      assert.deepEqual(disturbed.windows, undisturbed.windows);
      assert.deepEqual(disturbed.counters, undisturbed.counters);
      assert.deepEqual(disturbed.events, undisturbed.events);
      let compared = 0;
      for (const [key, report] of disturbed.reports) {
        const expected = undisturbed.reports.get(key);
        if (expected !== undefined) assert.equal(report, expected, key);
        if (expected !== undefined) compared++;
      }
      assert.ok(compared > FRAMES / 4, `${compared} reports were seen in both runs`);
    });
});
