/** Engines against each other on scenes that once told them apart. Each case is the smallest that did. */

import assert from 'node:assert/strict';
import { type Box, evaluate, type Frame, type Params, SlidingWindow, type SolveOptions } from '../../src/index.js';
import { close, verify } from '../kit/metric/verifier.js';

const at = (id: string, ...point: number[]) => ({ id, point });

const boxAt = (id: string, ...box: Box) => ({ id, box });
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

  it('let a part that passed through frames untouched stem from the group that made it', () => {
    const params: Params = { distance: 'wasserstein', cutoff: 4, exponent: 1, switchPenalty: 2.4 };
    const frames: Frame[] = [
      { reference: [boxAt('t4', 1, 0, 2, 3)], tracker: [boxAt('k3', 1, 0, 2, 3)] },
      { reference: [boxAt('t3', 0, 2, 1, 2)], tracker: [boxAt('k2', 0, 2, 1, 2)] },
      ...[empty, empty, empty, empty],
      { reference: [boxAt('t0', 2, 2, 2, 3)], tracker: [boxAt('c33', 2, 2, 1, 2)] },
      empty,
      {
        reference: [boxAt('t4', 1, 2, 1, 2), boxAt('t3', 0.9, -0.3, 1.7, 2.7)],
        tracker: [boxAt('k4', 2, 2, 1, 2), boxAt('k3', 0.9, -0.3, 2, 2.7)],
      },
      {
        reference: [boxAt('t4', 1, 2, 1, 2), boxAt('t3', 1, 0, 2, 3)],
        tracker: [boxAt('k4', 1, 2, 1, 2), boxAt('k6', 0.6, 0.1, 1.6, 2.7)],
      },
      {
        reference: [boxAt('t3', 0.3, 0.5, 1.7, 2.7), boxAt('t0', 1.1, 1.5, 1.4, 2.4)],
        tracker: [boxAt('k6', 0.3, 0.5, 1.5, 2.7), boxAt('k1', 1.1, 1.5, 1.2, 2.4)],
      },
      { reference: [boxAt('t4', 3, 2, 2, 3)], tracker: [boxAt('k5', 3, 2, 2, 3)] },
      { reference: [boxAt('t4', 3, 2, 2, 3)], tracker: [boxAt('k5', 3, 2, 2, 3)] },
      { reference: [boxAt('t1', 0, 2, 2, 3)], tracker: [boxAt('k1', 0, 2, 2, 3)] },
      ...new Array<Frame>(12).fill(empty),
    ];
    sameAsFromScratch(frames, params, 24, {});
  });
});
