/**
 * The scenes of the alerting test, as its detector sees them: what a spike is depends on frames alone, so that nothing
 * is raised there while everything is well can be shown without a clock, whenever a tracker joins.
 */
import assert from 'node:assert/strict';
import { type Obj, presets, SlidingWindow } from '../../src/index.js';
import { SpikeWatch } from '../../src/spikes/watch.js';
import { SCRIPTED_STREAMS, tracksAt, truthsAt } from '../kit/scenes/scripted-scene.js';
import { skipInFastRun } from '../kit/system/system.js';

const { exponent, cutoff } = presets['online-surveillance'];
/** feeds of a stream: reference, good, bad */
const ROLES = 3;
/** the healthy tracker of the stream `blind` */
const BLIND_GOOD = ROLES * SCRIPTED_STREAMS.indexOf('blind') + 1;

/** Spikes in so many frames of a healthy tracker; `empty` is a frame that is judged without its tracks. */
function spikes(seed: number, first: number, frames: number, empty?: number): string[] {
  const window = new SlidingWindow({ ...presets['online-surveillance'], windowFrames: 30 });
  const watch = new SpikeWatch({}, exponent, cutoff);
  const started: string[] = [];
  for (let k = first; k < first + frames; k++) {
    const tracker = k === empty ? [] : tracksAt(k, seed, null);
    window.push({ reference: truthsAt(k) as Obj[], tracker: tracker as Obj[] });
    for (const { phase, signal } of watch.update(window.glance(), { k }))
      if (phase === 'start') started.push(`${signal} of feed ${seed} at frame ${k}, from ${first}`);
  }
  window.dispose();
  return started;
}

describe('the scenes of the alerting test', () => {
  it('raise nothing while everything is well, whenever a tracker joins', function () {
    skipInFastRun(this);
    const seeds = Array.from({ length: ROLES * SCRIPTED_STREAMS.length }, (_, seed) => seed);
    const trackers = seeds.filter((seed) => seed % ROLES !== 0);
    assert.deepEqual(
      trackers.flatMap((seed) => spikes(seed, 1 + 7 * seed, 250)).concat(spikes(BLIND_GOOD, 1, 1000)),
      [],
    );
  });

  it('raise a spike when one step is judged without the tracks that were sent', () => {
    assert.deepEqual(spikes(BLIND_GOOD, 1, 401, 400), ['missed of feed 16 at frame 400, from 1']);
  });
});
