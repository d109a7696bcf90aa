/**
 * The same frames give the same report, whatever was solved before: also where exact ties meet a change of engine. The
 * seeds are scenes on which sliding and solving from scratch once split the same total differently; `hunt.ts` looks for
 * more.
 */

import assert from 'node:assert/strict';
import { evaluate, SlidingWindow } from '../../src/index.js';
import { close } from '../kit/metric/verifier.js';
import { skipInFastRun } from '../kit/system/system.js';
import { quarry, slidesLikeBatch } from './hunt/hunt.js';

const FOUND = [16, 22, 81, 91, 143, 147, 149, 160, 170];
/** Scenes in which there were more optima than the program looked through. */
const FOUND_CROWDED = [161_524, 32_041_703];
/** Scenes with windows in which the linear program alone had more switches than it needed. */
const FOUND_WITH_LP = [6, 7, 11, 13, 16, 20, 22, 28];

describe('ties', () => {
  for (const seed of [...FOUND, ...FOUND_CROWDED]) {
    it(`are decided from scratch as they were while sliding, seed ${seed}`, () => {
      slidesLikeBatch(quarry(seed));
    });
  }

  it('are won by the fewest switches with simplex alone, sliding and from scratch', function () {
    skipInFastRun(this);
    for (const seed of FOUND_WITH_LP) {
      const { frames, params, windowFrames } = quarry(seed);
      const window = new SlidingWindow({ ...params, windowFrames }, { solver: 'lp' });
      frames.forEach((frame, k) => {
        const place = `seed ${seed}, push ${k}`;
        const report = window.push(frame);
        const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
        const scratch = evaluate(held, params, { solver: 'lp' });
        const other = evaluate(held, params);
        for (const { cost, count } of [report, scratch]) {
          close(cost.total, other.cost.total, 1e-9, place);
          assert.equal(count.switches, other.count.switches, `${place}: switches`);
        }
      });
      window.dispose();
    }
  });
});
