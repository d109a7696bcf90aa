/**
 * The client of `tgospa.v1`, for Node and browsers: keeps what it was given until the server has stored it, and comes
 * back after every cut. Frames are numbered here, sent within the credit, and resent from the last ack.
 * Invariant: a frame leaves the buffer only when it is acked, rejected by the server, or dropped by the chosen policy;
 * each of the three has its event.
 * Imports nothing, so that it also runs where there is no Node.
 */

/** An object as it is sent; exactly one of box and point. */
export interface ClientObject {
  id: string;
  /** left, top, width, height */
  box?: [number, number, number, number];
  point?: number[];
  class?: string;
  confidence?: number;
  /** its own time, seconds, where that is not the frame's */
  t?: number;
  /** units per second along each axis; on Earth metres per second east, north and up */
  velocity?: number[];
  /** of a reference: neither it nor what is close to it is judged */
  ignore?: boolean;
}

/** One object at its own time; without a place it only says that the object has ended. */
export interface ClientReport extends ClientObject {
  t: number;
  end?: boolean;
}

/** One frame of this feed; k and/or t (seconds). */
export interface ClientFrame {
  k?: number;
  t?: number;
  objects: ClientObject[];
  /** of a reference: regions in which nothing is judged at this moment */
  ignore?: Array<{ box: [number, number, number, number] } | { polygon: Array<[number, number]> }>;
}

/** A message of a foreign format; k or t (seconds) where the format has no frame numbers of its own. */
export interface ClientMessage {
  k?: number;
  t?: number;
  /** its JSON, or its text */
  message: unknown;
}

/** The part of the WebSocket standard that is used; the global one and that of the package ws fit. */
export interface WebSocketLike {
  readyState: number;
  bufferedAmount: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

export interface ClientOptions {
  /** ws://host:port or http://host:port; the path /v1/ingest is added unless one is given */
  url: string;
  stream: string;
  role: 'reference' | 'tracker';
  /** name of the tracker; none for the reference */
  tracker?: string;
  /** name of one of several references */
  feed?: string;
  /** native unless given; with another one use sendMessage */
  format?: string;
  /** options of the format */
  options?: Record<string, unknown>;
  shape?: 'box' | 'point';
  /** stream settings, as in the configuration file */
  settings?: Record<string, unknown>;
  /** asked for again at every connection when it is a function */
  token?: string | (() => string | Promise<string>);
  /** frames held until they are acked; 10,000 unless given */
  bufferFrames?: number;
  /** what `send` does when the buffer is full: wait, drop the oldest frame, or throw; block unless given */
  whenFull?: 'block' | 'drop-oldest' | 'error';
  /** frames in one message at most; 64 unless given */
  batchFrames?: number;
  /** first wait before coming back, doubled each time, with jitter; 250 unless given */
  backoffMs?: number;
  /** longest wait; 5,000 unless given, and never more than the server asks for in its welcome */
  backoffMaxMs?: number;
  /** the server must answer a connection within this, and the first one at all; 10,000 unless given */
  connectTimeoutMs?: number;
  /** for programs that may start long before the server: a first connection that fails is no error */
  retryForever?: boolean;
  /** needed where there is no global WebSocket, as in Node 20: `import WebSocket from 'ws'` */
  WebSocket?: WebSocketConstructor;
  /** numbers in [0, 1) for the jitter */
  random?: () => number;
}

/** A server's answer, as far as the client reads it. */
export interface Welcome {
  session: string;
  nextSeq: number;
  credit: number;
  maxPayloadBytes: number;
  heartbeatMs: number;
  /** longest wait before coming back, so that all feeds of a stream are back soon after each other */
  reconnectMaxMs?: number;
  /** settings of the stream that make little sense together */
  warnings?: string[];
}

export interface Reject {
  seq?: number;
  code: string;
  path: string;
  message: string;
  /** what came there, shortened */
  value?: string;
}

/** Objects that the server left out of stored frames, and the newest of them. */
export interface Skipped {
  objects: number;
  seq: number;
  rule: string;
  path: string;
  message: string;
}

/** What a listener of each event gets. */
export interface ClientEvents {
  /** connected and welcomed */
  open: Welcome;
  /** everything up to this number is stored */
  ack: { seq: number };
  /** the server refused a frame or the hello */
  reject: Reject;
  /** the server stored a frame without some of its objects, which lack a value or have an impossible one */
  skip: Skipped;
  /** a frame was given up because the buffer was full */
  drop: { frame: number };
  /** the connection is gone; the client comes back after waitMs */
  reconnecting: { attempt: number; waitMs: number; code: number; reason: string };
  /** closed for good */
  close: { code: number; reason: string };
}

/** The server or the policy refused; of the code `rejected`, the feed goes on without the frames in `rejects`. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  constructor(
    readonly code: string,
    message: string,
    /** the first of the refused frames */
    readonly rejects: readonly Reject[] = [],
  ) {
    super(message);
  }
}

/** Coming back will not help: the hello or the messages are wrong, or another connection took over. */
const FINAL_CLOSE_CODES: ReadonlySet<number> = new Set([1002, 1007, 1008, 1009, 4400, 4403, 4410]);

interface Held {
  /** counts this client's frames from 1 */
  local: number;
  /** the frame as JSON, without its sequence number and its opening brace */
  tail: string;
}

type Waiter = { resolve: () => void; reject: (error: Error) => void };

/** Refused frames that a ClientError lists. */
const REJECTS_LISTED_MAX = 20;
/** HTTP answers below 500 after which the same request may still succeed. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);
/** The HTTP answer of an address that speaks WebSocket. */
const UPGRADE_EXPECTED = 426;

/** What the package ws tells of an upgrade that the server refuses; browsers tell nothing. */
interface RefusedUpgrade {
  statusCode: number;
  on(event: string, listener: (chunk: unknown) => void): void;
}

export class FeedClient {
  #options: Required<
    Pick<
      ClientOptions,
      'bufferFrames' | 'whenFull' | 'batchFrames' | 'backoffMs' | 'backoffMaxMs' | 'connectTimeoutMs' | 'random'
    >
  > &
    ClientOptions;
  readonly #address: string;
  #socket: WebSocketLike | null = null;
  #state: 'connecting' | 'open' | 'waiting' | 'closed' = 'connecting';
  #welcome: Welcome | null = null;
  /** held frames in order; those before `#sent` are on the wire */
  #buffer: Held[] = [];
  #sent = 0;
  #locals = 0;
  /** sequence number of a frame = its local number + this; known from the first welcome on */
  #offset: number | null = null;
  #lastSentSeq = 0;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** runs until the server has answered for the first time */
  #firstTimer: ReturnType<typeof setTimeout> | null = null;
  /** why the last attempt failed, as far as the runtime says */
  #trouble = '';
  /** refused since the last flush, with nobody listening */
  #refused: Reject[] = [];
  #refusedCount = 0;
  readonly #complained = new Set<string>();
  /** the last refusal of a hello */
  #refusal: Reject | null = null;
  #watchdog: ReturnType<typeof setInterval> | null = null;
  #heardAt = 0;
  #pumping = false;
  #ending: { sent: boolean } | null = null;
  #ended = false;
  #failure: ClientError | null = null;
  #roomWaiters: Waiter[] = [];
  #flushWaiters: Waiter[] = [];
  #endWaiters: Waiter[] = [];
  #readyWaiters: Waiter[] = [];
  #listeners = new Map<string, Set<(value: never) => void>>();

  constructor(options: ClientOptions) {
    this.#options = {
      bufferFrames: 10_000,
      whenFull: 'block',
      batchFrames: 64,
      backoffMs: 250,
      backoffMaxMs: 5000,
      connectTimeoutMs: 10_000,
      random: Math.random,
      ...options,
    };
    this.#address = addressOf(options.url);
    const { retryForever, connectTimeoutMs } = this.#options;
    if (!retryForever) this.#firstTimer = setTimeout(() => this.#unreachable(), connectTimeoutMs);
    void this.#connect();
  }

  /** Calls `listener` at every event of this name; returns the function that stops it. */
  on<E extends keyof ClientEvents>(event: E, listener: (value: ClientEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener as (value: never) => void));
    return () => listeners.delete(listener as (value: never) => void);
  }

  /** Frames not acked yet. */
  get pending(): number {
    return this.#buffer.length;
  }

  /** Frames not sent yet, on this connection. */
  get unsent(): number {
    return this.#buffer.length - this.#sent;
  }

  /** How many of this client's frames, from the first on, are stored or were rejected. */
  get settled(): number {
    return (this.#buffer[0]?.local ?? this.#locals + 1) - 1;
  }

  /** Leaves a number out, where numbers mean something to the caller; it counts as sent. */
  skip(): void {
    this.#locals++;
  }

  get #foreign(): boolean {
    return (this.#options.format ?? 'native') !== 'native';
  }

  get connected(): boolean {
    return this.#state === 'open';
  }

  /** Resolves when the feed is open; rejects when the server cannot be reached or refuses it for good. */
  ready(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#state === 'open') return Promise.resolve();
    return new Promise((resolve, reject) => this.#readyWaiters.push({ resolve, reject }));
  }

  /**
   * Accepts a frame; resolves once it is in the buffer, with how many this client has accepted. Rejects once the feed
   * has failed for good.
   */
  send(frame: ClientFrame): Promise<number> {
    return this.#enqueue(frame);
  }

  /** Accepts objects that are reported one by one, each at its own time, as `send` does a frame. */
  sendReports(reports: readonly ClientReport[]): Promise<number> {
    return this.#enqueue({ reports });
  }

  /** Accepts a message of a foreign format, as `send` does a frame. */
  sendMessage(message: ClientMessage): Promise<number> {
    return this.#enqueue(message);
  }

  async #enqueue(frame: ClientFrame | ClientMessage | { reports: readonly ClientReport[] }): Promise<number> {
    this.#assertUsable();
    const tail = JSON.stringify(frame).slice(1);
    if (this.#tooLarge(tail)) throw new ClientError('payload_too_large', tooLargeMessage(this.#welcome!));
    if (this.#buffer.length >= this.#options.bufferFrames) await this.#makeRoom();
    this.#assertUsable();
    this.#buffer.push({ local: ++this.#locals, tail });
    this.#schedulePump();
    return this.#locals;
  }

  /**
   * Resolves when everything given so far is stored. Rejects when frames were refused since the last flush, with the
   * server's words, unless somebody listens to `reject`; the other frames are stored then.
   */
  async flush(): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (this.#buffer.length > 0)
      await new Promise<void>((resolve, reject) => this.#flushWaiters.push({ resolve, reject }));
    this.#throwRefused();
  }

  /** Ends the feed; resolves when the server has judged what was left, rejects as `flush` does. */
  async end(): Promise<void> {
    if (this.#failure) throw this.#failure;
    this.#ending ??= { sent: false };
    this.#schedulePump();
    if (!this.#ended) await new Promise<void>((resolve, reject) => this.#endWaiters.push({ resolve, reject }));
    this.#throwRefused();
  }

  /** Flushes, unless `flush` is false, and closes for good; rejects as `flush` does. */
  async close({ flush = true }: { flush?: boolean } = {}): Promise<void> {
    try {
      if (flush && this.#state !== 'closed') await this.flush();
    } finally {
      this.#shut(1000, 'closed by the client', new ClientError('closed', 'this client is closed'));
    }
  }

  #assertUsable(): void {
    if (this.#failure) throw this.#failure;
    if (this.#ending) throw new ClientError('feed_ended', 'this feed was ended; open another client to continue');
  }

  async #makeRoom(): Promise<void> {
    const { whenFull, bufferFrames } = this.#options;
    if (whenFull === 'error')
      throw new ClientError(
        'buffer_full',
        `${bufferFrames} frames wait for their ack; raise bufferFrames, or send more slowly`,
      );
    if (whenFull === 'drop-oldest') {
      const [dropped] = this.#buffer.splice(0, 1);
      this.#sent = Math.max(0, this.#sent - 1);
      this.#emit('drop', { frame: dropped.local });
      return;
    }
    while (this.#buffer.length >= bufferFrames)
      await new Promise<void>((resolve, reject) => this.#roomWaiters.push({ resolve, reject }));
  }

  async #connect(): Promise<void> {
    this.#state = 'connecting';
    const { token, connectTimeoutMs } = this.#options;
    let secret: string | undefined;
    try {
      secret = typeof token === 'function' ? await token() : token;
    } catch (error) {
      this.#retry(1006, `no token: ${(error as Error).message}`);
      return;
    }
    // closed while the token was fetched
    if (this.#failure) return;
    const WebSocket = this.#options.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!WebSocket) {
      this.#shut(
        1006,
        'no WebSocket',
        new ClientError(
          'no_websocket',
          "this runtime has no WebSocket; pass one: import WebSocket from 'ws', then { WebSocket }",
        ),
      );
      return;
    }
    const protocols = secret === undefined ? ['tgospa.v1'] : ['tgospa.v1', `bearer.${secret}`];
    let socket: WebSocketLike;
    try {
      socket = new WebSocket(this.#address, protocols);
    } catch (error) {
      const message = `no WebSocket to ${this.#address}: ${(error as Error).message}; check url and token`;
      this.#shut(1006, 'no WebSocket', new ClientError('connection_invalid', message));
      return;
    }
    this.#socket = socket;
    this.#attach(socket, secret);
    this.#timer = setTimeout(() => this.#lost(socket, 1006, 'no answer'), connectTimeoutMs);
  }

  #attach(socket: WebSocketLike, secret: string | undefined): void {
    let isAnswered = this.#listenForRefusal(socket);
    socket.onopen = () => {
      isAnswered = true;
      socket.send(JSON.stringify(this.#hello()));
    };
    socket.onmessage = (event: { data: unknown }) => {
      this.#heardAt = performance.now();
      this.#receive(JSON.parse(String(event.data)) as { type: string });
    };
    socket.onclose = (event: { code?: number; reason?: unknown }) => {
      if (isAnswered || this.#welcome || this.#options.retryForever)
        this.#lost(socket, event.code ?? 1006, String(event.reason ?? ''));
      else void this.#askWhy(socket, secret);
    };
    // every error is followed by a close
    socket.onerror = (event: { message?: unknown }) => {
      if (socket === this.#socket) this.#trouble = String(event?.message ?? '');
    };
  }

  /** Where the runtime shows the answer to a refused upgrade, its text says what is wrong; false where it does not. */
  #listenForRefusal(socket: WebSocketLike): boolean {
    const { on } = socket as { on?: (event: string, listener: (request: unknown, response: never) => void) => void };
    on?.call(socket, 'unexpected-response', (_request, response: RefusedUpgrade) => {
      let body = '';
      response.on('data', (chunk) => {
        if (body.length < 4096) body += String(chunk);
      });
      response.on('end', () => this.#upgradeRefused(socket, response.statusCode, body));
    });
    return on !== undefined;
  }

  /** Where it does not, the same is asked by HTTP, which has an answer of its own for somebody who may connect. */
  async #askWhy(socket: WebSocketLike, secret: string | undefined): Promise<void> {
    try {
      const headers = secret === undefined ? undefined : { Authorization: `Bearer ${secret}` };
      const signal = AbortSignal.timeout(this.#options.connectTimeoutMs);
      const response = await fetch(this.#address.replace(/^ws/, 'http'), { headers, signal });
      const body = await response.text();
      if (response.status !== UPGRADE_EXPECTED) return this.#upgradeRefused(socket, response.status, body);
    } catch (error) {
      const { cause, message } = error as Error;
      if (socket === this.#socket) this.#trouble = (cause as Error | undefined)?.message || message;
    }
    this.#lost(socket, 1006, '');
  }

  #upgradeRefused(socket: WebSocketLike, status: number, body: string): void {
    if (socket !== this.#socket) return;
    const { code, message } = refusalOf(body);
    this.#trouble = `HTTP ${status}${message ? `: ${message}` : ''}`;
    const { token, retryForever } = this.#options;
    const passing = status >= 500 || PASSING_STATUSES.has(status) || (status === 401 && typeof token === 'function');
    // once it has been open, whatever answers now may be a stand-in for the server
    if (passing || retryForever || this.#welcome) this.#lost(socket, 1006, '');
    else {
      const text = `${this.#address} refused the connection with ${this.#trouble}; check port, path and token`;
      this.#shut(1006, `HTTP ${status}`, new ClientError(code ?? `http_${status}`, text));
    }
  }

  /** The server has never answered. */
  #unreachable(): void {
    const { connectTimeoutMs } = this.#options;
    const why = this.#trouble || 'no answer';
    const text = `no connection to ${this.#address} within ${connectTimeoutMs} ms (${why}); check that the evaluator runs there, its host, port and path, or give retryForever`;
    this.#shut(1006, 'unreachable', new ClientError('unreachable', text));
  }

  #answered(): void {
    if (this.#firstTimer) clearTimeout(this.#firstTimer);
    this.#firstTimer = null;
  }

  #hello(): object {
    const { stream, role, tracker, feed, format = 'native', options, shape, settings } = this.#options;
    const resume = this.#welcome ? { session: this.#welcome.session, seq: this.#firstSeq() } : undefined;
    const own = { stream, role, tracker, feed, format, options, shape, settings };
    return { type: 'hello', ...own, resume, client: 'tgospa-live' };
  }

  #firstSeq(): number {
    return (this.#buffer[0]?.local ?? this.#locals + 1) + this.#offset!;
  }

  #receive(message: { type: string }): void {
    this.#answered();
    if (message.type === 'welcome') this.#welcomed(message as never);
    else if (message.type === 'ack') this.#acked(message as never);
    else if (message.type === 'reject') this.#rejected(message as never);
    else if (message.type === 'ended') this.#finished();
  }

  #welcomed(welcome: Welcome): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#state = 'open';
    this.#welcome = welcome;
    this.#attempt = 0;
    this.#trouble = '';
    // somebody else wrote to this feed meanwhile: number on from there, rather than lose what is held
    const foreign = this.#offset !== null && welcome.nextSeq - 1 > this.#lastSentSeq;
    if (this.#offset === null || foreign) this.#offset = welcome.nextSeq - (this.#buffer[0]?.local ?? this.#locals + 1);
    this.#sent = 0;
    if (this.#ending) this.#ending.sent = false;
    this.#drop(welcome.nextSeq - 1);
    this.#watch(welcome.heartbeatMs);
    for (const waiter of this.#readyWaiters.splice(0)) waiter.resolve();
    this.#emit('open', welcome);
    this.#pump();
  }

  /** A connection that is silent for long is asked for a sign of life, then given up. */
  #watch(heartbeatMs: number): void {
    if (this.#watchdog) clearInterval(this.#watchdog);
    this.#heardAt = performance.now();
    this.#watchdog = setInterval(() => {
      const silentMs = performance.now() - this.#heardAt;
      if (silentMs > 2.5 * heartbeatMs) this.#lost(this.#socket!, 1006, 'the server is silent');
      else if (silentMs > heartbeatMs / 2) this.#socket?.send('{"type":"ping"}');
    }, heartbeatMs);
    (this.#watchdog as { unref?: () => void }).unref?.();
  }

  #acked({ seq, skipped }: { seq: number; skipped?: Skipped }): void {
    this.#drop(seq);
    this.#emit('ack', { seq });
    if (skipped) this.#reportSkipped(skipped);
    this.#pump();
  }

  /** Everything up to this number is stored or was rejected. */
  #drop(seq: number): void {
    const local = seq - this.#offset!;
    let count = 0;
    while (count < this.#buffer.length && this.#buffer[count].local <= local) count++;
    if (count > 0) this.#release(0, count);
    this.#wake();
  }

  #rejected(reject: Reject): void {
    const local = reject.seq === undefined || this.#offset === null ? -1 : reject.seq - this.#offset;
    const at = this.#buffer.findIndex((held) => held.local === local);
    if (at >= 0) this.#release(at, 1);
    if (this.#state !== 'open') this.#refusal = reject;
    this.#report(reject);
    this.#wake();
    this.#pump();
  }

  /** A refusal reaches whoever listens; without a listener it is kept for `flush`, and the first is written out. */
  #report(reject: Reject): void {
    if (this.#listeners.get('reject')?.size) {
      this.#emit('reject', reject);
      return;
    }
    // a hello that is refused is no frame: it ends the feed, or is said again
    if (this.#state === 'open') {
      this.#refusedCount++;
      if (this.#refused.length < REJECTS_LISTED_MAX) this.#refused.push(reject);
    }
    this.#complain('reject', sentenceOf(reject));
  }

  #reportSkipped(skipped: Skipped): void {
    const { objects, seq, rule, message } = skipped;
    this.#emit('skip', skipped);
    if (!this.#listeners.get('skip')?.size)
      this.#complain('skip', `${objects} objects left out, such as of frame ${seq}: ${message} [${rule}]`);
  }

  /** Writes out what nobody listens to, the first time. */
  #complain(event: 'reject' | 'skip', text: string): void {
    if (this.#complained.has(event)) return;
    this.#complained.add(event);
    const { stream, tracker } = this.#options;
    console.error(
      `tgospa-live: ${stream}/${tracker ?? 'reference'}: ${text} (said once; listen to '${event}' for all)`,
    );
  }

  #throwRefused(): void {
    const [first] = this.#refused;
    if (!first) return;
    const count = this.#refusedCount;
    const rejects = this.#refused;
    this.#refused = [];
    this.#refusedCount = 0;
    const what = count === 1 ? 'one frame was refused' : `${count} frames were refused, the first`;
    throw new ClientError('rejected', `${what}: ${sentenceOf(first)}`, rejects);
  }

  #release(at: number, count: number): void {
    this.#buffer.splice(at, count);
    if (at < this.#sent) this.#sent -= Math.min(count, this.#sent - at);
  }

  #wake(): void {
    const room = this.#options.bufferFrames - this.#buffer.length;
    for (const waiter of this.#roomWaiters.splice(0, Math.max(0, room))) waiter.resolve();
    if (this.#buffer.length === 0) for (const waiter of this.#flushWaiters.splice(0)) waiter.resolve();
  }

  #finished(): void {
    this.#ended = true;
    for (const waiter of this.#endWaiters.splice(0)) waiter.resolve();
  }

  /** Frames given in one turn of the event loop share messages. */
  #schedulePump(): void {
    if (this.#pumping || this.#state !== 'open') return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#state !== 'open') return;
    const { credit, maxPayloadBytes } = this.#welcome!;
    while (this.#sent < this.#buffer.length && this.#sent < credit) {
      if (this.#tooLarge(this.#buffer[this.#sent].tail)) this.#rejectLarge();
      else this.#sendBatch(Math.min(credit, this.#buffer.length), maxPayloadBytes);
    }
    // the last foreign message may be held until the end is said, so its ack cannot be waited for
    const unacked = this.#foreign ? this.#buffer.length - this.#sent : this.#buffer.length;
    if (this.#ending && !this.#ending.sent && !this.#ended && unacked === 0) {
      this.#ending.sent = true;
      this.#socket!.send('{"type":"end"}');
    }
  }

  /** Whether the server would close the connection over this frame; unknown before the first welcome. */
  #tooLarge(tail: string): boolean {
    const limit = (this.#welcome?.maxPayloadBytes ?? Number.POSITIVE_INFINITY) - FRAME_OVERHEAD_BYTES;
    return tail.length * 3 > limit && new TextEncoder().encode(tail).length > limit;
  }

  /** A frame that was accepted before the limit was known. */
  #rejectLarge(): void {
    const { local } = this.#buffer[this.#sent];
    this.#release(this.#sent, 1);
    this.#report({
      seq: local + this.#offset!,
      code: 'payload_too_large',
      path: '',
      message: tooLargeMessage(this.#welcome!),
    });
    this.#wake();
  }

  #sendBatch(until: number, maxPayloadBytes: number): void {
    const frames: string[] = [];
    let bytes = 32;
    while (this.#sent < until && frames.length < this.#options.batchFrames) {
      const { local, tail } = this.#buffer[this.#sent];
      const seq = local + this.#offset!;
      // at most three bytes for each UTF-16 unit
      const size = tail.length * 3 + FRAME_OVERHEAD_BYTES;
      if (frames.length > 0 && (bytes + size > maxPayloadBytes || this.#tooLarge(tail))) break;
      frames.push(`"seq":${seq},${tail}`);
      bytes += size;
      this.#lastSentSeq = Math.max(this.#lastSentSeq, seq);
      this.#sent++;
    }
    const type = this.#foreign ? 'message' : 'frame';
    const single = /^"seq":\d+,"reports"/.test(frames[0]) ? 'reports' : type;
    this.#socket!.send(
      frames.length === 1
        ? `{"type":"${single}",${frames[0]}`
        : `{"type":"${type}s","${type}s":[{${frames.join(',{')}]}`,
    );
  }

  #lost(socket: WebSocketLike, code: number, reason: string): void {
    if (socket !== this.#socket) return;
    this.#detach();
    if (this.#failure) return;
    reason ||= this.#trouble;
    if (this.#ended && code === 1000) this.#shut(code, reason, new ClientError('feed_ended', 'this feed has ended'));
    else if (FINAL_CLOSE_CODES.has(code)) this.#shut(code, reason, this.#finalError(code, reason));
    else this.#retry(code, reason);
  }

  #finalError(code: number, reason: string): ClientError {
    const refusal = this.#refusal && this.#refusal.code === reason ? ` (${sentenceOf(this.#refusal)})` : '';
    return new ClientError(reason || String(code), `the server closed the feed for good: ${code} ${reason}${refusal}`);
  }

  #detach(): void {
    const socket = this.#socket;
    this.#socket = null;
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#watchdog) clearInterval(this.#watchdog);
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    // 2 = closing: the other side is at it already
    if (socket.readyState < 2) socket.close(1000, '');
  }

  #retry(code: number, reason: string): void {
    const { backoffMs, backoffMaxMs, random } = this.#options;
    const mostMs = Math.min(backoffMaxMs, this.#welcome?.reconnectMaxMs ?? backoffMaxMs);
    const longest = Math.min(mostMs, backoffMs * 2 ** this.#attempt);
    // the feeds of a stream come back soon after each other, many clients not in the same instant
    const waitMs = longest * (0.75 + random() / 4);
    this.#attempt++;
    this.#state = 'waiting';
    this.#timer = setTimeout(() => void this.#connect(), waitMs);
    this.#emit('reconnecting', { attempt: this.#attempt, waitMs, code, reason });
  }

  #shut(code: number, reason: string, failure: ClientError): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#failure = failure;
    this.#answered();
    this.#detach();
    const lists = [this.#readyWaiters, this.#roomWaiters, this.#flushWaiters, this.#endWaiters];
    const waiters = lists.flatMap((list) => list.splice(0));
    for (const waiter of waiters) waiter.reject(failure);
    // what nobody waits for and nobody listens to would be lost in silence
    const heard = code === 1000 || waiters.length > 0 || this.#listeners.get('close')?.size;
    if (!heard) console.error(`tgospa-live: ${failure.message}`);
    this.#emit('close', { code, reason });
  }

  #emit<E extends keyof ClientEvents>(event: E, value: ClientEvents[E]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])])
      (listener as (value: ClientEvents[E]) => void)(value);
  }
}

/** `{"type":"messages","messages":[{"seq":9007199254740991,` and its end. */
const FRAME_OVERHEAD_BYTES = 64;

const tooLargeMessage = (welcome: Welcome) =>
  `the frame is larger than a message of ${welcome.maxPayloadBytes} bytes; send fewer objects, or raise limits.payloadBytes`;

/** Opens a feed and keeps it open. */
export const connect = (options: ClientOptions): FeedClient => new FeedClient(options);

/** `frame 7: objects[0].box[2] is 0; ... [frame_invalid]` */
function sentenceOf({ seq, code, path, message }: Reject): string {
  // most messages begin with the place themselves
  const [named] = message.split(' ', 1);
  const place = [seq === undefined ? '' : `frame ${seq}`, path.endsWith(named) ? '' : path].filter(Boolean).join(' ');
  return `${place ? `${place}: ` : ''}${message} [${code}]`;
}

/** The body of a refused upgrade, when it is one of this server's. */
function refusalOf(body: string): { code?: string; message?: string } {
  try {
    const { code, message } = JSON.parse(body);
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : {};
  } catch {
    return {};
  }
}

function addressOf(url: string): string {
  if (!/^(ws|http)s?:\/\//.test(url))
    throw new ClientError('url_invalid', `url is "${url}"; expected something like ws://127.0.0.1:9477`);
  const address = new URL(url.replace(/^http/, 'ws'));
  if (address.pathname === '/') address.pathname = '/v1/ingest';
  return address.href;
}
