/**
 * Findings about feeds whose objects are reported one by one: clocks that are far apart are named, with the offset; so
 * is a reference that comes too late for anything to be judged, and classes that never agree. Healthy feeds of which
 * one knows or sees only a part are left alone.
 */
import assert from 'node:assert/strict';
import type { Finding } from '../../../src/wire/findings.js';
import { type ObjectReport, pack, packReports } from '../../../src/wire/objects.js';
import { type Random, randomFrom } from '../../kit/random.js';
import { NAME, StreamRun } from '../../kit/stream-run.js';
import { skipInFastRun } from '../../kit/system/system.js';

const START_S = 1_763_251_200;
const SECONDS = 400;

const radar = (own: object = {}, latenessMs = 60_000) => ({
  profiles: { radar: { distance: 'geodesic', cutoff: 500, admissibleError: 300, shortSwitchDistance: 100 } },
  streams: {
    [NAME]: {
      profiles: ['radar'],
      windowFrames: 10,
      pairing: { latenessMs, silenceMs: 600_000 },
      spikes: { signals: [] },
      ...own,
    },
  },
});

interface Airspace {
  scanS?: number;
  /** how late the radar's tracks are, seconds */
  lateS?: number;
  /** how far its times are ahead of the clock, seconds */
  aheadS?: number;
  /** whom the radar sees */
  sees?: (n: number) => boolean;
  strangers?: number;
}

/** Aircraft on straight ways that report themselves about once in two seconds, and the scans of a radar. */
function watch(run: StreamRun, airspace: Airspace = {}): StreamRun {
  const { scanS = 4, lateS = 0, aheadS = 0, sees = () => true, strangers = 0 } = airspace;
  const random = randomFrom(3);
  const craft = Array.from({ length: 12 }, () => straight(random));
  const others = Array.from({ length: strangers }, () => straight(random));
  const next = craft.map(() => 2 * random());
  run.open('reference', '@adsb', START_S * 1000);
  run.open('tracker', 'radar', START_S * 1000);
  for (let s = 0; s <= SECONDS; s += scanS) {
    const reports: ObjectReport[] = [];
    for (const [n, at] of craft.entries())
      for (; next[n] <= s; next[n] += 1.6 + 0.8 * random())
        reports.push({ id: `a${n}`, t: START_S + next[n], point: at(next[n]) });
    const atMs = (START_S + s) * 1000;
    if (reports.length > 0)
      run.part('reference', '@adsb', atMs, { objects: packReports(reports, 'point', 2), reports: true });
    const seen = craft.flatMap((at, n) => (sees(n) ? [{ id: `t${n}`, point: at(s - lateS) }] : []));
    const strange = others.map((at, n) => ({ id: `s${n}`, point: at(s) }));
    run.part('tracker', 'radar', atMs, { t: START_S + s + aheadS, objects: pack([...seen, ...strange]) });
    run.tick(atMs + 1);
  }
  return run;
}

function straight(random: Random): (s: number) => number[] {
  const from = [51 + random(), -1 + 2 * random()];
  const v = [0.004 * (random() - 0.5), 0.006 * (random() - 0.5)];
  return (s) => from.map((value, d) => value + v[d] * s);
}

const found = (run: StreamRun): Finding[] => run.stream.info().findings;

describe('findings about reports', () => {
  for (const [scanS, lateS] of [
    [4, 18],
    [4, -18],
    [1, 18],
    [2, 7],
  ])
    it(`name a radar whose tracks are ${lateS} s late, at a scan every ${scanS} s`, () => {
      const [finding, ...others] = found(watch(new StreamRun(radar()), { scanS, lateS }));
      assert.equal(finding?.finding, 'clock_offset');
      assert.ok(Math.abs(Number(finding.evidence.seconds) - lateS) < 0.03 * Math.abs(lateS), finding.message);
      assert.match(finding.remedy, /timeOffset/);
      assert.deepEqual(others, []);
    });

  it('name a reference that comes too late for anything to be judged, and the lateness that would do', () => {
    const run = watch(new StreamRun(radar({}, 8000)), { aheadS: 18 });
    const [finding] = found(run);
    assert.equal(finding?.finding, 'nothing_pairs');
    assert.match(finding.remedy, /raise pairing\.latenessMs above 1[678]\d\d\d/);
    assert.equal(run.reports.length, 0);
  });

  it('are a function of the records, also over snapshots', function () {
    skipInFastRun(this);
    const told = (run: StreamRun) =>
      run.of('finding').map(({ n, finding, phase, evidence }) => [n, finding, phase, evidence]);
    const whole = told(watch(new StreamRun(radar()), { lateS: 18 }));
    assert.equal(whole.length, 1);
    assert.deepEqual(told(watch(new StreamRun(radar(), 7), { lateS: 18 })), whole);
  });

  it('are not made of feeds that fit, and nothing is kept of them', () => {
    const run = watch(new StreamRun(radar()), { scanS: 1 });
    assert.deepEqual(found(run), []);
    const [[, wiring]] = run.stream.toJSON().findings!.trackers;
    assert.equal(wiring.healthy, true);
    assert.deepEqual([wiring.seen.length, wiring.sampled!.length], [0, 0]);
  });

  it('are not made of a radar that sees a few of many, among strangers', () => {
    const run = watch(new StreamRun(radar({ coverage: { reference: 'transponder' } })), {
      sees: (n) => n < 3,
      strangers: 5,
    });
    assert.deepEqual(found(run), []);
  });

  it('are not made of those beyond its range', () => {
    const here = { sector: { at: [54, -0.5], range: [0, 60_000] } };
    const coverage = { reference: 'transponder', within: [here] };
    const run = watch(new StreamRun(radar({ coverage })), { sees: () => false, strangers: 8 });
    assert.deepEqual(found(run), []);
  });
});
