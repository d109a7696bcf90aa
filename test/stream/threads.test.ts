/** Heavy streams in threads: nobody waits for them, and everything that streams do works there as well. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { evaluate, type Frame, presets } from '../../src/index.js';
import { Live } from '../../src/live/live.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { feed, lastingEvents, quiet, START_MS, TestClock } from '../kit/live.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const PROFILE = 'online-surveillance';
const WINDOW_FRAMES = 40;

/** Objects close together, and a detector that gives every detection a name of its own: the hardest there is. */
function detections(frames: number, objects = 10): Frame[] {
  const next = randomFrom(5);
  const boxes = Array.from({ length: objects }, () => ({ x: 300 * next(), y: 200 * next(), dx: 4 * next() - 2 }));
  return Array.from({ length: frames }, (_, k) => {
    for (const box of boxes) box.x += box.dx;
    return {
      reference: boxes.map(({ x, y }, n) => ({ id: `g${n}`, box: [x, y, 40, 80] })),
      tracker: boxes
        .filter(() => next() > 0.1)
        .map(({ x, y }, n) => ({ id: `d${k}-${n}`, box: [x + 8 * next() - 4, y + 8 * next() - 4, 40, 80] })),
    };
  });
}

/** One object, followed perfectly. */
const calm = (frames: number): Frame[] =>
  Array.from({ length: frames }, (_, k) => {
    const box: [number, number, number, number] = [k, 0, 30, 60];
    return { reference: [{ id: 'g', box }], tracker: [{ id: 't', box }] };
  });

describe('threads', () => {
  let dir: string;
  const open: Live[] = [];
  const clock = new TestClock();

  const start = async (evaluation: Record<string, unknown>, logger = quiet): Promise<Live> => {
    const settings = {
      data: { dir, groupCommitMs: 1 },
      streams: {
        defaults: { windowFrames: WINDOW_FRAMES, idleMinutes: 1, pairing: { latenessMs: 1e6, silenceMs: 1e6 } },
      },
      evaluation: { idleCheckMs: 1, ...evaluation },
    };
    const live = await Live.open(readConfig({ text: JSON.stringify(settings), env: {} }).config, clock, logger);
    open.push(live);
    return live;
  };

  /** Sends frames from number `from` on; one promise for each frame, of its ack. */
  const send = (live: Live, stream: string, frames: Frame[], from = 1): Promise<void>[] =>
    frames.flatMap(({ reference, tracker }, n) => [
      live.ingest(feed(stream), { seq: from + n, k: from + n, objects: pack(reference as WireObject[]) }, clock.nowMs),
      live.ingest(
        feed(stream, 't'),
        { seq: from + n, k: from + n, objects: pack(tracker as WireObject[]) },
        clock.nowMs,
      ),
    ]);

  const openFeeds = async (live: Live, stream: string) => {
    for (const id of [feed(stream), feed(stream, 't')]) assert.ok('nextSeq' in (await live.openFeed(id)));
  };

  const collect = (live: Live): LiveEvent[] => {
    const events: LiveEvent[] = [];
    lastingEvents(live).subscribe((event) => events.push(event));
    return events;
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-threads-'));
    clock.nowMs = START_MS;
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  it('a stream whose solves are long goes to a thread by itself, and loses no frame', async function () {
    skipInFastRun(this);
    // a solve of that scene never takes so little, whatever the machine
    const live = await start({ threads: 1, inlineMs: 0.05, budgetMs: 60_000 });
    const events = collect(live);
    await openFeeds(live, 'heavy');
    const frames = detections(60);
    await Promise.all(send(live, 'heavy', frames));
    await Promise.all([live.end(feed('heavy')), live.end(feed('heavy', 't'))]);
    assert.equal(live.storage().threadStreams, 1);
    const reports = events.filter((event) => event.type === 'report');
    // the end of the feeds brings one more
    assert.deepEqual(
      reports.map(({ k }) => k),
      [...Array.from({ length: 60 }, (_, n) => n + 1), 60],
    );
    const view = await live.window('heavy', 't', PROFILE);
    const expected = evaluate(frames.slice(-WINDOW_FRAMES), presets[PROFILE]);
    assert.deepEqual(view!.evaluation, expected);
  });

  it('holds up its own acks and nobody else', async function () {
    skipInFastRun(this);
    const live = await start({ threads: 1, inlineMs: 0, budgetMs: 60_000, backlogFrames: 4 });
    for (const stream of ['heavy', 'light']) await openFeeds(live, stream);
    await Promise.all(send(live, 'heavy', detections(10)));
    await until('the heavy stream is in its thread', () => live.storage().threadStreams > 0);
    let acked = 0;
    const acks = send(live, 'heavy', detections(210).slice(10), 11).map((ack) => ack.then(() => acked++));
    const reference = calm(200).map((frame, n) =>
      live.ingest(feed('light'), { seq: n + 1, k: n + 1, objects: pack(frame.reference as WireObject[]) }, clock.nowMs),
    );
    await Promise.all(reference);
    assert.ok(acked < acks.length, 'the light stream did not wait for the heavy one');
    await Promise.all(acks);
    assert.equal(live.storage().backlogRecords <= 4, true);
  });

  it('stops without finishing what is in the log, and goes on with it after the restart', async function () {
    skipInFastRun(this);
    const settings = { threads: 1, inlineMs: 0, budgetMs: 60_000 };
    const live = await start(settings);
    await openFeeds(live, 'heavy');
    const frames = detections(400);
    await Promise.all(send(live, 'heavy', frames));
    await live.stop();
    const again = await start(settings);
    const [report] = again.reports();
    assert.equal(report.k, 400);
    assert.equal(report.report.frame, 399);
    const { evaluation } = (await again.window('heavy', 't', PROFILE))!;
    assert.deepEqual(evaluation, evaluate(frames.slice(-WINDOW_FRAMES), presets[PROFILE]));
  });

  it('retires an idle stream in a thread, and begins it anew when it comes back', async () => {
    const live = await start({ threads: 1, inlineMs: 0 });
    const events = collect(live);
    await openFeeds(live, 's');
    await Promise.all(send(live, 's', calm(5)));
    await until('it is in the thread', () => live.storage().threadStreams === 1 && live.reports()[0]?.k === 5);
    clock.nowMs += 120_000;
    await until('it is retired', () => live.streams().length === 0);
    assert.equal(live.storage().threadStreams, 0);
    assert.equal(events.filter(({ type }) => type === 'retired').length, 1);
    assert.equal(await live.window('s', 't', PROFILE), undefined);
    await openFeeds(live, 's');
    await Promise.all(send(live, 's', calm(3)));
    await until('it is judged again', () => live.reports()[0]?.k === 3);
    assert.equal(live.reports()[0].report.frame, 2);
  });

  it('stays in the main thread when there are to be none', async () => {
    const live = await start({ threads: 0, inlineMs: 0 });
    await openFeeds(live, 's');
    await Promise.all(send(live, 's', calm(20)));
    await until('it is judged', () => live.reports()[0]?.k === 20);
    assert.equal(live.storage().threadStreams, 0);
  });
});
