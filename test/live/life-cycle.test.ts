/** How streams end, retire, come back and leave the log: nobody waits for ever, and nothing is lost on the way. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, presets } from '../../src/index.js';
import { Live } from '../../src/live/live.js';
import { eventKey } from '../../src/store/commit.js';
import { Log } from '../../src/store/log.js';
import { EventHistory } from '../../src/stream/history.js';
import { Series } from '../../src/stream/series.js';
import type { LiveEvent } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { feed, quiet, TestClock } from '../kit/live.js';
import { randomFrom } from '../kit/random.js';
import { logSettings } from '../kit/settings.js';
import { skipInFastRun } from '../kit/system/system.js';

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

describe('the life of a stream', () => {
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

  it('is gone when its retirement is told', async () => {
    const live = await start(settingsOf({}));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', passing(10, 1)));
    await settled(live);
    const there = new Promise((resolve) => {
      live.events$.subscribe((event) => event.type === 'retired' && resolve(live.streams().length));
    });
    clock.nowMs += 3_600_000;
    assert.equal(await there, 0);
  });

  it('stays as it ended until a frame comes', async () => {
    const live = await start(settingsOf({}));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', passing(20, 1)));
    const ends = [feed('s'), feed('s', 't')];
    await Promise.all(ends.map((id) => live.end(id)));
    const [last] = live.reports().map(plain);
    await live.kill();
    const again = await start(settingsOf({}));
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

  it('lets nobody wait for an end that does not come any more', async () => {
    const live = await start(settingsOf({}));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', swamp(6)));
    const sent = Promise.all(sendBoth(live, 's', swamp(40).slice(6), 7));
    const end = live.end(feed('s', 't'));
    await sent;
    await Promise.all([assert.rejects(end, { code: 'storage_closed' }), live.kill()]);
  });

  it('lets the log shrink, and lose nothing when the process is killed right then', async () => {
    const settings = settingsOf({}, {}, { maxBytes: 2 ** 20, snapshotFrames: 1e6 });
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
    // what is too much goes with a later commit
    while (live.storage().bytes >= 2 ** 20 && frames < 600) await send(4);
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

  it('goes on with the assignment that was reported, also when it came of a solve that was cut', () => {
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

  it('holds back no ack once the end is near', async () => {
    const live = await start(settingsOf({ backlogFrames: 1 }));
    await openFeeds(live, 's');
    await Promise.all(sendBoth(live, 's', swamp(6)));
    const acks = sendBoth(live, 's', swamp(130).slice(6), 7);
    live.liftBackpressure();
    await Promise.all(acks);
    await Promise.all(sendBoth(live, 's', swamp(132).slice(130), 131));
    assert.ok(live.storage().backlogRecords > 1);
  });

  it('keeps the history in order with refused input, which has no place in the log', () => {
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
    async function write(): Promise<void> {
      const live = await start(settingsOf({}));
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

    it('is gone after its retirement', async () => {
      await write();
      const live = await start(settingsOf({ idleCheckMs: 1e9 }));
      await settled(live);
      assert.deepEqual(live.streams(), []);
    });

    it('does not keep the log from shrinking', async () => {
      await write();
      const live = await start(settingsOf({ idleCheckMs: 1e9 }, {}, { maxBytes: 2 ** 20 }));
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
  });
});
