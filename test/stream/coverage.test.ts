/**
 * What is judged live: a harbour whose reference knows only ships with transponders, a camera with ignored regions, an
 * object marked by the reference; and what trackers say about it, which counts for nothing.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { evaluate, presets } from '../../src/index.js';
import { reportMessage } from '../../src/wire/events.js';
import type { WireObject } from '../../src/wire/objects.js';
import { type ObjectReport, pack, packReports } from '../../src/wire/objects.js';
import { type Random, randomFrom } from '../kit/random.js';
import { NAME, StreamRun } from '../kit/stream-run.js';
import { skipInFastRun, skipUnless } from '../kit/system/system.js';

const FILE = fileURLToPath(new URL('../../../../shared/data/adsb-ais/SolentAIS_20160112_130211.csv', import.meta.url));
const RADAR: [number, number] = [50.8, -1.11];
const RANGE_M = 20_000;
const SCAN_S = 2.5;
const SCANS = 30;
const GAP_S = 190;
const DEGREE_M = 111_195;

function aisReports(): ObjectReport[] {
  const [, ...lines] = readFileSync(FILE, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [time, id, latitude, longitude] = line.split(',');
    return { id, t: Date.parse(`${time.replace(' ', 'T')}Z`) / 1000, point: [Number(latitude), Number(longitude)] };
  });
}

/** Where ships with a transponder are, between two reports. */
function shipsAt(reports: readonly ObjectReport[]): (t: number) => WireObject[] {
  const ways = new Map<string, ObjectReport[]>();
  for (const report of reports) {
    const way = ways.get(report.id) ?? [];
    ways.set(report.id, way);
    if (way.at(-1)?.t !== report.t) way.push(report);
  }
  return (t) =>
    [...ways].flatMap(([id, way]) => {
      const at = way.findLastIndex((one) => one.t <= t);
      const [from, to] = [way[at], way[at + 1]];
      if (!from || !to || to.t - from.t > GAP_S) return [];
      const share = (t - from.t) / (to.t - from.t);
      return [{ id, point: from.point!.map((value, d) => value + (to.point![d] - value) * share) }];
    });
}

const metres = ([latitude, longitude]: number[], [otherLatitude, otherLongitude]: number[]) =>
  DEGREE_M *
  Math.hypot(latitude - otherLatitude, (longitude - otherLongitude) * Math.cos((otherLatitude * Math.PI) / 180));

const gauss = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const harbour = (coverage: object) => ({
  profiles: { radar: { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } },
  streams: {
    [NAME]: {
      profiles: ['radar'],
      windowFrames: 200,
      pairing: { latenessMs: GAP_S * 1000, silenceMs: 1e7, bufferFrames: 8000 },
      reports: { greatestGapMs: GAP_S * 1000 },
      coverage,
    },
  },
});

/** Scans of a radar with twelve boats nobody else knows, and how many ships well inside its range it did not see. */
function judgeHarbour(coverage: object): { run: StreamRun; missed: number; seen: number; atBorder: number } {
  const reports = aisReports();
  const truthsAt = shipsAt(reports);
  const random = randomFrom(11);
  const run = new StreamRun(harbour(coverage));
  const first = reports[0].t + 200;
  const last = first + SCANS * SCAN_S;
  run.open('reference', '@ais', first * 1000);
  run.open('tracker', 'radar', first * 1000);
  for (const report of reports.filter(({ t }) => t <= last + GAP_S + 10))
    run.part('reference', '@ais', first * 1000, { objects: packReports([report], 'point', 2), reports: true });
  let missed = 0;
  let seen = 0;
  let atBorder = 0;
  for (let n = 0; n < SCANS; n++) {
    const t = first + n * SCAN_S;
    const tracks: WireObject[] = [];
    for (const { id, point } of truthsAt(t)) {
      const range = metres(point!, RADAR);
      const isSeen = range < RANGE_M && random() < 0.9;
      if (isSeen) tracks.push({ id: `t${id}`, point: point!.map((value) => value + (15 / DEGREE_M) * gauss(random)) });
      if (range < RANGE_M && !isSeen) missed++;
      if (isSeen) seen++;
      // the test measures on a sphere
      if (Math.abs(range - RANGE_M) < 0.006 * RANGE_M) atBorder++;
    }
    for (let boat = 0; boat < 12; boat++)
      tracks.push({ id: `boat${boat}`, point: [RADAR[0] - 0.1 + boat * 0.012 + n * 2e-5, RADAR[1] + 0.03 + n * 1e-5] });
    run.part('tracker', 'radar', t * 1000, { t, objects: pack(tracks) });
  }
  run.end('reference', '@ais', last * 1000);
  run.end('tracker', 'radar', last * 1000);
  return { run, missed, seen, atBorder };
}

describe('a harbour whose reference knows only ships with transponders', () => {
  before(function () {
    skipUnless(this, existsSync(FILE), 'SolentAIS_20160112_130211.csv is not in ../shared/data/adsb-ais');
  });

  it('has no false objects, and the misses that were simulated', function () {
    skipInFastRun(this);
    const within = [{ sector: { at: RADAR, range: [0, RANGE_M] } }];
    const { run, missed, seen, atBorder } = judgeHarbour({ reference: 'transponder', within });
    const { count } = run;
    assert.equal(count.false, 0);
    assert.ok(missed > 40, `${missed}`);
    // of ships moored beside each other one may be taken for the other: a few misses more
    assert.ok(atBorder < 0.1 * missed, `${atBorder} at the border`);
    assert.ok(Math.abs(count.missed - missed) <= atBorder + 0.05 * missed, `${count.missed} of ${missed}`);
    assert.ok(Math.abs(count.proper - seen) <= atBorder + 0.005 * seen, `${count.proper} of ${seen}`);
    const { totals } = run.reports.at(-2)!.notJudged!;
    assert.ok(totals.tracker.unequipped! >= 12 * (SCANS - 1), JSON.stringify(totals));
  });
});

const camera = (own: object = {}) => ({ streams: { [NAME]: { windowFrames: 20, ...own } } });
const box = (id: string, left: number, more: object = {}): WireObject => ({ id, box: [left, 0, 10, 10], ...more });

function judge(config: object, reference: object, tracks: object, frames = 5): StreamRun {
  const run = new StreamRun(config);
  run.open('reference', null, 0);
  run.open('tracker', 't', 0);
  for (let k = 1; k <= frames; k++) {
    run.part('reference', null, k * 100, { k, objects: pack([]), ...reference });
    run.part('tracker', 't', k * 100, { k, objects: pack([]), ...tracks });
  }
  run.end('reference', null, 1000);
  run.end('tracker', 't', 1000);
  return run;
}

describe('what a stream judges', () => {
  it('is not what lies in an ignored region of the settings, or of a frame of the reference', () => {
    const objects = { objects: pack([box('a', 0), box('b', 100)]) };
    const both = { reference: { ignored: 5 }, tracker: {} };
    const region = { box: [-50, -50, 100, 100] };
    const settled = judge(camera({ coverage: { ignore: [region] } }), objects, {});
    assert.deepEqual([settled.count.missed, settled.reports.at(-2)!.notJudged!.totals], [5, both]);
    const sent = judge(camera(), { ...objects, ignore: [region] }, {});
    assert.deepEqual([sent.count.missed, sent.reports.at(-2)!.notJudged!.totals], [5, both]);
  });

  it('is not an object that the reference marks, nor the track on it', () => {
    const reference = { objects: pack([box('a', 0, { ignore: true }), box('b', 100)]) };
    const run = judge(camera(), reference, { objects: pack([box('1', 0), box('2', 100), box('3', 200)]) });
    assert.deepEqual(run.count, { frames: 5, proper: 5, missed: 0, false: 5, switches: 0 });
    const totals = { reference: { dont_care: 5 }, tracker: { dont_care: 5 } };
    assert.deepEqual(run.reports.at(-2)!.notJudged!.totals, totals);
    // those who draw are told which
    const { objects } = reportMessage(run.reports.at(-2)!, true) as {
      objects: Record<string, Array<{ id: string; judged?: boolean }>>;
    };
    const idle = (feed: string) => objects[feed].filter(({ judged }) => judged === false).map(({ id }) => id);
    assert.deepEqual([idle('reference'), idle('tracker')], [['a'], ['1']]);
    assert.deepEqual([objects.reference.length, objects.tracker.length], [2, 3]);
  });

  it('is not for the tracker to say', () => {
    const tracks = { objects: pack([box('1', 0, { ignore: true })]), ignore: [{ box: [-50, -50, 100, 100] }] };
    const run = judge(camera(), { objects: pack([box('a', 0), box('b', 20)]) }, tracks);
    assert.deepEqual(run.count, { frames: 5, proper: 5, missed: 5, false: 0, switches: 0 });
    assert.equal(run.reports.at(-1)!.notJudged, undefined);
  });

  it('is filtered for each feed', () => {
    const filter = { tracker: { minConfidence: 0.5 }, reference: { classes: ['person'] } };
    const reference = { objects: pack([box('a', 0, { class: 'person' }), box('b', 50, { class: 'car' })]) };
    const tracks = { objects: pack([box('1', 0, { confidence: 0.9 }), box('2', 50, { confidence: 0.2 })]) };
    const run = judge(camera({ filter }), reference, tracks);
    assert.deepEqual(run.count, { frames: 5, proper: 5, missed: 0, false: 0, switches: 0 });
  });

  it('is filtered by the names that classes are given', () => {
    const own = { filter: { classes: ['person'] }, classes: { map: { pedestrian: 'person' } } };
    const reference = { objects: pack([box('a', 0, { class: 'person' })]) };
    const tracks = { objects: pack([box('1', 0, { class: 'pedestrian' }), box('2', 50, { class: 'car' })]) };
    const run = judge(camera(own), reference, tracks);
    assert.deepEqual(run.count, { frames: 5, proper: 5, missed: 0, false: 0, switches: 0 });
  });

  it('costs what it costs then when its window is judged under other parameters', () => {
    const run = new StreamRun(camera({ coverage: { ignore: [{ box: [-50, -50, 100, 100] }] } }));
    run.open('reference', null, 0);
    run.open('tracker', 't', 0);
    // a fifth of `a` is judged, all of `b`
    run.part('reference', null, 100, { k: 1, objects: pack([box('a', 42), box('b', 100)]) });
    run.part('tracker', 't', 100, { k: 1, objects: pack([]) });
    const { frames } = run.stream.window('t', 'online-surveillance')!;
    const { exponent } = presets['online-surveillance'];
    const { cost } = evaluate(frames, { ...presets['online-surveillance'], cutoff: 0.8 });
    assert.ok(Math.abs(cost.missed - (0.2 ** exponent + 0.8 ** exponent / 2)) < 1e-12, `${cost.missed}`);
  });

  it('goes on from a snapshot as it was', () => {
    const config = camera({ coverage: { ignore: [{ box: [-50, -50, 100, 100] }] } });
    const reference = { objects: pack([box('a', 45), box('b', 100)]) };
    const whole = judge(config, reference, {});
    assert.ok(whole.reports[0].report.cost.missed < 2 * whole.reports[0].report.cost.total);
    const run = new StreamRun(config, 1);
    run.open('reference', null, 0);
    run.open('tracker', 't', 0);
    for (let k = 1; k <= 5; k++) {
      run.part('reference', null, k * 100, { k, ...reference });
      run.part('tracker', 't', k * 100, { k, objects: pack([]) });
    }
    run.end('reference', null, 1000);
    run.end('tracker', 't', 1000);
    assert.deepEqual(run.reports.at(-1)!.report.settled, whole.reports.at(-1)!.report.settled);
    assert.deepEqual(run.reports.at(-2)!.notJudged, whole.reports.at(-2)!.notJudged);
  });

  it('counts no spike of what is not judged', () => {
    const config = camera({ coverage: { reference: 'transponder' } });
    const run = judge(config, { objects: pack([]) }, { objects: pack([box('1', 0), box('2', 90)]) }, 100);
    assert.equal(run.of('spike').length, 0);
    assert.equal(run.count.false, 0);
  });

  it('counts altitude, by a weight of its own', () => {
    const at = (id: string, altitude: number) => ({ id, point: [51, 179.9999, altitude] });
    const across = (id: string, altitude: number) => ({ id, point: [51, -179.9999, altitude] });
    const config = (verticalWeight: number) => ({
      profiles: { air: { distance: 'geodesic', cutoff: 500, admissibleError: 300, switchPenalty: 0 } },
      streams: { [NAME]: { profiles: ['air'], coverage: { verticalWeight } } },
    });
    const error = (weight: number, altitude: number) => {
      const run = judge(
        config(weight),
        { objects: pack([at('a', 1000)]) },
        { objects: pack([across('1', altitude)]) },
        1,
      );
      return run.reports.at(-1)!.report.newest.assignment.find(({ distance }) => distance !== null)?.distance;
    };
    // 14 m across the antimeridian, 100 up
    assert.ok(Math.abs(error(1, 1100)! - Math.hypot(14, 100)) < 0.1, `${error(1, 1100)}`);
    assert.ok(Math.abs(error(3, 1100)! - Math.hypot(14, 300)) < 0.1, `${error(3, 1100)}`);
    assert.equal(error(5, 1100), undefined);
  });

  it('tells position errors and bias in metres, whatever weight altitude has', () => {
    const biasOf = (verticalWeight: number) => {
      const run = new StreamRun({
        profiles: { air: { distance: 'geodesic', cutoff: 2000, admissibleError: 1500, switchPenalty: 0 } },
        streams: {
          [NAME]: { profiles: ['air'], windowFrames: 4, coverage: { verticalWeight }, performance: { enabled: true } },
        },
      });
      run.open('reference', null, 0);
      run.open('tracker', 'one', 0);
      for (let k = 1; k <= 20; k++) {
        const at = (n: number) => [51 + 0.1 * n, 1 + 0.001 * n * k, 3000 + 10 * n * k];
        const three = [1, 2, 3, 4];
        run.part('reference', null, k, { k, objects: pack(three.map((n) => ({ id: `a${n}`, point: at(n) }))) });
        const above = three.map((n) => ({
          id: `${n}`,
          point: at(n).map((value, d) => (d === 2 ? value + 40 : value)),
        }));
        run.part('tracker', 'one', k, { k, objects: pack(above) });
      }
      for (const role of ['reference', 'tracker'] as const) run.end(role, role === 'tracker' ? 'one' : null, 21);
      const { error, latency } = run.stream.info().series[0].performance!;
      return [error!.rms, latency!.bias[2]].map((value) => Math.round(1000 * value) / 1000);
    };
    assert.deepEqual(biasOf(1), [40, 40]);
    assert.deepEqual(biasOf(5), [40, 40]);
  });
});
