/**
 * What is answered over HTTP: the page, health, /metrics, and the JSON of /v1. ROUTES is the table of addresses, with
 * the role a token needs for each; whoever asks without it is refused before anything is looked up.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Config, paramsByName, type TokenRole } from '../config/config.js';
import { presets } from '../metric/params.js';
import type { Exposition } from '../telemetry/exposition.js';
import type { Meters } from '../telemetry/meters.js';
import { HTTP_CODES } from '../wire/codes.js';
import { SUBPROTOCOL } from '../wire/messages.js';
import { HttpFault } from './http-fault.js';
import { handleIncident } from './incident-actions.js';
import { RequestRates } from './limits/request-rates.js';
import type { IncidentPort, LivePort, Readiness } from './live-port.js';
import type { PageFiles } from './page-files.js';
import { type Access, forbiddenStream, type Identity, readerRefusal, targetOf } from './peers/access.js';
import type { ServerFaults } from './peers/server-faults.js';
import type { Filter } from './subscribers.js';

/** Everything answers are made of. */
export interface HttpParts {
  config: Config;
  access: Access;
  live: LivePort;
  exposition: Exposition;
  page: PageFiles;
  meters: Meters;
  faults: ServerFaults;
  version: string;
  health(): Readiness | Promise<Readiness>;
  desk?: IncidentPort;
}

/** A request that may be answered. */
interface AdmittedRequest {
  query: URLSearchParams;
  identity: Identity;
  accept: string | undefined;
}

interface Answer {
  status?: number;
  contentType?: string;
  body: string;
  gzip?: boolean;
}

type Handler = (parts: HttpParts, request: AdmittedRequest) => Answer | Promise<Answer>;

interface Route {
  /** null: open to everybody; such addresses show nothing about streams */
  role: TokenRole | null;
  handle: Handler;
  /** what a POST does, with the role `operate` */
  write?: (parts: HttpParts, body: unknown, identity: Identity) => unknown;
}

const alive: Handler = () => ({ contentType: 'text/plain; charset=utf-8', body: 'ok\n' });

const ready: Handler = async ({ health, config, live }) => {
  const { ready, reasons, degraded } = await health();
  const status = !ready ? 'not_ready' : degraded.length > 0 ? 'degraded' : 'ready';
  // where tokens are asked for, names of streams are not for everybody
  const names = config.tokens.length === 0 ? degraded : `${degraded.length} streams; /v1/streams names them`;
  const resumingStreams = (await live.streams()).filter((stream) => stream.resuming).length;
  const details = {
    ...(degraded.length > 0 ? { degraded: names } : {}),
    ...(resumingStreams > 0 ? { resumingStreams } : {}),
  };
  return json({ status, ready, reasons, ...details }, ready ? 200 : 503);
};

const metrics: Handler = async ({ exposition }, { identity, accept }) => {
  requireAll(identity, '/metrics');
  return { ...(await exposition.write(accept)), gzip: true };
};

const streams: Handler = async ({ live, health }, { identity }) => {
  const [{ ready, reasons }, all] = await Promise.all([health(), live.streams()]);
  const visible = all.filter(({ stream }) => identity.covers(stream));
  // ages count by the server's clock
  return json({ nowMs: live.now(), ready, reasons, streams: visible });
};

/** What a stream answers; of one that is being rebuilt nothing is known for now, which is not that there is nothing. */
async function ofStream<T>(live: LivePort, stream: string, ask: () => T | Promise<T>): Promise<T> {
  const [answer] = await Promise.allSettled([ask()]);
  if (answer.status === 'fulfilled' && typeof answer.value === 'object') return answer.value;
  const view = (await live.streams()).find((one) => one.stream === stream);
  if (view?.restoring)
    throw new HttpFault('recovering', `stream ${stream} is being rebuilt from the log; ask again in a moment`);
  if (answer.status === 'rejected') throw answer.reason;
  return answer.value;
}

const window: Handler = async ({ live }, { query, identity }) => {
  const [stream, tracker, profile] = ['stream', 'tracker', 'profile'].map((key) => required(query, key));
  requireStream(identity, stream);
  const found = await ofStream(live, stream, () => live.window(stream, tracker, profile));
  if (found) return json(found);
  const series = `stream ${stream}, tracker ${tracker} and profile ${profile}`;
  throw new HttpFault('not_found', `no series has ${series}; /v1/streams lists them`);
};

/** Costs and distances over the last frames: of one series, or thinned out, of all that match. */
const trend: Handler = async ({ live, config }, { query, identity }) => {
  const points = wholeNumber(query, 'points', config.limits.trendFrames);
  return json({ series: await live.trends(seriesFilter(query, identity), points) });
};

/** What settled over the last minute, and what is usual. */
const rates: Handler = async ({ live }, { query, identity }) =>
  json({ series: await live.rates(seriesFilter(query, identity)) });

function seriesFilter(query: URLSearchParams, identity: Identity): Filter {
  const wanted = (key: string) => query.get(key) ?? undefined;
  const stream = wanted('stream');
  if (stream !== undefined) requireStream(identity, stream);
  return { stream, tracker: wanted('tracker'), profile: wanted('profile'), covers: identity.covers };
}

const events: Handler = async ({ live }, { query, identity }) => {
  const stream = query.get('stream') ?? undefined;
  if (stream !== undefined) requireStream(identity, stream);
  const limit = wholeNumber(query, 'limit', 100);
  const ask = () => live.recentEvents(stream);
  const recent = await (stream === undefined ? ask() : ofStream(live, stream, ask));
  const visible = recent.filter((event) => identity.covers(event.stream));
  return json({ events: visible.slice(-limit) });
};

/** A stretch of what is stored, by frame or by time, for whoever looks back. */
const past: Handler = async ({ live, config }, { query, identity }) => {
  const [stream, tracker, profile] = ['stream', 'tracker', 'profile'].map((key) => required(query, key));
  requireStream(identity, stream);
  const { pastFrames } = config.limits;
  const frames = Math.min(wholeNumber(query, 'frames', pastFrames), pastFrames);
  const [k, atMs] = ['k', 'at'].map((key) => (query.has(key) ? Number(query.get(key)) : undefined));
  if (!Number.isFinite(k ?? atMs))
    throw new HttpFault('request_invalid', 'the query needs k, a frame, or at, epoch milliseconds');
  const found = await ofStream(live, stream, () => live.moment({ stream, tracker, profile, k, atMs, frames }));
  if (typeof found === 'string') throw new HttpFault('not_found', found);
  return json(found);
};

/** What is wrong now, the longest first, with what people have said of it. */
const incidents: Handler = async ({ live, desk }, { query, identity }) => {
  const stream = query.get('stream') ?? undefined;
  if (stream !== undefined) requireStream(identity, stream);
  const open = (await live.streams()).flatMap((one) => one.incidents);
  const visible = open.filter((one) => identity.covers(one.stream) && (stream ?? one.stream) === one.stream);
  const remarked = visible.map((one) => ({ ...one, remark: desk?.remarkOn(one) ?? null }));
  const mutes = desk?.mutes(live.now()) ?? [];
  return json({ nowMs: live.now(), incidents: remarked.sort((a, b) => a.sinceMs - b.sinceMs), mutes });
};

const configuration: Handler = ({ config, version }, { identity }) => {
  requireAll(identity, '/v1/config');
  const tokens = config.tokens.map(({ name, roles, streams }) => ({ name, roles, streams }));
  const tls = config.tls && { certFile: config.tls.certFile };
  const names = [...Object.keys(presets), ...Object.keys(config.profiles)];
  const params = Object.fromEntries(names.map((name) => [name, paramsByName(config, name)]));
  return json({ version, config: { ...config, tokens, tls }, params });
};

const upgradeExpected: Handler = () => {
  throw new HttpFault('upgrade_expected', `connect here by WebSocket, with the subprotocol ${SUBPROTOCOL}`);
};

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/healthz', { role: null, handle: alive }],
  ['/-/healthy', { role: null, handle: alive }],
  ['/readyz', { role: null, handle: ready }],
  ['/-/ready', { role: null, handle: ready }],
  ['/metrics', { role: 'read', handle: metrics }],
  ['/v1/streams', { role: 'read', handle: streams }],
  ['/v1/window', { role: 'read', handle: window }],
  ['/v1/trend', { role: 'read', handle: trend }],
  ['/v1/rates', { role: 'read', handle: rates }],
  ['/v1/past', { role: 'read', handle: past }],
  ['/v1/events', { role: 'read', handle: events }],
  ['/v1/incidents', { role: 'read', handle: incidents, write: handleIncident }],
  ['/v1/config', { role: 'read', handle: configuration }],
  ['/v1/ingest', { role: 'ingest', handle: upgradeExpected }],
  ['/v1/live', { role: 'read', handle: upgradeExpected }],
]);

const BODY_MAX = 8192;

/** a probe must see that the program lives, whoever else asks from its address */
const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/-/healthy', '/readyz', '/-/ready']);

/** what every process of a cluster answers, whatever its roles */
const ROLELESS: ReadonlySet<string> = new Set([...HEALTH, '/metrics', '/v1/ingest']);

const NOBODY: Identity = { name: 'nobody', token: false, roles: new Set(), covers: () => false, coversAll: false };

export class Http {
  readonly #parts: HttpParts;
  readonly #rates: RequestRates;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#rates = new RequestRates(parts.config.limits.requestsPerSecond);
  }

  /** Never rejects: what fails is answered with 500, or cut when its answer had begun. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response);
    } catch (error) {
      this.#parts.faults.report('request', error);
      response.destroy();
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      const { pathname } = targetOf(request);
      if (!HEALTH.has(pathname)) this.#spend(`address ${request.socket.remoteAddress}`);
      this.#checkRole(pathname);
      if (this.#parts.page.serve(request, response, pathname)) return;
      answer = await this.#route(request);
    } catch (error) {
      answer = this.#failure(error);
    }
    await this.#respond(request, response, answer);
  }

  #checkRole(pathname: string): void {
    const refusal = ROLELESS.has(pathname) ? null : readerRefusal(this.#parts.config);
    if (refusal) throw new HttpFault(refusal.code, refusal.message);
  }

  #spend(client: string): void {
    if (this.#rates.admits(client)) return;
    const { requestsPerSecond } = this.#parts.config.limits;
    throw new HttpFault(
      'requests_exceeded',
      `${client} makes more than ${requestsPerSecond} requests per second; ask less often, or raise limits.requestsPerSecond`,
    );
  }

  async #route(request: IncomingMessage): Promise<Answer> {
    const { access } = this.#parts;
    const { pathname, searchParams: query } = targetOf(request);
    const route = ROUTES.get(pathname);
    if (!route)
      throw new HttpFault('not_found', `${pathname.slice(0, 80)} is not an address of this server; / lists them`);
    // a page of an allowed origin asks whether it may send its token along
    if (request.method === 'OPTIONS' && access.allowsOrigin(request)) return { status: 204, body: '' };
    if (request.method === 'POST' && route.write) return this.#write(request, route.write);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpFault('method_forbidden', `${request.method} is not possible here; use GET`);
    const identity = route.role === null ? NOBODY : access.admit(request, route.role);
    if ('code' in identity) throw new HttpFault(identity.code, identity.message);
    if (identity.token) this.#spend(`token ${identity.name}`);
    return route.handle(this.#parts, { query, identity, accept: request.headers.accept });
  }

  async #write(request: IncomingMessage, write: NonNullable<Route['write']>): Promise<Answer> {
    const identity = this.#parts.access.admit(request, 'operate');
    if ('code' in identity) throw new HttpFault(identity.code, identity.message);
    if (identity.token) this.#spend(`token ${identity.name}`);
    return json(await write(this.#parts, await bodyOf(request), identity));
  }

  #failure(error: unknown): Answer {
    const { faults, meters } = this.#parts;
    if (error instanceof HttpFault) {
      meters.refused(error.code);
      return json({ code: error.code, message: error.message }, HTTP_CODES[error.code].status);
    }
    faults.report('request', error);
    return json({ code: 'fault', message: 'the server failed to answer; its log says why' }, HTTP_CODES.fault.status);
  }

  async #respond(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    const { status = 200, contentType = 'text/plain', body } = answer;
    const compress = answer.gzip && body.length > 1024 && acceptsGzip(request);
    const bytes = compress ? await gzipAsync(body, { level: 1 }) : Buffer.from(body);
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Length', bytes.length);
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Vary', 'Accept, Accept-Encoding, Origin');
    if (compress) response.setHeader('Content-Encoding', 'gzip');
    if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    if (this.#parts.access.allowsOrigin(request)) allowPage(request, response);
    response.writeHead(status);
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }
}

const gzipAsync = promisify(gzip);

/** The JSON of a request. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > BODY_MAX)
      throw new HttpFault('request_invalid', `the body is longer than ${BODY_MAX} characters`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpFault('request_invalid', 'the body must be JSON');
  }
}

const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(\.0*)?\b)/.test(String(headers['accept-encoding'] ?? ''));

function allowPage(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', request.headers.origin!);
  response.setHeader('Access-Control-Allow-Headers', 'Authorization');
}

function json(value: unknown, status = 200): Answer {
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(value), gzip: true };
}

function requireAll(identity: Identity, path: string): void {
  if (!identity.coversAll)
    throw new HttpFault(
      'stream_forbidden',
      `${path} shows every stream, and token ${identity.name} is valid for some only; use one whose streams are *`,
    );
}

function requireStream(identity: Identity, stream: string): void {
  if (!identity.covers(stream)) throw new HttpFault('stream_forbidden', forbiddenStream(identity, stream));
}

function required(query: URLSearchParams, key: string): string {
  const value = query.get(key);
  if (value) return value;
  throw new HttpFault(
    'request_invalid',
    `the query needs ${key}, as in ?stream=gate-7&tracker=sort-v2&profile=online-surveillance`,
  );
}

function wholeNumber(query: URLSearchParams, key: string, standard: number): number {
  const value = Number(query.get(key) ?? standard);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new HttpFault('request_invalid', `${key} must be a whole number from 1`);
}
