/**
 * The frontier where there is nothing left but to choose between optima: it works some pairs of some frames once,
 * beside whatever is known of these, and leaves everything as it was.
 */

import type { Budget } from '../window/budget.js';
import type { FramePairs, Prospects } from '../window/choice.js';
import { Frontier } from './frontier.js';

/** states of a knot */
const STATES_MAX = 2 ** 15;

/**
 * Of some pairs of each frame those that are assigned in the best sequence, by pair, at `h` for half a switch; null
 * when there are too many states. Everything else in the frames stays as it is.
 */
export function chooseAmong(
  layers: readonly FramePairs[],
  prospects: Prospects,
  h: number,
  budget: Budget,
): Uint8Array[] | null {
  const frontier = new Frontier(
    h,
    STATES_MAX,
    () => {},
    () => {},
    () => false,
    (number) => layers.find(({ frame }) => frame.number === number)!.frame,
    prospects,
  );
  const before = layers.map(({ frame }) => frame.assignment());
  const annexes = setAside(layers);
  frontier.begin(budget);
  for (const { frame, pairs } of layers) {
    frontier.enter(frame, pairs, pairs.length);
    if (frontier.overflow.length > 0) break;
  }
  frontier.decide();
  const chosen = layers.map(({ frame, pairs }, n) => {
    const on = new Uint8Array(frame.pairCount);
    for (const pair of pairs) on[pair] = frame.on(pair);
    frame.putBack(before[n]);
    return on;
  });
  for (const [owner, annex] of annexes) owner.annex = annex;
  return frontier.overflow.length > 0 ? null : chosen;
}

/** Takes what another frontier knows off the frames, trajectories and edges. */
function setAside(layers: readonly FramePairs[]): Map<{ annex: unknown }, unknown> {
  const annexes = new Map<{ annex: unknown }, unknown>();
  for (const { frame, pairs } of layers) {
    annexes.set(frame, frame.annex);
    for (const pair of pairs) {
      const edge = frame.edgeAt(pair);
      for (const owner of [edge, edge.truth, edge.track]) if (!annexes.has(owner)) annexes.set(owner, owner.annex);
    }
  }
  for (const owner of annexes.keys()) owner.annex = null;
  return annexes;
}
