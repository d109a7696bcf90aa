/**
 * A seat for an inspector who sees everything that was solved, before anybody else does. It is empty in production; the
 * tests seat one who recomputes each evaluation from its frames. What an inspector throws comes out of the solve.
 */

import type { Evaluation, Report } from './evaluation.js';
import type { PackedFrame } from './frame.js';
import type { Params } from './params.js';

export interface Inspected {
  /** of a sliding window, read anew whenever it is asked for; and so are its frames */
  evaluation: Evaluation;
  /** the frames it speaks of, oldest first */
  frames: PackedFrame[];
  params: Params;
  /** it is the LP metric of a fractional optimum, which no assignment has */
  fractional: boolean;
  /** the sliding window it is about, to know it again; and what that says besides */
  window?: object;
  report?: Pick<Report, 'frame' | 'settled' | 'lifetime' | 'events'>;
}

export type Inspector = (inspected: Inspected) => void;

/** Where a copy of the kernel that is loaded later finds who sits here: the bundled program has one of its own. */
const SEAT = Symbol.for('tgospa.inspector');
const seats = globalThis as { [SEAT]?: Inspector | null };

export let inspector: Inspector | null = seats[SEAT] ?? null;

/** Seats an inspector, or nobody; returns who sat there before. */
export function seatInspector(next: Inspector | null): Inspector | null {
  const before = inspector;
  inspector = next;
  seats[SEAT] = next;
  return before;
}
