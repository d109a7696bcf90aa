/**
 * The words about parameters, held against the metric itself: every number they give is the one at which evaluate()
 * changes its mind.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evaluate, type Frame, type Params, profile } from '../../src/index.js';
import { windowWarning } from '../../src/metric/params.js';
import { explain, interimDistance, interimFrames, lastingFrames } from '../../src/tuning/words.js';

/** One truth at 0, followed by tracks: at each frame the id of the one that is there, at `error` from the truth. */
function scene(tracks: string[], error: number): Frame[] {
  return tracks.map((id) => ({ reference: [{ id: 't', point: [0] }], tracker: [{ id, point: [error] }] }));
}

const runs = (...parts: Array<[string, number]>) => parts.flatMap(([id, frames]) => new Array<string>(frames).fill(id));
const switchesIn = (frames: Frame[], params: Params) => evaluate(frames, params).count.switches;

const profiles = fc.record({
  cutoff: fc.integer({ min: 2, max: 40 }).map((value) => value / 4),
  share: fc.integer({ min: 50, max: 90 }).map((value) => value / 100),
  long: fc.integer({ min: 1, max: 12 }),
  short: fc.integer({ min: 30, max: 85 }).map((value) => value / 100),
  error: fc.integer({ min: 0, max: 60 }).map((value) => value / 100),
});
const bySeed = { seed: 417, numRuns: 60 };

describe('the words about parameters', () => {
  const own = (cutoff: number, share: number) => ({
    distance: 'euclidean' as const,
    cutoff,
    admissibleError: cutoff * share,
  });

  it('say from how many frames on a lasting change is a switch', () => {
    fc.assert(
      fc.property(profiles, ({ cutoff, share, long, error }) => {
        const params = profile({ ...own(cutoff, share), longSwitchFrames: long });
        const frames = lastingFrames(params, error * cutoff);
        const count = (before: number, after: number) =>
          switchesIn(scene(runs(['a', before], ['b', after]), error * cutoff), params);
        assert.equal(count(frames + 3, frames), 1, `${frames} frames after the change are enough`);
        assert.equal(count(frames, frames + 3), 1, `${frames} frames before the change are enough`);
        assert.equal(count(frames + 3, frames - 1), 0, `${frames - 1} frames after the change are too few`);
        assert.equal(count(frames - 1, frames + 3), 0, `${frames - 1} frames before the change are too few`);
      }),
      bySeed,
    );
  });

  it('say how long a change there and back must be', () => {
    fc.assert(
      fc.property(profiles, ({ cutoff, share, long, error }) => {
        const params = profile({ ...own(cutoff, share), longSwitchFrames: long });
        const frames = interimFrames(params, error * cutoff);
        const count = (between: number) =>
          switchesIn(scene(runs(['a', 2 * frames], ['b', between], ['a', 2 * frames]), error * cutoff), params);
        assert.equal(count(frames), 2);
        assert.equal(count(frames - 1), 0);
      }),
      bySeed,
    );
  });

  it('say how close a stand-in of a single frame must be', () => {
    fc.assert(
      fc.property(profiles, ({ cutoff, share, short }) => {
        const params = profile({ ...own(cutoff, share), shortSwitchDistance: short * cutoff });
        const reach = interimDistance(params);
        assert.ok(Math.abs(reach - short * cutoff) < 1e-9 * cutoff, `${reach} is not ${short * cutoff}`);
        const count = (error: number) => {
          const frames = scene(runs(['a', 6], ['b', 1], ['a', 6]), 0);
          frames[6].tracker[0] = { id: 'b', point: [error] };
          return switchesIn(frames, params);
        };
        assert.equal(count(reach * 0.999), 2);
        assert.equal(count(reach * 1.001), 0);
      }),
      bySeed,
    );
  });

  it('say that a gap is no switch, and that is so', () => {
    const params = profile({ ...own(1, 0.6), shortSwitchDistance: 0.3 });
    const frames = scene(runs(['a', 5], ['a', 3], ['a', 5]), 0.1);
    for (const frame of frames.slice(5, 8)) frame.tracker = [];
    assert.equal(switchesIn(frames, params), 0);
    assert.match(explain(params, { windowFrames: 60, usualError: 0.1 }).join(' '), /A gap in a track.* never a switch/);
  });

  it('check the window as the configuration does', () => {
    const params = profile({ cutoff: 0.5, admissibleError: 0.25, longSwitchFrames: 10 });
    for (const windowFrames of [1, 20, 21, 22, 60]) {
      const [words] = explain(params, { windowFrames, usualError: 0 }).slice(-1);
      const warning = windowWarning(params, windowFrames);
      if (warning) assert.equal(words, `Too short a window: ${warning}.`);
      else assert.match(words, /^A window of \d+ frames can show such switches: it holds the 22 frames needed/);
    }
    assert.ok(windowWarning(params, 21) && !windowWarning(params, 22));
    // with an error, one needs more frames than without
    const [late] = explain(params, { windowFrames: 22, usualError: 0.1 }).slice(-1);
    assert.match(late, /^Too short a window: at your usual error a switch shows only where 26 frames are in view/);
    const frames = scene(runs(['a', 11], ['b', 11]), 0.1).map(({ reference, tracker }) => ({ reference, tracker }));
    assert.equal(switchesIn(frames, { ...params, distance: 'euclidean' }), 0);
    const enough = scene(runs(['a', 13], ['b', 13]), 0.1);
    assert.equal(switchesIn(enough, { ...params, distance: 'euclidean' }), 1);
  });

  it('are silent about switches where identities do not count', () => {
    const params = profile({ cutoff: 0.255, admissibleError: 0.17, switchPenalty: 0 });
    const words = explain(params, { windowFrames: 5, usualError: 0.1 });
    assert.match(words.at(-1) ?? '', /^Identities do not count/);
    assert.doesNotMatch(words.join(' '), /window/);
  });

  it('give distances their unit', () => {
    const params = profile({
      distance: 'geodesic',
      cutoff: 120,
      admissibleError: 80,
      switchPenalty: 0,
      missShare: 0.8,
    });
    const words = explain(params, { windowFrames: 60, usualError: 10 }).join('\n');
    assert.match(words, /A truth and a track 120 m apart or more/);
    assert.match(words, /up to 80 m off is better than none/);
    assert.match(words, /A miss costs 4 times as much as a false object/);
  });
});
