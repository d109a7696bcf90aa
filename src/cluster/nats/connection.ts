/**
 * A connection to NATS: servers, credentials, heartbeat, and whether the server may be trusted with a log. Unless told
 * to, it never comes back by itself: whoever holds it resumes where it was, and connects again.
 */
import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';

export type { Msg, NatsConnection } from '@nats-io/transport-node';

export interface NatsAccess {
  /** who we are, in the lists of the broker */
  name: string;
  /** any of them serves; nats://, or tls:// where a server must prove who it is */
  servers: string[];
  username?: string;
  password?: string;
  /** of a decentralized account: file with its JWT and seed */
  credentialsFile?: string;
  /** PEM file with the authority that signed the certificates of the servers */
  caFile?: string;
  connectTimeoutMs: number;
  /** a server that does not answer two of these is given up */
  heartbeatMs: number;
  /** come back forever, after about this time, instead of closing */
  reconnectMs?: number;
}

export function connectNats(access: NatsAccess): Promise<NatsConnection> {
  const { name, servers, username, password, credentialsFile, caFile } = access;
  const secure = caFile !== undefined || servers.some((url) => url.startsWith('tls:'));
  return connect({
    name,
    servers,
    ...(username === undefined ? {} : { user: username, pass: password ?? '' }),
    ...(credentialsFile === undefined ? {} : { authenticator: credsAuthenticator(readFileSync(credentialsFile)) }),
    ...(secure ? { tls: caFile === undefined ? {} : { caFile } } : {}),
    timeout: access.connectTimeoutMs,
    pingInterval: access.heartbeatMs,
    maxPingOut: 2,
    reconnect: access.reconnectMs !== undefined,
    maxReconnectAttempts: -1,
    reconnectTimeWait: access.reconnectMs,
    waitOnFirstConnect: access.reconnectMs !== undefined,
  });
}

/** Before it, whole streams were lost when a server was killed, and acknowledged messages when the network was cut. */
const OLDEST_SERVER = [2, 10, 23];

/** Throws a sentence when the server is too old to keep a log. */
export function checkServerVersion(version: string): void {
  const parts = version.split(/[.-]/).map(Number);
  const at = OLDEST_SERVER.findIndex((oldest, n) => parts[n] !== oldest);
  if (at >= 0 && !(parts[at] > OLDEST_SERVER[at]))
    throw new Error(
      `the NATS server has version ${version}; ${OLDEST_SERVER.join('.')} or newer is needed: older ones lose what they acknowledged`,
    );
}

/** What is known about a server from its monitoring port, `/jsz`; null when nobody said where that is. */
export interface JetStreamFacts {
  config?: { sync_always?: boolean };
}

/** A warning unless the server is known to flush before it acknowledges. */
export function syncWarning(server: string, facts: JetStreamFacts | null): string | null {
  if (facts?.config?.sync_always === true) return null;
  const known = facts === null ? 'may acknowledge' : 'acknowledges';
  return `NATS server ${server} ${known} what a power cut would lose; set jetstream.sync_interval: always there`;
}

/** of a server that is not told otherwise */
const PAYLOAD_MAX = 1024 ** 2;

/** Bytes that the server accepts in one message. */
export const payloadMaxOf = (connection: NatsConnection): number => connection.info?.max_payload ?? PAYLOAD_MAX;

/** Calls back whenever the connection is there again after it was not. */
export function onReconnect(connection: NatsConnection, again: () => void): void {
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'reconnect') again();
  })();
}

/** timeouts in a row after which another server is tried; brokers choose a leader within four or five */
const TIMEOUTS_MAX = 5;
/** when a connection last changed its server for that, by our monotonic clock */
const changedMs = new WeakMap<NatsConnection, number>();

/**
 * What was asked over this connection has not been answered since then. Servers may hear us and not each other: after
 * a while the next one is tried, which may know who answers.
 */
export function noticeUnanswered(connection: NatsConnection, sinceMs: number, timeoutMs: number): void {
  const nowMs = performance.now();
  const waitingMs = nowMs - Math.max(sinceMs, changedMs.get(connection) ?? 0);
  if (waitingMs < TIMEOUTS_MAX * timeoutMs || connection.isClosed()) return;
  changedMs.set(connection, nowMs);
  connection.reconnect().catch(() => {});
}
