/**
 * One right message of every format, and what each adapter must be told first: for the contract test and the fuzzer.
 */

/** Options without which an adapter cannot work. */
export const NEEDED: Record<string, Record<string, unknown>> = {
  ultralytics: { coordinates: 'pixels' },
  'ultralytics-txt': { imageWidth: 1920, imageHeight: 1080 },
  'deepstream-full': { toleranceMs: 10 },
  'onvif-json': { imageWidth: 1920, imageHeight: 1080 },
  'onvif-xml': { imageWidth: 1920, imageHeight: 1080 },
  mapping: {
    objects: 'tracks',
    id: 'tid',
    box: ['bbox'],
    boxConvention: 'ltwh',
    coordinates: 'pixels',
    frame: 'frame',
    class: 'kind',
  },
};

const header = { stamp: { sec: 1763251200, nanosec: 33000000 }, frame_id: 'map' };

/** Messages that decode without a problem; those without frame numbers of their own get k beside them. */
export const SAMPLES: Record<string, unknown> = {
  native: { k: 1, t: 0.5, objects: [{ id: '7', box: [10, 20, 30, 40], class: 'car', confidence: 0.9 }] },
  motchallenge: '1,7,10,20,30,40,0.9,-1,-1,-1\n1,8,50,20,30,40,0.8,-1,-1,-1\n2,7,11,20,30,40,0.9,-1,-1,-1\n',
  kitti:
    '0 7 Car 0 0 -1.5 10.5 20 40.5 60 1.5 1.6 3.9 2.1 1.4 8.4 -1.5\n1 7 Car 0 0 -1.5 11.5 20 41.5 60 1.5 1.6 3.9 2.1 1.4 8.4 -1.5\n',
  visdrone: '1,7,10,20,30,40,1,4,0,0\n1,8,50,20,30,40,1,1,0,1\n2,7,11,20,30,40,1,4,0,0\n',
  'ua-detrac':
    '<?xml version="1.0" encoding="utf-8"?>\n<sequence name="MVI_1">\n  <sequence_attribute camera_state="stable" sence_weather="sunny"/>\n  <ignored_region>\n    <box left="1" top="2" width="30" height="40"/>\n  </ignored_region>\n  <frame density="1" num="1">\n    <target_list>\n      <target id="7">\n        <box left="10" top="20" width="30" height="40"/>\n        <attribute orientation="18.4" speed="6.8" truncation_ratio="0.1" vehicle_type="car"/>\n      </target>\n    </target_list>\n  </frame>\n</sequence>\n',
  'coco-video': {
    videos: [{ id: 1, name: 'gate' }],
    images: [{ id: 3, video_id: 1, frame_index: 0, file_name: 'gate/0.jpg' }],
    categories: [{ id: 1, name: 'person' }],
    annotations: [{ id: 1, image_id: 3, track_id: 7, category_id: 1, bbox: [10, 20, 30, 40], iscrowd: 0 }],
  },
  'ultralytics-txt': '0 0.25 0.5 0.1 0.2 0.9 7\n2 0.75 0.5 0.1 0.2 0.8 8\n',
  ultralytics: [
    { name: 'person', class: 0, confidence: 0.9, box: { x1: 10, y1: 20, x2: 40, y2: 60 }, track_id: 7 },
    { name: 'car', class: 2, confidence: 0.8, box: { x1: 50.5, y1: 20, x2: 80, y2: 60 }, track_id: 8 },
  ],
  'supervision-json': [
    {
      x_min: 10,
      y_min: 20,
      x_max: 40,
      y_max: 60,
      class_id: 0,
      confidence: 0.9,
      tracker_id: 7,
      class_name: 'person',
      frame_number: 3,
    },
    { x_min: 50, y_min: 20, x_max: 80, y_max: 60, class_id: '', confidence: '', tracker_id: 8, frame_number: '3' },
  ],
  'supervision-csv':
    'x_min,y_min,x_max,y_max,class_id,confidence,tracker_id,class_name,frame_number\n10,20,40,60,0,0.9,7,"a, person",3\n50,20,80,60,,,8,car,3\n10,20,40,60,0,0.9,7,car,4\n',
  'deepstream-minimal': {
    version: '4.0',
    id: '12',
    '@timestamp': '2018-04-11T04:59:59.828Z',
    sensorId: 'cam-7',
    objects: ['957|1834|150|1918|215|Vehicle|#|sedan|Bugatti|M|blue|CA 444|California|0.8', '958|10|20|40|60|Person'],
  },
  'deepstream-full': {
    messageid: '84a3a0ad-7eb8-49a2-9aa7-104ded6764d0',
    mdsversion: '1.0',
    '@timestamp': '2018-04-11T04:59:59.828Z',
    sensor: { id: 'cam-7', type: 'Camera' },
    object: {
      id: '957',
      speed: 1,
      vehicle: { type: 'sedan', confidence: 0.8 },
      bbox: { topleftx: 10, toplefty: 20, bottomrightx: 40, bottomrighty: 60 },
      location: { lat: 0, lon: 0, alt: 0 },
    },
    event: { id: 'e', type: 'moving' },
  },
  'deepstream-kitti': `Car 957 0.0 0 0.0 10.0 20.0 40.0 60.0 ${'0.0 '.repeat(7)}0.8\n`,
  cvat: '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n  <track id="0" label="car" source="manual">\n    <box frame="0" outside="0" occluded="0" keyframe="1" xtl="10.0" ytl="20.0" xbr="40.0" ybr="60.0" z_order="0">\n    </box>\n    <box frame="1" outside="1" occluded="0" keyframe="1" xtl="10.0" ytl="20.0" xbr="40.0" ybr="60.0"/>\n  </track>\n</annotations>\n',
  'ros-detection2d': {
    header,
    detections: [
      {
        header,
        results: [{ hypothesis: { class_id: 'car', score: 0.9 }, pose: {} }],
        bbox: { center: { position: { x: 25, y: 40 }, theta: 0 }, size_x: 30, size_y: 40 },
        id: '7',
      },
    ],
  },
  'ros-detection3d': {
    op: 'publish',
    topic: '/detections',
    msg: {
      header,
      detections: [
        {
          header,
          results: [{ hypothesis: { class_id: 'car', score: 0.9 } }],
          bbox: {
            center: { position: { x: 1, y: 2, z: 3 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
            size: { x: 4, y: 2, z: 1 },
          },
          id: '7',
        },
      ],
    },
  },
  autoware: {
    header,
    objects: [
      {
        object_id: { uuid: 'AAECAwQFBgcICQoLDA0ODw==' },
        existence_probability: 0.9,
        classification: [{ label: 1, probability: 0.7 }],
        kinematics: { pose_with_covariance: { pose: { position: { x: 1, y: 2, z: 3 } } } },
        shape: { type: 0, dimensions: { x: 4, y: 2, z: 1 } },
      },
    ],
  },
  frigate: {
    type: 'update',
    before: {},
    after: {
      id: '1607123955.475377-mxklsc',
      camera: 'front_door',
      frame_time: 1607123961.837752,
      label: 'person',
      score: 0.79,
      false_positive: false,
      end_time: null,
      box: [424, 500, 536, 712],
    },
  },
  'onvif-json': {
    Frame: [
      {
        '@UtcTime': '2026-10-10T12:24:57.321Z',
        Transformation: { Translate: { '@x': -1, '@y': 1 }, Scale: { '@x': 0.003125, '@y': -0.00416667 } },
        Object: [
          {
            '@ObjectId': 15,
            Appearance: {
              Shape: { BoundingBox: { '@left': 20, '@top': 180, '@right': 100, '@bottom': 30 } },
              Class: { Type: [{ '@Likelihood': 0.8, '#text': 'Human' }] },
            },
          },
        ],
        ObjectTree: { Rename: [{ from: { '@ObjectId': 12 }, to: { '@ObjectId': 15 } }], Delete: { '@ObjectId': 3 } },
      },
    ],
  },
  'onvif-xml':
    '<?xml version="1.0" encoding="UTF-8"?>\n<tt:MetadataStream xmlns:tt="http://www.onvif.org/ver10/schema"><tt:VideoAnalytics><tt:Frame UtcTime="2026-10-10T12:24:57.321Z"><tt:Transformation><tt:Translate x="-1.0" y="-1.0"/><tt:Scale x="0.003125" y="0.00416667"/></tt:Transformation><tt:Object ObjectId="12"><tt:Appearance><tt:Shape><tt:BoundingBox left="20.0" top="180.0" right="100.0" bottom="30.0"/><tt:CenterOfGravity x="60.0" y="50.0"/></tt:Shape><tt:Class><tt:Type Likelihood="0.8">Human</tt:Type></tt:Class></tt:Appearance></tt:Object></tt:Frame></tt:VideoAnalytics></tt:MetadataStream>',
  mapping: {
    frame: 4,
    tracks: [
      { tid: 7, bbox: [10, 20, 30, 40], kind: 'car' },
      { tid: '8', bbox: [1, 2, '3', 4] },
    ],
  },
};

/** Formats whose frame number comes beside the message. */
export const STAMPED: ReadonlySet<string> = new Set(['ultralytics', 'ultralytics-txt', 'deepstream-kitti']);
