/**
 * The companion scores of a live stream: equal to those of its last frames, once per tracker, through restarts and
 * changes of settings.
 */

import assert from 'node:assert/strict';
import { readConfig, resolveStream, type SettingsPatch } from '../../src/config/config.js';
import type { Frame, Obj } from '../../src/index.js';
import { packFrame } from '../../src/metric/frame.js';
import { Companion } from '../../src/scores/companion.js';
import { ScoreWindow, scoreFrames } from '../../src/scores/score-window.js';
import type { SimilarityRule } from '../../src/scores/similarity.js';
import { SCORE_NAMES } from '../../src/scores/totals.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import type { ReportEvent } from '../../src/wire/events.js';
import type { Role } from '../../src/wire/feed.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { crowd } from '../bench/crowd.js';

const WINDOW = 20;
const STRIDE = 7;
const [, , { frames }] = crossingScene().trackers;
const boxes = ['online-surveillance'];

function planOf(patch: SettingsPatch): StreamPlan {
  const { config } = readConfig({
    overrides: { profiles: { metres: { distance: 'euclidean', cutoff: 30, exponent: 2, switchPenalty: 5 } } } as never,
  });
  const resolved = resolveStream(config, 'gate', { windowFrames: WINDOW, ...patch });
  assert.ok('settings' in resolved, 'message' in resolved ? resolved.message : '');
  return { ...resolved, patch };
}

const on = { enabled: true, strideFrames: STRIDE };

/** A stream and its records: both feeds frame by frame. */
class Driver {
  stream: Stream;
  #seq = 0;
  #position = 0;

  constructor(plan: StreamPlan) {
    this.stream = new Stream('gate', plan);
    this.open('sort');
  }

  open(tracker: string): void {
    for (const [role, name] of [
      ['reference', null],
      ['tracker', tracker],
    ] as const)
      this.#apply({ kind: 'open', role, tracker: name } as never);
  }

  end(tracker: string): ReportEvent[] {
    return this.#apply({ kind: 'end', role: 'tracker', tracker } as never);
  }

  configure(plan: StreamPlan): void {
    this.#apply({ kind: 'configure', settings: plan } as never);
  }

  /** The reports that a frame brings. */
  send(frame: Frame, k: number): ReportEvent[] {
    const part = (role: Role, tracker: string | null, objects: Obj[]) =>
      this.#apply({
        kind: 'part',
        role,
        tracker,
        part: { seq: ++this.#seq, k, objects: pack(objects as WireObject[]) },
      } as never);
    return [...part('reference', null, frame.reference), ...part('tracker', 'sort', frame.tracker)];
  }

  /** Goes on from a snapshot, as after a restart. */
  restart(): void {
    this.stream = Stream.fromJSON('gate', { state: structuredClone(this.stream.toJSON()), position: 0 });
  }

  #apply(record: Omit<LogRecord, 'stream' | 'atMs'>): ReportEvent[] {
    const full = { stream: 'gate', atMs: 1000 + ++this.#position, ...record } as LogRecord;
    const events = [...this.stream.apply(full, this.#position)].flatMap((applied) => applied.events);
    return events.filter((event) => event.type === 'report') as ReportEvent[];
  }
}

function isWindow(event: ReportEvent, sent: Frame[], place: string): void {
  const { scores } = event;
  assert.ok(scores, `${place}: no scores`);
  const expected = scoreFrames(sent.slice(-WINDOW));
  for (const name of SCORE_NAMES)
    assert.ok(
      Math.abs(scores.values[name] - expected[name]) < 1e-12,
      `${place}: ${name} ${scores.values[name]}, expected ${expected[name]}`,
    );
  assert.equal(scores.frames, Math.min(WINDOW, sent.length));
}

describe('the companion scores, live', () => {
  it('come every few frames, and are those of the frames in the window', () => {
    const driver = new Driver(planOf({ profiles: boxes, scores: on }));
    const told: number[] = [];
    frames.slice(0, 100).forEach((frame, n) => {
      const [event, ...more] = driver.send(frame, n + 1);
      assert.equal(more.length, 0);
      assert.equal(event.scores !== undefined, (n + 1) % STRIDE === 0, `frame ${n + 1}`);
      if (!event.scores) return;
      told.push(event.scores.k);
      isWindow(event, frames.slice(0, n + 1), `frame ${n + 1}`);
    });
    assert.deepEqual(told.slice(0, 3), [7, 14, 21]);
  });

  it('are off unless asked for', () => {
    const driver = new Driver(planOf({ profiles: boxes }));
    for (let n = 0; n < 80; n++)
      for (const event of driver.send(frames[n], n + 1)) assert.equal(event.scores, undefined);
  });

  it('are the same under all profiles of a tracker', () => {
    const driver = new Driver(planOf({ profiles: ['online-surveillance', 'detector-training'], scores: on }));
    for (let n = 0; n < 40; n++) {
      const events = driver.send(frames[n], n + 1);
      assert.equal(events.length, 2);
      assert.equal(events[0].scores, events[1].scores);
      if (events[0].scores) isWindow(events[0], frames.slice(0, n + 1), `frame ${n + 1}`);
    }
  });

  it('go on after a restart as if there had been none', () => {
    const [steady, restarted] = [0, 1].map(() => new Driver(planOf({ profiles: boxes, scores: on })));
    for (let n = 0; n < 90; n++) {
      if (n % 16 === 5) restarted.restart();
      if (n === 69) assert.deepEqual(restarted.stream.reports()[0].scores, steady.stream.reports()[0].scores);
      assert.deepEqual(
        restarted.send(frames[n], n + 1)[0].scores,
        steady.send(frames[n], n + 1)[0].scores,
        `frame ${n + 1}`,
      );
    }
  });

  it('can be switched on and off while frames come, and begin with the whole window', () => {
    const off = planOf({ profiles: boxes });
    const driver = new Driver(off);
    for (let n = 0; n < 50; n++) driver.send(frames[n], n + 1);
    driver.configure(planOf({ profiles: boxes, scores: { enabled: true, strideFrames: 1 } }));
    isWindow(driver.send(frames[50], 51)[0], frames.slice(0, 51), 'switched on');
    driver.configure(off);
    assert.equal(driver.send(frames[51], 52)[0].scores, undefined);
    assert.equal(driver.stream.reports()[0].scores, undefined);
  });

  it('begin anew with a tracker that ended and came back', () => {
    const driver = new Driver(planOf({ profiles: boxes, scores: { enabled: true, strideFrames: 1 } }));
    for (let n = 0; n < 30; n++) driver.send(frames[n], n + 1);
    driver.end('sort');
    driver.open('sort');
    isWindow(driver.send(frames[30], 31)[0], [frames[30]], 'after the break');
  });

  it('compare points by the distance of the profile', () => {
    const driver = new Driver(planOf({ profiles: ['metres'], scores: { enabled: true, strideFrames: 1 } }));
    const centre = (object: Obj): Obj => {
      assert.ok('box' in object);
      return { id: object.id, point: [object.box[0] + object.box[2] / 2, object.box[1] + object.box[3] / 2] };
    };
    const points = frames
      .slice(0, 30)
      .map(({ reference, tracker }) => ({ reference: reference.map(centre), tracker: tracker.map(centre) }));
    points.forEach((frame, n) => {
      const [event] = driver.send(frame, n + 1);
      const expected = scoreFrames(points.slice(Math.max(0, n + 1 - WINDOW), n + 1), {
        kind: 'euclidean',
        zeroDistance: 60,
      });
      assert.ok(event.scores);
      assert.ok(Math.abs(event.scores.values.HOTA - expected.HOTA) < 1e-12);
      assert.ok(expected.HOTA > 0.3);
    });
  });

  it('leave nothing behind for those who are scored next, to the last digit', () => {
    const rules: SimilarityRule[] = [{ kind: 'iou' }, { kind: 'euclidean', zeroDistance: 40 }];
    const inPoints = (objects: Obj[]): Obj[] =>
      objects.map((object) => ({ id: object.id, point: (object as { box: number[] }).box.slice(0, 2) }));
    const companions = [
      { companion: new Companion(rules[0], 1, 0), length: 25, sent: frames.slice(0, 300) },
      { companion: new Companion(rules[1], 1, 0), length: 10, sent: frames.slice(0, 300) },
      { companion: new Companion(rules[0], 1, 0), length: 40, sent: crowd(12, 300, 5) },
    ];
    for (let n = 1; n < 300; n += 7) {
      for (const { companion, length, sent } of companions) {
        const { rule } = companion;
        const window = sent.slice(Math.max(0, n - length), n).map(({ reference, tracker }) => {
          const frame =
            rule.kind === 'iou'
              ? { reference, tracker }
              : { reference: inPoints(reference), tracker: inPoints(tracker) };
          return packFrame(frame, rule.kind, 0, 'frame');
        });
        const fresh = new ScoreWindow(window.length, rule);
        for (const frame of window) fresh.push(frame);
        assert.deepStrictEqual(companion.push(n, () => window)?.values, fresh.scores());
      }
    }
  });
});
