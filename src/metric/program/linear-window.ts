/**
 * The linear program of a component, kept warm from frame to frame: a ring that slides along with the window (DESIGN
 * 3.5). Edges may come and go, so it passes from a component to the one that takes its place. Costs and weights are in
 * units of 2^-10 c^p: HiGHS's tolerances are absolute, and what makes the fewest switches win must be above them.
 */

import type { WindowContents } from '../window/contents.js';
import { QUANTA } from '../window/quanta.js';
import type { Edge, Trajectory } from '../window/trajectory.js';
import type { LpSolution } from './linear-program.js';
import type { RingSimplex } from './ring.js';
import type { Simplex } from './simplex.js';

/** Quanta in one unit of the linear program. */
export const LP_UNIT = QUANTA / 2 ** 10;

/** Edges that are solved together. */
export interface Edges {
  readonly edges: readonly Edge[];
  has(edge: Edge): boolean;
}

export class LinearWindow {
  private readonly ring: RingSimplex;
  private readonly edges = new Set<Edge>();
  private nextNumber = 0;

  constructor(
    private readonly contents: WindowContents,
    simplex: Simplex,
    windowFrames: number,
  ) {
    this.ring = simplex.createRing(windowFrames);
  }

  /** How many of a component's edges it knows already. */
  knownOf(edges: readonly Edge[]): number {
    return edges.reduce((count, edge) => count + (this.edges.has(edge) ? 1 : 0), 0);
  }

  /** LP optimum of the component's layers; weights as [layer * edgeCount + edge]. */
  relax(component: Edges, layerNumber: Float64Array, pivotsMax: number | undefined): LpSolution {
    this.catchUp(component);
    const { problem: window, truthNames, trackNames } = this.ring.window();
    const solution = this.ring.solve({ pivotsMax });
    if (solution.status !== 'optimal') return solution;
    const local = new Map<string, number>();
    component.edges.forEach((edge, e) => {
      local.set(`${edge.truth.serial}-${edge.track.serial}`, e);
    });
    const E = component.edges.length;
    const living = window.edgeTruth.length;
    const weights = new Float64Array(layerNumber.length * E);
    for (let n = 0; n < living; n++) {
      const e = local.get(`${truthNames[window.edgeTruth[n]]}-${trackNames[window.edgeTrack[n]]}`)!;
      layerNumber.forEach((number, layer) => {
        weights[layer * E + e] = solution.weights[(number - this.contents.oldestNumber) * living + n];
      });
    }
    return { ...solution, weights };
  }

  /**
   * Writes the prices of the last optimum, for the frames that are layers, row by row from `first` on; truths come
   * first. Prices of a frame in which nobody earns go to the next layer, or to the last: a change between two layers
   * has one boundary instead of several, and the bound is the same.
   */
  leavePrices(
    trajectories: readonly Trajectory[],
    truthCount: number,
    layerNumber: Float64Array,
    price: Float64Array,
    first: number,
  ): void {
    const { oldestNumber, newestNumber } = this.contents;
    const last = layerNumber.length - 1;
    trajectories.forEach(({ serial }, x) => {
      const target = (layer: number) => first + layer * trajectories.length + x;
      let layer = 0;
      let sum = 0;
      for (let number = oldestNumber; number <= newestNumber; number++) {
        const frame = number - oldestNumber;
        sum += x < truthCount ? this.ring.truthPrice(serial, frame) : this.ring.trackPrice(serial, frame);
        if (layer > last || number < layerNumber[layer]) continue;
        price[target(layer++)] = LP_UNIT * sum;
        sum = 0;
      }
      price[target(last)] += LP_UNIT * sum;
    });
  }

  /** Brings the ring up to the newest frame and to the component's edges. */
  private catchUp(component: Edges): void {
    const { contents, ring, edges } = this;
    for (const edge of edges) {
      if (component.has(edge)) continue;
      ring.removeEdge(edge.truth.serial, edge.track.serial);
      edges.delete(edge);
    }
    const half = contents.changeQuanta / LP_UNIT;
    for (let number = Math.max(this.nextNumber, contents.oldestNumber); number <= contents.newestNumber; number++)
      ring.slide([], [], [], half);
    for (const edge of component.edges) {
      const from = edges.has(edge) ? this.nextNumber : 0;
      edges.add(edge);
      for (let n = edge.size - 1; n >= 0 && edge.frameAt(n) >= from; n--) {
        const number = edge.frameAt(n);
        const benefit = contents.frame(number).benefit(edge.pairAt(n)) / LP_UNIT;
        ring.setBenefit(edge.truth.serial, edge.track.serial, number - contents.oldestNumber, benefit);
      }
    }
    this.nextNumber = contents.newestNumber + 1;
  }

  dispose(): void {
    this.ring.dispose();
  }
}
