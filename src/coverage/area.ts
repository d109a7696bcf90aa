/**
 * The share of a box that lies in judged area: inside one of the judged regions, where there are any, and inside none
 * of the ignored ones. Exact: between two corners or crossings of edges the judged length along a vertical line is
 * linear, so the one in the middle counts for all of them.
 */
import type { Ring } from './region.js';

/** The edges of a region, x, y of both ends, the left one first. */
export type Edges = Float64Array;

export function edgesOfRegion(rings: readonly Ring[]): Edges {
  const flat = rings.flatMap((ring) =>
    ring.flatMap(([x, y], n) => {
      const [toX, toY] = ring[(n + 1) % ring.length];
      return x <= toX ? [x, y, toX, toY] : [toX, toY, x, y];
    }),
  );
  return Float64Array.from(flat);
}

/** `judged` null: everywhere but in what is ignored. */
export function judgedShare(
  [left, top, width, height]: ArrayLike<number> & Iterable<number>,
  judged: readonly Edges[] | null,
  ignored: readonly Edges[],
): number {
  const right = left + width;
  const bottom = top + height;
  const cuts = cutsWithin([...(judged ?? []), ...ignored], left, top, right, bottom);
  let area = 0;
  for (let n = 1; n < cuts.length; n++) {
    const slab = cuts[n] - cuts[n - 1];
    if (slab <= 0) continue;
    const x = cuts[n - 1] + slab / 2;
    const within = judged === null ? [[top, bottom] as const] : spans(judged, x, top, bottom);
    area += slab * (lengthOf(within) - commonLength(within, spans(ignored, x, top, bottom)));
  }
  return Math.max(0, Math.min(1, area / (width * height)));
}

/** Where something changes along the first axis: ends and crossings of edges, and where they enter or leave the box. */
function cutsWithin(regions: readonly Edges[], left: number, top: number, right: number, bottom: number): number[] {
  const near = regions.flatMap((edges) => edgesNear(edges, left, top, right, bottom));
  const cuts = [left, right];
  const add = (x: number) => {
    if (x > left && x < right) cuts.push(x);
  };
  near.forEach(([x, y, toX, toY], n) => {
    add(x);
    add(toX);
    for (const level of [top, bottom]) add(x + ((level - y) / (toY - y)) * (toX - x));
    for (let m = 0; m < n; m++) add(crossing(near[m], [x, y, toX, toY]));
  });
  return cuts.sort((a, b) => a - b);
}

type Edge = [x: number, y: number, toX: number, toY: number];

function edgesNear(edges: Edges, left: number, top: number, right: number, bottom: number): Edge[] {
  const near: Edge[] = [];
  for (let n = 0; n < edges.length; n += 4) {
    const [x, y, toX, toY] = [edges[n], edges[n + 1], edges[n + 2], edges[n + 3]];
    if (toX < left || x > right || Math.max(y, toY) < top || Math.min(y, toY) > bottom) continue;
    near.push([x, y, toX, toY]);
  }
  return near;
}

/** Where two edges cross, along the first axis; NaN where they do not. */
function crossing([ax, ay, bx, by]: Edge, [cx, cy, dx, dy]: Edge): number {
  const turn = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
  const share = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / turn;
  return share >= 0 && share <= 1 ? ax + share * (bx - ax) : Number.NaN;
}

type Span = readonly [from: number, to: number];

/** What lies in one of the regions along a vertical line, between top and bottom, in order and apart. */
function spans(regions: readonly Edges[], x: number, top: number, bottom: number): Span[] {
  const all = regions.flatMap((edges) => spansOf(edges, x, top, bottom)).sort((a, b) => a[0] - b[0]);
  const merged: Array<[number, number]> = [];
  for (const [from, to] of all) {
    const last = merged[merged.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function spansOf(edges: Edges, x: number, top: number, bottom: number): Span[] {
  const levels: number[] = [];
  for (let n = 0; n < edges.length; n += 4) {
    if (!(edges[n] <= x && x < edges[n + 2])) continue;
    levels.push(edges[n + 1] + ((x - edges[n]) / (edges[n + 2] - edges[n])) * (edges[n + 3] - edges[n + 1]));
  }
  levels.sort((a, b) => a - b);
  const found: Span[] = [];
  for (let n = 0; n + 1 < levels.length; n += 2) {
    const [from, to] = [Math.max(top, levels[n]), Math.min(bottom, levels[n + 1])];
    if (from < to) found.push([from, to]);
  }
  return found;
}

const lengthOf = (list: readonly Span[]): number => list.reduce((sum, [from, to]) => sum + to - from, 0);

function commonLength(list: readonly Span[], others: readonly Span[]): number {
  let sum = 0;
  for (const [from, to] of list)
    for (const [start, end] of others) sum += Math.max(0, Math.min(to, end) - Math.max(from, start));
  return sum;
}
