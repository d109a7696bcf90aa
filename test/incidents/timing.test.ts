import assert from 'node:assert/strict';
import type { SlightLag } from '../../src/incidents/motion.js';
import { lookAt, NEW_TIMING, type Timing } from '../../src/incidents/timing.js';
import { rareErrors } from '../../src/wiring/lag.js';
import { type Random, randomFrom } from '../kit/random.js';

const normal = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** What a few truths say: each is off by an error of its own, so that the estimate of their spread is poor too. */
function lookOf(random: Random, truths: number, spread: number, late: number): SlightLag {
  const own = Array.from({ length: truths }, () => late + spread * normal(random));
  const offset = own.reduce((sum, one) => sum + one) / truths;
  const squares = own.reduce((sum, one) => sum + (one - offset) ** 2, 0);
  const error = Math.sqrt(squares / truths / (truths - 1));
  const lag = { offset, error, tellers: truths, truths, gap: 1 };
  return { offset, lag, fits: () => true, evidence: (frames) => ({ frames }) };
}

/** Looks until the tracks are said to be late; the number of looks when they never are. */
function looksUntilLate(random: Random, timing: Timing, looks: number, truths: number, late: number): number {
  for (let n = 1; n <= looks; n++) if (lookAt(timing, lookOf(random, truths, 0.3, late), 1, true)) return n;
  return looks;
}

describe('tracks that are late by a little', () => {
  for (const truths of [3, 5, 20])
    it(`are not found where nothing is late, in two days of ${truths} objects`, () => {
      assert.equal(looksUntilLate(randomFrom(1), structuredClone(NEW_TIMING), 27_000, truths, 0), 27_000);
    });

  for (const truths of [5, 20])
    it(`are found by and by when it is a single frame, with ${truths} objects`, () => {
      const [random, timing] = [randomFrom(2), structuredClone(NEW_TIMING)];
      looksUntilLate(random, timing, 1000, truths, 0);
      const looks = looksUntilLate(random, timing, 1000, truths, 1);
      assert.ok(looks <= 40, `found after ${looks} looks`);
      // it stays so until it is over
      for (let n = 0; n < 100; n++) assert.equal(lookAt(timing, lookOf(random, truths, 0.3, 1), 1, false), 1);
      const over = Array.from({ length: 40 }, () => lookAt(timing, lookOf(random, truths, 0.3, 0), 1, false));
      assert.equal(over.at(-1), 0);
    });

  it('are doubted where few truths tell of it', () => {
    // Student's quantile at a ten-thousandth: 6.442 for 8, 4.539 for 20 degrees of freedom
    assert.ok(Math.abs(rareErrors(8) - 6.442) < 0.1 && Math.abs(rareErrors(20) - 4.539) < 0.05);
    assert.equal(rareErrors(0), Number.POSITIVE_INFINITY);
  });
});
