/** Engines against each other on scenes that once told them apart. Each case is the smallest that did. */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Params, SlidingWindow, type SolveOptions } from '../../src/index.js';
import { close, verify } from './verifier.js';

const at = (id: string, ...point: number[]) => ({ id, point });

const empty: Frame = { reference: [], tracker: [] };

/** After every push the window's cost is that of its frames, solved from scratch by another engine. */
function sameAsFromScratch(frames: Frame[], params: Params, windowFrames: number, options: SolveOptions): void {
  const window = new SlidingWindow({ ...params, windowFrames }, options);
  frames.forEach((frame, k) => {
    const report = window.push(frame);
    const held = frames.slice(Math.max(0, k + 1 - windowFrames), k + 1);
    verify(report, held, params, `push ${k}`);
    close(report.cost.total, evaluate(held, params, { frontierMax: 0 }).cost.total, 1e-9, `push ${k}`);
  });
  window.dispose();
}

describe('the engines on cases that once told them apart', () => {
  it('hand a knot that is too large over to a component in a finished sequence', () => {
    const params: Params = { distance: 'euclidean', cutoff: 1, exponent: 1, switchPenalty: 1 };
    const frames: Frame[] = [{ reference: [at('t0', 0), at('t1', 0.5)], tracker: [at('k0', 0), at('k1', 0.5)] }];
    const evaluation = evaluate(frames, params, { frontierMax: 2 });
    verify(evaluation, frames, params, 'frontierMax 2');
    assert.equal(evaluation.cost.total, 0);
  });

  it('leave alone what the frontier already has when a component comes back to it', () => {
    const params: Params = { distance: 'euclidean', cutoff: 4, exponent: 1, switchPenalty: 2.4 };
    const frames: Frame[] = [
      { reference: [at('t6', 2, 6), at('t4', 2, 3)], tracker: [at('k1', 2, 6), at('k6', 2, 3)] },
      empty,
      { reference: [at('t0', 8, 1)], tracker: [at('k1', 8, 1)] },
      empty,
      { reference: [at('t2', 2, 16)], tracker: [at('k4', 2, 16)] },
      { reference: [at('t2', 4, 14)], tracker: [at('k0', 4, 14)] },
      { reference: [at('t2', 5, 13)], tracker: [at('k0', 4, 14)] },
      { reference: [at('t0', 1, 11)], tracker: [at('k4', 1, 12)] },
    ];
    sameAsFromScratch(frames, params, 7, { frontierMax: 4 });
  });
});
