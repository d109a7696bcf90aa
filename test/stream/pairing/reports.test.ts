/**
 * Streams whose reference reports its objects one by one: judged as if it had been resampled to the tracker's times by
 * hand, on real aircraft; with other clocks, several references, settings that do not allow it, and interruptions.
 */
import assert from 'node:assert/strict';
import type { ObjectReport, WireObject } from '../../../src/wire/objects.js';
import { pack, packReports } from '../../../src/wire/objects.js';
import { GAP_S, hasAircraft, scans, states } from '../../kit/scenes/aircraft.js';
import { NAME, StreamRun } from '../../kit/stream-run.js';
import { skipInFastRun, skipUnless } from '../../kit/system/system.js';

const SECONDS = 140;

const radar = (own: object = {}, pairing: object = {}) => ({
  profiles: { radar: { distance: 'geodesic', cutoff: 1000, admissibleError: 600, shortSwitchDistance: 300 } },
  streams: {
    [NAME]: {
      profiles: ['radar'],
      windowFrames: 1000,
      pairing: { latenessMs: 60_000, silenceMs: 600_000, ...pairing },
      reports: { greatestGapMs: GAP_S * 1000 },
      ...own,
    },
  },
});

function judgedByHand(lateS = 0): StreamRun {
  const run = new StreamRun(radar());
  const all = scans(states(), SECONDS, lateS);
  run.open('reference', null, all[0].t * 1000);
  run.open('tracker', 'radar', all[0].t * 1000);
  for (const { t, truths, tracks } of all) {
    run.part('reference', null, t * 1000, { t, objects: pack(truths) });
    run.part('tracker', 'radar', t * 1000, { t, objects: pack(tracks) });
  }
  for (const role of ['reference', 'tracker'] as const)
    run.end(role, role === 'tracker' ? 'radar' : null, all.at(-1)!.t * 1000);
  return run;
}

/** Raw states, ten seconds apart, as frames with times of their own or as reports; and the scans as they come. */
function judgedRaw(run: StreamRun, asFrames: boolean): StreamRun {
  const sent = states();
  const all = scans(sent, SECONDS);
  run.open('reference', null, sent[0].sentS * 1000);
  run.open('tracker', 'radar', sent[0].sentS * 1000);
  let next = 0;
  for (const sentS of new Set(sent.map((one) => one.sentS))) {
    for (; next < all.length && all[next].t < sentS; next++)
      run.part('tracker', 'radar', all[next].t * 1000, { t: all[next].t, objects: pack(all[next].tracks) });
    const reports = sent.filter((one) => one.sentS === sentS).map(({ report }) => report);
    if (asFrames) run.part('reference', null, sentS * 1000, { t: sentS, objects: pack(reports) });
    else
      for (const report of reports)
        run.part('reference', null, sentS * 1000, { objects: packReports([report], 'point', 2), reports: true });
  }
  const endMs = sent.at(-1)!.sentS * 1000;
  run.end('reference', null, endMs);
  run.end('tracker', 'radar', endMs);
  return run;
}

/** Judged once, however many tests compare with it. */
function once<T>(judge: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: judge() };
    return known.value;
  };
}

const countByHand = once(() => judgedByHand().count);
const inFrames = once(() => judgedRaw(new StreamRun(radar()), true));

describe('aircraft that report themselves', () => {
  before(function () {
    skipUnless(this, hasAircraft, 'OpenSky_Plane_States.csv is not in ../shared/data/adsb-ais');
  });

  it('are judged as if they had been resampled to the scans by hand', function () {
    skipInFastRun(this);
    const byHand = countByHand();
    assert.ok(byHand.proper > 1000 && byHand.missed > 100 && byHand.switches > 0, JSON.stringify(byHand));
    assert.deepEqual(judgedRaw(new StreamRun(radar()), false).count, byHand);
  });

  it('are so in frames of states too, whose repeats are told by their own times', function () {
    skipInFastRun(this);
    const run = inFrames();
    assert.deepEqual(run.count, countByHand());
    const repeated = run.of('skipped').filter(({ code }) => code === 'report_repeated');
    assert.ok(repeated.reduce((sum, { count }) => sum + count, 0) > 100);
  });

  it('are judged the same when the stream is stored and restored on the way', function () {
    skipInFastRun(this);
    const whole = inFrames();
    const cut = judgedRaw(new StreamRun(radar(), 50), true);
    assert.deepEqual(
      cut.events.map(({ n, type }) => [n, type]),
      whole.events.map(({ n, type }) => [n, type]),
    );
    assert.deepEqual(cut.count, whole.count);
  });
});

const point = (id: string, x: number): WireObject => ({ id, point: [x, 0] });
const report = (id: string, t: number, x: number, more: Partial<ObjectReport> = {}): ObjectReport => ({
  ...point(id, x),
  t,
  ...more,
});

const plain = (own: object = {}, pairing: object = {}) => ({
  profiles: { plain: { distance: 'euclidean', cutoff: 4, admissibleError: 2, shortSwitchDistance: 1 } },
  streams: {
    [NAME]: {
      profiles: ['plain'],
      windowFrames: 500,
      pairing: { latenessMs: 5000, silenceMs: 60_000, ...pairing },
      reports: { greatestGapMs: 10_000 },
      ...own,
    },
  },
});

/** Feeds that say hello, and what each says at a time in seconds. */
class Feeds extends StreamRun {
  say(role: 'reference' | 'tracker', name: string | null, t: number, ...reports: ObjectReport[]): void {
    this.part(role, name, t * 1000, { objects: packReports(reports, 'point', 2), reports: true });
  }

  frame(role: 'reference' | 'tracker', name: string | null, t: number, ...objects: WireObject[]): void {
    this.part(role, name, t * 1000, { t, objects: pack(objects) });
  }
}

function feeds(config: object, references: Array<string | null> = [null]): Feeds {
  const run = new Feeds(config);
  for (const name of references) run.open('reference', name, 0);
  run.open('tracker', 't', 0);
  return run;
}

describe('a stream of reports', () => {
  it('misses nobody who is only not reported yet', () => {
    const run = feeds(plain());
    for (let t = 100; t <= 140; t++) {
      if (t % 4 === 0) run.say('reference', null, t, report('a', t, t), report('b', t, -t));
      run.frame('tracker', 't', t, point('1', t), point('2', -t));
    }
    run.end('reference', null, 140_000);
    run.end('tracker', 't', 140_000);
    assert.deepEqual(run.count, { frames: 41, proper: 82, missed: 0, false: 0, switches: 0 });
  });

  it('is judged on a grid of the slower feed when both report', () => {
    const run = feeds(plain());
    for (let t = 100; t <= 200; t++) {
      run.say('reference', null, t, report('a', t, t));
      if (t % 4 === 0) run.say('tracker', 't', t + 0.5, report('1', t + 0.5, t + 0.5));
    }
    run.end('reference', null, 200_000);
    run.end('tracker', 't', 200_000);
    const times = run.reports.map(({ t }) => t!);
    const spacing = new Set(times.slice(1).map((t, n) => Math.round((t - times[n]) * 100) / 100));
    assert.equal(spacing.size <= 2, true, [...spacing].join());
    assert.ok(Math.abs(times[1] - times[0] - 4) < 0.8, `${times[1] - times[0]}`);
    const { proper, missed, false: wrong } = run.count;
    assert.ok(proper > 15, `${proper}`);
    assert.deepEqual([missed, wrong], [0, 0]);
  });

  it('is over with the last report of a tracker that has ended, whatever the reference says afterwards', () => {
    const run = feeds(plain({ reports: { greatestGapMs: 10_000, steps: 'grid', gridMs: 1000 } }));
    for (let t = 100; t <= 200; t++) {
      run.say('reference', null, t, report('a', t, t));
      if (t <= 150) run.say('tracker', 't', t, report('1', t, t));
    }
    run.end('tracker', 't', 200_000);
    run.end('reference', null, 201_000);
    assert.deepEqual(run.count, { frames: 51, proper: 51, missed: 0, false: 0, switches: 0 });
  });

  it('is judged at the times of a reference of frames, and on a grid that is asked for', () => {
    const frames = feeds(plain());
    for (let t = 100; t <= 130; t += 2) {
      frames.frame('reference', null, t, point('a', t));
      frames.say('tracker', 't', t + 1, report('1', t + 1, t + 1));
    }
    frames.end('reference', null, 131_000);
    frames.end('tracker', 't', 131_000);
    assert.deepEqual([frames.count.proper, frames.count.false], [15, 0]);
    const grid = feeds(plain({ reports: { greatestGapMs: 10_000, steps: 'grid', gridMs: 5000 } }));
    for (let t = 100; t <= 160; t += 2) {
      grid.say('reference', null, t, report('a', t, t));
      grid.say('tracker', 't', t, report('1', t, t));
    }
    grid.end('reference', null, 161_000);
    grid.end('tracker', 't', 161_000);
    assert.deepEqual(
      grid.reports.slice(0, 3).map(({ t }) => t),
      [100, 105, 110],
    );
  });

  it('does not judge an object in a gap beyond the greatest, nor the track that is there', () => {
    const run = feeds(plain());
    for (let t = 100; t <= 160; t++) {
      const isHeard = t <= 110 || t >= 140;
      run.say('reference', null, t, ...(isHeard ? [report('a', t, t)] : []), report('b', t, -t));
      run.frame('tracker', 't', t, point('1', t), point('2', -t));
    }
    run.end('reference', null, 160_000);
    run.end('tracker', 't', 160_000);
    const { missed, proper } = run.count;
    assert.equal(missed, 0);
    // who comes back after it is new
    assert.ok(run.reports.some(({ report: { newest } }) => newest.assignment.some(({ truth }) => truth === 'a#2')));
    assert.ok(proper >= 61 + 11 + 21 - 1, `${proper}`);
  });

  it('does not judge a noisy track either while nobody knows quite where its object is', () => {
    const run = feeds(plain());
    for (let t = 100; t <= 120; t++) {
      run.say('reference', null, t, ...(t <= 110 ? [report('a', t, t)] : []), report('b', t, -t));
      run.frame('tracker', 't', t, point('1', t + (t % 2 === 0 ? 1.5 : -1.5)), point('2', -t));
    }
    run.end('reference', null, 120_000);
    run.end('tracker', 't', 120_000);
    assert.deepEqual(run.count, { frames: 21, proper: 32, missed: 0, false: 0, switches: 0 });
    const { totals } = run.stream.reports()[0].notJudged!;
    assert.deepEqual(totals, { reference: { gap: 10 }, tracker: { gap: 10 } });
  });

  it('adds several references up, and believes the fresher one', () => {
    const run = feeds(plain(), ['@adsb', '@mlat']);
    for (let t = 100; t <= 120; t++) {
      run.say('reference', '@adsb', t, report('a', t, t));
      run.say('reference', '@mlat', t + 0.5, report('b', t, -t));
      run.frame('tracker', 't', t, point('1', t), point('2', -t));
    }
    run.end('reference', '@adsb', 121_000);
    assert.equal(run.stream.info().feeds.find(({ tracker }) => tracker === '@mlat')!.role, 'reference');
    run.end('reference', '@mlat', 121_000);
    run.end('tracker', 't', 121_000);
    assert.deepEqual(run.count, { frames: 21, proper: 42, missed: 0, false: 0, switches: 0 });
  });

  it('knows an object of two references by a map of ids, and believes the fresher report', () => {
    const settings = { ownIds: ['mlat'], idMap: { mlat: { '17': 'a' } }, greatestGapMs: 10_000 };
    const judged = (reports: object) => {
      const run = feeds(plain({ reports }), ['@adsb', '@mlat']);
      for (let t = 100; t <= 130; t++) {
        // adsb falls silent about a, and has another object under the name that mlat has for a second one
        if (t <= 110) run.say('reference', '@adsb', t, report('a', t, t));
        run.say('reference', '@adsb', t, report('18', t, 50));
        run.say('reference', '@mlat', t, report('17', t, t), report('18', t, -50));
        run.frame('tracker', 't', t, point('1', t), point('2', 50), point('3', -50));
      }
      for (const name of ['@adsb', '@mlat']) run.end('reference', name, 131_000);
      run.end('tracker', 't', 131_000);
      return run;
    };
    const run = judged(settings);
    assert.deepEqual(run.count, { frames: 31, proper: 93, missed: 0, false: 0, switches: 0 });
    const truths = new Set(
      run.reports.flatMap(({ report: { newest } }) => newest.assignment.map(({ truth }) => truth)),
    );
    assert.deepEqual([...truths].sort(), ['18', 'a', 'mlat:18']);
    // without either, 17 is one object more, and both 18 are one
    const { missed, false: wrong } = judged({ greatestGapMs: 10_000 }).count;
    assert.ok(missed > 0 && wrong > 0, `${missed} ${wrong}`);
  });

  it('expects an object that is late where it was going, with or without a velocity', () => {
    const run = feeds(plain({}, { latenessMs: 3000 }));
    for (let t = 100; t <= 200; t++) {
      // every second, but for ten that are lost
      if (t < 150 || t > 160) run.say('reference', null, t, report('a', t, 10 * t), report('b', t, 0));
      else run.say('reference', null, t, report('b', t, 0));
      run.frame('tracker', 't', t, point('1', 10 * t), point('2', 0));
    }
    run.end('reference', null, 201_000);
    run.end('tracker', 't', 201_000);
    const { cost } = run.reports.at(-1)!.report.settled;
    assert.equal(run.count.missed, 0);
    assert.ok(cost.false < 1e-6, `${cost.false}`);
  });

  it('counts what is late, repeated or too much by object, and goes on', () => {
    const run = feeds(plain({ reports: { greatestGapMs: 10_000, idsMax: 3 } }));
    for (let t = 100; t <= 130; t++) {
      run.say('reference', null, t, report('a', t, t), report('a', t, t));
      run.frame('tracker', 't', t, point('1', t));
    }
    run.say(
      'reference',
      null,
      131,
      report('a', 105.5, 0),
      report('b', 131, 50),
      report('c', 131, 60),
      report('d', 131, 70),
    );
    const counts: Record<string, number> = {};
    for (const { code, count } of run.of('skipped')) counts[code] = (counts[code] ?? 0) + count;
    assert.deepEqual(counts, { report_repeated: 31, report_late: 1, ids_exceeded: 1 });
    assert.equal(run.count.missed, 0);
  });

  it('says that reports come too seldom to look between them, and which lateness would do', () => {
    const run = feeds(plain({}, { latenessMs: 1000 }));
    for (let t = 100; t <= 400; t++) {
      if (t % 8 === 0) run.say('reference', null, t, report('a', t, t), report('b', t, 0));
      run.frame('tracker', 't', t, point('1', t), point('2', 0));
      run.tick(t * 1000 + 500);
    }
    const [finding] = run.stream.info().findings;
    assert.equal(finding.finding, 'interpolation_impossible');
    assert.ok(Number(finding.evidence.wanted) >= 8000 && Number(finding.evidence.wanted) <= 1.5 * 8000, finding.remedy);
    assert.match(finding.remedy, /raise pairing\.latenessMs to at least \d+/);
    assert.equal(run.of('finding').length, 1);
    // who stands still is found all the same
    assert.ok(run.reports.at(-1)!.report.count.proper > 250, JSON.stringify(run.reports.at(-1)!.report.count));
    const enough = feeds(plain({}, { latenessMs: 12_000 }));
    for (let t = 100; t <= 400; t += 8) enough.say('reference', null, t, report('a', t, t));
    assert.ok(!enough.stream.info().findings.some(({ finding }) => finding === 'interpolation_impossible'));
  });

  it('advises a lateness that does, however reports are mixed, and does not take it back', function () {
    skipInFastRun(this);
    // each has moved on by the time of its batch, the more the later it is in it
    const mixed = (latenessMs: number) => {
      const run = feeds(plain({ reports: { greatestGapMs: 60_000 } }, { latenessMs }));
      for (let t = 100; t <= 350; t++) {
        for (const [n, id] of ['a', 'b', 'c', 'd'].entries())
          if (t % 10 === 0) run.say('reference', null, t, report(id, t - 2.5 * n, 1000 * n + 20 * (t - 2.5 * n)));
        run.frame('tracker', 't', t, ...[0, 1, 2, 3].map((n) => point(`${n}`, 1000 * n + 20 * t)));
        run.tick(t * 1000 + 500);
      }
      return run;
    };
    const hasty = mixed(2000);
    const { remedy, evidence } = hasty.stream.info().findings[0];
    assert.match(remedy, new RegExp(`raise pairing.latenessMs to at least ${evidence.wanted}$`));
    const told = mixed(Number(evidence.wanted));
    const { frames, count } = told.reports.at(-1)!.report;
    assert.deepEqual([told.of('finding'), count], [[], { proper: 4 * frames, missed: 0, false: 0, switches: 0 }]);
    assert.ok(frames > 200, `${frames}`);
  });

  it('judges everybody else as if one clock were not an hour ahead', () => {
    const told = [0, 3600].map((ahead) => {
      const run = feeds(plain());
      for (let t = 100; t <= 300; t++) {
        for (const [n, id] of ['a', 'b', 'c', 'd'].entries())
          if (t % 4 === n) {
            const own = t + (id === 'd' && t > 150 ? ahead : 0);
            run.say('reference', null, t, report(id, own, 1000 * n + t));
          }
        run.frame('tracker', 't', t, ...[0, 1, 2].map((n) => point(`${n}`, 1000 * n + t)));
      }
      for (const [role, tracker] of [['reference', null] as const, ['tracker', 't'] as const])
        run.end(role, tracker, 300_000);
      return run;
    });
    const [right, wrong] = told.map(({ count }) => count);
    assert.deepEqual([wrong.proper, wrong.false], [right.proper, right.false]);
    // what the one with the wrong clock is missed for is its own affair
    assert.ok(wrong.missed < right.missed, JSON.stringify({ right, wrong }));
    const skipped = told[1].of('skipped').map(({ code }) => code);
    assert.deepEqual([...new Set(skipped)], ['report_ahead']);
  });

  it('judges a recording once more after everybody has ended, from whoever says hello first', () => {
    for (const first of ['reference', 'tracker'] as const) {
      const run = feeds(plain({ windowFrames: 10 }));
      const play = () => {
        for (let t = 100; t <= 160; t++) {
          run.say('reference', null, t, report('a', t, t));
          run.frame('tracker', 't', t, point('1', t));
        }
        for (const [role, tracker] of [
          ['reference', null],
          ['tracker', 't'],
        ] as const)
          run.end(role, tracker, 160_000);
      };
      play();
      const before = run.count.proper;
      assert.ok(before >= 50 && run.count.false === 0, JSON.stringify(run.count));
      const second = first === 'reference' ? ('tracker' as const) : ('reference' as const);
      for (const role of [first, second]) run.open(role, role === 'reference' ? null : 't', 170_000);
      play();
      assert.deepEqual([run.count.false, run.count.missed, run.of('skipped')], [0, 0, []], `${first} first`);
    }
  });

  it('holds who reports too seldom until the next report is due, not until the greatest gap', () => {
    const run = feeds(plain({ reports: { greatestGapMs: 60_000 } }, { latenessMs: 1000 }));
    for (let t = 100; t <= 400; t++) {
      if (t % 8 === 0) run.say('reference', null, t, report('a', t, t), ...(t < 250 ? [report('b', t, 1000)] : []));
      run.frame('tracker', 't', t, point('1', t), ...(t < 250 ? [point('2', 1000)] : []));
      run.tick(t * 1000 + 500);
    }
    // of the minute after b has gone, a few seconds
    assert.ok(run.count.missed <= 8, `${run.count.missed} missed`);
  });

  it('judges key frames alone, or the truth in between them too, and says what would do', () => {
    // every fifth frame is annotated
    const judged = (pairing: object) => {
      const run = feeds(plain({}, { latenessMs: 8000, holdMaxMs: 8000, ...pairing }));
      for (let t = 100; t <= 200; t++) {
        if (t % 5 === 0) run.frame('reference', null, t, point('a', t), point('b', -t));
        run.frame('tracker', 't', t, point('1', t), point('2', -t));
        run.tick(t * 1000 + 500);
      }
      run.end('reference', null, 200_500);
      run.end('tracker', 't', 200_500);
      return run;
    };
    const [keys, between] = [judged({ by: 'time' }), judged({ by: 'time', reference: 'linear' })];
    assert.deepEqual(keys.count, { frames: 21, proper: 42, missed: 0, false: 0, switches: 0 });
    assert.deepEqual(between.count, { frames: 101, proper: 202, missed: 0, false: 0, switches: 0 });
    // the frames in between are not judged, and that is said, with the setting
    assert.equal(
      keys.of('missing').reduce((sum, { count }) => sum + count, 0),
      80,
    );
    const [finding] = keys.stream.info().findings;
    assert.equal(finding.finding, 'rate_mismatch');
    assert.match(finding.remedy, /set pairing\.reference to linear or hold/);
    assert.deepEqual(between.stream.info().findings, []);
  });

  it('judges a tracker that has fallen silent to have missed everything', () => {
    const run = feeds(plain({}, { silenceMs: 10_000 }));
    for (let t = 100; t <= 200; t++) {
      run.say('reference', null, t, report('a', t, t));
      if (t < 150) run.frame('tracker', 't', t, point('1', t));
      run.tick(t * 1000 + 500);
    }
    assert.ok(run.of('silence').length === 1);
    const last = run.reports.at(-1)!.report;
    assert.ok(last.count.missed > 30, `${last.count.missed}`);
  });

  it('suspends judgement while the reference says nothing', () => {
    const run = feeds(plain({}, { latenessMs: 2000 }));
    for (let t = 100; t <= 200; t++) {
      if (t < 150) run.say('reference', null, t, report('a', t, t));
      run.frame('tracker', 't', t, point('1', t));
      run.tick(t * 1000 + 500);
    }
    const last = run.reports.at(-1)!.report;
    assert.equal(last.count.false, 0);
    assert.ok(run.of('missing').some(({ role }) => role === 'reference'));
    assert.ok(last.frame < 60);
  });

  it('keeps a bounded state with ever-new ids', () => {
    const run = feeds(plain({ reports: { greatestGapMs: 5000, idsMax: 50 }, windowFrames: 10 }));
    const sizes: number[] = [];
    for (let t = 100; t <= 500; t++) {
      run.say('reference', null, t, report(`a${t}`, t, t), report('b', t, 0));
      run.frame('tracker', 't', t, point(`${t}`, t), point('2', 0));
      if (t % 100 === 0) sizes.push(JSON.stringify(run.stream.toJSON().pairing).length);
    }
    assert.ok(sizes[3] < 1.3 * sizes[1], sizes.join(' '));
  });
});
