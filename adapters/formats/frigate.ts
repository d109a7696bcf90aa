/**
 * Frigate's events: {"type":"new"|"update"|"end","before":{...},"after":{...}}, from MQTT (frigate/events) or from its
 * WebSocket, where {"topic":"events","payload":"..."} holds them as text. Each event is about one object, and objects
 * are told about only when something changes or every few seconds. So the decoder remembers every object until it ends,
 * or until nothing was heard of it for maxAgeSeconds, and a frame is everything that is there at the time of an event.
 * Events of the same frame_time are one frame. Objects that Frigate still takes for false positives do not count.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { attempt, type Decoded, type Decoder, defineAdapter, Mistake, type Part, type Stamp } from '../kit/adapter.js';
import {
  type Fields,
  fieldsOf,
  identity,
  inner,
  jsonOf,
  list,
  number,
  optionalNumber,
  optionalText,
  refuseStamp,
  timeWithin,
  under,
} from '../kit/fields.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { OneSource } from '../kit/source.js';

/** Objects remembered at the same time; a camera with more is broken. */
const OBJECTS_MAX = 2000;
const TYPES = ['new', 'update', 'end'];

interface Options extends Omit<PlacementOptions, 'frameOffset'> {
  camera: string | undefined;
  maxAgeSeconds: number;
  timeOffset: number;
}

interface Remembered {
  object: WireObject;
  seenAt: number;
}

class FrigateDecoder implements Decoder {
  readonly #placement: Placement;
  readonly #cameras: OneSource;
  readonly #objects = new Map<string, Remembered>();
  /** time of the frame that is being gathered; null when none is */
  #time: number | null = null;

  constructor(readonly options: Options) {
    this.#placement = new Placement({ ...options, frameOffset: 0 });
    this.#cameras = new OneSource('camera', options.camera);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => {
        refuseStamp(stamp);
        return this.#parts(fieldsOf(jsonOf(message)));
      },
      () => this.#time !== null,
    );
  }

  flush(): Decoded {
    const parts = this.#complete();
    this.#time = null;
    return { parts, problems: [], held: false };
  }

  #parts(raw: Fields): Part[] {
    if (raw.topic === undefined) return this.#event(raw);
    // the other topics of the WebSocket have no boxes
    if (raw.topic !== 'events' && !String(raw.topic).endsWith('/events')) return [];
    return under('payload', () => this.#event(fieldsOf(jsonOf(raw.payload))));
  }

  #event(raw: Fields): Part[] {
    if (!TYPES.includes(raw.type as string)) throw new Mistake('type', raw.type, `must be one of ${TYPES.join(', ')}`);
    return under('after', () => this.#after(inner(raw, 'after'), raw.type === 'end'));
  }

  #after(after: Fields, ended: boolean): Part[] {
    if (!this.#cameras.accepts(after.camera, 'camera')) return [];
    const id = identity(after.id, 'id');
    const time = timeWithin(number(after, 'frame_time') + this.options.timeOffset, 'frame_time', after.frame_time);
    const object = ended || after.false_positive === true ? null : this.#object(id, after);
    if (object && this.#objects.size >= OBJECTS_MAX && !this.#objects.has(id))
      throw new Mistake('id', id, `is one object more than the ${OBJECTS_MAX} that are remembered`);
    const parts = this.#time === null || time <= this.#time ? [] : this.#complete();
    this.#time = Math.max(time, this.#time ?? time);
    const known = this.#objects.get(id);
    // an event that comes after a later one of the same object says nothing new
    if (known && known.seenAt > time) return parts;
    if (object) this.#objects.set(id, { object, seenAt: time });
    else this.#objects.delete(id);
    return parts;
  }

  #object(id: string, after: Fields): WireObject {
    const corners = list(after, 'box');
    if (corners.length !== 4 || !corners.every((value) => typeof value === 'number' && Number.isFinite(value)))
      throw new Mistake('box', corners, 'must be [left, top, right, bottom] in pixels of the detect stream');
    const box = this.#placement.corners(...(corners as [number, number, number, number]), 'box');
    return objectOf(id, box, optionalText(after, 'label'), optionalNumber(after, 'score'));
  }

  /** Everything that is there at the time of the gathered frame. */
  #complete(): Part[] {
    const t = this.#time;
    if (t === null) return [];
    const objects: WireObject[] = [];
    for (const [id, { object, seenAt }] of this.#objects)
      if (t - seenAt > this.options.maxAgeSeconds) this.#objects.delete(id);
      else objects.push(object);
    return [{ t, objects }];
  }
}

const { frameOffset: _none, ...PIXELS } = BOX_OPTIONS;

export const frigate = defineAdapter({
  name: 'frigate',
  title: "Frigate's events, from MQTT or its WebSocket",
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: 0 },
  options: {
    ...PIXELS,
    camera: { kind: 'text', help: 'camera whose events count; needed when a feed carries several' },
    maxAgeSeconds: {
      kind: 'number',
      above: 0,
      default: 10,
      help: 'an object nothing was heard of for this long is gone; Frigate repeats itself every 5 seconds',
    },
    timeOffset: { kind: 'number', default: 0, help: 'added to every time, in seconds' },
  },
  shape: () => 'box',
  create: (values) => new FrigateDecoder(values),
});
