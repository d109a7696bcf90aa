/** Numbers in few bytes: what comes out is what went in, and what has too many decimals is seen to have. */

import assert from 'node:assert/strict';
import { SlidingWindow } from '../../../src/metric/sliding-window.js';
import { DecimalReader, NumberDraft } from '../../../src/metric/window/decimals.js';
import type { FrameView } from '../../../src/metric/window/frame-view.js';
import { randomFrom } from '../../kit/random.js';

describe('decimals', () => {
  const draft = new NumberDraft();
  const isPut = (list: number[], stride = 1) => {
    draft.clear();
    return draft.pushDecimals(list, list.length, stride);
  };

  it('come out as they went in, to the last digit', () => {
    const next = randomFrom(7);
    const decimal = (digits: number) => Number(((next() - 0.5) * 10 ** Math.floor(next() * 5)).toFixed(digits)) || 1;
    const check = (lists: number[][], stride: number) => {
      draft.clear();
      draft.push(0.25);
      for (const list of lists) assert.ok(draft.pushDecimals(list, list.length, stride), `${list}`);
      const numbers = draft.take();
      assert.equal(numbers[0], 0.25);
      const reader = new DecimalReader(numbers, 1);
      for (const list of lists) assert.deepEqual(reader.decimals(list.length, stride), list);
    };
    for (let n = 0; n < 5000; n++) {
      const stride = 1 + (n % 4);
      const list = () => Array.from({ length: stride * Math.floor(next() * 6) }, () => decimal(n % 8));
      check([list(), list()], stride);
    }
    check([[2 ** 45 - 1, 1 - 2 ** 45], [0, 2 ** 24 - 1, 2 ** 24], [-0.001, 0.001], [7], []], 1);
    check([Array.from({ length: 10_000 }, (_, n) => n / 100)], 4);
  });

  it('are not more than seven, not of great numbers, and not -0', () => {
    for (const value of [0.12345678, 1 / 3, 2 ** 45, -(2 ** 45), -0, 1e300, 0.1 + 0.2])
      for (const list of [[value], [1, value], [value, 1], [0.25, 1000, value]]) assert.ok(!isPut(list), `${list}`);
    assert.ok(isPut([0.1234567, 1000]));
  });

  it('are kept by a window as others are', () => {
    const next = randomFrom(11);
    const decimals = (digits: number) => {
      const window = new SlidingWindow({
        windowFrames: 8,
        cutoff: 30,
        exponent: 2,
        switchPenalty: 10,
        distance: 'euclidean',
      });
      const frames = Array.from({ length: 20 }, (_, k) => {
        const feed = (prefix: string) =>
          Array.from({ length: (k * 7) % 5 }, (__, n) => ({
            id: `${prefix}${n}`,
            // an odd number of coordinates
            point: [0, 1, 2].map(() => Number((100 * next() - 50).toFixed(digits)) || 1),
          }));
        return { reference: feed('r'), tracker: feed('t') };
      });
      for (const frame of frames) window.push(frame);
      const kept = window.toJSON().frames.map(({ reference, tracker }) => [reference[1], tracker[1]]);
      const sent = frames
        .slice(-8)
        .map((frame) => [frame.reference, frame.tracker].map((feed) => feed.flatMap(({ point }) => point)));
      assert.deepEqual(kept, sent);
      const views = window.frames();
      // what has left the window since is read as it was, and told as JSON like any list
      for (let n = 0; n < 8; n++) window.push(frames[n]);
      const told = JSON.parse(JSON.stringify(views));
      for (const read of [views, told])
        assert.deepEqual(
          read.map(({ reference, tracker }: FrameView) => [reference.coordinates, tracker.coordinates]),
          sent,
        );
      assert.deepEqual(Object.keys(told[0].reference), ['ids', 'coordinates', 'kinds', 'alone']);
    };
    for (const digits of [0, 2, 7, 12]) decimals(digits);
  });
});
