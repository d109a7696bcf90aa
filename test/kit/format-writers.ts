/**
 * Frames written in every format, as the programs behind them write: the inverse of the adapters, by other code. For
 * the end-to-end test, which sends a real sequence in each of them, and for the benchmark.
 */
import type { Box } from '../../src/metric/evaluation.js';

/** One frame of a feed; k counts from 0. */
export interface PlainFrame {
  k: number;
  objects: Array<{ id: string; box: Box }>;
}

export interface Written {
  /** options the adapter needs to read it */
  options: Record<string, unknown>;
  /** messages in order; `k` where the format wants it beside them */
  messages: Array<{ k?: number; message: unknown }>;
  /** how a file holds them */
  file: 'text' | 'lines' | 'envelopes' | 'folder';
}

export const FRAMES_PER_SECOND = 25;
const START_SECONDS = 1_700_000_000;
/** Seconds since 1970 at which a frame was taken. */
export const secondsOf = (k: number): number => START_SECONDS + k / FRAMES_PER_SECOND;
const isoOf = (k: number) => new Date(Math.round(secondsOf(k) * 1000)).toISOString();
const stampOf = (k: number) => {
  const milliseconds = Math.round(secondsOf(k) * 1000);
  return { sec: Math.floor(milliseconds / 1000), nanosec: (milliseconds % 1000) * 1e6 };
};

const WIDTH = 1920;
const HEIGHT = 1080;
const SIZE = { imageWidth: WIDTH, imageHeight: HEIGHT };

type Writer = (frames: PlainFrame[]) => Written;

const perFrame = (file: Written['file'], options: object, write: (frame: PlainFrame) => unknown): Writer => {
  const beside = file === 'envelopes' || file === 'folder';
  return (frames) => ({
    options: options as Record<string, unknown>,
    file,
    messages: frames.map((frame) => ({ ...(beside ? { k: frame.k } : {}), message: write(frame) })),
  });
};

const perObject = (
  options: object,
  write: (object: PlainFrame['objects'][number], frame: PlainFrame) => unknown,
): Writer => {
  return (frames) => ({
    options: options as Record<string, unknown>,
    file: 'lines',
    messages: frames.flatMap((frame) => frame.objects.map((object) => ({ message: write(object, frame) }))),
  });
};

const corners = ([left, top, width, height]: Box): Box => [left, top, left + width, top + height];

/** Frigate tells about objects one by one: here about each of them at every frame, and when it ends. */
const frigate: Writer = (frames) => {
  const messages: Written['messages'] = [];
  let before: PlainFrame['objects'] = [];
  const tell = (type: string, k: number, { id, box }: PlainFrame['objects'][number]) =>
    messages.push({
      message: {
        type,
        before: {},
        after: {
          id,
          camera: 'gate',
          frame_time: secondsOf(k),
          label: 'person',
          score: 0.5,
          false_positive: false,
          end_time: type === 'end' ? secondsOf(k) : null,
          box: corners(box),
        },
      },
    });
  for (const { k, objects } of frames) {
    const ids = new Set(objects.map(({ id }) => id));
    const known = new Set(before.map(({ id }) => id));
    for (const gone of before) if (!ids.has(gone.id)) tell('end', k, gone);
    for (const object of objects) tell(known.has(object.id) ? 'update' : 'new', k, object);
    before = objects;
  }
  return { options: {}, file: 'lines', messages };
};

const cvat: Writer = (frames) => {
  const tracks = new Map<string, string[]>();
  for (const { k, objects } of frames)
    for (const { id, box } of objects) {
      const [left, top, right, bottom] = corners(box);
      const lines = tracks.get(id) ?? [];
      tracks.set(id, lines);
      lines.push(
        `    <box frame="${k}" outside="0" occluded="0" keyframe="1" xtl="${left}" ytl="${top}" xbr="${right}" ybr="${bottom}" z_order="0">\n    </box>`,
      );
    }
  const body = [...tracks].map(
    ([id, lines]) => `  <track id="${id}" label="person">\n${lines.join('\n')}\n  </track>\n`,
  );
  const text = `<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n${body.join('')}</annotations>\n`;
  return { options: {}, file: 'text', messages: [{ message: text }] };
};

const onvifObject = (id: string, box: Box) => {
  const [left, top, right, bottom] = corners(box);
  const x = (value: number) => (value / WIDTH) * 2 - 1;
  const y = (value: number) => 1 - (value / HEIGHT) * 2;
  return { id, left: x(left), top: y(top), right: x(right), bottom: y(bottom) };
};

const uuidOf = (id: string) => Buffer.from(id.padStart(16, '0').slice(-16), 'latin1').toString('base64');
const header = (k: number) => ({ stamp: stampOf(k), frame_id: 'camera' });
const hypothesis = { hypothesis: { class_id: 'person', score: 0.5 } };
const zeros = '0.0 '.repeat(7);
const SUPERVISION_HEADER = 'x_min,y_min,x_max,y_max,class_id,confidence,tracker_id,frame_number';

/** By name of the adapter. */
export const WRITERS: Record<string, Writer> = {
  native: perFrame('lines', {}, ({ k, objects }) => ({ k, objects })),
  motchallenge: perFrame('text', { frameOffset: -1 }, ({ k, objects }) =>
    objects.map(({ id, box }) => `${k + 1},${id},${box.join(',')},1,-1,-1,-1\n`).join(''),
  ),
  kitti: perFrame('text', {}, ({ k, objects }) =>
    objects
      .map(
        ({ id, box }) =>
          `${k} ${id} Pedestrian -1 -1 -10 ${corners(box).join(' ')} -1 -1 -1 -1000 -1000 -1000 -10 0.5\n`,
      )
      .join(''),
  ),
  ultralytics: perFrame('envelopes', { coordinates: 'pixels' }, ({ objects }) =>
    objects.map(({ id, box }) => {
      const [x1, y1, x2, y2] = corners(box);
      return { name: 'person', class: 0, confidence: 0.5, box: { x1, y1, x2, y2 }, track_id: Number(id) };
    }),
  ),
  'supervision-json': perFrame('lines', {}, ({ k, objects }) =>
    objects.map(({ id, box }) => {
      const [x_min, y_min, x_max, y_max] = corners(box);
      return { x_min, y_min, x_max, y_max, class_id: 0, confidence: 0.5, tracker_id: Number(id), frame_number: k };
    }),
  ),
  'supervision-csv': perFrame('text', { columns: SUPERVISION_HEADER.split(',') }, ({ k, objects }) =>
    objects.map(({ id, box }) => `${corners(box).join(',')},0,0.5,${id},${k}\n`).join(''),
  ),
  'deepstream-minimal': perFrame('lines', {}, ({ k, objects }) => ({
    version: '4.0',
    id: k,
    '@timestamp': isoOf(k),
    sensorId: 'gate',
    objects: objects.map(({ id, box }) => `${id}|${corners(box).join('|')}|Person`),
  })),
  'deepstream-full': perObject({ toleranceMs: 5 }, ({ id, box }, { k }) => {
    const [topleftx, toplefty, bottomrightx, bottomrighty] = corners(box);
    return {
      messageid: '84a3a0ad-7eb8-49a2-9aa7-104ded6764d0',
      mdsversion: '1.0',
      '@timestamp': isoOf(k),
      sensor: { id: 'gate', type: 'Camera', description: 'a gate' },
      object: {
        id,
        speed: 0,
        person: { gender: '', confidence: 0.5 },
        bbox: { topleftx, toplefty, bottomrightx, bottomrighty },
        location: { lat: 0, lon: 0, alt: 0 },
      },
      event: { id: 'e', type: 'moving' },
    };
  }),
  'deepstream-kitti': perFrame('folder', {}, ({ objects }) =>
    objects.map(({ id, box }) => `Person ${id} 0.0 0 0.0 ${corners(box).join(' ')} ${zeros}0.5\n`).join(''),
  ),
  cvat,
  'ros-detection2d': perFrame('lines', {}, ({ k, objects }) => ({
    header: header(k),
    detections: objects.map(({ id, box: [left, top, width, height] }) => ({
      header: header(k),
      results: [hypothesis],
      bbox: {
        center: { position: { x: left + width / 2, y: top + height / 2 }, theta: 0 },
        size_x: width,
        size_y: height,
      },
      id,
    })),
  })),
  'ros-detection3d': perFrame('lines', {}, ({ k, objects }) => ({
    header: header(k),
    detections: objects.map(({ id, box: [x, y, width, height] }) => ({
      results: [hypothesis],
      bbox: {
        center: { position: { x, y, z: 0 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
        size: { x: width, y: height, z: 1 },
      },
      id,
    })),
  })),
  visdrone: perFrame('text', {}, ({ k, objects }) =>
    objects.map(({ id, box }) => `${k + 1},${id},${box.join(',')},1,1,0,0\n`).join(''),
  ),
  'ua-detrac': (frames) => ({ options: {}, file: 'text', messages: [{ message: detracSequence(frames) }] }),
  'coco-video': (frames) => ({
    options: {},
    file: 'lines',
    messages: [
      {
        message: {
          videos: [{ id: 1, name: 'gate' }],
          images: frames.map(({ k }) => ({ id: k + 10, video_id: 1, frame_index: k })),
          categories: [{ id: 1, name: 'person' }],
          annotations: frames.flatMap(({ k, objects }) =>
            objects.map(({ id, box }) => ({ image_id: k + 10, track_id: Number(id), category_id: 1, bbox: box })),
          ),
        },
      },
    ],
  }),
  'ultralytics-txt': perFrame('folder', SIZE, ({ objects }) =>
    objects
      .map(({ id, box: [left, top, width, height] }) => {
        const shares = [(left + width / 2) / WIDTH, (top + height / 2) / HEIGHT, width / WIDTH, height / HEIGHT];
        return `0 ${shares.join(' ')} 0.9 ${id}\n`;
      })
      .join(''),
  ),
  autoware: perFrame('lines', {}, ({ k, objects }) => ({
    header: header(k),
    objects: objects.map(({ id, box: [x, y, width, height] }) => ({
      object_id: { uuid: uuidOf(id) },
      existence_probability: 0.5,
      classification: [{ label: 7, probability: 1 }],
      kinematics: {
        pose_with_covariance: {
          pose: { position: { x, y, z: 0 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
          covariance: Array.from({ length: 36 }, () => 0),
        },
        twist_with_covariance: { twist: { linear: { x: 0, y: 0, z: 0 } }, covariance: [] },
        is_stationary: false,
      },
      shape: { type: 0, footprint: { points: [] }, dimensions: { x: width, y: height, z: 1 } },
    })),
  })),
  frigate,
  'onvif-json': perFrame('lines', SIZE, ({ k, objects }) => ({
    Frame: [
      {
        '@UtcTime': isoOf(k),
        Object: objects.map(({ id, box }) => {
          const { left, top, right, bottom } = onvifObject(id, box);
          return {
            '@ObjectId': Number(id),
            Appearance: {
              Shape: { BoundingBox: { '@left': left, '@top': top, '@right': right, '@bottom': bottom } },
              Class: { Type: [{ '@Likelihood': 0.5, '#text': 'Human' }] },
            },
          };
        }),
      },
    ],
  })),
  'onvif-xml': (frames) => ({
    options: SIZE,
    file: 'text',
    messages: [{ message: metadataStream(frames) }],
  }),
  mapping: perFrame(
    'lines',
    { objects: 'tracks', id: 'id', box: ['box'], boxConvention: 'ltwh', coordinates: 'pixels', frame: 'n' },
    ({ k, objects }) => ({ n: k, tracks: objects }),
  ),
};

function detracSequence(frames: PlainFrame[]): string {
  const elements = frames.map(({ k, objects }) => {
    const targets = objects.map(
      ({ id, box: [left, top, width, height] }) =>
        `<target id="${id}"><box left="${left}" top="${top}" width="${width}" height="${height}"/><attribute vehicle_type="car"/></target>`,
    );
    return `<frame density="${objects.length}" num="${k + 1}"><target_list>${targets.join('')}</target_list></frame>\n`;
  });
  return `<sequence name="gate">\n<sequence_attribute camera_state="stable"/>\n${elements.join('')}</sequence>\n`;
}

function metadataStream(frames: PlainFrame[]): string {
  const elements = frames.map(({ k, objects }) => {
    const inner = objects.map(({ id, box }) => {
      const { left, top, right, bottom } = onvifObject(id, box);
      return `<tt:Object ObjectId="${id}"><tt:Appearance><tt:Shape><tt:BoundingBox left="${left}" top="${top}" right="${right}" bottom="${bottom}"/></tt:Shape><tt:Class><tt:Type Likelihood="0.5">Human</tt:Type></tt:Class></tt:Appearance></tt:Object>`;
    });
    return `<tt:Frame UtcTime="${isoOf(k)}">${inner.join('')}</tt:Frame>\n`;
  });
  return `<tt:MetadataStream xmlns:tt="http://www.onvif.org/ver10/schema"><tt:VideoAnalytics>\n${elements.join('')}</tt:VideoAnalytics></tt:MetadataStream>`;
}

/** Files of what was written, by name; a folder has one for each frame. */
export function filesOf(name: string, { file, messages }: Written): Array<{ name: string; text: string }> {
  if (file === 'folder')
    return messages.map(({ k, message }) => ({
      name: `${name}/00_000_${String(k).padStart(6, '0')}.txt`,
      text: String(message),
    }));
  const text = messages.map(({ k, message }) => {
    if (file === 'text') return String(message);
    return `${JSON.stringify(file === 'envelopes' ? { k, message } : message)}\n`;
  });
  return [{ name, text: text.join('') }];
}
