/** Moments as files: what was saved is read again, and what is wrong with a file is told in one sentence. */
import assert from 'node:assert/strict';
import { presets } from '../../src/metric/params.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { readMoment, type SavedMoment, shapeOf, windowFramesOf } from '../../src/wire/moment.js';

const { frames } = crossingScene().trackers.find(({ name }) => name === 'faulty')!;
const moment = (): SavedMoment => ({
  format: 'tgospa-moment',
  version: 1,
  stream: 'gate',
  tracker: 'sort',
  profile: 'online-surveillance',
  k: 90,
  lead: 9,
  params: { ...presets['online-surveillance'], windowFrames: 10 },
  frames: frames.slice(70, 100).map((frame, n) => ({ k: 71 + n, atMs: 1e12 + n * 40, ...frame })),
});

const read = (change: object) => readMoment(JSON.stringify({ ...moment(), ...change }), 'a.moment.json');

describe('moment', () => {
  it('is read as it was saved', () => {
    assert.deepEqual(read({ judged: [], another: 1 }), JSON.parse(JSON.stringify(moment())));
    assert.equal(shapeOf(read({})), 'box');
  });

  it('has the window that ends with the frame that was looked at', () => {
    const numbers = (k: number) => windowFramesOf(read({ k })).map((frame) => frame.k);
    assert.deepEqual(numbers(90), [81, 82, 83, 84, 85, 86, 87, 88, 89, 90]);
    assert.deepEqual(numbers(73), [71, 72, 73]);
  });

  it('says what is wrong with a file', () => {
    assert.throws(() => readMoment('1,2,3', 'a.json'), /a\.json: is not a moment: it is not JSON/);
    assert.throws(() => readMoment('null', 'a.json'), /its format must be tgospa-moment/);
    assert.throws(() => read({ format: 'other' }), /its format must be tgospa-moment/);
    assert.throws(() => read({ version: 2 }), /is of another version; this program reads version 1/);
    assert.throws(() => read({ k: 7 }), /k: must be the number of one of the frames/);
    assert.throws(() => read({ stream: 3 }), /stream: must be a name/);
    assert.throws(() => read({ frames: [] }), /frames: must be 1 to/);
    assert.throws(
      () => read({ params: { ...moment().params, cutoff: -1 } }),
      /cutoff: must be a finite number above 0/,
    );
    assert.throws(() => read({ params: presets['online-surveillance'] }), /params\.windowFrames: must be/);
  });

  it('says which frame is wrong', () => {
    const broken = moment();
    (broken.frames[3].tracker as unknown[])[0] = { id: 'x', box: [1, 2, 'three', 4] };
    broken.frames[5] = { ...broken.frames[5], k: 1 };
    assert.throws(
      () => readMoment(JSON.stringify(broken), 'a.json'),
      /frames\[3\]\.tracker\[0\]\.box.*\n.*frames\[5\]\.k/s,
    );
    assert.throws(() => read({ frames: [null, ...moment().frames] }), /frames\[0\]\.k: must be above/);
  });
});
