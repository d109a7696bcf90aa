/**
 * One connection to /v1/ingest, without its transport: it is greeted, its frames are checked and put into the queue of
 * its feed, and what is stored is acked. Mistakes are answered with a reject; some of them end the connection.
 * Invariant: an ack for n goes out only when every frame up to n is stored or was rejected.
 */
import { randomUUID } from 'node:crypto';
import type { Format } from '../../../adapters/kit/adapter.js';
import type { SettingsPatch } from '../../config/config.js';
import { CLOSE_CODES, type CloseCode, REJECT_CODES, type RejectCode } from '../../wire/codes.js';
import { Fault } from '../../wire/fault.js';
import type { FeedId } from '../../wire/feed.js';
import {
  checkFrame,
  checkReports,
  type FrameRules,
  isPlainObject,
  type SkippedObject,
} from '../../wire/frame-check.js';
import { type AckMessage, checkHello, type Hello, type Outgoing, parseMessage } from '../../wire/messages.js';
import { dimensionsOf, type FeedPart } from '../../wire/objects.js';
import { RateLimit } from '../limits/rate-limit.js';
import { forbiddenStream, type Identity } from '../peers/access.js';
import { type Peer, SLOW_PATIENCE_MS } from '../peers/peer.js';
import type { FeedDesk } from './feed-desk.js';
import type { FeedConversation, FeedRefusal, OpenedFeed } from './feed-port.js';
import { type FeedQueue, type FeedSession, isStorageFault, jumpFault } from './feed-queue.js';
import { FlowControl } from './flow-control.js';
import { type ForeignFrames, ForeignMessages } from './foreign-messages.js';
import { formatOf, welcomeMessage } from './greeting.js';

const SET_ASIDE = 'the server failed on this message and has set it aside; its log says why';

/** Whether a message, or one of `frames`, carries reports. */
const isReports = (raw: unknown): boolean => isPlainObject(raw) && (raw.type === 'reports' || 'reports' in raw);

export class Session implements FeedSession, FeedConversation {
  readonly id = randomUUID();
  readonly #flow: FlowControl;
  readonly #rejectRate: RateLimit;
  readonly #helloTimer: NodeJS.Timeout;
  #state: 'greeting' | 'opening' | 'open' | 'ending' | 'ended' | 'closed' = 'greeting';
  #queue: FeedQueue | null = null;
  #rules: FrameRules | null = null;
  /** null for native frames */
  #foreign: ForeignMessages | null = null;
  #unfinishedTimer: NodeJS.Timeout | null = null;
  /** when the last piece of what is held was received */
  #heldMs = 0;
  #ackScheduled = false;
  #acked = 0;
  #duplicates = 0;
  /** objects left out since the last ack */
  #skipped: AckMessage['skipped'];
  /** what came while the feed was being opened; it is not read from meanwhile */
  readonly #early: Array<{ bytes: Buffer; receivedMs: number }> = [];

  constructor(
    readonly desk: FeedDesk,
    readonly peer: Peer,
    readonly identity: Identity,
  ) {
    const { limits } = desk.config;
    const { helloTimeoutMs, rejectsPerMinute } = limits;
    this.#flow = new FlowControl(
      peer,
      limits,
      () => desk.meters.counts.pauses++,
      (unread) => this.#queue && desk.port.unread(this.#queue.feed, unread),
    );
    this.#rejectRate = new RateLimit(rejectsPerMinute / 60_000, rejectsPerMinute, performance.now());
    this.#helloTimer = setTimeout(
      () => this.#refuse(new Fault('hello_timeout', '', `no hello within ${helloTimeoutMs} ms; send it first`)),
      helloTimeoutMs,
    );
    desk.join(this);
  }

  get feed(): FeedId | null {
    return this.#queue?.feed ?? null;
  }

  get paused(): boolean {
    return this.#flow.paused;
  }

  get behind(): boolean {
    return this.#flow.behind;
  }

  /** Whether everything that came is stored or was rejected, but for messages that wait for the rest of their frame. */
  get onlyHeld(): boolean {
    return this.#queue === null || this.#queue.waiting === 0;
  }

  receive(bytes: Buffer, receivedMs = this.desk.port.now()): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'opening') {
      this.#early.push({ bytes, receivedMs });
      return;
    }
    const { turns } = this.desk;
    turns.enter();
    this.#guarded(() => {
      const native = this.#state === 'open' && this.#foreign === null;
      const parts = native ? this.#scan(bytes) : null;
      if (parts) this.#enqueue(parts, receivedMs);
      else this.#dispatch(bytes.toString(), receivedMs);
    });
    this.#flow.regulate();
    turns.leave(this.#flow);
  }

  /** What the scanner fails on goes the general way. */
  #scan(bytes: Buffer): FeedPart[] | null {
    try {
      return this.desk.scanner.scan(bytes, this.#rules!);
    } catch (error) {
      this.desk.faults.report('message', error, { ...this.feed });
      return null;
    }
  }

  /** A mistake of ours ends the connection at most; what was acked is kept, and the client comes back. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.desk.faults.report('message', error, { ...this.feed });
      this.#answer(new Fault('fault', '', SET_ASIDE));
      this.failed();
    }
  }

  /** A binary message never means anything here. */
  receiveBinary(byteCount: number): void {
    this.#reject(new Fault('message_invalid', '', `the message is binary (${byteCount} bytes); send JSON as text`));
  }

  closed(): void {
    this.#state = 'closed';
    clearTimeout(this.#helloTimer);
    this.#flow.close();
    this.#disarmUnfinished();
    if (this.#queue) this.desk.release(this.#queue, this);
    this.desk.leave(this);
  }

  close(code: CloseCode, reason: string): void {
    if (this.#state === 'closed') return;
    this.#sendAck();
    this.closed();
    this.peer.close(code, reason);
  }

  failed(): void {
    this.close(1011, CLOSE_CODES[1011].meaning);
  }

  superseded(): void {
    this.desk.logger.info('session_superseded', { ...this.feed, session: this.id });
    this.close(4410, CLOSE_CODES[4410].meaning);
  }

  progressed(): void {
    this.#scheduleAck();
    // a peer that waited for its ack can send the rest of a frame from now on
    if (this.#unfinishedTimer) this.#armUnfinished(this.#heldMs);
    this.#flow.regulate();
  }

  regulate(): void {
    this.#flow.regulate();
  }

  /** Not read from again. */
  freeze(): void {
    this.#flow.freeze();
  }

  /** The general way: whatever a message is, and what is wrong with it. */
  #dispatch(text: string, receivedMs: number): void {
    const message = parseMessage(text);
    if (message instanceof Fault) {
      this.#reject(message);
      return;
    }
    switch (message.type) {
      case 'ping':
        this.#send({ type: 'pong' });
        break;
      case 'hello':
        this.#hello(message.raw);
        break;
      case 'frame':
      case 'reports':
      case 'message':
        if (this.#ready() && this.#fits(message.type)) this.#admit(message.raw, receivedMs, '');
        break;
      case 'frames':
      case 'messages':
        if (this.#ready() && this.#fits(message.type))
          for (const [n, raw] of message.raw.entries()) this.#admit(raw, receivedMs, `${message.type}[${n}]`);
        break;
      case 'end':
        if (this.#ready()) void this.#end().catch((error) => this.desk.failed(this.#queue!, error));
        break;
    }
  }

  #ready(): boolean {
    if (this.#state === 'open') return true;
    if (this.#state === 'greeting')
      this.#refuse(
        new Fault(
          'hello_expected',
          'type',
          'the first message must be a hello: {"type":"hello","stream":...,"role":...}',
        ),
      );
    else
      this.#reject(new Fault('feed_ended', 'type', 'this feed has ended; say hello on a new connection to continue'));
    return false;
  }

  #hello(raw: Record<string, unknown>): void {
    if (this.#state !== 'greeting') {
      this.#reject(new Fault('hello_repeated', 'type', 'one hello per connection; open another one for another feed'));
      return;
    }
    const hello = checkHello(raw, this.desk.readHello);
    const fault = hello instanceof Fault ? hello : (this.#forbidden(hello) ?? this.#claim(hello));
    if (fault) this.#refuse(fault);
  }

  #forbidden({ feed: { stream } }: Hello<SettingsPatch>): Fault | undefined {
    if (this.identity.covers(stream)) return undefined;
    const message = forbiddenStream(this.identity, stream);
    return new Fault('stream_forbidden', 'stream', message, stream);
  }

  /** The feed is this connection's, unless somebody else holds it; then it is opened. */
  #claim(hello: Hello<SettingsPatch>): Fault | undefined {
    const { desk } = this;
    const format = formatOf(hello, desk.config.formats);
    if (format instanceof Fault) return format;
    const queue = desk.claim(hello, this);
    if (!queue)
      return new Fault(
        'feed_taken',
        'stream',
        'another client holds this feed; stop it, wait until its connection is given up, or resume its session',
      );
    clearTimeout(this.#helloTimer);
    this.#state = 'opening';
    this.#flow.opening = true;
    void this.#open(hello, queue, format).catch((error) => {
      desk.release(queue, this);
      this.#guarded(() => {
        throw error;
      });
    });
    return undefined;
  }

  async #open(hello: Hello<SettingsPatch>, queue: FeedQueue, format: Format | null): Promise<void> {
    const { desk } = this;
    const { feed, settings, shape = format?.shape } = hello;
    const opened = await desk.port.openFeed(feed, settings, shape, desk.shares.refusal(this.#client));
    if (this.#state !== 'opening') desk.release(queue, this);
    else if (!('nextSeq' in opened)) this.#refuseFeed(queue, opened);
    else {
      if (opened.isNew) desk.shares.add(this.#client, feed.stream);
      this.#welcome(queue, opened, format);
      this.#flow.opening = false;
      for (const { bytes, receivedMs } of this.#early.splice(0)) this.receive(bytes, receivedMs);
      this.#flow.regulate();
    }
  }

  #refuseFeed(queue: FeedQueue, { code, path, message }: FeedRefusal): void {
    this.desk.release(queue, this);
    if (code === 'not_ready') this.close(1013, CLOSE_CODES[1013].meaning);
    else this.#refuse(new Fault(code in REJECT_CODES ? (code as RejectCode) : 'hello_invalid', path, message));
  }

  /** Whose share a new stream comes from. */
  get #client(): string {
    return this.identity.token ? `token ${this.identity.name}` : `address ${this.peer.address}`;
  }

  #welcome(queue: FeedQueue, { nextSeq: acceptedSeq, plan, findings }: OpenedFeed, format: Format | null): void {
    const { desk } = this;
    const { feed } = queue;
    const { limits } = desk.config;
    const nextSeq = queue.open(acceptedSeq);
    // its counters start at 0, not with the first frame
    desk.meters.feedMeter(feed);
    this.#queue = queue;
    this.#flow.follow(queue);
    this.#state = 'open';
    this.#acked = nextSeq - 1;
    this.#rules = desk.rules.of(feed.stream, plan);
    if (format) this.#foreign = new ForeignMessages(format, feed.role, this.#rules, limits.creditFrames, queue.lastSeq);
    this.#send(welcomeMessage(this.id, nextSeq, plan, limits, findings));
    const { address } = this.peer;
    desk.logger.info('feed_opened', { ...feed, session: this.id, nextSeq, address, token: this.identity.name });
  }

  /** Frames come on native feeds, messages on all others. */
  #fits(type: string): boolean {
    const foreign = type === 'message' || type === 'messages';
    if (foreign === (this.#foreign !== null)) return true;
    const { adapter } = this.#foreign?.format ?? {};
    const remedy = adapter
      ? `this feed has format ${adapter.name}; send its messages as {"type":"message","seq":1,"message":...}`
      : 'this feed has format native; send frames, or name the format of your messages in the hello';
    this.#reject(new Fault('message_invalid', 'type', remedy, type));
    return false;
  }

  /** One frame or foreign message; `prefix` is its place in a message that holds several. */
  #admit(raw: unknown, receivedMs: number, prefix: string): void {
    if (this.#state !== 'open') return;
    try {
      if (this.#foreign) this.#admitForeign(this.#foreign.decode(raw), receivedMs, prefix);
      else this.#admitFrame(raw, receivedMs, prefix);
    } catch (error) {
      // its number is used up, or the client would send it again, for ever
      const { seq } = raw as { seq?: number };
      this.desk.faults.report('message', error, { ...this.feed, seq });
      this.#reject(new Fault('fault', prefix, SET_ASIDE, undefined, Number.isSafeInteger(seq) ? seq : undefined));
    }
  }

  #admitFrame(raw: unknown, receivedMs: number, prefix: string): void {
    const skipped: SkippedObject[] = [];
    const check = isReports(raw) ? checkReports : checkFrame;
    const part = check(raw as Record<string, unknown>, this.#rules!, skipped);
    if (part instanceof Fault) {
      this.#flow.spend(1);
      this.#reject(prefix ? part.within(prefix) : part);
      return;
    }
    // a frame that comes again was counted before
    if (part.seq > this.#queue!.lastSeq) this.#skip(skipped, part.seq);
    this.#enqueue([part], receivedMs);
  }

  /** The frames that a foreign message has completed; null: its number came before. */
  #admitForeign(frames: ForeignFrames | null, receivedMs: number, prefix: string): void {
    const { parts, skipped, fault, upTo } = frames ?? { parts: [], skipped: [], fault: null, upTo: 0 };
    this.#skip(skipped, upTo);
    if (parts.length === 0) this.#flow.spend(1);
    if (frames === null) this.#countDuplicate();
    this.#enqueue(parts, receivedMs);
    this.#queue!.skip(upTo);
    if (fault) this.#reject(prefix ? fault.within(prefix) : fault, null);
    this.#armUnfinished(receivedMs);
  }

  /** A frame that is not complete counts as complete when nothing more comes. */
  #armUnfinished(receivedMs: number): void {
    this.#disarmUnfinished();
    if (!this.#foreign?.held || this.#state !== 'open') return;
    // after a stall of this thread timers run before sockets are read: what has come meanwhile is read first
    const timer = setTimeout(() => setImmediate(finish), this.desk.config.limits.unfinishedMs);
    const finish = () => {
      if (this.#unfinishedTimer !== timer) return;
      // a client that has used up its credit, or is not read from, cannot send the rest
      if (this.paused || this.#queue!.waiting > 0) this.#armUnfinished(receivedMs);
      else this.#guarded(() => this.#admitForeign(this.#foreign!.flush(), receivedMs, ''));
    };
    this.#unfinishedTimer = timer;
    this.#heldMs = receivedMs;
  }

  #disarmUnfinished(): void {
    if (this.#unfinishedTimer) clearTimeout(this.#unfinishedTimer);
    this.#unfinishedTimer = null;
  }

  #enqueue(parts: FeedPart[], receivedMs: number): void {
    this.#flow.spend(parts.length);
    const queue = this.#queue!;
    const rules = this.#rules!;
    const meter = this.desk.meters.feedMeter(queue.feed);
    for (const part of parts) {
      if (!queue.reaches(part.seq)) {
        this.#reject(jumpFault(part.seq, queue.lastSeq), null);
        continue;
      }
      if (!queue.enqueue(part, receivedMs)) {
        this.#countDuplicate();
        continue;
      }
      meter.frames++;
      meter.objects += part.objects.ids.length;
      // for people, and for a Prometheus that goes by the wall clock
      meter.lastReceivedMs = Date.now();
      if (rules.shape === 'point') rules.dimensions = dimensionsOf(part.objects) || rules.dimensions;
    }
  }

  #countDuplicate(): void {
    this.#duplicates++;
    this.desk.meters.feedMeter(this.#queue!.feed).duplicates++;
    this.#scheduleAck();
  }

  async #end(): Promise<void> {
    // what is held belongs to the feed; nothing more can complete it
    if (this.#foreign?.held) this.#admitForeign(this.#foreign.flush(), this.desk.port.now(), '');
    if (this.#state === 'closed') return;
    this.#state = 'ending';
    const queue = this.#queue!;
    await queue.drained();
    this.#sendAck();
    try {
      await this.desk.port.end(queue.feed);
    } catch (error) {
      if (!isStorageFault(error)) this.desk.failed(queue, error);
      // nothing was promised yet: once the disk has room the same request is made again
      else this.desk.retryLater(() => this.#state === 'ending' && void this.#end());
      return;
    }
    if (this.#state !== 'ending') return;
    this.#state = 'ended';
    this.#send({ type: 'ended' });
    this.desk.logger.info('feed_ended', { ...queue.feed, session: this.id });
  }

  /** Answers a mistake that leaves the connection open; a frame uses up its number. */
  #reject(fault: Fault, usedUp: number | null = fault.seq ?? null): void {
    if (usedUp !== null) this.#queue?.skip(usedUp);
    this.#answer(fault);
    if (this.#rejectRate.spend(1, performance.now()) === 0) return;
    const { rejectsPerMinute } = this.desk.config.limits;
    const message = `more than ${rejectsPerMinute} rejects per minute; repair the sender`;
    this.#refuse(new Fault('rejects_exceeded', '', message));
  }

  /** Answers a mistake that ends the connection. */
  #refuse(fault: Fault): void {
    if (this.#state === 'closed') return;
    this.#answer(fault);
    const { code, path, message } = fault;
    this.desk.logger.warn('session_refused', { ...this.feed, code, path, message, address: this.peer.address });
    this.close(REJECT_CODES[code].close ?? 4400, code);
  }

  #answer(fault: Fault): void {
    const { code, path, message } = fault;
    this.#send(fault.toMessage());
    if (this.#queue) this.desk.port.reportRefused(this.#queue.feed, 'rejected', { code, path, message });
    else this.desk.meters.refused(code);
    // what ends the connection has a line of its own
    if (this.#queue && REJECT_CODES[code].close === null)
      this.desk.refusals.report('rejected', this.#queue.feed, fault);
  }

  /** Says of objects that were left out of a frame: in the next ack, as events and in the log. */
  #skip(skipped: SkippedObject[], seq: number): void {
    const { feed } = this.#queue!;
    for (const { rule, fault } of skipped) {
      const { path, message } = fault;
      this.#skipped = { objects: (this.#skipped?.objects ?? 0) + 1, seq, rule, path, message };
      this.desk.port.reportRefused(feed, 'skipped', { code: rule, path, message });
      this.desk.refusals.report('skipped', feed, fault, rule);
    }
  }

  #scheduleAck(): void {
    if (this.#ackScheduled) return;
    this.#ackScheduled = true;
    // frames of one group commit share one ack
    setImmediate(() => {
      this.#ackScheduled = false;
      this.#sendAck();
    });
  }

  #sendAck(): void {
    const seq = Math.floor(this.#queue?.acked ?? 0);
    if (this.#state === 'closed' || seq === 0) return;
    // duplicates alone wait for the next stored frame, when there is one underway
    if (seq === this.#acked && (this.#duplicates === 0 || this.#queue!.waiting > 0)) return;
    const ack: AckMessage = { type: 'ack', seq };
    if (this.#duplicates > 0) ack.duplicates = this.#duplicates;
    if (this.#skipped) ack.skipped = this.#skipped;
    this.#send(ack);
    this.#acked = seq;
    this.#duplicates = 0;
    this.#skipped = undefined;
  }

  #send(message: Outgoing): void {
    if (this.#state === 'closed') return;
    this.peer.send(JSON.stringify(message));
    if (this.peer.backlogBytes() > this.desk.config.limits.backlogBytes) {
      this.closed();
      this.peer.close(4008, CLOSE_CODES[4008].meaning, SLOW_PATIENCE_MS);
    }
  }
}
