/**
 * The linear program of a component, kept warm from frame to frame: a ring that slides along with the window
 * (DESIGN 3.6). Edges may come and go, so it passes from a component to the one that takes its place. Costs and weights are in units
 * of c^p. A batch of unknown length has no ring and is solved cold.
 */

import type { Component } from '../component/component.js';
import { QUANTA } from '../window/quanta.js';
import type { Scene } from '../window/scene.js';
import type { Edge } from '../window/trajectory.js';
import type { LpSolution, RingSimplex, Simplex } from './simplex.js';

export class LinearWindow {
  private readonly ring: RingSimplex;
  private readonly edges = new Set<Edge>();
  private nextNumber = 0;

  constructor(
    private readonly scene: Scene,
    simplex: Simplex,
    windowFrames: number,
  ) {
    this.ring = simplex.createRing(windowFrames);
  }

  /** How many of a component's edges it knows already. */
  knownOf(edges: readonly Edge[]): number {
    return edges.reduce((count, edge) => count + (this.edges.has(edge) ? 1 : 0), 0);
  }

  /** LP optimum of the component's layers; weights as [layer * edgeCount + edge]. Leaves its prices with the trajectories. */
  relax(component: Component, layerNumber: Float64Array, timeLimitMs: number | undefined): LpSolution {
    this.catchUp(component);
    const { problem: window, truthNames, trackNames } = this.ring.window();
    const solution = this.ring.solve({ timeLimitMs });
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
        weights[layer * E + e] = solution.weights[(number - this.scene.oldestNumber) * living + n];
      });
    }
    this.leavePrices(component);
    return { ...solution, weights };
  }

  private leavePrices(component: Component): void {
    const { oldestNumber, newestNumber } = this.scene;
    component.trajectories.forEach((trajectory, x) => {
      const price = x < component.truthCount ? this.ring.truthPrice : this.ring.trackPrice;
      const target = component.prices[x];
      for (let number = oldestNumber; number <= newestNumber; number++)
        target[number % target.length] = QUANTA * price.call(this.ring, trajectory.serial, number - oldestNumber);
    });
  }

  /** Brings the ring up to the newest frame and to the component's edges. */
  private catchUp(component: Component): void {
    const { scene, ring, edges } = this;
    for (const edge of edges) {
      if (edge.component === component) continue;
      ring.removeEdge(edge.truth.serial, edge.track.serial);
      edges.delete(edge);
    }
    const half = scene.changeQuanta / QUANTA;
    for (let number = Math.max(this.nextNumber, scene.oldestNumber); number <= scene.newestNumber; number++)
      ring.slide([], [], [], half);
    for (const edge of component.edges) {
      const from = edges.has(edge) ? this.nextNumber : 0;
      edges.add(edge);
      for (let n = edge.size - 1; n >= 0 && edge.frameAt(n) >= from; n--) {
        const number = edge.frameAt(n);
        const benefit = scene.frame(number).benefit(edge.pairAt(n)) / QUANTA;
        ring.setBenefit(edge.truth.serial, edge.track.serial, number - scene.oldestNumber, benefit);
      }
    }
    this.nextNumber = scene.newestNumber + 1;
  }

  dispose(): void {
    this.ring.dispose();
  }
}
