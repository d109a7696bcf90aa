/**
 * The rows of a component: its edges and their ends by index, and for each layer, a frame in which it earns something,
 * the pairs, benefits, prices, last basis and partners. Here is the index arithmetic; what is made of it is in
 * component.ts.
 */

import { surcharged, type WindowContents } from '../window/contents.js';
import { CHANGES_PER_PAIR, type FrameRecord } from '../window/frame-record.js';
import { priceQuanta, QUANTA } from '../window/quanta.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import { ChangeTimes } from './change-times.js';
import { LayerStack, type Matrix } from './layers.js';
import type { LpProblem } from './linear-program.js';
import { BASIS_UNKNOWN } from './reduced-program.js';

/**
 * Quanta in one unit of the linear program: HiGHS's tolerances are absolute, and what makes the fewest switches win
 * must be above them.
 */
export const LP_UNIT = QUANTA / 2 ** 10;

/**
 * By slot the place of an edge, or of a trajectory, in the component that has it: nobody is in two. What a place says
 * holds if that component has the same edge or trajectory there.
 */
export interface Places {
  readonly edge: number[];
  readonly trajectory: number[];
}

export class ComponentRows {
  /** by truth, then track */
  readonly edges: Edge[];
  readonly truthCount: number;
  readonly trackCount: number;
  readonly edgeTruth: Int32Array;
  readonly edgeTrack: Int32Array;
  /** truths, then tracks */
  readonly trajectories: readonly Trajectory[];
  /** marks a component whose frames changed since its last solve, or that was out of time then */
  stale = true;
  /** under time weights the greatest weight of its frames, about: quanta are so much smaller */
  scale = 1;
  protected readonly stack: LayerStack;
  protected readonly frameNumber: Matrix<Float64Array>;
  protected readonly pair: Matrix<Int32Array>;
  protected readonly benefit: Matrix<Float64Array>;
  protected readonly changeCost: Matrix<Float64Array>;
  /** [row * trajectories + trajectory]: see `ProofLayers` */
  protected readonly price: Matrix<Float64Array>;
  /** see `LastBasis` */
  protected readonly cellStatus: Matrix<Int8Array>;
  protected readonly flowStatus: Matrix<Int8Array>;
  protected readonly capacityStatus: Matrix<Int8Array>;
  /** [row * truthCount + truth]: the truth's edge, or -1 */
  protected readonly partner: Matrix<Int32Array>;
  /** layers that came since the last solve */
  protected newCount = 0;
  /** of a fractional optimum */
  protected weights: Float64Array | null = null;
  private formerPlaces: Map<Edge | Trajectory, number> | null = null;

  constructor(
    protected readonly contents: WindowContents,
    protected readonly places: Places,
    given: readonly Edge[],
  ) {
    const truths = this.different(given, ({ truth }) => truth);
    const tracks = this.different(given, ({ track }) => track);
    this.truthCount = truths.length;
    this.trackCount = tracks.length;
    this.trajectories = truths.concat(tracks);
    this.trajectories.forEach(({ slot }, n) => {
      places.trajectory[slot] = n;
    });
    const E = given.length;
    const { trajectory: place } = places;
    this.edges = [...given].sort(
      (a, b) => place[a.truth.slot] - place[b.truth.slot] || place[a.track.slot] - place[b.track.slot],
    );
    this.edgeTruth = new Int32Array(E);
    this.edgeTrack = new Int32Array(E);
    let layers = 0;
    for (let e = 0; e < E; e++) {
      const { slot, truth, track, size } = this.edges[e];
      places.edge[slot] = e;
      this.edgeTruth[e] = places.trajectory[truth.slot];
      this.edgeTrack[e] = places.trajectory[track.slot] - truths.length;
      if (size > layers) layers = size;
    }
    this.stack = new LayerStack(E === 1 ? 0 : layers + (layers >> 1));
    this.frameNumber = this.stack.matrix(Float64Array, 1);
    this.pair = this.stack.matrix(Int32Array, E);
    this.benefit = this.stack.matrix(Float64Array, E);
    this.changeCost = this.stack.matrix(Float64Array, 1);
    this.price = this.stack.matrix(Float64Array, this.trajectories.length);
    this.cellStatus = this.stack.matrix(Int8Array, E);
    this.flowStatus = this.stack.matrix(Int8Array, E);
    this.capacityStatus = this.stack.matrix(Int8Array, this.trajectories.length);
    this.partner = this.stack.matrix(Int32Array, this.truthCount);
  }

  /** Edges times layers. */
  get cellCount(): number {
    return this.edges.length * this.stack.size;
  }

  get isolated(): boolean {
    return this.edges.length === 1;
  }

  /** The ends of edges on one side, each once, by id. */
  private different(edges: readonly Edge[], endOf: (edge: Edge) => Trajectory): Trajectory[] {
    const { trajectory: places } = this.places;
    const list: Trajectory[] = [];
    for (let n = 0; n < edges.length; n++) {
      const end = endOf(edges[n]);
      if (list[places[end.slot]] === end) continue;
      places[end.slot] = list.length;
      list.push(end);
    }
    return list.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Fills the layers from the edges' own records. */
  protected build(): void {
    const { oldestNumber, size: frames } = this.contents;
    const { edges } = this;
    // of each frame of the window first whether it is a layer, then its row
    const rows = new Int32Array(frames).fill(-1);
    for (let e = 0; e < edges.length; e++)
      for (let n = 0; n < edges[e].size; n++) rows[edges[e].frameAt(n) - oldestNumber] = 0;
    for (let n = 0; n < frames; n++) if (rows[n] === 0) rows[n] = this.addLayer(oldestNumber + n);
    for (let e = 0; e < edges.length; e++) {
      const edge = edges[e];
      for (let n = 0; n < edge.size; n++) this.setPair(rows[edge.frameAt(n) - oldestNumber], e, edge.pairAt(n));
    }
  }

  /** Where its edges and trajectories stood, for those who inherit from it: many small ones may come of a large one. */
  private get former(): ReadonlyMap<Edge | Trajectory, number> {
    this.formerPlaces ??= new Map<Edge | Trajectory, number>([
      ...this.edges.map((edge, e) => [edge, e] as const),
      ...this.trajectories.map((trajectory, n) => [trajectory, n] as const),
    ]);
    return this.formerPlaces;
  }

  /** Inherits prices and the last bases of components that some of its edges come from. */
  inherit(others: readonly ComponentRows[]): void {
    if (this.isolated || others.length === 0) return;
    for (const other of others) this.inheritFrom(other);
    this.completePrices();
  }

  private inheritFrom(other: ComponentRows): void {
    const places = commonPlaces(other.trajectories, () => other.former, this.trajectories, this.places.trajectory);
    const edgePlaces = commonPlaces(other.edges, () => other.former, this.edges, this.places.edge);
    const end = this.stack.head + this.stack.size;
    const { price, frameNumber } = this;
    let row = this.stack.head;
    for (let from = other.stack.head; from < other.stack.head + other.stack.size; from++) {
      const number = other.frameNumber.values[from];
      while (row < end && frameNumber.values[row] < number) row++;
      if (row === end) return;
      if (frameNumber.values[row] !== number || Number.isNaN(other.price.values[from * other.price.width])) continue;
      copyRow(other.price, from, price, row, places);
      copyRow(other.capacityStatus, from, this.capacityStatus, row, places);
      copyRow(other.cellStatus, from, this.cellStatus, row, edgePlaces);
      copyRow(other.flowStatus, from, this.flowStatus, row, edgePlaces);
    }
  }

  /** A row in which somebody earns who has no price is priced anew: prices of some alone leave nothing to spare. */
  private completePrices(): void {
    const { edges, edgeTruth, edgeTrack, truthCount: n } = this;
    const { values, width } = this.price;
    const { head, size } = this.stack;
    for (let row = head; row < head + size; row++) {
      const at = row * width;
      let complete = true;
      for (let e = 0; e < edges.length && complete; e++)
        if (this.benefit.values[row * edges.length + e] > 0)
          complete = !Number.isNaN(values[at + edgeTruth[e]] + values[at + n + edgeTrack[e]]);
      if (!complete) values[at] = Number.NaN;
      else for (let x = at; x < at + width; x++) if (Number.isNaN(values[x])) values[x] = 0;
    }
  }

  /** Appends a layer with no pairs. */
  protected addLayer(number: number): number {
    const row = this.stack.append();
    const E = this.edges.length;
    this.frameNumber.values[row] = number;
    this.pair.values.fill(-1, row * E, (row + 1) * E);
    this.benefit.values.fill(0, row * E, (row + 1) * E);
    this.changeCost.values[row] = this.contents.changeQuanta;
    this.price.values.fill(Number.NaN, row * this.price.width, (row + 1) * this.price.width);
    for (const { values, width } of [this.cellStatus, this.flowStatus, this.capacityStatus])
      values.fill(BASIS_UNKNOWN, row * width, (row + 1) * width);
    this.newCount++;
    this.stale = true;
    return row;
  }

  protected setPair(row: number, e: number, pair: number): void {
    const at = row * this.edges.length + e;
    this.pair.values[at] = pair;
    this.benefit.values[at] = this.contents.frame(this.frameNumber.values[row]).benefit(pair);
  }

  /** Adds a pair of the newest frame, with a layer when it is the first. */
  addPair(frame: FrameRecord, edge: Edge, pair: number): void {
    const last = this.stack.head + this.stack.size - 1;
    const isLast = this.stack.size > 0 && this.frameNumber.values[last] === frame.number;
    this.setPair(isLast ? last : this.addLayer(frame.number), this.places.edge[edge.slot], pair);
  }

  /** Drops the layer of a frame that leaves the window. */
  dropFrame(number: number): void {
    if (this.stack.size === 0 || this.frameNumber.values[this.stack.head] !== number) return;
    this.stack.dropFirst();
    this.newCount = Math.min(this.newCount, this.stack.size);
    this.stale = true;
  }

  protected layers() {
    return {
      firstRow: this.stack.head,
      layerCount: this.stack.size,
      benefit: this.benefit.values,
      partner: this.partner.values,
      price: this.price.values,
      changeCost: this.changeCost.values,
    };
  }

  /** The layers' rows of a matrix. */
  protected live<V extends Float64Array | Int8Array>({ values, width }: Matrix<V>): V {
    const { head, size } = this.stack;
    return values.subarray(head * width, (head + size) * width) as V;
  }

  /** Reads the assignment of the layers that were solved before from the frames; returns the first row that was not. */
  protected recall(): number {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const { contents } = this;
    const weights = new Float64Array(size * E);
    let row = head;
    for (; row < head + size && this.frameNumber.values[row] <= contents.solvedNumber; row++) {
      const frame = contents.frame(this.frameNumber.values[row]);
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) weights[(row - head) * E + e] = frame.wasOn(pair);
      }
    }
    this.hold(weights);
    return row;
  }

  /** Of each truth, then of each track, whether it is assigned in a row up to one. */
  protected usedUpTo(row: number): Uint8Array {
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const partner = this.partner.values;
    const used = new Uint8Array(this.trajectories.length);
    for (let at = this.stack.head * n; at < (row + 1) * n; at++)
      if (partner[at] >= 0) used[edgeTruth[partner[at]]] = used[n + edgeTrack[partner[at]]] = 1;
    return used;
  }

  /** The assignment in `partner` as weights. */
  protected partnerWeights(): Float64Array {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const n = this.truthCount;
    const weights = new Float64Array(size * E);
    for (let row = head; row < head + size; row++)
      for (let i = row * n; i < (row + 1) * n; i++)
        if (this.partner.values[i] >= 0) weights[(row - head) * E + this.partner.values[i]] = 1;
    return weights;
  }

  /** The proper pairs of an assignment, each held until one of its ends is needed elsewhere. */
  protected hold(weights: Float64Array): void {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const { truthCount: n, edgeTruth, edgeTrack } = this;
    const partner = this.partner.values;
    const held = new Int32Array(n).fill(-1);
    const holder = new Int32Array(this.trackCount).fill(-1);
    const used = new Uint8Array(n + this.trackCount);
    for (let row = head; row < head + size; row++) {
      for (let e = 0; e < E; e++) {
        if (weights[(row - head) * E + e] < 0.5 || this.pair.values[row * E + e] < 0) continue;
        const i = edgeTruth[e];
        const j = edgeTrack[e];
        if (held[i] === e) continue;
        if (!used[i] && !used[n + j]) for (let early = head; early < row; early++) partner[early * n + i] = e;
        if (held[i] >= 0) holder[edgeTrack[held[i]]] = -1;
        if (holder[j] >= 0) held[holder[j]] = -1;
        held[i] = e;
        holder[j] = i;
        used[i] = used[n + j] = 1;
      }
      for (let i = 0; i < n; i++) partner[row * n + i] = held[i];
    }
  }

  /** When a change happens matters under time weights: as the program has it, but for what costs nothing. */
  protected tidy(): void {
    const { head, size } = this.stack;
    new ChangeTimes(this, this.benefit.values, this.changeCost.values, this.partner.values).tidy(head, head + size);
  }

  protected halvesInto(row: number): number {
    const { weights } = this;
    let count = 0;
    if (weights) {
      const E = this.edges.length;
      const at = (row - this.stack.head) * E;
      for (let e = 0; e < E; e++) count += Math.abs(weights[at + e] - weights[at - E + e]);
      return count;
    }
    const n = this.truthCount;
    const partner = this.partner.values;
    for (let i = row * n; i < (row + 1) * n; i++) {
      const a = partner[i - n];
      const b = partner[i];
      if (a !== b) count += (a >= 0 ? 1 : 0) + (b >= 0 ? 1 : 0);
    }
    return count;
  }

  protected linearProblem(withSurcharge: boolean): LpProblem {
    const { head, size } = this.stack;
    const E = this.edges.length;
    const benefit = this.benefit.values.slice(head * E, (head + size) * E);
    for (let n = 0; n < benefit.length; n++) benefit[n] /= LP_UNIT;
    const switchCost = new Float64Array(size);
    for (let n = 0; n < size; n++) {
      const price = this.priceInto(head + n);
      switchCost[n] = (withSurcharge ? surcharged(price) : price) / LP_UNIT;
    }
    return {
      frameCount: size,
      truthCount: this.truthCount,
      trackCount: this.trackCount,
      edgeTruth: this.edgeTruth,
      edgeTrack: this.edgeTrack,
      benefit,
      switchCost,
    };
  }

  /** Quanta that half a switch on the way into a row costs. */
  protected priceInto(row: number): number {
    const { contents } = this;
    if (!contents.weighted || row === this.stack.head) return contents.priceQuanta;
    const { values } = this.frameNumber;
    return priceQuanta(contents.priceBetween(values[row - 1], values[row]) / this.scale);
  }

  /** Prices all layers anew by age. */
  protected weigh(): void {
    const { contents, stack } = this;
    const E = this.edges.length;
    const { head, size } = stack;
    let greatest = 0;
    for (let row = head; row < head + size; row++)
      greatest = Math.max(greatest, contents.frameWeight(this.frameNumber.values[row]));
    this.scale = greatest === 0 ? 1 : 2 ** Math.floor(Math.log2(greatest));
    for (let row = head; row < head + size; row++) {
      const frame = contents.frame(this.frameNumber.values[row]);
      const weight = contents.frameWeight(frame.number) / this.scale;
      for (let e = 0; e < E; e++) {
        const pair = this.pair.values[row * E + e];
        if (pair >= 0) this.benefit.values[row * E + e] = weighed(weight, frame.benefit(pair));
      }
      this.price.values[row * this.price.width] = Number.NaN;
      if (row > head) this.changeCost.values[row] = surcharged(this.priceInto(row));
    }
  }

  /**
   * What the best assignment may gain under time weights by what was rounded, in quanta: by pairs that are not assigned
   * here, but for those that alone cost more than everything does; and by changes, which are `dearer` inside, by
   * `relative` of their price at most.
   */
  rounding(cost: number): { pairs: number; changes: number; relative: number } {
    const { contents, scale, truthCount: n } = this;
    const { head, size } = this.stack;
    let pairs = 0;
    let free = 0;
    let dearer = 0;
    let relative = 0;
    if (this.isolated) return { pairs, changes: 0, relative };
    for (let row = head; row < head + size; row++) {
      const { count, sum, most } = this.roundedIn(row, cost);
      const pairsMax = Math.min(n, this.trackCount);
      free += Math.min(count, pairsMax);
      pairs += Math.min(sum, pairsMax * most);
      if (row === head) continue;
      const price = contents.priceBetween(this.frameNumber.values[row - 1], this.frameNumber.values[row]);
      const more = scale * this.changeCost.values[row] - price;
      if (more < 0) pairs -= more * this.halvesInto(row);
      else if (more > dearer) dearer = more;
      if (more > relative * price) relative = price === 0 ? Number.POSITIVE_INFINITY : more / price;
    }
    return { pairs, changes: dearer * CHANGES_PER_PAIR * free, relative };
  }

  /** What was rounded of the pairs of a row that another assignment may gain by, but for those that cost too much. */
  protected roundedIn(row: number, cost: number): { count: number; sum: number; most: number } {
    const { contents, scale } = this;
    const E = this.edges.length;
    const frame = contents.frame(this.frameNumber.values[row]);
    const weight = contents.frameWeight(frame.number);
    const rounded = { count: 0, sum: 0, most: 0 };
    for (let e = 0; e < E; e++) {
      const pair = this.pair.values[row * E + e];
      if (pair < 0 || weight * frame.distanceCost(pair) > cost) continue;
      const isOn = this.partner.values[row * this.truthCount + this.edgeTruth[e]] === e;
      // of those that are assigned, what earns next to nothing was rounded up
      if (isOn && this.benefit.values[row * E + e] > 1) continue;
      const off = Math.abs(weight * frame.earned(pair) - scale * this.benefit.values[row * E + e]);
      rounded.count++;
      rounded.sum += off;
      rounded.most = Math.max(rounded.most, off);
    }
    return rounded;
  }
}

/**
 * Of everybody in two lists the place in the first, then that in the second. The shorter list is gone through: a large
 * component may fall apart into many, or be put together out of many.
 */
function commonPlaces<T extends Edge | Trajectory>(
  from: readonly T[],
  fromPlaces: () => ReadonlyMap<Edge | Trajectory, number>,
  to: readonly T[],
  toPlaces: readonly number[],
): number[] {
  const common: number[] = [];
  if (from.length <= to.length) {
    for (let n = 0; n < from.length; n++) {
      const place = toPlaces[from[n].slot];
      if (to[place] === from[n]) common.push(n, place);
    }
    return common;
  }
  const places = fromPlaces();
  for (let n = 0; n < to.length; n++) {
    const place = places.get(to[n]);
    if (place !== undefined) common.push(place, n);
  }
  return common;
}

/** Copies what two rows of matrices have in common. */
function copyRow(
  { values: from, width }: Matrix,
  row: number,
  { values: to, width: toWidth }: Matrix,
  toRow: number,
  places: readonly number[],
): void {
  for (let n = 0; n < places.length; n += 2) to[toRow * toWidth + places[n + 1]] = from[row * width + places[n]];
}

/** A benefit under a weight; at least 1, so that who was seen long ago is not taken for missed. */
function weighed(weight: number, benefit: number): number {
  return weight === 0 ? 0 : Math.max(1, Math.floor(weight * benefit));
}
