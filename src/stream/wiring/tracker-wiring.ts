/**
 * What is known about how one tracker is wired: its last parts while it is examined, and what was counted since.
 */
import type { ReceivedPart } from '../../wiring/agreement.js';
import type { ClassCounts } from './class-agreement.js';
import type { LagHistory } from './lag-evidence.js';
import { SeenParts } from './seen-parts.js';

/** parts after which a tracker is examined first */
export const FIRST_CHECK = 10;
/** possible pairs, or steps, beyond which older ones count half */
const REMEMBERED = 400;

export interface Wiring {
  parts: number;
  openedMs: number;
  firstMs: number | null;
  /** its last parts, while it is examined; of feeds that report one by one, its side of the last steps */
  seen: SeenParts;
  /** the reference's side of those steps; absent where both feeds send frames */
  sampled?: SeenParts;
  /** how far its times are ahead of their arrival, seconds, where a feed reports one by one */
  ahead?: number;
  /** by class of a truth: with what its close tracks are labelled, where classes are kept apart */
  kinds?: ClassCounts;
  /** number of parts at which it is examined next */
  nextCheck: number;
  healthy: boolean;
  steps: number;
  /** steps looked at: pairs there could have been, and pairs there were; older ones count less */
  looked: number;
  possible: number;
  pairs: number;
  /** when objects of both feeds were first in one step, epoch milliseconds */
  metMs: number | null;
  /** steps with both feeds, and with one only; older ones count less */
  paired: number;
  unpaired: number;
  /** a step that the tracker did not answer follows */
  missing: boolean;
  /** examinations in a row that found the tracker ahead or behind */
  lagging: number;
  /** what was seen of a lag so far; absent before anything was */
  lag?: LagHistory;
  /** glances in a row at which nothing matched */
  unmatched: number;
}

export const newWiring = (openedMs: number): Wiring => ({
  parts: 0,
  openedMs,
  firstMs: null,
  seen: new SeenParts(),
  nextCheck: FIRST_CHECK,
  healthy: false,
  steps: 0,
  looked: 0,
  possible: 0,
  pairs: 0,
  metMs: null,
  paired: 0,
  unpaired: 0,
  missing: false,
  lagging: 0,
  unmatched: 0,
});

/** Examined from the beginning; that it has been heard is not forgotten. */
export function restart(wiring: Wiring): void {
  const { openedMs, firstMs, parts, sampled } = wiring;
  Object.assign(wiring, newWiring(openedMs), { firstMs, parts: Math.min(parts, 1) });
  delete wiring.kinds;
  if (sampled) wiring.sampled = new SeenParts();
}

export function remember<K extends 'possible' | 'pairs' | 'paired' | 'unpaired'>(
  wiring: Wiring,
  first: K,
  second: K,
  more: number,
  andMore: number,
): void {
  wiring[first] += more;
  wiring[second] += andMore;
  if (wiring[first] < REMEMBERED) return;
  wiring[first] = Math.round(wiring[first] / 2);
  wiring[second] = Math.round(wiring[second] / 2);
}

/** What was kept of single parts is of no use any more. */
export function startSampling(wiring: Wiring): SeenParts {
  wiring.seen = new SeenParts();
  wiring.nextCheck = wiring.steps + FIRST_CHECK;
  return new SeenParts();
}

/** The same as plain data, to be kept with the stream. */
export type WiringState = Omit<Wiring, 'seen' | 'sampled'> & { seen: ReceivedPart[]; sampled?: ReceivedPart[] };

export function stateOf(wiring: Wiring): WiringState {
  const { sampled } = wiring;
  return { ...wiring, seen: wiring.seen.list(), ...(sampled && { sampled: sampled.list() }) } as WiringState;
}

export function wiringFrom(state: WiringState): Wiring {
  const { sampled } = state;
  const parts = { seen: new SeenParts(state.seen), ...(sampled && { sampled: new SeenParts(sampled) }) };
  return { ...state, ...parts } as Wiring;
}
