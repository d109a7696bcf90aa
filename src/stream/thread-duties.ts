/**
 * What a thread of heavy streams does. What `threads.ts` sends for one stream is done and answered in order;
 * streams take turns, record by record, so that none waits for the backlog of another. A window is wanted as it is now.
 */
import { MarkSlot } from '../store/apply-mark.js';
import { packSnapshot, unpackSnapshot } from '../store/formats.js';
import { type LogRecord, RecordReader } from '../store/record.js';
import type { StreamPlan } from './plan.js';
import { reasonOf } from './running-stream.js';
import { sentEvent, sentReport } from './sent-event.js';
import { Stream } from './stream.js';
import type { Adopted, PackedSnapshot, SentStep, ThreadAnswer, ThreadSetup, ThreadTask } from './threads.js';

/** records after which series may have started anew, without a report yet */
const CHANGES: readonly LogRecord['kind'][] = ['open', 'configure', 'retire'];

/** What takes its turn. */
type Work = Exclude<ThreadTask, { type: 'drop' }>;

export class ThreadDuties {
  readonly #streams = new Map<number, Stream>();
  /** what waits, by stream; the one whose turn it is stands first */
  readonly #waiting = new Map<number, Work[]>();
  #scheduled = false;
  readonly #mark: MarkSlot | null;

  constructor(
    readonly setup: ThreadSetup,
    readonly post: (answer: ThreadAnswer) => void,
  ) {
    const { markPath, thread } = setup;
    this.#mark = markPath === undefined ? null : MarkSlot.ofThread(markPath, thread);
  }

  receive(task: ThreadTask): void {
    if (task.type === 'drop') this.#drop(task.stream);
    else if (task.type === 'window' && this.#streams.has(task.stream)) this.#answer(task);
    else this.#enqueue(task);
  }

  /** Nobody wants to know any more what becomes of this stream. */
  #drop(stream: number): void {
    this.#waiting.delete(stream);
    this.#streams.get(stream)?.dispose();
    this.#streams.delete(stream);
  }

  #enqueue(task: Work): void {
    if (!this.#scheduled) this.#schedule();
    const queue = this.#waiting.get(task.stream);
    if (queue) queue.push(task);
    else this.#waiting.set(task.stream, [task]);
  }

  #schedule(): void {
    this.#scheduled = true;
    setImmediate(() => this.#next());
  }

  /** One task; what has come meanwhile is heard before the next. */
  #next(): void {
    this.#scheduled = false;
    // the stream may have been dropped since
    if (this.#waiting.size === 0) return;
    const [[stream, queue]] = this.#waiting;
    this.#waiting.delete(stream);
    this.#answer(queue.shift()!);
    if (queue.length > 0) this.#waiting.set(stream, queue);
    if (this.#waiting.size > 0) this.#schedule();
  }

  #answer(task: Work): void {
    const { running } = this.setup;
    // should this thread die of it, others can see what it was
    running[1] = task.type === 'apply' ? task.position : 0;
    running[0] = task.stream;
    this.#mark?.at(running[1]);
    this.post(
      task.type === 'apply' ? this.#apply(task) : { type: 'answer', ask: task.ask, value: this.#valueFor(task) },
    );
    running[0] = 0;
    this.#mark?.at(0);
  }

  #valueFor(task: Exclude<Work, { type: 'apply' }>): unknown {
    if (task.type === 'adopt') return this.#adopt(task);
    const stream = this.#streams.get(task.stream);
    if (task.type === 'window') return stream?.window(task.tracker, task.profile);
    return stream && packedSnapshot(stream);
  }

  #adopt({ stream: id, name, state, position }: Extract<ThreadTask, { type: 'adopt' }>): Adopted {
    try {
      const snapshot = { state: unpackSnapshot(state, `the snapshot of stream ${name}`), position };
      const stream = Stream.fromJSON(name, snapshot, this.setup.options);
      this.#streams.set(id, stream);
      return { status: stream.status(), reports: stream.reports().map(sentReport) };
    } catch (error) {
      return { error: reasonOf(error) };
    }
  }

  #apply({ stream: id, position, record: bytes }: Extract<ThreadTask, { type: 'apply' }>): ThreadAnswer {
    const began = performance.now();
    const record = new RecordReader(Buffer.from(bytes.buffer), 0).read();
    const stream = this.#streams.get(id) ?? this.#open(id, record);
    const steps: SentStep[] = [];
    let error: string | null = null;
    try {
      for (const { events, history } of stream?.apply(record, position) ?? [])
        steps.push({ events: events.map(sentEvent), history });
    } catch (thrown) {
      error = reasonOf(thrown);
    }
    // half changed, it is good for nothing any more
    if (error !== null || (record.kind === 'retire' && record.tracker === null)) this.#streams.delete(id);
    return {
      type: 'applied',
      stream: id,
      steps,
      status: error === null ? (stream?.status() ?? null) : null,
      reports: stream && error === null && CHANGES.includes(record.kind) ? stream.reports().map(sentReport) : null,
      gone: !this.#streams.has(id),
      error,
      workMs: performance.now() - began,
    };
  }

  /** The stream that a record opens, if it does. */
  #open(id: number, record: LogRecord): Stream | undefined {
    if (record.kind !== 'open' || !record.settings) return undefined;
    const stream = new Stream(record.stream, record.settings as StreamPlan, this.setup.options);
    this.#streams.set(id, stream);
    return stream;
  }
}

function packedSnapshot(stream: Stream): PackedSnapshot {
  return { state: packSnapshot(stream.toJSON()), position: stream.position };
}
