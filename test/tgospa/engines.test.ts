/** Engines against each other on scenes that once told them apart. Each case is the smallest that did. */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Params } from '../../src/index.js';
import { verify } from './verifier.js';

const at = (id: string, ...point: number[]) => ({ id, point });

describe('the engines on cases that once told them apart', () => {
  it('hand a knot that is too large over to a component in a finished sequence', () => {
    const params: Params = { distance: 'euclidean', cutoff: 1, exponent: 1, switchPenalty: 1 };
    const frames: Frame[] = [{ reference: [at('t0', 0), at('t1', 0.5)], tracker: [at('k0', 0), at('k1', 0.5)] }];
    const evaluation = evaluate(frames, params, { frontierMax: 2 });
    verify(evaluation, frames, params, 'frontierMax 2');
    assert.equal(evaluation.cost.total, 0);
  });
});
