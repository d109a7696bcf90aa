/** Prices prove optima and nothing else. */

import assert from 'node:assert/strict';
import { PriceProof } from '../../../src/metric/program/price-proof.js';
import { type LpProblem, loadSimplexSync, weightsValue } from '../../../src/metric/program/simplex.js';
import { Budget } from '../../../src/metric/window/budget.js';
import { randomFrom } from '../../kit/random.js';

const UNIT = 2 ** 36;

/** Two truths, two tracks, all four pairs; benefits of eighths, so that ties happen. */
function randomProblem(random: () => number): LpProblem {
  const frameCount = 1 + Math.floor(random() * 6);
  return {
    frameCount,
    truthCount: 2,
    trackCount: 2,
    edgeTruth: Int32Array.of(0, 0, 1, 1),
    edgeTrack: Int32Array.of(0, 1, 0, 1),
    benefit: Float64Array.from({ length: frameCount * 4 }, () => (random() < 0.3 ? 0 : Math.ceil(random() * 8) / 8)),
    switchCost: new Float64Array(frameCount).fill(Math.ceil(random() * 6) / 16),
  };
}

/** A proof of `partner`, with prices that are whatever `price` says but for those of new rows. */
function proves(problem: LpProblem, partner: Int32Array, price: () => number, firstNew: number): boolean {
  const prices = Float64Array.from({ length: 4 * problem.frameCount }, price).fill(Number.NaN, 4 * firstNew);
  const proof = new PriceProof(problem);
  return proof.proves(
    {
      firstRow: 0,
      layerCount: problem.frameCount,
      benefit: problem.benefit.map((b) => b * UNIT),
      partner,
      price: prices,
      changeCost: problem.switchCost.map((cost) => cost * UNIT),
    },
    new Budget(Number.POSITIVE_INFINITY),
    1,
  );
}

const weightsOf = ({ frameCount, edgeTruth }: LpProblem, partner: Int32Array) =>
  Float64Array.from({ length: frameCount * 4 }, (_, at) =>
    partner[Math.floor(at / 4) * 2 + edgeTruth[at % 4]] === at % 4 ? 1 : 0,
  );

describe('a proof by prices', () => {
  const simplex = loadSimplexSync();
  const matchings = [
    [-1, -1],
    [0, -1],
    [1, -1],
    [-1, 2],
    [-1, 3],
    [0, 3],
    [1, 2],
  ];

  it('is never given for less than the optimum, whatever the prices are', () => {
    const random = randomFrom(5);
    let given = 0;
    for (let n = 0; n < 600; n++) {
      const problem = randomProblem(random);
      const stay = matchings[Math.floor(random() * 7)];
      const rows = new Int32Array(problem.frameCount * 2);
      for (let k = 0; k < problem.frameCount; k++)
        rows.set(random() < 0.85 ? stay : matchings[Math.floor(random() * 7)], k * 2);
      if (!proves(problem, rows, () => random() * UNIT, Math.floor(random() * problem.frameCount))) continue;
      given++;
      const optimum = simplex.solveCold(problem).value;
      const value = weightsValue(problem, weightsOf(problem, rows));
      assert.ok(Math.abs(optimum - value) <= 1e-9, `problem ${n}: ${value} proven, ${optimum} possible`);
    }
    assert.ok(given > 30, `${given} proofs`);
  });

  it('is given for one pair that goes on beside weaker rivals', () => {
    const problem = { ...randomProblem(randomFrom(1)), frameCount: 5, switchCost: new Float64Array(5).fill(0.25) };
    problem.benefit = Float64Array.from({ length: 20 }, (_, at) => [1, 0.5, 0.25, 0.875][at % 4]);
    const rows = Int32Array.from({ length: 10 }, (_, at) => [0, 3][at % 2]);
    assert.ok(
      proves(problem, rows, () => 0, 0),
      'nothing to gain by changing',
    );
    assert.ok(
      !proves(
        problem,
        rows.map((e) => (e === 0 ? 1 : 2)),
        () => 0,
        0,
      ),
      'the weaker exchange',
    );
  });
});
