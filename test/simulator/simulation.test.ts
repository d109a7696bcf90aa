/**
 * Some tens of seeds of the simulation, and what it has found so far as scripts of their own, so that they mean the
 * same whatever seeds come to mean. Many more seeds: `npm run simulate`.
 */
import assert from 'node:assert/strict';
import { seedsTo, skipInFastRun, someOf } from '../kit/system/system.js';
import { type Plan, planOf } from './plan.js';
import { playPlan, simulate } from './run.js';

/** Run once, however many tests ask for it. */
const simulated = new Map<number, ReturnType<typeof simulate>>();
const simulateOnce = (seed: number) => {
  const known = simulated.get(seed) ?? simulate(seed);
  simulated.set(seed, known);
  return known;
};

/** A plan with interruptions of its own, in the scene of a seed. */
const scripted = (seed: number, kind: Plan['kind'], faults: Plan['faults']): Plan => ({
  ...planOf(seed, kind),
  hiccups: { share: 0, mostMs: 0 },
  faults,
});

describe('simulation', () => {
  for (const seed of seedsTo(10, 1))
    it(`ends as if nothing had happened, seed ${seed}`, async () => {
      const { violations, story } = await simulateOnce(seed);
      assert.deepEqual(violations, [], story.join('\n'));
    });

  it('gives the same run for the same seed, event by event', async function () {
    skipInFastRun(this);
    const [first, second, other] = [await simulateOnce(2), await simulate(2), await simulateOnce(3)];
    assert.equal(first.digest, second.digest);
    assert.notEqual(first.digest, other.digest);
  });

  for (const seed of someOf([1, 2]))
    it(`acks a commit that was in doubt and turned out to be stored, seed ${seed}`, async function () {
      skipInFastRun(this);
      const failing = { kind: 'disk' as const, fault: 'failing' as const, forMs: 300 };
      const plan = scripted(seed, 'usual', [
        { atMs: 300, ...failing },
        { atMs: 1000, ...failing },
      ]);
      const { violations } = await playPlan(plan);
      assert.deepEqual(violations, []);
    });

  for (const seed of someOf([20, 61]))
    it(`waits for a feed that was cut while the disk took nothing, seed ${seed}`, async function () {
      skipInFastRun(this);
      const feed = 1;
      const plan = scripted(seed, 'usual', [
        { atMs: 1000, kind: 'disk', fault: 'full', forMs: 1600 },
        { atMs: 2000, kind: 'cut', feed, clientHearsMs: 10, serverHearsMs: 200, deadMs: 4200 },
      ]);
      const { violations } = await playPlan(plan);
      assert.deepEqual(violations, []);
    });

  for (const seed of someOf([2, 9, 29]))
    it(`notices that it stood still before it hears of a cut, seed ${seed}`, async function () {
      skipInFastRun(this);
      const plan = scripted(seed, 'usual', [
        { atMs: 500, kind: 'cut', feed: 1, clientHearsMs: 40, serverHearsMs: 60, deadMs: 1300 },
        { atMs: 530, kind: 'suspend', feed: null, forMs: 6500 },
      ]);
      const { violations } = await playPlan(plan);
      assert.deepEqual(violations, []);
    });
});
