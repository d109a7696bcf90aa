/** Spike detection on simulated scenes: what must be found, what must not, and that nothing depends on restarts. */
import assert from 'node:assert/strict';
import type { Glance } from '../../src/metric/evaluation.js';
import type { SpikeKeys } from '../../src/spikes/settings.js';
import { SIGNALS, type Signal } from '../../src/spikes/signals.js';
import { type SpikeNews, SpikeWatch } from '../../src/spikes/watch.js';
import { Chance } from '../bench/spike-scene.js';

const SETTINGS: SpikeKeys = {
  signals: [...SIGNALS],
  falseAlarmFrames: 5_184_000,
  learnFrames: 150,
  memoryFrames: 36_000,
  calmFrames: 30,
  adoptFrames: 108_000,
  objectsMax: 20,
  youngSeconds: 0,
};

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
      errors,
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
  for (let n = 0; n < frames; n++) news.push(...watch.update(scene.glance(), { k: from + n }, () => ['t1', 't2']));
  return news;
}

const startWatch = (settings: SpikeKeys = {}) => new SpikeWatch({ ...SETTINGS, ...settings }, 1, 0.5);

describe('spikes', () => {
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
      // of what may wake somebody, it is told as well when it is beyond doubt
      const [start, ...sure] = began;
      assert.deepEqual(
        sure.map(({ phase, reason, certain }) => [phase, reason, certain]),
        signal === 'missed' ? [['update', 'certain', true]] : [],
      );
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

  it('learns of a young series what passes in seconds, and tells what does not, since when it began', () => {
    const lose = (frames: number) => {
      const watch = startWatch({ youngSeconds: 900 });
      const scene = new Staged();
      assert.deepEqual(play(watch, scene, 4000, 1), []);
      scene.lost = new Set(scene.truths.slice(0, 12));
      const news = play(watch, scene, frames, 4001);
      scene.lost = new Set();
      return [...news, ...play(watch, scene, 300, 4001 + frames)];
    };
    assert.deepEqual(lose(60), []);
    const [start] = lose(200);
    assert.deepEqual([start.phase, start.signal], ['start', 'missed']);
    assert.ok(start.k >= 4000 && start.k <= 4003, `begins at ${start.k}`);
    assert.ok(start.at >= 4001 + 149, `told at ${start.at}`);
  });

  it('tells of a young series at once when nothing at all is found, and when false tracks come with it', () => {
    for (const clutter of [0, 1]) {
      const watch = startWatch({ youngSeconds: 900 });
      const scene = new Staged();
      play(watch, scene, 4000, 1);
      scene.lost = new Set(clutter ? scene.truths.slice(0, 12) : scene.truths);
      scene.clutter = clutter;
      const [start] = play(watch, scene, 40, 4001);
      assert.ok(start && start.at <= 4030, JSON.stringify(start));
    }
  });

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

  it('keeps a spike open that lasts for adoptSeconds, learns its level, and ends it when the old usual is back', () => {
    const watch = startWatch({ adoptFrames: 600 });
    const scene = new Staged();
    play(watch, scene, 2000, 1);
    scene.lost = new Set(scene.truths.slice(0, 6));
    const news = play(watch, scene, 6000, 2001);
    assert.deepEqual(
      news.map(({ phase, reason }) => [phase, reason]),
      [
        ['start', undefined],
        ['update', 'certain'],
        ['update', 'adopted'],
      ],
    );
    assert.equal(watch.gauge('missed').active, true);
    assert.ok(watch.gauge('missed').expected > 5);
    scene.lost = new Set();
    const over = play(watch, scene, 3000, 8001);
    assert.deepEqual(
      over.map(({ phase, reason }) => [phase, reason]),
      [['end', 'recovered']],
    );
    assert.ok(watch.gauge('missed').expected < 1.5, 'the old usual is usual again');
  });

  it('goes on from its snapshot to the last digit, in the middle of a spike too', () => {
    for (const at of [77, 3010, 3100]) {
      const scenes = [new Staged(), new Staged()];
      const straight = startWatch();
      let broken = startWatch();
      for (let n = 1; n <= 3600; n++) {
        for (const scene of scenes) if (n === 3001) faults.missed(scene);
        const [one, other] = scenes.map((scene) => scene.glance());
        const expected = straight.update(one, { k: n });
        assert.deepEqual(broken.update(other, { k: n }), expected);
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

  it('goes on with a spike that a version before knew of', () => {
    const state = {
      pieces: { counts: [3, 0, 0, 0] },
      objects: { missed: ['t1'] },
      lasting: [{ signal: 'missed' as const, k: 7 }],
    };
    const watch = SpikeWatch.fromJSON(state, SETTINGS, 1, 0.5);
    assert.deepEqual([watch.gauge('missed').active, watch.gauge('missed').count], [true, 3]);
    const [end] = play(watch, new Staged(), 600, 1);
    assert.deepEqual([end.phase, end.signal, end.k, end.reason], ['end', 'missed', 7, 'recovered']);
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
