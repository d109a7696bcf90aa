/** What an evaluator that owns nothing does so that its code is compiled. */
import assert from 'node:assert/strict';
import { warmUp } from '../../src/member/warm-up.js';
import { configOf } from '../kit/edge.js';

const FRAMES = 150;
const never = new AbortController().signal;

describe('an evaluator that owns nothing', () => {
  for (const distance of ['iou', 'euclidean', 'geodesic'])
    it(`judges a made-up stream by ${distance}, over snapshots`, async () => {
      const cutoff = distance === 'iou' ? 0.5 : 1000;
      const own = { distance, cutoff, admissibleError: 0.7 * cutoff, shortSwitchDistance: 0.3 * cutoff };
      const settings = { profiles: { own }, streams: { defaults: { profiles: ['own'] } } };
      assert.equal(await warmUp(configOf(JSON.stringify(settings)), FRAMES, never, Number.POSITIVE_INFINITY), FRAMES);
    });

  it('leaves off when there is real work', async () => {
    const work = new AbortController();
    setImmediate(() => work.abort());
    assert.ok((await warmUp(configOf(''), 1_000_000, work.signal)) < 1_000_000);
  });

  it('does nothing where it is told so', async () => {
    assert.equal(await warmUp(configOf(''), 0, never), 0);
  });
});
