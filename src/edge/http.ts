/**
 * The HTTP and WebSocket edge, everything on one port: /v1/ingest and /v1/live over WebSocket, JSON, health and
 * /metrics over HTTP. Whether a peer may connect is decided before its connection is upgraded; what it then says is
 * the business of ingest.ts and subscription.ts. This file owns the library ws.
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
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { type Config, paramsByName, type TokenRole } from '../config/config.js';
import { presets } from '../metric/params.js';
import type { Logger } from '../telemetry/logger.js';
import type { StorageGauges, Telemetry } from '../telemetry/telemetry.js';
import { type CloseCode, HTTP_CODES, type HttpCode } from '../wire/codes.js';
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import { SUBPROTOCOL } from '../wire/messages.js';
import { Access, type Identity, offeredProtocols, type Refusal } from './access.js';
import type { IngestTarget } from './feed-queue.js';
import { pageFiles } from './page-files.js';
import { IngestDesk, type Peer } from './session.js';
import { type Filter, LiveBoard, type Reader } from './subscribers.js';
import { TrendBoard } from './trend.js';

/** For the commands that connect as clients do: this file owns the library. */
export { WebSocket };

/** What the edge needs of the pipeline. */
export interface LivePort extends IngestTarget {
  readonly events$: { subscribe(next: (event: LiveEvent) => void): { unsubscribe(): void } };
  streams(): Array<{ stream: string; dimensions: number }>;
  /** the newest report of every series */
  reports(): ReportEvent[];
  storage(): StorageGauges;
  window(stream: string, tracker: string, profile: string): unknown;
  recentEvents(stream?: string): LiveEvent[];
  health(): { ready: boolean; reasons: string[] };
}

export interface ServerParts {
  config: Config;
  live: LivePort;
  telemetry: Telemetry;
  logger: Logger;
  version: string;
  env?: NodeJS.ProcessEnv;
}

interface Connection {
  socket: WebSocket;
  kind: 'ingest' | 'live';
  address: string;
  /** heartbeats since it was last heard of */
  silentBeats: number;
  paused: () => boolean;
}

const gzipAsync = promisify(gzip);

type Handler = (query: URLSearchParams, identity: Identity, request: IncomingMessage) => Answer | Promise<Answer>;

interface Answer {
  status?: number;
  contentType?: string;
  body: string;
  gzip?: boolean;
}

/** Thrown by handlers to refuse a request. */
class HttpFault extends Error {
  constructor(
    readonly code: HttpCode,
    message: string,
  ) {
    super(message);
  }
}

const json = (value: unknown, status = 200): Answer => ({
  status,
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
  gzip: true,
});

/** Ends a refused upgrade as plain HTTP. */
function refuseUpgrade(socket: Duplex, { code, message }: Refusal): void {
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

export class EdgeServer {
  readonly board: LiveBoard;
  readonly desk: IngestDesk;
  readonly trends: TrendBoard;
  #page = pageFiles();
  #parts: ServerParts;
  #access: Access;
  #http: HttpServer;
  #webSockets: WebSocketServer;
  #connections = new Set<Connection>();
  #routes: Map<string, { role: TokenRole | null; handle: Handler }>;
  #heartbeat: NodeJS.Timeout | null = null;
  #subscription: { unsubscribe(): void };
  #stopping = false;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    const { config, live, telemetry, logger, env } = parts;
    this.#access = new Access(config, env);
    this.board = new LiveBoard(config.limits, telemetry.counts);
    this.trends = new TrendBoard(config.limits.trendFrames, config.limits.series);
    const dimensions = new Map(live.streams().map((info) => [info.stream, info.dimensions]));
    this.desk = new IngestDesk(config, live, telemetry, logger, dimensions);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: config.limits.payloadBytes,
      maxFragments: config.limits.fragments,
      maxBufferedChunks: config.limits.bufferedChunks,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
    this.#http = this.#createHttp();
    this.#routes = this.#routeTable();
    for (const report of live.reports()) {
      telemetry.restore(report);
      this.board.restore(report);
      this.trends.note(report);
    }
    this.#subscription = live.events$.subscribe((event) => this.#publish(event));
    telemetry.surroundings = {
      connections: () => this.#countConnections(),
      pausedConnections: () => [...this.desk.sessions].filter((session) => session.behind).length,
      waitingFrames: () => this.desk.waitingFrames,
      ready: () => this.#health().ready,
      streams: () => live.streams().map(({ stream }) => stream),
      storage: () => live.storage(),
    };
  }

  #createHttp(): HttpServer {
    const { tls, limits } = this.#parts.config;
    const timeouts = { headersTimeout: limits.httpTimeoutMs, requestTimeout: limits.httpTimeoutMs };
    const server = tls
      ? createHttpsServer({ ...timeouts, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) })
      : createHttpServer(timeouts);
    // WebSocket connections are limited before their upgrade; this is the last wall, for plain HTTP
    server.maxConnections = limits.connections + 256;
    server.on('request', (request, response) => void this.#request(request, response));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    return server;
  }

  /** Opens the port; resolves with its URL. */
  async listen(): Promise<string> {
    const { host, port } = this.#parts.config.listen;
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        resolve();
      });
    });
    this.#heartbeat = setInterval(() => this.#beat(), this.#parts.config.limits.heartbeatMs);
    return this.url;
  }

  get url(): string {
    const { address, port, family } = this.#http.address() as AddressInfo;
    const host = family === 'IPv6' ? `[${address}]` : address;
    return `${this.#parts.config.tls ? 'https' : 'http'}://${host}:${port}`;
  }

  /** Stops accepting, stores and acks what has come, and closes the feeds. */
  async quiesce(): Promise<void> {
    this.#stopping = true;
    this.#http.close();
    this.desk.freeze();
    // what a stuck disk does not take in time was not acked, and is sent again after the next start
    await within(this.#parts.config.limits.stopMs, this.desk.drain());
    for (const session of [...this.desk.sessions]) session.close(1001, 'stopping');
  }

  /** Closes what is left: subscribers, then whoever does not answer in time. */
  async close(): Promise<void> {
    this.#subscription.unsubscribe();
    this.desk.stop();
    for (const { socket, kind } of this.#connections) if (kind === 'live') socket.close(1001, 'stopping');
    await within(this.#parts.config.limits.stopMs, this.#allGone());
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    for (const { socket } of this.#connections) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise<void>((resolve) => this.#http.close(() => resolve()));
  }

  #allGone(): Promise<void> {
    return new Promise((resolve) => {
      const gone = () => this.#connections.size === 0 && resolve();
      for (const { socket } of this.#connections) socket.once('close', () => setImmediate(gone));
      gone();
    });
  }

  #publish(event: LiveEvent): void {
    this.#parts.telemetry.observe(event, Date.now());
    this.board.publish(event);
    this.trends.note(event);
    if (event.type === 'retired') this.#retired(event.stream);
  }

  /** A stream that is gone may come back with other objects. */
  #retired(name: string): void {
    if (!this.#parts.live.streams().some(({ stream }) => stream === name)) this.desk.forgetStream(name);
  }

  #countConnections(): { ingest: number; live: number } {
    const counts = { ingest: 0, live: 0 };
    for (const { kind } of this.#connections) counts[kind]++;
    return counts;
  }

  #health(): { ready: boolean; reasons: string[] } {
    const { ready, reasons } = this.#parts.live.health();
    return this.#stopping ? { ready: false, reasons: [...reasons, 'the server is stopping'] } : { ready, reasons };
  }

  #beat(): void {
    for (const connection of this.#connections) {
      // what is not read from cannot be heard
      if (connection.paused()) connection.silentBeats = 0;
      if (connection.silentBeats++ >= 2) connection.socket.terminate();
      else connection.socket.ping();
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', (error) => this.#parts.logger.debug('socket_error', { error }));
    const { pathname, searchParams } = targetOf(request);
    const kind = pathname === '/v1/ingest' ? 'ingest' : pathname === '/v1/live' ? 'live' : null;
    const identity = kind
      ? (this.#crowded(request) ?? this.#admitUpgrade(request, kind))
      : refusal(
          'not_found',
          `${pathname.slice(0, 80)} is no address here; feeds connect to /v1/ingest, readers to /v1/live`,
        );
    const filter = 'code' in identity || kind === 'ingest' ? identity : liveFilter(searchParams, identity);
    if ('code' in filter) {
      this.#parts.telemetry.refused(filter.code);
      this.#parts.logger.warn('upgrade_refused', { code: filter.code, address: request.socket.remoteAddress });
      refuseUpgrade(socket, filter);
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const address = request.socket.remoteAddress ?? '';
      if (kind === 'ingest') this.#connectIngest(webSocket, address, identity as Identity);
      else this.#connectLive(webSocket, address, filter);
    });
  }

  #crowded(request: IncomingMessage): Refusal | undefined {
    const { connections, connectionsPerAddress } = this.#parts.config.limits;
    if (this.#stopping) return refusal('stopping', 'the server is stopping; come back later');
    if (this.#connections.size >= connections)
      return refusal('connections_exceeded', `${connections} connections are open; raise limits.connections`);
    let same = 0;
    for (const { address } of this.#connections) if (address === request.socket.remoteAddress) same++;
    return same >= connectionsPerAddress
      ? refusal(
          'address_exceeded',
          `${connectionsPerAddress} connections of this address are open; raise limits.connectionsPerAddress`,
        )
      : undefined;
  }

  #admitUpgrade(request: IncomingMessage, kind: 'ingest' | 'live'): Identity | Refusal {
    const offered = offeredProtocols(request);
    if (offered.length > 0 && !offered.includes(SUBPROTOCOL))
      return refusal('subprotocol_unknown', `offer the subprotocol ${SUBPROTOCOL}`);
    return this.#access.admit(request, kind === 'ingest' ? 'ingest' : 'read');
  }

  #track(connection: Connection, left: () => void): void {
    const { socket } = connection;
    this.#connections.add(connection);
    socket.on('pong', () => {
      connection.silentBeats = 0;
    });
    socket.on('error', (error) =>
      this.#parts.logger.debug('websocket_error', { address: connection.address, error: error.message }),
    );
    socket.on('close', (code) => {
      this.#connections.delete(connection);
      left();
      this.#parts.logger.debug('connection_closed', { endpoint: connection.kind, address: connection.address, code });
    });
  }

  #connectIngest(socket: WebSocket, address: string, identity: Identity): void {
    const session = this.desk.connect(peerOf(socket, address), identity);
    const connection: Connection = { socket, kind: 'ingest', address, silentBeats: 0, paused: () => session.paused };
    this.#track(connection, () => session.closed());
    socket.on('message', (data, isBinary) => {
      connection.silentBeats = 0;
      if (isBinary) session.receiveBinary((data as Buffer).length);
      else session.receive(data as Buffer, Date.now());
    });
  }

  #connectLive(socket: WebSocket, address: string, filter: Filter): void {
    const connection: Connection = { socket, kind: 'live', address, silentBeats: 0, paused: () => false };
    const subscription = this.board.subscribe(readerOf(socket), filter);
    this.#track(connection, () => subscription.closed());
    // readers have nothing to say; a ping is answered so that a page can tell a dead connection from a quiet one
    socket.on('message', (data, isBinary) => {
      connection.silentBeats = 0;
      if (!isBinary && (data as Buffer).length < 64 && String(data).includes('"ping"')) socket.send('{"type":"pong"}');
    });
  }

  #routeTable(): Map<string, { role: TokenRole | null; handle: Handler }> {
    const health: Handler = () => ({ contentType: 'text/plain; charset=utf-8', body: 'ok\n' });
    const ready: Handler = () => {
      const state = this.#health();
      return json(state, state.ready ? 200 : 503);
    };
    return new Map<string, { role: TokenRole | null; handle: Handler }>([
      ['/healthz', { role: null, handle: health }],
      ['/-/healthy', { role: null, handle: health }],
      ['/readyz', { role: null, handle: ready }],
      ['/-/ready', { role: null, handle: ready }],
      ['/metrics', { role: 'read', handle: (_, identity, request) => this.#metrics(identity, request) }],
      ['/v1/streams', { role: 'read', handle: (_, identity) => this.#streams(identity) }],
      ['/v1/window', { role: 'read', handle: (query, identity) => this.#window(query, identity) }],
      ['/v1/trend', { role: 'read', handle: (query, identity) => this.#trend(query, identity) }],
      ['/v1/events', { role: 'read', handle: (query, identity) => this.#events(query, identity) }],
      ['/v1/config', { role: 'read', handle: (_, identity) => this.#config(identity) }],
      ['/v1/ingest', { role: null, handle: upgradeExpected }],
      ['/v1/live', { role: null, handle: upgradeExpected }],
    ]);
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#page.serve(request, response, targetOf(request).pathname)) return;
    let answer: Answer;
    try {
      answer = await this.#answer(request);
    } catch (error) {
      answer = this.#failure(error);
    }
    await this.#respond(request, response, answer);
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams } = targetOf(request);
    const route = this.#routes.get(pathname);
    if (!route) throw new HttpFault('not_found', `${pathname.slice(0, 80)} is no address here; / lists them`);
    // a page of an allowed origin asks whether it may send its token along
    if (request.method === 'OPTIONS' && this.#access.allowsOrigin(request)) return { status: 204, body: '' };
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpFault('method_forbidden', `${request.method} is not possible here; use GET`);
    // open addresses tell nothing about streams, so they need no token
    const identity = route.role === null ? NOBODY : this.#access.admit(request, route.role);
    if ('code' in identity) throw new HttpFault(identity.code, identity.message);
    return route.handle(searchParams, identity, request);
  }

  #failure(error: unknown): Answer {
    const code = error instanceof HttpFault ? error.code : 'fault';
    if (code === 'fault') this.#parts.logger.error('request_failed', { error });
    else this.#parts.telemetry.refused(code);
    const message = error instanceof HttpFault ? error.message : 'the server failed to answer; its log says why';
    return json({ code, message }, HTTP_CODES[code].status);
  }

  async #respond(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    const { status = 200, contentType = 'text/plain', body } = answer;
    const compress =
      answer.gzip &&
      body.length > 1024 &&
      /\bgzip\b(?!\s*;\s*q=0(\.0*)?\b)/.test(String(request.headers['accept-encoding'] ?? ''));
    const bytes = compress ? await gzipAsync(body, { level: 1 }) : Buffer.from(body);
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Length', bytes.length);
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Vary', 'Accept, Accept-Encoding, Origin');
    if (compress) response.setHeader('Content-Encoding', 'gzip');
    if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    if (this.#access.allowsOrigin(request)) this.#allowPage(request, response);
    response.writeHead(status);
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }

  #allowPage(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin!);
    response.setHeader('Access-Control-Allow-Headers', 'Authorization');
  }

  async #metrics(identity: Identity, request: IncomingMessage): Promise<Answer> {
    requireAll(identity, '/metrics');
    const { contentType, body } = await this.#parts.telemetry.expose(request.headers.accept);
    return { contentType, body, gzip: true };
  }

  #streams(identity: Identity): Answer {
    const streams = this.#parts.live.streams().filter(({ stream }) => identity.covers(stream));
    // ages are told by the server's clock
    return json({ nowMs: Date.now(), streams });
  }

  /** Costs and distances over the last frames: of one series, or thinned out, of all that match. */
  #trend(query: URLSearchParams, identity: Identity): Answer {
    const points = Number(query.get('points') ?? this.#parts.config.limits.trendFrames);
    if (!Number.isSafeInteger(points) || points < 1)
      throw new HttpFault('request_invalid', 'points must be a whole number from 1');
    const wanted = (key: string) => query.get(key) ?? undefined;
    const stream = wanted('stream');
    if (stream !== undefined) requireStream(identity, stream);
    const filter = { stream, tracker: wanted('tracker'), profile: wanted('profile'), covers: identity.covers };
    return json({ series: this.trends.list(filter, points) });
  }

  async #window(query: URLSearchParams, identity: Identity): Promise<Answer> {
    const [stream, tracker, profile] = ['stream', 'tracker', 'profile'].map((key) => required(query, key));
    requireStream(identity, stream);
    const window = await this.#parts.live.window(stream, tracker, profile);
    if (!window)
      throw new HttpFault(
        'not_found',
        `no series has stream ${stream}, tracker ${tracker} and profile ${profile}; /v1/streams lists them`,
      );
    return json(window);
  }

  #events(query: URLSearchParams, identity: Identity): Answer {
    const stream = query.get('stream') ?? undefined;
    if (stream !== undefined) requireStream(identity, stream);
    const limit = Number(query.get('limit') ?? 100);
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new HttpFault('request_invalid', 'limit must be a whole number from 1');
    const events = this.#parts.live.recentEvents(stream).filter((event) => identity.covers(event.stream));
    return json({ events: events.slice(-limit) });
  }

  #config(identity: Identity): Answer {
    requireAll(identity, '/v1/config');
    const { config, version } = this.#parts;
    const tokens = config.tokens.map(({ name, roles, streams }) => ({ name, roles, streams }));
    const names = [...Object.keys(presets), ...Object.keys(config.profiles)];
    const params = Object.fromEntries(names.map((name) => [name, paramsByName(config, name)]));
    return json({
      version,
      config: { ...config, tokens, tls: config.tls && { certFile: config.tls.certFile } },
      params,
    });
  }
}

/** Path and query of a request; what is no address at all has none. */
function targetOf(request: IncomingMessage): { pathname: string; searchParams: URLSearchParams } {
  const url = request.url ?? '/';
  return URL.canParse(url, 'http://localhost')
    ? new URL(url, 'http://localhost')
    : { pathname: url, searchParams: new URLSearchParams() };
}

const refusal = (code: HttpCode, message: string): Refusal => ({ code, message });

/** What a reader of /v1/live asks for. */
function liveFilter(query: URLSearchParams, { covers }: Identity): Filter | Refusal {
  const wanted = (key: string) => query.get(key) ?? undefined;
  const everyMs = Number(query.get('everyMs') ?? 0);
  const objects = query.get('objects') ?? '0';
  if (!(everyMs === 0 || (everyMs >= 50 && everyMs <= 60_000)))
    return refusal('request_invalid', 'everyMs must be from 50 to 60000 milliseconds, or 0 for every report');
  if (objects !== '0' && objects !== '1')
    return refusal('request_invalid', 'objects must be 1, for reports with the objects of their frame, or 0');
  const series = { stream: wanted('stream'), tracker: wanted('tracker'), profile: wanted('profile') };
  return { ...series, covers, objects: objects === '1', everyMs };
}

const NOBODY: Identity = { name: 'nobody', roles: new Set(), covers: () => false, coversAll: false };

const upgradeExpected: Handler = () => {
  throw new HttpFault('upgrade_expected', `connect here by WebSocket, with the subprotocol ${SUBPROTOCOL}`);
};

function requireAll(identity: Identity, path: string): void {
  if (!identity.coversAll)
    throw new HttpFault(
      'stream_forbidden',
      `${path} shows every stream, and token ${identity.name} is good for some only; use one whose streams are *`,
    );
}

function requireStream(identity: Identity, stream: string): void {
  if (!identity.covers(stream))
    throw new HttpFault('stream_forbidden', `token ${identity.name} is not good for stream ${stream}`);
}

function required(query: URLSearchParams, key: string): string {
  const value = query.get(key);
  if (!value)
    throw new HttpFault(
      'request_invalid',
      `the query needs ${key}, as in ?stream=gate-7&tracker=sort-v2&profile=online-surveillance`,
    );
  return value;
}

/** Resolves with the promise, or when the time is over. */
async function within(limitMs: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, over]);
  clearTimeout(timer);
}

const closeSocket = (socket: WebSocket, code: CloseCode, reason: string) => {
  // a paused socket would never hear the answer
  socket.resume();
  socket.close(code, reason.slice(0, 120));
};

const peerOf = (socket: WebSocket, address: string): Peer => ({
  address,
  send: (text) => socket.send(text),
  close: (code, reason) => closeSocket(socket, code, reason),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
  backlogBytes: () => socket.bufferedAmount,
});

const readerOf = (socket: WebSocket): Reader => ({
  send: (text, done) => socket.send(text, (error) => error ?? done()),
  backlogBytes: () => socket.bufferedAmount,
  close: (code, reason) => {
    closeSocket(socket, code, reason);
    // its close frame waits behind what the peer does not read
    setTimeout(() => socket.terminate(), 1000).unref();
  },
});
