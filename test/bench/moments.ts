/**
 * Opening a moment of the past: `npm run bench -- moments [gigabytes] [streams ...]` fills a log of 2 GB, or as many as
 * asked, with two days of 20 and then of 200 streams, ten people each, opens it anew, and looks up the same moments
 * that the page would ask for: by frame and by time, two days back, in the middle and at the end. Prints as JSON, for
 * each, the time, the processor time, the bytes that were read, and the time the kernel needs to judge what came, which
 * the browser does. The first look-up of each store finds nothing in the process's own caches.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ResolvedStream, readConfig, resolveStream } from '../../src/config/config.js';
import { type Moment, Moments } from '../../src/live/moments.js';
import { SlidingWindow } from '../../src/metric/sliding-window.js';
import { Log } from '../../src/store/log.js';
import type { PastBatch, PastLog } from '../../src/store/past.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { pack } from '../../src/wire/objects.js';
import { logSettings } from '../kit/settings.js';
import { crowd } from './crowd.js';

const GIGABYTES = Number(process.argv[2] ?? 2);
const STREAMS = process.argv.length > 3 ? process.argv.slice(3).map(Number) : [20, 200];
const SPAN_MS = 48 * 3_600_000;
const PROFILE = 'online-surveillance';
/** frames around the moment that the page asks for */
const FRAMES = 240;
/** bytes that share a commit at least: a flush per frame would take hours to fill the store */
const COMMIT_BYTES = 65_536;

const { config } = readConfig({ env: {} });
const plan = { ...(resolveStream(config, 'gate-0') as ResolvedStream), patch: {} } as StreamPlan;
const scene = crowd(10, 500, 3).map(({ reference, tracker }) => ({
  reference: pack(reference as never),
  tracker: pack(tracker as never),
}));

/** The log, with the bytes of the commits that were read from it, and how often a place was looked up. */
class CountedLog implements PastLog {
  bytes = 0;
  places = 0;

  constructor(readonly log: Log) {}

  get lastPosition(): number {
    return this.log.lastPosition;
  }

  placeOf(position: number) {
    this.places++;
    return this.log.placeOf(position);
  }

  async *batches(position: number, reverse: boolean): AsyncGenerator<PastBatch> {
    for await (const batch of this.log.batches(position, reverse)) {
      this.bytes += batch.bytes;
      yield batch;
    }
  }
}

async function fill(dir: string, streams: number): Promise<{ frames: number; bytes: number }> {
  let nowMs = Date.now() - SPAN_MS;
  const settings = logSettings({ dir, maxBytes: 1e12, maxAgeHours: 1e6, queueMaxBytes: 1e9 });
  const owner = { now: () => nowMs, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
  const log = await Log.open(settings, owner);
  // what a frame of all streams takes is known after the first ones
  let frames = 0;
  let stepMs = SPAN_MS / 1000;
  let waiting = 0;
  for (let k = 1; log.gauges.bytes < GIGABYTES * 1e9; k++) {
    const { reference, tracker } = scene[k % scene.length];
    for (let n = 0; n < streams; n++) {
      const part = { stream: `gate-${n}`, kind: 'part' as const, atMs: nowMs };
      const own = { seq: k, k, t: nowMs / 1000 };
      void log.append({ ...part, role: 'reference', tracker: null, part: { ...own, objects: reference } } as LogRecord);
      void log.append({ ...part, role: 'tracker', tracker: 'sort', part: { ...own, objects: tracker } } as LogRecord);
      waiting += 1200;
    }
    if (waiting > COMMIT_BYTES) {
      await log.flush();
      waiting = 0;
    }
    if (k === 100) {
      await log.flush();
      const left = (GIGABYTES * 1e9) / (log.gauges.bytes / k) - k;
      stepMs = (SPAN_MS - 100 * stepMs) / left;
    }
    if (k === 1) stepMs = 1000;
    nowMs += stepMs;
    frames = k;
  }
  await log.close();
  return { frames, bytes: GIGABYTES * 1e9 };
}

async function measure(name: string, log: CountedLog, wanted: { k: number } | { atMs: number }) {
  log.bytes = 0;
  log.places = 0;
  const [cpu, startMs] = [process.cpuUsage(), performance.now()];
  const moment = await new Moments(log, config.limits).read(plan, {
    stream: 'gate-0',
    tracker: 'sort',
    profile: PROFILE,
    frames: FRAMES,
    ...wanted,
  });
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  if (typeof moment === 'string') throw new Error(moment);
  return {
    moment: name,
    k: moment.k,
    frames: moment.frames.length,
    ms: Math.round(tookMs),
    cpuMs: Math.round((user + system) / 1000),
    megabytesRead: Number((log.bytes / 1e6).toFixed(1)),
    placesLookedUp: log.places,
    judgedMs: judge(moment),
  };
}

function judge({ frames, params }: Moment): number {
  const startMs = performance.now();
  const window = new SlidingWindow(params);
  for (const frame of frames) window.push(frame as never);
  return Math.round(performance.now() - startMs);
}

for (const streams of STREAMS) {
  const dir = mkdtempSync(join(tmpdir(), 'tgospa-bench-moments-'));
  try {
    const { frames } = await fill(dir, streams);
    const owner = { now: Date.now, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
    const startMs = performance.now();
    const log = await Log.open(logSettings({ dir, maxBytes: 1e12, maxAgeHours: 1e6 }), owner);
    const openedMs = Math.round(performance.now() - startMs);
    const counted = new CountedLog(log);
    const beginMs = Date.now() - SPAN_MS;
    const rows = [];
    rows.push(await measure('two days back, by frame, first', counted, { k: 300 }));
    rows.push(await measure('two days back, by frame, again', counted, { k: 320 }));
    rows.push(await measure('47 h back, by time', counted, { atMs: beginMs + 3_600_000 }));
    rows.push(await measure('a day back, by frame', counted, { k: Math.round(frames / 2) }));
    rows.push(await measure('the newest, by frame', counted, { k: frames - 200 }));
    console.log(
      JSON.stringify(
        {
          gigabytes: GIGABYTES,
          streams,
          framesPerStream: frames,
          secondsApart: SPAN_MS / frames / 1000,
          openedMs,
          rows,
        },
        null,
        1,
      ),
    );
    await log.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
