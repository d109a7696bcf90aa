/**
 * The linear program of a component, kept warm from frame to frame: a ring model that slides along with the window
 * (DESIGN 3.6). Costs and weights are in units of c^p. A batch of unknown length has no ring and is solved cold.
 */

import { type Component, QUANTA } from './component.js';
import type { Edge, Scene } from './scene.js';
import type { LpProblem, LpSolution, RingSimplex, Simplex } from './simplex.js';

export class LinearWindow {
  private ring: RingSimplex | null = null;
  private nextNumber = 0;

  constructor(
    private readonly scene: Scene,
    private readonly simplex: Simplex,
  ) {}

  /** LP optimum of the component's layers; weights as [layer * edgeCount + edge]. */
  relax(
    component: Component,
    problem: LpProblem,
    layerNumber: Float64Array,
    timeLimitMs: number | undefined,
  ): LpSolution {
    const { windowFrames } = this.scene;
    if (windowFrames === null || this.scene.weighted) return this.simplex.solveCold(problem, { timeLimitMs });
    this.ring ??= this.simplex.createRing(windowFrames);
    this.slide(component);
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
    return { ...solution, weights };
  }

  /** Brings the ring up to the newest frame. */
  private slide(component: Component): void {
    const { scene } = this;
    const half = scene.params.switchPenalty ** scene.params.exponent / 2 / scene.unit;
    for (let number = Math.max(this.nextNumber, scene.oldestNumber); number <= scene.newestNumber; number++) {
      const frame = scene.frame(number);
      const truth: number[] = [];
      const track: number[] = [];
      const benefit: number[] = [];
      frame.edges.forEach((edge: Edge, pair) => {
        if (edge.component !== component) return;
        truth.push(edge.truth.serial);
        track.push(edge.track.serial);
        benefit.push(frame.benefit(pair) / QUANTA);
      });
      this.ring!.slide(truth, track, benefit, half);
    }
    this.nextNumber = scene.newestNumber + 1;
  }

  dispose(): void {
    this.ring?.dispose();
  }
}
