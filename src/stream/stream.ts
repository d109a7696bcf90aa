/**
 * Everything known about one stream: how its feeds are paired, its series, and the numbers of its events. Its state is
 * a function of its log records: `apply` is the only way to change it, and the same records give the same events.
 */
import type { ResolvedStream, SettingsPatch } from '../config/config.js';
import type { Evaluation, Report } from '../metric/evaluation.js';
import { InputError } from '../metric/input-error.js';
import type { WindowParams } from '../metric/sliding-window.js';
import type { SolveOptions } from '../metric/solve-options.js';
import type { FrameView } from '../metric/window/frame-record.js';
import { Companion, type CompanionState, type ScoreReading } from '../scores/companion.js';
import type { SimilarityRule } from '../scores/similarity.js';
import type { SpikeNews } from '../spikes/watch.js';
import { eventKey } from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import {
  type LiveEvent,
  mergeEvents,
  newestReport,
  type ReportEvent,
  type SpikeEvent,
  summarize,
} from '../wire/events.js';
import type { FeedId, Role } from '../wire/feed.js';
import { dimensionsOf, type FeedPart, listed, type Shape, type WireObject } from '../wire/objects.js';
import { seriesKey as keyOfSeries } from '../wire/series-key.js';
import { type Outcome, Pairing, type PairingState, type Step } from './pairing.js';
import { type Pushed, type RetainedFrame, Series, type SeriesState } from './series.js';

/** How a stream is judged, complete, and what of it a hello asked for. */
export interface StreamPlan extends ResolvedStream {
  patch: SettingsPatch;
}

/** An entry of the event history; one with a key that is already there replaces it. */
export interface HistoryEntry {
  key: string;
  event: LiveEvent;
}

export interface Applied {
  events: LiveEvent[];
  history: HistoryEntry[];
}

export interface FeedInfo {
  role: Role;
  tracker: string | null;
  /** number of the last frame that was stored */
  seq: number;
  /** epoch milliseconds */
  lastReceivedMs: number;
  silent: boolean;
  ended: boolean;
}

/** A stream as it is shown to people and programs. */
export interface StreamInfo {
  stream: string;
  shape: Shape;
  /** coordinates of its points; 0 when it has boxes, or none were seen */
  dimensions: number;
  windowFrames: number;
  profiles: string[];
  feeds: FeedInfo[];
  series: Array<{ tracker: string; profile: string; k: number | null; frames: number; ended: boolean }>;
}

/** The current window of a series; `frames[n]` belongs to `evaluation.perFrame[n]`. */
export interface WindowView {
  stream: string;
  tracker: string;
  profile: string;
  params: WindowParams;
  k: number;
  t?: number;
  evaluation: Evaluation;
  newest: Report['newest'];
  settled: Report['settled'];
  lifetime: Report['lifetime'];
  frames: RetainedFrame[];
}

/** What others want to know of a stream at any time. Plain data. */
export interface Standing {
  plan: StreamPlan;
  info: StreamInfo;
  spikes: SpikeEvent[];
  /** epoch milliseconds at which a tick has something to do */
  deadlineMs: number;
}

export interface StreamOptions extends SolveOptions {
  /** milliseconds: a stream is heavy when one in ten solves takes longer, or one was cut; never when absent */
  heavyMs?: number;
}

interface FeedRecord {
  role: Role;
  tracker: string | null;
  seq: number;
}

/** Everything a Stream knows. Plain data. */
interface StreamState {
  version: 1;
  plan: StreamPlan;
  pairing: PairingState;
  feeds: FeedRecord[];
  series: SeriesState[];
  /** by tracker */
  companions?: Array<[tracker: string, state: CompanionState]>;
  dimensions: number;
  eventCount: number;
  lastEntry: HistoryEntry | null;
  spikes?: SpikeEvent[];
  heavy?: boolean;
}

/** the share of long solves is that of about so many; with few, the pauses of a busy machine would make light streams heavy */
const LOAD_SOLVES = 256;
/** with a larger share of long solves than this a stream is heavy; a pause of the machine now and then makes none */
const LONG_SHARE = 0.1;
/** so is one with so many of them in a row */
const LONG_IN_A_ROW = 4;

const NOTHING: readonly Applied[] = [];

export class Stream {
  #plan: StreamPlan;
  #pairing: Pairing;
  #series = new Map<string, Series>();
  /** the other scores, by tracker; empty while they are off */
  #companions = new Map<string, Companion>();
  #feeds = new Map<string, FeedRecord>();
  #dimensions = 0;
  #eventCount = 0;
  #lastEntry: HistoryEntry | null = null;
  /** how the spikes that last began, by series and signal */
  #spikes = new Map<string, SpikeEvent>();
  /** share of long solves among the last ones */
  #longShare = 0;
  #heavy = false;
  #longInARow = 0;
  // of the record that is being applied
  #position = 0;
  #atMs = 0;
  #index = 0;
  #applied: Applied = { events: [], history: [] };
  readonly #heavyMs: number | undefined;
  readonly #solve: SolveOptions;

  constructor(
    readonly name: string,
    plan: StreamPlan,
    { heavyMs, ...solve }: StreamOptions = {},
  ) {
    this.#heavyMs = heavyMs;
    this.#solve = solve;
    this.#plan = plan;
    this.#pairing = new Pairing(plan.settings.pairing, isGeodetic(plan));
  }

  get plan(): StreamPlan {
    return this.#plan;
  }

  /** Its solves take so long that they should be done elsewhere. Once heavy, always heavy. */
  get heavy(): boolean {
    return this.#heavy;
  }

  /** Epoch milliseconds at which a tick has something to do; infinity when only new input matters. */
  deadline(): number {
    return this.#pairing.deadline();
  }

  /** What has been idle for too long: a tracker by name, null for the whole stream, undefined for nothing. */
  idle(nowMs: number): string | null | undefined {
    return idleAmong(this.#pairing.feeds(), this.#plan, nowMs);
  }

  /** Takes a record in and gives what comes of it, step by step: further steps are worked on while it is read, to its end. */
  apply(record: LogRecord, position: number): Iterable<Applied> {
    this.#position = position;
    this.#atMs = record.atMs;
    this.#index = 0;
    const outcomes = this.#change(record);
    if (record.kind !== 'part' || outcomes.length > 1) return this.#applyAll(record, outcomes);
    // nearly always a part waits for its other half, or completes a step
    if (outcomes.length === 0) return NOTHING;
    this.#settle(outcomes[0]);
    return [this.#take()];
  }

  *#applyAll(record: LogRecord, outcomes: Outcome[]): Generator<Applied> {
    for (const outcome of outcomes) {
      this.#settle(outcome);
      yield this.#take();
    }
    if (record.kind === 'open' && record.role === 'tracker') this.#beginAll(record.tracker!);
    if (this.#applied.events.length > 0) yield this.#take();
  }

  #take(): Applied {
    const applied = this.#applied;
    this.#applied = { events: [], history: [] };
    return applied;
  }

  /** Changes everything but the series, which follow what comes of it. */
  #change(record: LogRecord): Outcome[] {
    const { atMs } = record;
    switch (record.kind) {
      case 'part':
        this.#feed(record).seq = record.part.seq;
        return this.#pairing.push(record.role, record.tracker, this.#filtered(record.part), atMs);
      case 'open':
        this.#feed(record);
        return record.role === 'reference'
          ? this.#pairing.openReference(atMs)
          : this.#pairing.openTracker(record.tracker!, atMs);
      case 'end':
        return this.#pairing.end(record.role, record.tracker, atMs);
      case 'tick':
        return this.#pairing.advance(atMs);
      case 'resume':
        this.#pairing.resume(atMs);
        break;
      case 'configure':
        this.#configure(record.settings as StreamPlan);
        break;
      case 'retire':
        this.#retire(record.tracker);
    }
    return [];
  }

  #feed({ role, tracker }: { role: Role; tracker: string | null }): FeedRecord {
    const key = tracker ?? '';
    let feed = this.#feeds.get(key);
    if (!feed) {
      feed = { role, tracker, seq: 0 };
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  #beginAll(tracker: string): void {
    for (const profile of Object.keys(this.#plan.profiles)) this.#beginSeries(tracker, profile);
  }

  /** A series that has ended begins again when its tracker comes back. */
  #beginSeries(tracker: string, profile: string): void {
    const key = seriesKey(tracker, profile);
    const known = this.#series.get(key);
    if (known && !known.ended) return;
    if (known) this.#companions.delete(tracker);
    known?.dispose();
    const series = new Series(tracker, profile, windowParams(this.#plan, profile), this.#solve);
    series.watchSpikes(this.#plan.settings.spikes, known?.spikes);
    this.#series.set(key, series);
  }

  #filtered(part: FeedPart): FeedPart {
    const { classes, minConfidence } = this.#plan.settings.filter;
    this.#dimensions ||= dimensionsOf(part.objects);
    if (classes === null && minConfidence === null) return part;
    const counts = ({ class: kind, confidence }: WireObject) =>
      (classes === null || (kind !== undefined && classes.includes(kind))) &&
      (minConfidence === null || confidence === undefined || confidence >= minConfidence);
    return { ...part, objects: listed(part.objects).filter(counts) };
  }

  #settle(outcome: Outcome): void {
    if (outcome.type === 'step') this.#judge(outcome);
    else if (outcome.type === 'finished') this.#finish(outcome.tracker);
    else this.#emit({ ...outcome, stream: this.name });
  }

  #judge(step: Step): void {
    const companion = this.#companionOf(step.tracker);
    let scores: ScoreReading | null | undefined;
    for (const profile of Object.keys(this.#plan.profiles)) {
      const series = this.#series.get(seriesKey(step.tracker, profile));
      if (!series) continue;
      try {
        const pushed = series.push(step);
        // the same frame under every profile: it is scored once
        if (scores === undefined) scores = companion?.push(step.k, () => this.#longestWindow(step.tracker)) ?? null;
        const objects = { reference: step.reference, tracker: step.tracks };
        this.#report(series, pushed, step.receivedMs, objects, scores);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        const feed: FeedId = { stream: this.name, role: 'tracker', tracker: step.tracker };
        this.#emit({ type: 'rejected', ...feed, code: 'frame_invalid', count: 1, message: error.message });
      }
    }
  }

  #companionOf(tracker: string): Companion | undefined {
    // settings of an older snapshot have none
    if (!this.#plan.settings.scores?.enabled) return undefined;
    return this.#companions.get(tracker) ?? this.#startCompanion(tracker, this.#longestWindow(tracker).length);
  }

  #startCompanion(tracker: string, before: number | CompanionState): Companion {
    const companion = new Companion(similarityRule(this.#plan), this.#plan.settings.scores.strideFrames, before);
    this.#companions.set(tracker, companion);
    return companion;
  }

  /** The frames a tracker has in the window; under a profile that came later there are fewer. */
  #longestWindow(tracker: string): FrameView[] {
    const own = [...this.#series.values()].filter((series) => series.tracker === tracker && !series.ended);
    const windows = own.map((series) => series.views()).sort((a, b) => b.length - a.length);
    return windows[0] ?? [];
  }

  #finish(tracker: string): void {
    for (const series of this.#series.values()) {
      const pushed = series.tracker === tracker ? series.end() : null;
      if (pushed) this.#report(series, pushed, this.#atMs);
    }
  }

  #report(
    one: Series,
    { mark, report, switches, spikes, solveMs }: Pushed,
    receivedMs: number,
    objects?: ReportEvent['objects'],
    scores?: ScoreReading | null,
  ): void {
    this.#weigh(solveMs, report.solver.open === 0);
    const { name: stream } = this;
    const { tracker, profile } = one;
    const event: ReportEvent = { type: 'report', stream, tracker, profile, k: mark.k, receivedMs, report, solveMs };
    if (mark.t !== undefined) event.t = mark.t;
    if (objects) event.objects = objects;
    if (one.spikes) event.spikes = one.spikes;
    if (scores) event.scores = scores;
    this.#emit(event);
    for (const change of switches) this.#emit({ type: 'switch', stream, tracker, profile, ...change });
    this.#tellSpikes(one, spikes);
  }

  #weigh(solveMs: number, solved: boolean): void {
    const heavyMs = this.#heavyMs;
    if (heavyMs === undefined || this.#heavy) return;
    const long = solveMs >= heavyMs ? 1 : 0;
    this.#longShare += (long - this.#longShare) / LOAD_SOLVES;
    this.#longInARow = long * (this.#longInARow + 1);
    this.#heavy = !solved || this.#longInARow >= LONG_IN_A_ROW || this.#longShare > LONG_SHARE;
  }

  #tellSpikes({ tracker, profile, mark }: Series, spikes: readonly SpikeNews[]): void {
    if (spikes.length === 0) return;
    const time = mark?.t === undefined ? {} : { t: mark.t };
    for (const spike of spikes) {
      const event: SpikeEvent = { type: 'spike', stream: this.name, tracker, profile, ...spike, ...time };
      this.#emit(event);
      if (spike.phase === 'start') this.#spikes.set(spikeKey(event), event);
      else this.#spikes.delete(spikeKey(event));
    }
  }

  #emit(event: LiveEvent): void {
    event.n = ++this.#eventCount;
    event.atMs = this.#atMs;
    this.#applied.events.push(event);
    if (event.type !== 'report') this.#applied.history.push(this.#entry(event));
  }

  /** Events that repeat each other share one entry, with their counts added up. */
  #entry(event: LiveEvent): HistoryEntry {
    const last = this.#lastEntry;
    const merged = last && mergeEvents(last.event, event);
    const key = merged ? last.key : eventKey(this.#position, this.#index++);
    this.#lastEntry = { key, event: merged ?? event };
    return this.#lastEntry;
  }

  /** Takes over a changed configuration: series whose parameters are the same go on, others begin anew or go. */
  #configure(plan: StreamPlan): void {
    const before = this.#plan;
    this.#plan = plan;
    if (companionTerms(plan) !== companionTerms(before)) this.#companions.clear();
    this.#pairing.configure(plan.settings.pairing);
    for (const [key, series] of this.#series) {
      const same =
        series.profile in plan.profiles &&
        JSON.stringify(windowParams(plan, series.profile)) === JSON.stringify(windowParams(before, series.profile));
      if (same) {
        this.#watchSpikes(series, plan);
        continue;
      }
      this.#series.delete(key);
      this.#forget(series);
    }
    for (const { role, tracker } of this.#feeds.values()) if (role === 'tracker') this.#beginAll(tracker!);
  }

  #retire(tracker: string | null): void {
    for (const [key, series] of this.#series) {
      if (tracker !== null && series.tracker !== tracker) continue;
      this.#series.delete(key);
      this.#forget(series);
    }
    if (tracker === null) {
      this.#companions.clear();
      return;
    }
    this.#companions.delete(tracker);
    this.#feeds.delete(tracker);
    this.#pairing.dropTracker(tracker);
  }

  #watchSpikes(series: Series, { settings }: StreamPlan): void {
    this.#tellSpikes(series, series.endSpikes(settings.spikes.signals));
    series.watchSpikes(settings.spikes);
  }

  #forget(series: Series): void {
    this.#tellSpikes(series, series.endSpikes());
    series.dispose();
    this.#emit({ type: 'retired', stream: this.name, tracker: series.tracker, profile: series.profile });
  }

  /** The spikes that last, as they began. */
  spikes(): SpikeEvent[] {
    return [...this.#spikes.values()];
  }

  /** Number of the last stored frame of each feed. */
  feeds(): FeedInfo[] {
    const heard = new Map(this.#pairing.feeds().map((feed) => [feed.tracker ?? '', feed]));
    return [...this.#feeds].map(([key, feed]) => {
      const { lastReceivedMs = 0, silent = false, ended = false } = heard.get(key) ?? {};
      return { ...feed, lastReceivedMs, silent, ended };
    });
  }

  standing(): Standing {
    return { plan: this.#plan, info: this.info(), spikes: this.spikes(), deadlineMs: this.deadline() };
  }

  info(): StreamInfo {
    const { settings, shape, profiles } = this.#plan;
    return {
      stream: this.name,
      shape,
      dimensions: this.#dimensions,
      windowFrames: settings.windowFrames,
      profiles: Object.keys(profiles),
      feeds: this.feeds(),
      series: [...this.#series.values()].map(({ tracker, profile, mark, report, ended }) => ({
        tracker,
        profile,
        k: mark?.k ?? null,
        frames: report ? report.frame + 1 : 0,
        ended,
      })),
    };
  }

  /** The newest report of every series. */
  reports(): ReportEvent[] {
    return [...this.#series.values()].flatMap(({ tracker, profile, report, mark, spikes }): ReportEvent[] => {
      if (!report || !mark) return [];
      const scores = this.#companions.get(tracker)?.reading;
      return [newestReport({ stream: this.name, tracker, profile }, mark, report, spikes, scores)];
    });
  }

  window(tracker: string, profile: string): WindowView | undefined {
    const series = this.#series.get(seriesKey(tracker, profile));
    if (!series?.report || !series.mark) return undefined;
    const { params, mark, report } = series;
    return {
      stream: this.name,
      tracker,
      profile,
      params,
      ...mark,
      evaluation: { ...summarize(report), perFrame: report.perFrame },
      newest: report.newest,
      settled: report.settled,
      lifetime: report.lifetime,
      frames: series.frames(),
    };
  }

  toJSON(): StreamState {
    return {
      version: 1,
      plan: this.#plan,
      pairing: this.#pairing.toJSON(),
      feeds: [...this.#feeds.values()],
      series: [...this.#series.values()].map((series) => series.toJSON()),
      ...(this.#companions.size > 0
        ? { companions: [...this.#companions].map(([tracker, companion]) => [tracker, companion.toJSON()]) }
        : {}),
      dimensions: this.#dimensions,
      eventCount: this.#eventCount,
      lastEntry: this.#lastEntry,
      spikes: this.spikes(),
      ...(this.#heavy ? { heavy: true } : {}),
    };
  }

  /** Whether a state is that of a heavy stream. */
  static isHeavy(json: unknown): boolean {
    return (json as StreamState).heavy === true;
  }

  /** Lets go of what its series hold outside of the heap. */
  dispose(): void {
    for (const series of this.#series.values()) series.dispose();
  }

  /** Goes on exactly where `toJSON` was called. */
  static fromJSON(name: string, json: unknown, options: StreamOptions = {}): Stream {
    const state = json as StreamState;
    if (state.version !== 1)
      throw new Error(`the snapshot of stream ${name} has format ${state.version}, expected 1; use another data.dir`);
    const stream = new Stream(name, state.plan, options);
    stream.#pairing = Pairing.fromJSON(state.pairing, state.plan.settings.pairing, isGeodetic(state.plan));
    for (const feed of state.feeds) stream.#feeds.set(feed.tracker ?? '', feed);
    for (const one of state.series)
      stream.#series.set(
        seriesKey(one.tracker, one.profile),
        Series.fromJSON(one, stream.#solve, state.plan.settings.spikes),
      );
    for (const [tracker, companion] of state.companions ?? []) stream.#startCompanion(tracker, companion);
    stream.#dimensions = state.dimensions;
    stream.#eventCount = state.eventCount;
    stream.#lastEntry = state.lastEntry;
    for (const event of state.spikes ?? []) stream.#spikes.set(spikeKey(event), event);
    stream.#heavy = Stream.isHeavy(json);
    return stream;
  }
}

/** The key of a series within its stream. */
export const seriesKey = (tracker: string, profile: string) => keyOfSeries('', tracker, profile);

/** What has been idle for too long: a tracker by name, null for the whole stream, undefined for nothing. */
export function idleAmong(
  feeds: readonly Pick<FeedInfo, 'role' | 'tracker' | 'lastReceivedMs'>[],
  { settings }: StreamPlan,
  nowMs: number,
): string | null | undefined {
  const oldest = nowMs - settings.idleMinutes * 60_000;
  if (feeds.every((feed) => feed.lastReceivedMs < oldest)) return null;
  return feeds.find((feed) => feed.role === 'tracker' && feed.lastReceivedMs < oldest)?.tracker ?? undefined;
}

const spikeKey = ({ tracker, profile, signal }: SpikeEvent) => `${seriesKey(tracker, profile)}\n${signal}`;

const isGeodetic = (plan: StreamPlan) => Object.values(plan.profiles).some(({ distance }) => distance === 'geodesic');

/** Boxes by IoU; points by the distance of the first profile, at most as far as configured. */
function similarityRule({ shape, settings, profiles }: StreamPlan): SimilarityRule {
  if (shape === 'box') return { kind: 'iou' };
  const [{ distance, cutoff }] = Object.values(profiles);
  const kind = distance === 'geodesic' ? 'geodesic' : 'euclidean';
  return { kind, zeroDistance: settings.scores.zeroDistance ?? 2 * cutoff };
}

/** What a companion depends on: when it changes, it begins anew. */
const companionTerms = (plan: StreamPlan) =>
  JSON.stringify([plan.settings.scores, plan.settings.windowFrames, similarityRule(plan)]);

function windowParams({ settings, profiles }: StreamPlan, profile: string): WindowParams {
  const { windowFrames, settleFrames } = settings;
  const params = { ...profiles[profile], windowFrames };
  // a frame settles before it leaves the window
  return settleFrames === null ? params : { ...params, settleFrames: Math.min(settleFrames, windowFrames - 1) };
}
