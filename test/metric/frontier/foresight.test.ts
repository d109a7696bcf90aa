/**
 * What the frontier foresees when the oldest frame leaves is what the window's frames give from scratch, where nothing
 * is foreseen: neighbours within a cut-off of each other, tracks that come and go and change sides, dear and cheap
 * switches; and a real scene in which a pair was once settled beside one that was undecided. It is read from
 * ../shared/data when that is there.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { alignMotChallenge, readMotChallenge } from '../../../adapters/formats/motchallenge.js';
import { evaluate, type Frame, type Obj, presets, SlidingWindow } from '../../../src/index.js';
import { pick, type Random, randomFrom } from '../../kit/random.js';
import { skipInFastRun } from '../../kit/system/system.js';
import { slidesLikeBatch } from '../hunt/hunt.js';

const MOT17 = '../shared/data/MOT17/';
/** frames of MOT17-02 up to the one in which it once went wrong */
const FIRST = 340;
const LAST = 423;
const FRAMES = 30;
const SEEDS = 16;

/** A row of truths that stand still, each with a track that mostly stays with it. */
function row(random: Random, count: number): Frame[] {
  const places = Array.from({ length: count }, (_, n) => n);
  const at = (id: string, x: number): Obj => ({ id, point: [x, 0] });
  return Array.from({ length: FRAMES }, () => {
    if (random() < 0.1) places.reverse();
    const there = () => random() > 0.15;
    return {
      reference: places.map((_, n) => at(`t${n}`, n)).filter(there),
      tracker: places.map((place, n) => at(`k${n}`, place + 0.9 * (random() - 0.5))).filter(there),
    };
  });
}

describe('foresight', () => {
  it('settles nobody beside one who is undecided', function () {
    skipInFastRun(this);
    if (!existsSync(MOT17)) return this.skip();
    const read = (kind: 'reference' | 'tracker', path: string) =>
      readMotChallenge(readFileSync(MOT17 + path, 'utf8'), { kind, file: path });
    const frames = alignMotChallenge(
      read('reference', 'train/MOT17-02/gt/gt.txt'),
      read('tracker', 'results/BoT-SORT-ReTrack-Botsort_baseline/MOT17-02-FRCNN.txt'),
    );
    const params = presets['online-surveillance'];
    const windowFrames = 60;
    const window = new SlidingWindow({ ...params, windowFrames });
    for (let k = FIRST; k <= LAST; k++) {
      const report = window.push(frames[k]);
      if (k < LAST - 3) continue;
      const batch = evaluate(frames.slice(Math.max(FIRST, k + 1 - windowFrames), k + 1), params);
      assert.equal(report.perFrame[0].cost.switch, 0, `frame ${k}`);
      assert.deepEqual(report.perFrame, batch.perFrame, `frame ${k}`);
    }
  });

  for (let seed = 1; seed <= SEEDS; seed++)
    it(`finds at a window's beginning what its frames give from scratch, seed ${seed}`, () => {
      const random = randomFrom(seed);
      const switchPenalty = pick(random, [0.3, 0.7, 1.5, 3]);
      slidesLikeBatch({
        name: `seed ${seed}`,
        frames: row(random, 2 + Math.floor(3 * random())),
        params: { distance: 'euclidean', cutoff: 1.5, exponent: pick(random, [1, 2]), switchPenalty },
        windowFrames: pick(random, [2, 5, 9, 15]),
        options: {},
      });
    });
});
