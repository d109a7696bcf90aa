/**
 * What the page knows about all series: their newest figures, the state of the feeds, events and active spikes. It
 * reads one paced connection to /v1/live, and /v1/streams every few seconds.
 * Invariant: events and sparklines are bounded; everything else is bounded by the number of series.
 */

import type { FrameCost } from '../../metric/evaluation.js';
import type { Finding } from '../../wire/findings.js';
import type { Mute } from '../../wire/incidents.js';
import type { SeriesId } from '../../wire/series-key.js';
import { keyOf } from '../kit/format.js';
import {
  ApiError,
  type EventMessage,
  getConfig,
  getEvents,
  getIncidents,
  getRates,
  getSparklines,
  getStreams,
  type IncidentState,
  type RateState,
  type ReportMessage,
  type ReportsMessage,
  type StreamSummary,
} from './api.js';
import { type HealthVerdict, verdictOf } from './health.js';
import { LiveSocket, type SocketState } from './socket.js';

export const EVENTS_MAX = 3000;
const SPARK_POINTS = 90;
const REPORT_MS = 500;
const STREAMS_MS = 3000;
const STREAMS_MS_PER_SERIES = 10;
const NEWS_MS = 300;

export interface BoardSeries extends SeriesId {
  /** as keyOf gives it */
  readonly key: string;
  /** a frame of it has been judged, whether or not its report is here */
  judged: boolean;
  k: number | null;
  distance: number;
  cost: FrameCost;
  exact: boolean;
  receivedMs: number;
  spark: number[];
  ended: boolean;
}

export interface Spike extends SeriesId {
  signal: string;
  event: EventMessage;
}

const NO_COST: FrameCost = { localization: 0, missed: 0, false: 0, switch: 0 };

export class Board {
  readonly series = new Map<string, BoardSeries>();
  readonly streams = new Map<string, StreamSummary>();
  readonly spikes = new Map<string, Spike>();
  /** open incidents, by series */
  readonly incidents = new Map<string, IncidentState>();
  readonly rates = new Map<string, RateState>();
  mutes: Mute[] = [];
  /** base distance by profile, as far as the token may know */
  readonly distances = new Map<string, string>();
  /** oldest first */
  events: EventMessage[] = [];
  connection: SocketState | null = null;
  tokenNeeded = false;
  /** why the last token was refused; empty when none was given */
  tokenFault = '';
  /** why the evaluator takes no frames; empty when it does */
  reasons: string[] = [];
  loaded = false;
  /** the server's clock minus ours */
  clockMs = 0;
  #socket: LiveSocket;
  #listeners = new Set<() => void>();
  #announced = false;
  #soon: number | undefined;
  #loads = 0;
  /** events received while the history was being fetched; null otherwise */
  #arrived: EventMessage[] | null = null;
  /** stream -> number of its last event in the history, which the connection may repeat */
  #known = new Map<string, number>();

  constructor() {
    this.#socket = new LiveSocket(
      { everyMs: String(REPORT_MS), batch: '1' },
      {
        message: (message) => this.#receive(message as ReportMessage | ReportsMessage | EventMessage),
        state: (state) => this.#connected(state),
      },
    );
    this.#poll();
    void this.#load();
  }

  /** Calls back after changes, at most once per turn of the event loop; returns the way to stop that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** How long ago a moment of the server's clock was, in milliseconds. */
  ageMs(serverMs: number): number {
    return Date.now() + this.clockMs - serverMs;
  }

  retry(): void {
    this.tokenNeeded = false;
    this.tokenFault = '';
    this.#socket.reconnect();
    void this.#load();
  }

  spikesOf(id: SeriesId): Spike[] {
    if (this.spikes.size === 0) return [];
    const key = keyOf(id);
    return [...this.spikes.values()].filter((spike) => keyOf(spike) === key);
  }

  /** What is wrong with how a series is wired. */
  findingsOf({ stream, tracker }: SeriesId): Finding[] {
    const { findings = [] } = this.streams.get(stream) ?? {};
    return findings.filter((finding) => (finding.tracker ?? tracker) === tracker);
  }

  incidentOf(id: SeriesId): IncidentState | undefined {
    return this.incidents.get(keyOf(id));
  }

  /** The mute under which nobody is told of this series. */
  muteOf({ stream, tracker }: SeriesId): Mute | undefined {
    return this.mutes.find((mute) => matches(mute.stream, stream) && matches(mute.tracker, tracker));
  }

  verdictOf(series: BoardSeries): HealthVerdict {
    const { tracker, judged, ended } = series;
    const known = {
      tracker,
      judged,
      ended,
      stream: this.streams.get(series.stream),
      incident: this.incidentOf(series),
      findings: this.findingsOf(series),
      spikes: this.spikesOf(series).map(({ signal, event }) => ({ signal, sinceMs: event.atMs ?? 0 })),
    };
    return verdictOf(known, (ms) => this.ageMs(ms));
  }

  #connected(state: SocketState): void {
    const before = this.connection;
    this.connection = state;
    // fetch what happened in the meantime
    if (state.open && !before?.open) void this.#load();
    this.#announce();
  }

  /** The more series there are, the more rarely all of them are fetched. */
  #poll(): void {
    const waitMs = Math.max(STREAMS_MS, this.series.size * STREAMS_MS_PER_SERIES);
    setTimeout(() => void this.#fetchStreams().finally(() => this.#poll()), waitMs);
  }

  /** Something has happened that the state of the streams tells more about. */
  #fetchSoon(): void {
    this.#soon ??= window.setTimeout(() => {
      this.#soon = undefined;
      void this.#fetchStreams();
    }, NEWS_MS);
  }

  async #load(): Promise<void> {
    const load = ++this.#loads;
    this.#arrived = [];
    await this.#fetchStreams();
    void this.#fetchDistances();
    try {
      const [{ events }, { series }] = await Promise.all([getEvents(), getSparklines(SPARK_POINTS)]);
      if (load !== this.#loads) return;
      this.#replaceEvents(events);
      for (const trend of series) this.#entry(trend).spark = trend.distance.slice(-SPARK_POINTS);
      this.loaded = true;
    } catch (error) {
      this.#failed(error);
    }
    this.#announce();
  }

  /** Starts from the history, then adds the events received meanwhile that it does not contain. */
  #replaceEvents(events: EventMessage[]): void {
    const arrived = this.#arrived ?? [];
    this.#arrived = null;
    this.events = events.slice(-EVENTS_MAX);
    this.spikes.clear();
    this.#known.clear();
    for (const event of events) {
      this.#updateSpikes(event);
      // a stream that returns numbers its events from one again
      if (event.type === 'retired') this.#known.delete(event.stream);
      else if (event.n !== undefined) this.#known.set(event.stream, event.n);
    }
    for (const event of arrived) this.#event(event);
  }

  async #fetchStreams(): Promise<void> {
    try {
      const [{ nowMs, reasons, streams }, { incidents, mutes }, { series }] = await Promise.all([
        getStreams(),
        getIncidents(),
        getRates(),
      ]);
      this.clockMs = nowMs - Date.now();
      this.reasons = reasons ?? [];
      this.#replaceStreams(streams);
      this.mutes = mutes;
      replace(this.incidents, incidents);
      replace(this.rates, series);
    } catch (error) {
      this.#failed(error);
    }
    this.#announce();
  }

  /** After somebody has said something about an incident. */
  refresh(): Promise<void> {
    return this.#fetchStreams();
  }

  /** What distances are measured in; a token for some streams only may not know. */
  async #fetchDistances(): Promise<void> {
    if (this.distances.size > 0) return;
    try {
      const { params } = await getConfig();
      for (const [name, { distance }] of Object.entries(params)) this.distances.set(name, distance);
    } catch {
      // then figures have no unit
    }
  }

  #failed(error: unknown): void {
    if (!(error instanceof ApiError) || (error.status !== 401 && error.code !== 'role_forbidden')) return;
    this.tokenNeeded = true;
    this.tokenFault = error.code === 'token_missing' ? '' : error.message;
  }

  #replaceStreams(streams: StreamSummary[]): void {
    this.streams.clear();
    const present = new Set<string>();
    for (const state of streams) {
      this.streams.set(state.stream, state);
      for (const { tracker, profile, ended, k } of state.series) {
        const entry = this.#entry({ stream: state.stream, tracker, profile });
        entry.ended = ended;
        entry.judged = k !== null;
        present.add(keyOf(entry));
      }
    }
    for (const key of this.series.keys()) if (!present.has(key)) this.series.delete(key);
  }

  #entry(id: SeriesId): BoardSeries {
    const key = keyOf(id);
    let entry = this.series.get(key);
    if (!entry) {
      const { stream, tracker, profile } = id;
      const nothing = {
        judged: false,
        k: null,
        distance: Number.NaN,
        cost: NO_COST,
        exact: true,
        receivedMs: 0,
        spark: [],
        ended: false,
      };
      entry = { key, stream, tracker, profile, ...nothing };
      this.series.set(key, entry);
    }
    return entry;
  }

  #receive(message: ReportMessage | ReportsMessage | EventMessage): void {
    if (message.type === 'reports') for (const report of (message as ReportsMessage).reports) this.#report(report);
    else if (message.type === 'report') this.#report(message as ReportMessage);
    else this.#event(message as EventMessage);
    this.#announce();
  }

  #report({ window: { distance, cost, exact }, k, receivedMs, ...id }: ReportMessage): void {
    const entry = this.#entry(id);
    if (entry.k !== k) {
      entry.spark.push(distance);
      if (entry.spark.length > SPARK_POINTS) entry.spark.shift();
    }
    Object.assign(entry, { judged: true, k, distance, cost, exact, receivedMs: receivedMs || entry.receivedMs });
  }

  #event(event: EventMessage): void {
    this.#arrived?.push(event);
    if (event.n !== undefined) {
      if (event.n <= (this.#known.get(event.stream) ?? 0)) return;
      this.#known.delete(event.stream);
    }
    this.#list(event);
    if (this.events.length > EVENTS_MAX) this.events.shift();
    this.#updateSpikes(event);
    if (event.type === 'retired') this.series.delete(keyOf(event as unknown as SeriesId));
    if (NEWS.includes(event.type)) this.#fetchSoon();
  }

  /**
   * Repeated events of a stream become one with their counts added, as in the evaluator's own history; those of two
   * feeds may come in turns.
   */
  #list(event: EventMessage): void {
    const at = this.events.findLastIndex(
      (one) => one.stream === event.stream && (repeats(one, event) || !REPEATED.includes(one.type)),
    );
    const last = this.events[at];
    if (!last || !repeats(last, event)) this.events.push(event);
    else this.events[at] = { ...event, count: (last.count ?? 1) + (event.count ?? 1) };
  }

  #updateSpikes(event: EventMessage): void {
    const { type, stream, tracker, profile } = event;
    if (type !== 'spike' || !tracker || !profile) return;
    const signal = String(event.signal ?? 'spike');
    const key = `${keyOf({ stream, tracker, profile })}\n${signal}`;
    if (event.phase === 'end') this.spikes.delete(key);
    else this.spikes.set(key, { stream, tracker, profile, signal, event });
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** Kinds after which the state of streams is another. */
const NEWS: readonly string[] = ['silence', 'resuming', 'incident', 'finding'];

function replace<T extends SeriesId>(map: Map<string, T>, values: T[]): void {
  map.clear();
  for (const value of values) map.set(keyOf(value), value);
}

/** Whether a name is meant by a pattern, in which * stands for any characters. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name);
}

/** Kinds that are emitted for every frame while something is wrong. */
const REPEATED: readonly string[] = ['late', 'duplicate', 'missing', 'gap', 'rejected', 'skipped'];

const repeats = (last: EventMessage, event: EventMessage): boolean =>
  REPEATED.includes(event.type) &&
  last.type === event.type &&
  last.role === event.role &&
  last.tracker === event.tracker &&
  last.code === event.code;
