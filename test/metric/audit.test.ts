/** The audit finds what is wrong, and nothing else: opinions that are exact, cut or fractional. */

import assert from 'node:assert/strict';
import { type Evaluation, evaluate, type Frame, type Params } from '../../src/index.js';
import { auditWindow } from '../../src/metric/audit.js';

const params: Params = { distance: 'euclidean', cutoff: 1, exponent: 1, switchPenalty: 1 };
const empty: Evaluation = evaluate([] as Frame[], params);

const exact = (total: number): Evaluation => ({
  ...empty,
  cost: { ...empty.cost, total },
  exact: true,
  lowerBound: total,
});
/** the time was up: an assignment of cost `total` */
const cut = (total: number, lowerBound: number): Evaluation => ({
  ...exact(total),
  exact: false,
  lowerBound,
  gap: (total - lowerBound) / total,
});
/** the LP metric, and the best assignment known beside it */
const fractional = (value: number, known: number): Evaluation => ({
  ...exact(value),
  exact: false,
  gap: (known - value) / known,
});

/** Relative difference found, 0 when the opinions agree. */
function differenceOf(claim: Evaluation, other: Evaluation, solver: 'auto' | 'lp' = 'auto'): number {
  const audit = { checked: 0, disagreements: 0, worstDifference: 0 };
  let asked: string | undefined;
  auditWindow(audit, claim, [], params, { solver }, (_frames, _params, options) => {
    asked = options.solver;
    return other;
  });
  assert.equal(asked, solver === 'lp' ? 'auto' : 'lp');
  assert.deepEqual([audit.checked, audit.disagreements], [1, audit.worstDifference > 1e-9 ? 1 : 0]);
  return audit.worstDifference;
}

describe('an audit', () => {
  it('finds exact opinions that differ, whichever is the larger', () => {
    assert.equal(differenceOf(exact(8), exact(8)), 0);
    assert.equal(differenceOf(exact(8), exact(10)), 0.2);
    assert.equal(differenceOf(exact(10), exact(8), 'lp'), 0.2);
    assert.equal(differenceOf(exact(0), exact(0)), 0);
  });

  it('lets the exact metric lie above a fractional optimum, up to the assignment known there', () => {
    assert.equal(differenceOf(exact(8.5), fractional(8, 9)), 0);
    assert.equal(differenceOf(fractional(8, 9), exact(8.5), 'lp'), 0);
    assert.ok(differenceOf(exact(7), fractional(8, 9)) > 0.1);
    assert.ok(differenceOf(exact(10), fractional(8, 9)) > 0.09);
    assert.ok(differenceOf(fractional(8, 9), exact(7), 'lp') > 0.1);
  });

  it('finds bounds of a cut solve that leave the optimum out, below and above', () => {
    assert.equal(differenceOf(cut(10, 6), exact(8)), 0);
    assert.equal(differenceOf(cut(10, 0), exact(8)), 0);
    assert.equal(differenceOf(cut(10, 9), exact(8)), 0.1);
    assert.equal(differenceOf(cut(8, 6), exact(10)), 0.2);
  });
});
