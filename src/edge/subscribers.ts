/**
 * The reading half: who listens on /v1/live, and what they get when they cannot keep up. A subscriber that lags gets
 * only the newest report of each series, with the number of those left out; events are never left out, so one that
 * lets too many of them wait, or takes nothing for too long, is closed.
 * Invariant: what waits for a subscriber is bounded by the number of series plus limits.liveEvents.
 */
import type { Config } from '../config/config.js';
import { CLOSE_CODES, type CloseCode } from '../wire/codes.js';
import { type LiveEvent, type ReportEvent, reportMessage } from '../wire/events.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';

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
}

/** The other end of a subscription. */
export interface Reader {
  /** `done` is called when the text has left the process */
  send(text: string, done: () => void): void;
  backlogBytes(): number;
  close(code: CloseCode, reason: string): void;
}

interface Counts {
  coalesced: number;
  slowClosed: number;
}

const keyOf = ({ stream, tracker, profile }: SeriesId) => seriesKey(stream, tracker, profile);

/** An event and its text, made once for all subscribers and only when one wants it. */
class Publication {
  #text: string | null = null;
  #drawable: string | null = null;
  constructor(readonly event: LiveEvent) {}

  text(objects = false): string {
    if (objects && this.event.type === 'report' && this.event.objects) {
      this.#drawable ??= JSON.stringify(reportMessage(this.event, true));
      return this.#drawable;
    }
    this.#text ??= JSON.stringify(this.event.type === 'report' ? reportMessage(this.event) : this.event);
    return this.#text;
  }
}

/** Passes events on to every subscriber, and the newest report of each series to newcomers. */
export class LiveBoard {
  #subscriptions = new Set<Subscription>();
  #newest = new Map<string, Publication>();

  constructor(
    readonly limits: Config['limits'],
    readonly counts: Counts,
    readonly now: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.#subscriptions.size;
  }

  publish(event: LiveEvent): void {
    const publication = new Publication(event);
    if (event.type === 'report') this.#newest.set(keyOf(event), publication);
    else if (event.type === 'retired') this.#newest.delete(keyOf(event));
    for (const subscription of this.#subscriptions) subscription.offer(publication);
  }

  /** Takes a report over that was published before this board was there. */
  restore(event: ReportEvent): void {
    this.#newest.set(keyOf(event), new Publication(event));
  }

  subscribe(reader: Reader, filter: Filter): Subscription {
    const subscription = new Subscription(this, reader, filter);
    this.#subscriptions.add(subscription);
    for (const publication of this.#newest.values()) subscription.offer(publication);
    subscription.caughtUp();
    return subscription;
  }

  leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }
}

/** One connection to /v1/live. */
export class Subscription {
  #events: Publication[] = [];
  #reports = new Map<string, { publication: Publication; skipped: number }>();
  #progressMs: number;
  #pace: NodeJS.Timeout | null = null;
  /** false: reports wait for their time to come */
  #due = true;

  constructor(
    readonly board: LiveBoard,
    readonly reader: Reader,
    readonly filter: Filter,
  ) {
    this.#progressMs = board.now();
    if (filter.everyMs) this.#pace = setInterval(() => this.#tick(), filter.everyMs).unref();
  }

  offer(publication: Publication): void {
    const { event } = publication;
    if (!this.#wants(event)) return;
    if (event.type === 'report' && this.#pace !== null && !this.#due) this.#keepReport(publication, event);
    else if (this.#idle && this.#roomy) this.#send(publication.text(this.filter.objects));
    else this.#keep(publication);
  }

  /** A newcomer has been told what there is; from now on its pace counts. */
  caughtUp(): void {
    this.#due = this.#pace === null || this.#reports.size > 0;
  }

  closed(): void {
    if (this.#pace) clearInterval(this.#pace);
    this.board.leave(this);
    this.#events = [];
    this.#reports.clear();
  }

  get #idle(): boolean {
    return this.#events.length === 0 && (this.#reports.size === 0 || !this.#due);
  }

  get #roomy(): boolean {
    return this.reader.backlogBytes() <= this.board.limits.liveBufferBytes;
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

  /** The time of a paced reader has come: what waits goes out, then reports gather again. */
  #tick(): void {
    this.#due = true;
    if (this.#roomy) this.#forward();
    this.#due = this.#reports.size > 0;
    if (this.#due && this.board.now() - this.#progressMs > this.board.limits.liveStallMs) this.#giveUp();
  }

  #keepReport(publication: Publication, event: ReportEvent): void {
    const key = keyOf(event);
    const older = this.#reports.get(key);
    if (older && this.#due) this.board.counts.coalesced++;
    this.#reports.set(key, { publication, skipped: older ? older.skipped + 1 : 0 });
  }

  #keep(publication: Publication): void {
    const { event } = publication;
    if (event.type === 'report') this.#keepReport(publication, event);
    else this.#events.push(publication);
    const { liveEvents, liveStallMs } = this.board.limits;
    if (this.#events.length > liveEvents || this.board.now() - this.#progressMs > liveStallMs) this.#giveUp();
  }

  #giveUp(): void {
    this.board.counts.slowClosed++;
    this.closed();
    this.reader.close(4008, CLOSE_CODES[4008].meaning);
  }

  #send(text: string): void {
    // a peer that had nothing to take was not slow
    if (this.reader.backlogBytes() === 0) this.#progressMs = this.board.now();
    this.reader.send(text, () => this.#progressed());
  }

  /** Something left for the peer: go on with what waits, events first. */
  #progressed(): void {
    this.#progressMs = this.board.now();
    this.#forward();
  }

  #forward(): void {
    let sent = 0;
    while (sent < this.#events.length && this.#roomy) this.#send(this.#events[sent++].text());
    this.#events.splice(0, sent);
    if (this.#events.length > 0 || !this.#due) return;
    for (const [key, { publication, skipped }] of this.#reports) {
      if (!this.#roomy) return;
      this.#reports.delete(key);
      const text = publication.text(this.filter.objects);
      this.#send(skipped > 0 ? `{"skipped":${skipped},${text.slice(1)}` : text);
    }
  }
}
