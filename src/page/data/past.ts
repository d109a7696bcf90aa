/**
 * A stretch of the past of one series: frames from the evaluator's log, judged again by the kernel in a worker of this
 * browser, so that looking back costs the evaluator nothing but reading.
 */
import { COMPONENTS } from '../../metric/evaluation.js';
import { MOMENT_FORMAT, MOMENT_VERSION, type SavedMoment } from '../../wire/moment.js';
import type { SeriesId } from '../../wire/series-key.js';
import { FrameBuffer } from '../scene/frames.js';
import { getPast, type PastState } from './api.js';
import { emptyTrend, type Trend } from './trend.js';
import type { JudgedFrame, PastAnswer, WhatIfQuestion } from './what-if-worker.js';

declare const WORKER_FILE: string;

export interface Past {
  /** the frame that was asked for */
  k: number;
  frames: FrameBuffer;
  trend: Trend;
  /** as it came, with what was made of it: what an export holds */
  state: PastState;
  judged: JudgedFrame[];
}

/** A moment from a file, judged again. */
export async function openMoment(moment: SavedMoment): Promise<Past> {
  const frames = moment.frames.map((frame) => ({ ...frame, atMs: frame.atMs ?? (frame.t ?? 0) * 1000 }));
  const state: PastState = { ...moment, frames };
  return pastOf(state, await judge(state));
}

/** A moment as a file. */
export function momentText({ state, judged }: Past, k: number): string {
  const { stream, tracker, profile, params, lead, frames } = state;
  const moment: SavedMoment = {
    format: MOMENT_FORMAT,
    version: MOMENT_VERSION,
    ...{ stream, tracker, profile, k, lead, params, frames },
    judged: judged.map(({ newest }) => newest),
  };
  return JSON.stringify(moment);
}

/** Rejects with an ApiError when nothing is stored there. */
export async function loadPast(id: SeriesId, moment: { k: number } | { at: number }): Promise<Past> {
  const state = await getPast(id, moment);
  return pastOf(state, await judge(state));
}

function judge({ frames, params }: PastState): Promise<JudgedFrame[]> {
  const worker = new Worker(WORKER_FILE, { type: 'module' });
  return new Promise<JudgedFrame[]>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PastAnswer>) =>
      'past' in data ? resolve(data.past) : reject(new Error(data.mistake));
    worker.onerror = () => reject(new Error('the kernel could not be started'));
    worker.postMessage({ past: frames, params } satisfies WhatIfQuestion);
  }).finally(() => worker.terminate());
}

function pastOf(state: PastState, judged: JudgedFrame[]): Past {
  const frames = new FrameBuffer(state.params.distance === 'geodesic');
  const trend = emptyTrend();
  state.frames.forEach((frame, n) => {
    const { newest, evaluation } = judged[n];
    const { distance, cost, exact } = evaluation;
    frames.push({ ...frame, ...newest });
    if (n < state.lead) return;
    trend.k.push(frame.k);
    trend.atMs.push(frame.atMs);
    trend.distance.push(distance);
    trend.exact.push(exact ? 1 : 0);
    for (const name of COMPONENTS) trend.cost[name].push(cost[name]);
  });
  // what only fills the window has no figures of its own
  frames.frames = frames.frames.slice(state.lead);
  return { k: state.k, frames, trend, state, judged };
}
