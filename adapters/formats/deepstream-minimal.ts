/**
 * NVIDIA DeepStream, minimal schema (nvmsgconv payload-type 1): one JSON message per frame, each object a text
 * `id|left|top|right|bottom|label[|#|classifier labels...|confidence]`. Ids are unsigned 64-bit numbers and stay text.
 * `@timestamp` is when the message was made, not when the picture was taken: it is used only when an option says so.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { defineAdapter, Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import { readDecimal } from '../kit/decimal.js';
import { each, fieldsOf, frameNumber, isoSeconds, jsonOf, list, refuseStamp } from '../kit/fields.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { OneSource } from '../kit/source.js';

/** The id of objects that the tracker does not follow: the largest 64-bit number. */
export const UNTRACKED_ID = '18446744073709551615';
const ID = /^\d{1,20}$/;
const EXPECTED = 'id|left|top|right|bottom|label';
const CORNERS = ['left', 'top', 'right', 'bottom'];

interface MinimalOptions extends PlacementOptions {
  sensor: string | undefined;
  time: 'ignore' | 'message';
}

class MinimalDecoder extends WholeFrames {
  readonly #placement: Placement;
  readonly #sensors: OneSource;
  readonly #corners = [0, 0, 0, 0];

  constructor(readonly options: MinimalOptions) {
    super();
    this.#placement = new Placement(options);
    this.#sensors = new OneSource('sensor', options.sensor);
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    return this.#parts(message);
  }

  #parts(message: unknown): Part[] {
    const raw = fieldsOf(jsonOf(message));
    if (!this.#sensors.accepts(raw.sensorId, 'sensorId')) return [];
    const part: Part = { k: this.#placement.frame(frameNumber(raw.id, 'id'), 'id'), objects: [] };
    if (this.options.time === 'message') part.t = isoSeconds(raw['@timestamp'], '@timestamp');
    each(list(raw, 'objects'), 'objects', (text) => {
      const object = this.#object(text);
      if (object) part.objects.push(object);
    });
    return [part];
  }

  #object(text: unknown): WireObject | null {
    if (typeof text !== 'string') throw new Mistake('', text, `must be text: ${EXPECTED}`);
    const id = text.slice(0, Math.max(0, text.indexOf('|')));
    if (!ID.test(id)) throw new Mistake('', text, `must begin with an unsigned whole number as id: ${EXPECTED}`);
    let at = id.length;
    for (let n = 0; n < 4; n++) {
      const end = text.indexOf('|', at + 1);
      this.#corners[n] = end < 0 ? Number.NaN : readDecimal(text, at + 1, end);
      if (!Number.isFinite(this.#corners[n]))
        throw new Mistake('', text, `must have a finite number as ${CORNERS[n]}: ${EXPECTED}`);
      at = end;
    }
    const end = text.indexOf('|', at + 1);
    const label = text.slice(at + 1, end < 0 ? undefined : end);
    const confidence = end < 0 ? undefined : confidenceOf(text, end);
    if (id === UNTRACKED_ID) return null;
    const [left, top, right, bottom] = this.#corners;
    return objectOf(id, this.#placement.corners(left, top, right, bottom, ''), label, confidence);
  }
}

/** Only messages of pipelines with classifiers have it: the last field, after `#` and their labels. */
function confidenceOf(text: string, labelEnd: number): number {
  const last = text.lastIndexOf('|');
  const confidence = readDecimal(text, last + 1, text.length);
  if (!text.startsWith('|#|', labelEnd) || last < labelEnd + 2 || !Number.isFinite(confidence))
    throw new Mistake('', text, 'must have after the label nothing, or |#|classifier labels|confidence');
  return confidence;
}

export const deepstreamMinimal = defineAdapter({
  name: 'deepstream-minimal',
  title: 'NVIDIA DeepStream, minimal message schema: one message per frame',
  message: 'json',
  numbering: 'own',
  bases: { frame: 0, pixel: 0 },
  options: {
    ...BOX_OPTIONS,
    sensor: { kind: 'text', help: 'sensorId of the messages that count; needed when a feed carries several' },
    time: {
      kind: 'choice',
      choices: ['ignore', 'message'],
      default: 'ignore',
      help: 'message: take @timestamp as the time, though it is when the message was made',
    },
  },
  shape: () => 'box',
  create: (values) => new MinimalDecoder(values),
});
