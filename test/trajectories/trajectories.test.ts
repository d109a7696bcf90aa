/** Objects that are reported one by one: where they are between reports, what is not known, and what is kept. */
import assert from 'node:assert/strict';
import geographic from 'geographiclib-geodesic';
import { between, type Motion, onwards } from '../../src/trajectories/motion.js';
import { type ReportLimits, Trajectories } from '../../src/trajectories/trajectories.js';
import { type ObjectReport, packReports } from '../../src/wire/objects.js';
import { close } from '../kit/metric/verifier.js';

const LIMITS: ReportLimits = { greatestGapMs: 30_000, idsMax: 100, reportsPerIdMax: 50 };

const partOf = (reports: ObjectReport[]) => ({
  seq: 1,
  objects: packReports(reports, 'point', 2),
  reports: true as const,
});
const at = (id: string, t: number, x: number, more: Partial<ObjectReport> = {}): ObjectReport => ({
  id,
  t,
  point: [x, 0],
  ...more,
});

function trajectories(reports: ObjectReport[], limits: Partial<ReportLimits> = {}): Trajectories {
  const all = new Trajectories({ ...LIMITS, ...limits }, false);
  for (const report of reports) all.add('', partOf([report]), 0);
  return all;
}

const places = ({ ids, coordinates }: { ids: string[]; coordinates: number[] }) =>
  Object.fromEntries(ids.map((id, n) => [id, coordinates[2 * n]]));

describe('the way between two reports', () => {
  const motion = (t: number, place: number[], velocity?: number[]): Motion => ({ t, place, velocity });

  it('is a straight line, or as velocities bend it', () => {
    assert.deepEqual(between(motion(0, [0, 0]), motion(10_000, [10, 20]), 5000, false), [5, 10]);
    // thrown upwards at 10 a second, and back after two: 5 high in the middle
    const way = (t: number) => between(motion(0, [0], [10]), motion(2000, [0], [-10]), t, false)[0];
    assert.deepEqual([way(0), way(1000), way(2000)], [0, 5, 0]);
  });

  it('is a great circle on Earth, also across the antimeridian and near a pole', () => {
    const [latitude, longitude] = between(motion(0, [50, -60]), motion(1000, [50, 60]), 500, true);
    const middle = (Math.atan(Math.tan((50 * Math.PI) / 180) / Math.cos(Math.PI / 3)) * 180) / Math.PI;
    close(latitude, middle, 1e-9, 'latitude of the middle');
    close(longitude + 1, 1, 1e-9, 'longitude of the middle');
    const [, across] = between(motion(0, [10, 179]), motion(1000, [10, -179]), 750, true);
    close(across, -179.5, 1e-4, 'beyond the antimeridian');
    const [pole] = between(motion(0, [89, 0]), motion(1000, [89, 180]), 500, true);
    close(pole, 90, 1e-6, 'over the pole');
  });

  it('takes velocities on Earth as metres per second east, north and up', () => {
    const [latitude, longitude, altitude] = onwards(motion(0, [60, 10, 100], [100, 50, -2]), 10_000, true);
    const { s12, azi1 } = geographic.Geodesic.WGS84.Inverse(60, 10, latitude, longitude);
    close(s12 as number, Math.hypot(1000, 500), 2e-4, 'metres');
    close(azi1 as number, (Math.atan2(1000, 500) * 180) / Math.PI, 2e-4, 'direction');
    assert.equal(altitude, 80);
  });
});

describe('trajectories', () => {
  it('are known between two reports, at their own times, in any order of arrival', () => {
    const all = trajectories([at('a', 20, 20), at('a', 0, 0), at('b', 5, 1), at('a', 10, 5), at('b', 15, 2)]);
    assert.deepEqual(places(all.at(12_000, 0).objects), { a: 8, b: 1.7 });
    assert.deepEqual(places(all.at(2000, 0).objects), { a: 1 });
  });

  it('are unclear after the last report, unless it is to be held', () => {
    const all = trajectories([at('a', 0, 0, { velocity: [1, 0] })]);
    assert.deepEqual(places(all.at(0, 0).objects), { a: 0 });
    assert.deepEqual(places(all.at(5000, 0).objects), {});
    assert.deepEqual(places(all.at(5000, 0).unclear), { a: 5 });
    assert.deepEqual(places(all.at(5000, 30_000).objects), { a: 5 });
    assert.deepEqual(all.at(31_000, 30_000).objects.ids, []);
  });

  it('are not judged in gaps beyond the greatest, and are new ones after them', () => {
    const all = trajectories([at('a', 0, 0), at('a', 40, 40), at('a', 50, 50)]);
    assert.deepEqual(all.at(20_000, 0).objects.ids, []);
    assert.deepEqual(places(all.at(20_000, 0).unclear), { a: 20 });
    assert.deepEqual(places(all.at(45_000, 0).objects), { 'a#2': 45 });
  });

  it('end when that is said, and are new ones when the id is used again', () => {
    const all = trajectories([at('a', 0, 0), at('a', 10, 10, { end: true }), at('a', 15, 100), at('a', 20, 200)]);
    assert.deepEqual(places(all.at(5000, 0).objects), { a: 5 });
    assert.deepEqual(all.at(12_000, 0).objects.ids, []);
    assert.deepEqual(places(all.at(15_000, 0).objects), { 'a#2': 100 });
    const gone = trajectories([at('a', 0, 0), { id: 'a', t: 10, end: true }]);
    assert.deepEqual(places(gone.at(5000, 0).objects), { a: 0 });
    assert.deepEqual(gone.at(11_000, 30_000).objects.ids, []);
  });

  it('tell repeats by the time of the object, not of the message', () => {
    const all = trajectories([at('a', 1, 0)]);
    assert.deepEqual(all.add('', partOf([at('a', 1, 0), at('b', 1, 7)]), 5000), {
      report_repeated: 1,
      report_ahead: 0,
      report_late: 0,
      ids_exceeded: 0,
    });
    assert.equal(all.size, 2);
  });

  it('take what is late only as the newest that is known', () => {
    const all = trajectories([at('a', 10, 10), at('a', 20, 20)]);
    all.close(15_000);
    assert.equal(all.add('', partOf([at('a', 12, 50)]), 0).report_late, 1);
    assert.deepEqual(places(all.at(16_000, 0).objects), { a: 16 });
  });

  it('are not judged by the clock of one that is far ahead of all others, but by those that agree', () => {
    const all = trajectories(['a', 'b', 'c', 'd'].map((id) => at(id, 0, 0)));
    const say = (id: string, t: number) => all.add('', partOf([at(id, t, t)]), 0);
    assert.equal(say('b', 3600).report_ahead, 1);
    assert.equal(all.newestMs, 0);
    for (const id of ['a', 'c', 'd']) assert.equal(say(id, 5).report_ahead, 0);
    assert.equal(say('b', 3605).report_ahead, 1);
    assert.deepEqual([all.newestMs, all.timelyMs], [5000, null]);
    // after a pause everybody is that far ahead
    say('a', 3600);
    assert.equal(all.newestMs, 3_605_000);
    assert.equal(say('c', 3601).report_ahead, 0);
  });

  it('of several feeds add up; of an object that several know the fresher one counts', () => {
    const all = new Trajectories(LIMITS, false);
    all.add('adsb', partOf([at('a', 0, 0), at('a', 10, 10), at('b', 0, 5), at('b', 10, 5)]), 0);
    all.add('mlat', partOf([at('a', 4, 104), at('a', 8, 108), at('c', 0, 9), at('c', 10, 9)]), 0);
    assert.deepEqual(places(all.at(2000, 0).objects), { a: 2, b: 5, c: 9 });
    assert.deepEqual(places(all.at(6000, 0).objects), { a: 106, b: 5, c: 9 });
  });

  it('are bounded with ever-new ids, and remember their epochs', () => {
    const all = new Trajectories({ ...LIMITS, idsMax: 20, reportsPerIdMax: 5 }, false);
    let exceeded = 0;
    for (let n = 0; n < 500; n++)
      for (let m = 0; m < 8; m++) exceeded += all.add('', partOf([at(`id${n}`, n * 8 + m, m)]), 0).ids_exceeded;
    assert.equal(exceeded, 480);
    assert.equal(all.size, 20);
    const { known, epochs } = all.toJSON();
    assert.ok(epochs.length <= 20);
    for (const [, { feeds }] of known) assert.ok(feeds[''].length <= 5);
    all.add('', partOf([at('id470', 4001, 0)]), 0);
    assert.ok(all.at(4_001_000, 0).objects.ids.includes('id470#2'));
  });

  it('are forgotten once nobody asks any more', () => {
    const all = trajectories([at('a', 0, 0), at('a', 1, 1), at('b', 100, 0)]);
    all.close(99_000);
    assert.equal(all.size, 1);
  });

  it('know how often reports come', () => {
    const all = trajectories(Array.from({ length: 40 }, (_, n) => at('a', n * 10, n)));
    assert.ok(Math.abs(all.timelyMs! / 10_000 - 1) < 0.1, `${all.timelyMs}`);
    assert.equal(trajectories([at('a', 0, 0)]).timelyMs, null);
  });

  it('continue from their state as if nothing had happened', () => {
    const reports = Array.from({ length: 60 }, (_, n) => at(`o${n % 3}`, n, n * n));
    const whole = trajectories(reports);
    let cut = new Trajectories(LIMITS, false);
    for (const report of reports) {
      cut = new Trajectories(LIMITS, false, JSON.parse(JSON.stringify(cut.toJSON())));
      cut.add('', partOf([report]), 0);
    }
    assert.deepEqual(cut.at(40_500, 0), whole.at(40_500, 0));
  });
});
