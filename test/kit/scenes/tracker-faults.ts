/** The faults a tracker is given on purpose, each with the causes that name it right. */
import type { Frame, Obj } from '../../../src/index.js';
import type { Box } from '../../../src/metric/evaluation.js';
import type { CauseName } from '../../../src/wire/incidents.js';
import { Chance } from '../../bench/spike-scene.js';

export interface TrackerFault {
  causes: CauseName[];
  /** what the tracker says at frame `n` of the sequence, when the fault began at frame `at` */
  tracks(frames: readonly Frame[], n: number, at: number): Obj[];
  /** figures that the diagnosis must have */
  evidence?: Record<string, number | string>;
}

type Boxed = Obj & { box: Box };

const late = (by: number): TrackerFault => ({
  causes: ['late'],
  tracks: (frames, n) => frames[Math.max(0, n - by)].tracker,
  evidence: { frames: by },
});

const mapped =
  (change: (box: Box) => Box): TrackerFault['tracks'] =>
  (frames, n) =>
    frames[n].tracker.map((one) => ({ ...one, box: change((one as Boxed).box) }));

/** Every track gets the id of the next one, always the same. */
function permuted(frames: readonly Frame[], n: number): Obj[] {
  const ids = [...allIds(frames)].sort();
  return frames[n].tracker.map((one) => ({ ...one, id: ids[(ids.indexOf(one.id) + 1) % ids.length] }));
}

const allIds = (frames: readonly Frame[]) => new Set(frames.flatMap(({ tracker }) => tracker.map(({ id }) => id)));

const middle = (one: Obj) => (one as Boxed).box[0] + (one as Boxed).box[2] / 2;

/** Nothing is seen left of where half of the objects were when it began. */
function regionDropped(frames: readonly Frame[], n: number, at: number): Obj[] {
  const centres = frames.slice(at, at + 30).flatMap(({ reference }) => reference.map(middle));
  const border = centres.sort((a, b) => a - b)[centres.length >> 1];
  return frames[n].tracker.filter((one) => middle(one) >= border);
}

function duplicated(frames: readonly Frame[], n: number): Obj[] {
  const chance = new Chance(n);
  const copy = ({ id, box: [x, y, width, height] }: Boxed): Obj => ({
    id: `copy of ${id}`,
    box: [x + 0.03 * width * chance.normal(), y + 0.03 * height * chance.normal(), width, height],
  });
  return [...frames[n].tracker, ...frames[n].tracker.map((one) => copy(one as Boxed))];
}

export const TRACKER_FAULTS: Record<string, TrackerFault> = {
  empty: { causes: ['silent'], tracks: () => [] },
  frozen: { causes: ['frozen'], tracks: (frames, _n, at) => frames[at - 1].tracker },
  'late by 2': late(2),
  'late by 5': late(5),
  duplicated: { causes: ['duplicated'], tracks: duplicated },
  permuted: { causes: ['identities_permuted'], tracks: permuted },
  'region dropped': { causes: ['region_lost'], tracks: regionDropped },
  ghost: {
    causes: ['ghost'],
    tracks: (frames, n) => [
      ...frames[n].tracker,
      ...[0, 1, 2].map((one): Obj => ({ id: `ghost ${one}`, box: [37 + 211 * one, 5, 60, 90] })),
    ],
  },
  'half resolution': {
    causes: ['scaled'],
    tracks: mapped(([x, y, width, height]) => [x / 2, y / 2, width / 2, height / 2]),
  },
  'every second frame': { causes: ['frames_skipped'], tracks: (frames, n) => (n % 2 === 0 ? frames[n].tracker : []) },
  xyxy: { causes: ['box_order'], tracks: mapped(([x, y, width, height]) => [x, y, x + width, y + height]) },
  'offset by one frame': late(1),
};
