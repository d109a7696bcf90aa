/**
 * The ingest half of the protocol, without its transport. A Session is one connection: it greets, checks frames, hands
 * them to the intake of its feed, acks what is stored and stops reading from a peer that is ahead of its credit.
 * The IngestDesk is what all sessions share: the feeds, and who holds them.
 * Invariant: an ack for n goes out only when every frame up to n is stored or was rejected.
 */
import { randomUUID } from 'node:crypto';
import { adapters, formatByName } from '../../adapters/index.js';
import type { Format } from '../../adapters/kit/adapter.js';
import {
  type Config,
  helloReader,
  pointProfileLines,
  type ResolvedStream,
  type SettingsPatch,
} from '../config/config.js';
import { windowWarning } from '../metric/params.js';
import type { Logger } from '../telemetry/logger.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { CLOSE_CODES, type CloseCode, REJECT_CODES, type RejectCode } from '../wire/codes.js';
import { Fault, show } from '../wire/fault.js';
import type { FeedId } from '../wire/feed.js';
import { checkFrame, type FrameRules } from '../wire/frame-check.js';
import { checkHello, type Hello, type HelloReader, type Outgoing, parseMessage } from '../wire/messages.js';
import { countOf, dimensionsOf, type FeedPart } from '../wire/objects.js';
import type { Identity } from './access.js';
import { type IngestTarget, Intake, type IntakeOwner, type IntakeSession, isStorageFault } from './feed-queue.js';
import { type Translated, Translation } from './foreign-messages.js';
import { FrameScanner } from './frame-scanner.js';

/** The other end of a connection. */
export interface Peer {
  send(text: string): void;
  close(code: CloseCode, reason: string): void;
  /** stop and go on reading from the socket */
  pause(): void;
  resume(): void;
  /** bytes handed to the socket and not yet sent */
  backlogBytes(): number;
  address: string;
}

/** Refills steadily up to `capacity`; `take` says for how many milliseconds the taker must wait. */
class Bucket {
  #level: number;
  #at: number;

  constructor(
    readonly perMs: number,
    readonly capacity: number,
    now: number,
  ) {
    this.#level = capacity;
    this.#at = now;
  }

  take(count: number, now: number): number {
    this.#level = Math.min(this.capacity, this.#level + (now - this.#at) * this.perMs) - count;
    this.#at = now;
    return this.#level >= 0 ? 0 : -this.#level / this.perMs;
  }
}

/**
 * Gives the event loop back when messages have taken it for `sliceMs`: a socket hands over many of them in one turn. Who is
 * held goes on in a later turn, a few at a time, because all of them together would take too long again.
 */
class Turn {
  #endsAt = 0;
  #begun = false;
  readonly #held = new Set<Session>();

  constructor(readonly sliceMs: number) {}

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#endsAt = performance.now() + this.sliceMs;
    setImmediate(() => this.#next());
  }

  end(session: Session): void {
    if (performance.now() < this.#endsAt || this.#held.has(session)) return;
    this.#held.add(session);
    session.hold(true);
  }

  #next(): void {
    this.#begun = false;
    let count = RELEASED_AT_ONCE;
    for (const session of this.#held) {
      if (count-- === 0) break;
      this.#held.delete(session);
      session.hold(false);
    }
    if (this.#held.size > 0) this.begin();
  }
}

/** sessions that go on in the same turn of the event loop; each may have a buffer full of messages */
const RELEASED_AT_ONCE = 2;

const keyOf = (feed: FeedId) => `${feed.stream}\n${feed.tracker ?? ''}`;

/** Everything the sessions of one server share: the feeds, and who holds them. */
export class IngestDesk implements IntakeOwner {
  readonly readHello: HelloReader<SettingsPatch>;
  readonly turn: Turn;
  readonly scanner = new FrameScanner();
  #intakes = new Map<string, Intake>();
  #sessions = new Set<Session>();
  #rules = new Map<string, FrameRules>();
  #timers = new Set<NodeJS.Timeout>();

  constructor(
    readonly config: Config,
    readonly target: IngestTarget,
    readonly telemetry: Telemetry,
    readonly logger: Logger,
    /** dimension of the points of streams that were there before */
    readonly dimensions: ReadonlyMap<string, number> = new Map(),
  ) {
    this.readHello = helloReader(config);
    this.turn = new Turn(config.evaluation.sliceMs);
  }

  /** Opens a session for a connection. */
  connect(peer: Peer, identity: Identity): Session {
    const session = new Session(this, peer, identity);
    this.#sessions.add(session);
    return session;
  }

  get sessions(): ReadonlySet<Session> {
    return this.#sessions;
  }

  /** Frames taken and not stored yet, over all feeds. */
  get waitingFrames(): number {
    let sum = 0;
    for (const intake of this.#intakes.values()) sum += intake.waiting;
    return sum;
  }

  leave(session: Session): void {
    this.#sessions.delete(session);
  }

  /** The intake of a feed for this session, or null when another client holds it. */
  claim(hello: Hello, session: Session): Intake | null {
    const { feed, resume } = hello;
    const key = keyOf(feed);
    let intake = this.#intakes.get(key);
    if (intake?.session) {
      if (resume?.session !== intake.session.id) return null;
      intake.session.superseded();
    }
    if (!intake) {
      intake = new Intake(feed, this);
      this.#intakes.set(key, intake);
    }
    intake.session = session;
    return intake;
  }

  release(intake: Intake, session: Session): void {
    if (intake.session !== session) return;
    intake.session = null;
    if (intake.waiting === 0) this.forget(intake);
  }

  forget(intake: Intake): void {
    if (this.#intakes.get(keyOf(intake.feed)) === intake) this.#intakes.delete(keyOf(intake.feed));
  }

  /** Feeds of one stream share their rules, so that the first point fixes the dimension for all. */
  rulesOf(stream: string, plan: ResolvedStream): FrameRules {
    const rules = this.#rules.get(stream) ?? {
      objectsMax: this.config.limits.objects,
      idLengthMax: this.config.limits.idLength,
      shape: plan.shape,
      dimensions: 0,
      geodesic: false,
      pointRemedy: `configure a profile for points in tgospa.yaml:\n${pointProfileLines(stream)}`,
    };
    rules.shape = plan.shape;
    rules.geodesic = Object.values(plan.profiles).some((params) => params.distance === 'geodesic');
    if (rules.shape === 'point') rules.dimensions ||= rules.geodesic ? 2 : (this.dimensions.get(stream) ?? 0);
    this.#rules.set(stream, rules);
    return rules;
  }

  /** A retired stream may come back with other objects. */
  forgetStream(stream: string): void {
    this.#rules.delete(stream);
  }

  /** The disk stopped taking frames of this feed, or with null takes them again. */
  stallChanged(intake: Intake, fault: string | null): void {
    const fields = { ...intake.feed, waitingFrames: intake.waiting };
    if (fault === null) this.logger.info('storage_resumed', fields);
    else this.logger.error('storage_stalled', { ...fields, fault });
    intake.session?.regulate();
  }

  /** The pipeline failed in a way that is not the peer's fault: the client comes back and resends. */
  fault(intake: Intake, error: unknown): void {
    this.logger.error('ingest_failed', { ...intake.feed, error });
    this.forget(intake);
    intake.session?.failed();
  }

  later(action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, this.config.data.storageRetryMs);
    this.#timers.add(timer);
  }

  /** Waits until everything taken is stored; frames held back by a full disk are given up, they were not acked. */
  async drain(): Promise<void> {
    await Promise.all(
      [...this.#intakes.values()].filter((intake) => !intake.stalled).map((intake) => intake.drained()),
    );
  }

  /** Reads nothing more; what has come is still stored and acked. */
  freeze(): void {
    for (const session of this.#sessions) session.freeze();
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

function welcomeMessage(session: string, nextSeq: number, plan: ResolvedStream, limits: Config['limits']): Outgoing {
  const { settings, shape, profiles } = plan;
  const warnings = Object.entries(profiles).flatMap(([name, params]) => {
    const warning = windowWarning(params, settings.windowFrames);
    return warning ? [`profile ${name}: ${warning}`] : [];
  });
  return {
    type: 'welcome',
    session,
    nextSeq,
    credit: limits.creditFrames,
    maxPayloadBytes: limits.payloadBytes,
    maxObjects: limits.objects,
    heartbeatMs: limits.heartbeatMs,
    shape,
    profiles: settings.profiles,
    windowFrames: settings.windowFrames,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** The format of a feed with its options; null for native frames, which need no translation. */
function formatOf({ format: name, options }: Hello, configured: Config['formats']): Format | Fault | null {
  const format = formatByName(name, options, configured);
  if (format === null) {
    const known = [...Object.keys(configured), ...adapters.keys()].join(', ');
    return new Fault('format_unknown', 'format', `no format is called ${name}; known are ${known}`, name);
  }
  if (Array.isArray(format)) {
    const [{ path, value, message }] = format;
    return new Fault('options_invalid', `options.${path}`, `option ${path} of format ${name} ${message}`, show(value));
  }
  return format.adapter.name === 'native' && format.given.size === 0 ? null : format;
}

/** One connection to /v1/ingest. */
export class Session implements IntakeSession {
  readonly id = randomUUID();
  #state: 'greeting' | 'open' | 'ending' | 'ended' | 'closed' = 'greeting';
  #intake: Intake | null = null;
  #rules: FrameRules | null = null;
  /** null for native frames */
  #translation: Translation | null = null;
  #unfinishedTimer: NodeJS.Timeout | null = null;
  #helloTimer: NodeJS.Timeout;
  #rateTimer: NodeJS.Timeout | null = null;
  #frameRate: Bucket;
  #rejectRate: Bucket;
  #paused = false;
  #behind = false;
  #full = false;
  #held = false;
  #frozen = false;
  #ackScheduled = false;
  #acked = 0;
  #duplicates = 0;

  constructor(
    readonly desk: IngestDesk,
    readonly peer: Peer,
    readonly identity: Identity,
  ) {
    const { helloTimeoutMs, framesPerSecond, rejectsPerMinute } = desk.config.limits;
    const now = performance.now();
    this.#frameRate = new Bucket(framesPerSecond / 1000, framesPerSecond, now);
    this.#rejectRate = new Bucket(rejectsPerMinute / 60_000, rejectsPerMinute, now);
    this.#helloTimer = setTimeout(
      () => this.#refuse(new Fault('hello_timeout', '', `no hello within ${helloTimeoutMs} ms; send it first`)),
      helloTimeoutMs,
    );
  }

  get feed(): FeedId | null {
    return this.#intake?.feed ?? null;
  }

  /** Whether the connection is currently not read from. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Whether that is for its credit, its rate or the disk, and not only to let others have a turn. */
  get behind(): boolean {
    return this.#behind;
  }

  /** Whether everything that came is stored or was rejected, but for messages that wait for the rest of their frame. */
  get onlyHeld(): boolean {
    return this.#intake === null || this.#intake.waiting === 0;
  }

  /** Takes a text message as it came from the socket. */
  receive(bytes: Buffer, receivedMs: number): void {
    if (this.#state === 'closed') return;
    this.desk.turn.begin();
    const native = this.#state === 'open' && this.#translation === null;
    const parts = native ? this.desk.scanner.scan(bytes, this.#rules!) : null;
    if (parts) this.#take(parts, receivedMs);
    else this.#read(bytes.toString(), receivedMs);
    this.regulate();
    this.desk.turn.end(this);
  }

  /** The general way: whatever a message is, and what is wrong with it. */
  #read(text: string, receivedMs: number): void {
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
      case 'message':
        if (this.#ready() && this.#fits(message.type)) this.#element(message.raw, receivedMs, '');
        break;
      case 'frames':
      case 'messages':
        if (this.#ready() && this.#fits(message.type))
          for (const [n, raw] of message.raw.entries()) this.#element(raw, receivedMs, `${message.type}[${n}]`);
        break;
      case 'end':
        if (this.#ready()) void this.#end();
        break;
    }
  }

  /** A binary message never means anything here. */
  receiveBinary(bytes: number): void {
    this.#reject(new Fault('message_invalid', '', `the message is binary (${bytes} bytes); send JSON as text`));
  }

  /** The connection is gone. */
  closed(): void {
    this.#state = 'closed';
    clearTimeout(this.#helloTimer);
    if (this.#rateTimer) clearTimeout(this.#rateTimer);
    if (this.#unfinishedTimer) clearTimeout(this.#unfinishedTimer);
    this.#unfinishedTimer = null;
    if (this.#intake) this.desk.release(this.#intake, this);
    this.desk.leave(this);
  }

  close(code: CloseCode, reason: string): void {
    if (this.#state === 'closed') return;
    this.#flushAck();
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

  /** Called by the intake when the oldest waiting frames are stored. */
  progressed(): void {
    this.#scheduleAck();
    // from now on it can
    if (this.#unfinishedTimer) this.#unfinishedTimer.refresh();
    this.regulate();
  }

  /** Stops or goes on reading: the credit, the rate, the disk and the event loop decide. */
  regulate(): void {
    const { creditFrames } = this.desk.config.limits;
    const waiting = this.#intake?.waiting ?? 0;
    this.#full = waiting > creditFrames || (this.#full && waiting > creditFrames / 2);
    const behind = this.#full || this.#rateTimer !== null || this.#intake?.stalled === true;
    if (behind && !this.#behind) this.desk.telemetry.counts.pauses++;
    this.#behind = behind;
    const paused = this.#state !== 'closed' && (behind || this.#held || this.#frozen);
    if (paused === this.#paused) return;
    this.#paused = paused;
    if (paused) this.peer.pause();
    else this.peer.resume();
  }

  /** Not read from again. */
  freeze(): void {
    this.#frozen = true;
    this.regulate();
  }

  /** Not read from until it is let go. */
  hold(held: boolean): void {
    this.#held = held;
    this.regulate();
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
    else this.#reject(new Fault('feed_ended', 'type', 'this feed has ended; say hello on a new connection to go on'));
    return false;
  }

  #hello(raw: Record<string, unknown>): void {
    if (this.#state !== 'greeting') {
      this.#reject(new Fault('hello_repeated', 'type', 'one hello per connection; open another one for another feed'));
      return;
    }
    const hello = checkHello(raw, this.desk.readHello);
    const fault = hello instanceof Fault ? hello : (this.#forbidden(hello) ?? this.#open(hello));
    if (fault) this.#refuse(fault);
  }

  #forbidden({ feed: { stream } }: Hello<SettingsPatch>): Fault | undefined {
    if (this.identity.covers(stream)) return undefined;
    const message = `token ${this.identity.name} is not good for stream ${stream}; extend its streams`;
    return new Fault('stream_forbidden', 'stream', message, stream);
  }

  #open(hello: Hello<SettingsPatch>): Fault | undefined {
    const { desk } = this;
    const format = formatOf(hello, desk.config.formats);
    if (format instanceof Fault) return format;
    const intake = desk.claim(hello, this);
    if (!intake)
      return new Fault(
        'feed_taken',
        'stream',
        'another client holds this feed; stop it, wait until its connection is given up, or resume its session',
      );
    const opened = desk.target.openFeed(hello.feed, hello.settings, hello.shape ?? format?.shape);
    if (!('nextSeq' in opened)) {
      desk.release(intake, this);
      return new Fault(
        opened.code in REJECT_CODES ? (opened.code as RejectCode) : 'hello_invalid',
        opened.path,
        opened.message,
      );
    }
    this.#welcome(intake, opened, format);
    return undefined;
  }

  #welcome(
    intake: Intake,
    { nextSeq: accepted, plan }: { nextSeq: number; plan: ResolvedStream },
    format: Format | null,
  ): void {
    const { desk } = this;
    const { feed } = intake;
    const nextSeq = intake.start(accepted);
    // its counters begin at 0, not with the first frame
    desk.telemetry.feedMeter(feed);
    clearTimeout(this.#helloTimer);
    this.#intake = intake;
    this.#state = 'open';
    this.#acked = nextSeq - 1;
    this.#rules = desk.rulesOf(feed.stream, plan);
    const { creditFrames } = desk.config.limits;
    if (format) this.#translation = new Translation(format, feed.role, this.#rules, creditFrames, intake.lastSeq);
    this.#send(welcomeMessage(this.id, nextSeq, plan, desk.config.limits));
    const { address } = this.peer;
    desk.logger.info('feed_opened', { ...feed, session: this.id, nextSeq, address, token: this.identity.name });
  }

  /** Frames come on native feeds, messages on all others. */
  #fits(type: string): boolean {
    const foreign = type === 'message' || type === 'messages';
    if (foreign === (this.#translation !== null)) return true;
    const { adapter } = this.#translation?.format ?? {};
    const remedy = adapter
      ? `this feed has format ${adapter.name}; send its messages as {"type":"message","seq":1,"message":...}`
      : 'this feed has format native; send frames, or name the format of your messages in the hello';
    this.#reject(new Fault('message_invalid', 'type', remedy, type));
    return false;
  }

  #element(raw: unknown, receivedMs: number, prefix: string): void {
    if (this.#state !== 'open') return;
    if (this.#translation) this.#translate(this.#translation.take(raw), receivedMs, prefix);
    else this.#frame(raw, receivedMs, prefix);
  }

  #frame(raw: unknown, receivedMs: number, prefix: string): void {
    const part = checkFrame(raw, this.#rules!);
    if (part instanceof Fault) {
      this.#limitRate(1);
      this.#reject(prefix ? part.within(prefix) : part);
    } else this.#take([part], receivedMs);
  }

  /** Hands on what a foreign message has completed; null: its number came before. */
  #translate(translated: Translated | null, receivedMs: number, prefix: string): void {
    const { parts, fault, upTo } = translated ?? { parts: [], fault: null, upTo: 0 };
    if (parts.length === 0) this.#limitRate(1);
    if (translated === null) this.#repeated();
    this.#take(parts, receivedMs);
    this.#intake!.skip(upTo);
    if (fault) this.#reject(prefix ? fault.within(prefix) : fault, null);
    this.#awaitRest(receivedMs);
  }

  /** A frame that is not complete is taken as complete when nothing more comes. */
  #awaitRest(receivedMs: number): void {
    if (this.#unfinishedTimer) clearTimeout(this.#unfinishedTimer);
    this.#unfinishedTimer = null;
    if (!this.#translation?.held || this.#state !== 'open') return;
    this.#unfinishedTimer = setTimeout(() => {
      // a client that has used up its credit, or is not read from, cannot send the rest
      if (this.#paused || this.#intake!.waiting > 0) this.#awaitRest(receivedMs);
      else this.#translate(this.#translation!.flush(), receivedMs, '');
    }, this.desk.config.limits.unfinishedMs);
  }

  #take(parts: FeedPart[], receivedMs: number): void {
    this.#limitRate(parts.length);
    const intake = this.#intake!;
    const meter = this.desk.telemetry.feedMeter(intake.feed);
    for (const part of parts) {
      if (!intake.offer(part, receivedMs)) {
        this.#repeated();
        continue;
      }
      meter.frames++;
      meter.objects += countOf(part.objects);
      meter.lastReceivedMs = receivedMs;
      if (this.#rules!.shape === 'point')
        this.#rules!.dimensions = dimensionsOf(part.objects) || this.#rules!.dimensions;
    }
  }

  #repeated(): void {
    this.#duplicates++;
    this.desk.telemetry.feedMeter(this.#intake!.feed).duplicates++;
    this.#scheduleAck();
  }

  /** Too fast: read on when the bucket has recovered, whatever else had already come by then. */
  #limitRate(frames: number): void {
    const waitMs = this.#frameRate.take(frames, performance.now());
    if (this.#rateTimer || waitMs === 0) return;
    this.#rateTimer = setTimeout(() => {
      this.#rateTimer = null;
      this.#limitRate(0);
      this.regulate();
    }, waitMs);
  }

  async #end(): Promise<void> {
    // what is held belongs to the feed; nothing more can complete it
    if (this.#translation?.held) this.#translate(this.#translation.flush(), Date.now(), '');
    if (this.#state === 'closed') return;
    this.#state = 'ending';
    const intake = this.#intake!;
    await intake.drained();
    this.#flushAck();
    try {
      await this.desk.target.end(intake.feed);
    } catch (error) {
      if (!isStorageFault(error)) this.desk.fault(intake, error);
      // nothing was promised yet: once the disk has room the same request is made again
      else this.desk.later(() => this.#state === 'ending' && void this.#end());
      return;
    }
    if (this.#state !== 'ending') return;
    this.#state = 'ended';
    this.#send({ type: 'ended' });
    this.desk.logger.info('feed_ended', { ...intake.feed, session: this.id });
  }

  /** Answers a mistake after which the connection goes on; a frame uses up its number. */
  #reject(fault: Fault, usedUp: number | null = fault.seq ?? null): void {
    if (usedUp !== null) this.#intake?.skip(usedUp);
    this.#tell(fault);
    if (this.#rejectRate.take(1, performance.now()) > 0) {
      const { rejectsPerMinute } = this.desk.config.limits;
      this.#refuse(
        new Fault('rejects_exceeded', '', `more than ${rejectsPerMinute} rejects per minute; repair the sender`),
      );
    }
  }

  /** Answers a mistake that ends the connection. */
  #refuse(fault: Fault): void {
    if (this.#state === 'closed') return;
    this.#tell(fault);
    const code = REJECT_CODES[fault.code].close ?? 4400;
    this.desk.logger.warn('session_refused', {
      ...this.feed,
      code: fault.code,
      path: fault.path,
      message: fault.message,
      address: this.peer.address,
    });
    this.close(code, fault.code);
  }

  #tell(fault: Fault): void {
    this.#send(fault.toMessage());
    if (this.#intake) this.desk.target.reportRejected(this.#intake.feed, fault.code);
    else this.desk.telemetry.refused(fault.code);
    this.desk.logger.debug('rejected', { ...this.feed, code: fault.code, path: fault.path, seq: fault.seq });
  }

  #scheduleAck(): void {
    if (this.#ackScheduled) return;
    this.#ackScheduled = true;
    // frames of one group commit share one ack
    setImmediate(() => {
      this.#ackScheduled = false;
      this.#flushAck();
    });
  }

  #flushAck(): void {
    const seq = Math.floor(this.#intake?.acked ?? 0);
    if (this.#state === 'closed' || seq === 0) return;
    // duplicates alone wait for the next stored frame, when there is one underway
    if (seq === this.#acked && (this.#duplicates === 0 || this.#intake!.waiting > 0)) return;
    this.#send(this.#duplicates > 0 ? { type: 'ack', seq, duplicates: this.#duplicates } : { type: 'ack', seq });
    this.#acked = seq;
    this.#duplicates = 0;
  }

  #send(message: Outgoing): void {
    if (this.#state === 'closed') return;
    this.peer.send(JSON.stringify(message));
    if (this.peer.backlogBytes() > this.desk.config.limits.backlogBytes) {
      this.closed();
      this.peer.close(4008, CLOSE_CODES[4008].meaning);
    }
  }
}
