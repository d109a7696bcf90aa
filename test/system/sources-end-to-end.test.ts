/**
 * A MOT17 sequence on the ways robots and cameras send it: over rosbridge, over MQTT as Frigate's events, and as a file
 * that grows. Each must give the TGOSPA that `tgospa eval` gives on the files.
 */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import type { Frame } from '../../src/index.js';
import { MOT17, mot17 } from '../kit/metric/mot17.js';
import { SourceBench } from '../kit/sources.js';
import { hasMosquitto, Mosquitto } from '../kit/system/brokers/mosquitto.js';
import { MAIN } from '../kit/system/program.js';
import { RosbridgeServer } from '../kit/system/rosbridge-server.js';
import { skipUnless, until } from '../kit/system/system.js';

const SEQUENCE = 'MOT17-09';
const TRACKER = 'BoT-SORT-ReTrack-Botsort_baseline';
const FILES = {
  reference: `${MOT17}train/${SEQUENCE}/gt/gt.txt`,
  tracker: `${MOT17}results/${TRACKER}/${SEQUENCE}-FRCNN.txt`,
};
const FEEDS = ['reference', 'tracker'] as const;
/** The beginning of the sequence: each report is verified with all of its window, so time grows with the square. */
const FRAMES = 200;
const STREAMS = { s: { windowFrames: 1000, pairing: { by: 'time', toleranceMs: 5, latenessMs: 6e5, silenceMs: 6e5 } } };
/** A frame is complete when the next one begins, however long that takes on a busy machine. */
const NO_HURRY = { unfinishedMs: 600_000 };
/** When frame k was seen, in seconds; a float of a second in 2025 is exact to microseconds. */
const timeOf = (k: number) => 1_763_251_200 + Math.round((k * 1e6) / 30) / 1e6;

interface Judged {
  distance: number;
  count: Record<string, number>;
}

describe('sources, end to end', () => {
  let frames: Frame[];
  let expected: Judged;
  let bench: SourceBench;
  let folder: string;
  const fileOf = (role: (typeof FEEDS)[number]) => join(folder, `${role}.txt`);

  before(function () {
    skipUnless(this, existsSync(FILES.tracker), `${SEQUENCE} is not in ../shared/data/MOT17`);
    frames = mot17(SEQUENCE, TRACKER)!.slice(0, FRAMES);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-sources-'));
    for (const role of FEEDS) writeFileSync(fileOf(role), beginningOf(FILES[role]));
    const args = ['eval', '--reference', fileOf('reference'), '--tracker', fileOf('tracker'), '--json'];
    const { stdout, stderr, status } = spawnSync(process.execPath, [MAIN, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    assert.equal(status, 0, stderr);
    expected = evaluationIn(JSON.parse(stdout));
  });
  beforeEach(() => {
    bench = new SourceBench();
  });
  afterEach(() => bench.close());
  after(() => folder && rmSync(folder, { recursive: true, force: true }));

  /** The evaluation somewhere in the output of eval. */
  function evaluationIn(json: unknown): Judged {
    const found = JSON.stringify(json, (key, value) => (key === 'perFrame' ? undefined : value));
    let evaluation: Judged | null = null;
    JSON.parse(found, (_key, value) => {
      if (value && typeof value === 'object' && 'distance' in value && 'count' in value && 'frames' in value)
        evaluation ??= value as Judged;
      return value;
    });
    return evaluation ?? assert.fail(`no evaluation in ${found.slice(0, 500)}`);
  }

  async function assertSame(): Promise<void> {
    await until(
      `all ${frames.length} frames are judged`,
      async () => (await bench.frames('s', 'x')) === frames.length,
      120_000,
    );
    const { evaluation } = (await bench.app.live.window('s', 'x', 'online-surveillance'))!;
    assert.deepEqual(evaluation.count, expected.count);
    assert.ok(
      Math.abs(evaluation.distance - expected.distance) <= 1e-9 * expected.distance,
      `${evaluation.distance}, eval says ${expected.distance}`,
    );
  }

  const feed = (role: (typeof FEEDS)[number], more: object) =>
    role === 'tracker' ? { stream: 's', tracker: 'x', ...more } : { stream: 's', role, ...more };

  it('rosbridge: what a robot publishes is judged as eval judges the files', async () => {
    const robot = new RosbridgeServer({});
    try {
      const url = await robot.listen();
      const feeds = FEEDS.map((role) => feed(role, { topic: `/${role}`, format: 'ros-detection2d' }));
      await bench.start({ sources: { rosbridge: [{ name: 'robot', url, feeds }] }, streams: STREAMS });
      await until('it has subscribed', () => FEEDS.every((role) => robot.readers(`/${role}`) > 0));
      for (const [n, frame] of frames.entries())
        for (const role of FEEDS) robot.publish(`/${role}`, detectionArray(frame[role] as Boxed[], timeOf(n + 1)));
      await assertSame();
    } finally {
      await robot.close();
    }
  });

  it("MQTT: Frigate's events are judged as eval judges the files, although the broker goes away meanwhile", async function () {
    skipUnless(this, hasMosquitto, 'mosquitto is not here; install the Debian package mosquitto');
    const broker = new Mosquitto();
    await broker.start(undefined, ['max_queued_messages 0', 'max_inflight_messages 0']);
    const publisher = await connectAsync(broker.url, { reconnectPeriod: 20, clean: false, clientId: 'frigate' });
    try {
      // one topic for all cameras, as Frigate has it
      const feeds = FEEDS.map((role) =>
        feed(role, { topic: 'frigate/events', format: 'frigate', options: { camera: role } }),
      );
      await bench.start({
        sources: { mqtt: [{ name: 'home', url: broker.url, feeds }] },
        limits: NO_HURRY,
        streams: STREAMS,
      });
      await until('it is subscribed', () => bench.app.meters.sources.get('home')!.connected);
      const alive = { reference: new Set<string>(), tracker: new Set<string>() };
      for (const [n, frame] of frames.entries()) {
        const events = FEEDS.flatMap((role) => frigateEvents(role, frame[role] as Boxed[], timeOf(n + 1), alive[role]));
        await Promise.all(events.map((event) => publisher.publishAsync('frigate/events', event, { qos: 1 })));
        if (n !== FRAMES / 2) continue;
        await broker.stop();
        await broker.start(undefined, ['max_queued_messages 0', 'max_inflight_messages 0']);
      }
      // the next frame completes the last one
      const next = FEEDS.flatMap((role) => frigateEvents(role, [], timeOf(frames.length + 1), new Set(['nobody'])));
      for (const event of next) await publisher.publishAsync('frigate/events', event, { qos: 1 });
      await assertSame();
    } finally {
      await publisher.endAsync(true);
      await bench.stop();
      await broker.close();
    }
  });

  it('a file that grows is judged as eval judges it when it is finished, also across a restart', async () => {
    const paths = { reference: join(bench.folder, 'gt.txt'), tracker: join(bench.folder, 'out.txt') };
    const text = { reference: byFrame(fileOf('reference')), tracker: byFrame(fileOf('tracker')) };
    const tail = FEEDS.map((role) => feed(role, { name: role, path: paths[role], format: 'motchallenge' }));
    const start = () =>
      bench.start({
        sources: { tail },
        limits: NO_HURRY,
        streams: { s: { windowFrames: 1000, pairing: { latenessMs: 6e5, silenceMs: 6e5 } } },
      });
    // the first half ends in the middle of a frame, which must not be taken for complete when the evaluator stops
    for (const role of FEEDS) writeFileSync(paths[role], text[role].slice(0, text[role].length / 2));
    await start();
    await until('half of it is judged', async () => (await bench.frames('s', 'x')) > FRAMES / 4);
    await bench.stop();
    for (const role of FEEDS) appendFileSync(paths[role], text[role].slice(text[role].length / 2));
    await start();
    await assertSame();
  });

  /** The rows of the first frames. */
  function beginningOf(file: string): string {
    const rows = readFileSync(file, 'utf8').split('\n');
    return rows.filter((row) => Number.parseInt(row, 10) <= FRAMES).join('\n');
  }

  /** A program writes frame after frame; published files are sorted by id. One frame more completes the last one. */
  function byFrame(file: string): string {
    const lines = readFileSync(file, 'utf8').trim().split(/\r?\n/);
    lines.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
    lines.push(lines.at(-1)!.replace(/^\d+/, String(frames.length + 1)));
    return `${lines.join('\n')}\n`;
  }
});

interface Boxed {
  id: string;
  box: [number, number, number, number];
}

function detectionArray(objects: Boxed[], t: number): object {
  const sec = Math.floor(t);
  const stamp = { sec, nanosec: Math.round((t - sec) * 1e9) };
  const header = { stamp, frame_id: 'camera' };
  return {
    header,
    detections: objects.map(({ id, box: [left, top, width, height] }) => ({
      header,
      results: [{ hypothesis: { class_id: 'person', score: 0.9 }, pose: {} }],
      bbox: {
        center: { position: { x: left + width / 2, y: top + height / 2 }, theta: 0 },
        size_x: width,
        size_y: height,
      },
      id,
    })),
  };
}

/** What Frigate says about a frame: one event for each object, and an end for each that is gone. */
function frigateEvents(camera: string, objects: Boxed[], t: number, alive: Set<string>): string[] {
  const event = (type: string, id: string, more: object) =>
    JSON.stringify({ type, before: {}, after: { id, camera, frame_time: t, false_positive: false, ...more } });
  const present = new Set(objects.map(({ id }) => id));
  const gone = [...alive].filter((id) => !present.has(id));
  const events = objects.map(({ id, box: [left, top, width, height] }) =>
    event(alive.has(id) ? 'update' : 'new', id, {
      label: 'person',
      score: 0.9,
      box: [left, top, left + width, top + height],
    }),
  );
  for (const id of gone) alive.delete(id);
  for (const id of present) alive.add(id);
  return [...events, ...gone.map((id) => event('end', id, {}))];
}
