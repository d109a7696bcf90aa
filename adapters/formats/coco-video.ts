/**
 * COCO for video, as TAO, BDD100K, YouTube-VIS and MMTracking have it: a document {videos, images, annotations,
 * categories}, or, as results, the list of annotations alone. The frame number is the image_id, which both files share;
 * image ids are keys and need not follow each other. Several videos are judged one after the other: their ids are told
 * apart by the video's number. Classes have the names of the categories; results have their ids only, and get the
 * names of the reference they are compared with.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Role } from '../../src/wire/feed.js';
import type { WireObject } from '../../src/wire/objects.js';
import { type Decoded, defineAdapter, Mistake, type Part, type Stamp, WholeFrames } from '../kit/adapter.js';
import { withArea } from '../kit/boxes.js';
import {
  each,
  type Fields,
  fieldsOf,
  frameNumber,
  identity,
  jsonOf,
  list,
  optionalNumber,
  refuseStamp,
} from '../kit/fields.js';
import { objectOf, Placement, TRACKED_BOX_OPTIONS, type TrackedBoxOptions, untrackedId } from '../kit/placement.js';

interface Options extends TrackedBoxOptions {
  video: string | undefined;
  crowds: 'drop' | 'keep';
}

class CocoDecoder extends WholeFrames {
  readonly #placement: Placement;
  /** by category id */
  #classNames: Record<string, string> = {};

  constructor(
    readonly options: Options,
    private readonly role: Role,
  ) {
    super();
    this.#placement = new Placement(options);
  }

  override decode(message: unknown, stamp?: Stamp): Decoded {
    const decoded = super.decode(message, stamp);
    return Object.keys(this.#classNames).length > 0 ? { ...decoded, classNames: this.#classNames } : decoded;
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    const document = jsonOf(message);
    if (Array.isArray(document)) return this.#parts(document, '', new Map(), new Map());
    const fields = fieldsOf(document);
    const videos = new Map<string, string>();
    const parts = new Map<number, Part>();
    if (Array.isArray(fields.categories)) this.#classNames = namesOf(fields.categories);
    if (fields.images !== undefined) this.#images(list(fields, 'images'), this.#wantedVideo(fields), videos, parts);
    return this.#parts(list(fields, 'annotations'), 'annotations', videos, parts);
  }

  /** Every image is a frame, also without annotations. */
  #images(images: unknown[], wanted: string | null, videos: Map<string, string>, parts: Map<number, Part>): void {
    each(images, 'images', (item) => {
      const image = fieldsOf(item);
      const k = this.#placement.frame(frameNumber(image.id, 'id'), 'id');
      const video = image.video_id === undefined ? '' : identity(image.video_id, 'video_id');
      videos.set(String(image.id), video);
      if (wanted === null || wanted === video) parts.set(k, { k, objects: [] });
    });
  }

  /** The id of the video that is chosen by name or id; null: all count. */
  #wantedVideo(fields: Fields): string | null {
    const { video } = this.options;
    if (video === undefined) return null;
    const videos = Array.isArray(fields.videos) ? fields.videos.map((item) => fieldsOf(item, 'videos')) : [];
    const found = videos.find(({ id, name }) => String(id) === video || name === video);
    if (!found) throw new Mistake('videos', videos.length, `must hold the video ${video}, which is chosen`);
    return identity(found.id, 'id');
  }

  #parts(items: unknown[], path: string, videos: Map<string, string>, parts: Map<number, Part>): Part[] {
    const isClosed = parts.size > 0;
    each(items, path, (item, index) => {
      const annotation = fieldsOf(item);
      const k = this.#placement.frame(frameNumber(annotation.image_id, 'image_id'), 'image_id');
      const part = parts.get(k) ?? { k, objects: [] };
      if (isClosed && !parts.has(k)) return;
      parts.set(k, part);
      const object = this.#object(annotation, videos, `${k}:${index + 1}`);
      if (object) part.objects.push(object);
    });
    return [...parts.values()].sort((a, b) => a.k! - b.k!);
  }

  #object(raw: Fields, videos: Map<string, string>, place: string): WireObject | null {
    if (this.options.crowds === 'drop' && (raw.iscrowd === 1 || raw.iscrowd === true)) return null;
    const track = raw.track_id ?? raw.instance_id;
    const id =
      track === undefined || track === null
        ? untrackedId(this.options.untracked, 'track_id', track, place)
        : identity(track, 'track_id');
    const [left, top, width, height] = withArea(boxOf(raw), this.role);
    const video = raw.video_id ?? videos.get(String(raw.image_id)) ?? '';
    const category = raw.category_id === undefined ? undefined : identity(raw.category_id, 'category_id');
    const kind = category === undefined ? undefined : (this.#classNames[category] ?? category);
    const full = id !== null && video !== '' ? `${video}:${id}` : id;
    const box = this.#placement.box(left, top, width, height);
    return full === null ? null : objectOf(full, box, kind, optionalNumber(raw, 'score'));
  }
}

/** Names of categories by their ids; one without a name keeps its id. */
function namesOf(categories: unknown[]): Record<string, string> {
  const names: Record<string, string> = {};
  each(categories, 'categories', (item) => {
    const { id, name } = fieldsOf(item);
    if (typeof name === 'string' && name !== '') names[identity(id, 'id')] = name;
  });
  return names;
}

function boxOf(raw: Fields): Box {
  const box = list(raw, 'bbox');
  const isSound = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
  if (box.length !== 4 || !box.every(isSound) || !((box[2] as number) >= 0 && (box[3] as number) >= 0))
    throw new Mistake('bbox', box, 'must be left, top, width and height, the last two 0 or above');
  return box as unknown as Box;
}

export const cocoVideo = defineAdapter({
  name: 'coco-video',
  title: 'COCO for video (TAO, BDD100K, YouTube-VIS): annotations, and results as a list',
  message: 'json',
  numbering: 'own',
  bases: { frame: null, pixel: 0 },
  options: {
    ...TRACKED_BOX_OPTIONS,
    video: { kind: 'text', help: 'name or id of the only video that counts; all of them unless given' },
    crowds: {
      kind: 'choice',
      choices: ['drop', 'keep'],
      default: 'drop',
      help: 'annotations of crowds (iscrowd): drop or keep them',
    },
  },
  isList: () => true,
  isSparse: true,
  shape: () => 'box',
  create: (values, role) => new CocoDecoder(values, role),
});
