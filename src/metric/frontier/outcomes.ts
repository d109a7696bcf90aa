/**
 * Taking a knot apart: everything that is the same in all states that it keeps is split off, what is left stays
 * together.
 */

import { Basket } from '../window/basket.js';
import { Candidates, type Decision, FREE, FRESH, heldBy, NOBODY, type Participant, WORTH } from './candidates.js';
import type { StateTable } from './state-table.js';

/** The states that a knot keeps: rows of its table, the first `keptCount`. */
export interface KeptStates {
  readonly kept: Int32Array;
  readonly keptCount: number;
  readonly states: StateTable;
}

const outcomeBasket = new Basket<Candidates>();
const freshBasket = new Basket<Participant>();
const truthBasket = new Basket<number>();
const trackBasket = new Basket<number>();

/** Gives a decision its outcomes. Fresh trajectories need none. */
export function takeApart(decision: Decision, knot: KeptStates): void {
  const { truths, tracks } = decision;
  const { rows, size } = knot.states;
  const n = truths.length;
  const first = knot.kept[0] * size;
  for (let i = 0; i < n; i++) {
    const partner = rows[first + i];
    if (!isDecided(knot, i)) truthBasket.add(i);
    else if (partner >= 0) outcomeBasket.add(heldBy(truths[i].trajectory.edgeWith(tracks[partner].trajectory)!));
    else if (partner === FREE) outcomeBasket.add(truths[i].releasedAs(truths[i].self, NOBODY));
    else freshBasket.add(truths[i]);
  }
  for (let j = 0; j < tracks.length; j++) {
    const partner = rows[first + n + j];
    if (!isDecided(knot, n + j)) trackBasket.add(j);
    else if (partner === FREE) outcomeBasket.add(tracks[j].releasedAs(NOBODY, tracks[j].self));
    else if (partner === FRESH) freshBasket.add(tracks[j]);
  }
  if (truthBasket.size + trackBasket.size > 0)
    outcomeBasket.add(undecided(decision, knot, truthBasket.take(), trackBasket.take()));
  decision.outcomes = outcomeBasket.take();
  decision.fresh = freshBasket.size === 0 ? NOBODY : freshBasket.take();
}

function isDecided({ kept, keptCount, states: { rows, size } }: KeptStates, x: number): boolean {
  const first = rows[kept[0] * size + x];
  for (let s = 1; s < keptCount; s++) if (rows[kept[s] * size + x] !== first) return false;
  return true;
}

/** The candidates of the participants of a knot that are not decided. */
function undecided(
  decision: Decision,
  { kept, keptCount, states: table }: KeptStates,
  openTruths: readonly number[],
  openTracks: readonly number[],
): Candidates {
  const { rows, size } = table;
  const n = decision.truths.length;
  const open = openTruths.length + openTracks.length;
  const states: number[] = new Array(keptCount * open);
  const worth: number[] = new Array(keptCount * WORTH);
  let best = kept[0];
  for (let s = 1; s < keptCount; s++) if (table.isWorthMore(kept[s], best)) best = kept[s];
  for (let s = 0; s < keptCount; s++) {
    const at = kept[s] * size;
    const own = s * open;
    for (let x = 0; x < openTruths.length; x++) {
      const partner = rows[at + openTruths[x]];
      states[own + x] = partner < 0 ? partner : openTracks.indexOf(partner);
    }
    for (let x = 0; x < openTracks.length; x++) {
      const partner = rows[at + n + openTracks[x]];
      states[own + openTruths.length + x] = partner < 0 ? partner : openTruths.indexOf(partner);
    }
    for (let x = 0; x < WORTH; x++)
      worth[s * WORTH + x] = table.worth[kept[s] * WORTH + x] - table.worth[best * WORTH + x];
  }
  const truths = openTruths.map((i) => decision.truths[i]);
  const tracks = openTracks.map((j) => decision.tracks[j]);
  return new Candidates(truths, tracks, states, worth, decision);
}
