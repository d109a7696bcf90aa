/**
 * The evaluator's own frames as JSON, one per line in files: {"k":1,"t":0.033,"objects":[{"id":"7","box":[...]}]}, as
 * PROTOCOL.md describes them, or reports: {"reports":[{"id":"4ca1b2","t":1467363300.2,"point":[...]}]}. `type` and
 * `seq` of a recorded conversation may be there and are not used.
 */

import { Fault } from '../../src/wire/fault.js';
import { checkFrame, checkReports, type FrameRules } from '../../src/wire/frame-check.js';
import type { ObjectReport, Shape, WireObject } from '../../src/wire/objects.js';
import { attempt, defineAdapter, Mistake, type Part } from '../kit/adapter.js';
import { fieldsOf, jsonOf, refuseStamp } from '../kit/fields.js';
import { ORIGIN_OPTIONS, originProblem, placeOnEarth } from '../kit/local-plane.js';
import { FRAME_OPTIONS, shiftedFrame } from '../kit/placement.js';

/** Limits of the edge are checked there; a frame as such may be of any size. */
const rulesFor = (shape: Shape): FrameRules => ({
  objectsMax: Number.MAX_SAFE_INTEGER,
  idLengthMax: Number.MAX_SAFE_INTEGER,
  shape,
  dimensions: 0,
  geodesic: false,
  pointRemedy: 'say option shape=point',
  strict: true,
});

function reportsOf(
  raw: Record<string, unknown>,
  rules: FrameRules,
  placed: (reports: ObjectReport[]) => ObjectReport[],
): Part[] {
  const part = checkReports({ ...raw, seq: 1 }, rules);
  if (part instanceof Fault) throw new Mistake(part.path, part.value, part.message, part.code);
  const objects = placed(raw.reports as ObjectReport[]);
  return objects.length === 0 ? [] : [{ t: Math.max(...objects.map(({ t }) => t)), objects, reports: true }];
}

export const native = defineAdapter({
  name: 'native',
  title: "the evaluator's own JSON, one frame per line in files",
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: null },
  options: {
    ...FRAME_OPTIONS,
    ...ORIGIN_OPTIONS,
    shape: { kind: 'choice', choices: ['box', 'point'], default: 'box', help: 'what the objects are' },
  },
  shape: ({ shape }) => shape,
  check: ({ origin }) => {
    const wrong = originProblem(origin);
    return wrong ? [{ path: 'origin', value: origin, message: wrong }] : [];
  },
  create({ frameOffset, shape, origin }) {
    const rules = rulesFor(shape);
    const placed = <T extends WireObject>(objects: T[]): T[] =>
      origin ? objects.map((one) => (one.point ? { ...one, point: placeOnEarth(origin, one.point) } : one)) : objects;
    const step = (message: unknown): Part[] => {
      const { seq: _seq, ...raw } = fieldsOf(jsonOf(message));
      if (raw.reports !== undefined) return reportsOf(raw, rules, placed);
      const part = checkFrame({ ...raw, seq: 1 }, rules);
      if (part instanceof Fault) throw new Mistake(part.path, part.value, part.message, part.code);
      const { k, t } = part;
      return [
        {
          ...(k === undefined ? {} : { k: shiftedFrame(k, frameOffset, 'k') }),
          ...(t === undefined ? {} : { t }),
          objects: placed(raw.objects as WireObject[]),
        },
      ];
    };
    return {
      decode(message, stamp) {
        return attempt(
          () => {
            refuseStamp(stamp);
            return step(message);
          },
          () => false,
        );
      },
      flush: () => ({ parts: [], problems: [], held: false }),
    };
  },
});
