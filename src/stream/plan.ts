/**
 * How a stream is judged: its settings and profiles, complete, and what follows from them for parts, pairing and
 * windows. A plan is plain data: it is stored with the first hello of a stream, and only a `configure` record replaces
 * it.
 */
import type { ResolvedStream, SettingsPatch } from '../config/config.js';
import type { WindowParams } from '../metric/sliding-window.js';
import { type FeedPart, select } from '../wire/objects.js';

/** A resolved stream, and what of it a hello asked for. */
export interface StreamPlan extends ResolvedStream {
  patch: SettingsPatch;
}

/** A part with those of its objects that count. */
export function filtered(part: FeedPart, { settings }: StreamPlan): FeedPart {
  const { classes, minConfidence } = settings.filter;
  if (classes === null && minConfidence === null) return part;
  const counts = (kind: string | null, confidence: number | null) =>
    (classes === null || (kind !== null && classes.includes(kind))) &&
    (minConfidence === null || confidence === null || confidence >= minConfidence);
  return { ...part, objects: select(part.objects, counts) };
}

/** Whether points are latitude and longitude. */
export const isGeodetic = ({ profiles }: StreamPlan) =>
  Object.values(profiles).some(({ distance }) => distance === 'geodesic');

export function windowParams({ settings, profiles }: StreamPlan, profile: string): WindowParams {
  const { windowFrames, settleFrames } = settings;
  const params = { ...profiles[profile], windowFrames };
  // a frame settles before it leaves the window
  return settleFrames === null ? params : { ...params, settleFrames: Math.min(settleFrames, windowFrames - 1) };
}

/** Whether a series goes on under another plan: it does when its window stays the same. */
export const keepsWindow = (profile: string, before: StreamPlan, after: StreamPlan) =>
  profile in after.profiles &&
  JSON.stringify(windowParams(after, profile)) === JSON.stringify(windowParams(before, profile));
