/** Everything that cannot be is answered with one InputError that names value, place and remedy of every mistake. */

import assert from 'node:assert/strict';
import { evaluate, type Frame, InputError, type Params, presets, profile, SlidingWindow } from '../../src/index.js';
import { randomFrom } from '../kit/random.js';

const params: Params = presets['online-surveillance'];
const points: Params = { distance: 'euclidean', cutoff: 5, exponent: 1, switchPenalty: 1 };
const box = (id: string, left = 0): { id: string; box: [number, number, number, number] } => ({
  id,
  box: [left, 0, 10, 20],
});

/** The mistakes of a call, as `path: message`. */
function mistakes(call: () => unknown): string[] {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof InputError, String(error));
    for (const { path } of error.problems) assert.ok(error.message.includes(path), error.message);
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

function complains(call: () => unknown, ...expected: RegExp[]): void {
  const found = mistakes(call);
  assert.equal(
    found.length,
    expected.length,
    `expected ${expected.length} mistakes, found ${found.join('; ') || 'none'}`,
  );
  expected.forEach((pattern, n) => {
    assert.match(found[n], pattern);
  });
}

const frame = (tracker: unknown[], reference: unknown[] = [box('t')]) => [{ reference, tracker }] as unknown as Frame[];

describe('wrong parameters', () => {
  it('are all reported together', () => {
    const wrong = {
      distance: 'cosine',
      cutoff: 0,
      exponent: 0.5,
      switchPenalty: -1,
      missShare: 1,
      colour: 'red',
    } as unknown as Params;
    complains(
      () => evaluate([], wrong),
      /^distance: must be one of iou/,
      /^cutoff: .*above 0/,
      /^exponent: .*at least 1/,
      /^switchPenalty: /,
      /^missShare: .*between 0 and 1/,
      /^colour: is not a parameter/,
    );
  });

  it('are refused one by one', () => {
    for (const cutoff of [-1, Number.NaN, Number.POSITIVE_INFINITY, '5'])
      complains(() => evaluate([], { ...points, cutoff } as Params), /^cutoff: /);
    complains(() => evaluate([], { ...params, cutoff: 1.5 }), /^cutoff: .*at most 1 for distance iou/);
    complains(
      () => evaluate([], { ...points, weights: { forgetting: 0 } }),
      /^weights.forgetting: above 0|^weights.forgetting: must be above 0/,
    );
    complains(
      () =>
        evaluate(
          [
            { reference: [], tracker: [] },
            { reference: [], tracker: [] },
          ],
          { ...points, weights: { frame: [1], switch: [] } },
        ),
      /^weights.frame: has fewer entries/,
      /^weights.switch: has fewer entries/,
    );
    complains(() => evaluate([], null as unknown as Params), /^params: must be an object/);
    complains(
      () => evaluate([], params, { solver: 'magic' as 'lp', frontierMax: -1 }),
      /^options.solver: /,
      /^options.frontierMax: /,
    );
    complains(() => new SlidingWindow({ ...params, windowFrames: 0 }), /^windowFrames: .*whole number/);
    complains(
      () => new SlidingWindow({ ...params, windowFrames: 5, settleFrames: 5 }),
      /^settleFrames: .*below windowFrames/,
    );
  });

  it('of a window are told with those of the metric and of the options', () => {
    const wrong = { ...points, cutoff: -1, windowFrames: 0, settleFrames: -1, weights: { frame: [1], switch: [] } };
    complains(
      () => new SlidingWindow(wrong, { solver: 'magic' as 'lp' }),
      /^cutoff: /,
      /^windowFrames: /,
      /^settleFrames: /,
      /^options.solver: /,
    );
    complains(
      () => new SlidingWindow({ ...wrong, cutoff: 1, windowFrames: 3, settleFrames: 3 }),
      /^settleFrames: /,
      /^weights.frame: has fewer entries than the 3/,
      /^weights.switch: has fewer entries than the 2/,
    );
  });

  it('include options that are not known, but not those of earlier versions', () => {
    complains(
      () => evaluate([], params, { exactnes: 'force' } as object),
      /^options.exactnes: is not an option; known are solver, exactness/,
    );
    const former = { clock: () => 0, workPerLook: 1, matchingsMax: 1, statesMax: 1, sweepsMax: 1 };
    assert.equal(evaluate([], params, former as object).cost.total, 0);
    for (const options of [null, 'lp', 5] as unknown as object[])
      complains(() => evaluate([], params, options), /^options: must be an object/);
    complains(() => new SlidingWindow({ ...params, windowFrames: 5 }, null as unknown as object), /^options: /);
  });

  it('include weights given twice or misspelt', () => {
    const both = { forgetting: 0.9, frame: [1], switch: [] };
    complains(() => evaluate([], { ...points, weights: both }), /^weights: .*either { forgetting } or/);
    complains(
      () => evaluate([], { ...points, weights: { frame: [1], switch: [], swich: [] } as Params['weights'] }),
      /^weights.swich: is not known/,
    );
  });

  it('cannot be written into a preset', () => {
    const { cutoff } = presets['online-surveillance'];
    assert.throws(() => {
      (presets['online-surveillance'] as Params).cutoff = 9;
    }, TypeError);
    assert.equal(presets['online-surveillance'].cutoff, cutoff);
  });

  it('may be given in words, which become the published numbers', () => {
    assert.ok(Math.abs(presets['online-surveillance'].exponent - 1.7972896) < 1e-7);
    assert.ok(Math.abs(presets['online-surveillance'].switchPenalty - 0.31185165) < 1e-7);
    assert.deepEqual(presets['offline-scene-understanding'], {
      distance: 'iou',
      cutoff: 0.5,
      exponent: 1,
      switchPenalty: 5,
    });
    assert.equal(presets['detector-training'].switchPenalty, 0);
    const { exponent, switchPenalty } = profile({ cutoff: 0.5, admissibleError: 0.34, shortSwitchDistance: 0.17 });
    assert.deepEqual({ exponent, switchPenalty }, { exponent: params.exponent, switchPenalty: params.switchPenalty });
  });

  it('in words are refused as those words', () => {
    complains(
      () => profile({ cutoff: 0.5, admissibleError: 0.1, switchPenalty: -1, missShare: 3 }),
      /^admissibleError: /,
      /^switchPenalty: .*at least 0/,
      /^missShare: /,
    );
    complains(() => profile({ cutoff: -1, admissibleError: 0.1, shortSwitchDistance: 0.1 }), /^cutoff: /);
    complains(
      () => profile({ cutoff: 0.5, admissibleError: 0.2, switchPenalty: 0 }),
      /^admissibleError: .*from 0.25 up to, not including, 0.5/,
    );
    complains(() => profile({ cutoff: 0.5, admissibleError: 0.5, switchPenalty: 0 }), /^admissibleError: /);
    complains(
      () => profile({ cutoff: 0.5, exponent: 1, admissibleError: 0.3, switchPenalty: 0 }),
      /^exponent: give either/,
    );
    complains(() => profile({ cutoff: 0.5, exponent: 1 }), /^switchPenalty: give exactly one/);
    complains(
      () => profile({ cutoff: 0.5, exponent: 1, shortSwitchDistance: 0.5 }),
      /^shortSwitchDistance: .*below the cutoff 0.5/,
    );
    complains(() => profile({ cutoff: 0.5, exponent: 1, longSwitchFrames: -1 }), /^longSwitchFrames: /);
  });
});

describe('wrong frames', () => {
  it('name the place, the value and the remedy of every mistake', () => {
    const tracker = [
      box('a'),
      box('a'),
      { id: 'b', box: [0, 0, 0, -3] },
      { id: 'c', box: [0, Number.NaN, 1, 1] },
      { id: 'd' },
      { box: [0, 0, 1, 1] },
      { id: 7, box: [0, 0, 1, 1] },
    ];
    complains(
      () => evaluate(frame(tracker), params),
      /^frames\[0\].tracker\[1\].id: this id stands twice/,
      /^frames\[0\].tracker\[2\].box\[2\]: the width of a box must be above 0/,
      /^frames\[0\].tracker\[2\].box\[3\]: the height/,
      /^frames\[0\].tracker\[3\].box\[1\]: must be a finite number/,
      /^frames\[0\].tracker\[4\].box: is missing; expected \[left, top, width, height\]/,
      /^frames\[0\].tracker\[5\].id: every object needs an id/,
      /^frames\[0\].tracker\[6\].id: /,
    );
  });

  it('do not mix boxes with points or dimensions', () => {
    complains(
      () => evaluate(frame([{ id: 'a', point: [1, 2] }]), params),
      /tracker\[0\].point: distance iou compares boxes/,
    );
    complains(() => evaluate(frame([box('a')], []), points), /tracker\[0\].box: distance euclidean compares points/);
    complains(
      () => evaluate(frame([{ id: 'a', point: [1, 2, 3] }], [{ id: 't', point: [1, 2] }]), points),
      /tracker\[0\].point: has 3 numbers; expected 2 coordinates/,
    );
    complains(
      () => evaluate(frame([{ id: 'a', point: [100, 0] }], []), { ...points, distance: 'geodesic' }),
      /latitude within -90 and 90/,
    );
    complains(
      () => evaluate(frame([{ id: 'a', point: [10, 400] }], []), { ...points, distance: 'geodesic' }),
      /longitude within -360 and 360/,
    );
    complains(() => evaluate([{ reference: [] }] as unknown as Frame[], params), /^frames\[0\]: must be \{ reference/);
  });

  it('of all frames are told together, and with the mistakes of the parameters', () => {
    const frames = [...frame([{ id: 'a' }]), ...frame([box('b')]), ...frame([box('c'), box('c')])];
    const places = [/^frames\[0\].tracker\[0\].box: is missing/, /^frames\[2\].tracker\[1\].id: .*twice/];
    complains(() => evaluate(frames, params), ...places);
    complains(() => evaluate(new Set(frames), { ...params, cutoff: 0 }), /^cutoff: /, ...places);
    complains(
      () => evaluate(frames, { ...params, missShare: 2 }, { solver: 'magic' as 'lp' }),
      /^missShare: /,
      /^options.solver: /,
      ...places,
    );
    const wrong = { ...params, distance: 'iuo' as 'iou' };
    complains(() => evaluate(frames, wrong), /^distance: /, ...places);
    const points = frame([{ id: 'a', point: [1] }], [{ id: 'b', point: [Number.NaN] }]);
    complains(() => evaluate(points, wrong), /^distance: /, /point\[0\]: must be a finite number/);
  });

  it('are no longer looked for once there are very many', () => {
    let read = 0;
    function* endless(): Generator<Frame> {
      for (;;) {
        read++;
        yield frame([{ id: 'a' }])[0];
      }
    }
    assert.throws(() => evaluate(endless(), params), /^InputError: 100 problems\n/);
    assert.ok(read <= 1000);
  });

  it('include frames that are no list', () => {
    for (const frames of [undefined, null, 5, frame([])[0]] as unknown as Frame[][])
      complains(() => evaluate(frames, params), /^frames: must be a list of frames/);
  });

  it('leave no trace in a window', () => {
    const good = Array.from({ length: 12 }, (_, k) => ({
      reference: [box('t', k)],
      tracker: [box(k < 6 ? 'a' : 'b', k + 1)],
    }));
    const clean = new SlidingWindow({ ...params, windowFrames: 5 });
    const disturbed = new SlidingWindow({ ...params, windowFrames: 5 });
    for (const one of good) {
      complains(() => disturbed.push({ reference: [box('x'), box('x')], tracker: [] }), /^frame.reference\[1\].id: /);
      assert.deepEqual(JSON.parse(JSON.stringify(disturbed.push(one))), JSON.parse(JSON.stringify(clean.push(one))));
    }
  });

  it('say where an id stands twice, whatever the frame before was like', () => {
    const next = randomFrom(5);
    const window = new SlidingWindow({ ...params, windowFrames: 5 });
    let ids: number[] = [];
    let twice = 0;
    let total = 0;
    for (let step = 0; step < 400; step++) {
      // some go, some come, some change places, and now and then one comes twice
      ids = ids.filter(() => next() > 0.1);
      while (ids.length < 12 && next() < 0.8)
        ids.splice(Math.floor(next() * ids.length), 0, step * 20 + Math.floor(next() * 20));
      if (next() < 0.3) ids.reverse();
      if (step % 50 === 0) ids = ids.map((_, n) => step * 1000 + n);
      const given = [...ids];
      if (next() < 0.4 && given.length > 0)
        given.splice(Math.floor(next() * given.length), 0, given[Math.floor(next() * given.length)]);
      const expected = given.flatMap((id, n) => (given.indexOf(id) < n ? [`frame.tracker[${n}].id`] : []));
      const frame = { reference: [box('a')], tracker: given.map((id, n) => box(`${id}`, 100 * n)) };
      const found = mistakes(() => window.push(frame));
      assert.deepEqual(
        found.map((mistake) => mistake.split(': ')[0]),
        expected,
      );
      if (expected.length > 0) {
        twice++;
        continue;
      }
      ids = [...new Set(ids)];
      total += given.length;
      assert.equal(window.frameCount, step + 1 - twice);
      assert.deepEqual(
        window.frames().at(-1)!.tracker.ids,
        given.map((id) => `${id}`),
      );
    }
    assert.ok(twice > 50 && total > 1000);
  });

  it('are shortened in the message when they are very many', () => {
    const many = Array.from({ length: 100 }, () => ({ id: 'same', box: [0, 0, 1, 0] }));
    assert.throws(() => evaluate(frame(many), params), /199 problems[\s\S]*and 179 more/);
  });
});

describe('packed objects', () => {
  it('may be packed into the same lists for the next frame', () => {
    const pack = (ids: string[], coordinates: number[]) => ({ shape: 'point' as const, stride: 1, ids, coordinates });
    const [truths, tracks] = [pack(['a'], [0]), pack(['A'], [0])];
    const window = new SlidingWindow({ ...points, switchPenalty: 0.5, windowFrames: 5 });
    const copies = new SlidingWindow({ ...points, switchPenalty: 0.5, windowFrames: 5 });
    for (const id of ['A', 'B', 'C']) {
      tracks.ids[0] = id;
      const { count } = window.push({ reference: truths, tracker: tracks });
      const expected = copies.push({ reference: pack(['a'], [0]), tracker: pack([id], [0]) });
      assert.deepEqual(count, expected.count, id);
    }
  });
});
