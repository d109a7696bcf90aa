/**
 * What a frame demands of this machine: the real code, on a seeded scene of the size asked for, by processor time and
 * by bytes. Two feeds, one profile, defaults otherwise. Calm: everybody keeps a distance; crowded: boxes overlap, and
 * the tracker swaps and misses.
 */
import { defaultConfig, resolveStream } from '../../config/config.js';
import { packSnapshot } from '../../store/formats.js';
import { type LogRecord, type PartRecord, RecordReader, RecordWriter } from '../../store/record.js';
import type { StreamPlan } from '../../stream/plan.js';
import { Stream } from '../../stream/stream.js';
import { pack, type WireObject } from '../../wire/objects.js';

/** Of one part, that is one message of one feed; microseconds of processor time. */
export interface FrameDemand {
  parseUs: number;
  encodeUs: number;
  decodeUs: number;
  calmUs: number;
  crowdUs: number;
  jsonBytes: number;
  logBytes: number;
  snapshotBytes: number;
}

const NAME = 'scene';
/** the reference and one tracker */
const FEEDS = 2;
const [WIDTH, HEIGHT] = [40, 100];
/** Frames that warm up, and frames that count: the first thousands of a process are slower. */
const LENGTH = { warm: 5000, counted: 2000 };
type Length = typeof LENGTH;
/** of a push: in a crowd that takes longer, an evaluator reports a bound too */
const BUDGET_MS = 20;

/** Objects of a feed at a step; `spacing` in widths of a box. */
function objectsAt(k: number, count: number, spacing: number, isTracker: boolean): WireObject[] {
  return Array.from({ length: count }, (_, n) => {
    // a wobble without a random number: the same scene on every machine
    const wobble = isTracker ? Math.sin(k * 1.7 + n * 3.1) * 2 : 0;
    const pair = Math.floor(n / 2);
    const isSwapped = isTracker && spacing < 1 && 2 * pair + 1 < count && Math.floor(k / 20 + pair) % 7 === 0;
    return {
      id: String(isSwapped ? 4 * pair + 1 - n : n),
      box: [n * WIDTH * spacing + (k % 200) + wobble, wobble, WIDTH, HEIGHT],
    } as WireObject;
  }).filter((_, n) => !(isTracker && spacing < 1 && (k + n) % 11 === 0));
}

function records(count: number, spacing: number, { warm, counted }: Length): LogRecord[] {
  const feeds = [
    { role: 'reference' as const, tracker: null },
    { role: 'tracker' as const, tracker: 't' },
  ];
  return Array.from({ length: warm + counted }, (_, k) => k + 1).flatMap((k) =>
    feeds.map((feed): LogRecord => {
      const objects = pack(objectsAt(k, count, spacing, feed.role === 'tracker'));
      return { kind: 'part', stream: NAME, atMs: k * 50, ...feed, part: { seq: k, k, objects } };
    }),
  );
}

/** Microseconds of processor time for each of the items that count. */
function microsecondsEach<T>(items: T[], length: Length, work: (item: T) => void): number {
  const warm = Math.round((items.length * length.warm) / (length.warm + length.counted));
  for (const item of items.slice(0, warm)) work(item);
  const began = process.cpuUsage();
  for (const item of items.slice(warm)) work(item);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / (items.length - warm);
}

function applied(inputs: LogRecord[], length: Length): { us: number; stream: Stream } {
  const plan = resolveStream(defaultConfig(), NAME, {}) as StreamPlan;
  const stream = new Stream(NAME, plan, { budgetMs: BUDGET_MS });
  let position = 0;
  let events = 0;
  // a record may take several steps: whoever applies it asks for each
  const apply = (record: LogRecord) => {
    for (const step of stream.apply(record, ++position)) events += step.events.length;
  };
  for (const { role, tracker } of inputs.slice(0, FEEDS) as PartRecord[])
    apply({ kind: 'open', stream: NAME, atMs: inputs[0].atMs, role, tracker });
  const us = microsecondsEach(inputs, length, apply);
  const frames = inputs.length / FEEDS;
  if (events < frames) throw new Error(`${frames} frames gave ${events} events: they were not judged`);
  return { us, stream };
}

function crowded(count: number, length: Length): number {
  const { us, stream } = applied(records(count, 0.8, length), length);
  stream.dispose();
  return us;
}

/** Measures for some seconds. */
export function measureFrameDemand(objectCount: number, length: Length = LENGTH): FrameDemand {
  const inputs = records(objectCount, 3, length);
  const texts = inputs.map((_, n) =>
    JSON.stringify({ type: 'frame', seq: n, k: n, objects: objectsAt(n, objectCount, 3, true) }),
  );
  const writer = new RecordWriter();
  const encodeUs = microsecondsEach(inputs, length, (record) => {
    writer.truncate(0);
    writer.write(record);
  });
  const bytes = Buffer.from(writer.bytes());
  const { us: calmUs, stream } = applied(inputs, length);
  const snapshotBytes = packSnapshot(stream.toJSON()).length;
  stream.dispose();
  return {
    parseUs: microsecondsEach(texts, length, (text) => JSON.parse(text)),
    encodeUs,
    decodeUs: microsecondsEach(inputs, length, () => new RecordReader(bytes).read()),
    calmUs,
    crowdUs: crowded(objectCount, length),
    jsonBytes: texts[0].length,
    logBytes: bytes.length,
    snapshotBytes,
  };
}
