/**
 * Streams whose solves are heavy are worked on in threads, so that sockets and all other streams never wait for them.
 * A RemoteStream is the pipeline's end of such a stream: it sends records on and keeps what was last heard. Records are
 * applied in order, none is dropped, and `pending` says how many are not back yet; who waits for their ack bounds them.
 *
 * This file owns the threads; what runs inside is `stream-thread.ts`. A thread is started when the first stream needs
 * it. One that dies takes the process with it: its streams exist nowhere else, and a restart finds them in the log.
 */
import { Worker } from 'node:worker_threads';
import type { SolveOptions } from '../metric/solve-options.js';
import { type LogRecord, RecordWriter } from '../store/record.js';
import { type LiveEvent, newestReport, type ReportEvent, type SpikeEvent, type SpikeReading } from '../wire/events.js';
import {
  type Applied,
  type FeedInfo,
  idleAmong,
  type Standing,
  type StreamInfo,
  type StreamPlan,
  seriesKey,
  type WindowView,
} from './stream.js';

/** What a thread is asked to do, in this order for one stream. */
export type ThreadTask =
  | { type: 'take'; stream: string; ask: number; state: Uint8Array; position: number }
  | { type: 'apply'; stream: string; position: number; record: Uint8Array }
  | { type: 'snapshot'; stream: string; ask: number }
  | { type: 'window'; stream: string; ask: number; tracker: string; profile: string };

/** An event without what cannot leave its thread. */
export type SentEvent = Exclude<LiveEvent, ReportEvent> | SentReport;
export type SentReport = Omit<Extract<LiveEvent, ReportEvent>, 'spikes'> & { gauges?: Gauges };
export type Gauges = Record<string, ReturnType<SpikeReading['gauge']>>;

/** A stream after its record at this position, packed. */
export interface RemoteSnapshot {
  state: Uint8Array;
  position: number;
}

export interface Taken {
  standing: Standing;
  reports: SentReport[];
}

export type ThreadAnswer =
  | {
      type: 'applied';
      stream: string;
      steps: SentStep[];
      standing: Standing | null;
      /** the newest reports, when more has become of them than the steps tell */
      reports: SentReport[] | null;
      /** the thread does not know the stream, or any more */
      gone: boolean;
      error: string | null;
    }
  | { type: 'answer'; ask: number; value: unknown };

export type SentStep = Omit<Applied, 'events'> & { events: SentEvent[] };

/** What the pipeline is told about a record that was sent away. */
export interface Back {
  stream: RemoteStream;
  position: number;
  record: LogRecord;
  steps: Applied[];
  /** the stream is retired, unless a record that is still away begins it anew */
  gone: boolean;
  error: string | null;
}

const YOUNG_MB = 64;
/** bytes that a record rarely exceeds */
const RECORD_BYTES = 4096;

export class Threads {
  readonly #threads: Thread[] = [];

  constructor(
    /** how many there may be */
    readonly count: number,
    readonly options: SolveOptions,
    readonly onBack: (back: Back) => void,
    readonly onFault: (error: unknown) => void,
  ) {}

  /** Streams in threads. */
  get streams(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.streams.size, 0);
  }

  /** Records that are not back yet. */
  get pending(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.pending, 0);
  }

  /** A stream goes on in a thread from now on, where it was left. */
  take(name: string, snapshot: RemoteSnapshot): RemoteStream {
    const thread = this.#roomiest();
    const stream = new RemoteStream(name, thread);
    thread.streams.set(name, stream);
    stream.begin(snapshot);
    return stream;
  }

  #roomiest(): Thread {
    if (this.#threads.length < this.count && this.#threads.every((thread) => thread.streams.size > 0))
      this.#threads.push(new Thread(this.options, this.onBack, this.onFault));
    return this.#threads.reduce((a, b) => (b.streams.size < a.streams.size ? b : a));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.stop()));
  }
}

class Thread {
  readonly streams = new Map<string, RemoteStream>();
  readonly #asks = new Map<number, (value: never) => void>();
  readonly #worker: Worker;
  #stopped = false;
  #lastAsk = 0;
  pending = 0;

  constructor(options: SolveOptions, onBack: (back: Back) => void, onFault: (error: unknown) => void) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: options,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#worker.on('message', (answer: ThreadAnswer) => {
      if (this.#stopped) return;
      if (answer.type === 'applied') onBack(this.streams.get(answer.stream)!.back(answer));
      else this.#answer(answer.ask, answer.value as never);
    });
    this.#worker.on('error', (error) => onFault(error));
    this.#worker.on('exit', (code) => {
      if (!this.#stopped) onFault(new Error(`a thread of the evaluation ended with code ${code}`));
    });
  }

  post(task: ThreadTask, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(task, transfer);
  }

  /** Undefined when the thread is stopped before it answers. */
  ask<T>(task: (ask: number) => ThreadTask): Promise<T | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const ask = ++this.#lastAsk;
    return new Promise((resolve) => {
      this.#asks.set(ask, resolve);
      this.post(task(ask));
    });
  }

  #answer(ask: number, value: never): void {
    this.#asks.get(ask)?.(value);
    this.#asks.delete(ask);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const ask of this.#asks.keys()) this.#answer(ask, undefined as never);
    for (const stream of this.streams.values()) stream.letGo();
    await this.#worker.terminate();
  }
}

export class RemoteStream {
  #standing: Standing | null = null;
  readonly #reports = new Map<string, ReportEvent>();
  #snapshot: Promise<RemoteSnapshot | undefined> | null = null;
  #dropped = false;
  readonly #pending: { position: number; record: LogRecord }[] = [];
  /** durable, but not sent yet */
  #expected = 0;
  readonly #writer = new RecordWriter(RECORD_BYTES);
  readonly #waiters: { most: number; resolve: () => void }[] = [];

  constructor(
    readonly name: string,
    readonly thread: Thread,
  ) {}

  /** Resolves once the stream is known here as it was left. */
  ready: Promise<void> = Promise.resolve();

  begin(snapshot: RemoteSnapshot): void {
    const { name } = this;
    this.ready = this.thread
      .ask<Taken>((ask) => ({ type: 'take', stream: name, ask, ...snapshot }))
      .then((taken) => {
        if (!taken) return;
        this.#standing ??= taken.standing;
        this.#keepOnly(taken.reports);
      });
  }

  /** What is known about a stream that was here until now. */
  remember(standing: Standing, reports: ReportEvent[]): void {
    this.#standing = standing;
    for (const report of reports) this.#keep(report);
  }

  /** Records sent that are not back yet. */
  get pending(): number {
    return this.#pending.length;
  }

  /** A record of this stream is durable, and will be sent when its turn comes. */
  expect(): void {
    this.#expected++;
  }

  /** Position of the oldest record that is not back yet; infinity when all are. */
  get firstPending(): number {
    return this.#pending[0]?.position ?? Number.POSITIVE_INFINITY;
  }

  apply(record: LogRecord, position: number): void {
    this.#writer.truncate(0);
    this.#writer.write(record);
    const bytes = Uint8Array.from(this.#writer.bytes());
    if (this.#expected > 0) this.#expected--;
    this.#pending.push({ position, record });
    this.thread.pending++;
    this.thread.post({ type: 'apply', stream: this.name, position, record: bytes }, [bytes.buffer]);
  }

  back({ steps, standing, reports, gone, error }: Extract<ThreadAnswer, { type: 'applied' }>): Back {
    const { position, record } = this.#pending.shift()!;
    this.thread.pending--;
    if (standing) this.#standing = standing;
    const applied = steps.map(({ events, history }) => ({ events: events.map(received), history }));
    for (const { events } of applied) for (const event of events) if (event.type === 'report') this.#keep(event);
    if (reports) this.#keepOnly(reports);
    this.#release();
    return { stream: this, position, record, steps: applied, gone, error };
  }

  /** Resolves when at most so many durable records are not back. */
  shrunk(most: number): Promise<void> {
    if (this.#dropped || this.#expected + this.pending <= most) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ most, resolve });
    });
  }

  #release(): void {
    for (let n = this.#waiters.length - 1; n >= 0; n--)
      if (this.#expected + this.pending <= this.#waiters[n].most) this.#waiters.splice(n, 1)[0].resolve();
  }

  /** Nobody needs to wait any longer. */
  letGo(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  #keepOnly(reports: SentReport[]): void {
    this.#reports.clear();
    for (const report of reports) this.#keep(received(report) as ReportEvent);
  }

  /** The newest report of a series, as `Stream.reports` gives it; scores come at a stride, so the last ones stay. */
  #keep(event: ReportEvent): void {
    const key = seriesKey(event.tracker, event.profile);
    const scores = event.scores ?? this.#reports.get(key)?.scores;
    this.#reports.set(key, newestReport(event, event, event.report, event.spikes, scores));
  }

  /** The thread has forgotten the stream; so does everybody. Records that were to be sent open it anew, elsewhere. */
  drop(): void {
    this.thread.streams.delete(this.name);
    this.#dropped = true;
    this.letGo();
  }

  get plan(): StreamPlan {
    return this.#standing!.plan;
  }

  info(): StreamInfo {
    return this.#standing!.info;
  }

  feeds(): FeedInfo[] {
    return this.#standing!.info.feeds;
  }

  spikes(): SpikeEvent[] {
    return this.#standing!.spikes;
  }

  reports(): ReportEvent[] {
    return [...this.#reports.values()];
  }

  /** While records are away nothing is due: they may be what it waits for. */
  deadline(): number {
    return this.pending > 0 || !this.#standing ? Number.POSITIVE_INFINITY : this.#standing.deadlineMs;
  }

  idle(nowMs: number): string | null | undefined {
    return this.pending > 0 || !this.#standing ? undefined : idleAmong(this.feeds(), this.plan, nowMs);
  }

  window(tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.thread.ask((ask) => ({ type: 'window', stream: this.name, ask, tracker, profile }));
  }

  /** Undefined when it has been retired. Who asks while one is on its way gets that one. */
  snapshot(): Promise<RemoteSnapshot | undefined> {
    this.#snapshot ??= this.thread
      .ask<RemoteSnapshot>((ask) => ({ type: 'snapshot', stream: this.name, ask }))
      .finally(() => {
        this.#snapshot = null;
      });
    return this.#snapshot;
  }
}

function received(event: SentEvent): LiveEvent {
  if (event.type !== 'report' || !event.gauges) return event as LiveEvent;
  const { gauges, ...rest } = event;
  return { ...rest, spikes: { signals: Object.keys(gauges), gauge: (signal) => gauges[signal] } };
}
