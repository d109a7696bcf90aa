/**
 * This thread's end of a worker: it hands over what connections bring, passes on what the worker says to them, and asks
 * it what others want to know. Bytes are moved, not looked at. When the worker dies, its connections are closed with
 * the wish to come back, and another one recovers its partitions; nothing acked is lost, because it was in the store.
 */
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.js';
import type { FeedRefusal } from '../edge/feeds/feed-port.js';
import type { Readiness } from '../edge/live-port.js';
import { type Peer, SLOW_PATIENCE_MS } from '../edge/peers/peer.js';
import type { SteadyClock } from '../live/clock.js';
import { StorageFault } from '../store/storage-fault.js';
import type { SentEvent, SentReport } from '../stream/sent-event.js';
import type { Logger } from '../telemetry/logger.js';
import { CLOSE_CODES } from '../wire/codes.js';
import { MessageBatch } from './message-batch.js';
import type { FromWorker, Handled, OpenedConnection, Questions, ToPeer, ToWorker, WorkerSetup } from './messages.js';

/** A connection as far as the worker's end knows it. */
export interface RoutedPeer {
  readonly peer: Peer;
  /** the worker does not want to read from it for now, or does again */
  pausedByWorker: boolean;
  /** of its messages, and whether nothing of them waits but for the rest of its frame */
  handled: Handled;
  /** whether it may be read from may have changed */
  regulate(): void;
  /** the worker is done with it */
  released(): void;
}

/** Streams that are there from now on, that are gone, and that a hello asked for in vain. */
export type StreamChanges = Omit<Extract<FromWorker, { type: 'streams' }>, 'type'>;

/** What happens at a worker. */
export interface WorkerListener {
  events(events: SentEvent[]): void;
  restored(reports: SentReport[], unseen: boolean): void;
  streams(changes: StreamChanges): void;
  /** everything is there that its store has */
  recovered(): void;
  /** it died, and its streams are away for a while */
  died(): void;
}

/** What is needed of a thread. */
export interface WorkerThread {
  postMessage(message: ToWorker, transfer?: ArrayBuffer[]): void;
  on(event: 'message', listener: (message: FromWorker) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
}

export interface WorkerCoreParts {
  /** number of its slot */
  slot: number;
  /** with the folder of its slot */
  config: Config;
  clock: SteadyClock;
  logger: Logger;
  listener: WorkerListener;
}

/** bytes that are handed over before the turn of the event loop is over */
const BATCH_BYTES = 256 * 1024;
/** milliseconds between two looks whether a worker that had too much to read has caught up */
const CATCH_UP_MS = 2;
/** milliseconds before a worker that has died again and again is started once more: this, doubled each time */
const RESTART_MS = 100;
const RESTART_MAX_MS = 10_000;
/** milliseconds that a worker must live for its deaths before to be forgotten */
const STEADY_MS = 60_000;

/**
 * Room for fresh objects in a worker. One that runs out of memory is given 16 MB by Node to end in: what survives a
 * collection of fresh objects, a third of this at most, must fit, or the whole process is aborted.
 */
const YOUNG_MB = 32;

const startThread = (setup: WorkerSetup): WorkerThread => {
  // what the command line says for the main thread would hold here, too, whatever the limits below are
  setFlagsFromString('--max-semi-space-size=0');
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB };
  return new Worker(new URL('./worker.js', import.meta.url), { workerData: setup, resourceLimits });
};

/** The error of a worker in the words of this thread. */
function faultOf({ code, message }: Extract<FromWorker, { type: 'failed' }>): Error {
  return code ? new StorageFault(code as StorageFault['code'], message) : new Error(message);
}

export class WorkerCore {
  readonly #parts: WorkerCoreParts;
  #thread: WorkerThread | null = null;
  #read = new BigInt64Array(new SharedArrayBuffer(8));
  #sent = 0n;
  readonly #batch = new MessageBatch();
  #flushScheduled = false;
  readonly #connections = new Map<number, RoutedPeer>();
  #lastConnection = 0;
  readonly #asks = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #lastAsk = 0;
  #catchUp: NodeJS.Timeout | null = null;
  #restart: NodeJS.Timeout | null = null;
  #deaths = 0;
  #startedMs = 0;
  #stopped = false;
  #hasRecovered = false;
  #readsReports = false;
  /** its pipeline is there */
  serving = false;
  recovered: Promise<void>;
  #onRecovered!: { resolve(): void; reject(error: Error): void };

  constructor(parts: WorkerCoreParts) {
    this.#parts = parts;
    this.recovered = new Promise((resolve, reject) => {
      this.#onRecovered = { resolve, reject };
    });
    this.recovered.catch(() => {});
  }

  /** Resolves when its store is open; rejects when that cannot be. */
  start(): Promise<void> {
    this.#read = new BigInt64Array(new SharedArrayBuffer(8));
    this.#sent = 0n;
    this.#startedMs = performance.now();
    const { config, clock } = this.#parts;
    const thread = startThread({ config, clock: clock.share(), read: this.#read });
    this.#thread = thread;
    return new Promise((resolve, reject) => {
      let failure: unknown;
      thread.on('message', (message) => {
        if (this.#thread !== thread) return;
        if (message.type === 'started') this.#started(resolve);
        else if (message.type === 'failed') {
          failure = faultOf(message);
          // what could be read before can perhaps be read by the next one
          if (this.#hasRecovered) void thread.terminate();
          else {
            reject(failure);
            this.#giveUp(failure as Error);
          }
        } else this.#hear(message);
      });
      thread.on('error', (error) => {
        failure = error;
      });
      // only now its store is closed, and another one can open it
      thread.on('exit', (code) => {
        if (this.#thread !== thread) return;
        failure ??= new Error(`it ended with code ${code}`);
        reject(failure instanceof Error ? failure : new Error(String(failure)));
        this.#died(failure);
      });
    });
  }

  /** What is stored cannot be read: no other worker could either. */
  #giveUp(error: Error): void {
    const thread = this.#thread;
    this.#stopped = true;
    this.#onRecovered.reject(error);
    this.#abandon();
    void thread?.terminate();
  }

  #started(resolve: () => void): void {
    this.serving = true;
    if (this.#readsReports) this.#post({ type: 'readReports', wanted: true });
    resolve();
  }

  #hear(message: FromWorker): void {
    const { listener, logger } = this.#parts;
    switch (message.type) {
      case 'toPeers':
        for (const one of message.messages) this.#say(one);
        break;
      case 'events':
        listener.events(message.events);
        break;
      case 'restored':
        listener.restored(message.reports, message.unseen);
        break;
      case 'streams':
        listener.streams(message);
        break;
      case 'recovered':
        this.#hasRecovered = true;
        this.#onRecovered.resolve();
        listener.recovered();
        break;
      case 'answer':
        this.#answered(message);
        break;
      case 'readAll':
        // sockets are read before the next turn begins
        setImmediate(() => this.#tellRead());
        break;
      case 'log':
        logger[message.level](message.event, { ...message.fields, slot: this.#parts.slot });
        break;
    }
  }

  #answered({ ask, value, error }: Extract<FromWorker, { type: 'answer' }>): void {
    const waiting = this.#asks.get(ask);
    this.#asks.delete(ask);
    if (error === undefined) waiting?.resolve(value as never);
    else waiting?.reject(new Error(error));
  }

  #tellRead(): void {
    this.#flush();
    this.#post({ type: 'readAll', held: this.holds ? [...this.#connections.keys()] : [] });
  }

  #say(message: ToPeer): void {
    const routed = this.#connections.get(message.connection);
    if (!routed) return;
    if (message.type === 'send') {
      this.#send(message.connection, routed, message.text);
      if (message.handled) routed.handled = message.handled;
    } else if (message.type === 'close') {
      this.#connections.delete(message.connection);
      routed.released();
      routed.peer.close(message.code, message.reason, message.patienceMs);
    } else {
      routed.pausedByWorker = message.type === 'pause';
      routed.regulate();
    }
  }

  /** A peer that reads nothing is cut off; its worker cannot see that. */
  #send(connection: number, routed: RoutedPeer, text: string): void {
    routed.peer.send(text);
    if (routed.peer.backlogBytes() <= this.#parts.config.limits.backlogBytes) return;
    this.closed(connection);
    routed.released();
    routed.peer.close(4008, CLOSE_CODES[4008].meaning, SLOW_PATIENCE_MS);
  }

  /** A connection whose hello is for this worker. */
  open(routed: RoutedPeer, identity: OpenedConnection['identity'], stream: string, ifNew?: FeedRefusal): number {
    const connection = ++this.#lastConnection;
    this.#connections.set(connection, routed);
    this.#flush();
    this.#post({ type: 'open', connection, address: routed.peer.address, identity, stream, ifNew });
    return connection;
  }

  /** A message has come. */
  receive(connection: number, bytes: Uint8Array): void {
    this.#batch.add(connection, bytes);
    if (this.#batch.byteCount >= BATCH_BYTES) this.#flush();
    else if (!this.#flushScheduled) {
      this.#flushScheduled = true;
      setImmediate(() => this.#flush());
    }
    if (this.isFull && !this.#catchUp) this.#holdAll();
  }

  receiveBinary(connection: number, byteCount: number): void {
    this.#flush();
    this.#post({ type: 'binary', connection, byteCount });
  }

  /** A connection is gone. */
  closed(connection: number): void {
    if (!this.#connections.delete(connection)) return;
    this.#flush();
    this.#post({ type: 'closed', connection });
  }

  /** Whether the worker has so much to read that nothing more should come. */
  get isFull(): boolean {
    return Number(this.#sent - Atomics.load(this.#read, 0)) > this.#parts.config.evaluation.workerQueueBytes;
  }

  /** Nothing is read for this worker until it has caught up. */
  #holdAll(): void {
    for (const routed of this.#connections.values()) routed.regulate();
    this.#catchUp = setTimeout(() => {
      this.#catchUp = null;
      if (this.isFull) this.#holdAll();
      else for (const routed of this.#connections.values()) routed.regulate();
    }, CATCH_UP_MS);
  }

  /** The same for a connection of this worker. */
  get holds(): boolean {
    return this.#catchUp !== null;
  }

  #flush(): void {
    this.#flushScheduled = false;
    if (this.#batch.byteCount === 0) return;
    const bytes = this.#batch.drain();
    this.#sent += BigInt(bytes.length);
    const atMs = this.#parts.clock.now();
    this.#thread?.postMessage({ type: 'messages', bytes, atMs }, [bytes.buffer]);
  }

  #post(message: ToWorker): void {
    this.#thread?.postMessage(message);
  }

  ask<T, Q extends keyof Questions = keyof Questions>(question: Q, ...about: Questions[Q]): Promise<T> {
    if (!this.serving) return Promise.reject(new Error(this.#away));
    const ask = ++this.#lastAsk;
    return new Promise((resolve, reject) => {
      this.#asks.set(ask, { resolve, reject });
      this.#post({ type: 'ask', ask, question, about });
    });
  }

  get #away(): string {
    return `worker ${this.#parts.slot} is being started; the streams of its partitions are recovered`;
  }

  /** Whether it accepts frames; also while it is away. */
  async health(): Promise<Readiness> {
    return this.ask<Readiness>('health').catch(() => ({ ready: false, reasons: [this.#away], degraded: [] }));
  }

  readReports(wanted: boolean): void {
    this.#readsReports = wanted;
    if (this.serving) this.#post({ type: 'readReports', wanted });
  }

  liftBackpressure(): void {
    this.#post({ type: 'liftBackpressure' });
  }

  closeFeeds(): void {
    this.#post({ type: 'closeFeeds' });
  }

  #died(error: unknown): void {
    const { logger, slot, listener } = this.#parts;
    this.#abandon();
    listener.died();
    if (this.#stopped) return;
    if (performance.now() - this.#startedMs > STEADY_MS) this.#deaths = 0;
    const waitMs = Math.min(RESTART_MAX_MS, RESTART_MS * 2 ** this.#deaths++);
    const message = 'a worker failed; nothing acked is lost: its partitions are recovered by another one';
    logger.error('worker_failed', { message, slot, waitMs, error });
    this.#restart = setTimeout(() => void this.start().catch(() => {}), waitMs);
  }

  /** Whoever waits hears of it, and clients come back. */
  #abandon(): void {
    this.#thread = null;
    this.serving = false;
    if (this.#catchUp) clearTimeout(this.#catchUp);
    this.#catchUp = null;
    this.#batch.drain();
    for (const { reject } of this.#asks.values()) reject(new Error(this.#away));
    this.#asks.clear();
    for (const routed of this.#connections.values()) {
      routed.released();
      routed.peer.close(1013, CLOSE_CODES[1013].meaning);
    }
    this.#connections.clear();
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#thread?.terminate();
  }

  async stop(): Promise<void> {
    await this.ask('stop').catch(() => {});
    this.#stopped = true;
    if (this.#restart) clearTimeout(this.#restart);
    const thread = this.#thread;
    this.#abandon();
    await thread?.terminate();
  }
}
