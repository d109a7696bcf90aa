/**
 * A stream that nobody evaluates for now, as it was known last. While it is `restoring` its records wait here until it
 * has been rebuilt from its snapshot and the log; when it is `suspended` they stay in the log, unjudged, and the next
 * start tries again. What feeds have stored is followed all the same, so that nobody sends it twice.
 */
import type { Stored } from '../store/log-port.js';
import type { LogRecord } from '../store/record.js';
import { FeedLedger } from '../stream/feed-ledger.js';
import { idleAmong } from '../stream/idle.js';
import type { StreamPlan } from '../stream/plan.js';
import type { RunningStream, StreamSnapshot } from '../stream/running-stream.js';
import type { FeedInfo, StreamInfo } from '../stream/status.js';
import type { Applied } from '../stream/stream-events.js';
import type { ReportEvent, SpikeEvent } from '../wire/events.js';

/** What was known of a stream when it was detached. */
export interface LastKnown {
  plan: StreamPlan;
  info: StreamInfo;
  spikes: SpikeEvent[];
  reports: ReportEvent[];
}

const NOTHING: readonly Applied[] = [];
const UNHEARD = { lastReceivedMs: 0, silent: false, ended: false, awaited: false };

/** What a stream still knows of itself, also when it was left half changed. */
export function knownOf(stream: Pick<RunningStream, 'name' | 'plan' | 'info' | 'spikes' | 'reports'>): LastKnown {
  const { name, plan } = stream;
  try {
    return { plan, info: structuredClone(stream.info()), spikes: stream.spikes(), reports: stream.reports() };
  } catch {
    return bare(name, plan, []);
  }
}

/** What a snapshot says of a stream that has not been rebuilt from it. */
export function knownIn(name: string, state: unknown): LastKnown {
  const { plan, feeds = [] } = state as {
    plan: StreamPlan;
    feeds?: Array<Pick<FeedInfo, 'role' | 'tracker' | 'seq' | 'epoch'>>;
  };
  return bare(
    name,
    plan,
    feeds.map((feed) => ({ ...feed, ...UNHEARD })),
  );
}

function bare(name: string, plan: StreamPlan, feeds: FeedInfo[]): LastKnown {
  const { shape, settings, profiles } = plan;
  const { windowFrames } = settings;
  const common = { stream: name, shape, dimensions: 0, windowFrames, profiles: Object.keys(profiles) };
  const info = { ...common, resuming: false, feeds, series: [], findings: [], incidents: [] };
  return { plan, info, spikes: [], reports: [] };
}

export class DetachedStream implements RunningStream {
  readonly evaluated = false;
  readonly share = undefined;
  readonly workMs = 0;
  readonly inRecord = false;
  readonly resuming = false;
  /** records that came after `readsUpTo`, in order; empty once it is suspended */
  readonly queue: Stored[];
  /** why nobody evaluates it any more; null while it is restoring */
  suspended: string | null = null;
  #position: number;

  constructor(
    readonly name: string,
    readonly known: LastKnown,
    readonly readsUpTo: number,
    queue: readonly Stored[],
    /** keeps the last snapshot for the position given, so that the log may shrink */
    readonly keep: (position: number) => Promise<void>,
    /** the evaluator has just started: what comes of the records up to there may not have been published */
    readonly recovering: boolean,
  ) {
    this.queue = [...queue];
    this.#position = queue.at(-1)?.position ?? readsUpTo;
  }

  get plan(): StreamPlan {
    return this.known.plan;
  }

  get firstPending(): number {
    return this.queue[0]?.position ?? Number.POSITIVE_INFINITY;
  }

  apply(record: LogRecord, position: number): Iterable<Applied> | null {
    this.#position = position;
    this.observe(record);
    if (this.suspended !== null) return NOTHING;
    this.queue.push({ position, record });
    return null;
  }

  /** A record of this stream that is stored, whether or not it is ever judged. */
  observe(record: LogRecord): void {
    if (new FeedLedger(this.known.info.feeds).isRepeated(record)) return;
    if (record.kind === 'open') Object.assign(this.#feed(record), { ended: false, epoch: record.epoch });
    else if (record.kind === 'end') this.#feed(record).ended = true;
    else if (record.kind === 'part')
      Object.assign(this.#feed(record), { seq: record.part.seq, lastReceivedMs: record.atMs });
  }

  #feed({ role, tracker }: Pick<FeedInfo, 'role' | 'tracker'>): FeedInfo {
    const { feeds } = this.known.info;
    const known = feeds.find((feed) => feed.tracker === tracker);
    if (known) return known;
    feeds.push({ role, tracker, seq: 0, ...UNHEARD });
    return feeds.at(-1)!;
  }

  deadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** Of a suspended stream nothing but all of it is retired. */
  idle(nowMs: number): null | undefined {
    if (this.suspended === null) return undefined;
    const quiet = this.info().feeds.map((feed) => ({ ...feed, quietMs: feed.lastReceivedMs }));
    return idleAmong(quiet, this.plan, nowMs) === null ? null : undefined;
  }

  isAhead(): boolean {
    return false;
  }

  info(): StreamInfo {
    // it may have been detached before
    const { restoring: _restoring, suspended: _suspended, ...info } = this.known.info;
    const own = { ...info, resuming: false };
    return this.suspended === null ? { ...own, restoring: true } : { ...own, suspended: this.suspended };
  }

  reports(): ReportEvent[] {
    return this.known.reports;
  }

  spikes(): SpikeEvent[] {
    return this.known.spikes;
  }

  window(): undefined {
    return undefined;
  }

  snapshot(_save: (snapshot: StreamSnapshot) => void): Promise<void> {
    return this.suspended === null ? Promise.resolve() : this.keep(this.#position);
  }

  dispose(): void {}
}
