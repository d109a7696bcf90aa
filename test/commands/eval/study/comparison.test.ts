/** TGOSPA beside the other scores: places, and sentences where they disagree. */

import assert from 'node:assert/strict';
import { type Compared, disagreements, placesOf } from '../../../../src/commands/eval/study/comparison.js';
import { scoreFrames } from '../../../../src/scores/score-window.js';
import type { Scores } from '../../../../src/scores/totals.js';

describe('TGOSPA beside the other scores', () => {
  const NOTHING = scoreFrames([]);
  const compared = (name: string, cost: [number, number, number, number], scores: Partial<Scores>): Compared => {
    const [localization, missed, falses, change] = cost;
    const total = localization + missed + falses + change;
    return {
      name,
      evaluation: { distance: total, cost: { localization, missed, false: falses, switch: change, total } },
      scores: { ...NOTHING, ...scores },
    };
  };

  it('gives equal values one place', () => {
    assert.deepEqual(placesOf([3, 1, 3, 2], 'high'), [1, 4, 1, 3]);
    assert.deepEqual(placesOf([3, 1, 3, 2], 'low'), [3, 1, 3, 2]);
  });

  it('says where they disagree, and what TGOSPA sees there', () => {
    const list = [
      compared('calm', [5, 3, 0, 0], { HOTA: 0.6, MOTA: 0.7, IDF1: 0.5 }),
      compared('wild', [4, 2, 1, 6], { HOTA: 0.65, MOTA: 0.6, IDF1: 0.55 }),
    ];
    assert.deepEqual(disagreements(list, 'p'), [
      'HOTA and IDF1 put wild before calm (0.650 to 0.600, 0.550 to 0.500); TGOSPA (p) puts calm first (8 to 13): ' +
        'it pays less for switch (0 to 6) and false (0 to 1), although it pays more for localization (5 to 4) and missed (3 to 2).',
    ]);
  });

  it('says when they agree, and nothing about a single tracker', () => {
    const best = compared('best', [1, 0, 0, 0], { HOTA: 0.9, MOTA: 0.9, IDF1: 0.9 });
    const worst = compared('worst', [2, 0, 0, 0], { HOTA: 0.8, MOTA: 0.8, IDF1: 0.8 });
    assert.deepEqual(disagreements([worst, best], 'p'), [
      'TGOSPA (p), HOTA, MOTA and IDF1 agree on the order of the trackers.',
    ]);
    assert.deepEqual(disagreements([best], 'p'), []);
  });
});
