/**
 * The reading half: who listens on /v1/live, and what they get when they cannot keep up. A subscriber that lags gets
 * only the newest report of each series, with the number of those left out; events are never left out, so one that
 * lets too many of them wait, or takes nothing for too long, is closed. Feeds come before readers: all readers together
 * get limits.liveShare of the time, in turns of a millisecond; while they have used it up, what is published waits
 * for the next round, which has the newest report of each series only.
 * Invariant: what waits for a subscriber is bounded by the number of series plus limits.liveEvents.
 */
import type { Config } from '../config/config.js';
import { CLOSE_CODES } from '../wire/codes.js';
import { type LiveEvent, type ReportEvent, reportMessage } from '../wire/events.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';
import { RateLimit } from './limits/rate-limit.js';
import { type HttpRefusal, type Identity, refusal } from './peers/access.js';
import { type Conversation, type Peer, SLOW_PATIENCE_MS } from './peers/peer.js';

export interface Filter {
  stream?: string;
  tracker?: string;
  profile?: string;
  /** streams the subscriber may see at all */
  covers: (stream: string) => boolean;
  /** reports carry the objects of their frame */
  objects?: boolean;
  /** at most one report of each series in this time, the newest; absent or 0: every one */
  everyMs?: number;
  /** reports that wait may come together, several in one message */
  batch?: boolean;
}

/** What a reader asks for in the query of its address. */
export function readFilter(query: URLSearchParams, { covers }: Identity): Filter | HttpRefusal {
  const wanted = (key: string) => query.get(key) ?? undefined;
  const everyMs = Number(query.get('everyMs') ?? 0);
  const objects = query.get('objects') ?? '0';
  const batch = query.get('batch') ?? '0';
  if (!(everyMs === 0 || (everyMs >= 50 && everyMs <= 60_000)))
    return refusal('request_invalid', 'everyMs must be from 50 to 60000 milliseconds, or 0 for every report');
  if (objects !== '0' && objects !== '1')
    return refusal('request_invalid', 'objects must be 1, for reports with the objects of their frame, or 0');
  if (batch !== '0' && batch !== '1')
    return refusal('request_invalid', 'batch must be 1, for several reports in one message, or 0');
  const series = { stream: wanted('stream'), tracker: wanted('tracker'), profile: wanted('profile') };
  return { ...series, covers, objects: objects === '1', everyMs, batch: batch === '1' };
}

interface Counts {
  coalesced: number;
  slowClosed: number;
}

const keyOf = ({ stream, tracker, profile }: SeriesId) => seriesKey(stream, tracker, profile);

/** milliseconds that readers may use at once when they have used nothing for a while */
const BURST_MS = 10;
/** milliseconds after which others have their turn, also when readers have time left */
const TURN_MS = 1;

/** bytes after which a message of several reports is sent: small enough for a reader's backlog to be seen in time */
const BATCH_BYTES = 32_768;
const BATCH_START = Buffer.from('{"type":"reports","reports":[');
const COMMA = Buffer.from(',');
const BATCH_END = Buffer.from(']}');

/** An event and its text, made once for all subscribers and only when one wants it. */
class Publication {
  #text: Buffer | null = null;
  #drawable: Buffer | null = null;

  constructor(
    readonly event: LiveEvent,
    /** reports of the series that nobody got before this one */
    readonly skipped = 0,
  ) {}

  /** With what the subscriber did not get besides. */
  text(objects: boolean | undefined, skipped = 0): Buffer {
    const withObjects = objects === true && this.event.type === 'report' && this.event.objects !== undefined;
    if (withObjects) this.#drawable ??= this.#write(true);
    else this.#text ??= this.#write(false);
    const text = withObjects ? this.#drawable! : this.#text!;
    const total = this.skipped + skipped;
    return total > 0 ? Buffer.concat([Buffer.from(`{"skipped":${total},`), text.subarray(1)]) : text;
  }

  #write(objects: boolean): Buffer {
    const { event } = this;
    return Buffer.from(JSON.stringify(event.type === 'report' ? reportMessage(event, objects) : event));
  }
}

/** What is being passed on, and to whom it has not been yet. */
interface Round {
  publications: Publication[];
  /** the first one gets the publication at `next` */
  left: Set<Subscription>;
  next: number;
}

/** Passes events on to every subscriber, and the newest report of each series to newcomers. */
export class Subscribers {
  #subscriptions = new Set<Subscription>();
  #newest = new Map<string, Publication>();
  readonly #time: RateLimit;
  #round: Round | null = null;
  /** what waits for the next round; events, then the newest report of each series */
  #laterEvents: Publication[] = [];
  readonly #laterReports = new Map<string, Publication>();
  /** subscribers that could take what waits for them */
  readonly #ready = new Set<Subscription>();
  /** a turn is due */
  #scheduled = false;

  constructor(
    readonly limits: Config['limits'],
    readonly counts: Counts,
    /** somebody reads from now on, or nobody any longer */
    readonly read: (wanted: boolean) => void = () => {},
    readonly now: () => number = () => performance.now(),
  ) {
    this.#time = new RateLimit(limits.liveShare, BURST_MS, now());
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  publish(event: LiveEvent): void {
    const publication = new Publication(event);
    if (event.type === 'report') this.#newest.set(keyOf(event), publication);
    else if (event.type === 'retired') this.#newest.delete(keyOf(event));
    if (this.#subscriptions.size === 0) return;
    this.#keep(publication);
    this.#serve();
  }

  #keep(publication: Publication): void {
    const { event } = publication;
    if (event.type === 'report') {
      const key = keyOf(event);
      const older = this.#laterReports.get(key);
      this.#laterReports.set(key, older ? new Publication(event, older.skipped + 1) : publication);
      return;
    }
    // nothing may follow the retirement of a series
    const last = event.type === 'retired' ? this.#laterReports.get(keyOf(event)) : undefined;
    if (last) this.#laterEvents.push(last);
    if (event.type === 'retired') this.#laterReports.delete(keyOf(event));
    this.#laterEvents.push(publication);
    // events are never left out: from here on it is the business of each subscriber
    if (this.#laterEvents.length > this.limits.liveEvents) this.#hurry();
  }

  /** Passes the oldest event on to everybody, whatever time that takes. */
  #hurry(): void {
    while (this.#round) this.#passOn(this.#round);
    this.#round = { publications: this.#laterEvents.splice(0, 1), left: new Set(this.#subscriptions), next: 0 };
    while (this.#round) this.#passOn(this.#round);
  }

  /** Serves subscribers while they have time, in turns; what cannot be served now is when there is time again. */
  #serve(): void {
    if (this.#scheduled) return;
    if (this.#hasTime) this.spend(() => this.#work());
    if (!this.#hasWork) return;
    this.#scheduled = true;
    const again = () => {
      this.#scheduled = false;
      this.#serve();
    };
    const waitMs = this.#hasTime ? 0 : this.#time.spend(0, this.now());
    if (waitMs > 0) setTimeout(again, Math.max(1, waitMs));
    else setImmediate(again);
  }

  #work(): void {
    const endMs = this.limits.liveShare === 1 ? Number.POSITIVE_INFINITY : this.now() + TURN_MS;
    while (this.#hasWork && this.now() < endMs) {
      this.#round ??= this.#nextRound();
      if (this.#round) this.#passOn(this.#round);
      else this.#forwardNext();
    }
  }

  get #hasWork(): boolean {
    return this.#round !== null || this.#laterEvents.length + this.#laterReports.size + this.#ready.size > 0;
  }

  #nextRound(): Round | null {
    const publications = [...this.#laterEvents, ...this.#laterReports.values()];
    if (publications.length === 0) return null;
    this.#laterEvents = [];
    this.#laterReports.clear();
    return { publications, left: new Set(this.#subscriptions), next: 0 };
  }

  /** One publication, to one subscriber. */
  #passOn(round: Round): void {
    const [subscription] = round.left;
    subscription?.offer(round.publications[round.next++]);
    if (round.next === round.publications.length) this.#passed(round, subscription);
    if (round.left.size === 0) this.#round = null;
  }

  /** This subscriber has everything, or is gone. */
  #passed(round: Round, subscription: Subscription): void {
    const [current] = round.left;
    if (current === subscription) round.next = 0;
    round.left.delete(subscription);
    if (round.left.size === 0) this.#round = null;
  }

  #forwardNext(): void {
    for (const subscription of this.#ready) {
      this.#ready.delete(subscription);
      subscription.forward();
      return;
    }
  }

  /** This subscriber could take what waits for it. */
  ready(subscription: Subscription): void {
    this.#ready.add(subscription);
    this.#serve();
  }

  /**
   * Does something for readers, and charges their time with it. Callbacks of writes come once the work of this turn of
   * the event loop is over, between two marks. A turn ends after TURN_MS: what took longer was another program.
   */
  spend(work: () => void): void {
    let startMs = 0;
    process.nextTick(() => {
      startMs = this.now();
    });
    const workMs = this.now();
    work();
    this.#charge(workMs);
    process.nextTick(() => this.#charge(startMs));
  }

  #charge(sinceMs: number): void {
    const nowMs = this.now();
    this.#time.spend(Math.min(nowMs - sinceMs, 2 * TURN_MS), nowMs);
  }

  get #hasTime(): boolean {
    return this.limits.liveShare === 1 || this.#time.spend(0, this.now()) === 0;
  }

  /** A report that was published before; `unseen`: not even those who were there got it. */
  restore(event: ReportEvent, unseen: boolean): void {
    if (unseen) this.publish(event);
    else this.#newest.set(keyOf(event), new Publication(event));
  }

  subscribe(peer: Peer, filter: Filter): Subscription {
    const subscription = new Subscription(this, peer, filter);
    this.#subscriptions.add(subscription);
    if (this.#subscriptions.size === 1) this.read(true);
    this.spend(() => {
      for (const publication of this.#newest.values()) subscription.offer(publication);
      subscription.caughtUp();
    });
    return subscription;
  }

  leave(subscription: Subscription): void {
    const isLast = this.#subscriptions.delete(subscription) && this.#subscriptions.size === 0;
    this.#ready.delete(subscription);
    if (this.#round) this.#passed(this.#round, subscription);
    if (isLast) this.read(false);
  }
}

/** One connection to /v1/live. */
export class Subscription implements Conversation {
  /** what readers say is never long enough to stop reading */
  readonly paused = false;
  #events: Publication[] = [];
  #reports = new Map<string, { publication: Publication; skipped: number }>();
  #progressMs: number;
  #pace: NodeJS.Timeout | null = null;
  #gone = false;
  /** false: reports wait for their time to come */
  #due = true;

  constructor(
    readonly subscribers: Subscribers,
    readonly peer: Peer,
    readonly filter: Filter,
  ) {
    this.#progressMs = subscribers.now();
    if (filter.everyMs) this.#pace = setInterval(() => this.#tick(), filter.everyMs).unref();
  }

  offer(publication: Publication): void {
    const { event } = publication;
    if (this.#gone || !this.#wants(event)) return;
    if (publication.skipped > 0 && this.#pace === null) this.subscribers.counts.coalesced += publication.skipped;
    if (event.type === 'report' && this.#pace !== null && !this.#due) this.#enqueueReport(publication, event);
    else if (this.#idle && this.#roomy) this.#send(publication.text(this.filter.objects));
    else this.#enqueue(publication);
  }

  /** A newcomer has the newest reports; from now on its pace counts. */
  caughtUp(): void {
    this.#due = this.#pace === null || this.#reports.size > 0;
  }

  /** Readers have nothing to say; a ping is answered so that a page can tell a dead connection from a quiet one. */
  receive(bytes: Buffer): void {
    if (bytes.length >= 64 || !bytes.includes('"ping"')) return;
    if (this.peer.backlogBytes() <= this.subscribers.limits.backlogBytes) this.peer.send('{"type":"pong"}');
    else this.#closeSlow();
  }

  receiveBinary(): void {}

  closed(): void {
    this.#gone = true;
    if (this.#pace) clearInterval(this.#pace);
    this.subscribers.leave(this);
    this.#events = [];
    this.#reports.clear();
  }

  get #idle(): boolean {
    return this.#events.length === 0 && (this.#reports.size === 0 || !this.#due);
  }

  get #roomy(): boolean {
    return this.peer.backlogBytes() <= this.subscribers.limits.liveBufferBytes;
  }

  #wants(event: LiveEvent): boolean {
    const { stream, tracker, profile, covers } = this.filter;
    return (
      (stream === undefined || event.stream === stream) &&
      (tracker === undefined || event.tracker == null || event.tracker === tracker) &&
      (profile === undefined || !('profile' in event) || event.profile === profile) &&
      covers(event.stream)
    );
  }

  /** A paced reader is due: what waits goes out, then reports gather again. */
  #tick(): void {
    this.#due = this.#reports.size > 0;
    if (this.#due) this.subscribers.ready(this);
    if (this.#reports.size > 0 && this.subscribers.now() - this.#progressMs > this.subscribers.limits.liveStallMs)
      this.#closeSlow();
  }

  #enqueueReport(publication: Publication, event: ReportEvent): void {
    const key = keyOf(event);
    const older = this.#reports.get(key);
    if (older && this.#due) this.subscribers.counts.coalesced++;
    const skipped = older ? older.skipped + older.publication.skipped + 1 : 0;
    this.#reports.set(key, { publication, skipped });
  }

  #enqueue(publication: Publication): void {
    const { event } = publication;
    if (event.type === 'report') this.#enqueueReport(publication, event);
    else this.#events.push(publication);
    const { liveEvents, liveStallMs } = this.subscribers.limits;
    if (this.#events.length > liveEvents || this.subscribers.now() - this.#progressMs > liveStallMs) this.#closeSlow();
  }

  #nextReport(): Buffer {
    const [[key, { publication, skipped }]] = this.#reports;
    this.#reports.delete(key);
    return publication.text(this.filter.objects, skipped);
  }

  #nextBatch(): Buffer {
    const parts: Buffer[] = [];
    for (let bytes = 0; this.#reports.size > 0 && bytes < BATCH_BYTES; ) {
      const report = this.#nextReport();
      parts.push(parts.length === 0 ? BATCH_START : COMMA, report);
      bytes += report.length;
    }
    return Buffer.concat([...parts, BATCH_END]);
  }

  #closeSlow(): void {
    if (this.#gone) return;
    this.subscribers.counts.slowClosed++;
    this.closed();
    this.peer.close(4008, CLOSE_CODES[4008].meaning, SLOW_PATIENCE_MS);
  }

  #send(text: Buffer): void {
    // a peer that had nothing to read was not slow
    if (this.peer.backlogBytes() === 0) this.#progressMs = this.subscribers.now();
    this.peer.send(text, () => this.#progressed());
  }

  /** Something left for the peer: what waits follows, events first. */
  #progressed(): void {
    this.#progressMs = this.subscribers.now();
    if (this.#events.length > 0 || (this.#due && this.#reports.size > 0)) this.subscribers.ready(this);
  }

  forward(): void {
    let sent = 0;
    while (sent < this.#events.length && this.#roomy) this.#send(this.#events[sent++].text(false));
    this.#events.splice(0, sent);
    if (this.#events.length > 0 || !this.#due) return;
    while (this.#reports.size > 0) {
      if (!this.#roomy) return;
      this.#send(this.filter.batch ? this.#nextBatch() : this.#nextReport());
    }
    // a paced reader has its reports; the next ones gather
    this.#due = this.#pace === null;
  }
}
