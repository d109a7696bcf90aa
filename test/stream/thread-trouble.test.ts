/**
 * Streams in threads when something goes wrong or changes: everything must be as it is without threads, nobody waits
 * for ever, and the end is never far away.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, presets } from '../../src/index.js';
import { Live } from '../../src/live/live.js';
import { eventKey } from '../../src/store/commit.js';
import { packSnapshot } from '../../src/store/formats.js';
import { Log } from '../../src/store/log.js';
import type { LogRecord } from '../../src/store/record.js';
import { EventHistory } from '../../src/stream/history.js';
import { Series } from '../../src/stream/series.js';
import { type PackedSnapshot, type ThreadResult, Threads } from '../../src/stream/threads.js';
import type { LiveEvent } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { feed, isLasting, lastingEvents, quiet, START_MS, TestClock } from '../kit/live.js';
import { randomFrom } from '../kit/random.js';
import { logSettings } from '../kit/settings.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const PROFILE = 'online-surveillance';

interface Scene {
  reference: WireObject[];
  tracks: WireObject[];
}

/** Two objects that pass each other; their tracks swap names and are lost now and then. Easy at first. */
function passing(frames: number, seed: number): Scene[] {
  const next = randomFrom(seed);
  let swapped = false;
  return Array.from({ length: frames }, (_, n) => {
    const x = 30 * Math.sin(n / 5);
    const reference: WireObject[] = [
      { id: 'a', box: [x, 0, 30, 60] },
      { id: 'b', box: [-x, 10, 30, 60] },
    ];
    if (n > 8 && next() < 0.1) swapped = !swapped;
    const tracks = reference
      .filter(() => n < 8 || next() > 0.1)
      .map(({ id, box }): WireObject => ({ id: `t${(id === 'a') === swapped}`, box }));
    return { reference, tracks };
  });
}

/** Twenty objects upon each other, detected without identities: each solve takes a good part of a second. */
function swamp(frames: number): Scene[] {
  const next = randomFrom(5);
  const boxes = Array.from({ length: 20 }, () => ({ x: 100 * next(), y: 60 * next(), dx: 4 * next() - 2 }));
  return Array.from({ length: frames }, (_, k) => {
    for (const box of boxes) box.x += box.dx;
    return {
      reference: boxes.map(({ x, y }, n): WireObject => ({ id: `g${n}`, box: [x, y, 40, 80] })),
      tracks: boxes
        .filter(() => next() > 0.1)
        .map(
          ({ x, y }, n): WireObject => ({ id: `d${k}-${n}`, box: [x + 8 * next() - 4, y + 8 * next() - 4, 40, 80] }),
        ),
    };
  });
}

const plain = (event: LiveEvent): unknown =>
  JSON.parse(
    JSON.stringify(event, (key, value) => (['solveMs', 'perFrame', 'spikes'].includes(key) ? undefined : value)),
  );

describe('streams in threads', () => {
  let dir: string;
  const open: Live[] = [];
  let clock: TestClock;

  const settingsOf = (evaluation: Record<string, unknown>, defaults: Record<string, unknown> = {}, data = {}) => ({
    data: { dir, groupCommitMs: 1, ...data },
    streams: {
      defaults: { windowFrames: 40, idleMinutes: 10, pairing: { latenessMs: 1000, silenceMs: 5000 }, ...defaults },
    },
    evaluation: { idleCheckMs: 1, budgetMs: 60_000, ...evaluation },
  });

  const start = async (settings: Record<string, unknown>, logger = quiet): Promise<Live> => {
    const { config } = readConfig({ text: JSON.stringify(settings), env: {} });
    const live = await Live.open(config, clock, logger);
    open.push(live);
    return live;
  };

  const send = (live: Live, id: FeedId, scenes: Scene[], first = 1): Promise<void>[] =>
    scenes.map(({ reference, tracks }, n) => {
      const objects = id.role === 'reference' ? reference : tracks;
      return live.ingest(id, { seq: first + n, k: first + n, objects: pack(objects) }, clock.nowMs);
    });

  const sendBoth = (live: Live, stream: string, scenes: Scene[], first = 1): Promise<void>[] =>
    scenes.flatMap((scene, n) => [feed(stream), feed(stream, 't')].flatMap((id) => send(live, id, [scene], first + n)));

  const openFeeds = async (live: Live, stream: string) => {
    for (const id of [feed(stream), feed(stream, 't')]) assert.ok('nextSeq' in (await live.openFeed(id)));
  };

  /** Resolves when nothing is underway, and nothing became due when that was looked at, three times. */
  async function settled(live: Live): Promise<void> {
    let position = -1;
    for (let since = clock.ticked; clock.ticked < since + 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const { queuedRecords, backlogRecords } = live.storage();
      const isBusy = queuedRecords + backlogRecords > 0 || live.streams().some(({ restoring }) => restoring);
      if (isBusy || live.log.lastPosition !== position) since = clock.ticked;
      position = live.log.lastPosition;
    }
  }

  before(function () {
    skipInFastRun(this);
  });
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-trouble-'));
    clock = new TestClock();
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  describe('look the same as elsewhere', () => {
    type Act = (live: Live) => unknown;
    interface Case {
      name: string;
      acts: Act[];
      defaults?: Record<string, unknown>;
      /** settings of the stream from the n-th restart on */
      later?: Record<string, unknown>[];
    }
    const RESTART = 'restart';
    const scenes = passing(60, 3);
    const both =
      (from: number, to: number): Act =>
      (live) =>
        Promise.all(sendBoth(live, 's', scenes.slice(from - 1, to), from));
    const only =
      (tracker: string | null, from: number, to: number): Act =>
      (live) =>
        Promise.all(send(live, feed('s', tracker), scenes.slice(from - 1, to), from));
    const hello: Act = (live) => openFeeds(live, 's');
    const end =
      (tracker: string | null): Act =>
      (live) =>
        live.end(feed('s', tracker));
    const wait =
      (ms: number): Act =>
      () => {
        clock.nowMs += ms;
      };
    const restart: Act = () => RESTART;

    const cases: Case[] = [
      {
        name: 'a tracker that goes silent and comes back',
        acts: [
          hello,
          both(1, 20),
          wait(500),
          only(null, 21, 25),
          wait(600),
          wait(6000),
          only(null, 26, 30),
          wait(2000),
          both(31, 40),
        ],
      },
      {
        name: 'a reference that goes silent',
        acts: [hello, both(1, 20), only('t', 21, 24), wait(1500), wait(6000), both(25, 30)],
      },
      {
        name: 'late and repeated frames',
        acts: [hello, both(1, 20), only(null, 21, 30), only('t', 25, 30), only('t', 26, 31), both(32, 40)],
      },
      {
        name: 'an end and a new beginning',
        acts: [
          hello,
          both(1, 20),
          end(null),
          end('t'),
          hello,
          wait(10),
          both(21, 22),
          restart,
          both(23, 25),
          end('t'),
          restart,
        ],
      },
      {
        name: 'a tracker that begins anew and has nothing yet',
        acts: [hello, both(1, 20), end('t'), hello, only(null, 21, 22)],
        defaults: { scores: { enabled: true, strideFrames: 3 } },
      },
      {
        name: 'a tracker that is retired',
        acts: [hello, both(1, 12), wait(540_000), only(null, 13, 14), wait(120_000), only(null, 15, 16)],
      },
      {
        name: 'a stream that is retired and comes back',
        acts: [hello, both(1, 12), wait(1_200_000), hello, both(13, 14), restart, both(15, 20)],
      },
      {
        name: 'scores that are turned off',
        acts: [hello, both(1, 20), restart, both(21, 22)],
        defaults: { scores: { enabled: true, strideFrames: 3 } },
        later: [{ scores: { enabled: false } }],
      },
      {
        name: 'another window and another profile',
        acts: [hello, both(1, 20), restart, both(21, 22), restart, both(23, 30)],
        later: [{ windowFrames: 10 }, { windowFrames: 10, profiles: ['online-surveillance', 'detector-training'] }],
      },
      {
        name: 'settings in a hello',
        acts: [
          (live) => live.openFeed(feed('s'), { windowFrames: 7, spikes: { signals: [] } }),
          hello,
          both(1, 20),
          restart,
          both(21, 30),
        ],
      },
    ];

    async function play({ acts, defaults, later = [] }: Case, evaluation: Record<string, unknown>) {
      clock = new TestClock();
      const seen = new Map<number, unknown>();
      const states: unknown[] = [];
      let restarts = 0;
      // a stream that was retired counts its events anew
      let before = 0;
      const startNext = async () => {
        const live = await start(
          settingsOf(evaluation, { ...defaults, ...later[restarts - 1] }, { snapshotFrames: 9 }),
        );
        lastingEvents(live).subscribe((event) => {
          const n = before + event.n!;
          if (seen.has(n)) assert.deepEqual(plain(event), seen.get(n), `event ${n} comes again as another`);
          seen.set(n, plain(event));
        });
        return live;
      };
      let live = await startNext();
      for (const act of acts) {
        if ((await act(live)) === RESTART) {
          await live[restarts++ % 2 === 0 ? 'kill' : 'stop']();
          live = await startNext();
        }
        await settled(live);
        if (live.streams().length === 0) before = seen.size;
        const windows = live.reports().map((report) => live.window(report.stream, report.tracker, report.profile));
        states.push({
          reports: live.reports().map(plain),
          gauges: live.reports().map(({ spikes }) => spikes?.signals.map((signal) => spikes.gauge(signal))),
          streams: live.streams(),
          spikes: live.spikes(),
          history: live.recentEvents().filter(isLasting).map(plain),
          windows: JSON.parse(JSON.stringify(await Promise.all(windows))),
        });
      }
      const { threadStreams } = live.storage();
      await live.kill();
      rmSync(dir, { recursive: true, force: true });
      return { states, seen: [...seen].sort(([a], [b]) => a - b), threadStreams };
    }

    for (const one of cases)
      it(one.name, async () => {
        const here = await play(one, { threads: 0 });
        const away = await play(one, { threads: 1, inlineMs: 0 });
        for (const [n, state] of here.states.entries()) assert.deepEqual(away.states[n], state, `after act ${n}`);
        assert.deepEqual(away.seen, here.seen);
        assert.deepEqual(
          here.seen.map(([n]) => n),
          here.seen.map((_, n) => n + 1),
        );
        assert.equal(here.threadStreams, 0);
      });
  });

  it('stop without waiting for another stream of their thread', async () => {
    const live = await start(settingsOf({ threads: 1, inlineMs: 0 }));
    let judged = 0;
    live.events$.subscribe((event) => {
      if (event.type === 'report' && event.stream === 'swamp') judged++;
    });
    for (const stream of ['easy', 'swamp']) await openFeeds(live, stream);
    await Promise.all([...sendBoth(live, 'easy', passing(10, 1)), ...sendBoth(live, 'swamp', swamp(6))]);
    await until('both are in the thread', () => live.storage().threadStreams === 2);
    await settled(live);
    await Promise.all(sendBoth(live, 'swamp', swamp(130).slice(6), 7));
    await live.stop();
    assert.ok(judged < 130, 'it waited for a minute of work');
  });

  it('take turns in a thread: nobody waits for the backlog of another, nor who asks for a window', async () => {
    const live = await start(settingsOf({ threads: 1, inlineMs: 0 }));
    for (const stream of ['easy', 'swamp']) await openFeeds(live, stream);
    await Promise.all([...sendBoth(live, 'easy', passing(10, 1)), ...sendBoth(live, 'swamp', swamp(6))]);
    await until('both are in the thread', () => live.storage().threadStreams === 2);
    await settled(live);
    let judged = 0;
    live.events$.subscribe((event) => {
      if (event.type === 'report' && event.stream === 'swamp') judged++;
    });
    await Promise.all(sendBoth(live, 'swamp', swamp(130).slice(6), 7));
    await Promise.all(sendBoth(live, 'easy', passing(15, 1).slice(10), 11));
    await until('the easy stream is judged', () => live.streams()[0].series[0].k === 15);
    assert.ok((await live.window('swamp', 't', PROFILE))!.k < 130);
    await live.end(feed('easy', 't'));
    assert.ok(judged < 124, 'it waited for a minute of work');
  });

  it('are there at once after a crash, from the moment of their move on', async () => {
    const live = await start(settingsOf({ threads: 1, inlineMs: 0 }));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', passing(10, 1)));
    await until('it is in the thread', () => live.storage().threadStreams === 1);
    // the move is written down with the next commit
    await Promise.all(sendBoth(live, 's', passing(11, 1).slice(10), 11));
    await live.kill();
    const again = await start(settingsOf({ threads: 1, inlineMs: 1e6 }));
    assert.equal(again.storage().threadStreams, 1);
    assert.equal(again.reports()[0].report.frame, 10);
  });

  for (const [where, evaluation] of [
    ['a thread', { threads: 1, inlineMs: 0 }],
    ['the main thread', { threads: 0 }],
  ] as const) {
    it(`are gone when their retirement is told, in ${where}`, async () => {
      const live = await start(settingsOf(evaluation));
      await openFeeds(live, 's');
      await Promise.all(sendBoth(live, 's', passing(10, 1)));
      await settled(live);
      const there = new Promise((resolve) => {
        live.events$.subscribe((event) => event.type === 'retired' && resolve(live.streams().length));
      });
      clock.nowMs += 3_600_000;
      assert.equal(await there, 0);
    });

    it(`stay as they ended until a frame comes, in ${where}`, async () => {
      const live = await start(settingsOf(evaluation));
      await openFeeds(live, 's');
      await Promise.all(sendBoth(live, 's', passing(20, 1)));
      const ends = [feed('s'), feed('s', 't')];
      await Promise.all(ends.map((id) => live.end(id)));
      const [last] = live.reports().map(plain);
      await live.kill();
      const again = await start(settingsOf(evaluation));
      // the clients did not hear that the end was heard, and say it again
      await openFeeds(again, 's');
      await Promise.all(ends.map((id) => again.end(id)));
      await settled(again);
      assert.deepEqual(again.reports().map(plain), [last]);
      await openFeeds(again, 's');
      await Promise.all(send(again, feed('s', 't'), passing(22, 1).slice(20), 21));
      await Promise.all(send(again, feed('s'), passing(22, 1).slice(20), 21));
      await settled(again);
      const [{ k, report }] = again.reports();
      assert.deepEqual([k, report.frame, report.count.missed + report.count.proper], [22, 1, 4]);
    });

    it(`let nobody wait for an end that does not come any more, in ${where}`, async () => {
      const live = await start(settingsOf(evaluation));
      await openFeeds(live, 's');
      await Promise.all(sendBoth(live, 's', swamp(6)));
      const sent = Promise.all(sendBoth(live, 's', swamp(40).slice(6), 7));
      const end = live.end(feed('s', 't'));
      await sent;
      await Promise.all([assert.rejects(end, { code: 'storage_closed' }), live.kill()]);
    });
  }

  it('let the log shrink, and lose nothing when the process is killed right then', async () => {
    const settings = settingsOf({ threads: 1, inlineMs: 0 }, {}, { maxBytes: 2 ** 20, snapshotFrames: 1e6 });
    const scenes = passing(600, 1).map(({ reference, tracks }) => {
      // far away, so that they cost nothing but room
      const more = Array.from(
        { length: 70 },
        (_, n): WireObject => ({ id: `far ${n}`, box: [500 * n + 1000, 300 + Math.PI, 90 + Math.E, 80 + Math.PI] }),
      );
      return { reference: [...reference, ...more], tracks: [...tracks, ...more] };
    });
    const live = await start(settings);
    await openFeeds(live, 's');
    let frames = 0;
    const send = async (count: number) => {
      clock.nowMs += 1100;
      await Promise.all(sendBoth(live, 's', scenes.slice(frames, frames + count), frames + 1));
      await settled(live);
      frames += count;
    };
    while (frames < 280) await send(20);
    // what is too much goes with a later commit, once its thread has answered
    while (live.storage().bytes >= 2 ** 20 && frames < 600) await send(4);
    assert.equal(live.storage().threadStreams, 1);
    // two feeds, seventy boxes of four numbers: more than the log may keep
    const stored = frames * 2 * 70 * 4 * 8;
    assert.ok(stored > 2 ** 20 && live.storage().bytes < 2 ** 20, `${live.storage().bytes} bytes of ${stored}`);
    const [before] = live.reports().map(plain);
    await live.kill();
    const again = await start(settings);
    await settled(again);
    assert.deepEqual(again.reports().map(plain), [before]);
    assert.equal(again.reports()[0].report.frame, frames - 1);
    const { evaluation } = (await again.window('s', 't', PROFILE))!;
    const last = scenes
      .slice(frames - 40, frames)
      .map(({ reference, tracks }) => ({ reference, tracker: tracks }) as Frame);
    assert.deepEqual(evaluation.count, evaluate(last, presets[PROFILE]).count);
  });

  it('come and go by the dozen in two threads', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
    const play = async (evaluation: Record<string, unknown>) => {
      const live = await start(settingsOf(evaluation, {}, { snapshotFrames: 7 }));
      for (const name of names) await openFeeds(live, name);
      const scenes = names.map((_, n) => passing(30, n));
      for (let k = 1; k <= 30; k++)
        await Promise.all(names.flatMap((name, n) => sendBoth(live, name, scenes[n].slice(k - 1, k), k)));
      await Promise.all(names.flatMap((name) => [live.end(feed(name)), live.end(feed(name, 't'))]));
      const { threadStreams } = live.storage();
      const told = { reports: live.reports().map(plain), streams: live.streams() };
      await live.kill();
      rmSync(dir, { recursive: true, force: true });
      return { threadStreams, told };
    };
    const here = await play({ threads: 0 });
    const away = await play({ threads: 2, inlineMs: 0 });
    assert.deepEqual([here.threadStreams, away.threadStreams], [0, 12]);
    assert.deepEqual(away.told, here.told);
  });

  it('move with the assignment that was reported, also when it came of a solve that was cut', () => {
    const params = { ...presets[PROFILE], windowFrames: 40 };
    const options = { budgetMs: 1000 };
    const series = new Series('t', PROFILE, params, options);
    for (const [n, { reference, tracks }] of swamp(8).entries()) {
      // nothing is left for the last one
      if (n === 7) options.budgetMs = 0;
      const objects = { reference: pack(reference), tracks: pack(tracks) };
      series.push({ type: 'step', tracker: 't', k: n, ...objects, receivedMs: 0 });
    }
    assert.equal(series.report!.exact, false);
    const moved = Series.fromJSON(structuredClone(series.toJSON()), { budgetMs: 60_000 });
    assert.deepEqual(moved.report!.perFrame, series.report!.perFrame);
    assert.deepEqual(moved.report!.newest, series.report!.newest);
    const again = Series.fromJSON(structuredClone(moved.toJSON()), {});
    assert.deepEqual(again.report!.perFrame, series.report!.perFrame);
  });

  it('hold back no ack once the end is near', async () => {
    const live = await start(settingsOf({ threads: 1, inlineMs: 0, backlogFrames: 1 }));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', swamp(6)));
    await until('it is in the thread', () => live.storage().threadStreams === 1);
    const acks = sendBoth(live, 's', swamp(130).slice(6), 7);
    live.liftBackpressure();
    await Promise.all(acks);
    await Promise.all(sendBoth(live, 's', swamp(132).slice(130), 131));
    assert.ok(live.storage().backlogRecords > 1);
  });

  it('keep the history in order with refused input, which has no place in the log', () => {
    const stored = new Map<string, unknown>();
    const log = { saveEvent: (key: string, event: unknown) => stored.set(key, event) } as unknown as Log;
    const history = new EventHistory(log, 100);
    const refuse = (code: number) =>
      history.addRejected({ type: 'rejected', ...feed('s'), code: String(code), count: 1 }, 7);
    for (let code = 1; code <= 20; code++) refuse(code);
    const event = (k: number) => ({ type: 'gap' as const, ...feed('s'), k, count: 1, message: '' });
    for (const position of [6, 5, 8]) history.add(eventKey(position, 0), event(position));
    const order = history.list().map((one) => (one.type === 'rejected' ? `r${one.code}` : 'k' in one && one.k));
    assert.deepEqual(order, [5, 6, ...Array.from({ length: 20 }, (_, n) => `r${n + 1}`), 8]);
  });

  describe('in a log with records that nobody takes', () => {
    /** A log in which a retired stream has one more record, as a fault of the disk may leave it. */
    async function write(evaluation: Record<string, unknown>): Promise<void> {
      const live = await start(settingsOf(evaluation));
      await openFeeds(live, 's');
      await Promise.all(sendBoth(live, 's', passing(10, 1)));
      await settled(live);
      await live.stop();
      const owner = { now: clock.now, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
      const log = await Log.open(logSettings({ dir }), owner);
      for await (const _ of log.records());
      const atMs = clock.nowMs;
      log.append({ kind: 'retire', stream: 's', atMs, tracker: null });
      log.append({ kind: 'resume', stream: 's', atMs });
      await log.close();
    }

    for (const [where, evaluation] of [
      ['a thread', { threads: 1, inlineMs: 0 }],
      ['the main thread', { threads: 0 }],
    ] as const) {
      it(`are gone after their retirement, in ${where}`, async () => {
        await write(evaluation);
        const live = await start(settingsOf({ ...evaluation, idleCheckMs: 1e9 }));
        await settled(live);
        assert.deepEqual(live.streams(), []);
        assert.equal(live.storage().threadStreams, 0);
      });

      it(`do not keep the log from shrinking, in ${where}`, async () => {
        await write(evaluation);
        const live = await start(settingsOf({ ...evaluation, idleCheckMs: 1e9 }, {}, { maxBytes: 2 ** 20 }));
        live.openFeed(feed('other'));
        const objects: WireObject[] = swamp(1)[0].reference;
        const isLarge = () => live.storage().bytes >= 2 ** 20;
        // what a snapshot has just come to cover goes with the next commit
        for (let n = 0; n < 20 || (isLarge() && n < 40); n++) {
          clock.nowMs += 1100;
          const parts = Array.from({ length: 250 }, (_, m) => {
            const seq = n * 250 + m + 1;
            return live.ingest(feed('other'), { seq, k: seq, objects: pack(objects) }, clock.nowMs);
          });
          await Promise.all(parts);
          await settled(live);
        }
        assert.ok(!isLarge(), `${live.storage().bytes} bytes are kept`);
      });
    }
  });

  describe('at their end of a thread', () => {
    const record = (kind: 'retire' | 'tick'): LogRecord =>
      kind === 'retire' ? { kind, stream: 's', atMs: START_MS, tracker: null } : { kind, stream: 's', atMs: START_MS };

    async function stateOf(): Promise<unknown> {
      const live = await start(settingsOf({ threads: 0 }));
      await openFeeds(live, 's');
      await Promise.all(sendBoth(live, 's', passing(10, 1)));
      await live.stop();
      const owner = { now: clock.now, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
      const log = await Log.open(logSettings({ dir }), owner);
      for await (const { state } of log.snapshots()) {
        await log.close();
        return state;
      }
    }

    const startThreads = () => {
      const results: ThreadResult[] = [];
      const threads = new Threads({ threads: 1, budgetMs: 60_000, inlineMs: 4, auditEvery: 0 }, quiet);
      const adopt = async () => {
        const snapshot = { state: packSnapshot(await stateOf()), position: 99 };
        return threads.adopt('s', snapshot, { received: (result) => results.push(result), lost: () => assert.fail() });
      };
      return { results, threads, adopt };
    };

    it('a snapshot says by itself up to which record it goes', async () => {
      const { results, threads, adopt } = startThreads();
      try {
        const stream = await adopt();
        const positions: number[] = [];
        const states = new Set<unknown>();
        const save = ({ state, position }: PackedSnapshot) => {
          states.add(state);
          positions.push(position);
        };
        const first = [stream.snapshot(save), stream.snapshot(save)];
        stream.apply(record('tick'), 100);
        stream.apply(record('tick'), 105);
        await Promise.all(first);
        assert.deepEqual(positions.splice(0), [99, 99]);
        assert.equal(states.size, 1, 'one at a time');
        const second = stream.snapshot(save);
        stream.apply(record('retire'), 110);
        await second;
        assert.deepEqual(positions.splice(0), [105]);
        await stream.snapshot(save);
        assert.deepEqual(positions, [], 'nothing is saved of a stream that is retired');
        await until('all are back', () => results.length === 3);
        assert.deepEqual(
          results.map(({ position, gone }) => [position, gone]),
          [
            [100, false],
            [105, false],
            [110, true],
          ],
        );
      } finally {
        await threads.stop();
      }
    });

    it('nobody waits for a thread that was stopped', async () => {
      const { threads, adopt } = startThreads();
      const stream = await adopt();
      await stream.ready;
      await threads.stop();
      assert.equal(await stream.window('t', PROFILE), undefined);
      await stream.snapshot(() => assert.fail('there is nothing to save'));
    });
  });
});
