import assert from 'node:assert/strict';
import { evaluate } from '../../src/metric/evaluate.js';
import type { Frame } from '../../src/metric/evaluation.js';
import type { Params } from '../../src/metric/params.js';
import { Performance, type PerformanceTerms } from '../../src/performance/performance.js';
import { performanceFrames } from '../../src/performance/sequence.js';
import { randomFrom } from '../kit/random.js';

const TERMS: PerformanceTerms = { plane: 'flat', gapSteps: 1, truthsMax: 1000 };
const PARAMS: Params = { distance: 'euclidean', cutoff: 5, exponent: 1, switchPenalty: 2 };

const at = (id: string, x: number, y = 0) => ({ id, point: [x, y] });

function numbersOf(frames: Frame[], times = frames.map((_, n) => n), terms = TERMS) {
  const performance = new Performance(terms);
  for (const frame of performanceFrames(frames, evaluate(frames, PARAMS).perFrame, times, PARAMS))
    performance.update(frame);
  return performance.get();
}

describe('the numbers of surveillance', () => {
  // a for 10 s: tracked by 1 at 0..3, missed at 4 and 5, by 2 at 6..9; b never; a second track beside a at 8 and 9
  const scene: Frame[] = Array.from({ length: 10 }, (_, t) => ({
    reference: [at('a', 10 * t), at('b', 10 * t, 500)],
    tracker: [
      ...(t < 4 ? [at('1', 10 * t + 1)] : t > 5 ? [at('2', 10 * t, 2)] : []),
      ...(t >= 8 ? [at('3', 10 * t, -4)] : []),
    ],
  }));

  it('are SIAP as defined, worked out by hand', () => {
    const { siap, detectionProbability } = numbersOf(scene);
    assert.equal(detectionProbability, 8 / 20);
    assert.equal(siap.completeness, 8 / 20);
    // 4 + 4 + 2 tracks, all of them of a
    assert.equal(siap.spuriousness, 0);
    assert.equal(siap.ambiguity, 1 + 2 / 8);
    assert.equal(siap.positionalAccuracy, (4 * 1 + 4 * 2 + 2 * 4) / 10);
    // one change in 3 s with the first track and 3 s with the second
    assert.equal(siap.numberChangeRate, 1 / 6);
    // a: 3 of 9 s; b: 0 of 9
    assert.equal(siap.longestSegmentShare, 3 / 18);
  });

  it('have gaps, the time to the first pair, and errors along and across the way', () => {
    const { continuity, error } = numbersOf(scene);
    // a from its last pair at 3 to the next at 6; b for all of its 9 s
    assert.equal(continuity.longestGap, 9);
    assert.equal(continuity.gapShare, (3 + 9) / 18);
    assert.equal(continuity.neverPaired, 1);
    assert.deepEqual(continuity.firstPair, { mean: 0, max: 0 });
    assert.equal(continuity.changesPerObjectHour, 3600 / 18);
    assert.equal(error!.rms, Math.sqrt((4 * 1 + 4 * 4) / 8));
    assert.ok(Math.abs(error!.p95 - 2) < 0.011);
    // the first and the last place of a way have no velocity: three pairs 1 ahead, three 2 to the left
    assert.equal(error!.along!.mean, 3 / 6);
    assert.equal(error!.across!.rms, Math.sqrt((3 * 4) / 6));
  });

  it('find an injected latency within 3 percent, and the bias beside it', () => {
    for (const latency of [0.1, 0.35, 1]) {
      const draw = randomFrom(7);
      const movers = Array.from({ length: 12 }, (_, n) => ({ n, vx: 40 * draw() - 20, vy: 40 * draw() - 20 }));
      const place = ({ n, vx, vy }: (typeof movers)[number], t: number) => [n * 1000 + vx * t, vy * t];
      const frames = Array.from({ length: 100 }, (_, k) => ({
        reference: movers.map((one) => ({ id: `t${one.n}`, point: place(one, 0.5 * k) })),
        tracker: movers.map((one) => ({
          id: `${one.n}`,
          point: place(one, 0.5 * k - latency).map((value, d) => value + (d === 0 ? 3 : -1) + draw() - 0.5),
        })),
      }));
      const params: Params = { ...PARAMS, cutoff: 100 };
      const performance = new Performance(TERMS);
      const times = frames.map((_, k) => 0.5 * k);
      for (const frame of performanceFrames(frames, evaluate(frames, params).perFrame, times, params))
        performance.update(frame);
      const fit = performance.get().latency!;
      assert.ok(Math.abs(fit.latency - latency) < 0.03 * latency, `found ${fit.latency}`);
      assert.ok(Math.abs(fit.latency - latency) < 5 * fit.latencyError);
      assert.ok(fit.latencyError < 0.01);
      assert.ok(Math.abs(fit.bias[0] - 3) < 0.2 && Math.abs(fit.bias[1] + 1) < 0.2);
    }
  });

  it('leave out who is not judged, and say how many', () => {
    const performance = new Performance(TERMS);
    performance.update({
      t: 0,
      truths: [
        { id: 'a', place: [0, 0] },
        { id: 'b', place: [50, 0], judged: false },
      ],
      tracks: [
        { id: '1', place: [0, 1] },
        { id: '2', place: [90, 0], judged: false },
      ],
      pairs: [{ truth: 'a', track: '1', distance: 1 }],
      extras: [],
    });
    const numbers = performance.get();
    assert.deepEqual(numbers.notJudged, { truths: 1, tracks: 1 });
    assert.equal(numbers.siap.completeness, 1);
    assert.equal(numbers.siap.spuriousness, 0);
  });

  it('are the same after a state was stored and read again, at every frame', () => {
    const frames = [
      ...performanceFrames(
        scene,
        evaluate(scene, PARAMS).perFrame,
        scene.map((_, n) => n),
        PARAMS,
      ),
    ];
    const whole = new Performance(TERMS);
    let stored = new Performance(TERMS);
    for (const frame of frames) {
      whole.update(frame);
      stored = new Performance(TERMS, JSON.parse(JSON.stringify(stored)));
      stored.update(frame);
      assert.deepEqual(stored.get(), whole.get());
    }
  });

  it('need no more memory with ever new ids, and count all of them', () => {
    const performance = new Performance({ ...TERMS, truthsMax: 10 });
    for (let t = 0; t < 500; t++)
      performance.update({ t, truths: [{ id: `a${t}`, place: [t, 0] }], tracks: [], pairs: [], extras: [] });
    assert.equal(performance.toJSON().lives.length, 10);
    assert.equal(performance.get().continuity.neverPaired, 500);
    assert.equal(performance.get().siap.completeness, 0);
  });
});
