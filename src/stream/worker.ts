/**
 * A worker: the thread that heavy streams run in. What `workers.ts` sends for one stream is done and answered in order;
 * streams take turns, record by record, so that none waits for the backlog of another. A window is wanted as it is now.
 */
import { parentPort, workerData } from 'node:worker_threads';
import '../index.js';
import type { SolveOptions } from '../metric/solve-options.js';
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
  WorkerTask,
} from './workers.js';

const options = workerData as SolveOptions;
const streams = new Map<string, Stream>();
/** records after which series may have started anew, without a report yet */
const CHANGES: readonly LogRecord['kind'][] = ['open', 'configure', 'retire'];

/** what waits, by stream; the one whose turn it is stands first */
const waiting = new Map<string, WorkerTask[]>();

parentPort!.on('message', (task: WorkerTask) => {
  if (task.type === 'window' && streams.has(task.stream)) answer(task);
  else enqueue(task);
});

function enqueue(task: WorkerTask): void {
  if (waiting.size === 0) setImmediate(next);
  const queue = waiting.get(task.stream);
  if (queue) queue.push(task);
  else waiting.set(task.stream, [task]);
}

/** One task; what has come meanwhile is heard before the next. */
function next(): void {
  const [[stream, queue]] = waiting;
  waiting.delete(stream);
  answer(queue.shift()!);
  if (queue.length > 0) waiting.set(stream, queue);
  if (waiting.size > 0) setImmediate(next);
}

function answer(task: WorkerTask): void {
  parentPort!.postMessage(
    task.type === 'apply' ? apply(task) : { type: 'answer', ask: task.ask, value: valueFor(task) },
  );
}

function valueFor(task: Exclude<WorkerTask, { type: 'apply' }>): unknown {
  if (task.type === 'adopt') return adopt(task);
  const stream = streams.get(task.stream);
  if (task.type === 'window') return stream?.window(task.tracker, task.profile);
  return stream && packedSnapshot(stream);
}

function adopt({ stream: name, state, position }: Extract<WorkerTask, { type: 'adopt' }>): Adopted {
  const stream = Stream.fromJSON(
    name,
    { state: unpackSnapshot(state, `the snapshot of stream ${name}`), position },
    options,
  );
  streams.set(name, stream);
  return { status: stream.status(), reports: stream.reports().map(sent) };
}

function packedSnapshot(stream: Stream): PackedSnapshot {
  return { state: packSnapshot(stream.toJSON()), position: stream.position };
}

function apply({ stream: name, position, record: bytes }: Extract<WorkerTask, { type: 'apply' }>): WorkerAnswer {
  const record = new RecordReader(Buffer.from(bytes.buffer), 0).read();
  const stream = streams.get(name) ?? open(record);
  const steps: SentStep[] = [];
  let error: string | null = null;
  try {
    for (const { events, history } of stream?.apply(record, position) ?? [])
      steps.push({ events: events.map(sentEvent), history });
  } catch (thrown) {
    error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
  if (record.kind === 'retire' && record.tracker === null) streams.delete(name);
  return {
    type: 'applied',
    stream: name,
    steps,
    status: stream?.status() ?? null,
    reports: stream && CHANGES.includes(record.kind) ? stream.reports().map(sent) : null,
    gone: !streams.has(name),
    error,
  };
}

/** The stream that a record opens, if it does. */
function open(record: LogRecord): Stream | undefined {
  if (record.kind !== 'open' || !record.settings) return undefined;
  const stream = new Stream(record.stream, record.settings as StreamPlan, options);
  streams.set(record.stream, stream);
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
