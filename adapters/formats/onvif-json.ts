/**
 * ONVIF metadata as JSON, as devices publish it over MQTT (topic .../onvif-mj/VideoAnalytics/...): attributes are keys
 * with @, text is #text, and what may come several times is a list or, when it came once, the thing itself.
 */

import { defineAdapter, Mistake } from '../kit/adapter.js';
import { decimalOf } from '../kit/decimal.js';
import { each, type Fields, fieldsOf, identity, inner, isFields, jsonOf, optionalText, under } from '../kit/fields.js';
import {
  IDENTITY,
  ONVIF_OPTIONS,
  OnvifDecoder,
  type OnvifFrame,
  type OnvifObject,
  type Transformation,
} from './onvif.js';

function framesIn(message: unknown): OnvifFrame[] {
  const raw = fieldsOf(jsonOf(message));
  const body = isFields(raw.VideoAnalytics) ? raw.VideoAnalytics : raw;
  if (body.Frame === undefined) throw new Mistake('Frame', undefined, 'must be there: one frame or a list of them');
  const frames: OnvifFrame[] = [];
  each(many(body.Frame), 'Frame', (frame) => frames.push(frameOf(fieldsOf(frame))));
  return frames;
}

const many = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** Numbers may be texts where the JSON was made from XML. */
function numeric(from: Fields, key: string): number {
  const value = typeof from[key] === 'string' ? decimalOf(from[key]) : from[key];
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new Mistake(key, from[key], 'must be a finite number');
  return value;
}

function frameOf(raw: Fields): OnvifFrame {
  const frame: OnvifFrame = {
    utcTime: optionalText(raw, '@UtcTime'),
    source: optionalText(raw, '@Source'),
    transformation: transformationOf(raw) ?? IDENTITY,
    objects: [],
    renames: [],
    deleted: [],
  };
  each(many(raw.Object), 'Object', (item) => frame.objects.push(objectOf(fieldsOf(item))));
  if (raw.ObjectTree !== undefined) under('ObjectTree', () => readTree(inner(raw, 'ObjectTree'), frame));
  return frame;
}

function transformationOf(raw: Fields): Transformation | null {
  if (raw.Transformation === undefined) return null;
  return under('Transformation', () => {
    const given = inner(raw, 'Transformation');
    const pair = (key: string, standard: number): [number, number] =>
      given[key] === undefined
        ? [standard, standard]
        : under(key, () => [numeric(inner(given, key), '@x'), numeric(inner(given, key), '@y')]);
    const [translateX, translateY] = pair('Translate', 0);
    const [scaleX, scaleY] = pair('Scale', 1);
    return { translateX, translateY, scaleX, scaleY };
  });
}

function objectOf(raw: Fields): OnvifObject {
  const appearance = isFields(raw.Appearance) ? raw.Appearance : {};
  const behaviour = isFields(raw.Behaviour) ? raw.Behaviour : {};
  const object: OnvifObject = {
    id: idOf(raw),
    isChild: raw['@Parent'] !== undefined,
    corners: under('Appearance', () => cornersOf(appearance)),
    transformation: under('Appearance', () => transformationOf(appearance)),
    isRemoved: behaviour.Removed !== undefined,
  };
  if (appearance.Class !== undefined) under('Appearance.Class', () => readClass(inner(appearance, 'Class'), object));
  return object;
}

function idOf(raw: Fields): string {
  const value = raw['@ObjectId'] ?? raw['@UUID'];
  if (value === undefined) throw new Mistake('@ObjectId', undefined, 'must be there, or @UUID');
  return identity(value, '@ObjectId');
}

function cornersOf(appearance: Fields): OnvifObject['corners'] {
  if (appearance.Shape === undefined) return null;
  return under('Shape.BoundingBox', () => {
    const box = inner(appearance, 'Shape').BoundingBox;
    if (!isFields(box)) throw new Mistake('', box, 'must be an object');
    return [numeric(box, '@left'), numeric(box, '@top'), numeric(box, '@right'), numeric(box, '@bottom')];
  });
}

/** Type with its likelihood, or the older ClassCandidate. */
function readClass(raw: Fields, object: OnvifObject): void {
  const consider = (kind: unknown, likelihood: number | undefined) => {
    if (typeof kind !== 'string' || kind === '' || (likelihood ?? 0) <= (object.likelihood ?? -1)) return;
    object.kind = kind;
    object.likelihood = likelihood;
  };
  each(many(raw.Type), 'Type', (item) => {
    if (!isFields(item)) consider(item, undefined);
    else consider(item['#text'], item['@Likelihood'] === undefined ? undefined : numeric(item, '@Likelihood'));
  });
  each(many(raw.ClassCandidate), 'ClassCandidate', (item) => {
    const candidate = fieldsOf(item);
    consider(candidate.Type, candidate.Likelihood === undefined ? undefined : numeric(candidate, 'Likelihood'));
  });
}

function readTree(tree: Fields, frame: OnvifFrame): void {
  const ids = (raw: Fields, key: string) => many(raw[key]).map((item) => idOf(fieldsOf(item, key)));
  each(many(tree.Rename), 'Rename', (item) => {
    const [from] = ids(fieldsOf(item), 'from');
    const [to] = ids(fieldsOf(item), 'to');
    if (from !== undefined && to !== undefined) frame.renames.push({ from, to });
  });
  // what merges goes on under the new id as the first of them; what splits off is new
  each(many(tree.Merge), 'Merge', (item) => {
    const [from] = ids(fieldsOf(item), 'from');
    const [to] = ids(fieldsOf(item), 'to');
    if (from !== undefined && to !== undefined) frame.renames.push({ from, to });
  });
  each(many(tree.Delete), 'Delete', (item) => frame.deleted.push(idOf(fieldsOf(item))));
}

export const onvifJson = defineAdapter({
  name: 'onvif-json',
  title: 'ONVIF analytics metadata as JSON, as devices send it over MQTT',
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: 0 },
  options: ONVIF_OPTIONS,
  shape: () => 'box',
  create: (values) => new OnvifDecoder(values, framesIn, (n) => `Frame[${n}].@`),
});
