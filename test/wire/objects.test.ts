/**
 * Objects packed and one by one, by the scanner and the general way: the same, whatever the settings of a stream ask of
 * them.
 */
import assert from 'node:assert/strict';
import { deserialize, serialize } from 'node:v8';
import { readConfig, resolveStream, type SettingsPatch } from '../../src/config/config.js';
import { FrameScanner } from '../../src/edge/feeds/frame-scanner.js';
import { packFrame } from '../../src/metric/frame.js';
import type { InputError } from '../../src/metric/input-error.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import type { LiveEvent } from '../../src/wire/events.js';
import type { FrameRules } from '../../src/wire/frame-check.js';
import {
  dimensionsOf,
  type FeedPart,
  type PackedList,
  pack,
  type Shape,
  select,
  unpack,
  type WireObject,
} from '../../src/wire/objects.js';

const FRAMES = 90;
const RULES: FrameRules = {
  objectsMax: 100,
  idLengthMax: 64,
  shape: 'box',
  dimensions: 0,
  geodesic: false,
  pointRemedy: '',
  strict: false,
};
const scanner = new FrameScanner();
const CLASSES = ['car', 'person', undefined];
const [, , { frames: scene }] = crossingScene().trackers;

/** The objects of a frame, some with a class or a confidence, as boxes or as the points in their corners. */
function decorated(objects: readonly WireObject[], shape: Shape): WireObject[] {
  return objects.map(({ id, box }, n) => ({
    id,
    ...(shape === 'box' ? { box } : { point: box!.slice(0, 2) }),
    ...(CLASSES[n % 3] ? { class: CLASSES[n % 3] } : {}),
    ...(n % 4 > 0 ? { confidence: (n % 10) / 10 } : {}),
  }));
}

interface PlainPart extends Omit<FeedPart, 'objects'> {
  objects: WireObject[];
}

function scanned(part: PlainPart, shape: Shape): FeedPart {
  const parts = scanner.scan(Buffer.from(JSON.stringify({ type: 'frame', ...part })), { ...RULES, shape });
  assert.ok(parts);
  return parts[0];
}

function planOf(patch: SettingsPatch): StreamPlan {
  const { config } = readConfig({
    overrides: { profiles: { metres: { distance: 'euclidean', cutoff: 30, exponent: 2, switchPenalty: 5 } } } as never,
    env: {},
  });
  const resolved = resolveStream(config, 'gate', { windowFrames: 20, ...patch });
  assert.ok('settings' in resolved, 'message' in resolved ? resolved.message : '');
  return { ...resolved, patch };
}

/**
 * Both feeds; the reference comes at every second frame only, its last parts behind the tracker's, so that some wait.
 */
function recordsOf(shape: Shape, by: 'k' | 't', scan: boolean): LogRecord[] {
  const records: LogRecord[] = [
    { kind: 'open', stream: 'gate', atMs: 1000, role: 'reference', tracker: null },
    { kind: 'open', stream: 'gate', atMs: 1000, role: 'tracker', tracker: 'sort' },
  ];
  const add = (role: 'reference' | 'tracker', n: number, objects: readonly unknown[]) => {
    const when = by === 'k' ? { k: n } : { t: 1_763_251_200 + n / 25 };
    const plain = { seq: n, ...when, objects: decorated(objects as WireObject[], shape) };
    const part = scan ? scanned(plain, shape) : { ...plain, objects: pack(plain.objects) };
    records.push({
      ...{ kind: 'part', stream: 'gate', atMs: 1000 + n * 40, part },
      ...(role === 'tracker' ? { role, tracker: 'sort' } : { role, tracker: null }),
    } as LogRecord);
  };
  for (let n = 1; n <= FRAMES; n++) {
    add('tracker', n, scene[n].tracker);
    if (n > 4 && n % 2 === 0) add('reference', n - 4, scene[n - 4].reference);
  }
  return records;
}

/** Everything a stream tells, with a restart in the middle. */
function played(plan: StreamPlan, records: LogRecord[]): unknown[] {
  let stream = new Stream('gate', plan);
  const told: LiveEvent[] = [];
  records.forEach((record, n) => {
    if (n === 67) stream = Stream.fromJSON('gate', { state: deserialize(serialize(stream.toJSON())), position: 0 });
    for (const { events } of stream.apply(record, n + 1)) told.push(...events);
  });
  return told.map((event) => {
    if (event.type !== 'report') return event;
    const { report, objects, solveMs: _solveMs, spikes: _spikes, ...rest } = event;
    const { cost, count, settled, newest } = report;
    const seen = objects && [unpack(objects.reference), unpack(objects.tracker)];
    return { ...rest, cost, count, settled, newest, seen };
  });
}

describe('packed objects', () => {
  const boxes = { profiles: ['online-surveillance'] };
  const points = { profiles: ['metres'] };
  const cases: Array<[name: string, shape: Shape, by: 'k' | 't', patch: SettingsPatch]> = [
    ['boxes', 'box', 'k', { ...boxes, pairing: { reference: 'exact', latenessMs: 100_000 } }],
    ['boxes of some classes', 'box', 'k', { ...boxes, filter: { classes: ['car'], minConfidence: null } }],
    ['boxes with some confidence', 'box', 'k', { ...boxes, filter: { classes: null, minConfidence: 0.25 } }],
    ['boxes of a reference that is held', 'box', 't', { ...boxes, pairing: { reference: 'hold' } }],
    ['boxes of a reference that is interpolated', 'box', 't', { ...boxes, pairing: { reference: 'linear' } }],
    ['boxes of a tracker that is held', 'box', 'k', { ...boxes, pairing: { heldTrackers: ['sort'] } }],
    ['points', 'point', 'k', points],
    ['points between others', 'point', 't', { ...points, pairing: { reference: 'linear' } }],
  ];
  for (const [name, shape, by, patch] of cases)
    it(`from the scanner are judged as ${name} read the general way`, () => {
      const plan = planOf(patch);
      const told = played(plan, recordsOf(shape, by, true));
      assert.deepStrictEqual(told, played(plan, recordsOf(shape, by, false)));
      assert.ok(told.filter((event) => (event as LiveEvent).type === 'report').length > 40);
    });

  it('are what the scanner makes of them, and come back as they were', () => {
    for (const shape of ['box', 'point'] as const) {
      const objects = decorated(scene[30].tracker as WireObject[], shape);
      assert.deepEqual(scanned({ seq: 1, k: 1, objects }, shape).objects, pack(objects));
      assert.deepEqual(unpack(pack(objects)), objects);
      assert.equal(dimensionsOf(pack(objects)), shape === 'point' ? 2 : 0);
      for (const none of [pack([]), scanned({ seq: 1, k: 1, objects: [] }, shape).objects])
        assert.deepEqual([unpack(none), dimensionsOf(none)], [[], 0]);
    }
  });

  it('are selected by class and confidence as one by one', () => {
    const objects = decorated(scene[30].tracker as WireObject[], 'box');
    const cases: Array<(kind: string | null, confidence: number | null) => boolean> = [
      (kind) => kind === 'car',
      (kind) => kind === null,
      (_kind, confidence) => confidence === null || confidence > 0.25,
      () => true,
      () => false,
    ];
    for (const wanted of cases)
      assert.deepEqual(
        unpack(select(pack(objects), wanted)),
        objects.filter((object) => wanted(object.class ?? null, object.confidence ?? null)),
      );
  });

  it('that a distance cannot compare are refused in the same words', () => {
    const problemsOf = (
      tracker: readonly WireObject[] | PackedList,
      distance: 'iou' | 'euclidean' | 'geodesic',
      stride: number,
    ) => {
      try {
        packFrame({ reference: [], tracker: tracker as never }, distance, stride, 'frame');
      } catch (error) {
        return (error as InputError).problems;
      }
      return assert.fail('nothing was wrong');
    };
    const point: WireObject[] = [{ id: 'a', point: [100, 2] }];
    const box: WireObject[] = [{ id: 'a', box: [1, 2, 3, 4] }];
    const faults = [
      [point, 'point', 'iou', 0],
      [point, 'point', 'euclidean', 3],
      [point, 'point', 'geodesic', 2],
      [box, 'box', 'euclidean', 0],
    ] as const;
    for (const [objects, shape, distance, stride] of faults)
      assert.deepEqual(
        problemsOf(scanned({ seq: 1, k: 1, objects }, shape).objects, distance, stride),
        problemsOf(objects, distance, stride),
      );
  });
});
