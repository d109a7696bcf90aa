/**
 * The one series being looked at: its own connection to /v1/live with the objects of every frame, the frames it
 * retains, and its costs over a longer time. The window is fetched at the start, after every reconnection, and when
 * somebody looks closely (pause, scrub): only then is every assignment that of the whole window.
 */
import type { Evaluation } from '../../metric/evaluation.js';
import { COMPONENTS, type FrameCost } from '../../metric/evaluation.js';
import type { SeriesId } from '../../wire/series-key.js';
import { FrameBuffer, type NewFrame } from '../scene/frames.js';
import { ApiError, getTrend, getWindow, type ReportMessage, type TrendColumns, type WindowState } from './api.js';
import type { Past } from './past.js';
import { LiveSocket, type SocketState } from './socket.js';
import { emptyTrend, pointAt, type Trend } from './trend.js';

const TREND_MAX = 3600;
/** A window with more objects than this is not fetched while the scene is running. */
const REFRESH_OBJECTS_MAX = 6000;
const REFRESH_MS = 4000;

export class LiveSeries {
  frames: FrameBuffer | null = null;
  trend = emptyTrend();
  /** the stretch of the past that is looked at instead; null while it is the present */
  past: Past | null = null;
  /** newest report */
  report: ReportMessage | null = null;
  /** as last fetched; its objects are those of the wire */
  window: WindowState | null = null;
  connection: SocketState | null = null;
  fault: ApiError | null = null;
  /** reports the server skipped because this page is too slow, and when it last did */
  skipped = 0;
  skippedAtMs = Number.NEGATIVE_INFINITY;
  /** from the arrival of the newest frame at the evaluator to its report here, by our clock */
  latencyMs = Number.NaN;
  #early: ReportMessage[] = [];
  #socket: LiveSocket | null = null;
  #refreshing: Promise<void> | null = null;
  #refreshedMs = 0;
  #closed = false;

  constructor(
    readonly id: SeriesId,
    readonly changed: (whole: boolean) => void,
    /** from a file: nothing is asked of the evaluator */
    readonly saved: Past | null = null,
  ) {
    this.past = saved;
    if (saved) {
      this.window = windowOf(saved);
      return;
    }
    const { stream, tracker, profile } = id;
    this.#socket = new LiveSocket(
      { stream, tracker, profile, objects: '1' },
      {
        // events arrive over the board's connection
        message: (message) => message.type === 'report' && this.#apply(message as ReportMessage),
        state: (state) => this.#connected(state),
      },
    );
  }

  get shownFrames(): FrameBuffer | null {
    return this.past?.frames ?? this.frames;
  }

  get shownTrend(): Trend {
    return this.past?.trend ?? this.trend;
  }

  lookAhead(): void {
    this.past = this.saved;
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
  }

  #connected(state: SocketState): void {
    this.connection = state;
    if (state.open) void this.#loadTrend().then(() => this.refresh());
    else if (state.code === 4008) this.#tooSlow(1);
    this.changed(false);
  }

  async #loadTrend(): Promise<void> {
    try {
      const { series } = await getTrend(this.id);
      if (series.length > 0) this.#mergeTrend(series[0]);
    } catch (error) {
      this.#failed(error);
    }
  }

  #mergeTrend(columns: TrendColumns): void {
    const live = this.trend;
    const last = columns.k[columns.k.length - 1];
    const { k, atMs, distance, exact } = columns;
    this.trend = { k, atMs, distance, exact, cost: columns };
    for (let n = 0; n < live.k.length; n++)
      if (live.k[n] > last)
        this.#pushTrend(live.k[n], live.atMs[n], { ...pointAt(live, n), exact: live.exact[n] === 1 });
  }

  #pushTrend(
    k: number,
    atMs: number,
    { distance, cost, exact }: Pick<Evaluation, 'distance' | 'exact'> & { cost: FrameCost },
  ): void {
    const { trend } = this;
    if (k <= trend.k[trend.k.length - 1]) return;
    trend.k.push(k);
    trend.atMs.push(atMs);
    trend.distance.push(distance);
    trend.exact.push(exact ? 1 : 0);
    for (const name of COMPONENTS) trend.cost[name].push(cost[name]);
    if (trend.k.length <= TREND_MAX + 256) return;
    for (const column of [
      trend.k,
      trend.atMs,
      trend.distance,
      trend.exact,
      ...COMPONENTS.map((name) => trend.cost[name]),
    ])
      column.splice(0, column.length - TREND_MAX);
  }

  /** Fetches the window; resolves when its assignments are in the frames. */
  refresh(): Promise<void> {
    if (this.saved) return Promise.resolve();
    this.#refreshing ??= this.#fetchWindow().finally(() => {
      this.#refreshing = null;
      this.#refreshedMs = performance.now();
    });
    return this.#refreshing;
  }

  /** Fetches the window now and then while the scene is running, unless it is too large. */
  refreshSometimes(): void {
    const objects = this.window?.frames.reduce((sum, f) => sum + f.reference.length + f.tracker.length, 0) ?? 0;
    if (objects <= REFRESH_OBJECTS_MAX && performance.now() - this.#refreshedMs > REFRESH_MS) void this.refresh();
  }

  async #fetchWindow(): Promise<void> {
    try {
      const window = await getWindow(this.id);
      if (this.#closed) return;
      this.fault = null;
      this.window = window;
      this.frames ??= new FrameBuffer(window.params.distance === 'geodesic');
      const { perFrame } = window.evaluation;
      this.frames.merge(window.frames.map((frame, n): NewFrame => ({ ...frame, ...perFrame[n] })));
      for (const report of this.#early.splice(0)) this.#pushFrame(report);
      if (this.trend.k.length === 0) this.#pushTrend(window.k, Date.now(), window.evaluation);
    } catch (error) {
      this.#failed(error);
    }
    this.changed(true);
  }

  #failed(error: unknown): void {
    // a lost connection is reported by the socket
    if (error instanceof ApiError) this.fault = error;
  }

  #apply(report: ReportMessage): void {
    // a lower number means that the series has restarted
    if (this.report && report.k < this.report.k) this.#restart();
    this.fault = null;
    // the first report may be of any age
    if (this.report && report.receivedMs > 0) this.latencyMs = Date.now() - report.receivedMs;
    this.report = report;
    if (report.skipped) this.#tooSlow(report.skipped);
    this.#pushTrend(report.k, report.receivedMs, report.window);
    if (this.frames) this.#pushFrame(report);
    else if (this.#early.push(report) > 600) this.#early.shift();
    // a series that has just started had no window to fetch before
    if (!this.frames) void this.refresh();
    this.changed(false);
  }

  #pushFrame({ k, t, objects, newest }: ReportMessage): void {
    if (objects && this.frames) this.frames.push({ k, t, ...objects, ...newest });
  }

  #restart(): void {
    this.frames = null;
    this.trend = emptyTrend();
  }

  #tooSlow(count: number): void {
    this.skipped += count;
    this.skippedAtMs = performance.now();
  }
}

/** The window that ends with the moment; its costs are those of the frame that was looked at. */
function windowOf({ k, state, judged }: Past): WindowState {
  const { stream, tracker, profile, params } = state;
  const end = state.frames.findIndex((frame) => frame.k === k) + 1;
  const frames = state.frames.slice(Math.max(0, end - params.windowFrames), end);
  const { newest, evaluation } = judged[end - 1];
  return { stream, tracker, profile, params, k, evaluation: { ...evaluation, perFrame: [] }, newest, frames };
}
