/**
 * A harbour under a radar (FIELD 6) whose reference knows only ships with AIS: their raw reports of the Solent, or of a
 * seeded harbour like it, against scans with a range of 20 km in which every tenth is missed, with twelve boats that
 * have no AIS. Tracks of boats are not false, ships beyond the range are not missed, and those missed are those left
 * out.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { displacement } from '../../src/performance/place.js';
import { type ObjectReport, pack, packReports, type WireObject } from '../../src/wire/objects.js';
import { type Random, randomFrom } from '../kit/random.js';
import { NAME, StreamRun } from '../kit/stream-run.js';
import { skipInFastRun } from '../kit/system/system.js';

const AIS = fileURLToPath(new URL('../../../../shared/data/adsb-ais/SolentAIS_20160112_130211.csv', import.meta.url));
const RADAR = [50.8, -1.11];
const RANGE_M = 20_000;
const SCAN_S = 2.5;
const SCANS = 160;
const GAP_S = 190;
const NOISE_M = 15;
const DETECTED = 0.9;
const BOATS = 12;
/** metres: twice the cut-off, and what ships move in ten seconds */
const APART_M = 600;
/** degrees of latitude, and of longitude there, in a metre */
const DEGREES = [1 / 111_250, 1 / 70_500];

/** All reports in the order of their times. */
function record(): ObjectReport[] {
  if (!existsSync(AIS)) return seeded();
  const lines = readFileSync(AIS, 'utf8').trim().split('\n').slice(1);
  const reports = lines.map((line): ObjectReport => {
    const [when, id, latitude, longitude] = line.split(',');
    return { id, t: Date.parse(`${when.replace(' ', 'T')}Z`) / 1000, point: [Number(latitude), Number(longitude)] };
  });
  return reports.filter(({ t, point }) => t > 0 && point!.every(Number.isFinite)).sort((a, b) => a.t - b.t);
}

/** Ships on straight ways, half of them out of sight, that report every two to twelve seconds. */
function seeded(): ObjectReport[] {
  const random = randomFrom(8);
  const ships = Array.from({ length: 40 }, (_, n) => ({ id: `${n}`, way: course(random, 60_000) }));
  const reports = ships.flatMap(({ id, way }) => {
    const list: ObjectReport[] = [];
    for (let t = 10 * random(); t < SCANS * SCAN_S + 400; t += 2 + 10 * random())
      list.push({ id, t: 1_452_603_731 + t, point: way(t) });
    return list;
  });
  return reports.sort((a, b) => a.t - b.t);
}

function course(random: Random, width: number): (t: number) => number[] {
  const from = [width * (random() - 0.5), width * (random() - 0.5)];
  const speed = [12 * (random() - 0.5), 12 * (random() - 0.5)];
  return (t) => RADAR.map((value, d) => value + (from[d] + speed[d] * t) * DEGREES[d]);
}

/** Where everybody is who is known of at a time; written for this test alone. */
function known(reports: readonly ObjectReport[]): (t: number) => WireObject[] {
  const ways = new Map<string, ObjectReport[]>();
  for (const report of reports) {
    const way = ways.get(report.id) ?? [];
    ways.set(report.id, way);
    if (way.at(-1)?.t !== report.t) way.push(report);
  }
  return (t) =>
    [...ways].flatMap(([id, way]): WireObject[] => {
      const at = way.findLastIndex((one) => one.t <= t);
      const [from, to] = [way[at], way[at + 1]];
      if (from?.t === t) return [{ id, point: from.point }];
      if (!from || !to || to.t - from.t > GAP_S) return [];
      const share = (t - from.t) / (to.t - from.t);
      return [{ id, point: from.point!.map((value, d) => value + (to.point![d] - value) * share) }];
    });
}

const rangeOf = ({ point }: WireObject) => Math.hypot(...displacement(RADAR, point!, 'earth'));
const isInRange = (ship: WireObject) => rangeOf(ship) <= RANGE_M;

const settings = (coverage: object) => ({
  profiles: { scan: { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } },
  streams: {
    [NAME]: {
      profiles: ['scan'],
      windowFrames: 20,
      pairing: { latenessMs: GAP_S * 1000, silenceMs: 3_600_000 },
      reports: { greatestGapMs: GAP_S * 1000 },
      spikes: { signals: [] },
      coverage,
    },
  },
});

/**
 * Without ships that come so close to another ship or a boat that a track could be that of either, where the metric may
 * leave one out rather than switch; and without those that cross the border, where a pair is worth less than its error.
 */
function apart(reports: ObjectReport[], boats: ReadonlyArray<(t: number) => number[]>, first: number): ObjectReport[] {
  const left = new Set<string>();
  const truthsAt = known(reports);
  for (let scan = 0; scan < SCANS; scan += 4) {
    const t = first + scan * SCAN_S;
    const all = truthsAt(t);
    for (const ship of all) if (Math.abs(rangeOf(ship) - RANGE_M) < APART_M) left.add(ship.id);
    const ships = all.filter((ship) => !left.has(ship.id) && isInRange(ship));
    for (const [n, ship] of ships.entries()) {
      const others = [
        ...ships.slice(0, n).filter(({ id }) => !left.has(id)),
        ...boats.map((at) => ({ point: at(t - first) })),
      ];
      if (others.some(({ point }) => Math.hypot(...displacement(ship.point!, point!, 'earth')) < APART_M))
        left.add(ship.id);
    }
  }
  return reports.filter(({ id }) => !left.has(id));
}

function judged(coverage: object, isApart: boolean): { run: StreamRun; left: number; seen: number; boats: number } {
  const random = randomFrom(42);
  const whole = record();
  const first = Math.ceil(whole[0].t) + 60;
  const boats = Array.from({ length: BOATS }, () => course(random, 16_000));
  const reports = isApart ? apart(whole, boats, first) : whole;
  const truthsAt = known(reports);
  const noise = () => NOISE_M * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const plot = ({ id, point }: WireObject) => ({ id, point: point!.map((value, d) => value + noise() * DEGREES[d]) });
  const totals = { left: 0, seen: 0, boats: 0 };
  const run = new StreamRun(settings(coverage));
  run.open('reference', null, reports[0].t * 1000);
  run.open('tracker', 'radar', reports[0].t * 1000);
  const last = first + (SCANS - 1) * SCAN_S;
  let next = 0;
  for (let t = first; t <= last + 2 * GAP_S; t += SCAN_S) {
    const from = next;
    while (next < reports.length && reports[next].t <= t) next++;
    if (next > from)
      run.part('reference', null, t * 1000, {
        objects: packReports(reports.slice(from, next), 'point', 2),
        reports: true,
      });
    if (t > last) continue;
    const ships = truthsAt(t).filter(isInRange);
    const tracks = ships.filter(() => random() < DETECTED).map((ship) => plot({ ...ship, id: `k${ship.id}` }));
    const strangers = boats
      .map((at, n) => plot({ id: `boat${n}`, point: at(t - first) }))
      .filter(() => random() < DETECTED);
    totals.left += ships.length - tracks.length;
    totals.seen += tracks.length;
    totals.boats += strangers.length;
    run.part('tracker', 'radar', t * 1000, { t, objects: pack([...tracks, ...strangers]) });
  }
  run.end('reference', null, (last + 2 * GAP_S) * 1000);
  run.end('tracker', 'radar', (last + 2 * GAP_S) * 1000);
  return { run, ...totals };
}

describe('a harbour whose reference is AIS', () => {
  const transponder = { reference: 'transponder', within: [{ sector: { at: RADAR, range: [0, RANGE_M] } }] };

  it('has no false objects, and exactly the misses that were simulated', function () {
    skipInFastRun(this);
    this.timeout(300_000);
    const { run, left, seen, boats } = judged(transponder, true);
    assert.deepEqual(run.count, { frames: SCANS, proper: seen, missed: left, false: 0, switches: 0 });
    assert.ok(left > 100 && boats > 1000, `${left} ${boats}`);
    assert.deepEqual(run.stream.info().findings, []);
    const { tracker, reference } = run.stream.reports()[0].notJudged!.totals;
    assert.equal(tracker.unequipped, boats);
    assert.ok(reference.outside! > 0);
  });

  it('has none with all its ships either, alongside each other too, and exactly the misses that were simulated', function () {
    skipInFastRun(this);
    this.timeout(300_000);
    const { run, left, seen, boats } = judged(transponder, false);
    const { missed, proper, false: wrong } = run.count;
    assert.deepEqual({ missed, proper, wrong }, { missed: left, proper: seen, wrong: 0 });
    // who is not heard of for long is in a gap; that excuses nobody who lies beside it
    assert.ok(run.stream.reports()[0].notJudged!.totals.reference.gap! > 0);
    assert.ok(boats > 1000);
  });

  it('calls the same boats false where the reference is said to be complete', function () {
    skipInFastRun(this);
    this.timeout(300_000);
    const { run, boats, seen } = judged({ reference: 'complete' }, true);
    assert.deepEqual([run.count.proper, run.count.false], [seen, boats]);
  });
});
