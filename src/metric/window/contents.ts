/**
 * What is inside the window: frames, trajectories and edges (pairs that come closer than the cut-off). Frames enter and
 * leave; whoever solves the window listens. Memory is bounded by the window's content: a trajectory or edge without a
 * frame in the window is forgotten.
 *
 * Sums over all frames are kept up to date, exactly, so that a window that slid here and one that was built from
 * scratch give the same digits, and no push walks through a long window.
 */

import { Basket } from './basket.js';
import { EdgeRows } from './edge-rows.js';
import { FrameEdges } from './frame-edges.js';
import { addUp, type FoundPairs, FrameRecord, type PackedFrame, Tally } from './frame-record.js';
import { priceQuanta, quantaPerUnit, surcharge } from './quanta.js';
import type { Tariff } from './tariff.js';
import { Edge, Slots, Trajectory } from './trajectory.js';

/** What the window has to know of the metric's parameters. */
export interface Terms {
  readonly cutoff: number;
  readonly exponent: number;
  readonly switchPenalty: number;
  readonly missShare?: number;
  readonly weights?: { forgetting: number } | { frame: number[]; switch: number[] };
}

/** Prices of one miss, one false object and half a switch. */
export interface Prices {
  readonly missed: number;
  readonly false: number;
  readonly half: number;
}

/** Is told what changes in the window, while it changes. */
export interface WindowListener {
  /** a new edge, not yet among those of its ends */
  edgeAppears(edge: Edge): void;
  pairEnters(frame: FrameRecord, edge: Edge, pair: number): void;
  pairLeaves(frame: FrameRecord, edge: Edge, pair: number): void;
  /** an edge without a frame, no longer among those of its ends */
  edgeVanishes(edge: Edge): void;
  trajectoryVanishes(trajectory: Trajectory): void;
}

/** frames from which on a window keeps its frames in shelves, and about how many those are */
const SHELVED_FROM = 512;
const SHELVES = 32;

export class WindowContents {
  readonly truths = new Map<string, Trajectory>();
  readonly tracks = new Map<string, Trajectory>();
  /** price of half a switch in quanta, without and with the surcharge */
  readonly priceQuanta: number;
  readonly changeQuanta: number;
  readonly weighted: boolean;
  /** per-frame GOSPA: no edges */
  readonly framewise: boolean;
  /** c^p */
  readonly unit: number;
  /** what a quantum costs */
  readonly quantum: number;
  readonly prices: Prices;
  readonly tariff: Tariff;
  edgeCount = 0;
  /** frames up to this number have an assignment */
  solvedNumber = -1;
  /**
   * whether frames remember their last assignment while the window is solved, because there may be no time for a better
   * one
   */
  remembers = false;
  private frames: FrameRecord[] = [];
  private first = 0;
  /** of long windows: the frames once more, with some that have left */
  private readonly shelves: FrameRecord[][] = [];
  readonly tally = new Tally();
  private firstNumber = 0;
  private readonly touchedFrames = new Basket<FrameRecord>();
  private serial = 0;
  private readonly trajectorySlots = new Slots();
  private readonly edgeSlots = new Slots();
  private readonly edges = new FrameEdges();
  private edgeRows: EdgeRows;
  /** lists of ids of the newest frame */
  private truthIds: string[] | undefined;
  private trackIds: string[] | undefined;

  constructor(
    readonly terms: Terms,
    /** frames that it holds at most */
    readonly windowFrames: number,
    private readonly listener: WindowListener,
  ) {
    this.unit = terms.cutoff ** terms.exponent;
    const { missShare = 0.5 } = terms;
    const half = terms.switchPenalty ** terms.exponent / 2;
    this.prices = { missed: missShare * this.unit, false: (1 - missShare) * this.unit, half };
    const quanta = quantaPerUnit(half / this.unit, windowFrames);
    this.quantum = this.unit / quanta;
    this.tariff = {
      quanta,
      exponent: terms.exponent,
      unit: this.unit,
      admissibleError: terms.cutoff / 2 ** (1 / terms.exponent),
      missed: this.prices.missed,
      false: this.prices.false,
    };
    this.priceQuanta = priceQuanta(half / this.quantum);
    this.changeQuanta = surcharged(this.priceQuanta);
    this.weighted = terms.weights !== undefined;
    this.framewise = terms.switchPenalty === 0;
    this.edgeRows = new EdgeRows(windowFrames + 1);
  }

  get size(): number {
    return this.frames.length - this.first;
  }

  /** Numbers the first frame; before any has entered. */
  startAt(number: number): void {
    this.firstNumber = number;
  }

  get newestNumber(): number {
    return this.firstNumber + this.size - 1;
  }

  get oldestNumber(): number {
    return this.firstNumber;
  }

  holds(number: number): boolean {
    return number >= this.firstNumber && number <= this.newestNumber;
  }

  frame(number: number): FrameRecord {
    return this.frames[this.first + number - this.firstNumber];
  }

  /** The window's frames, oldest first. */
  frameList(): FrameRecord[] {
    return this.frames.slice(this.first);
  }

  /** The same to be read later, whatever has left the window by then; at next to no cost, however long it is. */
  keepFrames(): () => FrameRecord[] {
    const { firstNumber: oldest, newestNumber: newest } = this;
    if (this.windowFrames < SHELVED_FROM) {
      const frames = this.frameList();
      return () => frames;
    }
    const shelves = this.shelves.slice();
    return () => shelves.flat().filter(({ number }) => number >= oldest && number <= newest);
  }

  private shelve(frame: FrameRecord): void {
    if (this.windowFrames < SHELVED_FROM) return;
    const last = this.shelves.at(-1);
    if (last && last.length < this.windowFrames / SHELVES) last.push(frame);
    else this.shelves.push([frame]);
  }

  /** Appends a frame with the pairs found in it, which may have no edges; its number follows the newest. */
  append(packed: PackedFrame, found: FoundPairs, hasEdges = !this.framewise): FrameRecord {
    const { count, truth, track } = found;
    const newest = this.size > 0 ? this.frame(this.newestNumber) : null;
    const truths = this.appearAll(this.truths, packed.reference.ids, this.truthIds, newest?.truths);
    const tracks = this.appearAll(this.tracks, packed.tracker.ids, this.trackIds, newest?.tracks);
    this.truthIds = packed.reference.ids;
    this.trackIds = packed.tracker.ids;
    const edges = hasEdges ? this.edges : null;
    const from = edges ? edges.take(count, () => this.frameList()) : 0;
    const number = this.firstNumber + this.size;
    const frame = new FrameRecord(number, packed, truths, tracks, found, edges, from, this.tariff, newest);
    this.frames.push(frame);
    this.shelve(frame);
    this.tally.enter(frame);
    this.touch(frame);
    if (!hasEdges) return frame;
    for (let pair = 0; pair < count; pair++) this.appendPair(frame, pair, truths[truth[pair]], tracks[track[pair]]);
    const smaller = this.edgeRows.smaller();
    if (smaller) this.moveEdges(smaller);
    return frame;
  }

  /** The trajectories of a feed; those of the newest frame once more, when it has the same list of ids. */
  private appearAll(
    side: Map<string, Trajectory>,
    ids: string[],
    newestIds: string[] | undefined,
    newest: Trajectory[] | undefined,
  ): Trajectory[] {
    if (newest && ids === newestIds) {
      for (const trajectory of newest) trajectory.presence++;
      return newest;
    }
    const list: Trajectory[] = new Array(ids.length);
    // most of them follow each other as in the newest frame: they are found there sooner than by their id
    let next = 0;
    for (let n = 0; n < ids.length; n++) {
      const at = newest && newestIds ? placeOf(ids[n], newestIds, next) : -1;
      if (at >= 0) {
        list[n] = newest![at];
        list[n].presence++;
        next = at + 1;
      } else list[n] = this.appear(side, ids[n]);
    }
    return list;
  }

  private appear(side: Map<string, Trajectory>, id: string): Trajectory {
    let trajectory = side.get(id);
    if (trajectory === undefined) {
      trajectory = new Trajectory(id, this.serial++, this.trajectorySlots.take());
      side.set(id, trajectory);
    }
    trajectory.presence++;
    return trajectory;
  }

  private appendPair(frame: FrameRecord, pair: number, truth: Trajectory, track: Trajectory): void {
    const edge = truth.edgeWith(track) ?? this.addEdge(truth, track);
    truth.latest = edge;
    this.edges.set(frame.edgesFrom + pair, edge);
    edge.add(frame.number, pair);
    this.listener.pairEnters(frame, edge, pair);
  }

  private addEdge(truth: Trajectory, track: Trajectory): Edge {
    const edge = new Edge(truth, track, this.edgeSlots.take(), this.edgeRows);
    this.edges.add(edge);
    this.edgeCount++;
    this.listener.edgeAppears(edge);
    truth.addEdge(edge);
    track.addEdge(edge);
    return edge;
  }

  /** Drops the oldest frame. */
  dropOldest(): void {
    const frame = this.frames[this.first];
    for (let pair = 0; pair < frame.edgeCount; pair++) {
      const edge = frame.edgeAt(pair);
      edge.dropFirst();
      this.listener.pairLeaves(frame, edge, pair);
      if (edge.size === 0) this.removeEdge(edge);
    }
    this.edges.leave(frame.edgeCount);
    for (const truth of frame.truths) if (--truth.presence === 0) this.forget(this.truths, truth);
    for (const track of frame.tracks) if (--track.presence === 0) this.forget(this.tracks, track);
    this.tally.leave(frame);
    if (this.shelves.length > 0 && this.shelves[0].at(-1)!.number === frame.number) this.shelves.shift();
    this.frames[this.first++] = undefined as unknown as FrameRecord;
    this.firstNumber++;
    if (this.first > 64 && this.first * 2 > this.frames.length) {
      this.frames = this.frames.slice(this.first);
      this.first = 0;
    }
  }

  private removeEdge(edge: Edge): void {
    const { truth, track } = edge;
    truth.removeEdge(edge);
    if (truth.latest === edge) truth.latest = null;
    track.removeEdge(edge);
    this.edgeCount--;
    this.listener.edgeVanishes(edge);
    this.edgeSlots.free(edge.slot);
    this.edges.remove(edge);
    edge.free();
  }

  private moveEdges(rows: EdgeRows): void {
    this.edgeRows = rows;
    for (const truth of this.truths.values()) for (const edge of truth.edges) edge.moveTo(rows);
  }

  private forget(side: Map<string, Trajectory>, trajectory: Trajectory): void {
    side.delete(trajectory.id);
    this.listener.trajectoryVanishes(trajectory);
    this.trajectorySlots.free(trajectory.slot);
    const { partner } = trajectory;
    if (partner) {
      partner.partner = null;
      partner.partnerGone = trajectory.id;
    }
    // whoever still knows it keeps nothing else alive by that
    trajectory.partner = trajectory.latest = null;
  }

  /** Marks a frame whose assignment is about to change. */
  touch(frame: FrameRecord): void {
    if (frame.touched) return;
    frame.touched = true;
    if (this.remembers && frame.number <= this.solvedNumber) frame.remember();
    this.touchedFrames.add(frame);
  }

  /** The assignment of the whole window is up to date: adds up the frames in which it changed. */
  addUpTouched(): void {
    for (let n = 0; n < this.touchedFrames.size; n++) {
      const frame = this.touchedFrames.at(n);
      addUp(frame);
      if (frame.tally !== null) this.tally.update(frame);
    }
    this.touchedFrames.clear();
    this.solvedNumber = this.newestNumber;
  }

  /** Weight of a frame by its age. */
  frameWeight(number: number): number {
    const { weights } = this.terms;
    if (!weights) return 1;
    const age = this.newestNumber - number;
    if ('forgetting' in weights) return weights.forgetting ** age;
    return weights.frame[weights.frame.length - 1 - age];
  }

  /** Weight of the change into a frame. */
  switchWeight(number: number): number {
    const { weights } = this.terms;
    if (!weights) return 1;
    const age = this.newestNumber - number;
    if ('forgetting' in weights) return weights.forgetting ** age;
    return weights.switch[weights.switch.length - 1 - age];
  }

  /** Between two layers a change falls on the cheapest frame, the latest among equals. */
  changeFrame(after: number, upTo: number): number {
    if (!this.weighted) return upTo;
    let best = upTo;
    for (let number = upTo - 1; number > after; number--) {
      if (this.switchWeight(number) < this.switchWeight(best)) best = number;
    }
    return best;
  }

  /** Price of half a switch between two layers in quanta, not rounded. */
  priceBetween(after: number, upTo: number): number {
    return (this.switchWeight(this.changeFrame(after, upTo)) * this.prices.half) / this.quantum;
  }
}

/** A price with what makes the fewest switches win. */
export function surcharged(price: number): number {
  return price + surcharge(price);
}

/** how far ahead in the frame before an id is looked for */
const AHEAD_MAX = 3;

/** Where an id stands in a list from a place on, if it is not far. */
export function placeOf(id: string, ids: readonly string[], from: number): number {
  const end = Math.min(from + AHEAD_MAX, ids.length);
  for (let at = from; at < end; at++) if (ids[at] === id) return at;
  return -1;
}
