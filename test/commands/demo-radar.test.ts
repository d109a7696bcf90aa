/**
 * The radar of the demo, judged as its configuration says: every fault that it names is found, tracks of aircraft
 * without a transponder are not false, and the good tracker is good.
 */
import assert from 'node:assert/strict';
import { radarConfig, radarProfile } from '../../src/commands/demo-radar.js';
import { type RadarRound, radarRound, SCAN_S, SCANS } from '../../src/simulation/radar.js';
import { pack, packReports } from '../../src/wire/objects.js';
import { NAME, StreamRun } from '../kit/stream-run.js';

const START_S = 1_700_000_000;

describe('the radar of the demo', () => {
  let run: StreamRun;
  let faults: RadarRound['faults'];

  before(() => {
    const { profiles, streams } = radarConfig(radarProfile().words);
    run = new StreamRun({ profiles, streams: { [NAME]: Object.values(streams)[0] } });
    run.open('reference', '@adsb', START_S * 1000);
    for (const name of ['sharp', 'blunt']) run.open('tracker', name, START_S * 1000);
    // a round without faults, then one with them; four turns in a second
    [radarRound(1, false), radarRound(2)].forEach((round, lap) => {
      faults = round.faults;
      for (const [n, { t, reports, trackers }] of round.scans.entries()) {
        const since = START_S + lap * SCANS * SCAN_S;
        const atMs = START_S * 1000 + (lap * SCANS + n) * 250;
        const own = reports.map((report) => ({ ...report, t: since + report.t }));
        run.part('reference', '@adsb', atMs, { objects: packReports(own, 'point', 2), reports: true });
        for (const name of ['sharp', 'blunt'] as const)
          run.part('tracker', name, atMs, { t: since + t, objects: pack(trackers[name]) });
        run.tick(atMs);
      }
    });
    const endMs = START_S * 1000 + 2 * SCANS * 250;
    run.end('reference', '@adsb', endMs);
    for (const name of ['sharp', 'blunt']) run.end('tracker', name, endMs);
  });

  const lastOf = (tracker: string) => run.reports.filter((event) => event.tracker === tracker).at(-1)!;
  /** the turn of the second round at which a frame was */
  const turnOf = (k: number) => {
    const { t } = run.reports.find((event) => event.k === k)!;
    return Math.round((t! - START_S) / SCAN_S) - SCANS;
  };

  it('has a good tracker: nothing false, no switch, few missed', () => {
    const { proper, missed, false: falseCount, switches } = lastOf('sharp').report.settled.count;
    assert.deepEqual([falseCount, switches], [0, 0]);
    assert.ok(missed < 0.05 * proper, `${missed} missed, ${proper} proper`);
    const { newest, totals } = run.reports.filter((event) => event.tracker === 'sharp' && event.notJudged).at(-1)!
      .notJudged!;
    assert.ok(newest && totals.tracker.unequipped! > SCANS, JSON.stringify(totals));
    assert.ok(totals.reference.outside! > 0, JSON.stringify(totals));
  });

  it('finds the aircraft that exchange their tracks', () => {
    const [{ from, ids }] = faults;
    const found = run.of('switch').map(({ tracker, k, truth }) => `${tracker} ${truth} ${turnOf(k)}`);
    assert.deepEqual(found.sort(), ids.map((id) => `blunt ${id} ${from}`).sort());
  });

  it('finds the sector that is lost and the clutter, and names both', () => {
    const causes = run.of('incident').map(({ tracker, cause }) => `${tracker} ${cause}`);
    assert.ok(causes.includes('blunt region_lost'), causes.join());
    assert.ok(causes.includes('blunt clutter'), causes.join());
    const lost = run.of('incident').find(({ cause }) => cause === 'region_lost')!;
    assert.match(lost.message, /^objects are lost in one region, latitude 5[\d.]+ to 5[\d.]+, longitude /);
    assert.ok(
      causes.every((cause) => cause.startsWith('blunt')),
      causes.join(),
    );
    const [, , clutter] = faults;
    assert.equal(lastOf('blunt').report.settled.count.false, 4 * (clutter.to - clutter.from + 1));
  });

  it('finds that tracks lag, and about how much', () => {
    const spikes = run.of('spike').filter(({ signal }) => signal === 'localization');
    assert.ok(
      spikes.length > 0 && spikes.every(({ tracker, k }) => tracker === 'blunt' && turnOf(k) >= faults[3].from),
    );
    const { latency, latencyError } = lastOf('blunt').performance!.latency!;
    assert.ok(latency > 0.25 && latency < 0.45, `${latency} s, and 0.4 was put in`);
    assert.ok(latencyError! < 0.05);
    assert.ok(Math.abs(lastOf('sharp').performance!.latency!.latency) < 0.06);
  });
});
