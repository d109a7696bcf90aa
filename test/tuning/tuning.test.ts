/**
 * The method of choosing parameters: increments and intervals against counting by hand, the published choices, and what
 * is said when nothing can be chosen.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { alignMotChallenge, readMotChallenge } from '../../adapters/formats/motchallenge.js';
import { evaluate, type Frame, InputError, presets, type TuningSample, tune } from '../../src/index.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { emptyHistogram, proposeBoundaries } from '../../src/tuning/intervals.js';
import { skipInFastRun, skipUnless } from '../kit/system/system.js';

const paper = JSON.parse(
  readFileSync(new URL('../../../test/cases/reference/paper-tables.json', import.meta.url), 'utf8'),
);
const SHARES = { growthShare: 0.05, distantShare: 0.01 };
const noScores = { scores: false } as const;
const scene = crossingScene().trackers.map(({ name, frames }): TuningSample => ({ tracker: name, frames }));

/**
 * Truths far from each other, one for each distance, each with a track at that distance; `perFrame` of them in a frame.
 */
function lineUp(
  distances: number[],
  perFrame = 20,
  ids: (index: number) => string = (index) => `${index % perFrame}`,
): Frame[] {
  const frames: Frame[] = [];
  distances.forEach((distance, index) => {
    const at = (index % perFrame) * 1000;
    const frame = index % perFrame === 0 ? { reference: [], tracker: [] } : frames[frames.length - 1];
    if (index % perFrame === 0) frames.push(frame);
    (frame as Frame).reference.push({ id: `${index % perFrame}`, point: [at, 0] });
    (frame as Frame).tracker.push({ id: ids(index), point: [at + distance, 0] });
  });
  return frames;
}

/** `counts[n]` distances inside step n of `width`. */
function spread(counts: number[], width: number): number[] {
  return counts.flatMap((count, step) =>
    Array.from({ length: count }, (_, index) => width * (step + (index + 0.5) / count)),
  );
}

function problemsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof InputError, String(error));
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return assert.fail('nothing was wrong');
}

function boundariesOf(pairs: number[]) {
  return proposeBoundaries({ ...emptyHistogram(pairs.length, pairs.length), pairs }, SHARES);
}

describe('the intervals', () => {
  it('end growth below the first share and the plateau below the second', () => {
    // means of three: 4.7 % at step 5, 0.67 % at step 14
    const pairs = [400, 1000, 300, 60, 50, 50, 40, 40, 40, 40, 40, 40, 40, 20, 0, 0, 0, 3, 0, 0];
    assert.deepEqual(boundariesOf(pairs), { plateauFrom: 5, plateauTo: 14, lastPair: 18 });
  });

  it('are not ended by one empty step', () => {
    const pairs = [400, 1000, 300, 60, 50, 50, 40, 0, 40, 40, 0, 40, 40, 20, 0, 0, 0, 3, 0, 0];
    assert.deepEqual(boundariesOf(pairs), { plateauFrom: 5, plateauTo: 14, lastPair: 18 });
  });

  it('give a plateau twice its beginning where hardly anything follows, but no second hill', () => {
    const quiet = [0, 500, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert.deepEqual(boundariesOf(quiet), { plateauFrom: 4, plateauTo: 8, lastPair: 3 });
    const hill = [0, 500, 1000, 0, 0, 0, 0, 300, 300, 0, 0, 0, 0, 0, 0, 0];
    assert.deepEqual(boundariesOf(hill), { plateauFrom: 4, plateauTo: 6, lastPair: 9 });
  });

  it('have no plateau where increments never fall', () => {
    assert.equal(boundariesOf(new Array(20).fill(50)), null);
    assert.equal(boundariesOf(new Array(20).fill(0)), null);
  });
});

describe('tune', () => {
  const counts = [40, 200, 300, 150, 60, 20, 4, 3, 3, 4, 3, 3, 4, 3, 3, 2, 0, 1, 0, 0, 0, 1, 0, 0];
  const samples: TuningSample[] = [{ tracker: 'radar', frames: lineUp(spread(counts, 0.5)) }];
  const options = { ...noScores, reach: 12, steps: 24 };

  it('counts pairs and adds up distances in every step', () => {
    const { histogram, pairs, distance, kind, reach } = tune(samples, options);
    assert.deepEqual({ distance, kind, reach }, { distance: 'euclidean', kind: 'point', reach: 12 });
    assert.deepEqual(histogram.pairs, counts);
    assert.equal(
      pairs,
      counts.reduce((sum, count) => sum + count, 0),
    );
    counts.forEach((count, step) => {
      assert.ok(
        Math.abs(histogram.localization[step] - count * 0.5 * (step + 0.5)) < 1e-9 * (1 + count),
        `step ${step}`,
      );
    });
  });

  it('puts the four intervals from 0 to the reach, with every pair in one of them', () => {
    const { intervals, pairs, plateau } = tune(samples, options);
    assert.deepEqual(
      intervals.map(({ name }) => name),
      ['growth', 'plateau', 'distant', 'none'],
    );
    assert.equal(intervals[0].from, 0);
    assert.equal(intervals[3].to, 12);
    for (let n = 1; n < 4; n++) assert.equal(intervals[n].from, intervals[n - 1].to);
    assert.equal(
      intervals.reduce((sum, one) => sum + one.pairs, 0),
      pairs,
    );
    assert.deepEqual(plateau, { from: 3, to: 7, given: false });
    assert.deepEqual(intervals[2], { name: 'distant', from: 7, to: 11, pairs: 7 });
  });

  it('chooses the middle of the plateau, and an admissible error of its beginning or half the cut-off', () => {
    assert.deepEqual(tune(samples, options).candidate?.words, {
      distance: 'euclidean',
      cutoff: 5,
      admissibleError: 3,
      shortSwitchDistance: 1.5,
    });
    const wide = tune(samples, { ...options, plateau: [1, 9] }).candidate;
    assert.deepEqual([wide?.words.cutoff, wide?.words.admissibleError, wide?.params.exponent], [5, 2.5, 1]);
  });

  it('keeps the exponent reasonable in a narrow plateau', () => {
    const narrow = tune(samples, { ...options, plateau: [6, 6.4] });
    assert.deepEqual([narrow.candidate?.words.cutoff, narrow.candidate?.words.admissibleError], [6.2, 4.65]);
    for (const { exponent } of [narrow.candidate!.params, ...narrow.alternatives])
      assert.ok(exponent >= 1 && exponent < 2.42, `${exponent}`);
  });

  it('can be told anything it would otherwise choose', () => {
    const own = {
      plateau: [2, 6] as [number, number],
      admissibleError: 3,
      longSwitchFrames: 8,
      missShare: 0.7,
      name: 'mine',
    };
    const { plateau, candidate, intervals } = tune(samples, { ...options, ...own });
    assert.deepEqual(plateau, { from: 2, to: 6, given: true });
    assert.deepEqual(candidate?.words, {
      distance: 'euclidean',
      cutoff: 4,
      admissibleError: 3,
      longSwitchFrames: 8,
      missShare: 0.7,
    });
    assert.equal(candidate?.name, 'mine');
    assert.deepEqual(
      intervals.map(({ from }) => from),
      [0, 2, 6, 11],
    );
    const direct = tune(samples, { ...options, cutoff: 5, exponent: 2, switchPenalty: 1 }).candidate;
    assert.deepEqual(direct?.params, { distance: 'euclidean', cutoff: 5, exponent: 2, switchPenalty: 1 });
    const earlier = tune(samples, { ...options, growthShare: 0.2, distantShare: 0.1 }).plateau;
    assert.ok(earlier && earlier.from < 3, `${earlier?.from}`);
  });

  it('finds how far to look by itself', () => {
    const { reach } = tune(samples, noScores);
    // the median is about 1.1
    assert.equal(reach, 20);
    assert.equal(tune([{ tracker: 'same', frames: lineUp([0, 0, 0]) }], { ...noScores, cutoff: 1 }).reach, 1);
  });

  it('assigns each frame for the least total, not greedily', () => {
    const frames = [
      {
        reference: [
          { id: 'a', point: [0] },
          { id: 'b', point: [3] },
        ],
        tracker: [
          { id: '1', point: [2] },
          { id: '2', point: [6] },
        ],
      },
    ];
    // greedy would take b-1 (1) and leave a-2 (6)
    const { histogram } = tune([{ tracker: 'x', frames }], { ...noScores, reach: 8, steps: 8, cutoff: 5 });
    assert.deepEqual(histogram.pairs, [0, 0, 1, 1, 0, 0, 0, 0]);
  });

  it('adds up distances, not their squares, when it assigns', () => {
    const frames = [
      {
        reference: [
          { id: 'a', point: [0, 0] },
          { id: 'b', point: [0.657, 3.1815] },
        ],
        tracker: [
          { id: '1', point: [1, 0] },
          { id: '2', point: [-3.2, 0] },
        ],
      },
    ];
    // 1 + 5 is less than 3.2 + 3.2, but its squares are more
    const { histogram } = tune([{ tracker: 'x', frames }], { ...noScores, reach: 8, steps: 8, cutoff: 5 });
    assert.deepEqual([histogram.pairs[1], histogram.pairs[3]], [1, 0]);
  });

  it('shows pairs in order of distance, each as it lies in its sample', () => {
    const { examples, histogram } = tune(samples, options);
    assert.equal(examples.length, histogram.pairs.filter((count) => count > 0).length);
    examples.forEach((pair, index) => {
      if (index > 0) assert.ok(pair.distance > examples[index - 1].distance);
      const { reference, tracker } = samples[0].frames[pair.frame];
      assert.ok(reference.includes(pair.truth) && tracker.includes(pair.track));
      const [truth, track] = [pair.truth, pair.track] as Array<{ point: number[] }>;
      assert.ok(Math.abs(track.point[0] - truth.point[0] - pair.distance) < 1e-9);
    });
  });

  it('takes boxes, their centres, and latitudes with longitudes', () => {
    assert.equal(tune(scene, noScores).distance, 'iou');
    const centres = tune(scene, { ...noScores, distance: 'euclidean' });
    assert.equal(centres.distance, 'euclidean');
    assert.ok(centres.candidate && centres.reach > 1);
    assert.ok('box' in centres.examples[0].truth, 'the pairs to look at stay boxes');
    // of latitude, about 60 degrees north
    const metres = 1 / 111_415;
    const ships = lineUp(spread(counts, 25)).map(({ reference, tracker }) => {
      const onEarth = ({ id, point: [x] }: { id: string; point: number[] }) => ({
        id,
        point: [59 + x * metres * 10, 10],
      });
      // 10 km between ships, and the offsets as they are
      return {
        reference: (reference as Array<{ id: string; point: number[] }>).map(onEarth),
        tracker: (tracker as Array<{ id: string; point: number[] }>).map((one, index) => ({
          id: one.id,
          point: [59 + (index * 10_000 + (one.point[0] - index * 1000)) * metres, 10],
        })),
      };
    });
    const { histogram, candidate } = tune([{ tracker: 'ais', frames: ships }], {
      ...noScores,
      distance: 'geodesic',
      reach: 600,
      steps: 24,
    });
    assert.deepEqual(histogram.pairs, counts);
    assert.equal(candidate?.words.cutoff, 250);
    assert.match(candidate?.explanation[0] ?? '', /250 m apart or more/);
  });

  it('sees detections by their tracks of one frame, and gives them no switch penalty', () => {
    const detections = lineUp(spread(counts, 0.5), 20, (index) => `det:${index}`);
    const { candidate, trackers } = tune([{ tracker: 'frcnn', frames: detections }], options);
    assert.equal(trackers[0].detector, true);
    assert.equal(candidate?.params.switchPenalty, 0);
    assert.equal(tune(samples, options).trackers[0].detector, false);
  });

  it('scores each tracker under the candidate and the presets, as evaluate does', () => {
    const tuning = tune(scene, { budgetMs: 600_000 });
    const profiles = ['tuned', ...Object.keys(presets)];
    assert.deepEqual(
      tuning.scores.map(({ profile, tracker }) => `${profile} ${tracker}`),
      profiles.flatMap((profile) => ['steady', 'loose', 'faulty'].map((tracker) => `${profile} ${tracker}`)),
    );
    for (const { tracker, profile, distance, cost, count, exact } of tuning.scores) {
      const params = profile === 'tuned' ? tuning.candidate!.params : presets[profile as keyof typeof presets];
      const expected = evaluate(scene.find((one) => one.tracker === tracker)!.frames, params);
      assert.ok(Math.abs(distance - expected.distance) < 1e-9);
      assert.deepEqual({ cost, count, exact }, { cost: expected.cost, count: expected.count, exact: true });
    }
  });

  it('adds up the samples of one tracker', () => {
    const [{ frames }] = scene;
    const halves = [frames.slice(0, 150), frames.slice(150)].map((part, index) => ({
      tracker: 'steady',
      sequence: `part ${index + 1}`,
      frames: part,
    }));
    const tuning = tune(halves, { budgetMs: 600_000 });
    assert.equal(tuning.trackers.length, 1);
    const [score] = tuning.scores.filter(({ profile }) => profile === 'online-surveillance');
    const parts = halves.map((half) => evaluate(half.frames, presets['online-surveillance']));
    const total = parts[0].cost.total + parts[1].cost.total;
    assert.ok(Math.abs(score.cost.total - total) < 1e-9);
    assert.ok(Math.abs(score.distance - total ** (1 / presets['online-surveillance'].exponent)) < 1e-9);
    assert.equal(score.frames, 300);
    assert.equal(score.count.proper, parts[0].count.proper + parts[1].count.proper);
  });

  it('scores points under the candidate alone', () => {
    const scores = tune(samples, { reach: 12, steps: 24 }).scores;
    assert.deepEqual(
      scores.map(({ profile }) => profile),
      ['tuned'],
    );
  });

  it('tells whoever watches how far it is', () => {
    const steps: string[] = [];
    let frames = 0;
    const watch = {
      start: ({ label, step, steps: all, total }: { label: string; step: number; steps: number; total: number }) => {
        steps.push(`${step}/${all} ${label} ${total}`);
      },
      tick: () => {
        frames++;
      },
    };
    tune([scene[0]], { watch });
    assert.deepEqual(steps, [
      '1/5 steady 300',
      '2/5 steady, tuned 300',
      '3/5 steady, detector-training 300',
      '4/5 steady, online-surveillance 300',
      '5/5 steady, offline-scene-understanding 300',
    ]);
    assert.equal(frames, 1500);
  });

  describe('on the published plateaus', () => {
    const detections: TuningSample[] = scene.map(({ tracker, frames }) => ({
      tracker,
      frames: frames.map((frame, index) => ({
        reference: frame.reference,
        tracker: frame.tracker.map((one) => ({ ...one, id: `det:${index}:${one.id}` })),
      })),
    }));
    const [a, b, c] = paper.occlusionScenario.combinations as Array<{
      name: string;
      cutoff: number;
      admissibleError: number;
    }>;
    const forDetections: [number, number] = [b.admissibleError, a.cutoff];
    const forTrackers: [number, number] = [0.34, 0.66];

    it('makes the published choice for detectors', () => {
      const { candidate } = tune(detections, { ...noScores, plateau: forDetections });
      const { distance, cutoff, admissibleError, switchPenalty } = paper.detectors.profile;
      assert.deepEqual(candidate?.words, { distance, cutoff, admissibleError, switchPenalty });
      assert.deepEqual(candidate?.params, presets['detector-training']);
      assert.equal(candidate?.params.exponent.toFixed(2), String(paper.detectors.exponentPrinted));
    });

    it('names the two other published combinations beside it', () => {
      const { alternatives } = tune(detections, { ...noScores, plateau: forDetections });
      assert.deepEqual(
        alternatives.map(({ cutoff, admissibleError }) => ({ cutoff, admissibleError })),
        [a, c].map(({ cutoff, admissibleError }) => ({ cutoff, admissibleError })),
      );
    });

    it('makes the published choice for surveillance', () => {
      const { candidate } = tune(scene, { ...noScores, plateau: forTrackers });
      assert.deepEqual(candidate?.params, presets['online-surveillance']);
    });

    it('makes the published choice for understanding scenes, whose admissible error and frames are asked for', () => {
      const asked = { admissibleError: 0.25, longSwitchFrames: 10 };
      const { candidate } = tune(scene, { ...noScores, plateau: forTrackers, ...asked });
      assert.deepEqual(candidate?.params, presets['offline-scene-understanding']);
    });
  });

  describe('when something is wrong', () => {
    it('says which tracker is too loose to tell anything, and proposes nothing', () => {
      const frames = lineUp(spread(new Array(24).fill(30), 0.5));
      const { candidate, plateau, warnings, trackers, intervals } = tune([{ tracker: 'sloppy', frames }], options);
      assert.deepEqual([candidate, plateau], [null, null]);
      assert.equal(trackers[0].loose, true);
      assert.match(warnings[0], /^sloppy is too loose to tell anything/);
      assert.match(warnings[1], /^No plateau was found/);
      assert.equal(intervals[0].pairs, 24 * 30);
      const given = tune([{ tracker: 'sloppy', frames }], { ...options, plateau: [2, 4] });
      assert.equal(given.candidate?.words.cutoff, 3);
    });

    it('says when there is no pair, or too few', () => {
      const far = [{ reference: [{ id: 'a', point: [0] }], tracker: [{ id: '1', point: [500] }] }];
      const none = tune([{ tracker: 'elsewhere', frames: far }], { ...noScores, reach: 10 });
      assert.match(none.warnings[0], /^No pair is closer than 10: check that reference and tracker show the same/);
      assert.equal(none.candidate, null);
      const few = tune([{ tracker: 'short', frames: lineUp([1, 1, 1, 2]) }], noScores);
      assert.match(few.warnings[0], /^Only 4 pairs/);
      const both = tune([...samples, { tracker: 'elsewhere', frames: far }], options);
      assert.match(both.warnings[0], /^elsewhere has no pair closer than 12/);
    });

    it('says when truths are closer to each other than pairs are', () => {
      const dense = lineUp(spread(counts, 500)); // truths are 1000 apart, the plateau starts at 3000
      const { warnings } = tune([{ tracker: 'feet', frames: dense }], {
        ...noScores,
        plateau: [3000, 7000],
        reach: 12_000,
      });
      assert.match(warnings.at(-1) ?? '', /starts at 3000, but truths are usually only 1000 apart/);
      assert.deepEqual(tune(samples, options).warnings, []);
    });

    it('says when a tracker has nothing at all', () => {
      const frames = samples[0].frames.map(({ reference }) => ({ reference, tracker: [] }));
      const { warnings, trackers, candidate } = tune([{ tracker: 'off', frames }], options);
      assert.deepEqual(warnings, ['off has no object in any frame.']);
      assert.deepEqual([trackers[0].loose, candidate], [false, null]);
    });

    it('says when boxes that hardly overlap would be right pairs', () => {
      const { warnings } = tune(scene, { ...noScores, plateau: [0.65, 0.9] });
      assert.match(warnings[0], /^The plateau starts only at 0\.65: boxes that hardly overlap/);
    });

    it('says when a cut-off lies outside the plateau', () => {
      assert.match(
        tune(samples, { ...options, cutoff: 2 }).warnings[0],
        /cut-off of 2 is outside the plateau \(3 to 7\)/,
      );
    });

    it('lists every mistake in the options', () => {
      const wrong = {
        reach: -1,
        steps: 3,
        growthShare: 2,
        windowFrames: 0,
        plateau: [3, 2] as [number, number],
        exponent: 1,
        admissibleError: 1,
        switchPenalty: 1,
        longSwitchFrames: 2,
      };
      const problems = problemsOf(() => tune(samples, wrong));
      assert.deepEqual(
        problems.map((problem) => problem.split(':')[0]),
        ['reach', 'steps', 'growthShare', 'plateau', 'windowFrames', 'exponent', 'switchPenalty'],
      );
      assert.match(problemsOf(() => tune([], {}))[0], /^samples: give at least one/);
      assert.match(problemsOf(() => tune([{ tracker: 'x', frames: [] }], {}))[0], /^samples: have no object/);
      assert.match(
        problemsOf(() => tune(samples, { ...options, plateau: [3, 13] }))[0],
        /^plateau: must end at the reach of 12/,
      );
    });

    it('lists the mistakes of all samples, each with its name', () => {
      const bad = (width: number): Frame[] => [
        { reference: [{ id: 'a', box: [0, 0, 5, 5] }], tracker: [{ id: '1', box: [0, 0, width, 5] }] },
      ];
      const two: TuningSample[] = [
        { tracker: 'one', sequence: 'gate', frames: bad(-1) },
        { tracker: 'two', frames: bad(0) },
      ];
      assert.deepEqual(
        problemsOf(() => tune(two, noScores)).map((problem) => problem.split('.tracker')[0]),
        ['one, gate: frames[0]', 'two: frames[0]'],
      );
    });
  });

  describe('on real sequences', () => {
    const data = new URL('../../../../shared/data/MOT17/', import.meta.url);
    before(function () {
      skipUnless(this, existsSync(data), `${fileURLToPath(data)} is needed here`);
    });
    const read = (kind: 'reference' | 'tracker', path: string) =>
      readMotChallenge(readFileSync(new URL(path, data), 'utf8'), { kind, file: path });
    const sample = (tracker: string, path: string): TuningSample => ({
      tracker,
      frames: alignMotChallenge(read('reference', 'train/MOT17-09/gt/gt.txt'), read('tracker', path)),
    });
    const detector = (name: string) => sample(name, `train/MOT17-09-${name}/det/det.txt`);

    it('finds a plateau around the published choice for FRCNN detections, and none for DPM', () => {
      const { plateau, candidate, trackers } = tune([detector('FRCNN')], noScores);
      assert.deepEqual(plateau, { from: 0.175, to: 0.45, given: false });
      assert.ok(plateau.from <= 0.255 && plateau.to >= 0.255);
      assert.equal(candidate?.params.switchPenalty, 0);
      assert.equal(trackers[0].detector, true);
      const dpm = tune([detector('DPM')], noScores);
      assert.equal(dpm.candidate, null);
      assert.equal(dpm.trackers[0].loose, true);
    });

    it('finds the plateau of a radar, in metres', function () {
      const folder = new URL('../radar-autoferry/', data);
      skipUnless(this, existsSync(folder), `${fileURLToPath(folder)} is needed here`);
      const { plateau, reach, candidate, trackers } = tune(['scenario2', 'scenario13'].map(radarOf), noScores);
      assert.deepEqual([plateau, reach], [{ from: 12.5, to: 25, given: false }, 50]);
      assert.deepEqual([candidate?.words.cutoff, candidate?.words.admissibleError], [18.75, 12.5]);
      assert.equal(trackers[0].pairs, 240);
    });

    /** Radar returns, relative to the own ship, and the positions of two boats at the same time. */
    function radarOf(scenario: string): TuningSample {
      const file = (name: string) =>
        JSON.parse(readFileSync(new URL(`../radar-autoferry/${scenario}/${scenario}_${name}.json`, data), 'utf8'));
      const boats: Array<Array<{ targetID: number; position: number[] }>> = file('groundTruth');
      const returns: Array<{ sensorID: number; measurement: number[] | number[][]; ownshipPosition: number[] }> =
        file('detections');
      const frames = returns.flatMap(({ sensorID, measurement, ownshipPosition: [north, east] }, index) => {
        if (sensorID !== 2) return [];
        // several returns are a row of norths and a row of easts, a single one is a pair
        const rows = (Array.isArray(measurement[0]) ? measurement : measurement.map((value) => [value])) as number[][];
        const points = (rows[0] ?? []).map((value, n) => [value + north, rows[1][n] + east]);
        return [
          {
            reference: boats[index].map(({ targetID, position }) => ({
              id: `${targetID}`,
              point: position.slice(0, 2),
            })),
            tracker: points.map((point, n) => ({ id: `${index}:${n}`, point })),
          },
        ];
      });
      return { tracker: 'radar', sequence: scenario, frames };
    }

    it('gives the published scores of the detectors from the published plateau', function () {
      skipInFastRun(this);
      const names = ['FRCNN', 'SDP', 'DPM'];
      const tuning = tune(names.map(detector), { plateau: [0.17, 0.34], budgetMs: 1 });
      const rows = paper.detectors.rows as Array<Record<string, number>>;
      names.forEach((name, index) => {
        const score = tuning.scores.find(({ profile, tracker }) => profile === 'tuned' && tracker === name)!;
        assert.ok(Math.abs(score.distance - rows[index].distance) < 1e-3, `${name}: ${score.distance}`);
        assert.deepEqual(
          [score.count.proper, score.count.missed, score.count.false],
          [rows[index].proper, rows[index].missedCount, rows[index].falseCount],
        );
        assert.equal(score.exact, true);
      });
    });
  });
});
