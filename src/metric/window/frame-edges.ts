/**
 * Which edge each pair of each frame in a window is. The pairs of all frames stand in one list, by the slots of their
 * edges: a list of its own would take a frame of twenty pairs 200 bytes, and in a crowd hardly two frames have the
 * same. Frames enter at the end and leave at the beginning; now and then the others are moved there.
 */
import type { Edge } from './trajectory.js';

/** Where its pairs are, of a frame; as long as it is in the window. */
export interface EdgePlaces {
  edgesFrom: number;
}

const ROOM_MIN = 64;
/** of the room, what is full enough to take more; and room for what is there */
const FULL = 0.8;
const SPARE = 1.4;
const SLOTS_SHORT = 2 ** 16;

export class FrameEdges {
  private slots: Uint16Array | Uint32Array = new Uint16Array(ROOM_MIN);
  /** by slot; those that are free have none */
  private readonly edges: (Edge | undefined)[] = [];
  private first = 0;
  private end = 0;

  at(place: number): Edge {
    return this.edges[this.slots[place]]!;
  }

  set(place: number, { slot }: Edge): void {
    if (slot >= SLOTS_SHORT && this.slots instanceof Uint16Array) this.slots = Uint32Array.from(this.slots);
    this.slots[place] = slot;
  }

  add(edge: Edge): void {
    this.edges[edge.slot] = edge;
  }

  remove({ slot }: Edge): void {
    this.edges[slot] = undefined;
  }

  /** The first place of so many pairs of a new frame; `frames` are those in the window, which may be moved. */
  take(count: number, frames: () => Iterable<EdgePlaces>): number {
    if (this.end + count > this.slots.length) this.move(count, frames());
    const from = this.end;
    this.end += count;
    return from;
  }

  /** The oldest frame leaves, which has so many pairs. */
  leave(count: number): void {
    this.first += count;
  }

  private move(count: number, frames: Iterable<EdgePlaces>): void {
    const { slots, first, end } = this;
    const needed = end - first + count;
    if (needed <= FULL * slots.length) slots.copyWithin(0, first, end);
    else {
      this.slots = new (slots.constructor as Uint16ArrayConstructor)(Math.ceil(SPARE * needed));
      this.slots.set(slots.subarray(first, end));
    }
    for (const frame of frames) frame.edgesFrom -= first;
    this.first = 0;
    this.end = end - first;
  }
}
