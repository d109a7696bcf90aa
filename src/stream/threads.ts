/**
 * Heavy streams run in threads of their own, so that sockets and all other streams never wait for their solves. A
 * ThreadStream is this thread's end of such a stream: it sends records on and keeps the status and the reports that
 * came back last. Records are applied in order, and none is dropped.
 *
 * This file owns the threads; what runs inside is `thread.ts`. A thread is started when the first stream needs it. When
 * one dies its streams are lost here, and the log has them: each owner hears of it, and which record was being applied.
 */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.js';
import { THREADS_MAX } from '../config/evaluator.js';
import type { Stored } from '../store/log-port.js';
import { type LogRecord, RecordWriter } from '../store/record.js';
import { newestReport, type ReportEvent, type SpikeEvent } from '../wire/events.js';
import type { StreamPlan } from './plan.js';
import type { RunningStream, StreamSnapshot } from './running-stream.js';
import { receivedEvent, type SentEvent, type SentReport } from './sent-event.js';
import { idleAmong, type StreamInfo, type StreamStatus, type WindowView } from './status.js';
import { keyInStream, type StreamOptions } from './stream.js';
import type { Applied } from './stream-events.js';

/** What the other thread is asked to do, in this order for one stream; a stream that is rebuilt gets another number. */
export type ThreadTask =
  | ({ type: 'adopt'; stream: number; name: string; ask: number } & PackedSnapshot)
  | { type: 'apply'; stream: number; position: number; record: Uint8Array }
  | { type: 'snapshot'; stream: number; ask: number }
  | { type: 'window'; stream: number; ask: number; tracker: string; profile: string }
  | { type: 'drop'; stream: number };

export type ThreadAnswer =
  | {
      type: 'applied';
      stream: number;
      steps: SentStep[];
      status: StreamStatus | null;
      /** the newest reports, when more has become of them than the steps tell */
      reports: SentReport[] | null;
      /** the other thread does not know the stream, or no longer does */
      gone: boolean;
      error: string | null;
      /** milliseconds that it took */
      workMs: number;
    }
  | { type: 'answer'; ask: number; value: unknown };

export type SentStep = Omit<Applied, 'events'> & { events: SentEvent[] };

export type PackedSnapshot = StreamSnapshot<Uint8Array>;

/** A stream that another thread has adopted, or why it has not. */
export type Adopted = { status: StreamStatus; reports: SentReport[] } | { error: string };

/** What the other thread starts with. */
export interface ThreadSetup {
  options: StreamOptions;
  /** number of the stream and position of the record that are being worked on; zeros in between */
  running: Float64Array;
  /** where it writes what it is working on, under its number, so that this outlives the process */
  markPath?: string;
  thread: number;
}

/** A thread as it is seen from here. */
export interface Thread {
  postMessage(task: ThreadTask, transfer: ArrayBuffer[]): void;
  on(event: 'message', listener: (answer: ThreadAnswer) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
}

export type StartThread = (setup: ThreadSetup) => Thread;

/** What has come of a record that another thread has applied. */
export interface ThreadResult {
  stream: ThreadStream;
  position: number;
  record: LogRecord;
  steps: Applied[];
  /** the stream is retired, unless a record that is not back yet opens it anew */
  gone: boolean;
  error: string | null;
  /** milliseconds that it took */
  workMs: number;
}

/** How a thread died, for one of its streams. */
export interface Death {
  reason: string;
  /** it died while it worked on this stream, or on none */
  guilty: boolean;
  /** of the record it was applying then; 0 when there was none */
  position: number;
}

/** Whoever answers for a stream in another thread. */
export interface ThreadOwner {
  received(result: ThreadResult): void;
  /** its thread died */
  lost(stream: ThreadStream, death: Death): void;
}

/** A stream as it was known where it ran until now. */
type Known = Pick<RunningStream, 'status' | 'reports'>;

/**
 * Room for fresh objects in a thread. One that runs out of memory is given 16 MB by Node to end in: what survives a
 * collection of fresh objects, a third of this at most, must fit, or the whole process is aborted.
 */
const YOUNG_MB = 32;
/** bytes that a record rarely exceeds */
const RECORD_BYTES = 4096;

export class Threads {
  readonly #threads: StreamThread[] = [];
  /** how many there may be */
  readonly count: number;
  readonly #options: StreamOptions;
  #lastStream = 0;

  constructor(
    {
      threads,
      budgetMs,
      inlineMs,
      auditEvery,
    }: Pick<Config['evaluation'], 'threads' | 'budgetMs' | 'inlineMs' | 'auditEvery'>,
    readonly logger: { error(event: string, fields: Record<string, unknown>): void },
    readonly around: { startThread?: StartThread; markPath?: string } = {},
  ) {
    this.count = threads ?? Math.min(THREADS_MAX, Math.max(1, availableParallelism() - 1));
    this.#options = { budgetMs, auditEvery, heavyMs: inlineMs };
  }

  /** How many streams run in them. */
  get streams(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.streams.size, 0);
  }

  /** Records that are not back yet. */
  get pending(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.pending, 0);
  }

  /** A stream runs in another thread from now on, where its snapshot was made. */
  adopt(name: string, snapshot: PackedSnapshot, owner: ThreadOwner, known?: Known): ThreadStream {
    return new ThreadStream(++this.#lastStream, name, this.#emptiest(), snapshot, owner, known);
  }

  #emptiest(): StreamThread {
    if (this.#threads.length < this.count && this.#threads.every((thread) => thread.streams.size > 0))
      this.#threads.push(this.#newThread());
    return this.#threads.reduce((a, b) => (b.streams.size < a.streams.size ? b : a));
  }

  #newThread(): StreamThread {
    const { startThread = startNodeThread, markPath } = this.around;
    const taken = this.#threads.map(({ number }) => number);
    let number = 1;
    while (taken.includes(number)) number++;
    const setup = { options: this.#options, markPath, thread: number };
    return new StreamThread(startThread, setup, (thread, error) => this.#died(thread, error));
  }

  /** The streams of a thread that died are rebuilt elsewhere, without what it died of. */
  #died(thread: StreamThread, error: unknown): void {
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    const message = 'a thread of the evaluation failed; nothing acked is lost: its streams are rebuilt from the log';
    const streams = [...thread.streams.values()];
    this.logger.error('thread_failed', { message, streams: streams.map(({ name }) => name), error });
    const reason = `its thread failed: ${error instanceof Error ? error.message : error}`;
    const [running, position] = thread.running;
    void thread.stop();
    for (const stream of streams) {
      const guilty = running === 0 || running === stream.id;
      stream.owner.lost(stream, { reason, guilty, position: running === stream.id ? position : 0 });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.stop()));
  }
}

const startNodeThread: StartThread = (setup) => {
  // what the command line says for the main thread would hold here, too, whatever the limits below are
  setFlagsFromString('--max-semi-space-size=0');
  return new Worker(new URL('./thread.js', import.meta.url), {
    workerData: setup,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
};

class StreamThread {
  readonly streams = new Map<number, ThreadStream>();
  readonly running = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
  /** records of all its streams that are not back yet */
  pending = 0;
  readonly #thread: Thread;
  readonly #asks = new Map<number, (value: never) => void>();
  #lastAsk = 0;
  #stopped = false;

  readonly number: number;

  constructor(
    start: StartThread,
    setup: Omit<ThreadSetup, 'running'>,
    onDeath: (thread: StreamThread, error: unknown) => void,
  ) {
    this.number = setup.thread;
    this.#thread = start({ ...setup, running: this.running });
    this.#thread.on('message', (answer: ThreadAnswer) => {
      if (this.#stopped) return;
      if (answer.type === 'applied') this.streams.get(answer.stream)?.receive(answer);
      else this.#resolve(answer.ask, answer.value as never);
    });
    this.#thread.on('error', (error) => !this.#stopped && onDeath(this, error));
    this.#thread.on('exit', (code) => !this.#stopped && onDeath(this, new Error(`it ended with code ${code}`)));
  }

  post(task: ThreadTask, transfer: ArrayBuffer[] = []): void {
    if (!this.#stopped) this.#thread.postMessage(task, transfer);
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

  #resolve(ask: number, value: never): void {
    this.#asks.get(ask)?.(value);
    this.#asks.delete(ask);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const ask of this.#asks.keys()) this.#resolve(ask, undefined as never);
    await this.#thread.terminate();
  }
}

export class ThreadStream implements RunningStream {
  readonly evaluated = true;
  readonly readsUpTo = 0;
  readonly heavy = false;
  readonly shareHere = undefined;
  readonly inRecord = false;
  /** resolves once the status of the stream is known here, with why it cannot be; null when all is well */
  readonly ready: Promise<string | null>;
  #status: StreamStatus | null = null;
  readonly #reports = new Map<string, ReportEvent>();
  readonly #pending: Stored[] = [];
  readonly #writer = new RecordWriter(RECORD_BYTES);
  /** of its thread, as the newest record that was sent says */
  #share = 1;
  /** on its way */
  #snapshot: Promise<PackedSnapshot | undefined> | null = null;
  #disposed = false;

  constructor(
    readonly id: number,
    readonly name: string,
    readonly thread: StreamThread,
    snapshot: PackedSnapshot,
    public owner: ThreadOwner,
    known?: Known,
  ) {
    thread.streams.set(id, this);
    if (known) {
      this.#status = known.status();
      this.#share = this.#status.share;
      for (const report of known.reports()) this.#keep(report);
    }
    this.ready = this.#adopt(snapshot);
  }

  async #adopt(snapshot: PackedSnapshot): Promise<string | null> {
    const { id: stream, name } = this;
    const adopted = await this.thread.ask<Adopted>((ask) => ({ type: 'adopt', stream, name, ask, ...snapshot }));
    if (!adopted) return 'its thread is gone';
    if ('error' in adopted) return adopted.error;
    this.#status ??= adopted.status;
    this.#share = adopted.status.share;
    this.#keepOnly(adopted.reports);
    return null;
  }

  /** Records sent that are not back yet. */
  get pending(): number {
    return this.#pending.length;
  }

  get unanswered(): readonly Stored[] {
    return this.#pending;
  }

  get firstPending(): number {
    return this.#pending[0]?.position ?? Number.POSITIVE_INFINITY;
  }

  get queuedAhead(): number {
    return this.thread.pending;
  }

  /** Streams of one thread have equal shares of it, in powers of two, so that one more changes little. */
  get newShare(): number | undefined {
    const share = 2 ** -Math.ceil(Math.log2(this.thread.streams.size));
    return share === this.#share || !this.#status ? undefined : share;
  }

  expect(_record: LogRecord): void {}

  apply(record: LogRecord, position: number): null {
    if (record.kind === 'tick') this.#share = record.share ?? this.#share;
    this.#writer.truncate(0);
    this.#writer.write(record);
    const bytes = Uint8Array.from(this.#writer.bytes());
    this.#pending.push({ position, record });
    this.thread.pending++;
    this.thread.post({ type: 'apply', stream: this.id, position, record: bytes }, [bytes.buffer]);
    return null;
  }

  /** The other thread has applied the oldest record that is not back yet. */
  receive({ steps: sent, status, reports, gone, error, workMs }: Extract<ThreadAnswer, { type: 'applied' }>): void {
    const { position, record } = this.#pending.shift()!;
    this.thread.pending--;
    if (status) this.#status = status;
    const steps = sent.map(({ events, history }) => ({ events: events.map(receivedEvent), history }));
    for (const { events } of steps) for (const event of events) if (event.type === 'report') this.#keep(event);
    if (reports) this.#keepOnly(reports);
    this.owner.received({ stream: this, position, record, steps, gone, error, workMs });
  }

  #keepOnly(reports: SentReport[]): void {
    this.#reports.clear();
    for (const report of reports) this.#keep(receivedEvent(report) as ReportEvent);
  }

  /** The newest report of a series; scores and numbers come at a stride, so the last ones stay. */
  #keep(event: ReportEvent): void {
    const key = keyInStream(event.tracker, event.profile);
    const before = this.#reports.get(key);
    const scores = event.scores ?? before?.scores;
    const performance = event.performance ?? before?.performance;
    this.#reports.set(key, newestReport(event, event, event.report, { ...event, scores, performance }));
  }

  get plan(): StreamPlan {
    return this.status().plan;
  }

  status(): StreamStatus {
    return this.#status!;
  }

  info(): StreamInfo {
    return this.status().info;
  }

  spikes(): SpikeEvent[] {
    return this.status().spikes;
  }

  /** In the order of the stream's own, whichever series came to a report first. */
  reports(): ReportEvent[] {
    const order = this.#status?.info.series.map(({ tracker, profile }) => keyInStream(tracker, profile)) ?? [];
    const inOrder = order.flatMap((key) => this.#reports.get(key) ?? []);
    return inOrder.length === this.#reports.size ? inOrder : [...this.#reports.values()];
  }

  /** While records are not back nothing is due: they may be what it waits for. */
  deadline(): number {
    return this.pending > 0 || !this.#status ? Number.POSITIVE_INFINITY : this.#status.deadlineMs;
  }

  get resuming(): boolean {
    return this.#status?.info.resuming ?? false;
  }

  isAhead(tracker: string | null): boolean {
    return this.#status?.ahead.includes(tracker) ?? false;
  }

  idle(nowMs: number): string | null | undefined {
    return this.pending > 0 || !this.#status ? undefined : idleAmong(this.#status.quiet, this.plan, nowMs);
  }

  window(tracker: string, profile: string): Promise<WindowView | undefined> {
    return this.thread.ask((ask) => ({ type: 'window', stream: this.id, ask, tracker, profile }));
  }

  async snapshot(save: (snapshot: PackedSnapshot) => void): Promise<void> {
    const snapshot = await this.#nextSnapshot();
    if (snapshot && !this.#disposed) save(snapshot);
  }

  /** Who asks while one is on its way gets that one. */
  #nextSnapshot(): Promise<PackedSnapshot | undefined> {
    this.#snapshot ??= this.thread
      .ask<PackedSnapshot>((ask) => ({ type: 'snapshot', stream: this.id, ask }))
      .finally(() => {
        this.#snapshot = null;
      });
    return this.#snapshot;
  }

  dispose(): void {
    this.#disposed = true;
    this.thread.pending -= this.#pending.length;
    this.thread.streams.delete(this.id);
    this.thread.post({ type: 'drop', stream: this.id });
  }
}
