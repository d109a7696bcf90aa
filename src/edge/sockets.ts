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
  ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Config, TokenRole } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import { CLOSE_CODES, type CloseCode, HTTP_CODES } from '../wire/codes.js';
import { SUBPROTOCOL } from '../wire/messages.js';
import { WaitingConnections } from './limits/waiting-connections.js';
import { type Access, type HttpRefusal, type Identity, offeredProtocols, refusal, targetOf } from './peers/access.js';
import { type Conversation, type Peer, SLOW_PATIENCE_MS } from './peers/peer.js';
import type { ServerFaults } from './peers/server-faults.js';

/** For the commands and sources that connect as clients do. */
export { WebSocket };

/** What is spoken at an address over WebSocket. */
export interface Endpoint {
  name: 'ingest' | 'live';
  /** what a token must be good for */
  role: TokenRole;
  /** reads the query: how to talk to the peer, or why not */
  open(query: URLSearchParams, identity: Identity): HttpRefusal | ((peer: Peer) => Conversation);
}

/** What is served on the port. */
export interface Site {
  /** WebSocket endpoints by path */
  endpoints: ReadonlyMap<string, Endpoint>;
  answer(request: IncomingMessage, response: ServerResponse): void;
  faults: ServerFaults;
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
  /** name of its token; null where there are none */
  token: string | null;
  conversation: Conversation;
  /** heartbeats since it was last heard of */
  silentBeats: number;
}

/** a connection that has answered none of so many heartbeats is given up */
const SILENT_BEATS_MAX = 2;
/** requests of one connection that may be answered at a time; one that sends more and reads nothing is cut off */
const PIPELINED_MAX = 16;
/** how long any other peer may take to say goodbye */
const PATIENCE_MS = 5000;
/** A peer that is slow to take its close frame is looked at so many times, two to a patience. */
const CLOSING_LOOKS = 10;
/** how often connections are looked at for the timeouts of their requests */
const TIMEOUT_CHECK_MS = 1000;

export class Sockets {
  readonly #parts: SocketsParts;
  readonly #http: HttpServer;
  readonly #webSockets: WebSocketServer;
  readonly #connections = new Set<Connection>();
  readonly #waiting: WaitingConnections;
  readonly #underway = new WeakMap<Socket, number>();
  #heartbeat: NodeJS.Timeout | null = null;
  #stopping = false;

  /** Opens nothing yet. */
  constructor(parts: SocketsParts) {
    const { limits } = parts.config;
    this.#parts = parts;
    this.#http = createServer(parts.config);
    this.#waiting = new WaitingConnections(limits.httpConnections, limits.httpConnectionsPerAddress);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      // a ping is answered only while its sender reads
      autoPong: false,
      maxPayload: limits.payloadBytes,
      maxFragments: limits.fragments,
      maxBufferedChunks: limits.bufferedChunks,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  /** Opens the port; resolves with its URL. */
  async listen(site: Site): Promise<string> {
    const { listen, limits } = this.#parts.config;
    this.#http.on('connection', (socket) => this.#waiting.accept(socket));
    this.#http.on('request', (request, response) => this.#answer(site, request, response));
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

  #answer(site: Site, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const underway = (this.#underway.get(socket) ?? 0) + 1;
    if (underway > PIPELINED_MAX) {
      this.#parts.meters.refused('requests_exceeded');
      socket.destroy();
      return;
    }
    this.#underway.set(socket, underway);
    this.#waiting.requested(request);
    response.once('close', () => {
      const left = this.#underway.get(socket)! - 1;
      this.#underway.set(socket, left);
      if (left === 0) this.#waiting.answered(request);
    });
    site.answer(request, response);
  }

  /**
   * Only WebSocket is spoken besides HTTP/1.1: any other offer is passed over, as HTTP allows, and answered at once.
   */
  #declineUpgrade(site: Site, request: IncomingMessage, socket: Duplex): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => {
      response.detachSocket(socket as Socket);
      socket.end(() => socket.destroy());
    });
    this.#answer(site, request, response);
  }

  #upgrade(site: Site, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', (error) => this.#parts.logger.debug('socket_error', { error }));
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      this.#declineUpgrade(site, request, socket);
      return;
    }
    this.#waiting.upgraded(request);
    const { pathname, searchParams } = targetOf(request);
    const endpoint = site.endpoints.get(pathname);
    const admitted = endpoint ? this.#admit(endpoint, request, searchParams) : noEndpoint(pathname);
    if (!endpoint || typeof admitted !== 'function') {
      this.#refuse(socket, request, admitted as HttpRefusal);
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => admitted(webSocket));
  }

  #admit(
    endpoint: Endpoint,
    request: IncomingMessage,
    query: URLSearchParams,
  ): HttpRefusal | ((webSocket: WebSocket) => void) {
    const refused = this.#crowded(request) ?? subprotocolRefusal(request);
    if (refused) return refused;
    const identity = this.#parts.access.admit(request, endpoint.role);
    if ('code' in identity) return identity;
    const token = identity.token ? identity.name : null;
    const crowded = token === null ? undefined : this.#crowdedToken(token);
    if (crowded) return crowded;
    const converse = endpoint.open(query, identity);
    if (typeof converse !== 'function') return converse;
    const { name } = endpoint;
    const address = request.socket.remoteAddress ?? '';
    return (socket) => this.#connect({ socket, endpoint: name, address, token }, converse);
  }

  #crowdedToken(name: string): HttpRefusal | undefined {
    const { connectionsPerToken } = this.#parts.config.limits;
    let same = 0;
    for (const { token } of this.#connections) if (token === name) same++;
    if (same < connectionsPerToken) return undefined;
    const message = `${connectionsPerToken} connections with token ${name} are open; raise limits.connectionsPerToken`;
    return refusal('token_exceeded', message);
  }

  #crowded(request: IncomingMessage): HttpRefusal | undefined {
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

  #refuse(socket: Duplex, request: IncomingMessage, refused: HttpRefusal): void {
    const { meters, logger } = this.#parts;
    meters.refused(refused.code);
    logger.warn('upgrade_refused', { code: refused.code, address: request.socket.remoteAddress });
    endAsHttp(socket, refused);
  }

  #connect(
    opened: Pick<Connection, 'socket' | 'endpoint' | 'address' | 'token'>,
    converse: (peer: Peer) => Conversation,
  ): void {
    const { logger } = this.#parts;
    const { socket, endpoint, address } = opened;
    const conversation = converse(peerOf(socket, address));
    const connection: Connection = { ...opened, conversation, silentBeats: 0 };
    this.#connections.add(connection);
    socket.on('message', (data, isBinary) => {
      connection.silentBeats = 0;
      if (isBinary) conversation.receiveBinary((data as Buffer).length);
      else conversation.receive(data as Buffer);
    });
    socket.on('ping', (data) => this.#pong(socket, data));
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

  /** Answers a ping of the WebSocket protocol, and cuts off who sends them and reads nothing. */
  #pong(socket: WebSocket, data: Buffer): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (socket.bufferedAmount <= this.#parts.config.limits.backlogBytes) socket.pong(data);
    else closeSocket(socket, 4008, CLOSE_CODES[4008].meaning, SLOW_PATIENCE_MS);
  }
}

function createServer({ tls, limits }: Config): HttpServer {
  const timeouts = {
    headersTimeout: Math.min(limits.headerTimeoutMs, limits.httpTimeoutMs),
    requestTimeout: limits.httpTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  };
  const server = tls
    ? createHttpsServer({
        ...timeouts,
        handshakeTimeout: limits.headerTimeoutMs,
        cert: readFileSync(tls.certFile),
        key: readFileSync(tls.keyFile),
      })
    : createHttpServer(timeouts);
  // a peer that reads nothing of an answer for so long is cut off
  server.setTimeout(limits.httpTimeoutMs);
  // every kind has its own limit; this is the last wall, for those that are being answered
  server.maxConnections = limits.connections + 2 * limits.httpConnections;
  return server;
}

const noEndpoint = (path: string): HttpRefusal =>
  refusal(
    'not_found',
    `${path.slice(0, 80)} is not an address of this server; feeds connect to /v1/ingest, readers to /v1/live`,
  );

function subprotocolRefusal(request: IncomingMessage): HttpRefusal | undefined {
  const offered = offeredProtocols(request);
  return offered.length === 0 || offered.includes(SUBPROTOCOL)
    ? undefined
    : refusal('subprotocol_unknown', `offer the subprotocol ${SUBPROTOCOL}`);
}

/** Answers an upgrade that is refused as plain HTTP, and ends it. */
function endAsHttp(socket: Duplex, { code, message }: HttpRefusal): void {
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
  send: (text, sent) => socket.send(text, { binary: false }, sent && ((error) => error ?? sent())),
  close: (code, reason, patienceMs) => closeSocket(socket, code, reason, patienceMs),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
  backlogBytes: () => socket.bufferedAmount,
});

function closeSocket(socket: WebSocket, code: CloseCode, reason: string, patienceMs = PATIENCE_MS): void {
  // a paused socket would never hear the answer
  socket.resume();
  socket.close(code, reason.slice(0, 120));
  // the close frame waits behind what the peer has not read yet: who reads on gets it, who does not is cut off
  let unread = -1;
  let looks = CLOSING_LOOKS;
  const watch = setInterval(() => {
    const isStuck = socket.bufferedAmount === unread || looks-- === 0;
    if (isStuck) socket.terminate();
    if (isStuck || socket.readyState === socket.CLOSED) clearInterval(watch);
    unread = socket.bufferedAmount;
  }, patienceMs / 2).unref();
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
