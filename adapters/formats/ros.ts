/**
 * ROS messages as rosbridge sends them in JSON: vision_msgs Detection2DArray and Detection3DArray (ROS 2, Foxy, and
 * Noetic's older fields) and Autoware's TrackedObjects. A message is `msg` itself, or the whole `{"op":"publish",...}`.
 * rosbridge writes bytes as base64 and NaN as null; stamps are {sec, nanosec}, or {secs, nsecs} from ROS 1.
 * Positions are metres in the frame that header.frame_id names, so a feed keeps to one frame.
 */

import type { WireObject } from '../../src/wire/objects.js';
import { type Adapter, defineAdapter, Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import {
  each,
  type Fields,
  fieldsOf,
  identity,
  inner,
  isFields,
  jsonOf,
  list,
  refuseStamp,
  text,
  timeWithin,
  under,
} from '../kit/fields.js';
import {
  BOX_OPTIONS,
  enclosing,
  objectOf,
  Placement,
  type PlacementOptions,
  ROTATED_OPTIONS,
  UNTRACKED_OPTIONS,
  type Untracked,
  untrackedId,
} from '../kit/placement.js';
import { OneSource } from '../kit/source.js';

const COMMON_OPTIONS = {
  frameId: { kind: 'text', help: 'header.frame_id of the messages that count; others are passed over' },
  timeOffset: { kind: 'number', default: 0, help: 'added to every time, in seconds' },
} as const;

interface CommonOptions {
  frameId: string | undefined;
  timeOffset: number;
}

/** A number that rosbridge may have had to write as null. */
function real(from: Fields, key: string): number {
  const value = from[key];
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new Mistake(
    key,
    value,
    value === null ? 'must be a finite number; rosbridge writes NaN and infinity as null' : 'must be a finite number',
  );
}

/** What the three messages share: envelope, header, and a list of objects. */
abstract class RosDecoder extends WholeFrames {
  readonly #frames: OneSource;

  constructor(
    readonly common: CommonOptions,
    readonly listKey: string,
  ) {
    super();
    this.#frames = new OneSource('frameId', common.frameId);
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    return this.#parts(fieldsOf(jsonOf(message)));
  }

  /** The object, or null when it does not count; `place` tells it from all others of the feed. */
  protected abstract object(raw: Fields, place: string): WireObject | null;

  #parts(raw: Fields): Part[] {
    if (raw.op === undefined) return this.#frame(raw);
    // status and other answers of rosbridge are no frames
    return raw.op === 'publish' ? under('msg', () => this.#frame(inner(raw, 'msg'))) : [];
  }

  #frame(msg: Fields): Part[] {
    const header = inner(msg, 'header');
    const frameId = under('header', () => text(header, 'frame_id'));
    return this.#frames.accepts(frameId, 'header.frame_id') ? [this.#part(msg, header)] : [];
  }

  #part(msg: Fields, header: Fields): Part {
    const seconds = under('header.stamp', () => secondsOf(inner(header, 'stamp')));
    const t = timeWithin(seconds + this.common.timeOffset, 'header.stamp', header.stamp);
    const part: Part = { t, objects: [] };
    each(list(msg, this.listKey), this.listKey, (item, index) => {
      const object = this.object(fieldsOf(item), `${t}:${index + 1}`);
      if (object) part.objects.push(object);
    });
    return part;
  }
}

function secondsOf(stamp: Fields): number {
  const [wholeKey, nanosKey] = 'secs' in stamp ? ['secs', 'nsecs'] : ['sec', 'nanosec'];
  const whole = real(stamp, wholeKey);
  const nanos = real(stamp, nanosKey);
  if (!Number.isInteger(whole) || whole < 0) throw new Mistake(wholeKey, whole, 'must be whole seconds from 0');
  if (!Number.isInteger(nanos) || nanos < 0 || nanos >= 1e9)
    throw new Mistake(nanosKey, nanos, 'must be nanoseconds from 0 to 999999999');
  if (whole === 0 && nanos === 0) throw new Mistake('', stamp, 'is 0: the sender sets no time; set header.stamp');
  return whole + nanos / 1e9;
}

/** Best class of a detection: ROS 2 has a hypothesis, Noetic a number. */
function bestResult(raw: Fields): { kind?: string; confidence?: number } {
  const best: { kind?: string; confidence?: number } = {};
  if (raw.results === undefined) return best;
  each(list(raw, 'results'), 'results', (item) => {
    const result = fieldsOf(item);
    const hypothesis = isFields(result.hypothesis) ? result.hypothesis : result;
    const score = real(hypothesis, 'score');
    if (best.confidence !== undefined && score <= best.confidence) return;
    best.confidence = score;
    const kind = hypothesis.class_id ?? hypothesis.id;
    best.kind = kind === undefined || kind === '' ? undefined : identity(kind, 'class_id');
  });
  return best;
}

/** `id` of ROS 2, `tracking_id` of Foxy; Noetic has neither. */
function detectionId(raw: Fields, untracked: Untracked, place: string): string | null {
  const value =
    raw.is_tracking === false ? undefined : raw.id !== undefined && raw.id !== '' ? raw.id : raw.tracking_id;
  if (value === undefined || value === '') return untrackedId(untracked, 'id', raw.id, place);
  return identity(value, 'id');
}

interface Detection2DOptions extends CommonOptions, Omit<PlacementOptions, 'frameOffset'> {
  untracked: Untracked;
  rotated: 'refuse' | 'enclose';
}

class Detection2DDecoder extends RosDecoder {
  readonly #placement: Placement;

  constructor(readonly options: Detection2DOptions) {
    super(options, 'detections');
    this.#placement = new Placement({ ...options, frameOffset: 0 });
  }

  protected object(raw: Fields, place: string): WireObject | null {
    const id = detectionId(raw, this.options.untracked, place);
    const box = under('bbox', () => this.#box(inner(raw, 'bbox')));
    const { kind, confidence } = bestResult(raw);
    return id === null ? null : objectOf(id, box, kind, confidence);
  }

  #box(bbox: Fields) {
    const center = inner(bbox, 'center');
    const width = real(bbox, 'size_x');
    const height = real(bbox, 'size_y');
    if (!(width > 0 && height > 0)) throw new Mistake('size_x', [width, height], 'and size_y must be above 0');
    const [x, y, theta] = under('center', () => {
      const position = isFields(center.position) ? center.position : center;
      return [real(position, 'x'), real(position, 'y'), center.theta === undefined ? 0 : real(center, 'theta')];
    });
    if (theta === 0) return this.#placement.box(x - width / 2, y - height / 2, width, height);
    if (this.options.rotated === 'refuse')
      throw new Mistake('center.theta', theta, 'is not 0; say rotated=enclose to take the upright box around it');
    return this.#placement.corners(...enclosing(x, y, width, height, theta), '');
  }
}

const POSITION_OPTIONS = {
  ...COMMON_OPTIONS,
  position: {
    kind: 'choice',
    choices: ['xyz', 'xy'],
    default: 'xyz',
    help: 'the point that is compared: the centre in space, or in the plane; metres in the frame of frameId',
  },
} as const;

interface PositionOptions extends CommonOptions {
  position: 'xyz' | 'xy';
}

function pointOf(position: Fields, options: PositionOptions): number[] {
  const point = [real(position, 'x'), real(position, 'y')];
  if (options.position === 'xyz') point.push(real(position, 'z'));
  return point;
}

function pointObject(id: string, point: number[], kind?: string, confidence?: number): WireObject {
  const object: WireObject = { id, point };
  if (kind !== undefined) object.class = kind;
  if (confidence !== undefined) object.confidence = confidence;
  return object;
}

class Detection3DDecoder extends RosDecoder {
  constructor(readonly options: PositionOptions & { untracked: Untracked }) {
    super(options, 'detections');
  }

  protected object(raw: Fields, place: string): WireObject | null {
    const id = detectionId(raw, this.options.untracked, place);
    const point = under('bbox', () => {
      const center = inner(inner(raw, 'bbox'), 'center');
      return under('center.position', () => pointOf(inner(center, 'position'), this.options));
    });
    const { kind, confidence } = bestResult(raw);
    return id === null ? null : pointObject(id, point, kind, confidence);
  }
}

/** Labels of autoware_perception_msgs/ObjectClassification. */
const LABELS = [
  'UNKNOWN',
  'CAR',
  'TRUCK',
  'BUS',
  'TRAILER',
  'MOTORCYCLE',
  'BICYCLE',
  'PEDESTRIAN',
  'ANIMAL',
  'HAZARD',
  'OVER_DRIVABLE',
  'UNDER_DRIVABLE',
];

class TrackedObjectsDecoder extends RosDecoder {
  constructor(readonly options: PositionOptions) {
    super(options, 'objects');
  }

  protected object(raw: Fields): WireObject {
    const id = uuidOf(under('object_id', () => inner(raw, 'object_id').uuid));
    const point = under('kinematics', () => {
      const pose = inner(inner(inner(raw, 'kinematics'), 'pose_with_covariance'), 'pose');
      return under('pose_with_covariance.pose.position', () => pointOf(inner(pose, 'position'), this.options));
    });
    const confidence = raw.existence_probability === undefined ? undefined : real(raw, 'existence_probability');
    return pointObject(id, point, labelOf(raw), confidence);
  }
}

function labelOf(raw: Fields): string | undefined {
  if (raw.classification === undefined) return undefined;
  let best = Number.NEGATIVE_INFINITY;
  let label: string | undefined;
  each(list(raw, 'classification'), 'classification', (item) => {
    const entry = fieldsOf(item);
    const probability = real(entry, 'probability');
    const name = LABELS[entry.label as number];
    if (name === undefined)
      throw new Mistake('label', entry.label, `must be a whole number from 0 to ${LABELS.length - 1}`);
    if (probability <= best) return;
    best = probability;
    label = name;
  });
  return label;
}

const BASE64 = /^[A-Za-z0-9+/]{22}==$/;

/** Sixteen bytes, as base64 or as numbers, as text of 32 hexadecimal digits. */
function uuidOf(value: unknown): string {
  const bytes =
    typeof value === 'string' && BASE64.test(value)
      ? Array.from(atob(value), (character) => character.charCodeAt(0))
      : value;
  const sound =
    Array.isArray(bytes) &&
    bytes.length === 16 &&
    bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
  if (!sound)
    throw new Mistake('object_id.uuid', value, 'must be 16 bytes: base64, as rosbridge writes them, or a list');
  return bytes.map((byte: number) => byte.toString(16).padStart(2, '0')).join('');
}

const COMMON = {
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: null },
} as const satisfies Partial<Adapter>;
const { frameOffset: _none, ...PIXELS } = BOX_OPTIONS;

export const rosDetection2D = defineAdapter({
  ...COMMON,
  name: 'ros-detection2d',
  title: 'ROS vision_msgs/Detection2DArray as JSON, boxes in pixels',
  bases: { frame: null, pixel: 0 },
  options: { ...PIXELS, ...COMMON_OPTIONS, ...UNTRACKED_OPTIONS, ...ROTATED_OPTIONS },
  shape: () => 'box',
  create: (values) => new Detection2DDecoder(values),
});

export const rosDetection3D = defineAdapter({
  ...COMMON,
  name: 'ros-detection3d',
  title: 'ROS vision_msgs/Detection3DArray as JSON, positions in metres',
  options: { ...POSITION_OPTIONS, ...UNTRACKED_OPTIONS },
  shape: () => 'point',
  create: (values) => new Detection3DDecoder(values),
});

export const autoware = defineAdapter({
  ...COMMON,
  name: 'autoware',
  title: 'Autoware TrackedObjects as JSON, positions in metres',
  options: POSITION_OPTIONS,
  shape: () => 'point',
  create: (values) => new TrackedObjectsDecoder(values),
});
