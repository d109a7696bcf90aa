/**
 * The pipeline on a real disk with a clock of its own: reports, events, recovery, and what happens when things fill up.
 */
import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom, interval } from 'rxjs';
import { filter } from 'rxjs/operators';
import { type Config, readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, type Obj, presets, type Report } from '../../src/index.js';
import { type Clock, Live } from '../../src/live/live.js';
import { Log } from '../../src/store/log.js';
import type { LiveEvent, PublishedReport } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';
import { type FeedPart, pack, type WireObject } from '../../src/wire/objects.js';
import { feed, isLasting, lastingEvents, quiet, START_MS, TestClock } from '../kit/live.js';
import { randomFrom } from '../kit/random.js';
import { logSettings } from '../kit/settings.js';
import { skipInFastRun } from '../kit/system/system.js';

/** A tmpfs of so many megabytes, or null where that is not allowed. */
function mountSmallDisk(dir: string, megabytes: number): string | null {
  const disk = join(dir, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk], { stdio: 'ignore' });
    return disk;
  } catch {
    return null;
  }
}

function fillDisk(disk: string, leaveBytes: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize - leaveBytes));
}

const nextSeq = (answer: Awaited<ReturnType<Live['openFeed']>>): number => {
  assert.ok('nextSeq' in answer);
  return answer.nextSeq;
};

/** A small scene: objects that move, a tracker that is off by a little, swaps ids, misses and invents. */
function makeScene(
  seed: number,
  frames: number,
  objects = 6,
): Array<{ reference: WireObject[]; tracks: WireObject[] }> {
  const next = randomFrom(seed);
  const boxes = Array.from({ length: objects }, (_, n) => ({ x: n * 40, y: 100 * next(), dx: 6 * next() - 3, id: n }));
  return Array.from({ length: frames }, () => {
    for (const b of boxes) b.x += b.dx;
    if (next() < 0.1) [boxes[0].id, boxes[1].id] = [boxes[1].id, boxes[0].id];
    const present = boxes.filter(() => next() > 0.05);
    const reference = present.map((b): WireObject => ({ id: `g${boxes.indexOf(b)}`, box: [b.x, b.y, 30, 60] }));
    const tracks = present
      .filter(() => next() > 0.1)
      .map((b): WireObject => ({ id: `t${b.id}`, box: [b.x + 4 * next(), b.y + 4 * next(), 30, 60] }));
    if (next() < 0.2) tracks.push({ id: `false${Math.floor(next() * 5)}`, box: [1000 * next(), 500, 20, 20] });
    return { reference, tracks };
  });
}

const asFrame = (f: { reference: WireObject[]; tracks: WireObject[] }): Frame => ({
  reference: f.reference as Obj[],
  tracker: f.tracks as Obj[],
});

/** A report as plain JSON, without what may differ between runs. */
const plain = (report: PublishedReport) => {
  const { perFrame: _perFrame, ...rest } = report as Report;
  return JSON.parse(JSON.stringify({ ...rest, newest: report.newest }));
};

const plainEvent = (event: LiveEvent) => {
  if (event.type !== 'report') return JSON.parse(JSON.stringify(event));
  const { solveMs: _solveMs, report, spikes: _spikes, ...rest } = event;
  return { ...rest, report: plain(report) };
};

describe('live', () => {
  let dir: string;
  const open: Live[] = [];

  const configure = (settings: Record<string, unknown> = {}, data: Record<string, unknown> = {}): Config => {
    const text = JSON.stringify({ data: { dir, groupCommitMs: 1, snapshotFrames: 40, ...data }, ...settings });
    return readConfig({ text, env: {} }).config;
  };
  const start = async (config = configure(), clock: Clock = new TestClock()) => {
    const live = await Live.open(config, clock, quiet);
    open.push(live);
    return live;
  };
  const collect = (live: Live) => {
    const events: LiveEvent[] = [];
    lastingEvents(live).subscribe((event) => events.push(event));
    return events;
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-live-'));
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Sends a scene on both feeds; all parts are durable when it resolves. */
  async function send(live: Live, stream: string, scene: ReturnType<typeof makeScene>, tracker = 't', first = 1) {
    const parts = scene.flatMap(({ reference, tracks }, n) => {
      const k = first + n;
      const atMs = START_MS + k;
      return [
        live.ingest(feed(stream), { seq: k, k, objects: pack(reference) }, atMs),
        live.ingest(feed(stream, tracker), { seq: k, k, objects: pack(tracks) }, atMs),
      ];
    });
    await Promise.all(parts);
  }

  const openBoth = (live: Live, stream: string, tracker = 't') => {
    live.openFeed(feed(stream));
    return live.openFeed(feed(stream, tracker));
  };

  const until = (live: Live, wanted: (event: LiveEvent) => boolean) =>
    firstValueFrom(live.events$.pipe(filter(wanted)));
  const reportOf =
    (k: number, stream = 's') =>
    (event: LiveEvent) =>
      event.type === 'report' && event.k === k && event.stream === stream;

  it('reports on every frame what evaluate says about the window', async () => {
    const windowFrames = 20;
    const profiles = ['online-surveillance', 'offline-scene-understanding'];
    const live = await start(configure({ streams: { defaults: { windowFrames, profiles } } }));
    const events = collect(live);
    const scene = makeScene(7, 60);
    openBoth(live, 's');
    const last = until(live, (e) => e.type === 'report' && e.k === 60 && e.profile === profiles[1]);
    await send(live, 's', scene);
    await last;
    const reports = events.filter((e) => e.type === 'report');
    assert.equal(reports.length, 120);
    for (const { k, profile, report, tracker } of reports) {
      const window = scene.slice(Math.max(0, k - windowFrames), k).map(asFrame);
      const expected = evaluate(window, presets[profile as keyof typeof presets]);
      assert.equal(tracker, 't');
      assert.equal(report.frames, expected.frames);
      assert.ok(Math.abs(report.distance - expected.distance) < 1e-9);
      assert.deepEqual(report.count, expected.count);
    }
  });

  it('numbers the events of a stream without gaps, and names switches by frame number', async () => {
    const live = await start(configure({ streams: { defaults: { windowFrames: 20 } } }));
    const events = collect(live);
    openBoth(live, 's');
    const done = until(live, reportOf(1060));
    await send(live, 's', makeScene(3, 60), 't', 1001);
    await done;
    assert.deepEqual(
      events.map((e) => e.n),
      events.map((_, n) => n + 1),
    );
    const switches = events.filter((e) => e.type === 'switch');
    assert.ok(switches.length > 0 && switches.every((s) => s.k > 1000 && s.k <= 1060 && s.truth.startsWith('g')));
    const total = events.filter((e) => e.type === 'report').at(-1)!.report.settled.count.switches;
    assert.equal(
      switches.reduce((sum, s) => sum + s.switches, 0),
      total,
    );
  });

  it('settles everything when all feeds have ended: the lifetime is then the offline metric', async () => {
    const live = await start(configure({ streams: { defaults: { windowFrames: 100 } } }));
    const events = collect(live);
    const scene = makeScene(11, 80);
    openBoth(live, 's');
    await send(live, 's', scene);
    await live.end(feed('s'));
    await live.end(feed('s', 't'));
    const last = events.filter((e) => e.type === 'report').at(-1)!;
    const offline = evaluate(scene.map(asFrame), presets['online-surveillance']);
    assert.equal(last.report.settled.frames, 80);
    assert.ok(Math.abs(last.report.lifetime!.upper - offline.cost.total) < 1e-9);
    assert.ok(Math.abs(last.report.lifetime!.lower - offline.cost.total) < 1e-9);
    assert.equal(live.streams()[0].series[0].ended, true);
  });

  it('judges several trackers, each with its own windows', async () => {
    const live = await start();
    const events = collect(live);
    const scene = makeScene(5, 10);
    openBoth(live, 's', 'good');
    live.openFeed(feed('s', 'blind'));
    for (const [n, { reference, tracks }] of scene.entries()) {
      const k = n + 1;
      live.ingest(feed('s'), { seq: k, k, objects: pack(reference) }, START_MS + k);
      live.ingest(feed('s', 'good'), { seq: k, k, objects: pack(tracks) }, START_MS + k);
      await live.ingest(feed('s', 'blind'), { seq: k, k, objects: pack([]) }, START_MS + k);
    }
    for (const id of [feed('s'), feed('s', 'good'), feed('s', 'blind')]) await live.end(id);
    const last = (tracker: string) =>
      events.filter((e) => e.type === 'report' && e.tracker === tracker).at(-1) as { report: PublishedReport };
    const truths = scene.reduce((sum, f) => sum + f.reference.length, 0);
    assert.equal(last('blind').report.count.missed, truths);
    assert.ok(last('good').report.count.missed < truths / 2);
  });

  it('gives the window with its assignments and the objects of its frames', async () => {
    const live = await start(configure({ streams: { defaults: { windowFrames: 8 } } }));
    const scene = makeScene(2, 12);
    openBoth(live, 's');
    const done = until(live, reportOf(12));
    await send(live, 's', scene);
    await done;
    const view = (await live.window('s', 't', 'online-surveillance'))!;
    assert.equal(view.k, 12);
    assert.deepEqual(
      view.frames.map((f) => f.k),
      [5, 6, 7, 8, 9, 10, 11, 12],
    );
    assert.deepEqual(view.frames[0].reference, scene[4].reference);
    assert.deepEqual(view.frames[7].tracker, scene[11].tracks);
    assert.equal(view.evaluation.perFrame.length, 8);
    const pair = view.evaluation.perFrame[7].assignment.find((a) => a.distance !== null)!;
    assert.ok(view.frames[7].reference.some((o) => o.id === pair.truth));
    assert.equal(await live.window('s', 'nobody', 'online-surveillance'), undefined);
  });

  it('counts only objects of the configured classes and confidences', async () => {
    const settings = { filter: { classes: ['car'], minConfidence: 0.5 } };
    const live = await start(configure({ streams: { defaults: settings } }));
    openBoth(live, 's');
    const box: [number, number, number, number] = [0, 0, 10, 10];
    const done = until(live, reportOf(1));
    await live.ingest(feed('s'), { seq: 1, k: 1, objects: pack([{ id: 'a', box, class: 'car' }]) }, START_MS);
    const tracks: WireObject[] = [
      { id: '1', box, class: 'car', confidence: 0.9 },
      { id: '2', box, class: 'car', confidence: 0.4 },
      { id: '3', box, class: 'tree', confidence: 0.9 },
      { id: '4', box },
    ];
    await live.ingest(feed('s', 't'), { seq: 1, k: 1, objects: pack(tracks) }, START_MS);
    const { report } = (await done) as { report: PublishedReport };
    assert.deepEqual(report.count, { proper: 1, missed: 0, false: 0, switches: 0 });
  });

  it('recognises what it has already stored by its number', async () => {
    const live = await start();
    const events = collect(live);
    openBoth(live, 's');
    await send(live, 's', makeScene(1, 5));
    await send(live, 's', makeScene(1, 5));
    assert.equal(nextSeq(await live.openFeed(feed('s'))), 6);
    await live.end(feed('s'));
    assert.equal(events.filter((e) => e.type === 'duplicate').length, 0);
    assert.equal(live.streams()[0].feeds[0].seq, 5);
  });

  it('goes on at the next number after a restart, and says so at hello', async () => {
    const live = await start();
    openBoth(live, 's');
    await send(live, 's', makeScene(1, 5));
    await live.stop();
    const again = await start();
    assert.equal(nextSeq(await again.openFeed(feed('s', 't'))), 6);
    assert.equal(nextSeq(await again.openFeed(feed('s', 'other'))), 1);
  });

  describe('refuses', () => {
    const refusal = (answer: Awaited<ReturnType<Live['openFeed']>>) => {
      assert.ok('code' in answer, 'it was accepted');
      return answer;
    };

    it('points without a configured profile, with the lines to add', async () => {
      const live = await start();
      const { code, message } = refusal(await live.openFeed(feed('ships'), undefined, 'point'));
      assert.equal(code, 'profile_missing');
      assert.match(
        message,
        /add to tgospa\.yaml, with your own numbers:\nprofiles:\n {2}points: \{ distance: euclidean/,
      );
      assert.match(message, /streams:\n {2}ships: \{ profiles: \[points\] \}/);
      assert.deepEqual(live.streams(), []);
    });

    it('boxes for a stream of points', async () => {
      const points = { distance: 'euclidean', cutoff: 10, admissibleError: 6, shortSwitchDistance: 3 };
      const live = await start(configure({ profiles: { points }, streams: { ships: { profiles: ['points'] } } }));
      assert.equal(nextSeq(await live.openFeed(feed('ships'), undefined, 'point')), 1);
      assert.equal(refusal(await live.openFeed(feed('ships', 'radar'), undefined, 'box')).code, 'settings_invalid');
    });

    it('more streams and trackers than its limits', async () => {
      const live = await start(configure({ limits: { streams: 2, trackersPerStream: 1 } }));
      for (const name of ['a', 'b']) live.openFeed(feed(name));
      const { code, message } = refusal(await live.openFeed(feed('c')));
      assert.equal(code, 'streams_exceeded');
      assert.match(message, /2 streams are open; raise limits\.streams \(now 2\)/);
      live.openFeed(feed('a', 'one'));
      assert.equal(refusal(await live.openFeed(feed('a', 'two'))).code, 'trackers_exceeded');
      assert.equal(nextSeq(await live.openFeed(feed('a', 'one'))), 1);
    });

    it('settings that contradict those the stream runs with', async () => {
      const live = await start();
      live.openFeed(feed('s'), { windowFrames: 30, pairing: { latenessMs: 10 } });
      assert.equal(nextSeq(await live.openFeed(feed('s', 't'), { pairing: { latenessMs: 10 } })), 1);
      const { code, path, message } = refusal(await live.openFeed(feed('s', 'u'), { pairing: { latenessMs: 20 } }));
      assert.equal(code, 'settings_invalid');
      assert.equal(path, 'settings.pairing.latenessMs');
      assert.match(message, /is 20, but the stream runs with 10/);
    });
  });

  it('tells about refused input, once for each and merged in the history', async () => {
    const live = await start();
    const events = collect(live);
    for (let n = 0; n < 3; n++) live.reportRefused(feed('s', 't'), 'rejected', { code: 'json_invalid' });
    live.reportRefused(feed('s', 't'), 'rejected', { code: 'frame_invalid', message: 'k is -1; ...' });
    assert.equal(events.length, 4);
    const rejected = live.recentEvents('s').map((e) => e.type === 'rejected' && [e.code, e.count]);
    assert.deepEqual(rejected, [
      ['json_invalid', 3],
      ['frame_invalid', 1],
    ]);
  });

  it('closes what is late when time passes, and tells who is silent', async () => {
    const clock = new TestClock();
    const pairing = { latenessMs: 100, silenceMs: 1000 };
    const live = await start(configure({ streams: { defaults: { pairing } } }), clock);
    const events = collect(live);
    openBoth(live, 's');
    const scene = makeScene(1, 3);
    await send(live, 's', scene.slice(0, 2));
    await live.ingest(feed('s'), { seq: 3, k: 3, objects: pack(scene[2].reference) }, clock.nowMs);
    const missed = until(live, reportOf(3));
    clock.nowMs += 120;
    const { report } = (await missed) as { report: PublishedReport };
    assert.equal(report.newest.count.missed, scene[2].reference.length);
    const silent = until(live, (e) => e.type === 'silence');
    clock.nowMs += 2000;
    const event = await silent;
    assert.ok(event.type === 'silence' && event.role === 'reference' && !event.over);
    assert.equal(events.filter((e) => e.type === 'missing').length, 1);
    // nothing further is due: no more records
    clock.nowMs += 2000;
    await firstValueFrom(interval(10));
    assert.equal(live.storage().queuedRecords, 0);
    assert.equal(events.filter((e) => e.type === 'silence').length, 1);
    // what time brought is in the log like any input
    const before = [...live.reports(), ...live.recentEvents()].map(plainEvent);
    await live.kill();
    const again = await start(configure({ streams: { defaults: { pairing } } }), clock);
    assert.deepEqual([...again.reports(), ...again.recentEvents().filter(isLasting)].map(plainEvent), before);
  });

  it('retires idle trackers and streams, and begins anew when they come back', async () => {
    const clock = new TestClock();
    const live = await start(configure({ streams: { defaults: { idleMinutes: 1 } }, limits: { streams: 1 } }), clock);
    const events = collect(live);
    openBoth(live, 's');
    live.openFeed(feed('s', 'idle'));
    await send(live, 's', makeScene(1, 3));
    const idle = until(live, (e) => e.type === 'retired' && e.tracker === 'idle');
    clock.nowMs += 50_000;
    const judged = until(live, reportOf(4));
    await live.ingest(feed('s'), { seq: 4, k: 4, objects: pack([]) }, clock.nowMs);
    await live.ingest(feed('s', 't'), { seq: 4, k: 4, objects: pack([]) }, clock.nowMs);
    // what is stored but not judged yet has not been heard
    await judged;
    clock.nowMs += 20_000;
    await idle;
    const gone = until(live, (e) => e.type === 'retired' && e.tracker === 't');
    clock.nowMs += 70_000;
    await gone;
    assert.deepEqual(live.streams(), []);
    assert.deepEqual(live.reports(), []);
    // a client that was connected all the time goes on with its numbers; the limit of one stream is free again
    const back = until(live, reportOf(6));
    await live.ingest(feed('s'), { seq: 6, k: 6, objects: pack([]) }, clock.nowMs);
    await live.ingest(feed('s', 't'), { seq: 6, k: 6, objects: pack([]) }, clock.nowMs);
    assert.equal(((await back) as { report: PublishedReport }).report.frame, 0);
    await live.kill();
    const again = await start(configure({ limits: { streams: 1 } }), clock);
    assert.deepEqual(
      again.streams().map((s) => s.feeds.map((f) => f.seq)),
      [[6, 6]],
    );
    assert.ok(events.some((e) => e.type === 'retired'));
  });

  it('keeps the event history bounded, merged and over restarts', async () => {
    const config = configure({ limits: { recentEvents: 12 } });
    const live = await start(config);
    openBoth(live, 's');
    const scene = makeScene(9, 40);
    for (const [n, { reference, tracks }] of scene.entries()) {
      const k = n + 1;
      await live.ingest(feed('s'), { seq: k, k, objects: pack(reference) }, START_MS + k);
      // every third frame is skipped twice in a row
      if (k % 9 < 6) await live.ingest(feed('s', 't'), { seq: k, k, objects: pack(tracks) }, START_MS + k);
    }
    await live.end(feed('s', 't'));
    await live.end(feed('s'));
    const before = live.recentEvents();
    assert.ok(before.length === 12);
    const missing = before.find((e) => e.type === 'missing');
    assert.ok(missing?.type === 'missing' && missing.count === 3, JSON.stringify(before));
    await live.kill();
    const again = await start(config);
    assert.deepEqual(again.recentEvents().filter(isLasting).map(plainEvent), before.map(plainEvent));
  });

  it('reads settings of a version that knew fewer of them, from snapshots and from the log', async () => {
    const forget = (plan: unknown) => {
      const { pairing } = (plan as { settings: { pairing: Record<string, unknown> } }).settings;
      for (const key of ['heldTrackers', 'holdMaxMs', 'holdMaxFrames']) delete pairing[key];
      return plan;
    };
    const scene = makeScene(4, 3);
    const live = await start();
    const { plan } = (await openBoth(live, 's')) as { plan: unknown };
    await send(live, 's', scene.slice(0, 1));
    await live.stop();
    const owner = { now: Date.now, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
    const log = await Log.open(logSettings({ dir }), owner);
    for await (const { stream, position, state } of log.snapshots()) {
      forget((state as { plan: unknown }).plan);
      log.saveSnapshot(stream, position, state);
    }
    const { stream, role, tracker } = feed('s', 't');
    log.append({ kind: 'configure', stream, atMs: START_MS, settings: forget(structuredClone(plan)) });
    const part = { seq: 2, k: 2, objects: pack(scene[1].tracks) };
    log.append({ kind: 'part', stream, atMs: START_MS, role, tracker, part });
    await log.close();
    const again = await start();
    const done = until(again, reportOf(3));
    const ingested = [scene[1], scene[2]].map(({ reference }, n) =>
      again.ingest(feed('s'), { seq: n + 2, k: n + 2, objects: pack(reference) }, START_MS + n),
    );
    await Promise.all([
      ...ingested,
      again.ingest(feed('s', 't'), { seq: 3, k: 3, objects: pack(scene[2].tracks) }, START_MS + 3),
    ]);
    await done;
    assert.equal(again.streams()[0].series[0].frames, 3);
  });

  it('takes over a changed configuration at the next start', async () => {
    const live = await start(configure({ streams: { defaults: { windowFrames: 20 } } }));
    openBoth(live, 's');
    await send(live, 's', makeScene(4, 30));
    await live.kill();
    const profiles = ['online-surveillance', 'detector-training'];
    const again = await start(configure({ streams: { defaults: { windowFrames: 20, profiles } } }));
    const done = until(again, (e) => e.type === 'report' && e.k === 31 && e.profile === 'detector-training');
    await send(again, 's', makeScene(4, 1), 't', 31);
    await done;
    const frames = Object.fromEntries(again.streams()[0].series.map((s) => [s.profile, s.frames]));
    assert.deepEqual(frames, { 'online-surveillance': 31, 'detector-training': 1 });
  });

  it('rejects with a StorageFault while the disk is full, is not ready, and goes on afterwards', async function () {
    skipInFastRun(this);
    const disk = mountSmallDisk(dir, 16);
    if (disk === null) {
      assert.notEqual(process.env.TGOSPA_REQUIRE_SYSTEM, '1', 'mounting a small disk needs root');
      return this.skip();
    }
    try {
      const clock = new TestClock();
      const live = await start(
        configure({ evaluation: { budgetMs: 60_000 } }, { dir: disk, minFreeBytes: 0, storageRetryMs: 10 }),
        clock,
      );
      const events = collect(live);
      const scene = makeScene(13, 400);
      openBoth(live, 's');
      await send(live, 's', scene.slice(0, 10));
      fillDisk(disk, 100_000);
      let sent = 10;
      let fault: Error | null = null;
      while (!fault && sent < scene.length) {
        await send(live, 's', scene.slice(sent, sent + 10), 't', sent + 1).catch((error) => {
          fault = error;
        });
        if (!fault) sent += 10;
      }
      assert.equal((fault as Error | null)?.name, 'StorageFault');
      assert.equal(live.health().ready, false);
      assert.match(live.health().reasons[0], /full|are free/);
      await assert.rejects(live.ingest(feed('s'), { seq: 999, k: 999, objects: pack([]) }, START_MS), /full|are free/);
      // time goes by, but that is nobody's fault
      clock.nowMs += 3_600_000 / 2;
      unlinkSync(join(disk, 'filler'));
      while (!live.health().ready) await firstValueFrom(interval(5));
      const from = Math.min(nextSeq(await live.openFeed(feed('s'))), nextSeq(await live.openFeed(feed('s', 't'))));
      assert.ok(from > 10 && from <= sent + 11);
      const done = until(live, reportOf(scene.length));
      await send(live, 's', scene.slice(from - 1), 't', from);
      const { report } = (await done) as { report: PublishedReport };
      assert.equal(report.frame, scene.length - 1);
      const expected = evaluate(scene.slice(-60).map(asFrame), presets['online-surveillance']);
      assert.deepEqual(report.count, expected.count);
      assert.deepEqual(
        events.filter((e) => e.type !== 'report' && e.type !== 'switch'),
        [],
      );
    } finally {
      for (const live of open.splice(0)) await live.kill();
      execFileSync('umount', [disk]);
    }
  });

  it('leaves the event loop to others while it works, also when one part closes many steps', async function () {
    skipInFastRun(this);
    const live = await start(configure({ evaluation: { sliceMs: 1 } }));
    openBoth(live, 's');
    const scene = makeScene(21, 800, 15);
    await send(live, 's', scene.slice(0, 1));
    const parts = scene.map((f, n) =>
      live.ingest(feed('s'), { seq: n + 2, k: n + 2, objects: pack(f.reference) }, START_MS),
    );
    await Promise.all(parts);
    const done = until(live, reportOf(801));
    let turns = 0;
    let running = true;
    const count = () => {
      turns++;
      if (running) setImmediate(count);
    };
    // the tracker skips 799 frames that the reference has
    await live.ingest(feed('s', 't'), { seq: 2, k: 801, objects: pack([]) }, START_MS);
    const began = process.cpuUsage();
    setImmediate(count);
    await done;
    running = false;
    // processor time: what else the machine does is no affair of this pipeline
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1000;
    assert.ok(turns > ms / 20, `${turns} turns in ${ms} ms`);
  });

  /** Inputs of two streams with everything that can go wrong, in one fixed order with fixed times. */
  function script(seed: number, frames: number): Array<{ id: FeedId; part: FeedPart; atMs: number }> {
    const next = randomFrom(seed);
    const inputs: Array<{ id: FeedId; part: FeedPart; atMs: number }> = [];
    const scenes = { a: makeScene(seed, frames), b: makeScene(seed + 1, frames, 3) };
    const seqs = new Map<string, number>();
    const push = (id: FeedId, k: number, objects: WireObject[]) => {
      const key = `${id.stream} ${id.tracker}`;
      const seq = (seqs.get(key) ?? 0) + 1;
      seqs.set(key, seq);
      inputs.push({ id, part: { seq, k, objects: pack(objects) }, atMs: START_MS + inputs.length });
    };
    for (let k = 1; k <= frames; k++) {
      for (const stream of ['a', 'b'] as const) {
        const { reference, tracks } = scenes[stream][k - 1];
        if (next() > 0.03) push(feed(stream), k, reference);
        if (next() > 0.05) push(feed(stream, 't'), k, tracks);
        if (next() < 0.03) push(feed(stream, 't'), Math.max(1, k - 3), tracks);
        if (stream === 'a' && next() > 0.3) push(feed('a', 'u'), k, tracks.slice(1));
      }
    }
    return inputs;
  }

  /** Opens all feeds, or again after a crash, and returns where each goes on. */
  async function openAll(live: Live): Promise<Map<string, number>> {
    const next = new Map<string, number>();
    for (const id of [feed('a'), feed('a', 't'), feed('a', 'u'), feed('b'), feed('b', 't')])
      next.set(`${id.stream} ${id.tracker}`, nextSeq(await live.openFeed(id)));
    return next;
  }

  /** Runs the script; `crashAt` are numbers of inputs after which everything is dropped and opened again. */
  async function run(inputs: ReturnType<typeof script>, crashAt: number[], settings: Record<string, unknown>) {
    const clock = new TestClock();
    const config = configure(settings);
    let live = await start(config, clock);
    const seen = new Map<string, unknown>();
    const watch = () =>
      lastingEvents(live).subscribe((event) => {
        const key = `${event.stream} ${event.n}`;
        const event_ = plainEvent(event);
        if (seen.has(key)) assert.deepEqual(event_, seen.get(key), 'an event that comes again is the same');
        seen.set(key, event_);
      });
    watch();
    await openAll(live);
    await live.ingest(inputs[0].id, inputs[0].part, inputs[0].atMs);
    let acks: Promise<unknown>[] = [];
    const crashes = new Set(crashAt);
    let acked = 0;
    for (let n = 1; n < inputs.length; n++) {
      const { id, part, atMs } = inputs[n];
      clock.nowMs = atMs;
      acks.push(
        live.ingest(id, part, atMs).then(
          () => acked++,
          () => {},
        ),
      );
      if (n % 7 === 0) await acks[Math.floor(acks.length / 2)];
      if (!crashes.delete(n)) continue;
      await live.kill();
      await Promise.all(acks);
      acks = [];
      // no time passes while it is down
      clock.nowMs = START_MS;
      live = await start(config, clock);
      watch();
      const resume = await openAll(live);
      // every feed sends again what was not stored, in the old order
      n = inputs.findIndex(({ id: i, part: p }) => p.seq >= resume.get(`${i.stream} ${i.tracker}`)!) - 1;
      if (n < -1) n = inputs.length;
    }
    await Promise.all(acks);
    for (const id of [feed('a'), feed('b'), feed('a', 't'), feed('a', 'u'), feed('b', 't')]) await live.end(id);
    const windows = live.reports().map((r) => live.window(r.stream, r.tracker, r.profile));
    const result = {
      events: seen,
      reports: live.reports().map(plainEvent),
      windows: JSON.parse(JSON.stringify(await Promise.all(windows))),
      history: live.recentEvents().filter(isLasting).map(plainEvent),
      streams: live.streams(),
      gauges: live.reports().map(({ spikes }) => spikes?.signals.map((signal) => spikes.gauge(signal))),
    };
    await live.kill();
    return result;
  }

  for (const seed of [1, 2]) {
    it(`goes on after crashes exactly as if there had been none, seed ${seed}`, async function () {
      skipInFastRun(this);
      const settings = {
        // nothing that depends on how fast the machine is
        evaluation: { budgetMs: 60_000 },
        streams: {
          defaults: {
            windowFrames: 20,
            profiles: ['online-surveillance', 'offline-scene-understanding'],
            pairing: { latenessMs: 1e6, silenceMs: 1e6 },
          },
        },
      };
      const inputs = script(seed, 120);
      const calm = await run(inputs, [], settings);
      rmSync(dir, { recursive: true, force: true });
      const next = randomFrom(seed + 100);
      const crashAt = Array.from({ length: 6 }, () => 1 + Math.floor(next() * (inputs.length - 1)));
      const crashed = await run(inputs, crashAt, settings);
      const sorted = (events: Map<string, unknown>) =>
        Object.fromEntries([...events].sort(([a], [b]) => (a < b ? -1 : 1)));
      assert.ok(calm.events.size > 400);
      assert.deepEqual(sorted(crashed.events), sorted(calm.events));
      assert.deepEqual(crashed.reports, calm.reports);
      assert.deepEqual(crashed.windows, calm.windows);
      assert.deepEqual(crashed.history, calm.history);
    });
  }

  it('loses nothing to kill -9 of the process, and ends as if nothing had happened', async function () {
    skipInFastRun(this);
    const frames = 900;
    const calm = await sendInProcess(dir, frames);
    assert.equal(calm.killed, false);
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    const next = randomFrom(77);
    let last: Awaited<ReturnType<typeof sendInProcess>>;
    let acked = 0;
    let kills = 0;
    do {
      last = await sendInProcess(dir, frames, acked + 1 + Math.floor(next() * 500));
      assert.ok(last.resumedAt > acked, `${acked} frames were acked, but it resumes at ${last.resumedAt}`);
      acked = Math.max(acked, last.acked);
      if (last.killed) kills++;
    } while (last.killed);
    assert.ok(kills >= 2, `killed ${kills} times`);
    assert.deepEqual(last.result, calm.result);
  });
});

/**
 * Runs test/kit/system/live-sender.ts, which sends a scene and reports acks; kills it when that many frames are acked.
 */
async function sendInProcess(dir: string, frames: number, killAt = Number.POSITIVE_INFINITY) {
  const child = fork(new URL('../kit/system/live-sender.js', import.meta.url), [dir, String(frames)]);
  const outcome = { killed: false, acked: 0, resumedAt: 0, result: null as unknown };
  child.on('message', (message: { resumedAt?: number; acked?: number; result?: unknown }) => {
    if (message.resumedAt !== undefined) outcome.resumedAt = message.resumedAt;
    if (message.result !== undefined) outcome.result = message.result;
    if (message.acked === undefined) return;
    outcome.acked = Math.max(outcome.acked, message.acked);
    if (outcome.acked >= killAt && !outcome.killed) outcome.killed = child.kill('SIGKILL');
  });
  await once(child, 'exit');
  return outcome;
}
