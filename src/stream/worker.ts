/**
 * A thread that works on heavy streams. What `threads.ts` sends for one stream is done and answered in order; streams take
 * turns, record by record, so that none waits for the backlog of another. Who asks for a window wants it as it is now.
 */
import { deserialize } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import '../index.js';
import type { SolveOptions } from '../metric/solve-options.js';
import { packSnapshot } from '../store/log.js';
import { type LogRecord, RecordReader } from '../store/record.js';
import { type LiveEvent, type ReportEvent, summarize } from '../wire/events.js';
import { Stream, type StreamPlan } from './stream.js';
import type { Gauges, SentEvent, SentReport, SentStep, Taken, ThreadAnswer, ThreadTask } from './workers.js';

const options = workerData as SolveOptions;
const streams = new Map<string, Stream>();
/** of the last record of each */
const positions = new Map<string, number>();
/** records after which series may have begun anew, without a report yet */
const CHANGES: readonly LogRecord['kind'][] = ['open', 'configure', 'retire'];

/** what waits, by stream; the one whose turn it is stands first */
const waiting = new Map<string, ThreadTask[]>();

parentPort!.on('message', (task: ThreadTask) => {
  if (task.type === 'window' && streams.has(task.stream)) answer(task);
  else enqueue(task);
});

function enqueue(task: ThreadTask): void {
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

function answer(task: ThreadTask): void {
  parentPort!.postMessage(answerTo(task));
}

function answerTo(task: ThreadTask): ThreadAnswer {
  if (task.type === 'apply') return apply(task);
  return { type: 'answer', ask: task.ask, value: resultOf(task) };
}

function resultOf(task: Exclude<ThreadTask, { type: 'apply' }>): unknown {
  if (task.type === 'take') return take(task);
  const stream = streams.get(task.stream);
  if (task.type === 'window') return stream?.window(task.tracker, task.profile);
  return stream && { state: packSnapshot(stream.toJSON()), position: positions.get(task.stream)! };
}

function take({ stream: name, state, position }: Extract<ThreadTask, { type: 'take' }>): Taken {
  const stream = Stream.fromJSON(name, deserialize(state), options);
  streams.set(name, stream);
  positions.set(name, position);
  return { standing: stream.standing(), reports: stream.reports().map(sent) };
}

function apply({ stream: name, position, record: bytes }: Extract<ThreadTask, { type: 'apply' }>): ThreadAnswer {
  const record = new RecordReader(Buffer.from(bytes.buffer), 0).read();
  let stream = streams.get(name);
  if (!stream && record.kind === 'open' && record.settings) {
    stream = new Stream(name, record.settings as StreamPlan, options);
    streams.set(name, stream);
  }
  positions.set(name, position);
  const steps: SentStep[] = [];
  let error: string | null = null;
  try {
    for (const { events, history } of stream?.apply(record, position) ?? [])
      steps.push({ events: events.map(sentEvent), history });
  } catch (thrown) {
    error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  }
  if (record.kind === 'retire' && record.tracker === null) streams.delete(name);
  if (!streams.has(name)) positions.delete(name);
  return {
    type: 'applied',
    stream: name,
    steps,
    standing: stream?.standing() ?? null,
    reports: stream && CHANGES.includes(record.kind) ? stream.reports().map(sent) : null,
    gone: !streams.has(name),
    error,
  };
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
