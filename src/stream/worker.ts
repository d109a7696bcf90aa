/**
 * A worker: the thread that heavy streams run in. What `workers.ts` sends for one stream is done and answered in order;
 * streams take turns, record by record, so that none waits for the backlog of another. A window is wanted as it is now.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { packSnapshot, unpackSnapshot } from '../store/formats.js';
import { type LogRecord, RecordReader } from '../store/record.js';
import { type LiveEvent, type ReportEvent, summarize } from '../wire/events.js';
import type { StreamPlan } from './plan.js';
import { Stream } from './stream.js';
import type {
  Adopted,
  Gauges,
  PackedSnapshot,
  SentEvent,
  SentReport,
  SentStep,
  WorkerAnswer,
  WorkerSetup,
  WorkerTask,
} from './workers.js';

const { options, running } = workerData as WorkerSetup;
const streams = new Map<number, Stream>();
/** records after which series may have started anew, without a report yet */
const CHANGES: readonly LogRecord['kind'][] = ['open', 'configure', 'retire'];

/** what waits, by stream; the one whose turn it is stands first */
const waiting = new Map<number, Work[]>();

/** What takes its turn. */
type Work = Exclude<WorkerTask, { type: 'drop' }>;

parentPort!.on('message', (task: WorkerTask) => {
  if (task.type === 'drop') drop(task.stream);
  else if (task.type === 'window' && streams.has(task.stream)) answer(task);
  else enqueue(task);
});

/** Nobody wants to know any more what becomes of this stream. */
function drop(stream: number): void {
  waiting.delete(stream);
  streams.get(stream)?.dispose();
  streams.delete(stream);
}

function enqueue(task: Work): void {
  if (!scheduled) schedule();
  const queue = waiting.get(task.stream);
  if (queue) queue.push(task);
  else waiting.set(task.stream, [task]);
}

let scheduled = false;

function schedule(): void {
  scheduled = true;
  setImmediate(next);
}

/** One task; what has come meanwhile is heard before the next. */
function next(): void {
  scheduled = false;
  // the stream may have been dropped since
  if (waiting.size === 0) return;
  const [[stream, queue]] = waiting;
  waiting.delete(stream);
  answer(queue.shift()!);
  if (queue.length > 0) waiting.set(stream, queue);
  if (waiting.size > 0) schedule();
}

function answer(task: Work): void {
  // should this thread die of it, others can see what it was
  running[1] = task.type === 'apply' ? task.position : 0;
  running[0] = task.stream;
  parentPort!.postMessage(
    task.type === 'apply' ? apply(task) : { type: 'answer', ask: task.ask, value: valueFor(task) },
  );
  running[0] = 0;
}

function valueFor(task: Exclude<Work, { type: 'apply' }>): unknown {
  if (task.type === 'adopt') return adopt(task);
  const stream = streams.get(task.stream);
  if (task.type === 'window') return stream?.window(task.tracker, task.profile);
  return stream && packedSnapshot(stream);
}

function adopt({ stream: id, name, state, position }: Extract<WorkerTask, { type: 'adopt' }>): Adopted {
  try {
    const snapshot = { state: unpackSnapshot(state, `the snapshot of stream ${name}`), position };
    const stream = Stream.fromJSON(name, snapshot, options);
    streams.set(id, stream);
    return { status: stream.status(), reports: stream.reports().map(sent) };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

function packedSnapshot(stream: Stream): PackedSnapshot {
  return { state: packSnapshot(stream.toJSON()), position: stream.position };
}

function apply({ stream: id, position, record: bytes }: Extract<WorkerTask, { type: 'apply' }>): WorkerAnswer {
  const began = performance.now();
  const record = new RecordReader(Buffer.from(bytes.buffer), 0).read();
  const stream = streams.get(id) ?? open(id, record);
  const steps: SentStep[] = [];
  let error: string | null = null;
  try {
    for (const { events, history } of stream?.apply(record, position) ?? [])
      steps.push({ events: events.map(sentEvent), history });
  } catch (thrown) {
    error = reasonOf(thrown);
  }
  // half changed, it is good for nothing any more
  if (error !== null || (record.kind === 'retire' && record.tracker === null)) streams.delete(id);
  return {
    type: 'applied',
    stream: id,
    steps,
    status: error === null ? (stream?.status() ?? null) : null,
    reports: stream && error === null && CHANGES.includes(record.kind) ? stream.reports().map(sent) : null,
    gone: !streams.has(id),
    error,
    workMs: performance.now() - began,
  };
}

const reasonOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);

/** The stream that a record opens, if it does. */
function open(id: number, record: LogRecord): Stream | undefined {
  if (record.kind !== 'open' || !record.settings) return undefined;
  const stream = new Stream(record.stream, record.settings as StreamPlan, options);
  streams.set(id, stream);
  return stream;
}

const sentEvent = (event: LiveEvent): SentEvent => (event.type === 'report' ? sent(event) : event);

/** A report without its detector, of which only the readings can be sent, and without the frames but the newest. */
function sent({ spikes, report, ...event }: ReportEvent): SentReport {
  const { frame, newest, settled, lifetime, events } = report;
  const plain = { ...event, report: { ...summarize(report), frame, newest, settled, lifetime, events } };
  if (!spikes) return plain;
  const gauges: Gauges = Object.fromEntries(spikes.signals.map((signal) => [signal, spikes.gauge(signal)]));
  return { ...plain, gauges };
}
