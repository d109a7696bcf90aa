/**
 * What a worker does: a core with its own pipeline and store, whose peers are in another thread. What it says to them
 * and what happens is gathered for a turn of the event loop and sent at once. When it is asked something it answers
 * between two slices of work, so whoever asks waits for milliseconds.
 */
import type { Config } from '../config/config.js';
import { Core } from '../edge/core.js';
import type { FeedRefusal } from '../edge/feeds/feed-port.js';
import type { Session } from '../edge/feeds/session.js';
import type { Peer } from '../edge/peers/peer.js';
import { SteadyClock } from '../live/clock.js';
import { Live } from '../live/live.js';
import { type SentEvent, type SentReport, sentEvent, sentReport } from '../stream/sent-event.js';
import type { Logger } from '../telemetry/logger.js';
import { Meters } from '../telemetry/meters.js';
import { Fault } from '../wire/fault.js';
import { messagesIn } from './message-batch.js';
import type { FromWorker, Handled, OpenedConnection, Questions, ToPeer, ToWorker, WorkerSetup } from './messages.js';
import { readMeters } from './meter-readings.js';

type Question = keyof Questions;
type Answers = { [Q in Question]: (...about: Questions[Q]) => unknown };

interface Connection {
  session: Session;
  client: string;
  /** of its hello */
  stream: string;
  /** messages so far */
  handled: number;
}

export class WorkerDuties {
  readonly #connections = new Map<number, Connection>();
  readonly #outbox: Outbox;
  /** by client: why it may not open a new stream, as the one with the sockets said last */
  readonly #refusals = new Map<string, FeedRefusal | undefined>();
  #live!: Live;
  #core!: Core<Live>;
  #readsReports = false;
  /** who wait until everything is read that had come */
  #waiting: Array<(held: number[]) => void> = [];

  constructor(
    readonly setup: WorkerSetup,
    readonly post: (message: FromWorker) => void,
  ) {
    this.#outbox = new Outbox(post);
  }

  async start(): Promise<void> {
    const { config, clock } = this.setup;
    const logger = this.#logger();
    try {
      this.#live = await Live.start(config, new SteadyClock(clock), logger, {
        afterReading: () => this.#afterReading(),
      });
      this.#core = this.#newCore(config, logger);
      this.post({ type: 'started' });
      await this.#live.recovered;
      this.#outbox.flush();
      this.post({ type: 'recovered' });
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      this.post({ type: 'failed', code, message });
    }
  }

  #newCore(config: Config, logger: Logger): Core<Live> {
    const meters = new Meters(config.limits.series);
    const live = this.#live;
    const shares = {
      refusal: (client: string) => this.#refusalOf(client),
      add: (_client: string, stream: string) => this.#outbox.opened(stream),
    };
    const core = new Core({ config, live, meters, logger, shares, sliceMs: Number.POSITIVE_INFINITY });
    this.#tellStreams();
    live.restored$.subscribe((stream) => this.#outbox.opened(stream.info().stream));
    core.restored$.subscribe(({ report, unseen }) => this.#readsReports && this.#outbox.restored(report, unseen));
    core.events$.subscribe((event) => {
      if (event.type !== 'report' || this.#readsReports) this.#outbox.event(sentEvent(event));
      if (event.type === 'retired' && !live.hasStream(event.stream)) this.#outbox.gone(event.stream);
    });
    return core;
  }

  #tellStreams(): void {
    for (const { stream } of this.#live.streams()) this.#outbox.opened(stream);
  }

  #refusalOf(client: string): Fault | undefined {
    const refusal = this.#refusals.get(client);
    return refusal && new Fault('streams_exceeded', refusal.path, refusal.message);
  }

  /** Sockets are read elsewhere: what they had read by now has come when the answer is there. */
  async #afterReading(): Promise<string[]> {
    const held = await new Promise<number[]>((resolve) => {
      this.#waiting.push(resolve);
      this.post({ type: 'readAll' });
    });
    return held.flatMap((connection) => this.#connections.get(connection)?.session.feed?.stream ?? []);
  }

  receive(message: ToWorker): void {
    switch (message.type) {
      case 'messages':
        this.#read(message.bytes, message.atMs);
        break;
      case 'open':
        this.#open(message);
        break;
      case 'binary':
        this.#connections.get(message.connection)?.session.receiveBinary(message.byteCount);
        break;
      case 'closed':
        this.#connections.get(message.connection)?.session.closed();
        this.#forget(message.connection);
        break;
      case 'ask':
        void this.#answer(message.ask, message.question, message.about);
        break;
      case 'readAll':
        this.#waiting.shift()?.(message.held);
        break;
      case 'readReports':
        this.#readReports(message.wanted);
        break;
      case 'liftBackpressure':
        this.#live.liftBackpressure();
        break;
      case 'closeFeeds':
        this.#core.closeFeeds();
        this.#outbox.flush();
        break;
    }
  }

  #read(bytes: Uint8Array, atMs: number): void {
    for (const message of messagesIn(bytes)) {
      const connection = this.#connections.get(message.connection);
      if (!connection) continue;
      connection.handled++;
      connection.session.receive(message.bytes, atMs);
    }
    Atomics.add(this.setup.read, 0, BigInt(bytes.length));
  }

  #open({ connection, address, identity, stream, ifNew }: OpenedConnection): void {
    const { name, token, covers } = identity;
    const client = token ? `token ${name}` : `address ${address}`;
    this.#refusals.set(client, ifNew);
    const known = { name, token, roles: new Set(['ingest' as const]), covers: () => covers, coversAll: covers };
    const session = this.#core.converse(this.#peer(connection, address), known);
    this.#connections.set(connection, { session, client, stream, handled: 0 });
  }

  /** A stream that its hello did not open is not reserved any longer. */
  #forget(connection: number): void {
    const known = this.#connections.get(connection);
    if (!known) return;
    this.#connections.delete(connection);
    if (!this.#isConnected(known.client)) this.#refusals.delete(known.client);
    if (known.stream !== '' && !this.#live.hasStream(known.stream)) this.#outbox.released(known.stream);
  }

  #isConnected(client: string): boolean {
    for (const connection of this.#connections.values()) if (connection.client === client) return true;
    return false;
  }

  #peer(connection: number, address: string): Peer {
    const say = (message: ToPeer) => this.#outbox.toPeer(message);
    return {
      address,
      send: (text) => say({ type: 'send', connection, text: String(text), handled: this.#handled(connection) }),
      close: (code, reason, patienceMs) => {
        say({ type: 'close', connection, code, reason, patienceMs });
        this.#forget(connection);
      },
      pause: () => say({ type: 'pause', connection }),
      resume: () => say({ type: 'resume', connection }),
      // whoever has the socket looks after it
      backlogBytes: () => 0,
    };
  }

  #handled(connection: number): Handled | undefined {
    const known = this.#connections.get(connection);
    return known && { messages: known.handled, onlyHeld: known.session.onlyHeld };
  }

  /** Those who read get what is there first. */
  #readReports(wanted: boolean): void {
    this.#readsReports = wanted;
    if (!wanted) return;
    for (const report of this.#live.reports()) this.#outbox.restored(report, true);
    this.#outbox.flush();
  }

  async #answer(ask: number, question: Question, about: unknown[]): Promise<void> {
    try {
      const value = await (this.#answers[question] as (...about: unknown[]) => unknown)(...about);
      // what was said before is heard before
      this.#outbox.flush();
      this.post({ type: 'answer', ask, value });
    } catch (error) {
      this.post({ type: 'answer', ask, error: String((error as Error).message ?? error) });
    }
  }

  readonly #answers: Answers = {
    streams: () => this.#live.streams(),
    unknown: (streams) => streams.filter((stream) => !this.#live.hasStream(stream)),
    reports: () => this.#live.reports().map(sentReport),
    window: (...series) => this.#live.window(...series),
    moment: (wanted) => this.#live.moment(wanted),
    recentEvents: (stream) => this.#live.recentEvents(stream),
    trends: (series, points) => this.#core.trends({ ...series, covers: () => true }, points),
    rates: (series) => this.#core.rates({ ...series, covers: () => true }),
    storage: () => this.#live.storage(),
    health: () => this.#live.health(),
    readings: () => {
      const { meters, ...rest } = this.#core.readings();
      return { ...rest, meters: readMeters(meters) };
    },
    quiesce: () => this.#core.quiesce(),
    stop: () => this.#live.stop(),
  };

  #logger(): Logger {
    const write = (level: 'debug' | 'info' | 'warn' | 'error') => (event: string, fields?: Record<string, unknown>) =>
      this.post({ type: 'log', level, event, fields });
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  }
}

/** What is said within one turn of the event loop. */
class Outbox {
  #toPeers: ToPeer[] = [];
  #events: SentEvent[] = [];
  #restored: SentReport[] = [];
  #unseen = false;
  #opened = new Set<string>();
  #gone = new Set<string>();
  #released = new Set<string>();
  #scheduled = false;

  constructor(readonly post: (message: FromWorker) => void) {}

  toPeer(message: ToPeer): void {
    this.#toPeers.push(message);
    this.#schedule();
  }

  event(event: SentEvent): void {
    this.#events.push(event);
    this.#schedule();
  }

  restored(report: Parameters<typeof sentReport>[0], unseen: boolean): void {
    this.#restored.push(sentReport(report));
    this.#unseen ||= unseen;
    this.#schedule();
  }

  opened(stream: string): void {
    this.#gone.delete(stream);
    this.#released.delete(stream);
    this.#opened.add(stream);
    this.#schedule();
  }

  gone(stream: string): void {
    this.#opened.delete(stream);
    this.#gone.add(stream);
    this.#schedule();
  }

  released(stream: string): void {
    this.#released.add(stream);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    const [opened, gone, released] = [[...this.#opened], [...this.#gone], [...this.#released]];
    if (opened.length + gone.length + released.length > 0) this.post({ type: 'streams', opened, gone, released });
    if (this.#restored.length > 0)
      this.post({ type: 'restored', reports: this.#restored.splice(0), unseen: this.#unseen });
    if (this.#events.length > 0) this.post({ type: 'events', events: this.#events.splice(0) });
    if (this.#toPeers.length > 0) this.post({ type: 'toPeers', messages: this.#toPeers.splice(0) });
    this.#opened.clear();
    this.#gone.clear();
    this.#released.clear();
    this.#unseen = false;
  }
}
