/**
 * A frame in which thousands stand on top of each other has millions of pairs, more than fit into memory as edges. Of
 * those are kept the frame's own best matching, pairs that the window knows already, and the nearest of each truth. The
 * best matching being among them, what the frame costs at least, alone, is as it was; but a window with such a frame is
 * only as certain as the sum of that (read-out.ts).
 */

import { cheapestMatching } from './assignment.js';
import type { WindowContents } from './window/contents.js';
import { aloneOf, type FoundPairs, type PackedFrame, pairCost } from './window/frame-record.js';

/** pairs of a frame up to which all are kept */
export const PAIRS_MAX = 2 ** 17;
/** nearest tracks that are kept of each truth */
const NEAREST = 4;

/** Few of many pairs, which are ordered by truth, then track. */
export function thinPairs(found: FoundPairs, packed: PackedFrame, contents: WindowContents): FoundPairs {
  const rows = packed.reference.ids.length;
  const columns = packed.tracker.ids.length;
  const start = new Int32Array(rows + 1);
  for (let pair = 0; pair < found.count; pair++) start[found.truth[pair] + 1]++;
  for (let i = 0; i < rows; i++) start[i + 1] += start[i];
  const cost = costsOf(found, packed, contents);
  const keep = new Uint8Array(found.count);
  if (!contents.framewise) {
    keepNearest(found, start, keep);
    keepKnown(found, packed, contents, start, keep);
  }
  const table = { rows, columns, start, column: found.track, cost, alone: contents.unit };
  const { pairOf: matching } = cheapestMatching(table);
  for (let i = 0; i < rows; i++) if (matching[i] >= 0) keep[matching[i]] = 1;
  const kept: number[] = [];
  for (let pair = 0; pair < found.count; pair++) if (keep[pair]) kept.push(pair);
  return {
    count: kept.length,
    truth: kept.map((pair) => found.truth[pair]),
    track: kept.map((pair) => found.track[pair]),
    distance: kept.map((pair) => found.distance[pair]),
  };
}

function costsOf(found: FoundPairs, { reference, tracker }: PackedFrame, { tariff }: WindowContents): Float64Array {
  const [truthAlone, trackAlone] = [aloneOf(reference, tariff), aloneOf(tracker, tariff)];
  const cost = new Float64Array(found.count);
  for (let pair = 0; pair < found.count; pair++)
    cost[pair] = pairCost(found.distance[pair], truthAlone(found.truth[pair]), trackAlone(found.track[pair]), tariff);
  return cost;
}

function keepNearest({ distance }: FoundPairs, start: Int32Array, keep: Uint8Array): void {
  for (let i = 0; i + 1 < start.length; i++) {
    for (let n = 0; n < NEAREST; n++) {
      let nearest = -1;
      for (let pair = start[i]; pair < start[i + 1]; pair++)
        if (!keep[pair] && (nearest < 0 || distance[pair] < distance[nearest])) nearest = pair;
      if (nearest >= 0) keep[nearest] = 1;
    }
  }
}

/** Keeps the pairs of edges that the window has. */
function keepKnown(
  found: FoundPairs,
  { reference, tracker }: PackedFrame,
  contents: WindowContents,
  start: Int32Array,
  keep: Uint8Array,
): void {
  const columnOf = new Map(tracker.ids.map((id, j) => [id, j]));
  reference.ids.forEach((id, i) => {
    const known = new Set(contents.truths.get(id)?.edges.map(({ track }) => columnOf.get(track.id)));
    if (known.size === 0) return;
    for (let pair = start[i]; pair < start[i + 1]; pair++) if (known.has(found.track[pair])) keep[pair] = 1;
  });
}
