/**
 * What the frontier foresees when the oldest frame leaves is what the window's frames give from scratch, where nothing
 * is foreseen: neighbours within a cut-off of each other, tracks that come and go and change sides, dear and cheap
 * switches.
 */

import type { Frame, Obj } from '../../../src/index.js';
import { pick, type Random, randomFrom } from '../../kit/random.js';
import { slidesLikeBatch } from '../hunt/hunt.js';

const FRAMES = 30;
const SEEDS = 16;

/** A row of truths that stand still, each with a track that mostly stays with it. */
function row(random: Random, count: number): Frame[] {
  const places = Array.from({ length: count }, (_, n) => n);
  const at = (id: string, x: number): Obj => ({ id, point: [x, 0] });
  return Array.from({ length: FRAMES }, () => {
    if (random() < 0.1) places.reverse();
    const there = () => random() > 0.15;
    return {
      reference: places.map((_, n) => at(`t${n}`, n)).filter(there),
      tracker: places.map((place, n) => at(`k${n}`, place + 0.9 * (random() - 0.5))).filter(there),
    };
  });
}

describe('foresight', () => {
  for (let seed = 1; seed <= SEEDS; seed++)
    it(`finds at a window's beginning what its frames give from scratch, seed ${seed}`, () => {
      const random = randomFrom(seed);
      const switchPenalty = pick(random, [0.3, 0.7, 1.5, 3]);
      slidesLikeBatch({
        name: `seed ${seed}`,
        frames: row(random, 2 + Math.floor(3 * random())),
        params: { distance: 'euclidean', cutoff: 1.5, exponent: pick(random, [1, 2]), switchPenalty },
        windowFrames: pick(random, [2, 5, 9, 15]),
        options: {},
      });
    });
});
