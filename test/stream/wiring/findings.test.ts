/** Findings about wiring: each mistake by its name, within the first minute, and none where there is none. */
import assert from 'node:assert/strict';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { packSnapshot, unpackSnapshot } from '../../../src/store/formats.js';
import { Stream } from '../../../src/stream/stream.js';
import type { Finding } from '../../../src/wire/findings.js';
import { mot17 } from '../../kit/metric/mot17.js';
import { randomFrom } from '../../kit/random.js';
import {
  inSectors,
  keyed,
  moved,
  Rehearsal,
  rehearse,
  SCENE_START_MS,
  type Sent,
  scene,
} from '../../kit/scenes/wiring-scene.js';
import { drawn, seedsTo, skipInFastRun, someOf } from '../../kit/system/system.js';

const MINUTE_MS = 60_000;

/** The one finding of a stream, which must have been made within the first minute. */
function found(rehearsal: Rehearsal): Finding {
  const finding = rehearsal.only;
  assert.ok(finding.sinceMs - SCENE_START_MS <= MINUTE_MS, `${finding.finding} after a minute`);
  const starts = rehearsal.events.filter((event) => event.type === 'finding' && event.phase === 'start');
  const said = starts.map((event) => event.type === 'finding' && event.message);
  assert.deepEqual(said.length, 1, said.join('\n'));
  return finding;
}

const evidence = (rehearsal: Rehearsal, name: string) => {
  const finding = found(rehearsal);
  assert.equal(finding.finding, name, finding.message);
  return finding.evidence;
};

describe('findings', () => {
  describe('about frame numbers and times', () => {
    for (const off of someOf([-7, -1, 1, 2, 5, 1000]))
      it(`names frame numbers that are ${off} off`, () => {
        const { reference, tracker } = scene();
        const shifted = keyed(tracker, ({ k }) => ({ k: k! + off }));
        const { frames } = evidence(
          rehearse({ reference: keyed(reference, ({ k }) => ({ k })), tracker: shifted.filter(({ k }) => k! >= 0) }),
          'frame_offset',
        );
        assert.equal(frames, off);
      });

    for (const off of someOf([-3, -0.1, 0.05, 0.3, 40, 3600]))
      it(`names clocks that are ${off} s apart`, () => {
        const { reference, tracker } = scene();
        const late = keyed(tracker, ({ t }) => ({ t: t! + off }));
        const { seconds } = evidence(
          rehearse({ reference: keyed(reference, ({ t }) => ({ t })), tracker: late }),
          'clock_offset',
        );
        assert.ok(Math.abs(Number(seconds) - off) < 0.03, `${seconds} s`);
      });

    it('names milliseconds for seconds, in either feed', () => {
      const { reference, tracker } = scene();
      const seconds = ({ atMs }: Sent) => ({ t: atMs / 1000 });
      const milliseconds = ({ atMs }: Sent) => ({ t: atMs });
      const one = rehearse({ reference: keyed(reference, seconds), tracker: keyed(tracker, milliseconds) });
      assert.deepEqual([evidence(one, 'time_unit').feed, evidence(one, 'time_unit').factor], ['tracker', 1000]);
      const other = rehearse({ reference: keyed(reference, milliseconds), tracker: keyed(tracker, seconds) });
      assert.equal(evidence(other, 'time_unit').feed, 'reference');
    });

    it('names k in one feed and t in the other', () => {
      const { reference, tracker } = scene();
      const mixed = { reference: keyed(reference, ({ k }) => ({ k })), tracker: keyed(tracker, ({ t }) => ({ t })) };
      assert.deepEqual(evidence(rehearse(mixed), 'mixed_keys'), { reference: 'k', tracker: 't' });
    });

    it('names a feed that is slower and not held, with the settings that would do', () => {
      const { reference, tracker } = scene();
      const slow = rehearse({ reference, tracker: tracker.filter((_, n) => n % 5 === 0) });
      assert.equal(evidence(slow, 'rate_mismatch').feed, 'tracker');
      assert.match(slow.only.remedy, /heldTrackers.*holdMaxFrames at least 10/);
      const byTime = rehearse({
        reference: keyed(reference, ({ t }) => ({ t })).filter((_, n) => n % 5 === 0),
        tracker: keyed(tracker, ({ t }) => ({ t })),
      });
      assert.equal(evidence(byTime, 'rate_mismatch').feed, 'reference');
      assert.match(byTime.only.remedy, /pairing.reference to linear or hold, with pairing.holdMaxMs at least 1000/);
      const settings = { pairing: { reference: 'hold', holdMaxMs: 1000 } };
      const held = rehearse(
        {
          reference: keyed(reference, ({ t }) => ({ t })).filter((_, n) => n % 5 === 0),
          tracker: keyed(tracker, ({ t }) => ({ t })),
        },
        settings,
      );
      assert.ok(!held.names.includes('rate_mismatch'));
    });

    it('names settings that make holding or interpolating impossible, and the value that would do', function () {
      skipInFastRun(this);
      const { reference, tracker } = scene({ frames: 900, everyMs: 100, objects: 4, speed: 2 });
      const sparse = keyed(reference, ({ t }) => ({ t })).filter((_, n) => n % 30 === 0);
      const timed = { reference: sparse, tracker: keyed(tracker, ({ t }) => ({ t })) };
      const short = rehearse(timed, { pairing: { reference: 'hold', holdMaxMs: 1000 } });
      assert.equal(evidence(short, 'interpolation_impossible').setting, 'holdMaxMs');
      assert.match(short.only.remedy, /pairing.holdMaxMs to at least 6000/);
      const hasty = rehearse(timed, { pairing: { reference: 'linear', holdMaxMs: 6000, latenessMs: 500 } });
      assert.equal(evidence(hasty, 'interpolation_impossible').setting, 'latenessMs');
      assert.match(hasty.only.remedy, /pairing.latenessMs to at least 4500/);
      const patient = rehearse(timed, { pairing: { reference: 'linear', holdMaxMs: 6000, latenessMs: 4500 } });
      assert.deepEqual(patient.names, []);
    });

    for (const role of ['reference', 'tracker'] as const)
      it(`names a ${role} whose frames are sectors that take turns, until they are whole`, () => {
        const feeds = scene({ frames: 300, objects: 24, ghosts: 0 });
        const turning = rehearse({ ...feeds, [role]: inSectors(feeds[role], 6) });
        assert.deepEqual(evidence(turning, 'partial_frames'), { feed: role, frames: 6 });
        assert.match(turning.only.remedy, /^send objects as reports/);
        const [before, after] = [inSectors(feeds[role].slice(0, 100), 6), feeds[role].slice(100)];
        assert.deepEqual(rehearse({ ...feeds, [role]: [...before, ...after] }).names, []);
      });

    it('says that nothing pairs when nothing explains it, and how late the reference is', () => {
      const { reference, tracker } = scene({ frames: 400 });
      const late = reference.map((sent) => ({ ...sent, atMs: sent.atMs + 4000 }));
      const rehearsal = rehearse({ reference: late, tracker });
      assert.equal(evidence(rehearsal, 'nothing_pairs').referenceBehindMs, 4000);
      assert.match(rehearsal.only.remedy, /raise pairing.latenessMs above 4000/);
    });
  });

  describe('about coordinates', () => {
    const xyxy = ([x, y, w, h]: number[]) => [x, y, x + w, y + h];
    const orders = {
      xyxy,
      cxcywh: ([x, y, w, h]: number[]) => [x + w / 2, y + h / 2, w, h],
      yxyx: ([x, y, w, h]: number[]) => [y, x, y + h, x + w],
      yxwh: ([x, y, w, h]: number[]) => [y, x, w, h],
      xyhw: ([x, y, w, h]: number[]) => [x, y, h, w],
    };
    for (const [order, change] of someOf(Object.entries(orders)))
      it(`names boxes that are ${order}, in either feed`, () => {
        const { reference, tracker } = scene();
        const one = evidence(rehearse({ reference, tracker: moved(tracker, change) }), 'box_order');
        assert.deepEqual([one.order, one.feed], [order, 'tracker']);
        const other = evidence(rehearse({ reference: moved(reference, change), tracker }), 'box_order');
        assert.deepEqual([other.order, other.feed], [order, 'reference']);
      });

    it('names boxes that are shares of the picture, with its size', () => {
      const { reference, tracker } = scene();
      const normal = ([x, y, w, h]: number[]) => [x / 1920, y / 1080, w / 1920, h / 1080];
      for (const feed of ['tracker', 'reference'] as const) {
        const feeds = { reference, tracker, [feed]: moved(feed === 'tracker' ? tracker : reference, normal) };
        const { x, y, feed: whose } = evidence(rehearse(feeds), 'normalized_boxes');
        assert.equal(whose, feed);
        assert.ok(Math.abs(Number(x) / 1920 - 1) < 0.02 && Math.abs(Number(y) / 1080 - 1) < 0.02, `${x} ${y}`);
      }
    });

    it('names boxes of a picture of another size', () => {
      const { reference, tracker } = scene();
      const small = evidence(rehearse({ reference, tracker: moved(tracker, (box) => box.map((v) => v / 3)) }), 'units');
      assert.ok(Math.abs(Number(small.x) - 3) < 0.1, String(small.x));
    });

    it('names exchanged axes of boxes, points, and latitude and longitude', function () {
      skipInFastRun(this);
      const boxes = scene();
      const turned = moved(boxes.tracker, ([x, y, w, h]) => [y, x, h, w]);
      evidence(rehearse({ reference: boxes.reference, tracker: turned }), 'axis_swapped');
      const points = scene({ shape: 'point' });
      const swapped = moved(points.tracker, ([x, y]) => [y, x]);
      evidence(rehearse({ reference: points.reference, tracker: swapped }, { profiles: ['yard'] }), 'axis_swapped');
      const earth = ([x, y]: number[]) => [53 + y / 40_000, 8 + x / 40_000];
      const sea = { reference: moved(points.reference, earth), tracker: moved(points.tracker, earth) };
      const wrong = { ...sea, tracker: moved(sea.tracker, ([lat, lon]) => [lon, lat]) };
      evidence(rehearse(wrong, { profiles: ['sea'] }), 'axis_swapped');
      assert.deepEqual(rehearse(sea, { profiles: ['sea'] }).names, []);
    });

    for (const [unit, factor] of [
      ['millimetres', 1000],
      ['feet', 1 / 0.3048],
      ['kilometres', 1 / 1000],
    ] as const)
      it(`names points in ${unit} instead of metres, in either feed`, () => {
        const { reference, tracker } = scene({ shape: 'point' });
        const other = (points: number[]) => points.map((value) => value * factor);
        for (const feed of ['tracker', 'reference'] as const) {
          const feeds = { reference, tracker, [feed]: moved(feed === 'tracker' ? tracker : reference, other) };
          const figures = evidence(rehearse(feeds, { profiles: ['yard'] }), 'units');
          assert.equal(figures.feed, feed);
          assert.ok(Math.abs(Number(figures.factor) * factor - 1) < 1e-3, String(figures.factor));
        }
      });

    it('says that the feeds never match when nothing explains it', () => {
      const { reference } = scene({ seed: 1 });
      const { tracker } = scene({ seed: 99 });
      const figures = evidence(rehearse({ reference, tracker }), 'feeds_never_match');
      assert.ok(Number(figures.possible) >= 20);
    });
  });

  describe('about feeds that never came', () => {
    it('says so of a reference, connected or not', () => {
      const { tracker } = scene({ frames: 150 });
      const connected = rehearse({ tracker });
      assert.deepEqual(evidence(connected, 'reference_never_came'), { seconds: 10, opened: true });
      const alone = new Rehearsal();
      alone.open('tracker');
      assert.equal(evidence(alone.play({ tracker }), 'reference_never_came').opened, false);
    });

    it('says so of a tracker, connected or not, until it comes', () => {
      const { reference, tracker } = scene({ frames: 150 });
      const connected = rehearse({ reference });
      assert.equal(evidence(connected, 'tracker_never_came').opened, true);
      const alone = new Rehearsal();
      alone.open('reference');
      assert.equal(evidence(alone.play({ reference }), 'tracker_never_came').opened, false);
      assert.equal(alone.only.tracker, null);
      alone.open('tracker', 15_000);
      alone.play({ tracker: [{ ...tracker[149], atMs: 15_000 }] });
      assert.deepEqual(alone.names, []);
      const phases = alone.events.flatMap((event) => (event.type === 'finding' ? [event.phase] : []));
      assert.deepEqual(phases, ['start', 'end']);
    });
  });

  describe('are not made', () => {
    const healthy: Record<string, Parameters<typeof scene>[0]> = {
      'of a good tracker': {},
      'of a bad tracker that misses 60 % and invents as many': { missed: 0.6, ghosts: 5, noise: 0.15 },
      'of one object': { objects: 1 },
      'of one object that is mostly missed': { objects: 1, missed: 0.8, ghosts: 0.3 },
      'of two objects and many ghosts': { objects: 2, ghosts: 4 },
      'of an empty scene': { objects: 0, ghosts: 0 },
      'of a scene with ghosts only': { objects: 0, ghosts: 3 },
      'of a tracker that sees nothing': { missed: 1, ghosts: 0 },
      'of a crowd': { objects: 120, frames: 250 },
      'of things that stand still': { speed: 0 },
      'at 30 frames per second': { everyMs: 33, speed: 2 },
      'at one frame per second': { everyMs: 1000, speed: 40, frames: 240 },
    };
    for (const [what, options] of someOf(Object.entries(healthy)))
      for (const seed of seedsTo(what === 'of a crowd' ? 1 : 3, 1))
        it(`${what} (seed ${seed})`, () => {
          const feeds = scene({ ...options, seed });
          const byTime = {
            reference: keyed(feeds.reference, ({ t }) => ({ t })),
            tracker: keyed(feeds.tracker, ({ t }) => ({ t })),
          };
          for (const played of [rehearse(feeds), rehearse(byTime)]) {
            const said = played.events.flatMap((event) => (event.type === 'finding' ? [event.message] : []));
            assert.deepEqual(said, []);
          }
        });

    it('of a tracker that drops half of its frames now and then', () => {
      const random = randomFrom(5);
      const { reference, tracker } = scene();
      assert.deepEqual(rehearse({ reference, tracker: tracker.filter(() => random() < 0.5) }).names, []);
    });

    it('of a tracker that draws everything a little to the right, where everything moves to the right', () => {
      const { reference } = scene({ frames: 1 });
      const feed = (bias: number) =>
        Array.from(
          { length: 300 },
          (_, n): Sent => ({
            atMs: n * 100,
            k: n + 1,
            objects: moved(reference, ([x, y, w, h]) => [x + 2 * n + bias, y, w, h])[0].objects,
          }),
        );
      assert.deepEqual(rehearse({ reference: feed(0), tracker: feed(4) }).names, []);
    });

    it('of a few slow things in whole pixels', function () {
      skipInFastRun(this);
      for (let seed = 1; seed <= drawn(60); seed++) {
        const random = randomFrom(seed);
        const things = Array.from({ length: 3 + (seed % 5) }, () => [random(), random(), random(), random()]);
        const feed = (noise: number) =>
          Array.from({ length: 420 }, (_, n): Sent => {
            const objects = things.map(([x, y, phase, speed], i) => {
              const angle = 6.28 * phase + n * 0.004 * (0.5 + speed);
              const left = 1200 * x + 150 * Math.sin(angle) + 2 * noise * (random() - 0.5);
              const top = 700 * y + 100 * Math.cos(angle) + noise * (random() - 0.5);
              return { id: `${i}`, box: [Math.round(left), Math.round(top), 60, 120] };
            });
            return { atMs: n * 100, k: n + 1, objects: objects as Sent['objects'] };
          });
        assert.deepEqual(rehearse({ reference: feed(0), tracker: feed(4) }).names, [], `seed ${seed}`);
      }
    });

    it('of people who cross, and of the faults of the built-in scene', () => {
      for (const { name, frames } of crossingScene().trackers) {
        const feed = (role: 'reference' | 'tracker') =>
          frames.map((frame, n): Sent => ({ atMs: n * 100, k: n + 1, objects: [...frame[role]] as Sent['objects'] }));
        assert.deepEqual(rehearse({ reference: feed('reference'), tracker: feed('tracker') }).names, [], name);
      }
    });

    const trackers = ['BoT-SORT-ReTrack-Botsort_baseline', 'DeepSORT-AxelBogos', 'Lif_T', 'MPNTrack'];
    const sequences = ['MOT17-02', 'MOT17-04', 'MOT17-05', 'MOT17-09', 'MOT17-10', 'MOT17-11', 'MOT17-13'];
    trackers.forEach((tracker, n) => {
      it(`of MOT17 sequences with ${tracker}`, function () {
        skipInFastRun(this);
        // every sequence with two of the trackers, or with all
        const drawnHere = sequences.filter((_, m) => drawn(2) === 2 || (n + m) % 2 === 0);
        const feeds = drawnHere.flatMap((name) => {
          const frames = mot17(name, tracker);
          return frames ? [{ name, frames: frames.slice(0, 450) }] : [];
        });
        if (feeds.length === 0) this.skip();
        for (const { name, frames } of feeds) {
          const feed = (role: 'reference' | 'tracker') =>
            frames.map((frame, n): Sent => ({ atMs: n * 33, k: n + 1, objects: [...frame[role]] as Sent['objects'] }));
          const played = rehearse({ reference: feed('reference'), tracker: feed('tracker') });
          assert.deepEqual(
            played.stream.info().findings.map(({ message }) => message),
            [],
            name,
          );
        }
      });
    });
  });

  describe('name the mistake with real trackers', () => {
    type Tracked = Array<{ id: string; box: number[] }>;
    const asItIs = (tracks: Tracked) => tracks;
    const shares = (tracks: Tracked): Tracked =>
      tracks.map(({ id, box: [x, y, w, h] }) => ({ id, box: [x / 1920, y / 1080, w / 1920, h / 1080] }));
    const cases: Array<[what: string, sequence: string, tracker: string, later: number, read: typeof asItIs]> = [
      ['frame_offset', 'MOT17-05', 'BoT-SORT-ReTrack-Botsort_baseline', 1, asItIs],
      ['frame_offset', 'MOT17-09', 'Lif_T', 1, asItIs],
      ['frame_offset', 'MOT17-13', 'MPNTrack', 5, asItIs],
      ['normalized_boxes', 'MOT17-02', 'DeepSORT-AxelBogos', 0, shares],
      ['normalized_boxes', 'MOT17-11', 'DeepSORT-AxelBogos', 0, shares],
    ];
    for (const [what, sequence, tracker, later, read] of cases)
      it(`${what} of ${later > 0 ? `${later} in ` : ''}${sequence} with ${tracker}`, function () {
        skipInFastRun(this);
        const frames = mot17(sequence, tracker)?.slice(0, 345);
        if (!frames) this.skip();
        const feed = (list: unknown[]) =>
          list.map((objects, n): Sent => ({ atMs: n * 33, k: n + 1, objects: objects as Sent['objects'] }));
        const { names } = rehearse({
          reference: feed(frames!.map(({ reference }) => reference)),
          tracker: feed(frames!.map((_, n) => read((frames![n - later]?.tracker ?? []) as unknown as Tracked))),
        });
        assert.deepEqual(names, [what]);
      });
  });

  it('end when the wiring is repaired while everything runs, and come again when it breaks', function () {
    skipInFastRun(this);
    const { reference, tracker } = scene({ frames: 2000 });
    const wrong = moved(tracker, ([x, y, w, h]) => [x, y, x + w, y + h]);
    const feed = tracker.map((sent, n) => (n < 200 || n >= 1200 ? wrong[n] : sent));
    const { events, names } = rehearse({ reference, tracker: feed });
    const said = events.flatMap((event) => (event.type === 'finding' ? [`${event.phase} ${event.finding}`] : []));
    assert.deepEqual(said, ['start box_order', 'end box_order', 'start box_order']);
    assert.deepEqual(names, ['box_order']);
  });

  it('are a function of the records: a stream restored from a snapshot at any of them finds the same', function () {
    skipInFastRun(this);
    const { reference, tracker } = scene({ frames: 60 });
    const feeds = { reference, tracker: moved(tracker, ([x, y, w, h]) => [x, y, x + w, y + h]) };
    const whole = rehearse(feeds);
    const rehearsal = new Rehearsal();
    rehearsal.open('reference');
    rehearsal.open('tracker');
    for (let n = 0; n < 60; n++) {
      const state = unpackSnapshot(packSnapshot(rehearsal.stream.toJSON()), 'it');
      const again = Stream.fromJSON('s', { state, position: rehearsal.stream.position });
      Object.assign(rehearsal, { stream: again });
      rehearsal.play({ reference: [feeds.reference[n]], tracker: [feeds.tracker[n]] }, n + 1);
    }
    assert.deepEqual(rehearsal.stream.info().findings, whole.stream.info().findings);
    assert.equal(whole.only.finding, 'box_order');
  });

  it('stay when a feed comes back as it was, and nothing that came has never come', () => {
    const { reference, tracker } = scene({ frames: 400 });
    const wrong = moved(tracker, ([x, y, w, h]) => [x, y, x + w, y + h]);
    const rehearsal = rehearse({ reference: reference.slice(0, 100), tracker: wrong.slice(0, 100) });
    rehearsal.open('tracker', 10_000);
    rehearsal.play({ reference: reference.slice(100, 250) }, 101);
    rehearsal.play({ reference: reference.slice(250), tracker: wrong.slice(250) }, 251);
    const said = rehearsal.events.flatMap((event) =>
      event.type === 'finding' ? [`${event.phase} ${event.finding}`] : [],
    );
    assert.deepEqual(said, ['start box_order']);
  });

  it('are gone with their tracker', () => {
    const { reference, tracker } = scene({ frames: 60 });
    const rehearsal = rehearse({ reference, tracker: moved(tracker, ([x, y, w, h]) => [x, y, x + w, y + h]) });
    rehearsal.apply({ kind: 'retire', stream: 's', atMs: SCENE_START_MS + 10_000, tracker: 'sort' });
    assert.deepEqual(rehearsal.names, []);
    const last = rehearsal.events.findLast((event) => event.type === 'finding');
    assert.equal(last?.type === 'finding' && last.phase, 'end');
  });

  it('keep nothing of a tracker that matches', () => {
    const { stream } = rehearse(scene({ frames: 400 }));
    const { findings } = stream.toJSON();
    assert.equal(findings?.reference.seen.length, 0);
    assert.deepEqual(
      findings?.trackers.map(([, { seen, healthy }]) => [seen.length, healthy]),
      [[0, true]],
    );
  });
});
