/** The HTTP interface of the evaluator, called with the reader's token. The shapes are those of the wire contract. */

import type { SceneFacts } from '../../coverage/region.js';
import type { Assigned, Evaluation, FrameCost, FrameEvaluation, Obj } from '../../metric/evaluation.js';
import type { Params } from '../../metric/params.js';
import type { Finding } from '../../wire/findings.js';
import type { Mute, OpenIncident, Remark } from '../../wire/incidents.js';
import type { SeriesId } from '../../wire/series-key.js';

const TOKEN_KEY = 'tgospa-token';

export interface FeedSummary {
  role: 'reference' | 'tracker';
  tracker: string | null;
  lastReceivedMs: number;
  silent: boolean;
  /** it was cut off and is not back yet */
  awaited?: boolean;
  ended: boolean;
  /** number of its last stored frame */
  seq: number;
}

/** An incident, and what was said of it last. */
export type IncidentState = OpenIncident & { remark?: Remark | null };

/** What settled within `seconds`; `usual` is per frame, by signal. */
export interface RateState extends SeriesId {
  seconds: number;
  frames: number;
  proper: number;
  missed: number;
  false: number;
  switches: number;
  usual: Record<string, number> | null;
  error: number;
}

export interface StreamSummary {
  stream: string;
  shape: 'box' | 'point';
  windowFrames: number;
  profiles: string[];
  /** feeds that were cut off are waited for */
  resuming?: boolean;
  /** it is being rebuilt after a start */
  restoring?: boolean;
  /** why it is not judged */
  suspended?: string;
  feeds: FeedSummary[];
  series: Array<{ tracker: string; profile: string; k: number | null; frames: number; ended: boolean }>;
  findings: Finding[];
  incidents: IncidentState[];
}

export type TrendColumns = SeriesId & Record<'k' | 'atMs' | 'distance' | 'exact' | keyof FrameCost, number[]>;

export interface WindowFrame {
  k: number;
  t?: number;
  reference: Obj[];
  tracker: Obj[];
}

export interface WindowState extends SeriesId {
  params: Params & { windowFrames: number };
  scene?: SceneFacts;
  k: number;
  evaluation: Evaluation;
  newest: FrameEvaluation;
  frames: WindowFrame[];
}

/** A stretch of the past; the first `lead` frames only fill the window. */
export interface PastState extends SeriesId {
  params: Params & { windowFrames: number };
  scene?: SceneFacts;
  k: number;
  lead: number;
  frames: Array<WindowFrame & { atMs: number }>;
}

export interface ReportMessage extends SeriesId {
  type: 'report';
  k: number;
  t?: number;
  receivedMs: number;
  skipped?: number;
  window: Omit<Evaluation, 'perFrame'>;
  newest: { cost: FrameCost; count: FrameEvaluation['count']; assignment: Assigned[] };
  objects?: { reference: Obj[]; tracker: Obj[] };
}

/** Several at once, for those who asked for that. */
export interface ReportsMessage {
  type: 'reports';
  reports: ReportMessage[];
}

/** Any event but a report; the page shows kinds it does not know as well. */
export interface EventMessage {
  type: string;
  stream: string;
  tracker?: string | null;
  profile?: string;
  role?: string;
  n?: number;
  atMs?: number;
  k?: number;
  count?: number;
  message?: string;
  code?: string;
  [key: string]: unknown;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

let token = sessionStorage.getItem(TOKEN_KEY) ?? '';

export function setToken(value: string): void {
  token = value;
  sessionStorage.setItem(TOKEN_KEY, value);
}

/** A browser cannot send a header with a WebSocket: the token is offered as a second subprotocol. */
export const protocols = () => (token ? ['tgospa.v1', `bearer.${token}`] : ['tgospa.v1']);

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(path, { ...init, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  const body = await response.json();
  if (!response.ok) throw new ApiError(response.status, body.code ?? 'fault', body.message ?? response.statusText);
  return body;
}

const get = <T>(path: string, query: Record<string, string> = {}) =>
  ask<T>(`/v1/${path}?${new URLSearchParams(query)}`);

const series = ({ stream, tracker, profile }: SeriesId) => ({ stream, tracker, profile });

export const getStreams = () =>
  get<{ nowMs: number; ready: boolean; reasons: string[]; streams: StreamSummary[] }>('streams');
export const getEvents = () => get<{ events: EventMessage[] }>('events', { limit: '2000' });
export const getIncidents = () => get<{ nowMs: number; incidents: IncidentState[]; mutes: Mute[] }>('incidents');
export const getRates = () => get<{ series: RateState[] }>('rates');
/** Acknowledges, closes, mutes or unmutes; needs a token with the role operate where there are tokens. */
export const postIncident = (body: Record<string, unknown>) =>
  ask<unknown>('/v1/incidents', { method: 'POST', body: JSON.stringify(body) });
export const getConfig = () => get<{ params: Record<string, Params> }>('config');
export const getWindow = (id: SeriesId) => get<WindowState>('window', series(id));
export const getPast = (id: SeriesId, moment: { k: number } | { at: number }) =>
  get<PastState>('past', {
    ...series(id),
    frames: '240',
    ...Object.fromEntries(Object.entries(moment).map(([key, value]) => [key, String(value)])),
  });
export const getTrend = (id: SeriesId) => get<{ series: TrendColumns[] }>('trend', series(id));
export const getSparklines = (points: number) => get<{ series: TrendColumns[] }>('trend', { points: String(points) });
