/**
 * MQTT: subscribes to topics of a broker and feeds what comes. With QoS 1 a message is acknowledged when it is durable
 * here, so the broker keeps for us what a crash would lose; acknowledgements go out in the order of the messages, as
 * the standard demands. The session persists at the broker, which delivers after a cut what was not acknowledged; what
 * we know to be stored, or on its way, is then not enqueued twice.
 *
 * This file owns the library mqtt. It acknowledges by itself as soon as a message was handled, one after the other. We
 * let it go on at once without an acknowledgement and send that ourselves, by a method its types leave out: the version
 * is pinned, and a test against a real broker fails when the method is gone.
 */
import { readFileSync } from 'node:fs';
import { connect as connectMqtt, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { sourcePassword } from '../config/config.js';
import { Backoff, type MqttSettings, type Source, type SourceParts } from './source.js';
import { SubscribedFeeds } from './subscribed-feeds.js';

interface Delivery {
  messageId: number;
  payload: Uint8Array;
  /** feeds that are not done with it yet */
  open: number;
  /** connection on which it must be acknowledged */
  connection: number;
}

interface Acknowledging {
  _sendPacket(packet: { cmd: 'puback'; messageId: number; reasonCode: number }, done: () => void): void;
}

export class MqttSource implements Source {
  readonly #feeds: SubscribedFeeds;
  readonly #client: MqttClient;
  readonly #backoff: Backoff;
  /** with QoS 1: delivered and not acknowledged, in order */
  #deliveries: Delivery[] = [];
  #connection = 0;
  #timer: NodeJS.Timeout | null = null;
  #stopping = false;

  constructor(
    readonly settings: MqttSettings,
    readonly parts: SourceParts,
  ) {
    const { backoffMs, backoffMaxMs } = parts.config.sources;
    this.#backoff = new Backoff(backoffMs, backoffMaxMs);
    const feeds = settings.feeds.map(({ topic, ...feed }) => ({ filter: topic, ...feed }));
    this.#feeds = new SubscribedFeeds(settings.name, feeds, parts, matches);
    this.#client = connectMqtt(settings.url, this.#options());
    this.#client.handleMessage = (packet, done) => void this.#handle(packet as IPublishPacket, done);
    this.#client.on('connect', ({ sessionPresent }) => this.#connected(sessionPresent));
    this.#client.on('close', () => this.#lost());
    // every error is followed by a close
    this.#client.on('error', (error) =>
      parts.logger.warn('source_failed', { source: settings.name, url: settings.url, error: error.message }),
    );
  }

  #options(): IClientOptions {
    const { settings, parts } = this;
    const { queueMessages, payloadBytes } = parts.config.sources;
    const password = sourcePassword(settings, parts.env);
    return {
      protocolVersion: settings.protocol,
      clientId: settings.clientId ?? `tgospa-${settings.name}`,
      clean: settings.qos === 0,
      username: settings.username,
      ...(password === undefined ? {} : { password }),
      ...(settings.caFile === undefined ? {} : { ca: [readFileSync(settings.caFile)] }),
      connectTimeout: parts.config.sources.connectTimeoutMs,
      keepalive: Math.ceil(parts.config.limits.heartbeatMs / 1000),
      // coming back is our affair: with jitter
      reconnectPeriod: 0,
      resubscribe: false,
      ...(settings.protocol === 5
        ? {
            properties: {
              receiveMaximum: Math.min(65_535, queueMessages),
              maximumPacketSize: payloadBytes + PACKET_OVERHEAD_BYTES,
              sessionExpiryInterval: Math.round(settings.sessionHours * 3600),
            },
          }
        : {}),
    };
  }

  #connected(sessionPresent: boolean): void {
    const { name, qos, url } = this.settings;
    this.#connection++;
    // a broker that has forgotten the session waits for no acknowledgement
    if (!sessionPresent) this.#deliveries = [];
    // `rh: 1`: what is retained comes with a new subscription only
    const filters = Object.fromEntries(this.#feeds.filters.map((filter) => [filter, { qos, rh: 1 as const }]));
    this.#client.subscribe(filters, (error, granted) => {
      const refused = granted?.filter((one) => (one.qos as number) >= 128).map(({ topic }) => topic) ?? [];
      if (!error && refused.length === 0) {
        this.#backoff.reset();
        this.parts.meter.connected = true;
        this.parts.logger.info('source_connected', { source: name, url });
        return;
      }
      const fault = error?.message ?? `the broker does not let ${name} read ${refused.join(', ')}`;
      this.parts.logger.warn('source_failed', { source: name, url, error: fault });
      this.#client.stream.destroy();
    });
  }

  #lost(): void {
    const { meter, logger } = this.parts;
    meter.connected = false;
    if (this.#stopping || this.#timer) return;
    meter.faults++;
    const waitMs = this.#backoff.next();
    logger.info('source_reconnecting', { source: this.settings.name, waitMs: Math.round(waitMs) });
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#client.reconnect();
    }, waitMs);
  }

  /** Handles a message; the next one follows when there is room for it. */
  async #handle(packet: IPublishPacket, done: (error?: Error) => void): Promise<void> {
    const later = packet.qos === 1 && this.settings.acknowledge === 'stored';
    const delivery = later ? this.#deliver(packet) : null;
    if (delivery !== 'known')
      await this.#feeds.dispatch(packet.topic, bytesOf(packet), () => delivery && this.#concluded(delivery));
    // with an error the library handles the next one without an acknowledgement
    done(later ? NOT_YET : undefined);
  }

  #deliver(packet: IPublishPacket): Delivery | 'known' {
    const messageId = packet.messageId!;
    const payload = bytesOf(packet);
    const at = this.#deliveries.findIndex((one) => one.messageId === messageId);
    const known = at < 0 ? null : this.#deliveries.splice(at, 1)[0];
    if (known && packet.dup && Buffer.compare(known.payload, payload) === 0) {
      this.#deliveries.push(Object.assign(known, { connection: this.#connection }));
      this.#acknowledge();
      return 'known';
    }
    const delivery = { messageId, payload, open: 1, connection: this.#connection };
    this.#deliveries.push(delivery);
    return delivery;
  }

  #concluded(delivery: Delivery): void {
    delivery.open = 0;
    this.#acknowledge();
  }

  /** Acknowledges from the oldest on; what came on an earlier connection waits for the broker to deliver it again. */
  #acknowledge(): void {
    while (this.#deliveries.length > 0 && this.#client.connected) {
      const at = this.#deliveries.findIndex(({ connection }) => connection === this.#connection);
      if (at < 0 || this.#deliveries[at].open > 0) return;
      const [{ messageId }] = this.#deliveries.splice(at, 1);
      (this.#client as unknown as Acknowledging)._sendPacket({ cmd: 'puback', messageId, reasonCode: 0 }, () => {});
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer) clearTimeout(this.#timer);
    // what comes now is neither enqueued nor acknowledged: the broker has it for us next time
    this.#client.handleMessage = (_packet, done) => done(NOT_YET);
    const heldComesAgain = this.settings.qos === 1 && this.settings.acknowledge === 'stored';
    await this.#feeds.finish({ heldComesAgain });
    await new Promise<void>((resolve) => this.#client.end(!this.#client.connected, {}, () => resolve()));
  }
}

/** Header, topic and properties of a packet around its payload. */
const PACKET_OVERHEAD_BYTES = 1024;
const NOT_YET = new Error('acknowledged when it is stored');

const bytesOf = (packet: IPublishPacket): Uint8Array =>
  typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;

/** Whether a topic is in a filter, with `+` for one level and `#` for the rest. */
export function matches(filter: string, topic: string): boolean {
  const wanted = filter.split('/');
  const levels = topic.split('/');
  // topics of the broker itself are not meant by wildcards
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false;
  for (const [n, level] of wanted.entries()) {
    if (level === '#') return true;
    if (n >= levels.length || (level !== '+' && level !== levels[n])) return false;
  }
  return wanted.length === levels.length;
}
