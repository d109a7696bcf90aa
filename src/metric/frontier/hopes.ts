/**
 * Which states of a knot an optimum may still come of, where prices tell what later frames earn at most (`Prospects`).
 * A state is worth what it has earned, and has in prospect what its pairs may earn, and what those may who are fresh.
 * Whatever others do: if it falls short of the best of its knot by more than an optimum does of the prices, it is part
 * of none. A pair of two knots counts for both, as often as it could.
 */

import type { Prospects } from '../window/choice.js';
import { FRESH, type Participant, WORTH } from './candidates.js';
import type { StateTable } from './state-table.js';

export class Hopes {
  private slack = 0;
  /** the most that any state so far has */
  private most = 0;
  private truthCount = 0;
  private trackCount = 0;
  /** of a fresh participant: what it has in prospect by itself; of each truth and track the same of their pair */
  private own = new Float64Array(16);
  private fresh = new Float64Array(64);
  private held = new Float64Array(64);
  private hope = new Float64Array(64);

  begin(prospects: Prospects, number: number, truths: readonly Participant[], tracks: readonly Participant[]): void {
    const [n, m] = [truths.length, tracks.length];
    this.slack = prospects.slack;
    this.most = Number.NEGATIVE_INFINITY;
    this.truthCount = n;
    this.trackCount = m;
    if (n + m > this.own.length) this.own = new Float64Array(2 * (n + m));
    if (n * m > this.fresh.length) [this.fresh, this.held] = [new Float64Array(2 * n * m), new Float64Array(2 * n * m)];
    const { own, fresh, held } = this;
    for (let i = 0; i < n; i++) own[i] = prospects.spared(truths[i].trajectory, number);
    for (let j = 0; j < m; j++) own[n + j] = prospects.spared(tracks[j].trajectory, number);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        const edge = truths[i].trajectory.edgeWith(tracks[j].trajectory);
        fresh[i * m + j] = edge ? prospects.fresh(edge, number) : 0;
        held[i * m + j] = edge ? prospects.held(edge, number) : 0;
        // of two who are here it counts once, and only if both are fresh
        own[i] -= fresh[i * m + j];
        own[n + j] -= fresh[i * m + j];
      }
  }

  /** Puts the states that have hope first, in the order they are in; returns how many those are. */
  select(states: StateTable, order: Int32Array): number {
    const { count, worth } = states;
    if (count > this.hope.length) this.hope = new Float64Array(2 * count);
    const { hope } = this;
    for (let s = 0; s < count; s++) hope[s] = worth[s * WORTH] + this.prospectOf(states.rows, s * states.size);
    let kept = 0;
    for (let at = 0; at < count; at++) if (hope[order[at]] >= this.most - this.slack) order[kept++] = order[at];
    return kept;
  }

  /** Whether a state has some, after those so far. */
  hasHope(state: Int16Array, value: number): boolean {
    const hope = value + this.prospectOf(state, 0);
    if (hope > this.most) this.most = hope;
    return hope >= this.most - this.slack;
  }

  private prospectOf(rows: Int16Array, at: number): number {
    const { truthCount: n, trackCount: m, own, fresh, held } = this;
    let sum = 0;
    for (let j = 0; j < m; j++) if (rows[at + n + j] === FRESH) sum += own[n + j];
    for (let i = 0; i < n; i++) {
      const partner = rows[at + i];
      if (partner >= 0) sum += held[i * m + partner];
      if (partner !== FRESH) continue;
      sum += own[i];
      for (let j = 0; j < m; j++) if (rows[at + n + j] === FRESH) sum += fresh[i * m + j];
    }
    return sum;
  }
}
