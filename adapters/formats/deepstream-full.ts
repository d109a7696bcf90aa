/**
 * NVIDIA DeepStream, full schema (nvmsgconv payload-type 0): one JSON message per object and no frame number. Messages
 * of one sensor whose `@timestamp` lies within a tolerance of the first belong to one frame; an id that comes again
 * begins the next. The time is when the message was made, not when the picture was taken.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { attempt, type Decoded, type Decoder, defineAdapter, type Part, type Stamp } from '../kit/adapter.js';
import {
  type Fields,
  fieldsOf,
  identity,
  inner,
  isFields,
  isoSeconds,
  jsonOf,
  number,
  refuseStamp,
  timeWithin,
  under,
} from '../kit/fields.js';
import { Gathering } from '../kit/gathering.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { OneSource } from '../kit/source.js';
import { UNTRACKED_ID } from './deepstream-minimal.js';

interface FullOptions extends Omit<PlacementOptions, 'frameOffset'> {
  sensor: string | undefined;
  toleranceMs: number;
  timeOffset: number;
}

class FullDecoder implements Decoder {
  readonly #placement: Placement;
  readonly #sensors: OneSource;
  readonly #gathering: Gathering;

  constructor(readonly options: FullOptions) {
    this.#placement = new Placement({ ...options, frameOffset: 0 });
    this.#sensors = new OneSource('sensor', options.sensor);
    this.#gathering = new Gathering(options.toleranceMs / 1000, true);
  }

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => {
        refuseStamp(stamp);
        return this.#parts(message);
      },
      () => this.#gathering.held,
    );
  }

  flush(): Decoded {
    return this.#gathering.flush();
  }

  #parts(message: unknown): Part[] {
    const raw = fieldsOf(jsonOf(message));
    const sensor = isFields(raw.sensor) ? raw.sensor.id : undefined;
    if (!this.#sensors.accepts(sensor, 'sensor.id')) return [];
    const made = raw['@timestamp'];
    const t = timeWithin(isoSeconds(made, '@timestamp') + this.options.timeOffset, '@timestamp', made);
    return this.#gathering.add([{ stamp: { t }, object: this.#object(inner(raw, 'object')) }]);
  }

  #object(object: Fields): WireObject | null {
    return under('object', () => {
      const id = identity(object.id, 'id');
      const box = under('bbox', () => {
        const bbox = inner(object, 'bbox');
        const corner = (key: string) => number(bbox, key);
        return this.#placement.corners(
          corner('topleftx'),
          corner('toplefty'),
          corner('bottomrightx'),
          corner('bottomrighty'),
          '',
        );
      });
      if (id === UNTRACKED_ID) return null;
      const label = Object.keys(object).find((key) => isFields(object[key]) && 'confidence' in (object[key] as Fields));
      const confidence =
        label === undefined ? undefined : under(label, () => number(object[label] as Fields, 'confidence'));
      return objectOf(id, box, label, confidence);
    });
  }
}

const { frameOffset: _none, ...PIXELS } = BOX_OPTIONS;

export const deepstreamFull = defineAdapter({
  name: 'deepstream-full',
  title: 'NVIDIA DeepStream, full message schema: one message per object',
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: 0 },
  options: {
    ...PIXELS,
    sensor: { kind: 'text', help: 'sensor.id of the messages that count; needed when a feed carries several' },
    toleranceMs: {
      kind: 'number',
      min: 0,
      required: true,
      help: 'messages whose @timestamp lies within this of the first are one frame; below the time between frames',
    },
    timeOffset: { kind: 'number', default: 0, help: 'added to every time, in seconds' },
  },
  shape: () => 'box',
  create: (values) => new FullDecoder(values),
});
