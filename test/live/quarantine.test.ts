/**
 * A frame that the kernel fails on: its stream goes on without it, in this thread and after a restart; nobody else
 * notices.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { feed, quiet, START_MS, TestClock } from '../kit/live.js';
import { POISON } from '../kit/metric/poisoned-kernel.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const FRAMES = 60;

/** Two objects that pass each other, and tracks that do the same with a little error. */
const objectsAt = (k: number, name: string, error = 0): WireObject[] => [
  { id: `${name}1`, box: [3 * k + error, 0, 30, 60] },
  { id: `${name}2`, box: [180 - 3 * k, 10 + error, 30, 60] },
];

const timeless = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner) => (['solveMs', 'n', 'spikes', 'perFrame'].includes(key) ? undefined : inner)),
  );

describe('quarantine', () => {
  let dir: string;
  let clock: TestClock;
  const open: Live[] = [];
  const errors: string[] = [];

  const start = async (snapshotFrames = 25): Promise<Live> => {
    const settings = {
      data: { dir, groupCommitMs: 1, snapshotFrames },
      evaluation: { budgetMs: 60_000 },
      streams: { defaults: { windowFrames: 20, pairing: { latenessMs: 1e7, silenceMs: 1e7, resumeMs: 0 } } },
    };
    const { config } = readConfig({ text: JSON.stringify(settings), env: {} });
    const logger = { ...quiet, error: (event: string) => errors.push(event) };
    const live = await Live.open(config, clock, logger);
    open.push(live);
    return live;
  };

  /** Sends frames of both feeds; those of the tracker in `poisoned` are poisonous, those in `left` are left out. */
  async function send(
    live: Live,
    stream: string,
    from: number,
    to: number,
    poisoned: number[] = [],
    left: number[] = [],
  ) {
    for (let k = from; k <= to; k++) {
      await live.ingest(feed(stream), { seq: k, k, objects: pack(objectsAt(k, 'g')) }, START_MS + k);
      const tracks = objectsAt(k, 't', 1);
      if (poisoned.includes(k)) tracks.push({ id: POISON.throws, box: [900, 900, 5, 5] });
      if (!left.includes(k)) await live.ingest(feed(stream, 't'), { seq: k, k, objects: pack(tracks) }, START_MS + k);
    }
  }

  const openFeeds = (live: Live, ...streams: string[]) => {
    for (const stream of streams) for (const id of [feed(stream), feed(stream, 't')]) live.openFeed(id);
  };

  const applied = (live: Live) => until('everything is applied', () => live.storage().backlogRecords === 0);

  const stateOf = (live: Live, stream: string) => ({
    reports: timeless(live.reports().filter((report) => report.stream === stream)),
    info: timeless(live.streams().find((info) => info.stream === stream)),
  });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-quarantine-'));
    clock = new TestClock();
    errors.length = 0;
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  /** What streams say in the end that never had the frames `left`. */
  async function without(left: number[]) {
    const live = await start();
    openFeeds(live, 's');
    await send(live, 's', 1, FRAMES, [], left);
    await applied(live);
    const expected = stateOf(live, 's');
    await live.kill();
    rmSync(dir, { recursive: true, force: true });
    return expected;
  }

  it('takes a frame that fails; its stream goes on as if the frame had never come, and others do not notice', async function () {
    skipInFastRun(this);
    const expected = await without([33]);
    const untouched = await without([]);
    const live = await start();
    const events: LiveEvent[] = [];
    live.events$.subscribe((event) => events.push(event));
    openFeeds(live, 's', 'well');
    await Promise.all([send(live, 's', 1, FRAMES, [33]), send(live, 'well', 1, FRAMES)]);
    await applied(live);
    assert.deepEqual(stateOf(live, 's'), expected);
    assert.deepEqual(
      stateOf(live, 'well'),
      JSON.parse(JSON.stringify(untouched).replaceAll('"stream":"s"', '"stream":"well"')),
    );
    assert.deepEqual(errors, ['record_failed']);
    const [event, ...more] = events.filter(({ type }) => type === 'quarantine');
    assert.deepEqual(more, []);
    assert.ok(event.type === 'quarantine');
    assert.deepEqual([event.stream, event.tracker, event.kind, event.suspended], ['s', 't', 'part', false]);
    assert.match(event.message, /Maximum call stack/);
    assert.ok(live.recentEvents('s').some(({ type }) => type === 'quarantine'));
    assert.equal(readdirSync(join(dir, 'quarantine')).length, 1);
    assert.deepEqual(live.health().degraded, []);
    // every frame but one was reported once
    const numbers = events.flatMap((one) => (one.type === 'report' && one.stream === 's' ? [one.k] : []));
    assert.deepEqual(
      numbers,
      Array.from({ length: FRAMES }, (_, n) => n + 1),
    );
  });

  for (const [how, forget] of [
    ['the restart leaves it out', false],
    ['it fails once more at the restart when its file was deleted', true],
  ] as const)
    it(`stays good for a stream that is killed right after: ${how}`, async function () {
      skipInFastRun(this);
      const expected = await without([33]);
      const live = await start(1000);
      openFeeds(live, 's');
      await send(live, 's', 1, 40, [33]);
      await applied(live);
      await live.kill();
      if (forget) rmSync(join(dir, 'quarantine'), { recursive: true });
      const again = await start(1000);
      assert.deepEqual(errors, forget ? ['record_failed', 'record_failed'] : ['record_failed']);
      const opened = await again.openFeed(feed('s', 't'));
      assert.deepEqual(opened, { ...opened, nextSeq: 41 });
      await send(again, 's', 41, FRAMES);
      await applied(again);
      assert.deepEqual(stateOf(again, 's'), expected);
    });

  it('suspends a stream whose frames fail again and again, says so, stores what comes, and tries again at the next start', async function () {
    skipInFastRun(this);
    const poisoned = [33, 36, 39];
    const expected = await without(poisoned);
    const live = await start();
    openFeeds(live, 's', 'well');
    await send(live, 's', 1, 50, poisoned);
    await send(live, 'well', 1, 50);
    await applied(live);
    assert.deepEqual(errors, ['record_failed', 'record_failed', 'record_failed', 'stream_suspended']);
    const { ready, degraded } = live.health();
    assert.deepEqual([ready, degraded.map(({ stream }) => stream)], [true, ['s']]);
    assert.match(degraded[0].reason, /suspended: RangeError: Maximum call stack/);
    const info = live.streams().find(({ stream }) => stream === 's')!;
    assert.match(info.suspended!, /Maximum call stack/);
    assert.deepEqual(
      info.feeds.map(({ seq }) => seq),
      [50, 50],
    );
    assert.equal(live.reports().find(({ stream }) => stream === 'well')!.k, 50);
    await live.stop();
    const again = await start();
    assert.deepEqual(again.health().degraded, []);
    await send(again, 's', 51, FRAMES);
    await applied(again);
    assert.deepEqual(stateOf(again, 's'), expected);
  });
});
