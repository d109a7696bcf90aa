/** Two short numbers in one: what comes out is what went in, and what is not short is seen to be so. */

import assert from 'node:assert/strict';
import { SlidingWindow } from '../../../src/metric/sliding-window.js';
import type { FrameView } from '../../../src/metric/window/frame-view.js';
import { firstOf, joined, secondOf } from '../../../src/metric/window/short-numbers.js';
import { randomFrom } from '../../kit/random.js';

describe('short numbers', () => {
  it('come out as they went in, to the last digit', () => {
    const next = randomFrom(7);
    const check = (first: number, second: number) => {
      const both = joined(first, second);
      assert.deepEqual([firstOf(both), secondOf(both)], [first, second]);
    };
    const value = (digits: number) => Number(((next() - 0.5) * 10 ** Math.floor(next() * 5)).toFixed(digits)) || 1;
    for (let n = 0; n < 50_000; n++) check(value(n % 4), value((n >> 2) % 4));
    check(33554.431, -33554.432);
    check(-33554.432, 33554.431);
    check(-0.001, 0.001);
  });

  it('are not more than three decimals, not beyond their range, and not -0', () => {
    for (const value of [0.1234, 1 / 3, 33554.432, -33554.433, -0, 1e300, 0.1 + 0.2])
      for (const both of [joined(1, value), joined(value, 1)]) assert.ok(Number.isNaN(both), `${value}`);
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
    decimals(2);
    decimals(12);
  });
});
