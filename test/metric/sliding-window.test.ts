/** Settled totals, events, bounds of the whole stream, late readers, memory. */

import assert from 'node:assert/strict';
import { evaluate, type Frame, type Obj, type Params, type Report, SlidingWindow } from '../../src/index.js';
import { FrameRecord } from '../../src/metric/window/frame-record.js';
import { randomCase } from '../kit/metric/scenes.js';
import { close } from '../kit/metric/verifier.js';
import { randomFrom } from '../kit/random.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const params: Params = { distance: 'euclidean', cutoff: 5, exponent: 1, switchPenalty: 2 };
const at = (id: string, x: number): Obj => ({ id, point: [x] });

function run(frames: Frame[], windowFrames: number, settleFrames?: number): { reports: Report[]; last: Report } {
  const window = new SlidingWindow({
    ...params,
    windowFrames,
    ...(settleFrames === undefined ? {} : { settleFrames }),
  });
  const reports = frames.map((frame) => window.push(frame));
  return { reports, last: window.end() };
}

describe('what has settled', () => {
  it('only grows, and its switches are those of the events', () => {
    for (let seed = 1; seed <= drawn(40); seed++) {
      const { frames, params: own } = randomCase(seed);
      const window = new SlidingWindow({ ...own, windowFrames: 7 });
      let before = { frames: 0, cost: 0, switches: 0 };
      let events = 0;
      for (const report of [...frames.map((frame) => window.push(frame)), window.end()]) {
        const { settled } = report;
        events += report.events.reduce((sum, event) => sum + event.switches, 0);
        assert.ok(
          settled.frames >= before.frames &&
            settled.cost.total >= before.cost - 1e-9 &&
            settled.count.switches >= before.switches,
          `seed ${seed}`,
        );
        assert.equal(settled.count.switches, events, `seed ${seed}`);
        before = { frames: settled.frames, cost: settled.cost.total, switches: settled.count.switches };
      }
      assert.equal(before.frames, frames.length);
    }
  });

  it('is the offline metric at the end when the window holds everything and nothing settles before', () => {
    for (let seed = 50; seed < 50 + drawn(25); seed++) {
      const { frames, params: own } = randomCase(seed);
      const window = new SlidingWindow({ ...own, windowFrames: frames.length + 3, settleFrames: frames.length });
      const early = new SlidingWindow({ ...own, windowFrames: frames.length });
      for (const frame of frames) {
        window.push(frame);
        early.push(frame);
      }
      const { settled, lifetime } = window.end();
      const { cost, count } = evaluate(frames, own);
      for (const key of ['total', 'localization', 'missed', 'false', 'switch'] as const)
        close(settled.cost[key], cost[key], 1e-9, `seed ${seed}: ${key}`);
      assert.deepEqual(settled.count, count, `seed ${seed}`);
      close(lifetime!.lower, cost.total, 1e-9, `seed ${seed}: lower`);
      close(lifetime!.upper, cost.total, 1e-9, `seed ${seed}: upper`);
      // frames that settled at half a window's age did so on what was known then
      const bounds = early.end().lifetime!;
      close(bounds.lower, cost.total, 1e-9, `seed ${seed}: lower, settled early`);
      assert.ok(bounds.upper >= cost.total * (1 - 1e-9), `seed ${seed}: upper, settled early`);
    }
  });

  it('is bounded from below and above by the lifetime bounds', function () {
    skipInFastRun(this);
    for (let seed = 100; seed < 100 + drawn(60); seed++) {
      // no id returns that was in none of the last 5 frames: then it would be a new trajectory
      const { frames, params: own } = randomCase(seed, { frameCount: 20 });
      const window = new SlidingWindow({ ...own, windowFrames: 6 });
      const lastSeen = new Map<string, number>();
      let returns = false;
      let before = 0;
      frames.forEach((frame, k) => {
        const seen = [...frame.reference.map((o) => `r${o.id}`), ...frame.tracker.map((o) => `t${o.id}`)];
        for (const id of seen) {
          returns ||= k - (lastSeen.get(id) ?? k) > 5;
          lastSeen.set(id, k);
        }
        const { settled, lifetime } = window.push(frame);
        const { lower, upper } = lifetime!;
        assert.ok(lower <= upper * (1 + 1e-9) + 1e-9, `seed ${seed}, push ${k}: ${lower} > ${upper}`);
        assert.ok(lower >= before, `seed ${seed}, push ${k}: the lower bound fell from ${before} to ${lower}`);
        before = lower;
        if (settled.frames === 0) return;
        const { total } = evaluate(frames.slice(0, settled.frames), own).cost;
        assert.ok(lower <= total * (1 + 1e-9) + 1e-9, `seed ${seed}, push ${k}: lower ${lower} > ${total}`);
        if (!returns)
          assert.ok(total <= upper * (1 + 1e-9) + 1e-9, `seed ${seed}, push ${k}: ${total} > upper ${upper}`);
      });
    }
  });

  it('has an event for each end of an exchange, at the frame where it happened', () => {
    const frames = Array.from({ length: 20 }, (_, k) => ({
      reference: [at('1', 0), at('2', 100)],
      tracker: k < 9 ? [at('a', 0), at('b', 100)] : [at('b', 0), at('a', 100)],
    }));
    const { reports, last } = run(frames, 12);
    const events = [...reports, last].flatMap((report) => report.events);
    assert.deepEqual(events, [
      { type: 'switch', frame: 9, truth: '1', from: 'a', to: 'b', switches: 1 },
      { type: 'switch', frame: 9, truth: '2', from: 'b', to: 'a', switches: 1 },
    ]);
    assert.equal(last.settled.cost.switch, 2 * 2);
    assert.equal(
      reports.findIndex((report) => report.events.length > 0),
      9 + 6,
      'settled at half a window of age',
    );
  });

  it('has no switch when one comes back to the other after an absence longer than the window', () => {
    const away = (k: number) => k >= 10 && k < 30;
    const scenes: Record<string, (k: number) => Frame> = {
      track: (k) => ({ reference: [at('1', 0)], tracker: away(k) ? [] : [at('a', 0)] }),
      truth: (k) => ({ reference: away(k) ? [] : [at('1', 0)], tracker: [at('a', 0)] }),
    };
    for (const [who, frameAt] of Object.entries(scenes)) {
      const frames = Array.from({ length: 45 }, (_, k) => frameAt(k));
      const { reports, last } = run(frames, 8);
      assert.deepEqual(
        [...reports, last].flatMap(({ events }) => events),
        [],
        who,
      );
      assert.deepEqual(last.settled.count, evaluate(frames, params).count, who);
      // who is waited for is in the snapshot
      const window = new SlidingWindow({ ...params, windowFrames: 8 });
      for (const frame of frames.slice(0, 25)) window.push(frame);
      const restored = SlidingWindow.fromJSON(JSON.parse(JSON.stringify(window.toJSON())));
      for (const frame of frames.slice(25)) restored.push(frame);
      assert.deepEqual(restored.end().settled, last.settled, who);
    }
  });

  it('has a switch when the other has had somebody else meanwhile', () => {
    const frames = Array.from({ length: 45 }, (_, k) => ({
      reference: [at('1', 0)],
      tracker: [at(k < 10 || k >= 30 ? 'a' : 'b', 0)],
    }));
    const { reports, last } = run(frames, 8);
    assert.deepEqual(
      [...reports, last].flatMap(({ events }) => events.map(({ from, to, switches }) => [from, to, switches])),
      [
        ['a', 'b', 1],
        ['b', 'a', 1],
      ],
    );
    assert.equal(last.settled.count.switches, evaluate(frames, params).count.switches);
  });

  it('charges nothing for a gap of both, and puts a switch across a gap at its end', () => {
    const gap = (k: number) => k >= 5 && k < 9;
    const through = Array.from({ length: 15 }, (_, k) => ({
      reference: gap(k) ? [] : [at('1', 0)],
      tracker: gap(k) ? [] : [at('a', 0)],
    }));
    assert.equal(run(through, 15).last.cost.total, 0);
    const broken = Array.from({ length: 15 }, (_, k) => ({
      reference: [at('1', 0)],
      tracker: gap(k) ? [] : [at(k < 5 ? 'a' : 'b', 0)],
    }));
    const { last } = run(broken, 15);
    assert.deepEqual(
      last.events.map(({ frame, from, to }) => ({ frame, from, to })),
      [{ frame: 9, from: 'a', to: 'b' }],
    );
    assert.equal(
      last.perFrame.findIndex((frame) => frame.count.switches === 1),
      9,
    );
    assert.deepEqual(last.perFrame[6].assignment, [{ truth: '1', track: 'a', distance: null }]);
  });
});

describe('a report', () => {
  it('read late still describes its own window', () => {
    const { frames, params: own } = randomCase(12, { frameCount: 30 });
    const window = new SlidingWindow({ ...own, windowFrames: 9 });
    const reports = frames.map((frame) => window.push(frame));
    reports.forEach((report, k) => {
      const expected = evaluate(frames.slice(Math.max(0, k - 8), k + 1), own).perFrame;
      assert.deepEqual(report.perFrame, expected, `push ${k}`);
      assert.deepEqual({ ...report.newest }, expected.at(-1), `push ${k}`);
    });
  });

  it('piece by piece is the same, whatever is solved between two pieces, and read before or meanwhile', () => {
    const told = ({ newest, perFrame, ...rest }: Report) => ({ ...rest, newest: { ...newest }, perFrame });
    for (let seed = 1; seed <= drawn(10); seed++) {
      const { frames, params: own } = randomCase(seed, { frameCount: 24 });
      // hardly anything is for the frontier: components, one after the other
      const options = { frontierMax: seed % 3 };
      const [whole, ...divided] = [0, 1, 2].map(() => new SlidingWindow({ ...own, windowFrames: 7 }, options));
      let before: Report[] = [];
      let pieces = 0;
      for (const [k, frame] of frames.entries()) {
        const last = before[0] && { ...before[0].newest };
        const going = divided.map((window) => window.pushing(frame));
        const reports: Report[] = [];
        for (let n = 0; reports.filter(Boolean).length < 2; n = 1 - n) {
          const next = going[n].next();
          if (next.done && next.value) reports[n] = next.value;
          else pieces++;
          if (before[n] && pieces % 5 === 0) assert.deepEqual({ ...before[n].newest }, last, `seed ${seed}, push ${k}`);
        }
        const expected = whole.push(frame);
        for (const report of reports) assert.deepEqual(told(report), told(expected), `seed ${seed}, push ${k}`);
        before = reports;
      }
      assert.ok(pieces >= 2 * frames.length, `${pieces} pieces`);
      for (const window of divided) assert.deepEqual(window.toJSON(), whole.toJSON(), `seed ${seed}`);
    }
  });

  it('is not possible after the end', () => {
    const window = new SlidingWindow({ ...params, windowFrames: 3 });
    window.end();
    assert.throws(() => window.push({ reference: [], tracker: [] }), /the stream has ended/);
  });
});

describe('a switch that has settled', () => {
  it('is never a whole one from nobody: who is gone gives up the track', () => {
    const alone = Array.from({ length: 3 }, () => ({ reference: [at('a', 0)], tracker: [at('1', 0)] }));
    const unseen = Array.from({ length: 6 }, () => ({ reference: [], tracker: [at('1', 0)] }));
    const other = Array.from({ length: 6 }, () => ({ reference: [at('b', 0)], tracker: [at('1', 0)] }));
    const { reports, last } = run([...alone, ...unseen, ...other], 4, 2);
    const events = [...reports, last].flatMap((report) => report.events);
    assert.deepEqual(
      events.map(({ truth, from, to, switches }) => ({ truth, from, to, switches })),
      [
        { truth: 'a', from: '1', to: null, switches: 0.5 },
        { truth: 'b', from: null, to: '1', switches: 0.5 },
      ],
    );
    assert.equal(last.settled.count.switches, 1);
  });
});

describe('memory', () => {
  it('is bounded by the window, however many ids come and go', function () {
    skipInFastRun(this);
    const window = new SlidingWindow({ ...params, windowFrames: 30 });
    const size = () => JSON.stringify(window.toJSON()).length;
    let early = 0;
    let id = 0;
    const alive = Array.from({ length: 6 }, (_, n) => ({ truth: `t${id}`, track: `k${id++}`, x: 8 * n }));
    for (let k = 0; k < 8_000; k++) {
      const body = alive[k % 6];
      if (k % 3 === 0) body.track = `k${id++}`;
      if (k % 5 === 0) body.truth = `t${id++}`;
      window.push({
        reference: alive.map((b) => at(b.truth, b.x)),
        tracker: alive.map((b) => at(b.track, b.x + ((k * 7) % 5) / 3)),
      });
      if (k === 1_000) early = size() + heap();
    }
    assert.ok(
      size() + heap() < early * 1.3 + 2_000_000,
      `${early} bytes after 1,000 frames, ${size() + heap()} after 8,000`,
    );
    const { truths, tracks } = (
      window as unknown as { contents: { truths: Map<string, unknown>; tracks: Map<string, unknown> } }
    ).contents;
    assert.ok(truths.size <= 6 * 30 && tracks.size <= 6 * 30, `${truths.size} truths, ${tracks.size} tracks`);
  });

  /** Bytes of the heap after a collection, where one can be asked for; otherwise the sizes above must do. */
  function heap(): number {
    if (!global.gc) return 0;
    global.gc();
    return process.memoryUsage().heapUsed;
  }
});

describe('a window keeps', () => {
  /** How many of a kind can be reached from an object. */
  const reachable = (root: object, kind: new (...args: never[]) => object): number => {
    const met = new Set<object>([root]);
    for (const each of met) {
      const next = each instanceof Map ? [...each].flat() : each instanceof Set ? [...each] : Object.values(each);
      for (const value of next)
        if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) met.add(value);
    }
    return [...met].filter((each) => each instanceof kind).length;
  };

  it('its own frames, and none that have left', () => {
    const random = randomFrom(3);
    const window = new SlidingWindow({ ...params, windowFrames: 10 });
    // they meet and part all the time
    const feed = (prefix: string) => Array.from({ length: 4 }, (_, n) => at(`${prefix}${n}`, 12 * random()));
    for (let k = 0; k < 60; k++) {
      window.push({ reference: feed('t'), tracker: feed('k') });
      if (k % 4 === 3) assert.equal(reachable(window, FrameRecord), Math.min(k + 1, 10), `push ${k}`);
    }
    window.dispose();
  });
});
