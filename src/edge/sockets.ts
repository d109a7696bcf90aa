/**
 * Every socket of the server: the port, the WebSocket connections on it, and their heartbeats. Whether a peer may
 * connect is decided before its connection is upgraded; what it says is the business of the endpoint it connects to.
 * This file owns the library ws.
 */
import { readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Config, TokenRole } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import { type CloseCode, HTTP_CODES } from '../wire/codes.js';
import { SUBPROTOCOL } from '../wire/messages.js';
import { type Access, type Identity, offeredProtocols, type Refusal, refusal, targetOf } from './access.js';
import type { Faults } from './faults.js';
import type { Conversation, Peer } from './peer.js';

/** For the commands and sources that connect as clients do. */
export { WebSocket };

/** What is spoken at an address over WebSocket. */
export interface Endpoint {
  name: 'ingest' | 'live';
  /** what a token must be good for */
  role: TokenRole;
  /** reads the query: how to talk to the peer, or why not */
  open(query: URLSearchParams, identity: Identity): Refusal | ((peer: Peer) => Conversation);
}

/** What is served on the port. */
export interface Site {
  /** WebSocket endpoints by path */
  endpoints: ReadonlyMap<string, Endpoint>;
  answer(request: IncomingMessage, response: ServerResponse): void;
  faults: Faults;
}

export interface SocketsParts {
  config: Config;
  access: Access;
  meters: Meters;
  logger: Logger;
}

interface Connection {
  socket: WebSocket;
  endpoint: Endpoint['name'];
  address: string;
  conversation: Conversation;
  /** heartbeats since it was last heard of */
  silentBeats: number;
}

/** a connection that has answered none of so many heartbeats is given up */
const SILENT_BEATS_MAX = 2;
/** plain HTTP connections besides those that may be upgraded */
const HTTP_CONNECTIONS = 256;

export class Sockets {
  readonly #parts: SocketsParts;
  readonly #http: HttpServer;
  readonly #webSockets: WebSocketServer;
  readonly #connections = new Set<Connection>();
  #heartbeat: NodeJS.Timeout | null = null;
  #stopping = false;

  /** Opens nothing yet. */
  constructor(parts: SocketsParts) {
    const { limits } = parts.config;
    this.#parts = parts;
    this.#http = createServer(parts.config);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.payloadBytes,
      maxFragments: limits.fragments,
      maxBufferedChunks: limits.bufferedChunks,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  /** Opens the port; resolves with its URL. */
  async listen(site: Site): Promise<string> {
    const { listen, limits } = this.#parts.config;
    this.#http.on('request', (request, response) => site.answer(request, response));
    this.#http.on('upgrade', (request, socket, head) => {
      try {
        this.#upgrade(site, request, socket, head);
      } catch (error) {
        site.faults.report('upgrade', error);
        socket.destroy();
      }
    });
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(listen.port, listen.host, () => {
        this.#http.off('error', reject);
        resolve();
      });
    });
    this.#heartbeat = setInterval(() => this.#beat(), limits.heartbeatMs);
    return this.#url;
  }

  get #url(): string {
    const { address, port, family } = this.#http.address() as AddressInfo;
    const host = family === 'IPv6' ? `[${address}]` : address;
    return `${this.#parts.config.tls ? 'https' : 'http'}://${host}:${port}`;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Open WebSocket connections by endpoint. */
  counts(): Record<Endpoint['name'], number> {
    const counts = { ingest: 0, live: 0 };
    for (const { endpoint } of this.#connections) counts[endpoint]++;
    return counts;
  }

  /** Accepts no more connections; those there are stay. */
  refuseMore(): void {
    this.#stopping = true;
    this.#http.close();
  }

  /** Closes what is left: readers are told, then whoever has not answered within `limits.stopMs` is cut off. */
  async close(): Promise<void> {
    for (const { socket, endpoint } of this.#connections) if (endpoint === 'live') socket.close(1001, 'stopping');
    await within(this.#parts.config.limits.stopMs, this.#allClosed());
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    for (const { socket } of this.#connections) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }

  #allClosed(): Promise<void> {
    return new Promise((resolve) => {
      const check = () => this.#connections.size === 0 && resolve();
      for (const { socket } of this.#connections) socket.once('close', () => setImmediate(check));
      check();
    });
  }

  #beat(): void {
    for (const connection of this.#connections) {
      // what is not read from cannot be heard
      if (connection.conversation.paused) connection.silentBeats = 0;
      if (connection.silentBeats++ >= SILENT_BEATS_MAX) connection.socket.terminate();
      else connection.socket.ping();
    }
  }

  #upgrade(site: Site, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', (error) => this.#parts.logger.debug('socket_error', { error }));
    const { pathname, searchParams } = targetOf(request);
    const endpoint = site.endpoints.get(pathname);
    const admitted = endpoint ? this.#admit(endpoint, request, searchParams) : noEndpoint(pathname);
    if (!endpoint || typeof admitted !== 'function') {
      this.#refuse(socket, request, admitted as Refusal);
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      this.#connect(webSocket, endpoint.name, request.socket.remoteAddress ?? '', admitted),
    );
  }

  #admit(endpoint: Endpoint, request: IncomingMessage, query: URLSearchParams): ReturnType<Endpoint['open']> {
    const refused = this.#crowded(request) ?? subprotocolRefusal(request);
    if (refused) return refused;
    const identity = this.#parts.access.admit(request, endpoint.role);
    return 'code' in identity ? identity : endpoint.open(query, identity);
  }

  #crowded(request: IncomingMessage): Refusal | undefined {
    const { connections, connectionsPerAddress } = this.#parts.config.limits;
    if (this.#stopping) return refusal('stopping', 'the server is stopping; try again later');
    if (this.#connections.size >= connections)
      return refusal('connections_exceeded', `${connections} connections are open; raise limits.connections`);
    let same = 0;
    for (const { address } of this.#connections) if (address === request.socket.remoteAddress) same++;
    if (same < connectionsPerAddress) return undefined;
    return refusal(
      'address_exceeded',
      `${connectionsPerAddress} connections of this address are open; raise limits.connectionsPerAddress`,
    );
  }

  #refuse(socket: Duplex, request: IncomingMessage, refused: Refusal): void {
    const { meters, logger } = this.#parts;
    meters.refused(refused.code);
    logger.warn('upgrade_refused', { code: refused.code, address: request.socket.remoteAddress });
    endAsHttp(socket, refused);
  }

  #connect(
    socket: WebSocket,
    endpoint: Endpoint['name'],
    address: string,
    converse: (peer: Peer) => Conversation,
  ): void {
    const { logger } = this.#parts;
    const conversation = converse(peerOf(socket, address));
    const connection: Connection = { socket, endpoint, address, conversation, silentBeats: 0 };
    this.#connections.add(connection);
    socket.on('message', (data, isBinary) => {
      connection.silentBeats = 0;
      if (isBinary) conversation.receiveBinary((data as Buffer).length);
      else conversation.receive(data as Buffer, Date.now());
    });
    socket.on('pong', () => {
      connection.silentBeats = 0;
    });
    socket.on('error', (error) => logger.debug('websocket_error', { address, error: error.message }));
    socket.on('close', (code) => {
      this.#connections.delete(connection);
      conversation.closed();
      logger.debug('connection_closed', { endpoint, address, code });
    });
  }
}

function createServer({ tls, limits }: Config): HttpServer {
  const timeouts = { headersTimeout: limits.httpTimeoutMs, requestTimeout: limits.httpTimeoutMs };
  const server = tls
    ? createHttpsServer({ ...timeouts, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) })
    : createHttpServer(timeouts);
  // WebSocket connections are limited before their upgrade; this is the last wall, for plain HTTP
  server.maxConnections = limits.connections + HTTP_CONNECTIONS;
  return server;
}

const noEndpoint = (path: string): Refusal =>
  refusal('not_found', `${path.slice(0, 80)} is no address here; feeds connect to /v1/ingest, readers to /v1/live`);

function subprotocolRefusal(request: IncomingMessage): Refusal | undefined {
  const offered = offeredProtocols(request);
  return offered.length === 0 || offered.includes(SUBPROTOCOL)
    ? undefined
    : refusal('subprotocol_unknown', `offer the subprotocol ${SUBPROTOCOL}`);
}

/** Answers an upgrade that is refused as plain HTTP, and ends it. */
function endAsHttp(socket: Duplex, { code, message }: Refusal): void {
  const { status } = HTTP_CODES[code];
  const body = JSON.stringify({ code, message });
  const head = [
    `HTTP/1.1 ${status} ${code}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  if (status === 401) head.push('WWW-Authenticate: Bearer');
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const peerOf = (socket: WebSocket, address: string): Peer => ({
  address,
  send: (text, sent) => socket.send(text, sent && ((error) => error ?? sent())),
  close: (code, reason, patienceMs) => closeSocket(socket, code, reason, patienceMs),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
  backlogBytes: () => socket.bufferedAmount,
});

function closeSocket(socket: WebSocket, code: CloseCode, reason: string, patienceMs?: number): void {
  // a paused socket would never hear the answer
  socket.resume();
  socket.close(code, reason.slice(0, 120));
  // the close frame waits behind what the peer does not read
  if (patienceMs !== undefined) setTimeout(() => socket.terminate(), patienceMs).unref();
}

/** Resolves with the promise, or when the time is over. */
export async function within(limitMs: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
