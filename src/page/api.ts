/** The HTTP interface of the evaluator, called with the reader's token. The shapes are those of the wire contract. */
import type { Assigned, Evaluation, FrameEvaluation, Obj } from '../metric/evaluation.js';
import type { Params } from '../metric/params.js';
import type { Costs, SeriesId } from './format.js';

const TOKEN_KEY = 'tgospa-token';

export interface FeedState {
  role: 'reference' | 'tracker';
  tracker: string | null;
  lastReceivedMs: number;
  silent: boolean;
  /** it was cut off and is not back yet */
  awaited?: boolean;
  ended: boolean;
}

/** What is wrong with how a tracker, or with null the whole stream, is wired. */
export interface FindingState {
  finding: string;
  tracker: string | null;
  message: string;
  remedy: string;
}

export interface StreamState {
  stream: string;
  shape: 'box' | 'point';
  windowFrames: number;
  profiles: string[];
  /** feeds that were cut off are waited for */
  resuming?: boolean;
  feeds: FeedState[];
  series: Array<{ tracker: string; profile: string; k: number | null; frames: number; ended: boolean }>;
  findings: FindingState[];
}

export type TrendColumns = SeriesId & Record<'k' | 'atMs' | 'distance' | keyof Costs, number[]>;

export interface WindowFrame {
  k: number;
  t?: number;
  reference: Obj[];
  tracker: Obj[];
}

export interface WindowState extends SeriesId {
  params: Params & { windowFrames: number };
  k: number;
  evaluation: Evaluation;
  newest: FrameEvaluation;
  frames: WindowFrame[];
}

export interface ReportMessage extends SeriesId {
  type: 'report';
  k: number;
  t?: number;
  receivedMs: number;
  skipped?: number;
  window: Omit<Evaluation, 'perFrame'>;
  newest: { cost: Costs; count: FrameEvaluation['count']; assignment: Assigned[] };
  objects?: { reference: Obj[]; tracker: Obj[] };
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

async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const url = `/v1/${path}?${new URLSearchParams(query)}`;
  const response = await fetch(url, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
  const body = await response.json();
  if (!response.ok) throw new ApiError(response.status, body.code ?? 'fault', body.message ?? response.statusText);
  return body;
}

const series = ({ stream, tracker, profile }: SeriesId) => ({ stream, tracker, profile });

export const getStreams = () => get<{ nowMs: number; streams: StreamState[] }>('streams');
export const getEvents = () => get<{ events: EventMessage[] }>('events', { limit: '2000' });
export const getWindow = (id: SeriesId) => get<WindowState>('window', series(id));
export const getTrend = (id: SeriesId) => get<{ series: TrendColumns[] }>('trend', series(id));
export const getSparklines = (points: number) => get<{ series: TrendColumns[] }>('trend', { points: String(points) });
