/**
 * rosbridge v2: subscribes to topics of a robot and feeds the messages. Written on plain WebSocket rather than on a
 * library, because everything that comes must be bounded: payload, and what waits. Compression and fragments are not
 * asked for, and refused. The bridge keeps `queueLength` messages while we do not read, and drops the oldest beyond.
 */
import { WebSocket } from '../edge/sockets.js';
import { Backoff, type RosbridgeSettings, type Source, SourceFeed, type SourceParts, textOf } from './source.js';

export class RosbridgeSource implements Source {
  readonly #feeds: ReadonlyArray<{ topic: string; feed: SourceFeed }>;
  readonly #backoff: Backoff;
  #socket: WebSocket | null = null;
  #timer: NodeJS.Timeout | null = null;
  #heartbeat: NodeJS.Timeout | null = null;
  #heard = true;
  #pending = 0;
  /** one message after the other */
  #enqueued: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(
    readonly settings: RosbridgeSettings,
    readonly parts: SourceParts,
  ) {
    const { backoffMs, backoffMaxMs } = parts.config.sources;
    this.#backoff = new Backoff(backoffMs, backoffMaxMs);
    this.#feeds = settings.feeds.map((feed) => ({
      topic: feed.topic,
      feed: new SourceFeed(settings.name, feed, parts),
    }));
    parts.meter.waiting = () => this.#feeds.reduce((sum, { feed }) => sum + feed.waiting, 0);
    this.#connect();
  }

  #connect(): void {
    const { payloadBytes, connectTimeoutMs } = this.parts.config.sources;
    const { fragments, bufferedChunks } = this.parts.config.limits;
    const socket = new WebSocket(this.settings.url, {
      perMessageDeflate: false,
      maxPayload: payloadBytes,
      maxFragments: fragments,
      maxBufferedChunks: bufferedChunks,
      handshakeTimeout: connectTimeoutMs,
    } as never);
    this.#socket = socket;
    let fault = '';
    socket.on('open', () => this.#opened(socket));
    socket.on('message', (data, isBinary) => this.#received(socket, data as Buffer, isBinary));
    socket.on('pong', () => {
      this.#heard = true;
    });
    socket.on('error', (error: Error & { code?: string }) => {
      fault = error.message;
      if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
        this.#feeds[0].feed.refuse('payload_too_large', `raise sources.payloadBytes (now ${payloadBytes})`, '');
    });
    socket.on('close', (code) => this.#lost(fault || `closed with ${code}`));
  }

  #opened(socket: WebSocket): void {
    const { name, url, queueLength, throttleMs, feeds } = this.settings;
    for (const { topic, type } of feeds)
      socket.send(
        JSON.stringify({
          op: 'subscribe',
          id: `tgospa:${topic}`,
          topic,
          ...(type === undefined ? {} : { type }),
          throttle_rate: throttleMs,
          queue_length: queueLength,
          compression: 'none',
        }),
      );
    this.#heard = true;
    this.#heartbeat = setInterval(() => this.#beat(socket), this.parts.config.limits.heartbeatMs);
    this.parts.meter.connected = true;
    this.parts.logger.info('source_connected', { source: name, url });
  }

  #beat(socket: WebSocket): void {
    // what is not read from cannot be heard
    if (!this.#heard && !socket.isPaused) {
      socket.terminate();
      return;
    }
    this.#heard = false;
    socket.ping();
  }

  #received(socket: WebSocket, data: Buffer, isBinary: boolean): void {
    const { meter } = this.parts;
    this.#heard = true;
    this.#backoff.reset();
    meter.messages++;
    meter.bytes += data.length;
    meter.lastMs = Date.now();
    const text = isBinary ? null : textOf(data);
    const message = text === null ? null : published(text);
    if (message !== null && 'status' in message) {
      if (message.status === 'error' || message.status === 'warning')
        this.parts.logger.warn('source_status', {
          source: this.settings.name,
          level: message.status,
          msg: message.msg,
        });
      return;
    }
    const wanted = message === null ? [] : this.#feeds.filter(({ topic }) => topic === message.topic);
    if (message === null || wanted.length === 0) {
      this.#feeds[0].feed.refuse('message_invalid', 'is not a publish on a subscribed topic', text ?? '');
      return;
    }
    const body = JSON.stringify(message.msg);
    for (const { feed } of wanted) this.#enqueue(socket, () => feed.enqueue(body));
  }

  /** Reads only while there is room. */
  #enqueue(socket: WebSocket, enqueue: () => Promise<void>): void {
    this.#pending++;
    socket.pause();
    this.#enqueued = this.#enqueued.then(enqueue).then(() => {
      if (--this.#pending === 0 && !this.#stopping && socket === this.#socket) socket.resume();
    });
  }

  #lost(error: string): void {
    const { meter, logger } = this.parts;
    meter.connected = false;
    this.#socket = null;
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    if (this.#stopping) return;
    meter.faults++;
    const waitMs = this.#backoff.next();
    logger.warn('source_failed', {
      source: this.settings.name,
      url: this.settings.url,
      error,
      waitMs: Math.round(waitMs),
    });
    this.#timer = setTimeout(() => this.#connect(), waitMs);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    this.#socket?.pause();
    await Promise.all(this.#feeds.map(({ feed }) => feed.finish({ heldComesAgain: false })));
    this.#socket?.terminate();
  }
}

type Said = { topic: string; msg: object } | { status: string; msg: string };

/** What a text of the bridge says: something published, or something about itself; null when it makes no sense. */
function published(text: string): Said | null {
  let said: Record<string, unknown> | null;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  const { op, topic, msg, level } = said ?? {};
  if (op === 'publish' && typeof topic === 'string' && typeof msg === 'object' && msg !== null) return { topic, msg };
  return op === 'status' ? { status: String(level), msg: String(msg).slice(0, 500) } : null;
}
