/**
 * Hunts for a window that reports otherwise than its frames solved from scratch: `npm run hunt -- [seconds] [first
 * seed]`. Scenes are small and on a coarse grid, so that exact ties are everywhere; the limit of the frontier is so low
 * that knots overflow and components are handed back and forth. Which engine served is not compared: it depends on what
 * was solved before, the answer does not. `npm run hunt -- presets` is the hunt of sliding-hunt.ts.
 */

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { evaluate, SlidingWindow, type SolveOptions } from '../../../src/index.js';
import { type randomCase, randomScene, type SceneShape, switchPenaltyOf } from '../../kit/metric/scenes.js';
import { verify } from '../../kit/metric/verifier.js';
import { pick, randomFrom } from '../../kit/random.js';
import { huntPresets } from './sliding-hunt.js';

/** half a switch against c^p: simple fractions, so that switches tie with distances */
const RATIOS = [0.125, 0.25, 0.25, 0.5, 0.5, 0.75, 1, 1, 1.5, 2, 3, 5];

export interface Quarry {
  name: string;
  frames: ReturnType<typeof randomScene>;
  params: ReturnType<typeof randomCase>['params'];
  windowFrames: number;
  options: SolveOptions;
}

/** The scene of a seed. */
export function quarry(seed: number): Quarry {
  const random = randomFrom(seed);
  const level = pick(random, [0.05, 0.15, 0.3]);
  const fault = () => level * random();
  const shape: SceneShape = {
    distance: pick(random, ['euclidean', 'euclidean', 'hausdorff', 'iou'] as const),
    frameCount: 12 + Math.floor(random() * 40),
    truthCount: 2 + Math.floor(random() * 3),
    side: pick(random, [2, 3, 4, 6]),
    whole: true,
    faults: { death: fault(), gap: fault(), swap: fault(), break: fault(), miss: fault(), clutter: 2 * fault() },
    noise: pick(random, [0, 1, 2, 3]),
  };
  const cutoff = shape.distance === 'iou' ? pick(random, [0.5, 0.75]) : pick(random, [1.5, 2, 3, 4]);
  const exponent = pick(random, [1, 1, 2]);
  const options: SolveOptions = {
    frontierMax: pick(random, [0, 2, 3, 4, 6, 10, 20, 512]),
    exactness: pick(random, ['lp', 'force'] as const),
  };
  return {
    name: `seed ${seed}`,
    frames: randomScene(shape, random),
    params: {
      distance: shape.distance,
      cutoff,
      exponent,
      switchPenalty: switchPenaltyOf(cutoff, exponent, pick(random, RATIOS)),
    },
    windowFrames: pick(random, [2, 3, 5, 8, 12, 20]),
    options,
  };
}

/**
 * Slides over a scene and compares every report with the same frames solved from scratch; returns the number of pushes.
 */
export function slidesLikeBatch({ name, frames, params, windowFrames, options }: Quarry): number {
  const window = new SlidingWindow({ ...params, windowFrames }, options);
  try {
    frames.forEach((frame, k) => {
      const place = `${name}, window ${windowFrames}, push ${k}`;
      const report = window.push(frame);
      const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
      const batch = evaluate(held, params, options);
      if (report.exact) verify(report, held, params, place);
      for (const key of ['cost', 'count', 'exact', 'gap', 'lowerBound', 'perFrame'] as const)
        assert.deepEqual(report[key], batch[key], `${place}: ${key}`);
    });
  } finally {
    window.dispose();
  }
  return frames.length;
}

function hunt(seconds: number, first: number): void {
  const end = performance.now() + 1000 * seconds;
  let seed = first;
  let pushes = 0;
  let found = 0;
  for (; performance.now() < end; seed++) {
    const scene = quarry(seed);
    try {
      pushes += slidesLikeBatch(scene);
    } catch (error) {
      found++;
      const { message } = error as Error;
      console.log(`${message.split('\n')[0]} ${JSON.stringify(scene.options)}`);
    }
  }
  console.log(`${seed - first} scenes, ${pushes} pushes without and ${found} scenes with a difference`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [kind, ...rest] = process.argv.slice(2);
  if (kind === 'presets')
    huntPresets(
      rest.filter((word) => word !== 'lp' && word !== 'auto').map(Number),
      rest.includes('lp') ? 'lp' : 'auto',
    );
  else hunt(Number(kind ?? 60), Number(rest[0] ?? 1));
}
