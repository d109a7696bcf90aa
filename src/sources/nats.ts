/**
 * NATS: subscribes to subjects of a broker and feeds what comes. With JetStream a message is acknowledged when it is
 * durable here, and messages come in order whatever happens: the broker keeps for us what a crash would lose, and what
 * came while we were away. Core NATS keeps nothing, and cannot be made to wait: what finds the queue full is refused.
 */
import { connectNats, type NatsConnection } from '../cluster/nats/connection.js';
import { ReadingProgress, ResumableReader, type ResumableSettings } from '../cluster/nats/resumable-reader.js';
import { sourcePassword } from '../config/config.js';
import { Backoff, type NatsSettings, type Source, type SourceParts } from './source.js';
import { SubscribedFeeds } from './subscribed-feeds.js';

export class NatsSource implements Source {
  readonly #feeds: SubscribedFeeds;
  readonly #backoff: Backoff;
  readonly #progress = new Map<string, ReadingProgress>();
  readonly #ended: Promise<void>;
  #connection: NatsConnection | null = null;
  #readers: ResumableReader[] = [];
  #stopping = false;
  #stopWaiting = () => {};

  constructor(
    readonly settings: NatsSettings,
    readonly parts: SourceParts,
  ) {
    const { backoffMs, backoffMaxMs } = parts.config.sources;
    this.#backoff = new Backoff(backoffMs, backoffMaxMs);
    const feeds = settings.feeds.map(({ subject, ...feed }) => ({ filter: subject, ...feed }));
    this.#feeds = new SubscribedFeeds(settings.name, feeds, parts, (filter, subject) => filter === subject);
    for (const filter of this.#feeds.filters) this.#progress.set(filter, new ReadingProgress());
    this.#ended = this.#run();
  }

  async #run(): Promise<void> {
    const { meter, logger } = this.parts;
    const { name, servers } = this.settings;
    while (!this.#stopping) {
      const fault = await this.#serve().then(
        () => null,
        (error: Error) => error,
      );
      if (this.#stopping) return;
      meter.connected = false;
      meter.faults++;
      if (fault) logger.warn('source_failed', { source: name, servers, error: fault.message });
      await this.#connection?.close();
      await this.#wait();
    }
  }

  /** One connection, from its beginning to its end. */
  async #serve(): Promise<void> {
    const connection = await this.#connect();
    this.#connection = connection;
    if (this.#stopping) return connection.close();
    if (this.settings.jetstream === undefined) await this.#listen(connection);
    else await this.#read(connection, this.settings.jetstream);
  }

  #connect(): Promise<NatsConnection> {
    const { settings, parts } = this;
    const { name, servers, username, credentialsFile, caFile } = settings;
    return connectNats({
      name: `tgospa ${name}`,
      servers,
      username,
      password: sourcePassword(settings, parts.env),
      credentialsFile,
      caFile,
      connectTimeoutMs: parts.config.sources.connectTimeoutMs,
      heartbeatMs: parts.config.limits.heartbeatMs,
    });
  }

  #connected(): void {
    this.#backoff.reset();
    this.parts.meter.connected = true;
    this.parts.logger.info('source_connected', { source: this.settings.name, servers: this.settings.servers });
  }

  async #read(connection: NatsConnection, stream: string): Promise<void> {
    try {
      for (const [subject, progress] of this.#progress)
        this.#readers.push(await ResumableReader.open(connection, this.#readerSettings(stream, subject), progress));
      if (this.#stopping) return;
      this.#connected();
      await Promise.all(this.#readers.map((reader) => this.#forward(reader)));
    } finally {
      this.#stopReading();
    }
  }

  #readerSettings(stream: string, subject: string): ResumableSettings {
    const { name, reader = `tgospa-${name}`, begin, sessionHours } = this.settings;
    const pendingMax = this.parts.config.sources.queueMessages;
    return { stream, reader, subject, begin, keepMs: sessionHours * 3_600_000, pendingMax };
  }

  async #forward(reader: ResumableReader): Promise<void> {
    const { subject } = reader.settings;
    for await (const { payload, conclude } of reader) await this.#feeds.dispatch(subject, payload, conclude);
    // one that ends takes the others with it: all of them resume together
    this.#stopReading();
  }

  #stopReading(): void {
    for (const reader of this.#readers.splice(0)) reader.stop();
  }

  async #listen(connection: NatsConnection): Promise<void> {
    const refused = new Promise<Error>((resolve) => {
      for (const filter of this.#feeds.filters)
        connection.subscribe(filter, {
          callback: (error, message) => {
            if (error) resolve(error);
            else this.#heard(filter, message.data);
          },
        });
    });
    await connection.flush();
    this.#connected();
    const fault = await Promise.race([connection.closed(), refused]);
    if (fault) throw fault;
  }

  #heard(filter: string, payload: Uint8Array): void {
    if (this.#stopping) return;
    const { queueMessages } = this.parts.config.sources;
    if (this.#feeds.waiting >= queueMessages)
      this.#feeds.refuse(
        filter,
        'queue_full',
        `${queueMessages} messages wait to be stored; raise sources.queueMessages, or have JetStream keep them`,
      );
    else void this.#feeds.dispatch(filter, payload);
  }

  #wait(): Promise<void> {
    const waitMs = this.#backoff.next();
    this.parts.logger.info('source_reconnecting', { source: this.settings.name, waitMs: Math.round(waitMs) });
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#stopWaiting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopWaiting();
    this.#stopReading();
    await this.#feeds.finish({ heldComesAgain: this.settings.jetstream !== undefined });
    // what was concluded is acknowledged before the connection goes
    await this.#connection?.flush().catch(() => {});
    await this.#connection?.close();
    await this.#ended;
  }
}
