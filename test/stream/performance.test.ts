/**
 * The numbers of surveillance of a live series: a simulated radar whose faults are known, and real aircraft as a radar
 * sees them. What is found must be what was put in, and the same however often the stream was stored and restored.
 */
import assert from 'node:assert/strict';
import { pack } from '../../src/wire/objects.js';
import { type Random, randomFrom } from '../kit/random.js';
import { hasAircraft, scans, states } from '../kit/scenes/aircraft.js';
import { NAME, planOf, StreamRun } from '../kit/stream-run.js';
import { skipInFastRun, skipUnless } from '../kit/system/system.js';

const SCAN_S = 4;
const DETECTED = 0.85;
const NOISE_M = 20;
const START_S = 1_763_251_200;

const gauss = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const settings = (performance: object, own: object = {}) => ({
  profiles: {
    plane: { distance: 'euclidean', cutoff: 1000, admissibleError: 700, shortSwitchDistance: 300 },
    radar: { distance: 'geodesic', cutoff: 1000, admissibleError: 600, shortSwitchDistance: 300 },
  },
  streams: {
    [NAME]: {
      profiles: ['plane'],
      windowFrames: 10,
      pairing: { latenessMs: 60_000, silenceMs: 600_000 },
      spikes: { signals: [] },
      performance: { enabled: true, ...performance },
      ...own,
    },
  },
});

interface Radar {
  scans: number;
  latencyS: (scan: number) => number;
  isTimed?: boolean;
}

/** Aircraft far apart, on straight ways, as a radar sees them: late, with noise, now and then not at all. */
function watch(run: StreamRun, { scans: count, latencyS, isTimed = true }: Radar): StreamRun {
  const random = randomFrom(11);
  const speed = () => 400 * random() - 200;
  const craft = Array.from({ length: 16 }, (_, n) => ({ n, from: [n * 200_000, 0], v: [speed(), speed()] }));
  const at = ({ from, v }: (typeof craft)[number], s: number) => from.map((value, d) => value + v[d] * s);
  const startMs = START_S * 1000;
  run.open('reference', null, startMs);
  run.open('tracker', 'radar', startMs);
  for (let k = 0; k < count; k++) {
    const s = k * SCAN_S;
    const mark = isTimed ? { t: START_S + s } : { k };
    const seen = craft.filter(() => random() < DETECTED);
    const truths = craft.map((one) => ({ id: `a${one.n}`, point: at(one, s) }));
    const tracks = seen.map((one) => ({
      id: `t${one.n}`,
      point: at(one, s - latencyS(k)).map((value) => value + NOISE_M * gauss(random)),
    }));
    run.part('reference', null, startMs + s * 1000, { ...mark, objects: pack(truths) });
    run.part('tracker', 'radar', startMs + s * 1000, { ...mark, objects: pack(tracks) });
  }
  return run;
}

const ended = (run: StreamRun): StreamRun => {
  for (const role of ['reference', 'tracker'] as const) run.end(role, role === 'tracker' ? 'radar' : null, 2e12);
  return run;
};

const readingOf = (run: StreamRun) => run.stream.info().series[0].performance;

describe('performance of a live series', () => {
  it('finds the detection probability within its confidence, and an injected latency within 3 percent', () => {
    for (const latencyS of [0.35, 1]) {
      const run = ended(watch(new StreamRun(settings({})), { scans: 150, latencyS: () => latencyS }));
      const { detectionProbability: found, detectionProbabilityError, latency, siap, frames } = readingOf(run)!;
      assert.equal(frames, 150);
      assert.ok(
        detectionProbabilityError! > 0.002 && detectionProbabilityError! < 0.02,
        `${detectionProbabilityError}`,
      );
      assert.ok(Math.abs(found - DETECTED) < 3 * detectionProbabilityError!, `found ${found}`);
      assert.ok(Math.abs(latency!.latency - latencyS) < 0.03 * latencyS, `found ${latency!.latency} of ${latencyS}`);
      assert.ok(Math.abs(latency!.latency - latencyS) < 4 * latency!.latencyError);
      // what is settled, counted once more
      const { proper, missed } = run.count;
      assert.equal(found, proper / (proper + missed));
      assert.equal(siap.spuriousness, 0);
    }
  });

  it('finds a latency within 3 percent that leaves no pairs, in the first numbers and after them', () => {
    for (const latencyS of [8, 18, -18]) {
      const run = watch(new StreamRun(settings({ strideFrames: 40 })), { scans: 150, latencyS: () => latencyS });
      const told = run.reports.flatMap(({ performance }) => performance ?? []);
      assert.ok(told.length >= 3);
      for (const { latency } of told)
        assert.ok(
          Math.abs(latency!.latency - latencyS) < 0.03 * Math.abs(latencyS),
          `found ${latency!.latency} of ${latencyS}`,
        );
      assert.ok(run.count.proper < run.count.missed, JSON.stringify(run.count));
    }
  });

  for (const latencyS of [1, 18])
    it(`finds them of real aircraft too, ${latencyS} s late`, function () {
      skipInFastRun(this);
      skipUnless(this, hasAircraft, 'OpenSky_Plane_States.csv is not in ../shared/data/adsb-ais');
      const run = new StreamRun(settings({}, { profiles: ['radar'], windowFrames: 20 }));
      const all = scans(states(), 140, latencyS);
      run.open('reference', null, all[0].t * 1000);
      run.open('tracker', 'radar', all[0].t * 1000);
      for (const { t, truths, tracks } of all) {
        run.part('reference', null, t * 1000, { t, objects: pack(truths) });
        run.part('tracker', 'radar', t * 1000, { t, objects: pack(tracks) });
      }
      const { detectionProbability, detectionProbabilityError, latency } = readingOf(ended(run))!;
      assert.ok(Math.abs(latency!.latency - latencyS) < 0.03 * latencyS, `found ${latency!.latency}`);
      // nine of ten are seen, where they should be
      if (latencyS > 1) assert.ok(detectionProbability < 0.2, `found ${detectionProbability}`);
      else
        assert.ok(
          Math.abs(detectionProbability - 0.9) < 4 * detectionProbabilityError!,
          `found ${detectionProbability}`,
        );
    });

  it('comes with every strideFrames-th settled frame, in reports and for whoever comes later', () => {
    const run = watch(new StreamRun(settings({ strideFrames: 10 })), { scans: 48, latencyS: () => 0 });
    const told = run.reports.filter(({ performance }) => performance);
    // a frame settles when it is five old
    assert.deepEqual(
      told.map(({ report, performance }) => [report.frame, performance!.frames]),
      [10, 20, 30, 40].map((frames) => [frames + 4, frames]),
    );
    assert.deepEqual(run.stream.reports()[0].performance, told.at(-1)!.performance);
    assert.deepEqual(readingOf(run), told.at(-1)!.performance);
  });

  it('is the same after a stream was stored and restored after every record', function () {
    skipInFastRun(this);
    for (const latencyS of [0.5, 18]) {
      const radar = { scans: 60, latencyS: () => latencyS };
      const whole = ended(watch(new StreamRun(settings({ strideFrames: 7, spanFrames: 20 })), radar));
      const cut = ended(watch(new StreamRun(settings({ strideFrames: 7, spanFrames: 20 }), 1), radar));
      const told = (run: StreamRun) => run.reports.flatMap(({ performance }) => performance ?? []);
      // seven times seven frames, and the end
      assert.equal(told(whole).length, 8);
      assert.deepEqual(told(cut), told(whole));
    }
  });

  it('forgets how it was: a clock that jumps is found as it is now, however far', function () {
    skipInFastRun(this);
    for (const [before, after] of [
      [0, 1],
      [0, 12],
      [12, 1],
    ]) {
      const run = new StreamRun(settings({ spanFrames: 50 }));
      ended(watch(run, { scans: 200, latencyS: (scan) => (scan < 90 ? before : after) }));
      const { latency, frames } = readingOf(run)!;
      assert.ok(frames >= 50 && frames <= 100, `${frames}`);
      assert.ok(Math.abs(latency!.latency - after) < 0.03 * after, `found ${latency!.latency} of ${after}`);
    }
  });

  it('keeps no more frames than asked to find a latency, and a few for velocities when none is looked for', () => {
    for (const [latencyFrames, kept, latencyS] of [
      [20, 20, 18],
      [0, 16, 1],
    ]) {
      const run = watch(new StreamRun(settings({ latencyFrames })), { scans: 60, latencyS: () => latencyS });
      assert.equal(run.stream.toJSON().series[0].performance!.older.latency.frames.length, kept);
      const { latency } = readingOf(ended(run))!;
      if (latencyS === 1) assert.ok(Math.abs(latency!.latency - latencyS) < 0.03, `found ${latency!.latency}`);
    }
  });

  it('keeps no more with ever new objects', () => {
    const run = new StreamRun(settings({ truthsMax: 20 }));
    run.open('reference', null, 0);
    run.open('tracker', 'radar', 0);
    for (let k = 0; k < 300; k++) {
      run.part('reference', null, k, { k, objects: pack([{ id: `a${k}`, point: [0, 0] }]) });
      run.part('tracker', 'radar', k, { k, objects: pack([{ id: `t${k}`, point: [1, 0] }]) });
    }
    const { older } = run.stream.toJSON().series[0].performance!;
    assert.equal(older.lives.length, 20);
    assert.equal(older.latency.fit.truths.length, 0);
    assert.equal(readingOf(run)!.detectionProbability, 1);
  });

  it('counts frames where there are no times, and says so', () => {
    const run = watch(new StreamRun(settings({})), { scans: 40, latencyS: () => 2, isTimed: false });
    const { timed, latency } = readingOf(ended(run))!;
    assert.equal(timed, false);
    // two seconds are half a scan
    assert.ok(Math.abs(latency!.latency - 0.5) < 0.03, `found ${latency!.latency}`);
  });

  it('is off by default, and begins and ends with the settings', () => {
    const off = watch(new StreamRun(settings({ enabled: false })), { scans: 20, latencyS: () => 0 });
    assert.equal(readingOf(off), undefined);
    assert.equal(planOf({}).settings.performance.enabled, false);
    assert.equal(off.stream.toJSON().series[0].performance, undefined);
    const configure = (performance: object) =>
      off.apply({ kind: 'configure', stream: NAME, atMs: 2e12, settings: planOf(settings(performance)) });
    configure({ strideFrames: 1 });
    off.part('reference', null, 2e12, { t: START_S + 80, objects: pack([{ id: 'a0', point: [0, 0] }]) });
    off.part('tracker', 'radar', 2e12, { t: START_S + 80, objects: pack([]) });
    assert.equal(readingOf(off)!.frames, 1);
    configure({ enabled: false });
    assert.equal(readingOf(off), undefined);
  });
});
