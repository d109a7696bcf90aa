/** Objects of a scene that somebody points at: which one, and what the loaded frames say of it. */
import type { Camera } from './camera.js';
import type { DrawnSide, FrameBuffer, ShownFrame } from './frames.js';

/** An object that somebody has chosen. */
export interface Chosen {
  feed: 'reference' | 'tracker';
  id: string;
}

/** Frames in a row in which an object had one partner; null: none. */
interface Run {
  partner: string | null;
  /** false: nobody expects a partner there */
  judged: boolean;
  from: number;
  to: number;
}

export interface ObjectFacts extends Chosen {
  /** whether it is in the frame that is shown */
  present: boolean;
  /** whether it is missed, or false, when it has no partner */
  judged: boolean;
  class?: string;
  confidence?: number;
  /** of this frame; null: missed, or false */
  partner: string | null;
  /** distance to it, in the unit of the base distance */
  error: number | null;
  /** frames that have it, and in how many of them it had a partner */
  seen: number;
  paired: number;
  runs: Run[];
}

/** How far beside a point one may click, CSS pixels. */
const REACH = 14;

/** The object at a place of the screen, the smallest of those that lie there; null when there is none. */
export function objectAt(frame: ShownFrame, camera: Camera, x: number, y: number, ratio: number): Chosen | null {
  const best = { size: Number.POSITIVE_INFINITY, chosen: null as Chosen | null };
  for (const feed of ['reference', 'tracker'] as const) {
    const side = frame[feed];
    for (let n = 0; n < side.ids.length; n++) {
      const size = sizeAt(side, n, camera, x, y, REACH * ratio);
      // of two that coincide the truth is meant
      if (size < best.size) Object.assign(best, { size, chosen: { feed, id: side.ids[n] } });
    }
  }
  return best.chosen;
}

/** Area of a box that holds the place, squared distance of a point that is near; else infinity. */
function sizeAt(
  { at }: DrawnSide,
  n: number,
  { scale, left, top }: Camera,
  x: number,
  y: number,
  reach: number,
): number {
  const o = n * 4;
  const [dx, dy] = [x - (at[o] - left) * scale, y - (at[o + 1] - top) * scale];
  const [width, height] = [at[o + 2] * scale, at[o + 3] * scale];
  if (width === 0 && height === 0)
    return dx * dx + dy * dy < reach * reach ? dx * dx + dy * dy : Number.POSITIVE_INFINITY;
  const slack = Math.max(0, reach / 2 - Math.min(width, height) / 2);
  const inside = dx >= -slack && dy >= -slack && dx <= width + slack && dy <= height + slack;
  return inside ? Math.max(1, width * height) : Number.POSITIVE_INFINITY;
}

/** Where in the frame an object's partner is, and the object itself; -1 where there is none. */
export function placesOf(
  { reference, tracker, trackOf }: ShownFrame,
  { feed, id }: Chosen,
): { truth: number; track: number } {
  if (feed === 'reference') {
    const truth = reference.index.get(id) ?? -1;
    return { truth, track: truth < 0 ? -1 : Math.max(-1, trackOf[truth]) };
  }
  const track = tracker.index.get(id) ?? -1;
  return { truth: track < 0 ? -1 : trackOf.indexOf(track), track };
}

/** What the frames up to the shown one say of an object. */
export function factsOf({ frames, extras }: FrameBuffer, index: number, chosen: Chosen): ObjectFacts {
  const { feed, id } = chosen;
  const isTruth = feed === 'reference';
  const facts: ObjectFacts = {
    feed,
    id,
    present: false,
    judged: true,
    partner: null,
    error: null,
    seen: 0,
    paired: 0,
    runs: [],
  };
  for (let n = 0; n <= index; n++) {
    const frame = frames[n];
    if (!frame[feed].index.has(id)) continue;
    const { truth, track } = placesOf(frame, chosen);
    const other = isTruth ? track : truth;
    const partner = other < 0 ? null : (isTruth ? frame.tracker : frame.reference).ids[other];
    const judged = partner !== null || !frame[feed].idle?.has(isTruth ? truth : track);
    facts.seen++;
    if (partner !== null) facts.paired++;
    const last = facts.runs[facts.runs.length - 1];
    if (last?.partner === partner && last.judged === judged) last.to = frame.k;
    else facts.runs.push({ partner, judged, from: frame.k, to: frame.k });
    if (n < index) continue;
    Object.assign(facts, { present: true, judged, partner, ...extras[feed].get(id) });
    const pair = frame.assignment.find((one) => (isTruth ? one.truth : one.track) === id && one.distance !== null);
    facts.error = pair?.distance ?? null;
  }
  return facts;
}

/** Centres of an object in the last frames up to the shown one, x and y one after the other. */
export function pathOf({ frames }: FrameBuffer, index: number, { feed, id }: Chosen, most = 600): number[] {
  const path: number[] = [];
  for (let n = Math.max(0, index - most); n <= index; n++) {
    const { at, index: places } = frames[n][feed];
    const place = places.get(id);
    if (place === undefined) continue;
    const o = place * 4;
    path.push(at[o] + at[o + 2] / 2, at[o + 1] + at[o + 3] / 2);
  }
  return path;
}
