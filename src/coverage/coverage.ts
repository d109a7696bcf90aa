/**
 * What of a scene is judged: for every object what it costs at most when it is missed (phi) or false (psi), in the unit
 * of the distance, 0 where it is not judged at all. Both are distances to what is not judged, hence 1-Lipschitz in the
 * base distance, and that keeps the triangle inequality, which masks break:
 *
 *   points                   distance to the border of what is not judged
 *   boxes, iou               share of the box that lies in judged area
 *   boxes, the other two     distance of the centre to the border; by the maximum norm for hausdorff
 *   don't-care objects       base distance to the nearest of them
 *   unclear objects          tracks: the same less the admissible error, within which a track may be theirs
 *
 * A pair is worth phi^p + psi^p - d^p: where tracks are never false (psi = 0) it is one up to the admissible error.
 */
import { distances } from '../metric/distance.js';
import type { PackedObjects } from '../metric/frame.js';
import { BOX_DISTANCES, type DistanceName } from '../metric/params.js';
import { type Edges, edgesOfRegion, judgedShare } from './area.js';
import { type Border, earthBorder, planeBorder } from './border.js';
import { type Region, ringsOf } from './region.js';

export type Side = 'reference' | 'tracker';

/**
 * What the reference knows: `complete`, everything; `coverage`, everything inside the regions, nothing is judged
 * outside; `transponder`, some objects only, so that tracks are never false, or only inside the regions, where it is
 * complete.
 */
export const KNOWLEDGE = ['complete', 'coverage', 'transponder'] as const;
export type Knowledge = (typeof KNOWLEDGE)[number];

export interface CoverageRules {
  knows: Knowledge;
  regions: readonly Region[];
  /** nothing inside is judged */
  ignore: readonly Region[];
  /** where the tracker can see at all: nothing outside is judged, whatever the reference knows; empty: everywhere */
  within?: readonly Region[];
}

/** What one frame brings along. */
export interface Moving {
  ignore?: readonly Region[];
  /** objects of the reference that are neither missed nor false, nor is what is close to them */
  dontCare?: PackedObjects;
  /** truths that are about there, perhaps: no track within the admissible error of them is judged */
  unclear?: PackedObjects;
}

/** Why an object is not judged; `gap`: its reports are too far apart. */
export const REASONS = ['outside', 'ignored', 'dont_care', 'unequipped', 'gap'] as const;
export type NotJudgedReason = (typeof REASONS)[number];

export interface CoverageVerdict {
  /** of each object; absent where all cost the full price */
  alone?: number[];
  /** of each object why it is not judged; null for those that are */
  reasons: ReadonlyArray<NotJudgedReason | null>;
}

/** A region that is compiled: its border with its band of altitude, or its edges. */
interface Compiled {
  border: Border | null;
  edges: Edges;
  low: number;
  high: number;
}

/** The place of one object. */
interface Spot {
  x: number;
  y: number;
  /** NaN where there is none */
  altitude: number;
}

const nobody: readonly Region[] = [];

export class Coverage {
  readonly #regions: Compiled[];
  readonly #ignore: Compiled[];
  readonly #within: Compiled[];
  readonly #byArea: boolean;
  readonly #isBox: boolean;

  constructor(
    readonly rules: CoverageRules,
    readonly distance: DistanceName,
    /** a metre up counts as so many across */
    readonly verticalWeight = 1,
  ) {
    this.#byArea = distance === 'iou';
    this.#isBox = BOX_DISTANCES.has(distance);
    this.#regions = rules.regions.map((region) => this.#compile(region));
    this.#ignore = rules.ignore.map((region) => this.#compile(region));
    this.#within = (rules.within ?? []).map((region) => this.#compile(region));
  }

  /** Whether everything costs the full price, unless a frame brings something along. */
  get isComplete(): boolean {
    return this.rules.knows === 'complete' && this.#ignore.length + this.#within.length === 0;
  }

  /** What the objects of one feed cost alone at most; `most` is the admissible error, c / 2^(1/p). */
  judge(side: Side, objects: PackedObjects, most: number, moving: Moving = {}): CoverageVerdict {
    const count = objects.ids.length;
    const ignore = (moving.ignore ?? nobody).map((region) => this.#compile(region));
    const { dontCare } = moving;
    // who is known is to be tracked, whoever else may be there
    const unclear = side === 'tracker' ? moving.unclear : undefined;
    if (this.isComplete && ignore.length === 0 && !dontCare?.ids.length && !unclear?.ids.length)
      return { reasons: new Array(count).fill(null) };
    const alone: number[] = new Array(count);
    const reasons: Array<NotJudgedReason | null> = new Array(count).fill(null);
    for (let n = 0; n < count; n++) {
      let [least, reason] = this.#byRegions(side, objects, n, most, ignore);
      const near = dontCare ? this.#toNearest(objects, n, dontCare) : most;
      if (near < least) [least, reason] = [near, 'dont_care'];
      const beyond = unclear ? Math.max(0, this.#toNearest(objects, n, unclear) - most) : most;
      if (beyond < least) [least, reason] = [beyond, 'gap'];
      alone[n] = least;
      if (least <= 0) reasons[n] = reason;
    }
    return { alone, reasons };
  }

  #byRegions(
    side: Side,
    objects: PackedObjects,
    n: number,
    most: number,
    moving: Compiled[],
  ): [number, NotJudgedReason] {
    const limits = this.#limitsOf(side);
    if (this.#byArea) return this.#byShare(objects, n, most, moving, limits);
    const spot = this.#spotOf(objects, n);
    let [least, reason]: [number, NotJudgedReason] = [most, 'ignored'];
    for (const [regions, outside] of limits) {
      const depth = regions.reduce((deepest, region) => Math.max(deepest, this.#depth(region, spot, most)), 0);
      if (depth < least) [least, reason] = [depth, outside];
    }
    for (const region of [...this.#ignore, ...moving]) {
      const away = this.#away(region, spot, least);
      if (away < least) [least, reason] = [away, 'ignored'];
    }
    return [least, reason];
  }

  /** Regions outside of which an object of this feed is not judged, and why. */
  #limitsOf(side: Side): Array<[Compiled[], NotJudgedReason]> {
    const limits: Array<[Compiled[], NotJudgedReason]> = [];
    if (this.#within.length > 0) limits.push([this.#within, 'outside']);
    if (this.rules.knows === 'coverage') limits.push([this.#regions, 'outside']);
    if (this.rules.knows === 'transponder' && side === 'tracker') limits.push([this.#regions, 'unequipped']);
    return limits;
  }

  #byShare(
    { coordinates }: PackedObjects,
    n: number,
    most: number,
    moving: Compiled[],
    limits: Array<[Compiled[], NotJudgedReason]>,
  ): [number, NotJudgedReason] {
    const box = coordinates.slice(4 * n, 4 * n + 4);
    const edgesOf = (regions: Compiled[]) => regions.map(({ edges }) => edges);
    const ignored = edgesOf([...this.#ignore, ...moving]);
    let [least, reason]: [number, NotJudgedReason] = [Math.min(most, judgedShare(box, null, ignored)), 'ignored'];
    for (const [regions, outside] of limits) {
      if (judgedShare(box, edgesOf(regions), []) <= 0) return [0, outside];
      least = Math.min(least, judgedShare(box, edgesOf(regions), ignored));
      if (least <= 0) reason = 'ignored';
    }
    return [least, reason];
  }

  #compile(region: Region): Compiled {
    const onEarth = this.distance === 'geodesic';
    const rings = ringsOf(region, onEarth);
    const [low, high] = region.altitude ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    const edges = this.#byArea ? edgesOfRegion(rings) : new Float64Array(0);
    const inPlane = () => planeBorder(rings, this.distance === 'hausdorff' ? 'maximum' : 'euclidean');
    return { border: this.#byArea ? null : onEarth ? earthBorder(rings) : inPlane(), edges, low, high };
  }

  #spotOf({ coordinates, stride }: PackedObjects, n: number): Spot {
    const at = n * stride;
    if (this.#isBox)
      return {
        x: coordinates[at] + coordinates[at + 2] / 2,
        y: coordinates[at + 1] + coordinates[at + 3] / 2,
        altitude: Number.NaN,
      };
    return {
      x: coordinates[at],
      y: stride > 1 ? coordinates[at + 1] : 0,
      altitude: stride > 2 ? coordinates[at + 2] : Number.NaN,
    };
  }

  /** How far inside a region, 0 outside. An object whose altitude is not known has the right one. */
  #depth({ border, low, high }: Compiled, { x, y, altitude }: Spot, most: number): number {
    if (altitude < low || altitude > high || !border!.contains(x, y)) return 0;
    const within = border!.distance(x, y, most);
    if (Number.isNaN(altitude)) return within;
    return Math.min(within, this.verticalWeight * Math.min(altitude - low, high - altitude));
  }

  /** How far away from a region, 0 inside. */
  #away({ border, low, high }: Compiled, { x, y, altitude }: Spot, most: number): number {
    const across = border!.contains(x, y) ? 0 : border!.distance(x, y, most);
    const up = Number.isNaN(altitude) ? 0 : this.verticalWeight * Math.max(0, low - altitude, altitude - high);
    return across === 0 ? up : Math.hypot(across, up);
  }

  #toNearest(objects: PackedObjects, n: number, others: PackedObjects): number {
    const between = distances[this.distance];
    const own = this.#weighed(objects, n);
    let least = Number.POSITIVE_INFINITY;
    for (let m = 0; m < others.ids.length; m++)
      least = Math.min(least, between(own, 0, this.#weighed(others, m), 0, objects.stride));
    return least;
  }

  /** One object, as the metric sees it. */
  #weighed({ coordinates, stride }: PackedObjects, n: number): ArrayLike<number> {
    const own = coordinates.slice(n * stride, (n + 1) * stride);
    if (!this.#isBox && stride === 3) own[2] *= this.verticalWeight;
    return own;
  }
}

/** Points whose altitude counts as so many across, or so many less where a weight is taken back. */
export function weighAltitudes(coordinates: ArrayLike<number>, stride: number, weight: number): number[] {
  return Array.from(coordinates, (value, n) => (stride === 3 && n % 3 === 2 ? value * weight : value));
}

/** How many objects are not judged, by reason; nothing for reasons that did not occur. */
export function countReasons({ reasons }: CoverageVerdict): Partial<Record<NotJudgedReason, number>> {
  const counts: Partial<Record<NotJudgedReason, number>> = {};
  for (const reason of reasons) if (reason) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
