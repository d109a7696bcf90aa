/** MOTChallenge files: what is read, what is dropped, what is refused and how, and the benchmark's preprocessing. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import {
  alignMotChallenge,
  type MotFeed,
  type MotReading,
  type MotRow,
  type MotRules as Preprocessing,
  readMotChallenge,
} from '../../adapters/formats/motchallenge.js';
import { type Frame, InputError } from '../../src/index.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

const shared = new URL('../../../../shared/', import.meta.url);

function read(text: string, reading: Partial<MotReading> = {}) {
  return readMotChallenge(text, { kind: 'reference', file: 'gt.txt', ...reading });
}

/** The rows of a frame, or of all frames, one by one. */
function rowsIn({ rows, frames }: MotFeed, frame?: number): MotRow[] {
  const which = frame === undefined ? [...frames.values()].flatMap((list) => [...list]) : (frames.get(frame) ?? []);
  return Array.from(which, (n) => rows.row(n));
}

function mistakes(text: string, reading: Partial<MotReading> = {}): string[] {
  try {
    read(text, reading);
  } catch (error) {
    assert.ok(error instanceof InputError, String(error));
    return error.message.split('\n').map((line) => line.trim());
  }
  return assert.fail('the text was accepted');
}

function ids(frames: Frame[]): Array<{ reference: string[]; tracker: string[] }> {
  return frames.map(({ reference, tracker }) => ({
    reference: reference.map(({ id }) => id),
    tracker: tracker.map(({ id }) => id),
  }));
}

describe('MOTChallenge files', () => {
  it('reads frame, id and box of every line', () => {
    const feed = read('1,7,10,20.5,30,40\n2,7,11,-21,30.25,40\n');
    assert.deepEqual(rowsIn(feed, 1)[0].object, { id: '7', box: [10, 20.5, 30, 40] });
    assert.deepEqual(rowsIn(feed, 2)[0].object, { id: '7', box: [11, -21, 30.25, 40] });
    assert.deepEqual([feed.rowCount, feed.countedCount, feed.lastFrame, feed.columns], [2, 2, 2, 6]);
  });

  it('reads every number exactly as JavaScript does', () => {
    const numbers = ['0.1', '102.3751449584961', '950.000000102113', '1.797289638080878', '0.30000000000000004'];
    numbers.push('1e2', '1.5E+01', '9007199254740993', '123456789012345678901234567890', '00012.500', '.5', '7.', '+3');
    numbers.push('4.000000000000000000e+00', ' 5 ', '\t6', '0.000000000000000000000012345', '2.2250738585072014e-308');
    for (const number of numbers) {
      const { box } = rowsIn(read(`1,1,-${number.trim().replace(/^\+/, '')},${number},1,1`))[0].object;
      assert.deepEqual(box.slice(0, 2), [-Number(number), Number(number)], number);
    }
  });

  it('reads numbers of more digits than a double holds as the nearest double', () => {
    const random = randomFrom(17);
    const below = (limit: number) => Math.floor(random() * limit);
    const digit = () => String(below(10));
    const numbers = Array.from({ length: 20_000 }, () => {
      const digits = `${1 + below(9)}${Array.from({ length: 14 + below(6) }, digit).join('')}`;
      const dot = below(digits.length + 1);
      return `${digits.slice(0, dot)}.${digits.slice(dot)}`;
    });
    // halfway between two doubles, where the even one is nearest
    for (let n = 0; n < 100; n++) numbers.push(String(2n ** 53n + 2n * BigInt(below(1000)) + 1n));
    const feed = read(numbers.map((number, n) => `${n + 1},1,${number},-${number},1,1\n`).join(''));
    for (const [n, number] of numbers.entries())
      assert.deepEqual([...feed.rows.boxes.subarray(4 * n, 4 * n + 2)], [Number(number), -Number(number)], number);
  });

  it('accepts a missing last newline, carriage returns, blank lines and a byte order mark', () => {
    const feed = read('\ufeff1,1,1,1,1,1\r\n\r\n  \n2, 1, 1, 1, 1, 1\r\n\n3,1,1,1,1,1');
    assert.deepEqual([...feed.frames.keys()], [1, 2, 3]);
    assert.equal(rowsIn(feed, 3)[0].line, 6);
  });

  it('keeps ids as text, whatever their size, and reads 3.0 as 3', () => {
    const feed = read('1,18446744073709551615,1,1,1,1\n1,3.0,1,1,1,1\n1,007,1,1,1,1\n');
    const found = rowsIn(feed, 1).map(({ object }) => object.id);
    assert.deepEqual(found, ['18446744073709551615', '3', '7']);
  });

  it('has names and negative numbers for ids, once per frame', () => {
    const feed = read('1,car_7,1,1,1,1\n1,-2,1,1,1,1\n2,car_7,1,1,1,1\n');
    const found = rowsIn(feed).map(({ object }) => object.id);
    assert.deepEqual(found, ['car_7', '-2', 'car_7']);
    assert.match(mistakes('1,car_7,1,1,1,1\n1,car_7,2,2,1,1\n')[0], /already in frame 1, on line 1/);
  });

  it('shifts frame numbers before it finds them too large', () => {
    const feed = read('5000001,1,1,1,1,1\n', { frameOffset: -5_000_000 });
    assert.equal(feed.rowCount, 1);
    assert.match(
      mistakes('4999999,1,1,1,1,1\n', { frameOffset: -5_000_000 })[0],
      /a whole number from 5000000 to 6000000: frameOffset is -5000000/,
    );
  });

  it('looks at nothing after the box of a tracker', () => {
    assert.equal(read('1,1,1,1,1,1,nan,inf,,x\n', { kind: 'tracker' }).rowCount, 1);
    assert.match(mistakes('1,1,1,1,1,1,nan\n')[0], /column 7 must be a finite number/);
  });

  it('finds its columns by a header that has them in another order', () => {
    const rows = ['7,1,3,10,20,1', '8,1,1,30,40,0'];
    const feed = read(`track_id,frame,class,x2,y2,active,x1,y1\n${rows.map((row) => `${row},1,2\n`).join('')}`);
    const found = rowsIn(feed);
    assert.deepEqual(
      found.map(({ object, counted, class: kind }) => [object.id, object.box, kind, counted]),
      [
        ['7', [1, 2, 9, 18], 3, false],
        ['8', [1, 2, 29, 38], 1, false],
      ],
    );
    const [message] = mistakes('track_id,frame,x,y,w,h\n7,1,1,2,3,4\n7,2,1,2,x,4\n');
    assert.match(message, /^gt\.txt:3:9: width \(column 5\) must be a finite number \(got "x"\)/);
    assert.match(mistakes('track_id,frame,x,y,w,depth\n7,1,1,2,3,4\n')[0], /read the table by its header/);
  });

  it('makes every detection (id -1) a trajectory of its own', () => {
    const feed = read('1,-1,1,1,1,1,0.9\n1,-1,1,1,1,1,0.8\n4,-1,1,1,1,1,0.9\n', { kind: 'tracker' });
    const found = rowsIn(feed).map(({ object }) => object.id);
    assert.deepEqual(found, ['det:1:1', 'det:1:2', 'det:4:3']);
  });

  it('drops reference rows with flag 0 or another class in files of 9 columns', () => {
    const text = '1,1,1,1,1,1,1,1,1\n1,2,1,1,1,1,0,1,1\n1,3,1,1,1,1,1,7,1\n';
    const counted = (reading: Partial<MotReading>) =>
      rowsIn(read(text, reading))
        .filter((row) => row.counted)
        .map(({ object }) => object.id);
    assert.deepEqual(counted({}), ['1']);
    assert.deepEqual(counted({ classes: [1, 7] }), ['1', '3']);
    assert.deepEqual(counted({ allRows: true }), ['1', '2', '3']);
    assert.deepEqual(counted({ kind: 'tracker' }), ['1', '2', '3']);
  });

  it('takes column 8 of a reference of 10 columns as a position, not as a class', () => {
    const feed = read('1,1,1,1,1,1,1,-4.2,7.1,0\n1,2,1,1,1,1,0,5.5,7.1,0\n');
    assert.deepEqual(
      rowsIn(feed).map((row) => row.counted),
      [true, false],
    );
  });

  it('aligns both files by frame number, with empty frames where nothing is', () => {
    const frames = alignMotChallenge(read('2,1,1,1,1,1\n'), read('4,9,1,1,1,1\n2,8,1,1,1,1', { kind: 'tracker' }));
    assert.deepEqual(ids(frames), [
      { reference: [], tracker: [] },
      { reference: ['1'], tracker: ['8'] },
      { reference: [], tracker: [] },
      { reference: [], tracker: ['9'] },
    ]);
  });

  it('takes an empty file as a feed that says nothing', () => {
    const frames = alignMotChallenge(read('1,1,1,1,1,1\n'), read('', { kind: 'tracker' }), undefined);
    assert.deepEqual(ids(frames), [{ reference: ['1'], tracker: [] }]);
  });

  it('names file, line, character, column, what came and what was expected', () => {
    assert.deepEqual(mistakes('1,1,1,1,1,1\n1,2,3,x4,5,6\n'), [
      'gt.txt:2:7: top (column 4) must be a finite number (got "x4")',
    ]);
    assert.deepEqual(mistakes('1,1,,1,1,1\n'), ['gt.txt:1:5: left (column 3) must be a finite number (got "")']);
  });

  for (const [what, line, expected] of [
    ['a frame below 0', '-1,1,1,1,1,1', 'frame (column 1) must be a whole number from 0 to 1000000 (got "-1")'],
    ['half a frame', '1.5,1,1,1,1,1', 'frame (column 1) must be a whole number from 0 to 1000000 (got "1.5")'],
    [
      'a frame beyond any sequence',
      '1e9,1,1,1,1,1',
      'frame (column 1) must be a whole number from 0 to 1000000; option frameOffset shifts numbers, and a table with times is read by --format mapping (got "1e9")',
    ],
    ['a box of negative height', '1,1,1,1,1,-3', 'height (column 6) must be a number 0 or above (got "-3")'],
    ['an infinite number', '1,1,1e999,1,1,1', 'left (column 3) must be a finite number (got "1e999")'],
    ['a word for infinity', '1,1,Infinity,1,1,1', 'left (column 3) must be a finite number (got "Infinity")'],
    ['a hexadecimal number', '1,1,0x10,1,1,1', 'left (column 3) must be a finite number (got "0x10")'],
    ['a wrong confidence', '1,1,1,1,1,1,nan', 'column 7 must be a finite number (got "nan")'],
    [
      'no id',
      '1,,1,1,1,1',
      'id (column 2) must be a whole number, a name, or -1 for a detection without identity (got "")',
    ],
    [
      'half an id',
      '1,2.5,1,1,1,1',
      'id (column 2) must be a whole number, a name, or -1 for a detection without identity (got "2.5")',
    ],
    [
      'an id that is no number',
      '1,nan,1,1,1,1',
      'id (column 2) must be a whole number, a name, or -1 for a detection without identity (got "nan")',
    ],
  ]) {
    it(`refuses ${what}`, () => {
      const [message, ...others] = mistakes(line);
      assert.deepEqual(others, []);
      assert.equal(message.slice(message.indexOf(': ') + 2), expected);
    });
  }

  it('refuses too few and changing numbers of columns', () => {
    const columns = 'expected at least 6: frame, id, left, top, width, height and, if there are more, flag or';
    assert.deepEqual(mistakes('1,1,1,1,1\n'), [
      `gt.txt:1:1: has 5 columns; ${columns} confidence, class, visibility (got "1,1,1,1,1")`,
    ]);
    assert.deepEqual(mistakes('1,1,1,1,1,1\n2,1,1,1,1,1,1\n'), [
      'gt.txt:2:1: has 7 columns; expected 6, as on the first line (got "2,1,1,1,1,1,1")',
    ]);
  });

  it('refuses an id that comes twice in a frame, also far apart', () => {
    assert.deepEqual(mistakes('1,1,1,1,1,1\n2,1,1,1,1,1\n1,1.0,5,5,5,5\n'), [
      'gt.txt:3:3: id (column 2) is already in frame 1, on line 1; an id may come once per frame (got "1")',
    ]);
  });

  it('reports several mistakes together and counts those beyond the first twenty', () => {
    assert.equal(mistakes('-1,1,1,1,-2,-1\n')[0], '3 problems');
    const many = mistakes('-1,1,1,1,1,1\n'.repeat(30));
    assert.equal(many.length, 22);
    assert.equal(many[21], 'and 10 more');
  });

  it('stops reading a file that is wrong from end to end', () => {
    assert.equal(mistakes('hello\n'.repeat(5000))[0], '1000 problems');
  });
});

describe('the preprocessing of the benchmark', () => {
  const reference = read(
    ['1,1,0,0,10,10,1,1,1', '1,2,100,0,10,10,0,7,1', '1,3,200,0,10,10,0,6,1', '1,4,300,0,10,10,0,9,1'].join('\n'),
  );
  const tracker = read(
    ['1,11,0,1,10,10,1', '1,12,100,1,10,10,1', '1,13,200,1,10,10,1', '1,14,300,1,10,10,1', '1,15,100,7,10,10,1'].join(
      '\n',
    ),
    { kind: 'tracker', file: 'a.txt' },
  );
  const kept = (preprocess?: Preprocessing) => ids(alignMotChallenge(reference, tracker, preprocess))[0];

  it('takes out tracks that match a distractor, and leaves those that match nothing or an occluder', () => {
    assert.deepEqual(kept(), { reference: ['1'], tracker: ['11', '12', '13', '14', '15'] });
    assert.deepEqual(kept('motchallenge'), { reference: ['1'], tracker: ['11', '13', '14', '15'] });
  });

  it('also takes out tracks on vehicles under the rules of MOT20', () => {
    assert.deepEqual(kept('mot20').tracker, ['11', '14', '15']);
  });

  it('matches the pairs of the greatest total overlap, not greedily', () => {
    // the nearest pair is track 1 with the distractor, but then track 2 would stay alone
    const truths = read('1,1,0,0,10,10,1,1,1\n1,2,2,0,10,10,0,8,1\n');
    const tracks = read('1,1,1.5,0,10,10,1\n1,2,4,0,10,10,1\n', { kind: 'tracker' });
    assert.deepEqual(ids(alignMotChallenge(truths, tracks, 'motchallenge'))[0].tracker, ['1']);
  });

  it('refuses a reference without classes and results of other classes', () => {
    const world = read('1,1,1,1,1,1,1,-4.2,7.1,0\n', { file: 'mot15.txt' });
    assert.throws(() => alignMotChallenge(world, tracker, 'motchallenge'), {
      message:
        'mot15.txt: preprocessing needs the class in column 8 of 9, but the file has 10 columns; evaluate it without preprocessing (got 10)',
    });
    const cars = read('1,1,1,1,1,1,1,3,-1,-1\n', { kind: 'tracker', file: 'cars.txt' });
    assert.throws(() => alignMotChallenge(reference, cars, 'motchallenge'), /^InputError: cars.txt:1: class 3: /);
  });

  describe('on real sequences', () => {
    before(function () {
      if (!existsSync(new URL('data', shared)) || !existsSync(new URL('reference/trackeval.json', shared))) {
        assert.notEqual(
          process.env.TGOSPA_REQUIRE_SYSTEM,
          '1',
          '../shared/data and ../shared/reference are needed here',
        );
        this.skip();
      }
    });

    it('leaves exactly the rows that TrackEval leaves, for all its tracker files', function () {
      skipInFastRun(this);
      const cases = JSON.parse(readFileSync(new URL('reference/trackeval.json', shared), 'utf8')) as Array<{
        tracker: string;
        sequence: string;
        preprocessing: boolean;
        scores: Record<string, number>;
      }>;
      assert.ok(cases.length >= 10);
      for (const { tracker: name, sequence, preprocessing, scores } of cases) {
        const benchmark = sequence.slice(0, 5);
        const open = (path: string) => readFileSync(new URL(`data/${benchmark}/${path}`, shared), 'latin1');
        const truths = read(open(`train/${sequence.replace('-FRCNN', '')}/gt/gt.txt`));
        const tracks = read(open(`results/${name}/${sequence}.txt`), { kind: 'tracker' });
        const rules = benchmark === 'MOT20' ? 'mot20' : 'motchallenge';
        const frames = alignMotChallenge(truths, tracks, preprocessing ? rules : undefined);
        const count = (feed: keyof Frame) => frames.reduce((sum, frame) => sum + frame[feed].length, 0);
        assert.equal(count('reference'), scores.CLR_TP + scores.CLR_FN, `${name} ${sequence} reference`);
        assert.equal(count('tracker'), scores.CLR_TP + scores.CLR_FP, `${name} ${sequence} tracker`);
      }
    });
  });
});
