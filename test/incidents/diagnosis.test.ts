/** What is wrong with a tracker is found and named, in a made-up scene; where nothing is wrong nothing is said. */
import assert from 'node:assert/strict';
import { diagnose } from '../../src/incidents/diagnosis.js';
import { IncidentScene } from '../../src/incidents/scene.js';
import type { Frame, Obj } from '../../src/index.js';
import type { FrameView } from '../../src/metric/window/frame-view.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { playFault } from '../bench/fault-table.js';
import { Chance } from '../bench/spike-scene.js';
import { TRACKER_FAULTS } from '../kit/scenes/tracker-faults.js';
import { someOf } from '../kit/system/system.js';

/** Twelve walkers who turn back at the walls, seen by a tracker that is a little off. */
function walkers(frames: number, seed = 3): Frame[] {
  const chance = new Chance(seed);
  const each = Array.from({ length: 12 }, (_, n) => ({
    id: `${n}`,
    x: 1700 * chance.next(),
    y: 150 + 600 * chance.next(),
    right: (3 + 5 * chance.next()) * (n % 2 === 0 ? 1 : -1),
    down: 3 * chance.next() - 1.5,
  }));
  const between = (value: number, size: number) => {
    const turn = ((value % (2 * size)) + 2 * size) % (2 * size);
    return turn < size ? turn : 2 * size - turn;
  };
  return Array.from({ length: frames }, (_, k) => {
    const boxes = each.map(
      ({ id, x, y, right, down }): WireObject => ({
        id,
        box: [between(x + k * right, 1800), 100 + between(y + k * down, 800), 60, 140],
      }),
    );
    const seen = ({ id, box }: WireObject): Obj => ({
      id: `track ${id}`,
      box: [box![0] + 1.5 * chance.normal(), box![1] + 1.5 * chance.normal(), 60, 140],
    });
    return { reference: boxes as Obj[], tracker: boxes.map(seen) };
  });
}

const FRAMES = walkers(350);
const AT = 220;

const viewOf = ({ reference, tracker }: Frame): FrameView => ({
  reference: pack(reference as WireObject[]),
  tracker: pack(tracker as WireObject[]),
  stride: 4,
});

/** What is said of the last 40 of 60 frames, in which one feed is changed. */
function causeOf(change: (frame: Frame, n: number) => Frame, signals: string[], classes?: Map<string, string>) {
  const frames = FRAMES.slice(0, 60).map((frame, n) => (n < 20 ? frame : change(frame, n)));
  const settings = { distance: 'iou', cutoff: 0.5 } as const;
  return diagnose(new IncidentScene(frames.map(viewOf), 40, settings, classes), signals);
}

describe('a diagnosis', () => {
  for (const [name, fault] of someOf(Object.entries(TRACKER_FAULTS)))
    it(`names ${name}`, () => {
      const { said, open } = playFault(FRAMES, AT, fault);
      assert.ok(said.length > 0, 'nothing was found');
      assert.ok(said[0].at >= AT, `told at ${said[0].at}`);
      assert.ok(open && fault.causes.includes(open.cause), open?.message);
      for (const [key, value] of Object.entries(fault.evidence ?? {})) assert.equal(open.evidence[key], value);
    });

  it('is not made where nothing is wrong', () => {
    assert.deepEqual(playFault(FRAMES, 0).said, []);
    assert.equal(
      causeOf((frame) => frame, ['missed', 'false', 'switch', 'localization']),
      null,
    );
  });

  it('tells a reference that stands still from a tracker that does', () => {
    const still = FRAMES[20].reference;
    const found = causeOf(({ tracker }) => ({ reference: still, tracker }), ['missed', 'false']);
    assert.equal(found?.cause, 'reference_frozen');
  });

  it('does not take people who wait for a reference that is frozen, whose tracks waver', () => {
    const chance = new Chance(3);
    const still = FRAMES[20].reference.slice(0, 2) as WireObject[];
    const wavering = () =>
      still.map(
        ({ id, box: [x, y, width, height] = [0, 0, 0, 0] }): Obj => ({
          id: `track ${id}`,
          box: [x + 8 * chance.normal(), y + 8 * chance.normal(), width, height],
        }),
      );
    assert.equal(
      causeOf(() => ({ reference: still as Obj[], tracker: wavering() }), ['missed', 'switch']),
      null,
    );
  });

  it('takes the errors of a few objects for no lag, whatever they have in common by chance', () => {
    const named: string[] = [];
    for (let seed = 0; seed < 300; seed++) {
      const chance = new Chance(seed);
      const few = Array.from({ length: seed % 3 === 0 ? 2 : 3 }, (_, n) => ({
        ...{ at: [200 + 400 * n, 300], step: [1.5 * chance.normal(), chance.normal()] },
        off: [12 * chance.normal(), 12 * chance.normal()],
      }));
      const frames = Array.from({ length: 60 }, (_, k): Frame => {
        const place = (n: number, off: number[]) => few[n].at.map((value, d) => value + k * few[n].step[d] + off[d]);
        const box = ([x, y]: number[]): [number, number, number, number] => [x, y, 60, 140];
        return {
          reference: few.map((_, n) => ({ id: `${n}`, box: box(place(n, [0, 0])) })),
          tracker: few.map(({ off }, n) => ({ id: `track ${n}`, box: box(place(n, k < 20 ? [0, 0] : off)) })),
        };
      });
      const scene = new IncidentScene(frames.map(viewOf), 40, { distance: 'iou', cutoff: 0.5 });
      const found = diagnose(scene, ['localization']);
      if (found?.cause === 'late' || found?.cause === 'early') named.push(`seed ${seed}: ${found.message}`);
    }
    assert.ok(named.length <= 3, named.join('; '));
  });

  it('calls it a region when one is lost, and hardly ever when a fifth of the objects is, wherever they are', () => {
    const few = (keeps: (n: number, frame: Frame) => boolean, seed: number) => {
      const frames = walkers(60, seed).map(({ reference, tracker }, k) => {
        const kept = k < 20 ? tracker : tracker.filter((_, n) => keeps(n, { reference, tracker }));
        return viewOf({ reference, tracker: kept });
      });
      return diagnose(new IncidentScene(frames, 40, { distance: 'iou', cutoff: 0.5 }), ['missed'])?.cause;
    };
    const seeds = Array.from({ length: 40 }, (_, n) => n + 1);
    const anywhere = seeds.filter((seed) => few((n) => n % 6 > 0 || n === 0, seed) === 'region_lost');
    const left = (n: number, { tracker }: Frame) => (tracker[n] as WireObject).box![0] > 800;
    const there = seeds.filter((seed) => few(left, seed) === 'region_lost');
    assert.ok(anywhere.length <= 3, `called a region: seeds ${anywhere}`);
    assert.ok(there.length >= 30, `not called one: ${40 - there.length}`);
  });

  it('finds objects of one class lost', () => {
    const classes = new Map(FRAMES[0].reference.map(({ id }, n) => [id, n < 5 ? 'van' : 'car']));
    const lost = new Set([...classes].flatMap(([id, name]) => (name === 'van' ? [`track ${id}`] : [])));
    const found = causeOf(
      ({ reference, tracker }) => ({ reference, tracker: tracker.filter(({ id }) => !lost.has(id)) }),
      ['missed'],
      classes,
    );
    assert.deepEqual([found?.cause, found?.evidence], ['class_lost', { class: 'van', missed: 5, objects: 5 }]);
  });

  it('finds a picture that was moved, by how much', () => {
    const moved = ({ reference, tracker }: Frame): Frame => ({
      reference,
      tracker: (tracker as WireObject[]).map(({ id, box }) => ({ id, box: [box![0] + 90, box![1] - 40, 60, 140] })),
    });
    const found = causeOf(moved, ['missed', 'false']);
    assert.equal(found?.cause, 'shifted', found?.message);
    assert.ok(
      Math.abs(Number(found!.evidence.x) - 90) < 4 && Math.abs(Number(found!.evidence.y) + 40) < 4,
      found!.message,
    );
  });

  it('tells ids that begin anew from ids that are exchanged', () => {
    const anew = ({ reference, tracker }: Frame): Frame => ({
      reference,
      tracker: tracker.map((one) => ({ ...one, id: `new ${one.id}` })),
    });
    assert.equal(causeOf(anew, ['switch'])?.cause, 'identities_reset');
  });

  it('tells clutter from ghosts', () => {
    const chance = new Chance(9);
    const littered = ({ reference, tracker }: Frame, n: number): Frame => ({
      reference,
      tracker: [
        ...tracker,
        ...[0, 1].map((one): Obj => ({ id: `c${n} ${one}`, box: [1800 * chance.next(), 10, 50, 60] })),
      ],
    });
    assert.equal(causeOf(littered, ['false'])?.cause, 'clutter');
  });

  it('takes tracks that live for a second and go for clutter, and those that stay among them for ghosts', () => {
    const named = [0, 3].map((ghosts) =>
      Array.from({ length: 20 }, (_, seed) => {
        const chance = new Chance(100 + seed);
        let alive: Obj[] = [];
        let count = 0;
        const littered = ({ reference, tracker }: Frame): Frame => {
          alive = alive.filter(() => chance.next() > 1 / 12);
          if (chance.next() < (ghosts ? 0.03 : 0.2))
            alive.push({ id: `f${count++}`, box: [1800 * chance.next(), 10, 50, 60] });
          const stay = Array.from({ length: ghosts }, (__, n): Obj => ({ id: `g${n}`, box: [200 * n, 10, 50, 60] }));
          return { reference, tracker: [...tracker, ...alive, ...stay] };
        };
        return causeOf(littered, ['false'])?.cause ?? 'nothing';
      }),
    );
    const [clutter, ghosts] = named.map((list) => list.filter((cause) => cause === 'ghost').length);
    assert.ok(clutter <= 1, `${named[0]}`);
    assert.equal(ghosts, 20, `${named[1]}`);
  });

  it('calls nothing a ghost, and no identities exchanged, where tracks have left their objects', () => {
    const chance = new Chance(4);
    const off = new Map(FRAMES[0].tracker.map(({ id }) => [id, [300 * chance.next() + 80, 200 * chance.next() - 100]]));
    const strayed = ({ reference, tracker }: Frame): Frame => ({
      reference,
      tracker: (tracker as WireObject[]).map(({ id, box }) => {
        const [dx, dy] = off.get(id)!;
        return { id, box: [box![0] + dx, box![1] + dy, 60, 140] };
      }),
    });
    assert.equal(causeOf(strayed, ['missed', 'false', 'switch'])?.message, undefined);
  });

  it('says how often a tracker answers, whichever frame the trouble began with', () => {
    for (const first of [20, 21]) {
      const skipped = ({ reference, tracker }: Frame, n: number): Frame => ({
        reference,
        tracker: (n - first) % 3 === 0 ? tracker : [],
      });
      assert.equal(causeOf(skipped, ['missed'])?.evidence.every, 3);
    }
  });

  it('reads points, too: of another scale, or moved farther than any pair reaches', () => {
    const point = ({ id, box }: WireObject): WireObject => ({ id, point: [box![0] + 30, box![1] + 70] });
    const read = (change: (point: number[]) => number[]) => {
      const views = FRAMES.slice(0, 60).map(({ reference, tracker }, n): FrameView => {
        const seen = (tracker as WireObject[]).map(point).map((one) => ({
          ...one,
          point: n < 20 ? one.point : change(one.point!),
        }));
        return { reference: pack((reference as WireObject[]).map(point)), tracker: pack(seen), stride: 2 };
      });
      return diagnose(new IncidentScene(views, 40, { distance: 'euclidean', cutoff: 40 }), ['missed', 'false']);
    };
    const halved = read((place) => place.map((one) => one / 2));
    assert.equal(halved?.cause, 'scaled', halved?.message);
    assert.ok(Math.abs(Number(halved.evidence.x) - 2) < 0.05, halved.message);
    const moved = read(([x, y]) => [x + 310, y - 140]);
    assert.equal(moved?.cause, 'shifted', moved?.message);
    assert.ok(Math.abs(Number(moved.evidence.x) - 310) < 4, moved.message);
    assert.equal(
      read((place) => place),
      null,
    );
  });
});
