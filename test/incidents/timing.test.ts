import assert from 'node:assert/strict';
import { incidentsIn, SpikeDetector } from '../../src/incidents/detector.js';
import type { SlightLag } from '../../src/incidents/motion.js';
import { keepsPace, lookAt, NEW_TIMING, type Timing, type TimingRules } from '../../src/incidents/timing.js';
import { SPIKE_DEFAULTS } from '../../src/spikes/settings.js';
import { Places } from '../bench/spike-places.js';
import { Traffic } from '../bench/spike-scene.js';
import { type Random, randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

const normal = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** What a few truths say: each is off by an error of its own, so that the estimate of their spread is poor too. */
function lookOf(random: Random, truths: number, spread: number, late: number): SlightLag {
  const own = Array.from({ length: truths }, () => late + spread * normal(random));
  const offset = own.reduce((sum, one) => sum + one) / truths;
  const squares = own.reduce((sum, one) => sum + (one - offset) ** 2, 0);
  const error = Math.sqrt(squares / truths / (truths - 1));
  const lag = { offset, error, tellers: truths, truths, gap: 1 };
  return { offset, lag, evidence: (frames) => ({ frames }) };
}

const RULES: TimingRules = { lateFrames: 1, evidence: Math.log(SPIKE_DEFAULTS.falseAlarmSeconds) };

/** Looks until the tracks are said to be late; the number of looks when they never are. */
function looksUntilLate(random: Random, timing: Timing, looks: number, truths: number, late: number, spread = 0.6) {
  for (let n = 1; n <= looks; n++) if (lookAt(timing, lookOf(random, truths, spread, late), RULES, true)) return n;
  return looks;
}

describe('tracks that are late by a little', () => {
  for (const truths of [3, 5, 20])
    it(`are not found where nothing is late, in four days of ${truths} objects`, () => {
      assert.equal(looksUntilLate(randomFrom(1), structuredClone(NEW_TIMING), 54_000, truths, 0), 54_000);
    });

  it('are not found where objects lie off in look after look', () => {
    const [random, timing] = [randomFrom(4), structuredClone(NEW_TIMING)];
    for (let n = 0, off = 0; n < 54_000; n++) {
      off = 0.8 * off + 0.15 * normal(random);
      assert.equal(lookAt(timing, lookOf(random, 5, 0.3, off), RULES, true), 0, `look ${n}`);
    }
  });

  it('are not found in the first minutes of five objects, each of which lies off for seconds', () => {
    const called = Array.from({ length: 40 }, (_, n) => 4300 + n).filter((seed) => {
      const [traffic, places] = [new Traffic({ seed, objects: 5 }), new Places(seed)];
      const detector = new SpikeDetector({}, { distance: 'euclidean', exponent: 1, cutoff: 0.5 });
      for (let k = 1; k <= 3000; k++) {
        const glance = traffic.glance();
        places.add(glance, 0.1);
        detector.update({ glance: () => glance, frames: () => places.frames() }, { k, t: traffic.seconds });
        if (detector.knows('timing')) return true;
      }
      return false;
    });
    assert.ok(called.length <= 1, `called late: seeds ${called}`);
  });

  for (const truths of [3, 5, 20])
    it(`are found by and by when it is a single frame, once and until it is over, with ${truths} objects`, () => {
      const [random, timing] = [randomFrom(2), structuredClone(NEW_TIMING)];
      looksUntilLate(random, timing, 1000, truths, 0);
      const looks = looksUntilLate(random, timing, 1000, truths, 1);
      assert.ok(looks <= 30, `found after ${looks} looks`);
      // in two days not one look says otherwise
      for (let n = 0; n < 27_000; n++) assert.equal(lookAt(timing, lookOf(random, truths, 0.6, 1), RULES, false), 1);
      const over = Array.from({ length: 30 }, () => lookAt(timing, lookOf(random, truths, 0.6, 0), RULES, false));
      assert.deepEqual([over[0], over.at(-1)], [1, 0]);
    });

  it('are found in a young series after a few looks, and by how much', () => {
    const [random, timing] = [randomFrom(3), structuredClone(NEW_TIMING)];
    looksUntilLate(random, timing, 8, 8, 0.2, 0.3);
    const looks = looksUntilLate(random, timing, 100, 8, -1.8, 0.3);
    assert.ok(looks <= 5, `found after ${looks} looks`);
    assert.equal(timing.late, -2);
  });

  for (const [late, most] of [
    [2, 12],
    [1, 40],
  ])
    it(`are found by ${late} where four looks tell what is usual, with three objects`, () => {
      for (let seed = 1; seed <= 8; seed++) {
        const [random, timing] = [randomFrom(seed), structuredClone(NEW_TIMING)];
        looksUntilLate(random, timing, 4, 3, 0, 0.3);
        const looks = looksUntilLate(random, timing, 200, 3, late, 0.3);
        assert.ok(looks <= most, `found after ${looks} looks, seed ${seed}`);
        assert.equal(timing.late, late, `seed ${seed}`);
      }
    });

  it('are told once when they come and go all day, and again when they come to stay', () => {
    for (const [times, told] of [
      [20, [1, 1]],
      [1, [1, 2]],
    ] as const) {
      const [random, timing] = [randomFrom(7), structuredClone(NEW_TIMING)];
      let count = 0;
      const play = (looks: number, late: number) => {
        for (let n = 0; n < looks; n++) {
          const before = timing.late;
          if (lookAt(timing, lookOf(random, 20, 0.6, late), RULES, true) && before === 0) count++;
        }
        return count;
      };
      play(100, 0);
      for (let n = 0; n < times; n++) {
        play(20, 2);
        play(40, 0);
      }
      assert.deepEqual([count, play(200, 2)], told, `${times} times`);
    }
  });

  it('are as late in seconds at another pace, and no look is taken on the way there', () => {
    const timing = { ...structuredClone(NEW_TIMING), variance: 0.3, blockVariance: 0.6, usual: 0.4, known: 300 };
    let t = 1000;
    const look = (seconds: number) => {
      timing.frames = 40;
      t += 40 * seconds;
      return keepsPace(timing, t);
    };
    assert.deepEqual([0.1, 0.1, 0.11].map(look), [true, true, true]);
    // a gap is no pace
    assert.deepEqual([0.5, 0.1].map(look), [false, true]);
    assert.equal(timing.known, 300);
    assert.deepEqual([0.06, 0.033, 0.033].map(look), [false, false, true]);
    assert.equal(timing.known, 0, 'what is usual is learned anew');
    assert.ok(Math.abs(timing.variance - 0.3 * (0.1 / 0.033) ** 2) < 1e-9, `${timing.variance}`);
  });

  it('are not taken for those of another series that came at another pace', () => {
    const before = structuredClone(NEW_TIMING);
    const [random, timing] = [randomFrom(8), structuredClone(NEW_TIMING)];
    for (let n = 1; n < 20; n++) {
      timing.frames = 40;
      if (keepsPace(timing, n < 10 ? 4 * n : 8 * n)) lookAt(timing, lookOf(random, 5, 0.3, 1), RULES, true);
    }
    assert.equal(timing.interval, 0.2);
    assert.deepEqual(NEW_TIMING, before);
  });

  it('are as usual again at another pace, where as many seconds are more frames', () => {
    const random = randomFrom(9);
    const timing = { ...structuredClone(NEW_TIMING), usual: 3, known: 300 };
    let t = 1000;
    const look = (seconds: number, late: number) => {
      timing.frames = 40;
      t += 40 * seconds;
      return keepsPace(timing, t)
        ? lookAt(timing, lookOf(random, 20, 0.3, late), RULES, timing.late === 0)
        : timing.late;
    };
    for (let n = 0; n < 30; n++) assert.equal(look(0.1, 3), 0);
    for (let n = 0; n < 30; n++) look(0.1, 6);
    assert.equal(timing.late, 3);
    for (let n = 0; n < 30; n++) assert.notEqual(look(0.05, 12), 0);
    for (let n = 0; n < 30; n++) look(0.05, 6);
    assert.equal(timing.late, 0);
  });

  it('are one incident for as long as they are, with 20 objects for an hour', function () {
    skipInFastRun(this);
    const [traffic, places] = [new Traffic({ seed: 5, objects: 20 }), new Places(5)];
    const detector = new SpikeDetector({}, { distance: 'euclidean', exponent: 1, cutoff: 0.5 });
    const said: string[] = [];
    let k = 0;
    const play = (frames: number) => {
      for (const end = k + frames; k < end; ) {
        const glance = traffic.glance();
        places.add(glance, 0.1);
        const source = { glance: () => glance, frames: () => places.frames() };
        for (const { phase, cause } of incidentsIn(detector.update(source, { k: ++k, t: 1_763_251_200 + k / 10 })))
          if (cause === 'late' || cause === 'early') said.push(`${phase} ${cause}`);
      }
    };
    play(18_000);
    assert.deepEqual(said, []);
    places.late = 1;
    play(36_000);
    assert.deepEqual(said, ['start late']);
    assert.ok(detector.knows('timing'));
    places.late = 0;
    play(6_000);
    assert.deepEqual(said, ['start late', 'end late']);
  });
});
