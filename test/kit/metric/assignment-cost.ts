/**
 * What a sequence of proper pairs costs, each held until one of its ends is needed elsewhere: for assignments that a
 * solve is held against. Without time weights.
 */

import type { Assigned, Frame, Params } from '../../../src/index.js';
import { baseDistance } from './verifier.js';

export type ProperPairs = readonly Pick<Assigned, 'truth' | 'track'>[];

export function assignmentCost(frames: Frame[], assigned: readonly ProperPairs[], params: Params): number {
  const { cutoff, exponent, switchPenalty, distance } = params;
  const partner = new Map<string, string>();
  const used = new Set<string>();
  let cost = 0;
  let halves = 0;
  const join = (truth: string, track: string) => {
    if (partner.get(truth) === track) return;
    if (used.has(truth) || used.has(track)) halves++;
    for (const end of [truth, track]) {
      const other = partner.get(end);
      if (other !== undefined) {
        halves++;
        partner.delete(other);
        partner.delete(end);
      }
      used.add(end);
    }
    partner.set(truth, track).set(track, truth);
  };
  frames.forEach(({ reference, tracker }, k) => {
    let alone = reference.length + tracker.length;
    for (const { truth, track } of assigned[k]) {
      const x = reference.find(({ id }) => id === truth)!;
      const y = tracker.find(({ id }) => id === track)!;
      cost += baseDistance(distance, x, y) ** exponent;
      alone -= 2;
      join(`truth ${truth}`, `track ${track}`);
    }
    cost += (cutoff ** exponent / 2) * alone;
  });
  return cost + (switchPenalty ** exponent / 2) * halves;
}
