/**
 * The soak, by hand: `npm run soak -- --frames 10000000` sends so many frames to the real program, from streams that
 * come and go under ever new names, with objects that have ever new ids, and looks at what grows: memory, disk, label
 * sets of /metrics. Prints a line of JSON for every twentieth; exits with 1 when something has grown, or frames are
 * missing.
 */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { connect } from '../src/client.js';
import { Program } from './kit/system/program.js';
import { freePort } from './kit/system/system.js';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '10000000' },
    /** frames of each feed of a stream, before the next stream takes its place */
    life: { type: 'string', default: '5000' },
    streams: { type: 'string', default: '4' },
    objects: { type: 'string', default: '3' },
  },
});
const framesTotal = Number(values.frames);
const lifeFrames = Number(values.life);
const objectCount = Number(values.objects);
const LINES = 20;
/** many, so that some of them come right after a collection of garbage */
const SAMPLES = 20 * LINES;
/** frames of an id */
const ID_FRAMES = 20;
const LOG_BYTES = 64 * 1024 ** 2;
/** what the second half may have more than the first: caches and the garbage collector have their own mind */
const GROWTH_MAX = 1.15;
/** of LOG_BYTES: while the store rewrites its files both stand side by side */
const DISK_MAX = 4;

interface Sample {
  frames: number;
  seconds: number;
  residentMb: number;
  heapMb: number;
  diskMb: number;
  labelSets: number;
  streams: number;
  /** streams so far */
  names: number;
}

const folder = mkdtempSync(join(tmpdir(), 'tgospa-soak-'));
const data = join(folder, 'data');
const port = await freePort();
const http = `http://127.0.0.1:${port}`;
writeFileSync(
  join(folder, 'tgospa.yaml'),
  JSON.stringify({
    data: { maxBytes: LOG_BYTES },
    evaluation: { idleCheckMs: 500 },
    limits: { newStreamsPerMinute: 1e6, streamsPerClient: 1000 },
    streams: { defaults: { windowFrames: 20, idleMinutes: 0.05, pairing: { latenessMs: 60_000, silenceMs: 60_000 } } },
  }),
);
const program = Program.tgospa(['serve', '--port', String(port), '--data', data], { cwd: folder });
await program.shows(/listening on http/);
const startMs = performance.now();
let sent = 0;
let names = 0;

/** One stream after the other, until enough was sent. */
async function sendStreams(place: number): Promise<void> {
  for (let life = 1; sent < framesTotal; life++) {
    names++;
    const stream = `soak-${place}-${life}`;
    await Promise.all([sendFeed(stream, null), sendFeed(stream, 'sort')]);
  }
}

async function sendFeed(stream: string, tracker: string | null): Promise<void> {
  const role = tracker === null ? { role: 'reference' as const } : { role: 'tracker' as const, tracker };
  const client = connect({ url: http, stream, ...role, WebSocket: WebSocket as never, bufferFrames: 512 });
  for (let k = 1; k <= lifeFrames; k++) {
    const age = Math.floor(k / ID_FRAMES);
    const objects = Array.from({ length: objectCount }, (_, n) => ({
      id: `${stream}-${age}-${n}`,
      box: [n * 100 + (k % 50), 0, 40, 90] as [number, number, number, number],
    }));
    await client.send({ k, objects });
    sent++;
  }
  await client.end();
  await client.close();
}

function bytesIn(dir: string): number {
  let sum = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }))
    try {
      sum += statSync(join(dir, name)).size;
    } catch {
      // gone meanwhile
    }
  return sum;
}

async function sampleNow(): Promise<Sample> {
  const text = await (await fetch(`${http}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  const { streams } = (await (await fetch(`${http}/v1/streams`)).json()) as { streams: unknown[] };
  return {
    frames: sent,
    seconds: Math.round((performance.now() - startMs) / 1000),
    residentMb: Math.round(gauge('process_resident_memory_bytes') / 1e6),
    heapMb: Math.round(gauge('nodejs_heap_size_used_bytes') / 1e6),
    diskMb: Math.round(bytesIn(data) / 1e6),
    labelSets: text.split('\n').filter((line) => line && !line.startsWith('#')).length,
    streams: streams.length,
    names,
  };
}

const samples: Sample[] = [];
async function watch(): Promise<void> {
  for (let n = 1; n <= SAMPLES; n++) {
    while (sent < (framesTotal * n) / SAMPLES) await new Promise((resolve) => setTimeout(resolve, 200));
    samples.push(await sampleNow());
    if (n % (SAMPLES / LINES) === 0) console.log(JSON.stringify(samples.at(-1)));
  }
}

/** What is compared: how many streams are there at a time depends on how fast they come. */
const GAUGES: Record<string, { from: (...values: number[]) => number; of: (sample: Sample) => number }> = {
  residentMb: { from: Math.max, of: ({ residentMb }) => residentMb },
  // after a collection; in between it is garbage
  leastHeapMb: { from: Math.min, of: ({ heapMb }) => heapMb },
  diskMb: { from: Math.max, of: ({ diskMb }) => diskMb },
  labelSetsPerStream: { from: Math.max, of: ({ labelSets, streams }) => labelSets / streams },
};

/** The second half against the first, after its beginning. */
function growthOf({ from, of }: (typeof GAUGES)[string]): number {
  return from(...samples.slice(SAMPLES / 2).map(of)) / from(...samples.slice(SAMPLES / 10, SAMPLES / 2).map(of));
}

await Promise.all([watch(), ...Array.from({ length: Number(values.streams) }, (_, place) => sendStreams(place))]);
const growth = Object.fromEntries(Object.entries(GAUGES).map(([name, gauge]) => [name, growthOf(gauge)]));
const streamsMost = Math.max(...samples.map(({ streams }) => streams));
const health = (await (await fetch(`${http}/readyz`)).json()) as { degraded?: unknown[] };
const diskMost = Math.max(...samples.map(({ diskMb }) => diskMb));
console.log(JSON.stringify({ frames: sent, names, streamsMost, diskMost, growth, health }));
await program.end('SIGKILL');
rmSync(folder, { recursive: true, force: true });
if (Object.values(growth).some((factor) => factor > GROWTH_MAX)) process.exitCode = 1;
if (diskMost * 1e6 > DISK_MAX * LOG_BYTES) process.exitCode = 1;
