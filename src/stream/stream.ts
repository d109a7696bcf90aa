/**
 * Everything known about one stream: how its feeds are paired, its series, and its events. Its state is a function of
 * its log records: `apply` is the only way to change it, and the same records give the same events.
 */
import { type DetectorNews, incidentsIn, SpikeDetector, spikesIn } from '../incidents/detector.js';
import type { IncidentWatchState } from '../incidents/incident.js';
import { InputError } from '../metric/input-error.js';
import type { SolveOptions } from '../metric/solve-options.js';
import type { FrameView } from '../metric/window/frame-view.js';
import type { ScoreReading } from '../scores/companion.js';
import { spikeSettings } from '../spikes/settings.js';
import type { SpikeState } from '../spikes/watch.js';
import type { LogRecord } from '../store/record.js';
import { SKIP_RULES } from '../wire/codes.js';
import { newestReport, type ReportEvent, type SpikeEvent, summarize } from '../wire/events.js';
import type { FeedId } from '../wire/feed.js';
import { type FindingName, WIRING_MISTAKES } from '../wire/findings.js';
import type { OpenIncident } from '../wire/incidents.js';
import { dimensionsOf } from '../wire/objects.js';
import { seriesKey } from '../wire/series-key.js';
import { Allowance, type AllowanceState } from './allowance.js';
import { type CompanionStates, Companions } from './companions.js';
import { FeedLedger, type FeedState } from './feed-ledger.js';
import { idleAmong } from './idle.js';
import { Judging } from './judging.js';
import { Pairing, type PairingState } from './pairing/pairing.js';
import type { Outcome, Step, UntakenReports } from './pairing/step.js';
import { admitted, isGeodetic, keepsWindow, type StreamPlan, sceneOf, windowParams } from './plan.js';
import type { RunningStream, StreamSnapshot } from './running-stream.js';
import { type Pushed, Series, type SeriesState, type Unjudged } from './series.js';
import type { FeedInfo, StreamInfo, WindowView } from './status.js';
import { type Applied, StreamEvents, type StreamEventsState, UNFINISHED } from './stream-events.js';
import { Findings, type FindingsState } from './wiring/findings.js';

export interface StreamOptions extends Omit<SolveOptions, 'budgetMs'> {
  /** milliseconds of work: a stream is heavy, and shares its thread, once a solve needed more; at once when absent */
  heavyMs?: number;
  /** milliseconds of work for one solve; null or absent: as allowance.ts says */
  budgetMs?: number | null;
}

interface SeriesName {
  tracker: string;
  profile: string;
}

/** Everything a Stream knows. Plain data. */
interface StreamState extends StreamEventsState {
  plan: StreamPlan;
  pairing: PairingState;
  feeds: FeedState[];
  series: SeriesState[];
  companions?: CompanionStates;
  dimensions: number;
  spikes?: SpikeEvent[];
  /** detectors of trackers that are gone while a spike of theirs lasts, by series */
  dormant?: Array<[series: string, state: SpikeState]>;
  /** and their incidents */
  dormantIncidents?: Array<[series: string, id: SeriesName, state: IncidentWatchState]>;
  findings?: FindingsState;
  allowance?: AllowanceState;
}

const NOTHING: readonly Applied[] = [];
/** Findings that make a tracker look bad, whatever it does. */
const MISFITS: ReadonlySet<FindingName> = new Set(['feeds_never_match', 'nothing_pairs', ...WIRING_MISTAKES]);

export class Stream implements RunningStream {
  readonly evaluated = true;
  readonly readsUpTo = 0;
  readonly firstPending = Number.POSITIVE_INFINITY;
  readonly #solve: SolveOptions;
  readonly #events: StreamEvents;
  readonly #pairing: Pairing;
  readonly #companions: Companions;
  readonly #findings: Findings;
  readonly #allowance: Allowance;
  readonly #series = new Map<string, Series>();
  readonly #feeds: FeedLedger;
  /** how the spikes that last began, by series and signal */
  readonly #spikes = new Map<string, SpikeEvent>();
  /** detectors of trackers that are gone, with spikes that last, by series */
  readonly #dormant = new Map<string, SeriesName & { detector: SpikeDetector }>();
  #plan: StreamPlan;
  #dimensions: number;
  #position: number;
  #inRecord = false;
  /** a step that is being solved, and what it threw when somebody else had it finished */
  #going: Generator<void> | null = null;
  #thrown: { error: unknown } | null = null;
  #workMs = 0;

  constructor(
    readonly name: string,
    plan: StreamPlan,
    { heavyMs, budgetMs = null, ...solve }: StreamOptions = {},
    snapshot?: StreamSnapshot<StreamState>,
  ) {
    const state = snapshot?.state;
    this.#plan = plan;
    this.#solve = solve;
    this.#position = snapshot?.position ?? 0;
    this.#events = new StreamEvents(state);
    this.#companions = new Companions(plan, state?.companions);
    this.#findings = new Findings(plan, state?.findings);
    this.#allowance = new Allowance(budgetMs, heavyMs, state?.allowance);
    this.#dimensions = state?.dimensions ?? 0;
    this.#feeds = new FeedLedger(state?.feeds);
    const { pairing, reports, spikes } = plan.settings;
    this.#pairing = state
      ? Pairing.fromJSON(state.pairing, pairing, reports, isGeodetic(plan))
      : new Pairing(pairing, reports, isGeodetic(plan));
    for (const one of state?.series ?? [])
      this.#series.set(keyInStream(one.tracker, one.profile), this.#judged(Series.fromJSON(one, solve, spikes)));
    for (const event of state?.spikes ?? []) this.#spikes.set(spikeKey(event), event);
    this.#restoreDormant(state?.dormant ?? [], state?.dormantIncidents ?? []);
    for (const event of state?.spikes ?? []) this.#gatherStored(event);
  }

  /** Spikes and incidents of a detector are stored apart; who it belongs to, an incident or a spike that lasts says. */
  #restoreDormant(
    spikes: NonNullable<StreamState['dormant']>,
    incidents: NonNullable<StreamState['dormantIncidents']>,
  ): void {
    const names = new Map(
      this.spikes().map(({ tracker, profile }) => [keyInStream(tracker, profile), { tracker, profile }]),
    );
    for (const [key, { tracker, profile }] of incidents) names.set(key, { tracker, profile });
    const [bySpikes, byIncidents] = [new Map(spikes), new Map(incidents.map(([key, , own]) => [key, own]))];
    const { profiles, settings } = this.#plan;
    for (const [key, name] of names) {
      const state = { spikes: bySpikes.get(key), incidents: byIncidents.get(key) };
      if ((!state.spikes && !state.incidents) || !(name.profile in profiles)) continue;
      const params = windowParams(this.#plan, name.profile);
      this.#dormant.set(key, { ...name, detector: SpikeDetector.fromJSON(state, settings.spikes, params) });
    }
  }

  /** A spike that lasts, of a version that had no incidents. */
  #gatherStored(event: SpikeEvent): void {
    const { tracker, profile, at, t, atMs } = event;
    const key = keyInStream(tracker, profile);
    const detector = this.#series.get(key)?.detector ?? this.#dormant.get(key)?.detector;
    detector?.adopt(event, { k: at, t, atMs });
  }

  /** Continues exactly where the snapshot was made; its state is what `toJSON` gave. */
  static fromJSON(name: string, { state, position }: StreamSnapshot, options: StreamOptions = {}): Stream {
    const known = state as StreamState;
    return new Stream(name, known.plan, options, { state: known, position });
  }

  get plan(): StreamPlan {
    return this.#plan;
  }

  /** Of the last record. */
  get position(): number {
    return this.#position;
  }

  get share(): number | undefined {
    return this.#allowance.demanding ? this.#allowance.share : undefined;
  }

  get workMs(): number {
    return this.#workMs;
  }

  get inRecord(): boolean {
    return this.#inRecord;
  }

  deadline(): number {
    return this.#pairing.deadline();
  }

  get resuming(): boolean {
    return this.#pairing.resuming;
  }

  isAhead(tracker: string | null): boolean {
    return this.#pairing.isAhead(tracker);
  }

  idle(nowMs: number): string | null | undefined {
    return idleAmong(this.#pairing.feeds(), this.#plan, nowMs);
  }

  apply(record: LogRecord, position: number): Iterable<Applied> {
    this.#position = position;
    if (this.#feeds.isRepeated(record)) return NOTHING;
    this.#events.openRecord(position, record.atMs);
    const outcomes = this.#admit(record);
    if (record.kind !== 'part' || outcomes.length > 1 || this.#allowance.demanding)
      return this.#applySteps(record, outcomes);
    // nearly always a part waits for its other half, or completes a step
    if (outcomes.length === 0 && this.#events.isEmpty) return NOTHING;
    if (outcomes.length > 0) this.#process(outcomes[0], record.atMs);
    return [this.#events.drain()];
  }

  *#applySteps(record: LogRecord, outcomes: Outcome[]): Generator<Applied> {
    this.#inRecord = true;
    try {
      for (const outcome of outcomes) {
        if (outcome.type === 'step' && this.#allowance.demanding) yield* this.#processSlowly(outcome);
        else this.#process(outcome, record.atMs);
        yield this.#events.drain();
      }
      if (record.kind === 'open' && record.role === 'tracker') this.#openAllSeries(record.tracker!);
      if (!this.#events.isEmpty) yield this.#events.drain();
    } finally {
      this.#inRecord = false;
    }
  }

  /** Others have their turn while a heavy step is solved; whoever wants to know what comes of it has it finished. */
  *#processSlowly(step: Step): Generator<Applied> {
    this.#findings.step(step);
    const going = this.#evaluating(step);
    this.#going = going;
    while (!going.next().done) yield UNFINISHED;
    this.#going = null;
    const thrown = this.#thrown;
    this.#thrown = null;
    if (thrown) throw thrown.error;
  }

  /** What is asked for now is as it is after the step that is being solved. */
  #finishStep(): void {
    try {
      while (this.#going && !this.#going.next().done);
    } catch (error) {
      // that is the fault of the record
      this.#thrown = { error };
    }
  }

  /** Changes everything but the series, which follow what comes of it. */
  #admit(record: LogRecord): Outcome[] {
    const { atMs } = record;
    switch (record.kind) {
      case 'part':
        this.#feeds.part(record);
        this.#dimensions ||= dimensionsOf(record.part.objects);
        return this.#admitPart(record);
      case 'open':
        this.#feeds.open(record);
        this.#findings.open(record.role, record.tracker, atMs);
        return record.role === 'reference'
          ? this.#pairing.openReference(atMs, record.tracker)
          : this.#pairing.openTracker(record.tracker!, atMs);
      case 'end':
        return this.#pairing.end(record.role, record.tracker, atMs);
      case 'tick':
        if (record.share !== undefined) this.#allowance.share = record.share;
        return this.#pairing.advance(atMs);
      case 'cut':
        return this.#pairing.cut(record.role, record.tracker, atMs);
      case 'resume':
        this.#pairing.resume(atMs, record.awayMs);
        return [];
      case 'configure':
        this.#configure(record.settings as StreamPlan);
        return [];
      case 'retire':
        this.#retire(record.tracker);
        return [];
    }
  }

  #admitPart({ role, tracker, part: whole, atMs }: Extract<LogRecord, { kind: 'part' }>): Outcome[] {
    const part = admitted(role, whole, this.#plan);
    const outcomes = this.#pairing.push(role, tracker, part, atMs);
    this.#findings.part(role, tracker, part, atMs);
    this.#findings.reports(this.#pairing.timeliness, atMs);
    this.#emitFindings();
    return outcomes;
  }

  #emitFindings(): void {
    for (const change of this.#findings.drain()) {
      this.#events.emit({ type: 'finding', stream: this.name, ...change });
      const { tracker, finding, evidence } = change;
      if (tracker === null || !MISFITS.has(finding)) continue;
      const over = !this.#findings.list().some((one) => one.tracker === tracker && MISFITS.has(one.finding));
      this.#join(tracker, (detector, mark) => detector.finding(finding, evidence, over, mark));
    }
  }

  /** Something about a tracker as a whole: it joins the incident of each of its series. */
  #join(
    tracker: string,
    join: (detector: SpikeDetector, mark: ReturnType<Series['moment']>) => readonly DetectorNews[],
  ): void {
    for (const series of this.#series.values())
      if (series.tracker === tracker && series.detector && !series.ended)
        this.#emitNews(series, join(series.detector, series.moment(this.#events.atMs)));
  }

  #openAllSeries(tracker: string): void {
    for (const profile of Object.keys(this.#plan.profiles)) this.#openSeries(tracker, profile);
  }

  /** A series that judges and measures what the plan says. */
  #judged(series: Series): Series {
    series.judging = new Judging(this.#plan, series.params);
    series.measure(this.#plan.settings.performance);
    series.divide(this.#plan.settings.classes);
    return series;
  }

  /** A series that has ended starts anew when its tracker comes back. */
  #openSeries(tracker: string, profile: string): void {
    const key = keyInStream(tracker, profile);
    const known = this.#series.get(key);
    if (known && !known.ended) return;
    if (known) this.#companions.drop(tracker);
    known?.dispose();
    const series = this.#judged(new Series(tracker, profile, windowParams(this.#plan, profile), this.#solve));
    series.watchSpikes(this.#plan.settings.spikes, known?.detector ?? this.#dormant.get(key)?.detector);
    this.#dormant.delete(key);
    this.#series.set(key, series);
    // it is heard again
    this.#emitNews(series, series.detector?.silence(true, series.moment(this.#events.atMs)) ?? []);
  }

  #process(outcome: Outcome, atMs: number): void {
    if (outcome.type === 'step') {
      this.#findings.step(outcome);
      this.#evaluate(outcome);
    } else if (outcome.type === 'finished') this.#finish(outcome.tracker, atMs);
    else if (outcome.type === 'untaken') this.#skip(outcome);
    else {
      if (outcome.type === 'missing') this.#findings.missing(outcome.role, outcome.tracker, atMs);
      this.#events.emit({ ...outcome, stream: this.name });
      if (outcome.type === 'silence' && outcome.tracker !== null)
        this.#join(outcome.tracker, (detector, mark) => detector.silence(outcome.over, mark));
    }
  }

  #skip({ role, tracker, rule: code, count }: UntakenReports): void {
    const feed: FeedId = { stream: this.name, role, tracker };
    this.#events.emit({ type: 'skipped', ...feed, code, count, message: SKIP_RULES[code] });
  }

  #evaluate(step: Step): void {
    for (const _ of this.#evaluating(step));
  }

  /** Judges a step under every profile; yields where others may have their turn, if the stream is heavy. */
  *#evaluating(step: Step): Generator<void> {
    const { tracker } = step;
    const companion = this.#companions.of(tracker, () => this.#longestWindow(tracker).length);
    let scores: ScoreReading | null | undefined;
    this.#allowance.observe(step);
    const budgetMs = this.#allowance.budgetMs(tracker, this.#series.size);
    for (const profile of Object.keys(this.#plan.profiles)) {
      const series = this.#series.get(keyInStream(tracker, profile));
      if (!series) continue;
      try {
        const { demanding } = this.#allowance;
        const pushed = demanding ? yield* series.pushing(step, budgetMs) : series.push(step, budgetMs);
        // the same frame under every profile: it is scored once
        if (scores === undefined) scores = companion?.push(step.k, () => this.#longestWindow(tracker)) ?? null;
        const objects = series.drawn ?? { reference: step.reference, tracker: step.tracks };
        this.#report(series, pushed, step.receivedMs, objects, scores);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        const feed: FeedId = { stream: this.name, role: 'tracker', tracker };
        this.#events.emit({ type: 'rejected', ...feed, code: 'frame_invalid', count: 1, message: error.message });
      }
    }
  }

  /** The frames a tracker has in the window; under a profile that came later there are fewer. */
  #longestWindow(tracker: string): FrameView[] {
    const own = [...this.#series.values()].filter((series) => series.tracker === tracker && !series.ended);
    const windows = own.map((series) => series.views()).sort((a, b) => b.length - a.length);
    return windows[0] ?? [];
  }

  #finish(tracker: string, atMs: number): void {
    for (const series of this.#series.values()) {
      const pushed = series.tracker === tracker ? series.end() : null;
      if (pushed) this.#report(series, pushed, atMs);
    }
  }

  #report(
    series: Series,
    { mark, report, switches, news, notJudged, performance, classes, unjudged, solveMs, workMs }: Pushed,
    receivedMs: number,
    objects?: ReportEvent['objects'],
    scores?: ScoreReading | null,
  ): void {
    this.#workMs += workMs;
    this.#allowance.add(workMs);
    const { name: stream } = this;
    const { tracker, profile } = series;
    const event: ReportEvent = { type: 'report', stream, tracker, profile, k: mark.k, receivedMs, report, solveMs };
    if (mark.t !== undefined) event.t = mark.t;
    if (objects) event.objects = objects;
    if (series.detector) event.spikes = series.detector;
    if (scores) event.scores = scores;
    if (performance) event.performance = performance;
    if (classes) event.classes = classes;
    if (notJudged) event.notJudged = { newest: notJudged, totals: series.notJudged };
    this.#events.emit(event);
    for (const change of switches) this.#events.emit({ type: 'switch', stream, tracker, profile, ...change });
    if (unjudged)
      this.#events.emit({ type: 'uncertified', stream, tracker, profile, ...unjudged, ...unjudgedWords(unjudged) });
    this.#emitNews(series, news);
  }

  /** Spikes first: an incident gathers them. */
  #emitNews({ tracker, profile, mark }: SeriesName & Pick<Series, 'mark'>, news: readonly DetectorNews[]): void {
    if (news.length === 0) return;
    const id = { stream: this.name, tracker, profile };
    const time = mark?.t === undefined ? {} : { t: mark.t };
    for (const spike of spikesIn(news)) {
      const event: SpikeEvent = { type: 'spike', ...id, ...spike, ...time };
      this.#events.emit(event);
      if (spike.phase === 'end') this.#spikes.delete(spikeKey(event));
      else this.#spikes.set(spikeKey(event), event);
    }
    for (const incident of incidentsIn(news)) this.#events.emit({ type: 'incident', ...id, ...incident, ...time });
  }

  /** Another plan from now on: series whose windows stay the same go on, others start anew or go. */
  #configure(plan: StreamPlan): void {
    const before = this.#plan;
    this.#plan = plan;
    this.#companions.configure(plan);
    this.#findings.configure(plan);
    this.#pairing.configure(plan.settings.pairing, plan.settings.reports);
    for (const series of this.#series.values()) {
      if (keepsWindow(series.profile, before, plan)) this.#watchSpikes(this.#judged(series), plan);
      else this.#closeSeries(series);
    }
    for (const { role, tracker } of this.#feeds) if (role === 'tracker') this.#openAllSeries(tracker!);
  }

  #watchSpikes(series: Series, { settings }: StreamPlan): void {
    const mark = series.moment(this.#events.atMs);
    this.#emitNews(series, series.detector?.keep(settings.spikes.signals, mark) ?? []);
    series.watchSpikes(settings.spikes);
  }

  #closeSeries(series: Series): void {
    this.#removeSeries(series, series.detector?.close(series.moment(this.#events.atMs)) ?? []);
  }

  #removeSeries(series: Series, news: readonly DetectorNews[]): void {
    const { tracker, profile } = series;
    this.#series.delete(keyInStream(tracker, profile));
    this.#emitNews(series, news);
    series.dispose();
    this.#events.emit({ type: 'retired', stream: this.name, tracker, profile });
  }

  #retire(tracker: string | null): void {
    for (const series of this.#series.values())
      if (tracker === null) this.#closeSeries(series);
      else if (series.tracker === tracker) this.#retireSeries(series);
    this.#companions.drop(tracker);
    this.#allowance.drop(tracker);
    this.#findings.retire(tracker);
    this.#emitFindings();
    if (tracker === null) {
      for (const event of this.spikes()) this.#events.emit({ ...event, phase: 'end', reason: 'closed' });
      this.#spikes.clear();
      for (const { detector, ...id } of this.#dormant.values()) {
        const news = detector.close({ k: detector.open?.at ?? 0, atMs: this.#events.atMs });
        this.#emitNews(
          { ...id, mark: null },
          news.filter(({ phase }) => phase === 'diagnosis'),
        );
      }
      this.#dormant.clear();
      return;
    }
    this.#feeds.delete(tracker);
    this.#pairing.dropTracker(tracker);
  }

  /** The reference goes on without this tracker: what was wrong with it still is. */
  #retireSeries(series: Series): void {
    const { tracker, profile, detector } = series;
    const news = detector?.retire(series.moment(this.#events.atMs)) ?? [];
    if (detector?.alarmed || detector?.open)
      this.#dormant.set(keyInStream(tracker, profile), { tracker, profile, detector });
    this.#removeSeries(series, news);
  }

  spikes(): SpikeEvent[] {
    return [...this.#spikes.values()];
  }

  #openIncidents(): OpenIncident[] {
    return [...this.#series.values(), ...this.#dormant.values()].flatMap(({ tracker, profile, detector }) => {
      const open = detector?.open;
      return open ? [{ stream: this.name, tracker, profile, ...open }] : [];
    });
  }

  #feedInfos(): FeedInfo[] {
    const heard = new Map(this.#pairing.feeds().map((feed) => [feed.tracker ?? '', feed]));
    return [...this.#feeds].map((feed) => {
      const {
        lastReceivedMs = 0,
        silent = false,
        ended = false,
        awaited = false,
      } = heard.get(feed.tracker ?? '') ?? {};
      return { ...feed, lastReceivedMs, silent, ended, awaited };
    });
  }

  info(): StreamInfo {
    const { settings, shape, profiles } = this.#plan;
    return {
      stream: this.name,
      shape,
      dimensions: this.#dimensions,
      windowFrames: settings.windowFrames,
      profiles: Object.keys(profiles),
      resuming: this.resuming,
      feeds: this.#feedInfos(),
      series: [...this.#series.values()].map((series) => series.info()),
      findings: this.#findings.list(),
      incidents: this.#openIncidents(),
      objective: spikeSettings(settings.spikes).objective,
    };
  }

  reports(): ReportEvent[] {
    this.#finishStep();
    return [...this.#series.values()].flatMap((series): ReportEvent[] => {
      const { tracker, profile, report, mark } = series;
      if (!report || !mark) return [];
      const scores = this.#companions.reading(tracker) ?? undefined;
      return [newestReport({ stream: this.name, tracker, profile }, mark, report, { ...series.readings(), scores })];
    });
  }

  window(tracker: string, profile: string): WindowView | undefined {
    this.#finishStep();
    const series = this.#series.get(keyInStream(tracker, profile));
    if (!series?.report || !series.mark) return undefined;
    const { params, mark, report } = series;
    return {
      stream: this.name,
      tracker,
      profile,
      params,
      ...sceneOf(this.#plan),
      ...mark,
      evaluation: { ...summarize(report), perFrame: report.perFrame },
      newest: report.newest,
      settled: report.settled,
      lifetime: report.lifetime,
      frames: series.frames(),
    };
  }

  toJSON(): StreamState {
    this.#finishStep();
    const companions = this.#companions.toJSON();
    return {
      plan: this.#plan,
      pairing: this.#pairing.toJSON(),
      feeds: [...this.#feeds],
      series: [...this.#series.values()].map((series) => series.toJSON()),
      ...(companions.length > 0 ? { companions } : {}),
      dimensions: this.#dimensions,
      ...this.#events.toJSON(),
      spikes: this.spikes(),
      ...(this.#dormant.size > 0 ? this.#dormantStates() : {}),
      findings: this.#findings.toJSON(),
      allowance: this.#allowance.toJSON(),
    };
  }

  #dormantStates(): Pick<StreamState, 'dormant' | 'dormantIncidents'> {
    const all = [...this.#dormant].map(([key, { detector, ...id }]) => ({ key, id, state: detector.toJSON() }));
    return {
      dormant: all.map(({ key, state }) => [key, state.spikes!]),
      dormantIncidents: all.map(({ key, id, state }) => [key, id, state.incidents!]),
    };
  }

  snapshot(save: (snapshot: StreamSnapshot) => void): void {
    save({ state: this.toJSON(), position: this.position });
  }

  dispose(): void {
    for (const series of this.#series.values()) series.dispose();
  }
}

/** The key of a series within its stream. */
const keyInStream = (tracker: string, profile: string) => seriesKey('', tracker, profile);

const unjudgedWords = ({ k, count, over }: Unjudged) => ({
  message: over
    ? `frames are judged again; ${count} up to frame ${k} were not, because their windows were not proven`
    : `frames from ${k} on are not judged: their windows could not be proven in time; evaluation.budgetMs and .workers give more`,
});

const spikeKey = ({ tracker, profile, signal }: SpikeEvent) => `${keyInStream(tracker, profile)}\n${signal}`;
