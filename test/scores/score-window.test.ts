/**
 * The companion scores: against a plain second implementation, against TrackEval, and sliding against from scratch
 * after every frame.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { alignMotChallenge, readMotChallenge } from '../../adapters/formats/motchallenge.js';
import { evaluate, type Frame, type Obj, profile } from '../../src/index.js';
import { distances } from '../../src/metric/distance.js';
import { packFrame } from '../../src/metric/frame.js';
import { Matcher } from '../../src/scores/matching.js';
import { ScoreWindow, scoreFrames, scoreTotals } from '../../src/scores/score-window.js';
import type { SimilarityRule } from '../../src/scores/similarity.js';
import { addTotals, SCORE_NAMES, type Scores, scoresOf } from '../../src/scores/totals.js';
import { bestMatching } from '../kit/metric/best-matching.js';
import { naiveScores } from '../kit/metric/naive-scores.js';
import { randomCase } from '../kit/metric/scenes.js';
import { randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun, skipUnless } from '../kit/system/system.js';

const shared = new URL('../../../../shared/', import.meta.url);

const box = (id: string, left: number, top = 0, width = 10, height = 10): Obj => ({
  id,
  box: [left, top, width, height],
});

function same(actual: Scores, expected: Scores, place: string, tolerance = 1e-9): void {
  for (const name of SCORE_NAMES)
    assert.ok(
      Math.abs(actual[name] - expected[name]) <= tolerance,
      `${place}: ${name} is ${actual[name]}, expected ${expected[name]}`,
    );
}

function overlap(a: Obj, b: Obj): number {
  assert.ok('box' in a && 'box' in b);
  const side = (at: 0 | 1) =>
    Math.max(0, Math.min(a.box[at] + a.box[at + 2], b.box[at] + b.box[at + 2]) - Math.max(a.box[at], b.box[at]));
  const common = side(0) * side(1);
  return common / (a.box[2] * a.box[3] + b.box[2] * b.box[3] - common);
}

/**
 * A rule, the same as a plain function, and scenes for it. Fractions with many digits: exact ties may be split either
 * way.
 */
function scenesFor(kind: SimilarityRule['kind']) {
  const distance = kind === 'iou' ? 'iou' : kind;
  const zeroDistance = kind === 'geodesic' ? 40_000 : 6;
  const rule: SimilarityRule = kind === 'iou' ? { kind } : { kind, zeroDistance };
  const closeness = (a: Obj, b: Obj) => {
    assert.ok('point' in a && 'point' in b);
    const pair = [Float64Array.from(a.point), Float64Array.from(b.point)] as const;
    return Math.max(0, 1 - distances[distance](pair[0], 0, pair[1], 0, a.point.length) / zeroDistance);
  };
  const scene = (seed: number, truthCount: number) =>
    randomCase(seed, { distance, whole: false, truthCount, frameCount: 24, noise: 1 }).frames;
  return { rule, similarity: kind === 'iou' ? overlap : closeness, scene };
}

describe('the matching of few pairs', () => {
  it('is worth as much as the Hungarian method finds', () => {
    const random = randomFrom(7);
    const matcher = new Matcher();
    for (let round = 0; round < drawn(4000); round++) {
      const rows = 1 + Math.floor(random() * 8);
      const columns = 1 + Math.floor(random() * 8);
      const density = random();
      const benefit = new Float64Array(rows * columns);
      const row: number[] = [];
      const column: number[] = [];
      const weight: number[] = [];
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) {
          if (random() > density) continue;
          const value = round % 2 === 0 ? random() : Math.ceil(random() * 4);
          benefit[i * columns + j] = value;
          row.push(i);
          column.push(j);
          weight.push(value);
        }
      const expected = bestMatching(benefit, rows, columns).reduce(
        (sum, j, i) => sum + (j < 0 ? 0 : benefit[i * columns + j]),
        0,
      );
      const [pairRow, pairColumn] = [Int32Array.from(row), Int32Array.from(column)];
      matcher.match(row.length, pairRow, pairColumn, Float64Array.from(weight), rows, columns);
      const chosen = [...matcher.pairOfRow.subarray(0, rows)].filter((pair) => pair >= 0);
      const found = chosen.reduce((sum, pair) => sum + weight[pair], 0);
      assert.equal(new Set(chosen.map((pair) => column[pair])).size, chosen.length, `round ${round}: a column twice`);
      assert.ok(Math.abs(found - expected) < 1e-9, `round ${round}: ${found}, expected ${expected}`);
    }
  });
});

describe('the companion scores', () => {
  for (const kind of ['iou', 'euclidean', 'geodesic'] as const) {
    it(`are those of a plain second implementation (${kind})`, () => {
      const { rule, similarity, scene } = scenesFor(kind);
      let switches = 0;
      let fragmentations = 0;
      for (let seed = 1; seed <= drawn(60); seed++) {
        const frames = scene(seed, 1 + (seed % 8));
        const scores = scoreFrames(frames, rule);
        same(scores, naiveScores(frames, similarity), `seed ${seed}`);
        switches += scores.IDSW;
        fragmentations += scores.Frag;
      }
      assert.ok(switches > 50 && fragmentations > 50, `hardly anything happened: ${switches}, ${fragmentations}`);
    });
  }

  it('slide: after every frame they are those of the window from scratch', () => {
    for (let seed = 1; seed <= drawn(40); seed++) {
      const { rule, scene } = scenesFor(seed % 4 === 0 ? 'euclidean' : 'iou');
      const frames = scene(1000 + seed, 2 + (seed % 6));
      // feeds that are empty for a while
      if (seed % 3 === 0) frames.splice(8, 4, ...frames.slice(8, 12).map((frame) => ({ ...frame, tracker: [] })));
      if (seed % 5 === 0) frames.splice(15, 2, { reference: [], tracker: [] }, { ...frames[16], reference: [] });
      const windowFrames = 1 + (seed % 9);
      const window = new ScoreWindow(windowFrames, rule);
      frames.forEach((frame, n) => {
        window.push(packFrame(frame, rule.kind, 0, 'frame'));
        const last = frames.slice(Math.max(0, n + 1 - windowFrames), n + 1);
        const place = `seed ${seed}, frame ${n}, window ${windowFrames}`;
        same(window.scores(), scoreFrames(last, rule), place, 1e-12);
      });
    }
  });

  it('slide over crowds, where a frame that leaves changes the matching of those behind it', function () {
    skipInFastRun(this);
    // two truths side by side, and tracks between them that drift: whoever was first keeps its track
    const random = randomFrom(3);
    const frames: Frame[] = Array.from({ length: 200 }, (_, k) => ({
      reference: [box('a', 0), box('b', 2), box('c', 4)],
      tracker: [1, 2, 3, 4].map((n) => box(`t${n}`, n + 2 * Math.sin(k / 7 + n) * random())),
    }));
    const window = new ScoreWindow(25);
    frames.forEach((frame, n) => {
      window.push(packFrame(frame, 'iou', 0, 'frame'));
      const last = frames.slice(Math.max(0, n - 24), n + 1);
      same(window.scores(), naiveScores(last, overlap), `frame ${n}`);
    });
  });

  it('forget what has left the window', () => {
    const window = new ScoreWindow(3);
    for (let k = 0; k < 500; k++)
      window.push(packFrame({ reference: [box(`r${k}`, 0)], tracker: [box(`t${k}`, 1)] }, 'iou', 0, 'frame'));
    const { truthIds, trackIds, truths, matched } = window.totals();
    assert.deepEqual([truthIds, trackIds, truths, matched], [3, 3, 3, 3]);
  });

  it('combine sequences by adding what they are made of', () => {
    const { scene } = scenesFor('iou');
    const [first, second] = [scene(1, 4), scene(2, 4)];
    const rename = (objects: Obj[]) => objects.map((object) => ({ ...object, id: `2-${object.id}` }));
    const apart = second.map(({ reference, tracker }) => ({ reference: rename(reference), tracker: rename(tracker) }));
    const joined = scoreFrames([...first, { reference: [], tracker: [] }, ...apart]);
    const added = scoresOf(addTotals([scoreTotals(first), scoreTotals(second)]));
    // Frag and MOTA see the border only through the frame before, whose tracks have other names
    same(added, joined, 'two sequences');
  });

  it('speak of nothing where nothing is', () => {
    same(scoreFrames([]), naiveScores([], overlap), 'no frames');
    const onlyTruths = [{ reference: [box('a', 0)], tracker: [] }];
    const onlyTracks = [{ reference: [], tracker: [box('a', 0)] }];
    same(scoreFrames(onlyTruths), naiveScores(onlyTruths, overlap), 'only truths');
    same(scoreFrames(onlyTracks), naiveScores(onlyTracks, overlap), 'only tracks');
    assert.equal(scoreFrames(onlyTruths).ML, 1);
  });

  it('refuse a similarity that makes no sense, and frames that do not fit it', () => {
    assert.throws(
      () => new ScoreWindow(5, { kind: 'euclidean', zeroDistance: 0 }),
      /zeroDistance: must be a number above 0/,
    );
    assert.throws(() => new ScoreWindow(0), /windowFrames: must be a whole number of frames/);
    assert.throws(() => scoreFrames([{ reference: [{ id: 'a', point: [1, 2] }], tracker: [] }]), /frames\[0\]/);
  });
});

describe('the published toy examples', () => {
  const FAR = 1000;
  const truths = [box('1', 0), box('2', 100)];
  const two = (first: Obj[], second: Obj[]): Frame[] => [
    { reference: truths, tracker: first },
    { reference: truths, tracker: second },
  ];
  const examples: Record<string, Frame[]> = {
    Ex1: two([box('a', 0), box('b', 100)], [box('b', 0), box('a', 100)]),
    Ex2: two([box('a', 0), box('b', 100)], [box('a', 0), box('b', FAR)]),
    Ex3: two([box('a', 0), box('b', FAR)], [box('a', 0), box('b', FAR)]),
    Ex4: two([], []),
    Ex5: two([box('a', FAR)], [box('a', FAR)]),
  };
  const load = () => JSON.parse(readFileSync('test/cases/reference/paper-tables.json', 'utf8')).toyExamples;
  const distance = (name: string, cutoff: number, switchPenalty: number) =>
    evaluate(examples[name], profile({ distance: 'iou', cutoff, exponent: 1, switchPenalty })).distance;

  it('have the HOTA that was printed', () => {
    for (const [name, value] of Object.entries(load().HOTA as Record<string, number>))
      assert.ok(Math.abs(scoreFrames(examples[name]).HOTA - value) < 5e-5, name);
  });

  it('have the TGOSPA distance that was printed, in terms of the cut-off and the switch penalty', () => {
    const c = 0.5;
    const printed = load()['distance (p=1)'];
    const words: Record<string, number> = { '2*gamma (two switches)': 2 * 0.3, '2c': 2 * c, c, '3c': 3 * c };
    assert.ok(Math.abs(distance('Ex1', c, 0.3) - words[printed['Ex1, gamma<c']]) < 1e-12);
    assert.ok(Math.abs(distance('Ex1', c, 0.7) - words[printed['Ex1, gamma>c']]) < 1e-12);
    for (const name of ['Ex2', 'Ex3', 'Ex4', 'Ex5'])
      assert.ok(Math.abs(distance(name, c, 0.3) - words[printed[name]]) < 1e-12, name);
  });

  it('rank two trackers by HOTA as no metric would: Ex1 and Ex3 are the same to it', () => {
    assert.equal(scoreFrames(examples.Ex1).HOTA, scoreFrames(examples.Ex3).HOTA);
    assert.ok(distance('Ex1', 0.5, 0.3) < distance('Ex3', 0.5, 0.3));
  });

  it('show that 1 - HOTA breaks the triangle inequality, and TGOSPA does not', () => {
    const sets = { X: [box('A', 0)], Y: [box('A', 0), box('B', 100)], Z: [box('B', 100)] };
    const compare = (one: keyof typeof sets, other: keyof typeof sets) => {
      const frames = [{ reference: sets[one], tracker: sets[other] }];
      const params = profile({ distance: 'iou', cutoff: 0.5, exponent: 1, switchPenalty: 0.3 });
      return { hota: scoreFrames(frames).HOTA, distance: evaluate(frames, params).distance };
    };
    const [xz, xy, yz] = [compare('X', 'Z'), compare('X', 'Y'), compare('Y', 'Z')];
    assert.equal(xz.hota, 0);
    for (const { hota } of [xy, yz]) assert.ok(Math.abs(hota - Math.SQRT1_2) < 1e-12);
    assert.ok(1 - xz.hota > 1 - xy.hota + (1 - yz.hota), 'the counter-example is one');
    assert.ok(xz.distance <= xy.distance + yz.distance + 1e-12);
  });
});

describe('TrackEval', () => {
  interface Row {
    tracker: string;
    sequence: string;
    preprocessing: boolean;
    scores: Record<string, number>;
  }

  it('has the same numbers for every tracker file, with and without preprocessing', function () {
    skipInFastRun(this);
    skipUnless(
      this,
      existsSync(new URL('data', shared)) && existsSync(new URL('reference/trackeval.json', shared)),
      '../shared/data and ../shared/reference are needed here',
    );
    const rows: Row[] = JSON.parse(readFileSync(new URL('reference/trackeval.json', shared), 'utf8'));
    assert.ok(rows.length >= 14);
    for (const { tracker, sequence, preprocessing, scores } of rows) {
      const benchmark = sequence.slice(0, 5);
      const open = (path: string) => readFileSync(new URL(`data/${benchmark}/${path}`, shared), 'latin1');
      const reference = readMotChallenge(open(`train/${sequence.replace('-FRCNN', '')}/gt/gt.txt`), {
        kind: 'reference',
        file: 'reference',
      });
      const feed = readMotChallenge(open(`results/${tracker}/${sequence}.txt`), { kind: 'tracker', file: 'tracker' });
      const rules = benchmark === 'MOT20' ? 'mot20' : 'motchallenge';
      const totals = scoreTotals(alignMotChallenge(reference, feed, preprocessing ? rules : undefined));
      const { truths, tracks, matched, identityMatched } = totals;
      const found: Record<string, number> = {
        ...scoresOf(totals),
        ...{ CLR_TP: matched, CLR_FN: truths - matched, CLR_FP: tracks - matched },
        ...{ IDTP: identityMatched, IDFN: truths - identityMatched, IDFP: tracks - identityMatched },
        ...{ GT_Dets: truths, Dets: tracks, GT_IDs: totals.truthIds, IDs: totals.trackIds },
      };
      for (const [name, value] of Object.entries(scores))
        assert.ok(
          Math.abs(found[name] - value) <= 1e-6,
          `${tracker} ${sequence}, preprocessing ${preprocessing}: ${name} is ${found[name]}, TrackEval says ${value}`,
        );
    }
  });
});
