/** Long windows: sums that are exact however they came about, and pushes that do not walk through the window. */

import assert from 'node:assert/strict';
import { evaluate, presets, SlidingWindow } from '../../src/index.js';
import { packFrame } from '../../src/metric/frame.js';
import { solveWindow } from '../../src/metric/refinement.js';
import { solveSettings } from '../../src/metric/solve-options.js';
import { Solver } from '../../src/metric/solver.js';
import { Budget } from '../../src/metric/window/budget.js';
import { ExactSum } from '../../src/metric/window/exact-sum.js';
import { calm } from '../bench/kernel/scenes.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

describe('an exact sum', () => {
  it('is the nearest number to what was added and not taken away, in any order', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = randomFrom(seed);
      // whole multiples of 2^-60, of very different sizes
      const numbers = Array.from(
        { length: 20 },
        () => Math.round(random() * 2 ** 52) * 2 ** -Math.floor(8 + 52 * random()),
      );
      const sum = new ExactSum();
      for (const number of numbers) sum.add(number);
      for (const number of numbers.slice(0, 10)) sum.add(-number);
      const exact = numbers.slice(10).reduce((all, number) => all + BigInt(number * 2 ** 60), 0n);
      assert.equal(sum.value, Number(exact) / 2 ** 60, `seed ${seed}`);
      for (const number of numbers.slice(10).reverse()) sum.add(-number);
      assert.equal(sum.value, 0, `seed ${seed}`);
    }
  });
});

describe('a long window', () => {
  const frames = calm(700);
  const params = presets['online-surveillance'];

  it('is read without a look at all of its frames', () => {
    const looks = [20, 600].map((windowFrames) => {
      const solver = new Solver(params, solveSettings({}), windowFrames);
      const { contents } = solver;
      let count = 0;
      const { frame: look, frameList: list } = contents;
      contents.frame = (number) => {
        count++;
        return look.call(contents, number);
      };
      contents.frameList = () => {
        count += contents.size;
        return list.call(contents);
      };
      for (const frame of frames) {
        if (contents.size === windowFrames) solver.dropOldest();
        solver.append(packFrame(frame, params.distance, 0, 'frame'));
        count = 0;
        solveWindow(solver, new Budget(Number.POSITIVE_INFINITY));
      }
      return count;
    });
    assert.equal(looks[1], looks[0]);
  });

  it('says what its frames give from scratch, also when it is read late', function () {
    skipInFastRun(this);
    const few = frames
      .slice(0, 560)
      .map(({ reference, tracker }) => ({ reference: reference.slice(0, 2), tracker: tracker.slice(0, 2) }));
    const window = new SlidingWindow({ ...params, windowFrames: 520 });
    const reports = few.map((frame) => window.push(frame));
    const whole = evaluate(few.slice(-521, -1), params);
    const { cost, count, exact, perFrame } = reports.at(-2)!;
    assert.deepEqual([cost, count, exact, perFrame], [whole.cost, whole.count, true, whole.perFrame]);
    window.dispose();
  });
});
