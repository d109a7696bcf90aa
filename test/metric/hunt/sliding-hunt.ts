/**
 * Every kind of profile, all five distances, windows of 1 to 600 frames: after a push a window says what its frames
 * give from scratch, to the last digit. `npm run hunt -- presets [pushes] [first seed] [auto | lp]`, 100,000 pushes
 * unless given; the suite runs a short one. A finding names its seed.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Params, presets, profile, SlidingWindow } from '../../../src/index.js';
import { DISTANCES, type DistanceName } from '../../../src/metric/params.js';
import { randomScene, type SceneShape } from '../../kit/metric/scenes.js';
import { pick, randomFrom } from '../../kit/random.js';

const PUSHES = 100_000;
const WINDOWS = [1, 2, 3, 5, 8, 13, 21, 34, 60, 60, 60, 120, 300, 600];
/** not which engine solved what: the rule may remember what it learned of a crowd */
const KEYS = ['cost', 'count', 'exact', 'gap', 'lowerBound', 'distance', 'perFrame'] as const;
/** longer windows are compared only now and then: solving them from scratch takes as long as everything else */
const LONG_WINDOW = 60;
const LONG_EVERY = 25;

/** Cut-offs at which bodies that wander over a few units meet. */
const CUTOFFS: Record<DistanceName, number> = { iou: 0.5, hausdorff: 2, wasserstein: 2, euclidean: 2, geodesic: 200 };

/** The presets as they are for boxes under 1 - IoU, and in proportion for other distances. */
function paramsOf(distance: DistanceName, name: keyof typeof presets): Params {
  if (distance === 'iou') return presets[name];
  const cutoff = CUTOFFS[distance];
  const { exponent } = presets[name];
  if (name === 'detector-training') return profile({ distance, cutoff, exponent, switchPenalty: 0 });
  return name === 'online-surveillance'
    ? profile({ distance, cutoff, exponent, shortSwitchDistance: 0.34 * cutoff })
    : profile({ distance, cutoff, exponent, longSwitchFrames: 10 });
}

export interface Slide {
  place: string;
  frames: Frame[];
  params: Params;
  windowFrames: number;
}

export function slideOf(seed: number, windowMax = 600): Slide {
  const random = randomFrom(seed);
  const distance = pick(random, DISTANCES);
  const name = pick(random, Object.keys(presets) as (keyof typeof presets)[]);
  const windowFrames = pick(
    random,
    WINDOWS.filter((frames) => frames <= windowMax),
  );
  const level = pick(random, [0.02, 0.1, 0.25]);
  const fault = () => level * random();
  const shape: SceneShape = {
    distance,
    frameCount: 80 + Math.floor(random() * 80) + (windowFrames > LONG_WINDOW ? windowFrames : 0),
    truthCount: 1 + Math.floor(random() * 4),
    side: pick(random, [2, 4, 8]),
    whole: random() < 0.5,
    faults: { death: fault(), gap: fault(), swap: fault(), break: fault(), miss: fault(), clutter: 2 * fault() },
    noise: pick(random, [0, 0.5, 1, 2]),
  };
  const place = `seed ${seed}: ${name}, ${distance}, window ${windowFrames}`;
  return { place, frames: randomScene(shape, random), params: paramsOf(distance, name), windowFrames };
}

/** Slides and compares; returns how many pushes were compared. */
export function slidesAsFromScratch({ place, frames, params, windowFrames }: Slide, solver: 'auto' | 'lp'): number {
  const window = new SlidingWindow({ ...params, windowFrames }, { solver });
  const every = windowFrames > LONG_WINDOW ? LONG_EVERY : 1;
  let compared = 0;
  try {
    frames.forEach((frame, k) => {
      const report = window.push(frame);
      if ((frames.length - 1 - k) % every !== 0) return;
      compared++;
      const batch = evaluate(frames.slice(Math.max(0, k + 1 - windowFrames), k + 1), params, { solver });
      for (const key of KEYS) assert.deepEqual(report[key], batch[key], `${place}, push ${k}: ${key}`);
    });
  } finally {
    window.dispose();
  }
  return compared;
}

/** Slides over so many pushes' worth of scenes and prints what differs, and how many were compared. */
export function huntPresets([pushes = PUSHES, firstSeed = 1]: number[], solver: 'auto' | 'lp'): void {
  let done = 0;
  let found = 0;
  let told = 0;
  let seed = firstSeed;
  for (; done < pushes; seed++) {
    const slide = slideOf(seed);
    try {
      done += slidesAsFromScratch(slide, solver);
    } catch (error) {
      found++;
      done++;
      console.log((error as Error).message.split('\n')[0]);
    }
    if (Math.floor((20 * done) / pushes) === told) continue;
    told = Math.floor((20 * done) / pushes);
    console.error(`${Math.min(100, 5 * told)} %`);
  }
  console.log(
    `${seed - firstSeed} scenes, ${done} pushes compared, solver ${solver}: ${found} scenes with a difference`,
  );
  if (found > 0) process.exitCode = 1;
}
