/**
 * Alerts that people trust, on simulated traffic: what never becomes a spike, what stays one, and what is one at once.
 */
import assert from 'node:assert/strict';
import { emptyGlance, type Glance } from '../../src/metric/evaluation.js';
import { evidenceSize, SequentialTest } from '../../src/spikes/evidence.js';
import type { SpikeKeys } from '../../src/spikes/settings.js';
import type { Signal } from '../../src/spikes/signals.js';
import { type SpikeNews, SpikeWatch } from '../../src/spikes/watch.js';
import { drawTraffic, Traffic, type TrafficFault, type TrafficOptions } from '../bench/spike-scene.js';
import { skipInFastRun } from '../kit/system/system.js';

const EPOCH = 1_763_251_200;

/** A tracker at work: a scene, a detector, and everything that it said. */
class Shift {
  readonly scene: Traffic;
  readonly watch: SpikeWatch;
  readonly news: SpikeNews[] = [];
  #k = 0;

  constructor(options: Partial<TrafficOptions> = {}, settings: SpikeKeys = {}) {
    this.scene = new Traffic({ seed: 5, objects: 20, ...options });
    this.watch = new SpikeWatch(settings, 1, 0.5);
  }

  play(
    minutes: number,
    fault: TrafficFault = {},
    change: (glance: Glance, n: number) => Glance = (glance) => glance,
  ): SpikeNews[] {
    this.scene.fault = fault;
    const before = this.news.length;
    const end = this.scene.seconds + 60 * minutes;
    while (this.scene.seconds < end) {
      const glance = change(this.scene.glance(), this.#k);
      this.news.push(...this.watch.update(glance, { k: ++this.#k, t: EPOCH + this.scene.seconds }));
    }
    return this.news.slice(before);
  }
}

const starts = (news: SpikeNews[], signal?: Signal) =>
  news.filter((one) => one.phase === 'start' && (signal === undefined || one.signal === signal));
const words = (news: SpikeNews[]) => news.map(({ phase, signal, reason, why }) => [phase, signal, reason ?? why]);

describe('spikes that people trust', () => {
  it('raises a threshold to just above what recurs, and lets what lasts pass it', () => {
    const evidence = new SequentialTest(new Float64Array(evidenceSize(1)), 86_400);
    const play = (gain: number, seconds: number) => {
      for (let n = 0; n < seconds; n++) {
        evidence.update(0, gain, gain, n, 1, 1);
        if (n % 10 === 0) evidence.advance(10, () => 12);
      }
    };
    const alarms: boolean[] = [];
    for (let burst = 0; burst < 6; burst++) {
      play(2, 10);
      alarms.push(evidence.alarming);
      play(-0.5, 110);
    }
    assert.deepEqual(alarms, [true, false, false, false, false, false]);
    play(2, 30);
    assert.equal(evidence.alarming, true, 'three times as long as the bursts');
  });

  it('keeps the alarm of a covered camera whose scene thins out, and announces it once', function () {
    skipInFastRun(this);
    const shift = new Shift({ diurnal: true });
    shift.play(60);
    assert.deepEqual(words(shift.news), []);
    const news = shift.play(8 * 60, { covered: true });
    assert.deepEqual(words(news), [
      ['start', 'missed', 'worse'],
      ['update', 'missed', 'adopted'],
    ]);
    const [start] = news;
    assert.ok(start.concerned! > 0.9 * start.of!, `${start.concerned} of ${start.of}`);
    assert.ok(Math.abs(start.since! - EPOCH - 3600) < 5);
    assert.equal(shift.watch.gauge('missed').active, true);
    assert.deepEqual(words(shift.play(20)), [['end', 'missed', 'recovered']]);
    assert.ok(shift.watch.gauge('missed').expected < 2, 'the old usual is back');
  });

  it('never ends a spike without objects to prove it', function () {
    skipInFastRun(this);
    const shift = new Shift({ lifeSeconds: 5 });
    shift.play(30);
    shift.play(2, { covered: true });
    assert.equal(shift.watch.gauge('missed').active, true);
    const empty = emptyGlance();
    for (let n = 1; n < 20_000; n++) shift.watch.update(empty, { k: 1e6 + n, t: EPOCH + shift.scene.seconds + n / 10 });
    assert.equal(shift.watch.gauge('missed').active, true);
  });

  it('learns the other signals while one has a spike', function () {
    skipInFastRun(this);
    const shift = new Shift();
    shift.play(60);
    const before = shift.watch.gauge('false').expected;
    shift.play(2, { localization: 1.5 });
    assert.equal(shift.watch.gauge('localization').active, true);
    // clutter that grows too slowly for anybody to call it abrupt
    for (let step = 0; step < 12; step++) shift.play(10, { localization: 1.5, false: 1 + step / 12 });
    assert.deepEqual(starts(shift.news, 'missed').length + starts(shift.news, 'false').length, 0);
    assert.ok(shift.watch.gauge('false').expected > 1.3 * before);
  });

  it('takes occlusions and showers for usual from the first, and still finds what lasts', function () {
    skipInFastRun(this);
    const shift = new Shift({ occlusions: true, showers: true });
    shift.play(180);
    assert.deepEqual(words(starts(shift.news)), []);
    const news = shift.play(3, { covered: true });
    assert.deepEqual(words(starts(news)), [['start', 'missed', 'worse']]);
  });

  it('raises nothing of misses and false tracks in the first minutes of healthy series, whatever their habits', function () {
    skipInFastRun(this);
    const said: string[] = [];
    for (const objects of [5, 20])
      for (let seed = 9000; seed < 9040; seed++) {
        const shift = new Shift(drawTraffic(seed, objects));
        shift.play(3);
        for (const { signal, at } of starts(shift.news))
          if (signal === 'missed' || signal === 'false')
            said.push(`seed ${seed}, ${objects} objects: ${signal} at frame ${at}`);
      }
    assert.deepEqual(said, []);
  });

  it('finds clutter that stays in a young series, although it comes and goes by the moment', function () {
    skipInFastRun(this);
    for (const minutes of [3, 10])
      for (let seed = 400; seed < 410; seed++) {
        const shift = new Shift({ seed, objects: 5 });
        shift.play(minutes);
        shift.news.length = 0;
        // twenty-five seconds of it might be a shower
        const [start] = starts(shift.play(1.5, { false: 10 }), 'false');
        assert.ok(start, `seed ${seed}: nothing in a minute and a half, ${minutes} minutes after the first frame`);
      }
  });

  it('does not mind another frame rate', function () {
    skipInFastRun(this);
    for (const framesPerSecond of [5, 20, 30]) {
      const shift = new Shift({ seed: 306, objects: 5 });
      shift.play(60);
      shift.news.length = 0;
      shift.scene.framesPerSecond = framesPerSecond;
      assert.deepEqual(words(shift.play(30)), [], `${framesPerSecond} frames/s`);
    }
  });

  it('announces a constant fault at most twice an hour', function () {
    skipInFastRun(this);
    for (const fault of [{ missed: 10 }, { false: 10 }, { switch: 15 }, { localization: 1.6 }]) {
      const shift = new Shift();
      shift.play(60);
      shift.news.length = 0;
      shift.play(120, fault);
      const [signal] = Object.keys(fault) as Signal[];
      const said = starts(shift.news, signal).length;
      assert.ok(said >= 1 && said <= 2, `${signal}: ${said}`);
      assert.equal(shift.watch.gauge(signal).active, true, signal);
    }
  });

  it('says of a constant fault of few objects that it is there and beyond doubt, and never that it is over', function () {
    skipInFastRun(this);
    for (const [seed, missed] of [
      [8, 10],
      [10, 10],
      [10, 3],
    ]) {
      const shift = new Shift({ seed, objects: 5 });
      shift.play(60);
      const news = shift.play(60, { missed }).filter(({ signal }) => signal === 'missed');
      assert.deepEqual(
        words(news),
        [
          ['start', 'missed', 'worse'],
          ['update', 'missed', 'certain'],
        ],
        `x${missed}, seed ${seed}`,
      );
    }
  });

  it('takes one object that flickers for one, in misses and in false tracks', function () {
    skipInFastRun(this);
    for (const seed of [5, 6]) {
      const shift = new Shift({ seed, objects: 5 });
      shift.play(30);
      shift.news.length = 0;
      // its error is on the brink of the cut-off, three frames of ten beyond it
      shift.play(1, {}, (glance, n) => {
        if (n % 10 < 3) return { ...glance, missed: [...glance.missed, 'brink'], false: [...glance.false, 'ybrink'] };
        const { properTruths, properTracks, errors, localization } = glance;
        return {
          ...glance,
          properTruths: [...properTruths, 'brink'],
          properTracks: [...properTracks, 'ybrink'],
          errors: [...errors, 0.4],
          localization: localization + 0.4,
        };
      });
      assert.deepEqual(words(shift.news), [], `seed ${seed}`);
    }
  });

  it('takes two objects that meet and exchange their tracks again and again for one change', () => {
    const shift = new Shift({ seed: 5, objects: 5 });
    shift.play(30);
    shift.news.length = 0;
    let exchanged = false;
    const pair = (glance: Glance, n: number, halves: number): Glance => ({
      ...glance,
      properTruths: [...glance.properTruths, 'a', 'b'],
      properTracks: [...glance.properTracks, ...(exchanged ? ['yb', 'ya'] : ['ya', 'yb'])],
      errors: [...glance.errors, 0.1, 0.1],
      localization: glance.localization + 0.2,
      pendingHalves: glance.pendingHalves + halves,
      frame: n,
    });
    let pending = 0;
    // one that is taken back at once, every few seconds; and four times there and back for good
    shift.play(1, {}, (glance, n) => {
      pending = n % 40 === 0 ? pending + 2 : n % 40 === 2 ? pending - 2 : pending;
      return pair(glance, n, pending);
    });
    shift.play(1, {}, (glance, n) => {
      if (n % 150 === 0) {
        exchanged = !exchanged;
        pending += 4;
      }
      return pair(glance, n, pending);
    });
    assert.deepEqual(words(shift.news), []);
  });

  it('takes two pairs that exchange their tracks in one frame for two changes, and four that pass them on for four', () => {
    const truths = ['t1', 't2', 't3', 't4'];
    const isSpike = (tracks: string[], lost: boolean): boolean => {
      const watch = new SpikeWatch({}, 1, 0.5);
      const news: SpikeNews[] = [];
      for (let k = 1; k <= 210; k++) {
        const properTracks = k > 200 ? tracks : ['y1', 'y2', 'y3', 'y4'];
        const gone = lost && k > 195 && k <= 200 ? 1 : 0;
        const glance = {
          ...emptyGlance(),
          ...{
            properTruths: truths.slice(gone),
            properTracks: properTracks.slice(gone),
            missed: truths.slice(0, gone),
          },
          ...{ errors: truths.slice(gone).map(() => 0.1), localization: 0.1 * (4 - gone) },
          pendingHalves: k > 200 ? 8 : 0,
        };
        news.push(...watch.update(glance, { k, t: EPOCH + k / 10 }));
      }
      return starts(news, 'switch').length > 0;
    };
    for (const lost of [false, true]) {
      assert.equal(isSpike(['y2', 'y1', 'y4', 'y3'], lost), false, `pairs, ${lost}`);
      assert.equal(isSpike(['y2', 'y3', 'y4', 'y1'], lost), true, `all four, ${lost}`);
    }
  });

  it('expects more switches where more objects are, once they have come with objects: in the morning too', function () {
    skipInFastRun(this);
    const shift = new Shift({ ...drawTraffic(13_002, 20), diurnal: true });
    shift.play(24 * 60);
    assert.deepEqual(words(starts(shift.news, 'switch')), []);
  });

  it('finds a few tracks that came at once and stay, among many that come and go', () => {
    for (const minutes of [0.3, 5]) {
      const shift = new Shift({ clutterPerSecond: 2 });
      const healthy = shift.play(minutes);
      const ghosts = (glance: Glance) => {
        glance.false.push('ghost 1', 'ghost 2', 'ghost 3');
        return glance;
      };
      const [found] = starts(shift.play(0.25, {}, ghosts), 'false');
      assert.deepEqual(words(healthy), [], `${minutes} minutes`);
      assert.ok(found, `within 15 s, after ${minutes} minutes`);
    }
  });

  it('does not say that tracks are gone that came once and stay', () => {
    const shift = new Shift();
    shift.play(20);
    const [found, ...more] = shift.play(15, {}, (glance) => {
      glance.false.push('ghost 1', 'ghost 2', 'ghost 3');
      return glance;
    });
    assert.deepEqual([found?.phase, found?.signal, words(more)], ['start', 'false', []]);
    assert.deepEqual(words(shift.play(3)), [['end', 'false', 'recovered']]);
  });

  it('is not blinded by one blackout: the next one that lasts longer is told', function () {
    skipInFastRun(this);
    for (const objects of [8, 20]) {
      const shift = new Shift({ objects });
      shift.play(30);
      const first = shift.play(3 / 60, { covered: true });
      assert.deepEqual(words(starts(first)), [['start', 'missed', 'worse']], `${objects} objects`);
      shift.play(10);
      const next = [...shift.play(8 / 60, { covered: true }), ...shift.play(2 / 60)];
      assert.deepEqual(words(starts(next)), [['start', 'missed', 'worse']], `${objects} objects`);
    }
  });

  it('finds a camera that is covered in the first seconds, and clutter and misses ten seconds after the first frame', function () {
    skipInFastRun(this);
    for (let seed = 0; seed < 8; seed++) {
      const covered = new Shift({ seed, objects: 5 });
      covered.play(5 / 60);
      assert.equal(starts(covered.play(10 / 60, { covered: true }), 'missed').length, 1, `covered, seed ${seed}`);
    }
    // where what is usual is known from ten seconds, some are found
    for (const [signal, fault, least] of [
      ['false', { false: 20 }, 7],
      ['missed', { missed: 20 }, 2],
    ] as const) {
      const found = Array.from({ length: 8 }, (_, seed) => {
        const shift = new Shift({ seed, clutterPerSecond: 0.5 });
        shift.play(10 / 60);
        return starts(shift.play(2, fault), signal).length > 0;
      });
      assert.ok(found.filter(Boolean).length >= least, `${signal}: ${found}`);
    }
  });

  it('keeps the alarm of larger errors of a few objects, whoever is there, and ends it when they are small again', function () {
    skipInFastRun(this);
    for (const seed of [8, 11, 28]) {
      const shift = new Shift({ seed, objects: 5 });
      shift.play(60);
      const ended = () => shift.news.filter(({ phase, signal }) => phase === 'end' && signal === 'localization').length;
      shift.play(6 * 60, { localization: 1.6 });
      assert.deepEqual([shift.watch.gauge('localization').active, ended()], [true, 0], `seed ${seed}`);
      shift.play(60);
      assert.equal(ended(), 1, `seed ${seed}`);
    }
  });

  it('does not take the seconds between for calm when ids begin anew every five seconds', () => {
    const watch = new SpikeWatch({}, 1, 0.5);
    const truths = Array.from({ length: 10 }, (_, n) => `t${n}`);
    const news: SpikeNews[] = [];
    for (let k = 1; k <= 4200; k++) {
      const era = k <= 1800 || k > 3600 ? 0 : Math.floor(k / 50);
      const since = k <= 1800 || k > 3600 ? 99 : k % 50;
      const glance = {
        ...{ ...emptyGlance(), properTruths: truths, properTracks: truths.map((id) => `${era} ${id}`) },
        ...{ errors: truths.map(() => 0.1), localization: 1 },
        ...{ pendingHalves: since < 15 ? 20 : 0, settledHalves: since === 15 ? 20 : 0 },
      };
      news.push(...watch.update(glance, { k, t: EPOCH + k / 10 }));
    }
    assert.deepEqual(
      news.filter(({ phase }) => phase !== 'update').map(({ phase, signal }) => [phase, signal]),
      [
        ['start', 'switch'],
        ['end', 'switch'],
      ],
    );
    assert.ok(news.at(-1)!.at > 3600, `it ended at frame ${news.at(-1)!.at}`);
  });

  it('is not beyond doubt about one object that is lost again and again', () => {
    const shown = (missed: string[], found: string[]): Glance => ({
      ...{ ...emptyGlance(), properTruths: found, properTracks: found.map((id) => `of ${id}`), missed },
      ...{ errors: found.map(() => 0.1), localization: 0.1 * found.length },
    });
    const play = (glanceAt: (n: number) => Glance): SpikeNews[] => {
      const watch = new SpikeWatch({}, 1, 0.5);
      const news: SpikeNews[] = [];
      for (let n = 0; n < 12_000; n++) {
        const glance = n < 9_000 ? shown([], ['a', 'b']) : glanceAt(n);
        news.push(...watch.update(glance, { k: n, t: EPOCH + n / 10 }));
      }
      return news;
    };
    const flickers = play((n) => (n % 20 < 5 ? shown(['a'], ['b']) : shown([], ['a', 'b'])));
    assert.ok(starts(flickers, 'missed').length > 0, 'it is told');
    assert.deepEqual(
      flickers.filter(({ signal, certain }) => signal === 'missed' && certain),
      [],
    );
    const both = play((n) =>
      n % 20 < 5 ? shown(['a'], ['b']) : n % 20 < 10 ? shown(['b'], ['a']) : shown([], ['a', 'b']),
    );
    assert.ok(
      both.some(({ certain }) => certain),
      'two are no habit of one',
    );
  });

  it('says at once that nothing has ever matched, and that more is missed than found', () => {
    const never = new Shift();
    assert.deepEqual(words(never.play(1, { covered: true })), [['start', 'missed', 'never_matched']]);
    const mostly = new Shift({ missShare: 0.7 });
    assert.deepEqual(words(starts(mostly.play(3), 'missed')), [['start', 'missed', 'mostly_missed']]);
  });

  it('says at once that all objects changed their tracks, however new the series', () => {
    const watch = new SpikeWatch({}, 1, 0.5);
    const names = (letter: string) => ['1', '2', '3', '4', '5'].map((n) => letter + n);
    const pairs = { properTruths: names('t'), errors: [0.1, 0.1, 0.1, 0.1, 0.1], localization: 0.5 };
    const news: SpikeNews[] = [];
    for (let k = 1; k <= 210; k++) {
      const exchanged = k > 200;
      const glance = { ...emptyGlance(), ...pairs, properTracks: names(exchanged ? 'z' : 'y') };
      news.push(...watch.update({ ...glance, pendingHalves: exchanged ? 10 : 0 }, { k, t: EPOCH + k / 10 }));
    }
    assert.deepEqual(
      news.map(({ phase, signal, at }) => [phase, signal, at]),
      [['start', 'switch', 201]],
    );
  });

  it('judges a new stream against its objective', function () {
    skipInFastRun(this);
    const objective = { missRatio: 0.05, falsePerMinute: 20, switchesPerObjectHour: 10 };
    const good = new Shift({}, { objective });
    assert.deepEqual(words(good.play(60)), []);
    const bad = new Shift({ missShare: 0.12, clutterPerSecond: 1, switchesPerObjectSecond: 0.02 }, { objective });
    bad.play(60);
    assert.deepEqual(
      starts(bad.news)
        .map(({ signal, why }) => `${signal} ${why}`)
        .sort(),
      ['false objective', 'missed objective', 'switch objective'],
    );
  });
});
