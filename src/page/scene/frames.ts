/**
 * The frames of one series that the page can show: objects in flat arrays, who is assigned to whom, and what follows
 * from it (missed, false, switched). New frames arrive over /v1/live with the assignment of that moment; /v1/window
 * replaces it with the window's, which is the cheapest over all its frames together.
 * Invariant: frames are in order of k; at most FRAMES_MAX of them, and OBJECTS_MAX objects in all, the newest ones.
 */
import type { Assigned, Count, FrameCost, Obj } from '../../metric/evaluation.js';

export const FRAMES_MAX = 1200;
const OBJECTS_MAX = 400_000;
const METRES_PER_DEGREE = 111_195;

/** One feed's objects at one frame, ready to draw: x to the right, y down. */
export interface DrawnSide {
  ids: string[];
  /** left, top, width, height; points have no size */
  at: Float32Array;
  /** id: position in `ids` */
  index: Map<string, number>;
  /** positions of those that are not judged: neither missed nor false without a pair; null where all are */
  idle: Set<number> | null;
}

interface Extras {
  class?: string;
  confidence?: number;
}

export interface ShownFrame {
  k: number;
  t?: number;
  reference: DrawnSide;
  tracker: DrawnSide;
  assignment: Assigned[];
  cost: FrameCost;
  count: Count;
  /** of every truth: position of its track when they are a proper pair, -1 when it is missed, -2 when not judged */
  trackOf: Int32Array;
  /** 1 for every track that is judged and has no proper pair */
  isFalse: Uint8Array;
  /** truths whose track differs from the last one they had */
  switched: string[];
}

export interface Bounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

type Judged = { assignment: Assigned[]; cost: FrameCost; count: Count };
export type NewFrame = { k: number; t?: number; reference: Obj[]; tracker: Obj[] } & Judged;

export class FrameBuffer {
  frames: ShownFrame[] = [];
  /** of everything ever appended */
  readonly bounds: Bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  #objects = 0;
  #lastTrack = new Map<string, string>();
  /** latitude and longitude that lie at 0, 0 */
  origin: readonly [number, number] | null = null;
  hasPoints = false;
  /** what else objects have said of themselves, by id; windows do not repeat it */
  readonly extras = { reference: new Map<string, Extras>(), tracker: new Map<string, Extras>() };

  constructor(readonly geodesic: boolean) {}

  get newest(): ShownFrame | undefined {
    return this.frames[this.frames.length - 1];
  }

  /** Position of the last frame whose number is at most k; -1 when all are later. */
  indexOf(k: number): number {
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].k <= k) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  find(k: number): ShownFrame | undefined {
    const frame = this.frames[this.indexOf(k)];
    return frame?.k === k ? frame : undefined;
  }

  /** Appends the newest frame; one that is not newer is already known. */
  push(next: NewFrame): void {
    if (this.newest && next.k <= this.newest.k) return;
    const frame = this.#shown(next);
    this.frames.push(frame);
    frame.switched = this.#switches(frame);
    this.#trim();
  }

  /** Merges a whole window: the objects of frames not known yet, and the assignment of all. */
  merge(window: NewFrame[]): void {
    if (window.length === 0) return;
    const first = window[0].k;
    const last = window[window.length - 1].k;
    const before = this.frames.filter(({ k }) => k < first);
    const after = this.frames.filter(({ k }) => k > last);
    const inside = window.map((next) => this.#shown(next, this.find(next.k)));
    this.frames = [...before, ...inside, ...after];
    this.#objects = this.frames.reduce((sum, frame) => sum + sizeOf(frame), 0);
    this.#trim();
    this.#lastTrack.clear();
    for (const frame of this.frames) frame.switched = this.#switches(frame);
  }

  #shown(next: NewFrame, known?: ShownFrame): ShownFrame {
    const { k, t, assignment, cost, count } = next;
    const reference = known?.reference ?? this.#side(next.reference, this.extras.reference);
    const tracker = known?.tracker ?? this.#side(next.tracker, this.extras.tracker);
    const trackOf = new Int32Array(reference.ids.length).fill(-1);
    const isFalse = new Uint8Array(tracker.ids.length).fill(1);
    for (const { truth, track, distance } of assignment) {
      const i = reference.index.get(truth);
      const j = tracker.index.get(track);
      if (distance === null || i === undefined || j === undefined) continue;
      trackOf[i] = j;
      isFalse[j] = 0;
    }
    for (const i of reference.idle ?? []) if (trackOf[i] < 0) trackOf[i] = -2;
    for (const j of tracker.idle ?? []) isFalse[j] = 0;
    if (!known) this.#objects += reference.ids.length + tracker.ids.length;
    return { k, t, reference, tracker, assignment, cost, count, trackOf, isFalse, switched: [] };
  }

  #side(objects: Array<Obj & Extras & { judged?: boolean }>, extras: Map<string, Extras>): DrawnSide {
    const ids = new Array<string>(objects.length);
    const at = new Float32Array(objects.length * 4);
    const index = new Map<string, number>();
    const idle = new Set<number>();
    for (let n = 0; n < objects.length; n++) {
      const object = objects[n];
      ids[n] = object.id;
      index.set(object.id, n);
      if ('box' in object) at.set(object.box, n * 4);
      else this.#place(object.point, at, n * 4);
      this.#include(at, n * 4);
      if (object.judged === false || object.alone === 0) idle.add(n);
      const { class: kind, confidence } = object;
      if (kind !== undefined || confidence !== undefined) extras.set(object.id, { class: kind, confidence });
    }
    if (extras.size > 50_000) extras.clear();
    return { ids, at, index, idle: idle.size > 0 ? idle : null };
  }

  /** Where a place of the world lies in the scene: metres east and south of the first point, or y turned upwards. */
  project([first, second]: readonly [number, number]): [x: number, y: number] {
    if (!this.geodesic) return [first, -second];
    const [latitude, longitude] = this.origin ?? [first, second];
    const east = ((second - longitude + 540) % 360) - 180;
    return [east * METRES_PER_DEGREE * Math.cos((latitude * Math.PI) / 180), -(first - latitude) * METRES_PER_DEGREE];
  }

  /** Latitude and longitude of a place of the scene; null before there is an object. */
  unproject(x: number, y: number): [latitude: number, longitude: number] | null {
    if (!this.geodesic || !this.origin) return null;
    const [latitude, longitude] = this.origin;
    const shrink = Math.cos((latitude * Math.PI) / 180);
    return [latitude - y / METRES_PER_DEGREE, longitude + x / METRES_PER_DEGREE / shrink];
  }

  /** Points have y upwards; latitude and longitude become metres east and north of the first point. */
  #place(point: number[], at: Float32Array, to: number): void {
    this.hasPoints = true;
    this.origin ??= [point[0], point[1] ?? 0];
    const [x, y] = this.project([point[0], point[1] ?? 0]);
    at[to] = x;
    at[to + 1] = y;
  }

  #include(at: Float32Array, n: number): void {
    const { bounds } = this;
    if (at[n] < bounds.left) bounds.left = at[n];
    if (at[n + 1] < bounds.top) bounds.top = at[n + 1];
    if (at[n] + at[n + 2] > bounds.right) bounds.right = at[n] + at[n + 2];
    if (at[n + 1] + at[n + 3] > bounds.bottom) bounds.bottom = at[n + 1] + at[n + 3];
  }

  #switches({ assignment, reference }: ShownFrame): string[] {
    const switched: string[] = [];
    for (const { truth, track, distance } of assignment) {
      if (distance === null || !reference.index.has(truth)) continue;
      const last = this.#lastTrack.get(truth);
      if (last !== undefined && last !== track) switched.push(truth);
      if (last !== track) this.#lastTrack.set(truth, track);
    }
    return switched;
  }

  #trim(): void {
    while (this.frames.length > FRAMES_MAX || (this.#objects > OBJECTS_MAX && this.frames.length > 1))
      this.#objects -= sizeOf(this.frames.shift()!);
    if (this.#lastTrack.size > 50_000) this.#lastTrack.clear();
  }
}

const sizeOf = ({ reference, tracker }: ShownFrame) => reference.ids.length + tracker.ids.length;
