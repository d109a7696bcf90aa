/**
 * A short hunt at the edges of what parameters may be; the long one is the command of `exactness-hunt.ts`. Seeds that
 * were found once are looked at again.
 */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Params } from '../../../src/index.js';
import { drawn } from '../../kit/system/system.js';
import { edgeOf, huntEdges, isTrueAtEdge } from './exactness-hunt.js';

const SOLVERS = ['auto', 'lp'] as const;

describe('at the edges of what parameters may be', () => {
  it('nothing is called exact that is not, and a window says what its frames give from scratch', () => {
    const untrue: string[] = [];
    const last = 1 + drawn(160);
    const { judged } = huntEdges(
      1,
      (seed) => seed < last,
      (message) => untrue.push(message),
    );
    assert.deepEqual(untrue, []);
    assert.ok(judged > last, `only ${judged} reports were judged`);
  });

  // costs of their own that are lost beside c^p, per-frame matchings among them; ties under time weights
  for (const seed of [213, 972, 1391, 73, 326, 677, 1030, 33_064_529])
    it(`seed ${seed} is told the truth about`, () => {
      isTrueAtEdge(edgeOf(seed));
    });

  it('a pair earns what its ends cost alone, be it next to nothing', () => {
    const params: Params = { distance: 'euclidean', cutoff: 40, exponent: 20, switchPenalty: 42 };
    const frame: Frame = {
      reference: [{ id: 'a', point: [0], alone: 4 }],
      tracker: [{ id: 'A', point: [0], alone: 4 }],
    };
    for (const solver of SOLVERS)
      for (const switchPenalty of [0, 42]) {
        const { cost, count, exact } = evaluate([frame, frame], { ...params, switchPenalty }, { solver });
        assert.deepEqual([cost.total, count.proper, exact], [0, 2, true], `${solver}, penalty ${switchPenalty}`);
      }
  });
});
