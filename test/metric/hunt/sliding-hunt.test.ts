/**
 * A short hunt for windows that say otherwise than their frames from scratch; the long one is `npm run hunt --
 * presets`.
 */

import assert from 'node:assert/strict';
import { evaluate, SlidingWindow } from '../../../src/index.js';
import { drawn, skipInFastRun } from '../../kit/system/system.js';
import { slideOf, slidesAsFromScratch } from './sliding-hunt.js';

const SCENES = 30;
const WINDOW_MAX = 34;
/** scenes in which the program once had more optima to choose from than it could look through */
const FOUND = [194, 215, 50_029];
/** a scene in which a pair was handed to the program whose neighbours were none any more since the same push */
const PARTED = 602;
/** a scene whose optimum is fractional from this many frames on */
const FRACTIONAL = { seed: 31_620_011, frames: 347 };
/** a window of so many frames that had more optima than the program looked through */
const LONG = { seed: 70_000_158, frames: 386 };

describe('a window under every preset and distance', () => {
  it('says after every push what its frames give from scratch, to the last digit', function () {
    skipInFastRun(this);
    for (let seed = 1; seed <= drawn(SCENES); seed++) slidesAsFromScratch(slideOf(seed, WINDOW_MAX), 'auto');
  });

  it('does so by the program alone', function () {
    skipInFastRun(this);
    for (let seed = 1; seed <= drawn(SCENES); seed++) slidesAsFromScratch(slideOf(seed, WINDOW_MAX), 'lp');
  });

  it('does so where a pair is given up whose neighbours have just left it', () => {
    slidesAsFromScratch(slideOf(PARTED), 'auto');
  });

  it('does so of how far a fractional optimum is above the best assignment', function () {
    skipInFastRun(this);
    const { frames, params, windowFrames } = slideOf(FRACTIONAL.seed);
    const held = frames.slice(0, FRACTIONAL.frames);
    const window = new SlidingWindow({ ...params, windowFrames }, { solver: 'lp' });
    const gaps = held.map((frame) => window.push(frame).gap);
    const { gap } = evaluate(held, params, { solver: 'lp' });
    assert.ok(gap > 0);
    assert.equal(gaps[gaps.length - 1], gap);
  });

  it('does so where a long window ties', function () {
    skipInFastRun(this);
    const { frames, params, windowFrames } = slideOf(LONG.seed);
    const held = frames.slice(0, LONG.frames);
    const window = new SlidingWindow({ ...params, windowFrames });
    const reports = held.map((frame) => window.push(frame));
    assert.deepEqual(reports[reports.length - 1].perFrame, evaluate(held, params).perFrame);
  });

  for (const seed of FOUND)
    it(`does so where ties are everywhere, seed ${seed}`, function () {
      skipInFastRun(this);
      slidesAsFromScratch(slideOf(seed), 'auto');
    });
});
