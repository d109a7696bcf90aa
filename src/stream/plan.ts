/**
 * How a stream is judged: its settings and profiles, complete, and what follows from them for parts, pairing and
 * windows. A plan is plain data: it is stored with the first hello of a stream, and only a `configure` record replaces
 * it.
 */
import type { ResolvedStream, SettingsPatch } from '../config/config.js';
import type { SceneFacts } from '../coverage/region.js';
import type { WindowParams } from '../metric/sliding-window.js';
import type { Role } from '../wire/feed.js';
import { type FeedPart, select } from '../wire/objects.js';

/** A resolved stream, and what of it a hello asked for. */
export interface StreamPlan extends ResolvedStream {
  patch: SettingsPatch;
}

/** A part with those of its objects that count, under the names their classes go by; trackers excuse nothing. */
export function admitted(role: Role, part: FeedPart, plan: StreamPlan): FeedPart {
  const { objects, ignore: _ignore, ...rest } = part;
  const own = role === 'reference' ? part : { ...rest, objects: withoutIgnored(objects) };
  return filtered(role, renamed(own, plan), plan);
}

function withoutIgnored(objects: FeedPart['objects']): FeedPart['objects'] {
  if (!objects.ignored) return objects;
  const { ignored: _ignored, ...others } = objects;
  return others;
}

function renamed(part: FeedPart, { settings }: StreamPlan): FeedPart {
  const { map } = settings.classes;
  const { classes } = part.objects;
  if (!classes || Object.keys(map).length === 0) return part;
  const names = classes.map((name) => (name !== null && Object.hasOwn(map, name) ? map[name] : name));
  return { ...part, objects: { ...part.objects, classes: names } };
}

function filtered(role: Role, part: FeedPart, { settings }: StreamPlan): FeedPart {
  const { classes, minConfidence } = settings.filter[role] ?? settings.filter;
  if (classes === null && minConfidence === null) return part;
  const counts = (kind: string | null, confidence: number | null) =>
    (classes === null || (kind !== null && classes.includes(kind))) &&
    (minConfidence === null || confidence === null || confidence >= minConfidence);
  return { ...part, objects: select(part.objects, counts) };
}

/** Whether points are latitude and longitude. */
export const isGeodetic = ({ profiles }: StreamPlan) =>
  Object.values(profiles).some(({ distance }) => distance === 'geodesic');

/** What the page draws behind the objects; absent where there is nothing. */
export function sceneOf({ settings }: StreamPlan): { scene?: SceneFacts } {
  const { regions, within, ignore } = settings.coverage;
  const facts = { picture: settings.picture, regions, within, ignore };
  const known = Object.entries(facts).filter(([, value]) => value && value.length > 0);
  return known.length > 0 ? { scene: Object.fromEntries(known) } : {};
}

export function windowParams({ settings, profiles }: StreamPlan, profile: string): WindowParams {
  const { windowFrames, settleFrames } = settings;
  const params = { ...profiles[profile], windowFrames };
  // a frame settles before it leaves the window
  return settleFrames === null ? params : { ...params, settleFrames: Math.min(settleFrames, windowFrames - 1) };
}

/** Whether a series goes on under another plan: its window stays the same, and what may be a pair in it. */
export const keepsWindow = (profile: string, before: StreamPlan, after: StreamPlan) =>
  profile in after.profiles &&
  (before.settings.classes.apart ?? false) === after.settings.classes.apart &&
  JSON.stringify(windowParams(after, profile)) === JSON.stringify(windowParams(before, profile));
