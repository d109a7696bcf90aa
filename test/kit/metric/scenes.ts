/**
 * Seeded random scenes for the kernel's tests: births, deaths, gaps, ids that come back, swaps, fragmentation, clutter
 * and tracks of one frame, as boxes or as points. Half of them have whole coordinates, so that exact ties happen.
 * Invariant: the same seed gives the same frames and parameters on every machine.
 */

import type { DistanceName, Frame, Obj, Params } from '../../../src/index.js';
import { pick, type Random, randomFrom } from '../random.js';

export interface SceneShape {
  distance: DistanceName;
  frameCount: number;
  /** truths alive at the same time, about */
  truthCount: number;
  /** side of the world in units; the cut-off is 1 to 4 of them */
  side: number;
  /** whole coordinates: exact ties */
  whole: boolean;
  /** chance per frame of each fault */
  faults: { death: number; gap: number; swap: number; break: number; miss: number; clutter: number };
  noise: number;
}

export interface RandomCase {
  seed: number;
  shape: SceneShape;
  params: Params;
  frames: Frame[];
}

interface Body {
  id: string;
  x: number;
  y: number;
  vx: number;
  vy: number;
  size: number;
  awayUntil: number;
  track: string;
  trackAwayUntil: number;
}

/** Ratios of gamma^p / 2 to c^p: from switches that cost next to nothing to switches that are never worth it. */
const SWITCH_RATIOS = [1e-7, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 1e4];

/** Half a switch costs `ratio` times cutoff^exponent. */
export function switchPenaltyOf(cutoff: number, exponent: number, ratio: number): number {
  return cutoff * (2 * ratio) ** (1 / exponent);
}

/** A scene with parameters that make it interesting; `fixed` overrides what the seed would choose. */
export function randomCase(seed: number, fixed: Partial<SceneShape> & { ratio?: number } = {}): RandomCase {
  const random = randomFrom(seed);
  const { ratio = pick(random, SWITCH_RATIOS), ...shapeFixed } = fixed;
  const level = pick(random, [0.02, 0.1, 0.3]);
  const shape: SceneShape = {
    distance: pick(random, ['euclidean', 'euclidean', 'iou', 'hausdorff', 'wasserstein', 'geodesic'] as const),
    frameCount: 4 + Math.floor(random() * 30),
    truthCount: 1 + Math.floor(random() * 5),
    side: pick(random, [2, 4, 8, 16]),
    whole: random() < 0.5,
    faults: {
      death: level * random(),
      gap: level * random(),
      swap: level * random(),
      break: level * random(),
      miss: level * random(),
      clutter: 2 * level * random(),
    },
    noise: pick(random, [0, 0.5, 1, 2]),
    ...shapeFixed,
  };
  const exponent = pick(random, [1, 1, 1.797, 2]);
  const cutoff = cutoffOf(shape.distance, pick(random, [1, 2, 4]));
  const params: Params = {
    distance: shape.distance,
    cutoff,
    exponent,
    switchPenalty: switchPenaltyOf(cutoff, exponent, ratio),
  };
  return { seed, shape, params, frames: randomScene(shape, random) };
}

const METRES_PER_UNIT = 100;
const DEGREES_PER_UNIT = METRES_PER_UNIT / 111_194.926;

function cutoffOf(distance: DistanceName, units: number): number {
  if (distance === 'iou') return units / 4;
  return distance === 'geodesic' ? units * METRES_PER_UNIT : units;
}

/** Frames of a scene: bodies wander, and tracks follow them with faults. */
export function randomScene(shape: SceneShape, random: Random): Frame[] {
  const { faults, side } = shape;
  // few ids: those of the dead come back
  const truthIds = Array.from({ length: shape.truthCount + 3 }, (_, n) => `t${n}`);
  const trackIds = Array.from({ length: shape.truthCount + 5 }, (_, n) => `k${n}`);
  let ones = 0;
  const bodies: Body[] = [];
  const free = (ids: string[], taken: string[]) => {
    const list = ids.filter((id) => !taken.includes(id));
    return list.length > 0 ? pick(random, list) : `x${ones++}`;
  };
  const spawn = (): Body => ({
    id: free(
      truthIds,
      bodies.map((b) => b.id),
    ),
    x: random() * side,
    y: random() * side,
    vx: random() - 0.5,
    vy: random() - 0.5,
    size: 1 + random(),
    awayUntil: -1,
    track: free(
      trackIds,
      bodies.map((b) => b.track),
    ),
    trackAwayUntil: -1,
  });
  for (let n = 0; n < shape.truthCount; n++) bodies.push(spawn());
  const frames: Frame[] = [];
  for (let k = 0; k < shape.frameCount; k++) {
    const frame: Frame = { reference: [], tracker: [] };
    for (let n = 0; n < bodies.length; n++) {
      if (random() < faults.death) bodies.splice(n, 1, ...(random() < 0.8 ? [spawn()] : []));
      else if (random() < faults.gap) bodies[n].awayUntil = k + Math.floor(random() * 6);
      else if (random() < faults.miss) bodies[n].trackAwayUntil = k + Math.floor(random() * 4);
      else if (random() < faults.swap) swapTracks(bodies, n, random);
      else if (random() < faults.break)
        bodies[n].track = free(
          trackIds,
          bodies.map((b) => b.track),
        );
    }
    if (bodies.length < shape.truthCount && random() < 0.2) bodies.push(spawn());
    for (const body of bodies) {
      body.x += body.vx;
      body.y += body.vy;
      if (body.x < 0 || body.x > side) body.vx = -body.vx;
      if (body.y < 0 || body.y > side) body.vy = -body.vy;
      if (body.awayUntil < k) frame.reference.push(objectAt(shape, body.id, body.x, body.y, body.size, body.size + 1));
      if (body.trackAwayUntil >= k) continue;
      const away = () => (random() - 0.5) * shape.noise;
      frame.tracker.push(
        objectAt(
          shape,
          body.track,
          body.x + away(),
          body.y + away(),
          body.size * (0.8 + 0.4 * random()),
          body.size + 1,
        ),
      );
    }
    if (random() < faults.clutter)
      frame.tracker.push(objectAt(shape, `c${k}`, random() * side, random() * side, 1, 1 + random()));
    frames.push(frame);
  }
  return frames;
}

function swapTracks(bodies: Body[], n: number, random: Random): void {
  const m = Math.floor(random() * bodies.length);
  const { track } = bodies[n];
  bodies[n].track = bodies[m].track;
  bodies[m].track = track;
}

function objectAt({ distance, whole }: SceneShape, id: string, x: number, y: number, w: number, h: number): Obj {
  const [cx, cy] = whole ? [Math.round(x), Math.round(y)] : [x, y];
  // longitudes on both sides of the date line
  if (distance === 'geodesic') {
    const longitude = 179.99 + cy * DEGREES_PER_UNIT;
    return { id, point: [cx * DEGREES_PER_UNIT, longitude > 180 ? longitude - 360 : longitude] };
  }
  if (distance === 'euclidean') return { id, point: [cx, cy] };
  return { id, box: whole ? [cx, cy, Math.ceil(w), Math.ceil(h)] : [cx, cy, w, h] };
}

/** The same frames with ids renamed and objects in another order. */
export function shuffled(frames: Frame[], random: Random): Frame[] {
  const names = new Map<string, string>();
  const rename = (side: string, id: string) => {
    const key = `${side}${id}`;
    if (!names.has(key)) names.set(key, `${Math.floor(random() * 1e9)}-${names.size}`);
    return names.get(key)!;
  };
  const shuffle = (objects: Obj[], side: string) =>
    objects
      .map((object) => ({ order: random(), object: { ...object, id: rename(side, object.id) } }))
      .sort((a, b) => a.order - b.order)
      .map(({ object }) => object);
  return frames.map(({ reference, tracker }) => ({
    reference: shuffle(reference, 'reference '),
    tracker: shuffle(tracker, 'tracker '),
  }));
}
