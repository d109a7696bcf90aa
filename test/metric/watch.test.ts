/** Where switches are dear the frontier looks ahead: what it decided by that is made again in time, and not all of it each time. */

import assert from 'node:assert/strict';
import { evaluate, presets, SlidingWindow } from '../../src/index.js';
import { Frontier } from '../../src/metric/frontier/frontier.js';
import { crowd } from '../bench/crowd.js';
import { skipInFastRun } from '../kit/system.js';

const longTerm = presets['offline-scene-understanding'];

describe('what was decided by looking ahead', () => {
  for (const [objects, windowFrames, factor, seed] of [
    [3, 7, 0.6, 1001],
    [3, 20, 1.5, 1002],
    [5, 20, 1, 2003],
    [5, 45, 0.6, 2004],
    [9, 20, 1.5, 3005],
    [9, 45, 1, 3006],
    [20, 12, 1, 4007],
  ]) {
    it(`comes out as from scratch: ${objects} objects, window ${windowFrames}, switch penalty × ${factor}`, () => {
      const params = { ...longTerm, switchPenalty: longTerm.switchPenalty * factor };
      const frames = crowd(objects, windowFrames + 60, seed);
      const window = new SlidingWindow({ ...params, windowFrames });
      frames.forEach((frame, k) => {
        const report = window.push(frame);
        if (k % 3 !== 0) return;
        const batch = evaluate(frames.slice(Math.max(0, k + 1 - windowFrames), k + 1), params);
        assert.deepEqual(report.cost, batch.cost, `push ${k}`);
        assert.deepEqual(report.perFrame, batch.perFrame, `push ${k}`);
      });
      window.dispose();
    });
  }

  it('is made again where a new frame may overthrow it, not in the whole window', function () {
    skipInFastRun(this);
    // how many frames are worked again for a push does not grow with the window
    const workedPerPush = (windowFrames: number) => {
      const frames = crowd(12, windowFrames + 60, 5);
      const window = new SlidingWindow({ ...longTerm, windowFrames });
      const prototype = Frontier.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
      const { reworkFrame, enter } = prototype;
      let worked = 0;
      prototype.reworkFrame = function (...args) {
        worked++;
        return reworkFrame.apply(this, args);
      };
      prototype.enter = function (...args) {
        worked++;
        return enter.apply(this, args);
      };
      try {
        frames.forEach((frame, k) => {
          if (k === windowFrames) worked = 0;
          window.push(frame);
        });
      } finally {
        Object.assign(prototype, { reworkFrame, enter });
        window.dispose();
      }
      return worked / 60;
    };
    const long = workedPerPush(400);
    assert.ok(long > 1 && long < 120, `${long} frames per push of a window of 400`);
  });
});
