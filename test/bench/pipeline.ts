/**
 * The whole pipeline, with durability on, against its own floor: the same sockets, JSON.parse and validation, and
 * nothing else. Both run in a process of their own; this one sends. Prints tables and, last, one line of JSON.
 *
 *   --steps N     frames of each stream in the race against the floor (4000)
 *   --rounds N    rounds of the table by workers (3)
 *   --objects N   objects with ever-new ids in the test of growth (400000; the issue asks for 10000000)
 *   --only NAME   one part: throughput, cores, layers, heavy, latency, readers, memory, recovery or growth
 *   --streams N   streams of the parts about latency, memory and recovery (1000)
 *   --scene NAME  throughput, or memory, of one scene: calm or crowd
 *   --lived N     frames of a stream before its memory is measured (400: what is kept to examine its wiring is gone by
 *                 then, after 337 frames of a healthy one)
 *   --scores      with the companion scores on
 *   --heap N      write a heap snapshot of the evaluator with so many streams of the scene to the current folder, and no
 *                 more
 *   --prof        write CPU profiles of the evaluator to the current folder
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bodiesOf, Far, type Feed, OBJECTS, openStream, openUnjudged, type SceneName } from './pipeline/ends.js';
import type { Measured } from './pipeline/server.js';

const { values: options } = parseArgs({
  options: {
    steps: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '3' },
    objects: { type: 'string', default: '400000' },
    streams: { type: 'string', default: '1000' },
    lived: { type: 'string', default: '400' },
    only: { type: 'string' },
    scene: { type: 'string' },
    scores: { type: 'boolean', default: false },
    heap: { type: 'string' },
    prof: { type: 'boolean', default: false },
  },
});

Far.settings = { streams: { defaults: { scores: { enabled: options.scores } } } };

const WINDOW_FRAMES = 60;
const STREAMS = 4;
const ROUNDS = 3;
/** the compiler needs some ten thousand pushes to settle */
const WARM_STEPS = 3000;

const sendAll = (streams: Feed[][], count: number) =>
  Promise.all(streams.flatMap((feeds) => feeds.map((feed) => feed.sendUpTo(count))));

async function race(
  role: 'floor' | 'evaluator',
  scene: SceneName,
  steps: number,
  prof = false,
  evaluation: object = { workers: 0 },
  other = {},
  open = openStream,
) {
  const far = await Far.start(role, prof, evaluation, other);
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, n) => open(far.url, `stream-${n}`, bodiesOf(scene, n))),
  );
  // warm up, and fill the windows
  const warm = WARM_STEPS;
  await sendAll(streams, warm);
  far.reset();
  const began = performance.now();
  await sendAll(streams, warm + steps);
  // ended comes after the last report
  await Promise.all(streams.flatMap((feeds) => feeds.map((feed) => feed.end())));
  const seconds = (performance.now() - began) / 1000;
  const measured = await far.measure();
  await far.stop();
  return { framesPerSecond: (2 * STREAMS * steps) / seconds, ...measured };
}

async function throughput() {
  const results: Record<string, unknown> = {};
  for (const scene of ['calm', 'crowd'] as const)
    if (options.scene === undefined || options.scene === scene) results[scene] = await throughputOf(scene);
  return results;
}

async function throughputOf(scene: SceneName) {
  const steps = Number(options.steps);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const floor = await race('floor', scene, steps);
    const whole = await race('evaluator', scene, steps, options.prof && round === ROUNDS - 1);
    rounds.push({ floor, whole, ratio: whole.framesPerSecond / floor.framesPerSecond });
  }
  rounds.sort((a, b) => a.ratio - b.ratio);
  const { floor, whole, ratio } = rounds[Math.floor(ROUNDS / 2)];
  const rowOf = ({ framesPerSecond, cpuSeconds, loopDelayMs }: Measured & { framesPerSecond: number }) => ({
    'frames/s': Math.round(framesPerSecond),
    'CPU µs/frame': ((cpuSeconds * 1e6) / (2 * STREAMS * steps)).toFixed(1),
    'loop delay p50 ms': loopDelayMs.p50.toFixed(1),
    'loop delay p99 ms': loopDelayMs.p99.toFixed(1),
    'loop delay max ms': loopDelayMs.max.toFixed(1),
  });
  console.log(
    `\nthroughput, ${scene} scene, ${STREAMS} streams of two feeds, ${OBJECTS} objects per frame (median of ${ROUNDS} rounds)`,
  );
  console.table({
    floor: rowOf(floor),
    evaluator: rowOf(whole),
  });
  console.log(
    `ratio ${ratio.toFixed(2)} (all: ${rounds.map((one) => one.ratio.toFixed(2)).join(', ')}; at least 0.5); by CPU time ${(floor.cpuSeconds / whole.cpuSeconds).toFixed(2)}`,
  );
  console.log(
    `latency at full speed: p50 ${whole.latencyMs.p50.toFixed(1)} ms, p99 ${whole.latencyMs.p99.toFixed(1)} ms`,
  );
  return {
    floorFramesPerSecond: Math.round(floor.framesPerSecond),
    framesPerSecond: Math.round(whole.framesPerSecond),
    ratio,
    latencyMs: whole.latencyMs,
    loopDelayMs: whole.loopDelayMs,
    floorLoopDelayMs: floor.loopDelayMs,
    cpuRatio: floor.cpuSeconds / whole.cpuSeconds,
  };
}

const TLS = Object.fromEntries(
  ['cert', 'key'].map((name) => {
    const file = `../../../test/cases/tls/test-only.${name === 'cert' ? 'pem' : 'key'}`;
    return [`${name}File`, fileURLToPath(new URL(file, import.meta.url))];
  }),
);

/** Processor time of a frame, by thread: the sender shares the cores, so wall time says little. */
async function cores() {
  const results: Record<string, unknown> = {};
  for (const scene of ['calm', 'crowd'] as const)
    if (options.scene === undefined || options.scene === scene) results[scene] = await coresOf(scene);
  return results;
}

async function coresOf(scene: SceneName) {
  const steps = Number(options.steps);
  const rows: Record<string, () => ReturnType<typeof race>> = { floor: () => race('floor', scene, steps) };
  for (const workers of [0, 1, 2])
    rows[`${workers} workers`] = () =>
      race('evaluator', scene, steps, options.prof && workers === 1, { workers }, { readsReports: false });
  rows['1 worker, TLS'] = () =>
    race('evaluator', scene, steps, false, { workers: 1 }, { readsReports: false, tls: TLS });
  const measured: Record<string, Array<{ main: number; total: number }>> = {};
  for (const name of Object.keys(rows)) measured[name] = [];
  // alternating, so that a busy minute of the machine meets all of them
  for (let round = 0; round < Number(options.rounds); round++)
    for (const [name, run] of Object.entries(rows)) {
      const { cpuSeconds, mainSeconds } = await run();
      const perFrame = (seconds: number) => (seconds * 1e6) / (2 * STREAMS * steps);
      measured[name].push({ main: perFrame(mainSeconds), total: perFrame(cpuSeconds) });
    }
  const median = (name: string, key: 'main' | 'total') => {
    const values = measured[name].map((one) => one[key]).sort((a, b) => a - b);
    return values[Math.floor(values.length / 2)];
  };
  const table = Object.fromEntries(
    Object.keys(rows).map((name) => [
      name,
      {
        'main µs/frame': median(name, 'main').toFixed(1),
        'total µs/frame': median(name, 'total').toFixed(1),
        'of 0 workers': (median(name, 'total') / median('0 workers', 'total')).toFixed(2),
        'floor / total': (median('floor', 'total') / median(name, 'total')).toFixed(2),
      },
    ]),
  );
  console.log(
    `\nprocessor time, ${scene} scene, ${STREAMS} streams of two feeds, ${OBJECTS} objects per frame (median of ${options.rounds} rounds)`,
  );
  console.table(table);
  return table;
}

/** What each layer adds to the processor time of a frame. */
async function layers() {
  const steps = Number(options.steps);
  const results: Record<string, unknown> = {};
  for (const scene of ['calm', 'crowd'] as const) {
    if (options.scene !== undefined && options.scene !== scene) continue;
    const noDetector = { streams: { defaults: { spikes: { signals: [] } } } };
    const rows = {
      'parsed and checked (floor)': () => race('floor', scene, steps),
      'stored, acked and paired with nobody': () =>
        race('evaluator', scene, steps, false, { workers: 0 }, {}, openUnjudged),
      'judged, without spikes': () => race('evaluator', scene, steps, false, { workers: 0 }, noDetector),
      'all of it': () => race('evaluator', scene, steps, false, { workers: 0 }),
    };
    const spent: Record<string, number[]> = Object.fromEntries(Object.keys(rows).map((name) => [name, []]));
    for (let round = 0; round < Number(options.rounds); round++)
      for (const [name, run] of Object.entries(rows))
        spent[name].push(((await run()).cpuSeconds * 1e6) / (2 * STREAMS * steps));
    const table = Object.fromEntries(
      Object.entries(spent).map(([name, values]) => {
        const median = values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
        return [name, { 'CPU µs/frame': median.toFixed(1) }];
      }),
    );
    console.log(`\nprocessor time by layers, ${scene} scene (median of ${options.rounds} rounds)`);
    console.table(table);
    results[scene] = table;
  }
  return results;
}

const HEAVY_FRAMES_PER_SECOND = 25;
const LIGHT_STREAMS = 20;

/** One stream whose solves are heavy, at the pace of a camera, among light ones: what do the others feel? */
async function heavyAmongLight(workers: number, withHeavy: boolean) {
  const far = await Far.start('evaluator', false, { workers });
  const light: Feed[][] = [];
  for (let n = 0; n < LIGHT_STREAMS; n++) light.push(await openStream(far.url, `stream-${n}`, bodiesOf('calm', n)));
  await sendAll(light, Math.ceil(WARM_STEPS / 2));
  const heavy = withHeavy ? await openStream(far.url, 'heavy', bodiesOf('detections', 1)) : [];
  const beat = () => {
    for (const feed of heavy) void feed.sendUpTo(feed.sent + 1);
  };
  // its window fills, and it is found to be heavy
  await sendAll([heavy], 2 * WINDOW_FRAMES);
  // acked is not yet judged, and what waits is no part of the steady load
  await far.judged(LIGHT_STREAMS * Math.ceil(WARM_STEPS / 2) + heavy.length * WINDOW_FRAMES);
  const timer = setInterval(beat, 1000 / HEAVY_FRAMES_PER_SECOND);
  const steady = await steadyLoad(far, light);
  clearInterval(timer);
  await far.stop();
  return steady;
}

async function heavy() {
  const rows: Record<string, object> = {};
  const results: Record<string, object> = {};
  for (const workers of [0, 1]) {
    const without = await heavyAmongLight(workers, false);
    const beside = await heavyAmongLight(workers, true);
    const ratio = beside.latencyMs.p99 / without.latencyMs.p99;
    const { p50, p99 } = beside.heavyMs;
    rows[`${workers} workers, without it`] = steadyColumns(without);
    rows[`${workers} workers, beside it`] = {
      ...steadyColumns(beside),
      'p99 to that without': ratio.toFixed(2),
      'its own p50 ms': p50.toFixed(1),
      'its own p99 ms': p99.toFixed(1),
    };
    results[`${workers} workers`] = { without, beside, ratio };
  }
  console.log(
    `\none heavy stream (detections of a crowd without identities, ${HEAVY_FRAMES_PER_SECOND} frames/s) beside ${LIGHT_STREAMS} light ` +
      `ones (${STEADY_FRAMES_PER_SECOND} frames/s of both feeds): what the light ones feel (at most 3 times)`,
  );
  console.table(rows);
  return results;
}

/** How late reports are in many streams, of which none is heavy. */
async function latency() {
  const streamCount = Number(options.streams);
  const bodies = [1, 2, 3, 4].map((seed) => bodiesOf('calm', seed));
  const rows: Record<string, Awaited<ReturnType<typeof steadyLoad>>> = {};
  for (const workers of [0, 1]) {
    const far = await Far.start('evaluator', false, { workers });
    await sendAll([await openStream(far.url, 'first', bodies[0])], WARM_STEPS);
    const streams: Feed[][] = [];
    for (let n = 0; n < streamCount; n++) streams.push(await openStream(far.url, `stream-${n}`, bodies[n % 4]));
    for (let first = 0; first < streamCount; first += FILLED_TOGETHER)
      await sendAll(streams.slice(first, first + FILLED_TOGETHER), WINDOW_FRAMES);
    await far.judged(WARM_STEPS + streamCount * WINDOW_FRAMES);
    rows[`${workers} workers`] = await steadyLoad(far, streams);
    await far.stop();
  }
  console.log(
    `\nlatency of ${STEADY_FRAMES_PER_SECOND} frames/s of both feeds over ${streamCount} streams (p99 at most 15 ms)`,
  );
  console.table(Object.fromEntries(Object.entries(rows).map(([workers, row]) => [workers, steadyColumns(row)])));
  return rows;
}

/** Windows full, connections open; then a steady load, for latency and delay. */
async function memoryAt(scene: SceneName, streamCount: number) {
  const far = await Far.start('evaluator');
  const bodies = [1, 2, 3, 4].map((seed) => bodiesOf(scene, seed));
  // compiled code and buffers that are there once, however many streams there are
  await sendAll([await openStream(far.url, 'first', bodies[0])], WARM_STEPS);
  const empty = await far.measure();
  const streams: Feed[][] = [];
  for (let n = 0; n < streamCount; n++) streams.push(await openStream(far.url, `stream-${n}`, bodies[n % 4]));
  far.reset();
  for (let first = 0; first < streamCount; first += FILLED_TOGETHER)
    await sendAll(streams.slice(first, first + FILLED_TOGETHER), LIVED_FRAMES);
  await far.judged(streamCount * LIVED_FRAMES);
  const full = await far.measure();
  if (options.heap) await far.heap();
  const steady = await steadyLoad(far, streams);
  await far.stop();
  const bytesPerStream = (full.heapBytes - empty.heapBytes) / streamCount;
  const residentPerStream = (full.residentBytes - empty.residentBytes) / streamCount;
  return { scene, streams: streamCount, bytesPerStream, residentPerStream, ...steady };
}

const LIVED_FRAMES = Number(options.lived);
/** more at once would be a test of the log's queue */
const FILLED_TOGETHER = 50;
const STEADY_FRAMES_PER_SECOND = 300;
const STEADY_SECONDS = 10;

/** Frames of all streams one by one, evenly in time, as cameras send them. */
async function steadyLoad(far: Far, streams: Feed[][]) {
  far.reset();
  const began = performance.now();
  const total = STEADY_FRAMES_PER_SECOND * STEADY_SECONDS;
  let sent = 0;
  while (sent < total) {
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1000) * STEADY_FRAMES_PER_SECOND));
    for (; sent < due; sent++) for (const feed of streams[sent % streams.length]) void feed.sendUpTo(feed.sent + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(streams.flat().map((feed) => feed.sendUpTo(feed.sent)));
  const { latencyMs, heavyMs, loopDelayMs, cpuSeconds } = await far.measure();
  return { latencyMs, heavyMs, loopDelayMs, load: cpuSeconds / ((performance.now() - began) / 1000) };
}

const steadyColumns = ({ latencyMs, loopDelayMs, load }: Awaited<ReturnType<typeof steadyLoad>>) => ({
  'latency p50 ms': latencyMs.p50.toFixed(1),
  'latency p99 ms': latencyMs.p99.toFixed(1),
  'loop delay p99 ms': loopDelayMs.p99.toFixed(1),
  'loop delay max ms': loopDelayMs.max.toFixed(1),
  'CPU %': Math.round(load * 100),
});

async function memory() {
  const rows = [];
  if (options.heap) return memoryAt((options.scene ?? 'calm') as SceneName, Number(options.heap));
  const most = Number(options.streams);
  for (const scene of ['calm', 'crowd'] as const)
    if (options.scene === undefined || options.scene === scene) rows.push(await memoryAt(scene, most));
  console.log(
    `\nmemory per stream (${OBJECTS} objects, ${WINDOW_FRAMES} frames, two open connections, after ${LIVED_FRAMES} frames; 150 kB asked), and a steady ` +
      `load of ${STEADY_FRAMES_PER_SECOND} frames/s of both feeds over all streams`,
  );
  console.table(
    rows.map(({ scene, streams, bytesPerStream, residentPerStream, ...steady }) => ({
      scene,
      streams,
      'kB/stream': Math.round(bytesPerStream / 1000),
      'resident kB/stream': Math.round(residentPerStream / 1000),
      ...steadyColumns(steady),
    })),
  );
  return rows;
}

/** kill -9 with all windows full and no snapshot yet: how long until everything is there again? */
async function recovery() {
  const streamCount = Number(options.streams);
  const frames = WINDOW_FRAMES + 20;
  const bodies = [1, 2, 3, 4].map((seed) => bodiesOf('calm', seed));
  const rows: Record<string, object> = {};
  for (const workers of [0, 1, 2]) {
    const before = await Far.start('evaluator', false, { workers });
    const streams: Feed[][] = [];
    for (let n = 0; n < streamCount; n++) streams.push(await openStream(before.url, `stream-${n}`, bodies[n % 4]));
    for (let first = 0; first < streamCount; first += FILLED_TOGETHER)
      await sendAll(streams.slice(first, first + FILLED_TOGETHER), frames);
    for (const { socket } of streams.flat())
      socket
        .removeAllListeners()
        .on('error', () => {})
        .terminate();
    const folder = await before.kill();
    const after = await Far.start('evaluator', false, { workers }, {}, folder);
    const { openMs, recoveredMs } = after;
    const { wholeCpuSeconds } = await after.measure();
    await after.stop();
    rows[`${workers} workers`] = {
      'port open s': (openMs / 1000).toFixed(1),
      'all there s': (recoveredMs / 1000).toFixed(1),
      'CPU s': wholeCpuSeconds.toFixed(1),
      'CPU µs/record': ((wholeCpuSeconds * 1e6) / (2 * frames * streamCount)).toFixed(0),
    };
  }
  console.log(
    `\nrecovery of ${streamCount} calm streams of ${2 * frames} records each, none in a snapshot, after kill -9`,
  );
  console.table(rows);
  return rows;
}

/** Every object of every frame has an id that never came before. */
async function growth() {
  const objects = Number(options.objects);
  const far = await Far.start('evaluator');
  const body = (prefix: string, shift: number) => (n: number) => {
    const list = Array.from(
      { length: OBJECTS },
      (_, i) => `{"id":"${prefix}${n}-${i}","box":[${i * 100 + shift},0,40,90]}`,
    );
    return `[${list.join(',')}]`;
  };
  const feeds = await openStream(far.url, 'ever-new', { reference: body('r', 0), tracker: body('t', 3) });
  const steps = Math.ceil(objects / (2 * OBJECTS));
  const samples: number[] = [];
  const began = performance.now();
  for (let part = 1; part <= 10; part++) {
    await sendAll([feeds], Math.ceil((steps * part) / 10));
    samples.push((await far.measure()).heapBytes);
  }
  const seconds = (performance.now() - began) / 1000;
  await far.stop();
  const mean = (values: number[]) => values.reduce((a, b) => a + b) / values.length;
  const growthBytes = mean(samples.slice(7)) - mean(samples.slice(2, 5));
  console.log(
    `\nmemory over ${(steps * 2 * OBJECTS).toLocaleString('en-US')} objects with ever-new ids, ${seconds.toFixed(0)} s`,
  );
  console.log(
    `MB after each tenth: ${samples.map((bytes) => (bytes / 1e6).toFixed(1)).join(' ')}; growth ${(growthBytes / 1e6).toFixed(2)} MB`,
  );
  return { objects: steps * 2 * OBJECTS, samples, growthBytes };
}

const READERS = 500;
const READERS_MS = 6000;
const LIGHT_EVERY_MS = 50;
const READER = fileURLToPath(new URL('./pipeline/readers.js', import.meta.url));

/** Four streams at full speed and a light one, while so many read everything. */
async function readAlong(readers: number, kind = 'alike') {
  const far = await Far.start('evaluator');
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, n) => openStream(far.url, `stream-${n}`, bodiesOf('calm', n))),
  );
  const light = await openStream(far.url, 'light', bodiesOf('calm', 9));
  await sendAll(streams, WARM_STEPS);
  const child = readers > 0 ? fork(READER, [far.url.replace('/ingest', '/live'), String(readers), kind]) : null;
  if (child) await once(child, 'message');
  const acked = () => streams.flat().reduce((sum, feed) => sum + feed.acked, 0);
  void sendAll(streams, 1e9);
  const timer = setInterval(() => {
    for (const feed of light) void feed.sendUpTo(feed.sent + 1);
  }, LIGHT_EVERY_MS);
  await new Promise((resolve) => setTimeout(resolve, READERS_MS / 3));
  far.reset();
  const before = acked();
  const began = performance.now();
  await new Promise((resolve) => setTimeout(resolve, READERS_MS));
  const framesPerSecond = ((acked() - before) / (performance.now() - began)) * 1000;
  const { lightMs, loopDelayMs, cpuSeconds } = await far.measure();
  clearInterval(timer);
  const received = child ? await answerOf<{ messages: number }>(child, 'count') : { messages: 0 };
  child?.disconnect();
  for (const feed of [...streams, light].flat()) feed.socket.terminate();
  await far.stop();
  return {
    framesPerSecond,
    lightMs,
    loopDelayMs,
    cpuMicroseconds: (cpuSeconds * 1e6) / (acked() - before),
    ...received,
  };
}

async function answerOf<T>(child: ChildProcess, question: string): Promise<T> {
  child.send(question);
  const [answer] = await once(child, 'message');
  return answer as T;
}

/** Feeds before readers: what feeds keep of their speed, and how late a light stream is, while everything is read. */
async function readers() {
  const alone = await readAlong(0);
  const read = await readAlong(READERS);
  const mixed = await readAlong(READERS, 'mixed');
  const ratio = read.framesPerSecond / alone.framesPerSecond;
  const mixedRatio = mixed.framesPerSecond / alone.framesPerSecond;
  const rowOf = ({ framesPerSecond, lightMs, loopDelayMs, messages }: typeof alone) => ({
    'frames/s': Math.round(framesPerSecond),
    'light p50 ms': lightMs.p50.toFixed(1),
    'light p99 ms': lightMs.p99.toFixed(1),
    'light max ms': lightMs.max.toFixed(1),
    'loop delay p99 ms': loopDelayMs.p99.toFixed(1),
    'messages read': messages,
  });
  console.log(`\n${READERS} readers of everything beside ${STREAMS} streams at full speed and a light one`);
  console.table({
    'no readers': rowOf(alone),
    [`${READERS} readers`]: rowOf(read),
    [`${READERS} mixed readers`]: rowOf(mixed),
  });
  console.log(`ratio ${ratio.toFixed(2)}, mixed ${mixedRatio.toFixed(2)} (at least 0.7)`);
  return { alone, read, ratio, mixed, mixedRatio };
}

const parts = { throughput, cores, layers, heavy, latency, readers, memory, recovery, growth };
const results: Record<string, unknown> = {};
for (const [name, part] of Object.entries(parts))
  if (options.only === undefined || options.only === name) results[name] = await part();
console.log(JSON.stringify(results));
