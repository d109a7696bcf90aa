/** Spike detection on simulated scenes: what must be found, what must not, and that nothing depends on restarts. */
import assert from 'node:assert/strict';
import type { Glance } from '../../src/metric/evaluation.js';
import { ErrorDetector, errorDetectorSize } from '../../src/spikes/error-detector.js';
import { Mixture, mixtureSize } from '../../src/spikes/mixture.js';
import { RunDetector, type RunTraits, runDetectorSize } from '../../src/spikes/run-detector.js';
import { FALSE, MISSED, SIGNALS, type Signal, SWITCH } from '../../src/spikes/signals.js';
import { type SpikeNews, type SpikeSettings, SpikeWatch } from '../../src/spikes/watch.js';
import { Chance, type CountScene, ErrorScene, MissScene, RateScene } from '../bench/spike-scene.js';

const SETTINGS: SpikeSettings = {
  signals: [...SIGNALS],
  falseAlarmFrames: 5_184_000,
  learnFrames: 150,
  memoryFrames: 36_000,
  calmFrames: 30,
  adoptFrames: 108_000,
  objectsMax: 20,
};

/** Frames until the alarm after the scene breaks; 0 when there was a false one before. */
function delay(traits: RunTraits, scene: CountScene, usualFrames = 6000): number {
  const detector = new RunDetector(traits, new Float64Array(runDetectorSize(traits)), SETTINGS);
  for (let n = 0; n < usualFrames; n++) {
    const counts = scene.step();
    detector.update(counts, n);
    if (detector.score >= 1) return 0;
    detector.learn(counts);
  }
  scene.break();
  for (let n = 1; n < 5000; n++) {
    const counts = scene.step();
    detector.update(counts, n);
    if (detector.score >= 1) return n;
    detector.learn(counts);
  }
  return Number.POSITIVE_INFINITY;
}

/** A scene by ids: twenty truths and their tracks, with whatever a test makes of them. */
class Staged {
  readonly chance = new Chance(11);
  truths = Array.from({ length: 20 }, (_, n) => `t${n}`);
  lost = new Set<string>();
  clutter = 0;
  switches = 0;
  error = 0.1;
  #pending: number[] = [];
  #blinks = new Map<string, number>();
  #false: Array<{ id: string; until: number }> = [];
  #frame = 0;

  glance(): Glance {
    const n = this.#frame++;
    for (const id of this.truths)
      if (this.chance.next() < 0.004) this.#blinks.set(id, n + Math.ceil(8 * this.chance.next()));
    const missed = this.truths.filter((id) => this.lost.has(id) || (this.#blinks.get(id) ?? 0) > n);
    const proper = this.truths.filter((id) => !missed.includes(id));
    if (this.chance.next() < 0.02 + this.clutter) this.#false.push({ id: `f${n}`, until: n + 10 });
    this.#false = this.#false.filter(({ until }) => until > n);
    const halves = this.chance.next() < 0.01 + this.switches ? 2 : 0;
    this.#pending.push(halves);
    const settledHalves = this.#pending.length > 30 ? this.#pending.shift()! : 0;
    const errors = proper.map(() => this.error * (0.5 + this.chance.next()));
    return {
      frame: n,
      properTruths: proper,
      properTracks: proper.map((id) => `y${id}`),
      missed,
      false: this.#false.map(({ id }) => id),
      halves,
      pendingHalves: this.#pending.reduce((a, b) => a + b, 0),
      settledHalves,
      localization: errors.reduce((a, b) => a + b, 0),
    };
  }
}

function play(watch: SpikeWatch, scene: Staged, frames: number, from: number): SpikeNews[] {
  const news: SpikeNews[] = [];
  for (let n = 0; n < frames; n++) news.push(...watch.update(scene.glance(), from + n, () => ['t1', 't2']));
  return news;
}

const startWatch = (settings: Partial<SpikeSettings> = {}) => new SpikeWatch({ ...SETTINGS, ...settings }, 1, 0.5);

describe('spikes', () => {
  it('finds more misses, lost objects, clutter and switches, and not before they begin', () => {
    const slowest = { runs: 0, atOnce: 0, false: 0, switch: 0 };
    for (let seed = 1; seed <= 20; seed++) {
      const found = {
        runs: delay(MISSED, new MissScene(seed, 'runs')),
        atOnce: delay(MISSED, new MissScene(seed, 'atOnce')),
        false: delay(FALSE, new RateScene(seed, 0.02, 0.4, 20)),
        switch: delay(SWITCH, new RateScene(seed, 0.01, 0.1, 0)),
      };
      for (const [name, frames] of Object.entries(found)) {
        assert.ok(frames > 0, `seed ${seed}: ${name} before anything had changed`);
        slowest[name as keyof typeof slowest] = Math.max(slowest[name as keyof typeof slowest], frames);
      }
    }
    const late = { runs: 20, atOnce: 20, false: 66, switch: 340 };
    for (const [name, frames] of Object.entries(slowest))
      assert.ok(frames <= late[name as keyof typeof late], `${name} took ${frames} frames`);
  });

  it('finds a localization error that is half as large again within a second, and nothing before', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const scene = new ErrorScene(seed);
      const detector = new ErrorDetector(new Float64Array(errorDetectorSize()), SETTINGS);
      let found = 0;
      for (let n = 0; n < 9000 && !found; n++) {
        if (n === 6000) scene.break();
        detector.update(scene.step(), scene.pairs, n);
        if (detector.score >= 1) found = n;
        detector.learn();
      }
      assert.ok(found >= 6000 && found < 6030, `seed ${seed}: found at ${found - 6000}`);
    }
  });

  it('has a statistic whose mean grows by 1 with each frame while nothing has changed', () => {
    // the promise behind falseAlarmFrames: the mean of R(k) is k, for events at the usual rate
    const frames = 40;
    const runs = 40_000;
    const chance = new Chance(3);
    let total = 0;
    for (let run = 0; run < runs; run++) {
      const state = new Float64Array(mixtureSize(1));
      const mixture = new Mixture(state, [1], 1e9);
      for (let n = 0; n < frames; n++) {
        const event = chance.next() < 0.3 ? 1 : 0;
        const gain = event * Math.log(2) - Math.log1p(0.3);
        mixture.update(0, gain, gain, n, event);
      }
      total += state[0];
    }
    assert.ok(Math.abs(total / runs / frames - 1) < 0.05, `mean ${total / runs}`);
  });

  const faults: Record<Signal, (scene: Staged) => void> = {
    missed: (scene) => {
      scene.lost = new Set(scene.truths.slice(0, 6));
    },
    false: (scene) => {
      scene.clutter = 0.5;
    },
    switch: (scene) => {
      scene.switches = 0.15;
    },
    localization: (scene) => {
      scene.error = 0.18;
    },
  };

  for (const signal of SIGNALS) {
    it(`names ${signal}, says since when, what was expected and who is concerned, and when it is over`, () => {
      const watch = startWatch();
      const scene = new Staged();
      assert.deepEqual(play(watch, scene, 4000, 1), []);
      const { truths } = scene;
      faults[signal](scene);
      const began = play(watch, scene, 400, 4001);
      assert.equal(began.length, 1, JSON.stringify(began));
      const [start] = began;
      assert.deepEqual([start.phase, start.signal], ['start', signal]);
      assert.ok(Math.abs(start.k - 4001) <= 25, `begins at ${start.k}`);
      assert.ok(start.at >= start.k && start.score >= 1);
      assert.ok(start.observed > 1.4 * start.expected, `${start.expected} ${start.observed}`);
      if (signal === 'missed') assert.ok(truths.slice(0, 6).every((id) => start.objects.includes(id)));
      else assert.ok(start.objects.length > 0 && start.objects.length <= 20);
      assert.equal(watch.gauge(signal).active, true);
      Object.assign(scene, { lost: new Set(), clutter: 0, switches: 0, error: 0.1 });
      const over = play(watch, scene, 1500, 4401);
      assert.deepEqual(
        over.map(({ phase, signal: which, k, reason }) => [phase, which, k, reason]),
        [['end', signal, start.k, 'recovered']],
      );
      assert.ok(over[0].observed > 1.2 * over[0].expected);
      const { active, count } = watch.gauge(signal);
      assert.deepEqual([active, count], [false, 1]);
    });
  }

  it('is not disturbed by a scene that gets busier or emptier', () => {
    const watch = startWatch();
    const scene = new Staged();
    const all = Array.from({ length: 60 }, (_, n) => `t${n}`);
    let from = 1;
    for (const objects of [20, 60, 5, 0, 40, 2, 20]) {
      scene.truths = all.slice(0, objects);
      assert.deepEqual(play(watch, scene, 2000, from), [], `${objects} objects`);
      from += 2000;
    }
  });

  it('does not take newcomers that are found a little late for lost ones', () => {
    const watch = startWatch();
    const scene = new Staged();
    play(watch, scene, 3000, 1);
    const news: SpikeNews[] = [];
    for (let n = 0; n < 10; n++) {
      scene.truths = Array.from({ length: 20 }, (_, i) => `new${n}-${i}`);
      scene.lost = new Set(scene.truths);
      news.push(...play(watch, scene, 3, 3001 + 100 * n));
      scene.lost = new Set();
      news.push(...play(watch, scene, 97, 3004 + 100 * n));
    }
    assert.deepEqual(news, []);
  });

  it('takes what lasts for adoptFrames for usual from then on', () => {
    const watch = startWatch({ adoptFrames: 600 });
    const scene = new Staged();
    play(watch, scene, 2000, 1);
    scene.lost = new Set(scene.truths.slice(0, 6));
    const news = play(watch, scene, 6000, 2001);
    assert.deepEqual(
      news.map(({ phase, reason }) => [phase, reason]),
      [
        ['start', undefined],
        ['end', 'adopted'],
      ],
    );
    assert.ok(watch.gauge('missed').expected > 5);
  });

  it('goes on from its snapshot to the last digit, in the middle of a spike too', () => {
    for (const at of [77, 3010, 3100]) {
      const scenes = [new Staged(), new Staged()];
      const straight = startWatch();
      let broken = startWatch();
      for (let n = 1; n <= 3600; n++) {
        for (const scene of scenes) if (n === 3001) faults.missed(scene);
        const [one, other] = scenes.map((scene) => scene.glance());
        const expected = straight.update(one, n, () => []);
        assert.deepEqual(
          broken.update(other, n, () => []),
          expected,
        );
        if (n !== at) continue;
        const text = JSON.stringify(broken);
        broken = SpikeWatch.fromJSON(JSON.parse(text), SETTINGS, 1, 0.5);
      }
      assert.equal(JSON.stringify(broken), JSON.stringify(straight));
      assert.equal(straight.gauge('missed').active, true);
    }
  });

  it('begins anew from a snapshot that it does not know', () => {
    const state = { ...startWatch().toJSON(), numbers: [1, 2, 3] };
    const watch = SpikeWatch.fromJSON(state, SETTINGS, 1, 0.5);
    assert.deepEqual(watch.toJSON(), startWatch().toJSON());
  });

  it('ends its spikes with the series', () => {
    const watch = startWatch();
    const scene = new Staged();
    play(watch, scene, 1000, 1);
    faults.missed(scene);
    play(watch, scene, 50, 1001);
    assert.deepEqual(watch.close(1050, ['missed']), []);
    const [end] = watch.close(1050);
    assert.deepEqual([end.phase, end.signal, end.reason, end.at], ['end', 'missed', 'closed', 1050]);
    assert.deepEqual(watch.close(1050), []);
  });
});
