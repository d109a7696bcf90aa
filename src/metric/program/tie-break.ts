/**
 * Which of several optima: the one whose changes come latest, then the one of higher rank (`FrameRecord.rank`), as at
 * the frontier. So the same frames have the same assignment, whatever was solved before and by whom.
 *
 * Prices tell where there is a choice at all. What an edge loses against the best that it alone can earn above the
 * prices, by being assigned in a layer or by not being, is its slack there; the slacks of an optimum add up to the gap
 * between bound and optimum, so what has more is the same in all optima. Edges that may be either in some layer are
 * few; those that share an end form a cluster, which is solved over all its matchings, layer by layer. Prices also tell
 * who must be matched, and where an edge may change: on a grid, where everything ties, that leaves few of them.
 */

import type { PriceProof, ProofGraph, ProofLayers } from './price-proof.js';

/** quanta: prices are not whole */
const NOISE = 1;
/** a cluster with more edges, or more matchings in a layer, stays as it is */
const EDGES_MAX = 30;
const STATES_MAX = 4096;
/** a cluster in which more moves from layer to layer are possible stays as it is */
const MOVES_MAX = 2 ** 22;
const OFF = 1;
const ON = 2;
const JOINS = 1;
const LEAVES = 2;

// along one edge, work space: the best up to a layer, the edge being assigned there or not, and what it earns there
// above the prices
let onUpTo = new Float64Array(64);
let offUpTo = new Float64Array(64);
let reduced = new Float64Array(64);

/** An edge that may be assigned or not in some layer. */
interface Choice {
  readonly edge: number;
  /** [row - firstRow]: ON, OFF or both */
  readonly allowed: Uint8Array;
  /** [row - firstRow]: JOINS where it may be assigned after it was not in the layer before, LEAVES the other way */
  readonly changes: Uint8Array;
  /** it may be either in a layer in which it earns something: otherwise when it is held follows from the others */
  readonly earns: boolean;
  /** it may be assigned where it is not */
  readonly comes: boolean;
}

interface States {
  readonly count: number;
  readonly sets: Int32Array;
  readonly value: Float64Array;
  readonly late: Float64Array;
  readonly rank: Float64Array;
  readonly lateRank: Float64Array;
  readonly from: Int32Array;
  /** by set, once it is asked for */
  index?: Map<number, number>;
}

export class TieBreak {
  private layers!: ProofLayers;
  private limit = 0;
  /** looked at in the stretch at hand */
  private moves = 0;
  private held: (Int32Array | undefined)[] = [];

  constructor(
    private readonly graph: ProofGraph,
    /** has found the bound of the layers at hand */
    private readonly proof: PriceProof,
    /** rank of an edge's pair in a row; 0 where it has none */
    private readonly rankOf: (row: number, edge: number) => number,
  ) {}

  /**
   * Replaces an assignment, `gap` quanta below the bound of the prices, by the one that is chosen among all that are no
   * worse: by the optimum, then, whatever the gap. False when some cluster was too large and stays as it is.
   */
  choose(layers: ProofLayers, gap: number): boolean {
    const choices = this.choices(layers, gap);
    this.held = [];
    return this.solveAll(choices, 0, layers.layerCount);
  }

  /** Whether the prices leave a choice at all. */
  hasChoice(layers: ProofLayers, gap: number): boolean {
    return this.choices(layers, gap).some(({ earns }) => earns);
  }

  /**
   * What may be otherwise in another optimum: edges that may be assigned where they are not, and those that would have
   * to give way to them.
   */
  private choices(layers: ProofLayers, gap: number): Choice[] {
    this.layers = layers;
    this.limit = gap + NOISE;
    const { truthCount, trackCount, edgeTruth, edgeTrack } = this.graph;
    const { layerCount } = layers;
    const { best } = this.proof;
    const choices: Choice[] = [];
    const assigned = this.assignedCounts();
    const rivalled = new Uint8Array(truthCount + trackCount);
    for (let edge = 0; edge < edgeTruth.length; edge++) {
      const isWorthless = assigned[edge] > 0 && this.isWorthless(edge);
      if (assigned[edge] === 0 ? best[edge] < -this.limit : assigned[edge] === layerCount && !isWorthless) continue;
      const choice = this.choiceOf(edge);
      if (choice === null || !(choice.comes || isWorthless)) continue;
      choices.push(choice);
      rivalled[edgeTruth[edge]] = rivalled[truthCount + edgeTrack[edge]] = 1;
      assigned[edge] = -1;
    }
    if (choices.length === 0) return choices;
    for (let edge = 0; edge < edgeTruth.length; edge++) {
      if (assigned[edge] <= 0 || !(rivalled[edgeTruth[edge]] | rivalled[truthCount + edgeTrack[edge]])) continue;
      const choice = this.choiceOf(edge);
      if (choice !== null) choices.push(choice);
    }
    return choices;
  }

  /** [layer * edges + edge]: 1 where an assignment up to `gap` quanta below the bound may have an edge. */
  mayBeOn(layers: ProofLayers, gap: number): Uint8Array {
    this.layers = layers;
    this.limit = gap + NOISE;
    const { firstRow, layerCount, partner } = layers;
    const { truthCount: n, edgeTruth } = this.graph;
    const E = edgeTruth.length;
    const may = new Uint8Array(layerCount * E);
    for (let edge = 0; edge < E; edge++) {
      const choice = this.choiceOf(edge);
      for (let k = 0; k < layerCount; k++) {
        const isOn = partner[(firstRow + k) * n + edgeTruth[edge]] === edge;
        if (choice ? choice.allowed[k] & ON : isOn) may[k * E + edge] = 1;
      }
    }
    return may;
  }

  /** Of each edge the layers it is assigned in. */
  private assignedCounts(): Int32Array {
    const { firstRow, layerCount, partner } = this.layers;
    const n = this.graph.truthCount;
    const counts = new Int32Array(this.graph.edgeTruth.length);
    for (let at = firstRow * n; at < (firstRow + layerCount) * n; at++) if (partner[at] >= 0) counts[partner[at]]++;
    return counts;
  }

  /**
   * Whether an edge earns so little that it may as well be nowhere assigned; of others prices say that they would be
   * missed.
   */
  private isWorthless(edge: number): boolean {
    const { firstRow, layerCount, benefit } = this.layers;
    const E = this.graph.edgeTruth.length;
    const enough = 4 * this.limit;
    let earned = 0;
    for (let row = firstRow; row < firstRow + layerCount && earned <= enough; row++) earned += benefit[row * E + edge];
    return earned <= enough;
  }

  /** What an edge may be in each layer; null when it is the same in all optima. */
  private choiceOf(edge: number): Choice | null {
    const { firstRow, layerCount, partner, changeCost, benefit, price } = this.layers;
    const { truthCount: n, trackCount, edgeTruth, edgeTrack } = this.graph;
    const E = edgeTruth.length;
    const truth = edgeTruth[edge];
    const track = n + edgeTrack[edge];
    if (onUpTo.length < layerCount) {
      onUpTo = new Float64Array(2 * layerCount);
      offUpTo = new Float64Array(2 * layerCount);
      reduced = new Float64Array(2 * layerCount);
    }
    let on = 0;
    let off = 0;
    for (let k = 0; k < layerCount; k++) {
      const h = k === 0 ? 0 : changeCost[firstRow + k];
      const joined = Math.max(on, off - h);
      off = Math.max(off, on - h);
      const first = (firstRow + k) * (n + trackCount);
      reduced[k] = benefit[(firstRow + k) * E + edge] - price[first + truth] - price[first + track];
      on = joined + reduced[k];
      onUpTo[k] = on;
      offUpTo[k] = off;
    }
    const least = Math.max(on, off) - this.limit;
    let allowed: Uint8Array | null = null;
    const changes = new Uint8Array(layerCount);
    let earns = false;
    let comes = false;
    let onAfter = 0;
    let offAfter = 0;
    for (let k = layerCount - 1; k >= 0; k--) {
      const isOn = partner[(firstRow + k) * n + truth] === edge;
      const mayBeOther = isOn ? offUpTo[k] + offAfter >= least : onUpTo[k] + onAfter >= least;
      if (mayBeOther) {
        if (allowed === null) {
          allowed = new Uint8Array(layerCount);
          for (let m = k; m < layerCount; m++) allowed[m] = partner[(firstRow + m) * n + truth] === edge ? ON : OFF;
        }
        comes ||= !isOn;
        earns ||= benefit[(firstRow + k) * E + edge] > 0;
      }
      if (allowed !== null) allowed[k] = mayBeOther ? ON | OFF : isOn ? ON : OFF;
      if (k === 0) break;
      const h = changeCost[firstRow + k];
      const stays = onAfter + reduced[k];
      if (offUpTo[k - 1] - h + stays >= least) changes[k] |= JOINS;
      if (onUpTo[k - 1] - h + offAfter >= least) changes[k] |= LEAVES;
      onAfter = Math.max(stays, offAfter - h);
      offAfter = Math.max(offAfter, stays - h);
    }
    return allowed && { edge, allowed, changes, earns, comes };
  }

  /** Choices that share an end, directly or by others. */
  private clusters(choices: readonly Choice[]): Choice[][] {
    const { truthCount, edgeTruth, edgeTrack } = this.graph;
    const root = new Map<number, number>();
    const rootOf = (x: number): number => {
      let at = x;
      for (let next = root.get(at); next !== undefined && next !== at; next = root.get(at)) at = next;
      return at;
    };
    for (const { edge } of choices) {
      const a = rootOf(edgeTruth[edge]);
      const b = rootOf(truthCount + edgeTrack[edge]);
      root.set(a, a);
      root.set(b, a);
    }
    const lists = new Map<number, Choice[]>();
    // by truth, then track
    for (const choice of [...choices].sort((a, b) => a.edge - b.edge)) {
      const at = rootOf(edgeTruth[choice.edge]);
      const list = lists.get(at);
      if (list) list.push(choice);
      else lists.set(at, [choice]);
    }
    return [...lists.values()];
  }

  private solveAll(choices: readonly Choice[], from: number, to: number): boolean {
    let complete = true;
    for (const cluster of this.clusters(choices))
      if (cluster.some(({ earns }) => earns) && !this.solve(cluster, from, to)) complete = false;
    return complete;
  }

  /**
   * The best sequence of matchings of a cluster in some layers, written to `partner`: between layers in which there is
   * no choice, one stretch after the other. Who has no choice in a stretch is not part of it.
   */
  private solve(cluster: readonly Choice[], from: number, to: number): boolean {
    const isOpen = ({ allowed }: Choice, k: number) => allowed[k] === (ON | OFF);
    let complete = true;
    for (let k = from; k < to; k++) {
      const first = k;
      while (k < to && cluster.some((choice) => isOpen(choice, k))) k++;
      if (k === first) continue;
      const inside = cluster.filter((choice) => choice.allowed.subarray(first, k).includes(ON | OFF));
      const solved =
        inside.length < cluster.length
          ? this.solveAll(inside, first, k)
          : cluster.length <= EDGES_MAX &&
            this.solveStretch(cluster, Math.max(0, first - 1), Math.min(this.layers.layerCount, k + 1));
      if (!solved) complete = false;
    }
    return complete;
  }

  private solveStretch(cluster: readonly Choice[], first: number, end: number): boolean {
    const { firstRow } = this.layers;
    const rows: States[] = [];
    this.moves = 0;
    for (let k = first; k < end; k++) {
      const sets = this.matchings(cluster, k);
      if (sets.length > STATES_MAX) return false;
      const states = this.arrive(cluster, k, sets, rows[k - first - 1]);
      if (states.count === 0 || this.moves > MOVES_MAX) return false;
      rows.push(states);
    }
    const last = rows[rows.length - 1];
    let state = 0;
    for (let s = 1; s < last.count; s++) if (isMore(last, s, last, state)) state = s;
    for (let k = end - 1; k >= first; k--) {
      this.write(cluster, firstRow + k, rows[k - first].sets[state]);
      state = rows[k - first].from[state];
    }
    return true;
  }

  /** Of each track the edge it has in a layer, or -1: what clusters change of it concerns nobody else. */
  private holders(k: number): Int32Array {
    let holder = this.held[k];
    if (holder) return holder;
    const { truthCount: n, trackCount, edgeTrack } = this.graph;
    const { firstRow, partner } = this.layers;
    holder = new Int32Array(trackCount).fill(-1);
    for (let at = (firstRow + k) * n; at < (firstRow + k + 1) * n; at++)
      if (partner[at] >= 0) holder[edgeTrack[partner[at]]] = partner[at];
    this.held[k] = holder;
    return holder;
  }

  /**
   * All matchings of a cluster that a layer allows, as sets of bits; more than `STATES_MAX` are not looked for. Whoever
   * has a price is matched in all optima.
   */
  private matchings(cluster: readonly Choice[], k: number): number[] {
    const { truthCount: n, trackCount, edgeTruth, edgeTrack } = this.graph;
    const { firstRow, partner, price } = this.layers;
    const row = (firstRow + k) * n;
    const first = (firstRow + k) * (n + trackCount);
    const holder = this.holders(k);
    const own = new Set(cluster.map(({ edge }) => edge));
    const isElsewhere = (held: number) => held >= 0 && !own.has(held);
    const isFree = (edge: number) =>
      !isElsewhere(partner[row + edgeTruth[edge]]) && !isElsewhere(holder[edgeTrack[edge]]);
    const needsTruth = (edge: number) =>
      price[first + edgeTruth[edge]] > this.limit && !isElsewhere(partner[row + edgeTruth[edge]]);
    const needsTrack = (edge: number) =>
      price[first + n + edgeTrack[edge]] > this.limit && !isElsewhere(holder[edgeTrack[edge]]);
    let sets = [0];
    for (let c = 0; c < cluster.length && sets.length <= STATES_MAX; c++) {
      const { edge, allowed } = cluster[c];
      const truths = this.sharing(cluster, edgeTruth, edge);
      const tracks = this.sharing(cluster, edgeTrack, edge);
      const earlier = (1 << c) - 1;
      const next = allowed[k] & OFF ? sets.slice() : [];
      if (allowed[k] & ON && isFree(edge))
        for (const set of sets) if ((set & (truths | tracks) & earlier) === 0) next.push(set | (1 << c));
      sets = next;
      // after the last edge of somebody who must be matched
      if (truths >> (c + 1) === 0 && needsTruth(edge)) sets = sets.filter((set) => set & truths);
      if (tracks >> (c + 1) === 0 && needsTrack(edge)) sets = sets.filter((set) => set & tracks);
    }
    return sets;
  }

  /** The edges of a cluster that share an end with one, as bits. */
  private sharing(cluster: readonly Choice[], ends: Int32Array, edge: number): number {
    let bits = 0;
    for (let c = 0; c < cluster.length; c++) if (ends[cluster[c].edge] === ends[edge]) bits |= 1 << c;
    return bits;
  }

  /** The worth of each matching of a layer that can be arrived at, by the best way from those of the layer before. */
  private arrive(cluster: readonly Choice[], k: number, sets: number[], before: States | undefined): States {
    const { benefit, frameNumber, firstRow } = this.layers;
    const E = this.graph.edgeTruth.length;
    const row = firstRow + k;
    const worth = () => new Float64Array(sets.length);
    const from = new Int32Array(sets.length);
    const states = { count: 0, sets: new Int32Array(sets.length), value: worth(), late: worth(), from };
    const ranked: States = Object.assign(states, { rank: worth(), lateRank: worth() });
    const joins = bitsWhere(cluster, ({ changes }) => (changes[k] & JOINS) !== 0);
    const leaves = bitsWhere(cluster, ({ changes }) => (changes[k] & LEAVES) !== 0);
    for (const set of sets) {
      const s = states.count;
      states.sets[s] = set;
      states.value[s] = ranked.rank[s] = ranked.lateRank[s] = states.late[s] = 0;
      if (before && !this.comeFrom(before, row, ranked, s, (set & joins) | (~set & leaves))) continue;
      states.count++;
      let rank = 0;
      for (let c = 0; c < cluster.length; c++) {
        if ((set & (1 << c)) === 0) continue;
        states.value[s] += benefit[row * E + cluster[c].edge];
        rank += this.rankOf(row, cluster[c].edge);
      }
      ranked.rank[s] += rank;
      ranked.lateRank[s] += rank * frameNumber[row];
    }
    return ranked;
  }

  /** Finds the best way into a state, where only some edges may change, given as bits; whether there is one. */
  private comeFrom(before: States, row: number, states: States, s: number, open: number): boolean {
    const set = states.sets[s];
    let found = false;
    if (bitCount(open) > 10 || 1 << bitCount(open) > before.count) {
      this.moves += before.count;
      for (let b = 0; b < before.count; b++)
        if (((set ^ before.sets[b]) & ~open) === 0) found = this.follow(before, b, row, states, s, found);
      return found;
    }
    before.index ??= new Map(Array.from(before.sets.subarray(0, before.count), (each, b) => [each, b]));
    // every part of `open`, from all of it to nothing
    for (let changed = open; ; changed = (changed - 1) & open) {
      this.moves++;
      const b = before.index.get(set ^ changed);
      if (b !== undefined) found = this.follow(before, b, row, states, s, found);
      if (changed === 0) return found;
    }
  }

  /** Comes from a state if that is better than what was found. */
  private follow(before: States, b: number, row: number, states: States, s: number, found: boolean): boolean {
    const { changeCost, frameNumber } = this.layers;
    const changes = bitCount(states.sets[s] ^ before.sets[b]);
    const value = before.value[b] - changes * changeCost[row];
    const late = before.late[b] + changes * frameNumber[row];
    const { rank, lateRank } = before;
    if (found && !isBetter(value, late, rank[b], lateRank[b], states, s)) return true;
    states.value[s] = value;
    states.late[s] = late;
    states.rank[s] = rank[b];
    states.lateRank[s] = lateRank[b];
    states.from[s] = b;
    return true;
  }

  private write(cluster: readonly Choice[], row: number, set: number): void {
    const { partner } = this.layers;
    const { truthCount: n, edgeTruth } = this.graph;
    for (const { edge } of cluster) {
      const at = row * n + edgeTruth[edge];
      if (partner[at] === edge) partner[at] = -1;
    }
    for (let c = 0; c < cluster.length; c++)
      if (set & (1 << c)) partner[row * n + edgeTruth[cluster[c].edge]] = cluster[c].edge;
  }
}

type Worth = Pick<States, 'value' | 'late' | 'rank' | 'lateRank'>;

/** The order of the frontier: see `Worth` there. */
function isBetter(value: number, late: number, rank: number, lateRank: number, than: Worth, at: number): boolean {
  if (value !== than.value[at]) return value > than.value[at];
  if (late !== than.late[at]) return late > than.late[at];
  return rank !== than.rank[at] ? rank > than.rank[at] : lateRank > than.lateRank[at];
}

const isMore = (a: Worth, s: number, b: Worth, t: number) =>
  isBetter(a.value[s], a.late[s], a.rank[s], a.lateRank[s], b, t);

function bitsWhere(cluster: readonly Choice[], holds: (choice: Choice) => boolean): number {
  let bits = 0;
  for (let c = 0; c < cluster.length; c++) if (holds(cluster[c])) bits |= 1 << c;
  return bits;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}
