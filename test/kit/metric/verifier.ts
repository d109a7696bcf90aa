/**
 * Proves an evaluation right as far as one can without solving: recomputes every cost and count from the frames and the
 * reported assignment alone, with distances of its own, and checks that the assignment is one. It shares no code with
 * the kernel. It runs on every solve of every test (`verify-solves.ts`), so it is written for speed: ids become numbers
 * once, and messages are made only for what is wrong.
 *
 * A pair is listed in each frame where one of its ends is present. Where neither is, it keeps its state unless one of
 * its ends is listed with another. Before either was ever present it is in whatever state it is found in first.
 */

import assert from 'node:assert/strict';
import geographic from 'geographiclib-geodesic';
import type { Assigned, Evaluation, Frame, Obj, Params, Report } from '../../../src/index.js';

const EARTH_RADIUS_M = 6_371_008.8;
const SHORT_CHORD_M = 30_000;

/** One feed of a frame: `stride` coordinates for each id; the kernel's packed frames have this shape. */
interface Feed {
  ids: readonly string[];
  coordinates: ArrayLike<number>;
  /** what each costs alone, where that is less than the full price */
  alone?: ArrayLike<number> | null;
  /** objects of different kinds are infinitely far apart */
  kinds?: ArrayLike<string | null> | null;
}

export interface Content {
  reference: Feed;
  tracker: Feed;
  stride: number;
}

type Numbers = ArrayLike<number>;

/** Where a place on the ellipsoid WGS84 is, seen from the centre of the Earth. */
function inSpace(latitude: number, longitude: number): [number, number, number] {
  const [phi, lambda] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
  const eccentricitySquared = 6.69437999014132e-3;
  const normal = 6_378_137 / Math.sqrt(1 - eccentricitySquared * Math.sin(phi) ** 2);
  const across = normal * Math.cos(phi);
  return [across * Math.cos(lambda), across * Math.sin(lambda), normal * (1 - eccentricitySquared) * Math.sin(phi)];
}

/** Base distances, written down anew: from the coordinates at `i` in `a` to those at `j` in `b`. */
const DISTANCE: Record<Params['distance'], (a: Numbers, i: number, b: Numbers, j: number, stride: number) => number> = {
  iou: (a, i, b, j) => {
    // from the differences of the corners, which are right however far away the boxes are
    const common = [0, 1].map((axis) => {
      const [shift, own, other] = [b[j + axis] - a[i + axis], a[i + axis + 2], b[j + axis + 2]];
      return Math.max(0, shift > 0 ? Math.min(own - shift, other) : Math.min(own, other + shift));
    });
    const [bw, bh] = [b[j + 2] / a[i + 2], b[j + 3] / a[i + 3]];
    const share = (common[0] / a[i + 2]) * (common[1] / a[i + 3]);
    return Math.max(0, 1 - share / (1 + bw * bh - share));
  },
  hausdorff: (a, i, b, j) =>
    Math.max(
      Math.abs(a[i] - b[j]),
      Math.abs(a[i + 1] - b[j + 1]),
      Math.abs(a[i] - b[j] + (a[i + 2] - b[j + 2])),
      Math.abs(a[i + 1] - b[j + 1] + (a[i + 3] - b[j + 3])),
    ),
  wasserstein: (a, i, b, j) => {
    const [aw, ah, bw, bh] = [a[i + 2], a[i + 3], b[j + 2], b[j + 3]];
    const centre = (a[i] + aw / 2 - b[j] - bw / 2) ** 2 + (a[i + 1] + ah / 2 - b[j + 1] - bh / 2) ** 2;
    return Math.sqrt(centre + ((aw - bw) ** 2 + (ah - bh) ** 2) / 12);
  },
  euclidean: (a, i, b, j, stride) => {
    let squares = 0;
    for (let axis = 0; axis < stride; axis++) squares += (a[i + axis] - b[j + axis]) ** 2;
    return Math.sqrt(squares);
  },
  geodesic: (a, i, b, j, stride) => {
    const [u, v] = [inSpace(a[i], a[i + 1]), inSpace(b[j], b[j + 1])];
    const chord = Math.hypot(u[0] - v[0], u[1] - v[1], u[2] - v[2]);
    // an arc is longer than its chord by a part of their difference that hardly depends on where on Earth it is
    const across =
      chord < SHORT_CHORD_M
        ? chord * (1 + chord ** 2 / (24 * EARTH_RADIUS_M ** 2))
        : Math.min(19_900_000, geographic.Geodesic.WGS84.Inverse(a[i], a[i + 1], b[j], b[j + 1]).s12 as number);
    return stride === 3 ? Math.hypot(across, a[i + 2] - b[j + 2]) : across;
  },
};

/** The chord loses digits that differences of angles keep: metres of a small distance agree to fewer digits. */
export const DISTANCE_TOLERANCE: Record<Params['distance'], number> = {
  iou: 1e-12,
  hausdorff: 1e-12,
  wasserstein: 1e-12,
  euclidean: 1e-12,
  geodesic: 1e-6,
};

const coordinatesOf = (object: Obj): number[] => ('box' in object ? object.box : object.point);

/** Base distance of two objects. */
export function baseDistance(name: Params['distance'], a: Obj, b: Obj): number {
  return DISTANCE[name](coordinatesOf(a), 0, coordinatesOf(b), 0, coordinatesOf(a).length);
}

/** Distance of the i-th truth and the j-th track of a frame. */
export function distanceIn({ reference, tracker, stride }: Content, name: Params['distance'], i: number, j: number) {
  if ((reference.kinds?.[i] ?? null) !== (tracker.kinds?.[j] ?? null)) return Number.POSITIVE_INFINITY;
  return DISTANCE[name](reference.coordinates, i * stride, tracker.coordinates, j * stride, stride);
}

function feedOf(objects: Obj[]): Feed {
  const alone = objects.some((object) => object.alone !== undefined)
    ? objects.map((object) => object.alone ?? Number.POSITIVE_INFINITY)
    : null;
  const kinds = objects.map((object) => object.kind ?? null);
  return { ids: objects.map((object) => object.id), coordinates: objects.flatMap(coordinatesOf), alone, kinds };
}

/** The share of the full price that the n-th object of a feed pays when it is missed or false. */
export function priceShare({ alone }: Feed, n: number, { cutoff, exponent }: Params): number {
  return alone ? Math.min(1, 2 * (alone[n] / cutoff) ** exponent) : 1;
}

/** What a pair earns in units of c^p, at most 1; not above 0 where its ends are better left alone. */
export function worthOf(distance: number, truthShare: number, trackShare: number, params: Params): number {
  const { cutoff, exponent, missShare = 0.5 } = params;
  return missShare * truthShare + (1 - missShare) * trackShare - (distance / cutoff) ** exponent;
}

function contentOf({ reference, tracker }: Frame): Content {
  const first = reference[0] ?? tracker[0];
  return {
    reference: feedOf(reference),
    tracker: feedOf(tracker),
    stride: first ? coordinatesOf(first).length : 0,
  };
}

export function close(actual: number, expected: number, tolerance: number, what: string): void {
  if (!isClose(actual, expected, tolerance)) assert.fail(`${what}: ${actual} instead of ${expected}`);
}

function isClose(actual: number, expected: number, tolerance: number): boolean {
  return Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected));
}

/** Weight of frame k and of the change into it, among `count` frames. */
export function weightsOf({ weights }: Params, count: number) {
  if (!weights) return { frame: () => 1, change: () => 1 };
  if ('forgetting' in weights) {
    const weight = (k: number) => weights.forgetting ** (count - 1 - k);
    return { frame: weight, change: weight };
  }
  return {
    frame: (k: number) => weights.frame[weights.frame.length - count + k],
    change: (k: number) => weights.switch[weights.switch.length - count + k],
  };
}

/** Objects of one side over all frames: numbers for their ids, and what is known of each. */
class Side {
  private readonly numbers = new Map<string, number>();
  readonly ids: string[] = [];
  /** the last frame with it, and its place there */
  readonly presentAt: number[] = [];
  readonly place: number[] = [];
  /** the last frame in which it was listed, and with whom */
  readonly listedAt: number[] = [];
  readonly listedWith: number[] = [];
  /** the last frame, before the one at hand, in which it was present or listed */
  readonly seenAt: number[] = [];
  /** its assigned partner as far as is known, or -1 */
  readonly partner: number[] = [];
  /** objects of the frame at hand, listed or present */
  here: number[] = [];

  number(id: string): number {
    let n = this.numbers.get(id);
    if (n !== undefined) return n;
    n = this.ids.push(id) - 1;
    this.numbers.set(id, n);
    for (const list of [this.presentAt, this.listedAt, this.seenAt, this.partner, this.listedWith]) list.push(-1);
    this.place.push(0);
    return n;
  }

  enter(ids: readonly string[], k: number): void {
    this.here = [];
    for (let place = 0; place < ids.length; place++) {
      const n = this.number(ids[place]);
      if (this.presentAt[n] === k) assert.fail(`frame ${k}: ${ids[place]} stands twice in the frame`);
      this.presentAt[n] = k;
      this.place[n] = place;
      this.here.push(n);
    }
  }

  list(n: number, other: number, k: number): boolean {
    if (this.listedAt[n] === k) return false;
    this.listedAt[n] = k;
    this.listedWith[n] = other;
    if (this.presentAt[n] !== k) this.here.push(n);
    return true;
  }
}

/** Goes through the frames once; adds up costs and counts what changes. */
class Walk {
  readonly truths = new Side();
  readonly tracks = new Side();

  constructor(
    private readonly params: Params,
    private readonly name: string,
  ) {}

  /** Checks one frame's pairs; returns how many are proper and what they cost. */
  assign(assignment: Assigned[], content: Content, k: number) {
    const { truths, tracks, params } = this;
    const { reference, tracker } = content;
    const slack = DISTANCE_TOLERANCE[params.distance] * Math.max(1, params.cutoff);
    truths.enter(reference.ids, k);
    tracks.enter(tracker.ids, k);
    let proper = 0;
    let localization = 0;
    const shares = {
      truths: reference.ids.map((_, n) => priceShare(reference, n, params)),
      tracks: tracker.ids.map((_, n) => priceShare(tracker, n, params)),
    };
    for (const { truth, track, distance } of assignment) {
      const i = truths.number(truth);
      const j = tracks.number(track);
      if (!truths.list(i, j, k)) this.fail(k, `truth ${truth} is assigned twice`);
      if (!tracks.list(j, i, k)) this.fail(k, `track ${track} is assigned twice`);
      const both = truths.presentAt[i] === k && tracks.presentAt[j] === k;
      if (!both && truths.presentAt[i] !== k && tracks.presentAt[j] !== k)
        this.fail(k, `${truth} and ${track} are listed but neither is present`);
      const own = both
        ? distanceIn(content, params.distance, truths.place[i], tracks.place[j])
        : Number.POSITIVE_INFINITY;
      const worth = both ? worthOf(own, shares.truths[truths.place[i]], shares.tracks[tracks.place[j]], params) : 0;
      if (distance === null) {
        if (!(own >= params.cutoff - slack || worth <= 1e-9)) this.fail(k, `${truth} and ${track} are proper`);
        continue;
      }
      if (!(Math.abs(own - distance) <= slack))
        this.fail(k, `distance of ${truth} and ${track}: ${distance}, not ${own}`);
      if (!(distance < params.cutoff && worth > -1e-9)) this.fail(k, `${truth} and ${track} are not proper`);
      shares.truths[truths.place[i]] = shares.tracks[tracks.place[j]] = 0;
      proper++;
      localization += distance ** params.exponent;
    }
    const sum = (list: number[]) => list.reduce((all, share) => all + share, 0);
    // who costs nothing alone is not judged
    const judged = (list: number[]) => list.filter((share) => share > 0).length;
    const counts = { missed: judged(shares.truths), falseCount: judged(shares.tracks) };
    return { proper, localization, ...counts, missedUnits: sum(shares.truths), falseUnits: sum(shares.tracks) };
  }

  /** Tells of every pair that changed its state: after the frame `after`, and at this one at the latest. */
  changes(k: number, tell: (after: number) => void): void {
    const { truths, tracks } = this;
    const knownAt = (i: number, j: number) => Math.max(truths.seenAt[i], tracks.seenAt[j]);
    const release = (i: number, j: number) => {
      if (truths.listedAt[i] === k && truths.listedWith[i] === j) return;
      tell(knownAt(i, j));
      truths.partner[i] = tracks.partner[j] = -1;
    };
    for (const i of truths.here) if (truths.partner[i] >= 0) release(i, truths.partner[i]);
    for (const j of tracks.here) if (tracks.partner[j] >= 0) release(tracks.partner[j], j);
    for (const i of truths.here) {
      const j = truths.listedAt[i] === k ? truths.listedWith[i] : -1;
      if (j < 0 || truths.partner[i] === j) continue;
      if (knownAt(i, j) >= 0) tell(knownAt(i, j));
      truths.partner[i] = j;
      tracks.partner[j] = i;
    }
    for (const side of [truths, tracks]) for (const n of side.here) side.seenAt[n] = k;
  }

  private fail(k: number, what: string): never {
    assert.fail(`${this.name}, frame ${k}: ${what}`);
  }
}

/** Checks everything an Evaluation says about `frames`; `name` opens the message. */
export function verify(evaluation: Evaluation, frames: Frame[], params: Params, name: string): void {
  verifyContents(evaluation, frames.map(contentOf), params, name);
}

/** The same for packed frames. */
export function verifyContents(evaluation: Evaluation, frames: Content[], params: Params, name: string): void {
  verifyBounds(evaluation, params, name);
  const { perFrame, cost, count } = evaluation;
  verifyLength(evaluation, frames, name);
  const unit = params.cutoff ** params.exponent;
  const missShare = params.missShare ?? 0.5;
  const half = params.switchPenalty ** params.exponent / 2;
  const weight = weightsOf(params, frames.length);
  const walk = new Walk(params, name);
  const sum = { localization: 0, missed: 0, false: 0, switch: 0 };
  const added = { localization: 0, missed: 0, false: 0, switch: 0 };
  const counted = { proper: 0, missed: 0, false: 0, switches: 0 };
  let localizationUnweighted = 0;
  for (let k = 0; k < frames.length; k++) {
    const own = perFrame[k];
    const walked = walk.assign(own.assignment, frames[k], k);
    const { proper, localization, missed, falseCount, missedUnits, falseUnits } = walked;
    let halves = 0;
    if (params.switchPenalty > 0)
      walk.changes(k, (after) => {
        halves++;
        let cheapest = Number.POSITIVE_INFINITY;
        for (let at = after + 1; at <= k; at++) cheapest = Math.min(cheapest, weight.change(at));
        sum.switch += cheapest * half;
      });
    localizationUnweighted += localization;
    if (own.count.proper !== proper || own.count.missed !== missed || own.count.false !== falseCount)
      assert.deepEqual(
        [own.count.proper, own.count.missed, own.count.false],
        [proper, missed, falseCount],
        `${name}, frame ${k}: counts of proper, missed, false`,
      );
    const w = weight.frame(k);
    const costs = {
      localization: w * localization,
      missed: w * missShare * unit * missedUnits,
      false: w * (1 - missShare) * unit * falseUnits,
      switch: halves * half,
    };
    for (const part of ['localization', 'missed', 'false', 'switch'] as const) {
      const tolerance = part === 'localization' ? 1e-9 * Math.max(1, unit) : 1e-9;
      // under weights a change is charged where it is cheapest, and told where it is seen
      const sure = part !== 'switch' || !params.weights;
      if (sure && !isClose(own.cost[part], costs[part], tolerance))
        assert.fail(`${name}, frame ${k}: ${part}: ${own.cost[part]} instead of ${costs[part]}`);
      added[part] += own.cost[part];
      if (part !== 'switch') sum[part] += costs[part];
    }
    if (!params.weights && own.count.switches !== halves / 2)
      assert.fail(`${name}, frame ${k}: switches: ${own.count.switches} instead of ${halves / 2}`);
    counted.proper += proper;
    counted.missed += missed;
    counted.false += falseCount;
    counted.switches += halves / 2;
  }
  assert.deepEqual(count, counted, `${name}: counts`);
  for (const part of ['localization', 'missed', 'false', 'switch'] as const) {
    close(cost[part], sum[part], 1e-9, `${name}: ${part}`);
    close(added[part], cost[part], 1e-9, `${name}: ${part} added over the frames`);
  }
  close(
    evaluation.meanLocalizationError,
    counted.proper > 0 ? (localizationUnweighted / counted.proper) ** (1 / params.exponent) : 0,
    1e-6,
    `${name}: mean localization error`,
  );
}

/** A fractional optimum has no assignment; what is left: bounds, and that each frame has as many objects as it had. */
export function verifyFractional(evaluation: Evaluation, frames: Content[], params: Params, name: string): void {
  verifyBounds(evaluation, params, name);
  verifyLength(evaluation, frames, name);
  assert.ok(!evaluation.exact, `${name}: a fractional optimum is called exact`);
  frames.forEach(({ reference, tracker }, k) => {
    const { proper, missed, false: falseCount } = evaluation.perFrame[k].count;
    close(proper + missed, reference.ids.length, 1e-9, `${name}, frame ${k}: proper and missed`);
    close(proper + falseCount, tracker.ids.length, 1e-9, `${name}, frame ${k}: proper and false`);
  });
}

function verifyLength({ frames: told, perFrame }: Evaluation, frames: Content[], name: string): void {
  assert.equal(told, frames.length, `${name}: number of frames`);
  assert.equal(perFrame.length, frames.length, `${name}: length of perFrame`);
}

/** What holds even for a fractional optimum: sums, bound and gap agree with each other. */
export function verifyBounds(evaluation: Evaluation, params: Params, name: string): void {
  const { cost, solver } = evaluation;
  close(
    cost.localization + cost.missed + cost.false + cost.switch,
    cost.total,
    1e-12,
    `${name}: sum of the components`,
  );
  close(evaluation.distance, cost.total ** (1 / params.exponent), 1e-12, `${name}: distance`);
  assert.ok(
    evaluation.lowerBound <= cost.total * (1 + 1e-12),
    `${name}: lower bound ${evaluation.lowerBound} above the cost ${cost.total}`,
  );
  assert.ok(evaluation.gap >= 0 && evaluation.gap <= 1, `${name}: gap ${evaluation.gap}`);
  if (evaluation.exact) {
    assert.ok(evaluation.gap <= 1e-9, `${name}: exact with a gap of ${evaluation.gap}`);
    close(evaluation.lowerBound, cost.total, 1e-9, `${name}: lower bound of an exact value`);
  } else assert.ok(evaluation.gap > 0, `${name}: not exact without a gap`);
  const { isolated, frontier, simplex, branch, open } = solver;
  const parts = [isolated, frontier, simplex, branch, open];
  assert.ok(
    parts.every((n) => n >= 0) && parts.reduce((a, b) => a + b, 0) === solver.pairs,
    `${name}: solver summary does not add up ${JSON.stringify(solver)}`,
  );
}

/** The length of a sliding window, which it keeps to itself. */
export const windowFramesOf = (window: object): number => (window as { windowFrames: number }).windowFrames;

/** What a sliding window says besides: settled totals add up, and the bounds of the lifetime do not cross. */
export function verifySettled(
  { frame, settled, lifetime, events }: Pick<Report, 'frame' | 'settled' | 'lifetime' | 'events'>,
  params: Params,
  name: string,
  /** some objects cost less than the full price alone */
  excused = false,
): void {
  const { cost, count } = settled;
  const unit = params.cutoff ** params.exponent;
  const missShare = params.missShare ?? 0.5;
  const { frames, uncertified = 0 } = settled;
  assert.ok(frames >= 0 && frames + uncertified <= frame + 1, `${name}: ${frames} settled of ${frame + 1}`);
  const full = { missed: missShare * unit * count.missed, false: (1 - missShare) * unit * count.false };
  for (const part of ['missed', 'false'] as const) {
    if (!excused) close(cost[part], full[part], 1e-9, `${name}: settled ${part}`);
    else assert.ok(cost[part] <= full[part] * (1 + 1e-9) && cost[part] >= -1e-9, `${name}: settled ${part}`);
  }
  close(cost.switch, params.switchPenalty ** params.exponent * count.switches, 1e-9, `${name}: settled switch`);
  close(cost.localization + cost.missed + cost.false + cost.switch, cost.total, 1e-12, `${name}: settled total`);
  if (lifetime)
    assert.ok(
      lifetime.lower <= lifetime.upper * (1 + 1e-9) + 1e-9,
      `${name}: lifetime from ${lifetime.lower} to ${lifetime.upper}`,
    );
  for (const event of events)
    assert.ok(event.frame < frames + uncertified, `${name}: event of frame ${event.frame}, not settled`);
}
