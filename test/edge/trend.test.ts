import { strict as assert } from 'node:assert';
import { Trends } from '../../src/edge/trend.js';
import type { ReportEvent } from '../../src/wire/events.js';
import { fakeReport } from '../kit/fake-live.js';

const all = { covers: () => true };

function report(k: number, changes: Partial<ReportEvent> = {}): ReportEvent {
  const series = { stream: 'gate-7', tracker: 'sort', profile: 'online-surveillance' };
  const cost = { localization: k, missed: 2 * k, false: 3 * k, switch: 4 * k, total: 10 * k };
  return {
    type: 'report',
    ...series,
    k,
    receivedMs: 1000 + k,
    solveMs: 0,
    report: fakeReport({ cost, distance: k / 2 }),
    ...changes,
  };
}

const board = (framesMax: number, count: number, seriesMax = 10) => {
  const trends = new Trends(framesMax, seriesMax);
  for (let k = 1; k <= count; k++) trends.observe(report(k));
  return trends;
};

describe('trend', () => {
  it('keeps distance and costs of every frame, in columns', () => {
    const [view] = board(100, 3).list(all, 100);
    const figures = { k: [1, 2, 3], atMs: [1001, 1002, 1003], distance: [0.5, 1, 1.5], localization: [1, 2, 3] };
    const more = { missed: [2, 4, 6], false: [3, 6, 9], switch: [4, 8, 12], exact: [1, 1, 1] };
    assert.deepEqual(view, { stream: 'gate-7', tracker: 'sort', profile: 'online-surveillance', ...figures, ...more });
  });

  it('says of every frame whether its costs are proven, of one without a distance too', () => {
    const trends = new Trends(100, 10);
    const given = [
      [-2, 1.5, false],
      [-1, 0, false],
      [0, 0, true],
      [1, 2.5, true],
    ] as const;
    for (const [k, distance, exact] of given) trends.observe(report(k, { report: fakeReport({ distance, exact }) }));
    const [view] = trends.list(all, 100);
    assert.deepEqual(
      view.k.map((k, n) => [k, view.distance[n], view.exact[n] === 1]),
      given,
    );
  });

  it('tells costs, numbers and times as they are, however far they go', () => {
    for (const step of [1, 2 ** 20, 2 ** 28, 2 ** 31 - 1]) {
      const trends = new Trends(100, 10);
      const base = 2 ** 52 - 300 * 2 ** 31;
      for (let n = 0; n < 250; n++) {
        const figures = {
          distance: n / 7,
          cost: { localization: n / 3, missed: 0, false: 1e9 / 3, switch: 0, total: 1 },
        };
        trends.observe(report(base + n * step, { receivedMs: 1.7e12 + n * step, report: fakeReport(figures) }));
      }
      const [view] = trends.list(all, 100);
      // the last ones at least: what is too far apart to be one plot is told from its beginning
      assert.ok(view.k.length >= (step < 2 ** 24 ? 100 : 1), `${step}`);
      view.k.forEach((k, at) => {
        const n = 250 - view.k.length + at;
        assert.equal(k, base + n * step);
        assert.equal(view.atMs[at], 1.7e12 + n * step);
        assert.equal(view.distance[at], n / 7);
        assert.equal(view.localization[at], n / 3);
        assert.equal(view.missed[at], 0);
        assert.equal(view.false[at], 1e9 / 3);
      });
    }
  });

  it('tells costs that come again and again, and others, as they are', () => {
    for (const kinds of [1, 5, 40, 200, 5000]) {
      const trends = new Trends(300, 10);
      const costOf = (k: number) => ({
        localization: k,
        missed: (k % kinds) / 3,
        false: (k % 7) / 9,
        switch: 0,
        total: 1,
      });
      for (let k = 1; k <= 2500; k++) {
        trends.observe(report(k, { report: fakeReport({ cost: costOf(k), distance: 1 }) }));
        if (k % 97 > 0) continue;
        const [view] = trends.list(all, 300);
        view.k.forEach((at, n) => {
          const { missed, false: falses, switch: switches } = costOf(at);
          assert.deepEqual(
            [view.missed[n], view.false[n], view.switch[n]],
            [missed, falses, switches],
            `${kinds}, ${k}`,
          );
        });
      }
    }
  });

  it('keeps at most so many frames, the newest, however many come', () => {
    for (const count of [63, 64, 65, 99, 100, 101, 250]) {
      const [{ k, missed }] = board(100, count).list(all, 1000);
      const expected = Array.from({ length: Math.min(100, count) }, (_, n) => Math.max(0, count - 100) + n + 1);
      assert.deepEqual(k, expected, `${count} frames`);
      assert.deepEqual(
        missed,
        expected.map((one) => 2 * one),
      );
    }
  });

  it('thins out evenly and never leaves out the newest', () => {
    for (const points of [1, 2, 7, 60, 99]) {
      const [{ k }] = board(100, 230).list(all, points);
      assert.ok(k.length <= points && k.length >= points / 2, `${k.length} of ${points}`);
      assert.equal(k.at(-1), 230);
      const steps = new Set(k.slice(1).map((one, n) => one - k[n]));
      assert.ok(steps.size <= 1, 'evenly apart');
    }
  });

  it('replaces a frame that is reported again at the end, and starts over when numbers go back', () => {
    const trends = board(100, 5);
    trends.observe(report(5, { receivedMs: 9 }));
    assert.deepEqual(trends.list(all, 10)[0].atMs, [1001, 1002, 1003, 1004, 9]);
    trends.observe(report(2));
    assert.deepEqual(trends.list(all, 10)[0].k, [2]);
  });

  it('forgets retired series, and the oldest beyond the limit', () => {
    const trends = board(10, 2, 2);
    trends.observe(report(1, { tracker: 'b' }));
    trends.observe(report(1, { tracker: 'c' }));
    const names = () => trends.list(all, 10).map(({ tracker }) => tracker);
    assert.deepEqual(names(), ['b', 'c']);
    trends.observe({ type: 'retired', stream: 'gate-7', tracker: 'b', profile: 'online-surveillance' });
    assert.deepEqual(names(), ['c']);
  });

  it('shows only what matches and what may be seen', () => {
    const trends = board(10, 2);
    trends.observe(report(1, { stream: 'yard' }));
    const streams = (filter: object) => trends.list({ ...all, ...filter }, 10).map(({ stream }) => stream);
    assert.deepEqual(streams({}), ['gate-7', 'yard']);
    assert.deepEqual(streams({ stream: 'yard' }), ['yard']);
    assert.deepEqual(streams({ covers: (stream: string) => stream === 'gate-7' }), ['gate-7']);
    assert.deepEqual(streams({ tracker: 'nobody' }), []);
  });
});
