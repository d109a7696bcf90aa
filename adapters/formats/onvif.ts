/**
 * ONVIF analytics metadata: what a Frame of the metadata stream says, whether it came as JSON (over MQTT) or as XML.
 * Coordinates go through the frame's Transformation (scale * p + translate; an object's own one replaces it) to [-1, 1]
 * with y up, and from there to pixels of an image whose size is an option. An object without a shape is not to be seen.
 * ObjectTree announces changes of ids: an option says whether they count as switches or are followed.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import { isoSeconds, refuseStamp, timeWithin } from '../kit/fields.js';
import type { OptionTable } from '../kit/options.js';
import { objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { OneSource } from '../kit/source.js';

export interface Transformation {
  translateX: number;
  translateY: number;
  scaleX: number;
  scaleY: number;
}

export const IDENTITY: Transformation = { translateX: 0, translateY: 0, scaleX: 1, scaleY: 1 };

/** An object as a frame tells about it; `corners` null: no shape. */
export interface OnvifObject {
  id: string;
  isChild: boolean;
  corners: [left: number, top: number, right: number, bottom: number] | null;
  transformation: Transformation | null;
  kind?: string;
  likelihood?: number;
  isRemoved: boolean;
}

export interface OnvifFrame {
  utcTime: string | undefined;
  source: string | undefined;
  transformation: Transformation;
  objects: OnvifObject[];
  /** the tracker says that `from` goes on as `to` */
  renames: Array<{ from: string; to: string }>;
  deleted: string[];
}

export const ONVIF_OPTIONS = {
  imageWidth: { kind: 'number', above: 0, required: true, help: 'width of the image in pixels; ONVIF sends -1 to 1' },
  imageHeight: { kind: 'number', above: 0, required: true, help: 'height of the image in pixels; ONVIF sends -1 to 1' },
  coordinates: {
    kind: 'choice',
    choices: ['normalized', 'pixels'],
    default: 'normalized',
    help: 'normalized: -1 to 1 with y up, as ONVIF says; pixels: some devices send pixels with y down',
  },
  source: { kind: 'text', help: 'Source of the frames that count; needed when a feed carries several' },
  renames: {
    kind: 'choice',
    choices: ['switch', 'follow'],
    default: 'switch',
    help: 'an id change that the tracker announces counts as a switch, or is followed: the object keeps its first id',
  },
  children: {
    kind: 'choice',
    choices: ['keep', 'drop'],
    default: 'keep',
    help: 'objects with a Parent, such as the face of a person: keep or drop them',
  },
  timeOffset: { kind: 'number', default: 0, help: 'added to every time, in seconds' },
} as const satisfies OptionTable;

export interface OnvifOptions {
  imageWidth: number;
  imageHeight: number;
  coordinates: 'normalized' | 'pixels';
  source: string | undefined;
  renames: 'switch' | 'follow';
  children: 'keep' | 'drop';
  timeOffset: number;
}

/** Objects may lie partly outside of the picture, but not beyond another one beside it. */
const OUTSIDE_MAX = 3;
/** Followed ids remembered at the same time; the oldest go first. */
const RENAMES_MAX = 10_000;
const PLAIN: PlacementOptions = { frameOffset: 0, pixelOffset: 0, scale: [1, 1] };

/** A feed of ONVIF metadata; its encoding gives the frames of a message, and says where in it a frame stands. */
export class OnvifDecoder extends WholeFrames {
  readonly #placement = new Placement(PLAIN);
  readonly #sources: OneSource;
  /** announced id to first id */
  readonly #first = new Map<string, string>();

  constructor(
    readonly options: OnvifOptions,
    readonly framesIn: (message: unknown) => OnvifFrame[],
    readonly placeOf: (index: number) => string,
  ) {
    super();
    this.#sources = new OneSource('source', options.source);
  }

  /** Ids that a refused message announces are not followed. */
  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    const undo: Array<[id: string, first: string | undefined]> = [];
    try {
      return this.framesIn(message).flatMap((frame, n) => {
        if (this.options.renames === 'follow') this.#follow(frame, undo);
        return this.#part(frame, this.placeOf(n)) ?? [];
      });
    } catch (error) {
      for (const [id, first] of undo.reverse()) this.#set(id, first);
      throw error;
    }
  }

  /** null when it is of another source */
  #part(frame: OnvifFrame, path: string): Part | null {
    if (!this.#sources.accepts(frame.source, `${path}Source`)) return null;
    // its name says the zone, where the text does not
    const made = isoSeconds(frame.utcTime, `${path}UtcTime`, 'Z');
    const t = timeWithin(made + this.options.timeOffset, `${path}UtcTime`, frame.utcTime);
    const objects = frame.objects.flatMap(
      (object) => this.#object(object, object.transformation ?? frame.transformation) ?? [],
    );
    return { t, objects };
  }

  #follow({ renames, deleted }: OnvifFrame, undo: Array<[id: string, first: string | undefined]>): void {
    const set = (id: string, first: string | undefined) => {
      undo.push([id, this.#first.get(id)]);
      this.#set(id, first);
    };
    for (const { from, to } of renames) {
      set(to, this.#first.get(from) ?? from);
      const [oldest] = this.#first.keys();
      if (this.#first.size > RENAMES_MAX) set(oldest, undefined);
    }
    for (const id of deleted) set(id, undefined);
  }

  #set(id: string, first: string | undefined): void {
    if (first === undefined) this.#first.delete(id);
    else this.#first.set(id, first);
  }

  #object(object: OnvifObject, { translateX, translateY, scaleX, scaleY }: Transformation): WireObject | null {
    const { id, corners, kind, likelihood, isChild, isRemoved } = object;
    if (corners === null || isRemoved || (isChild && this.options.children === 'drop')) return null;
    const { imageWidth, imageHeight } = this.options;
    const path = `object ${id}: BoundingBox`;
    const x = corners.filter((_, n) => n % 2 === 0).map((value) => value * scaleX + translateX);
    const y = corners.filter((_, n) => n % 2 === 1).map((value) => value * scaleY + translateY);
    const isPixels = this.options.coordinates === 'pixels';
    if (!isPixels && [...x, ...y].some((value) => Math.abs(value) > OUTSIDE_MAX))
      throw new Mistake(
        path,
        corners,
        'lies far outside of -1 to 1, which is the picture; if the device sends pixels without a Transformation, say coordinates=pixels',
      );
    const [left, right] = sorted(...pair(x.map((value) => (isPixels ? value : ((value + 1) / 2) * imageWidth))));
    const [top, bottom] = sorted(...pair(y.map((value) => (isPixels ? value : ((1 - value) / 2) * imageHeight))));
    const box = this.#placement.corners(left, top, right, bottom, path);
    return objectOf(this.#first.get(id) ?? id, box, kind, likelihood);
  }
}

const pair = (values: number[]): [number, number] => [values[0], values[1]];

/** Which edge is top depends on the sign of the scale. */
const sorted = (a: number, b: number): [number, number] => (a <= b ? [a, b] : [b, a]);
