/** The rule between the engines: by work that is counted, and the same after a snapshot. */

import assert from 'node:assert/strict';
import { type Frame, type Params, type Report, SlidingWindow } from '../../src/index.js';
import { type Random, randomFrom } from '../kit/random.js';

const params: Params = { distance: 'euclidean', cutoff: 4, exponent: 1, switchPenalty: 8 };
const WINDOW = 20;

/** Four truths and four tracks on one spot, or far apart. */
const scene = (random: Random, spread: number): Frame => {
  const objects = (side: string) =>
    Array.from({ length: 4 }, (_, n) => ({ id: `${side}${n}`, point: [spread * n + 2 * random()] }));
  return { reference: objects('t'), tracker: objects('k') };
};

/** Pushes frames; `each` may replace the window. */
function slide(frames: readonly Frame[], each: (window: SlidingWindow) => SlidingWindow = (same) => same): Report[] {
  let window = new SlidingWindow({ ...params, windowFrames: WINDOW });
  const reports = frames.map((frame) => {
    window = each(window);
    return window.push(frame);
  });
  window.dispose();
  return reports;
}

describe('the rule between the engines', () => {
  const random = randomFrom(3);
  const crowd = Array.from({ length: 40 }, () => scene(random, 0));
  const pairs = Array.from({ length: 40 }, () => scene(random, 5.5));

  it('gives to the program what takes the frontier more work', () => {
    const { solver } = slide(crowd).at(-1)!;
    assert.equal(solver.frontier, 0);
    assert.ok(solver.simplex > 0, 'by the program');
  });

  it('leaves to the frontier what takes it less', () => {
    for (const { solver } of slide(pairs)) assert.equal(solver.simplex, 0);
  });

  it('decides as it would have when a window goes on from a snapshot', () => {
    const mixed = [...pairs.slice(0, 20), ...crowd.slice(0, 20)];
    const restored = slide(mixed, (window) => SlidingWindow.fromJSON(window.toJSON()));
    assert.deepEqual(
      restored.map(({ solver }) => solver),
      slide(mixed).map(({ solver }) => solver),
    );
  });
});
