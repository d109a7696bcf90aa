/**
 * One MOT17 sequence in every format, as files for `tgospa eval` and, in the most usual ones, as live feeds over real
 * sockets: the TGOSPA must be that of the original files.
 */
import { strict as assert } from 'node:assert';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import WebSocket from 'ws';
import { type App, startApp } from '../../src/app.js';
import { connect } from '../../src/client.js';
import { runEval } from '../../src/commands/eval/eval.js';
import { readConfig } from '../../src/config/config.js';
import { type Evaluation, evaluate, type Frame, presets } from '../../src/index.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Probe } from '../kit/edge.js';
import { filesOf, type PlainFrame, secondsOf, WRITERS, type Written } from '../kit/format-writers.js';
import { mot17 } from '../kit/metric/mot17.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { skipUnless } from '../kit/system/system.js';

const SEQUENCE = 'MOT17-09';
const TRACKER = 'BoT-SORT-ReTrack-Botsort_baseline';
const PROFILE = 'online-surveillance';
/** Formats of positions: their boxes are lost, so they are compared by a scene of points. */
const POINTS = new Set(['ros-detection3d', 'autoware']);
/** Those that come over sockets most; every format goes message by message through the golden cases. */
const LIVE = [
  'motchallenge',
  'kitti',
  'ultralytics',
  'supervision-json',
  'deepstream-minimal',
  'deepstream-full',
  'ros-detection2d',
  'frigate',
];
/** Frames sent live: each report is verified with all of its window, so time grows with the square. */
const LIVE_FRAMES = 150;

const feedOf = (frames: Frame[], role: 'reference' | 'tracker'): PlainFrame[] =>
  frames.map((frame, k) => ({ k, objects: frame[role] as PlainFrame['objects'] }));

function assertSame(actual: Evaluation, expected: Evaluation, what: string): void {
  assert.ok(
    Math.abs(actual.distance - expected.distance) < 1e-9 * expected.distance,
    `${what}: distance ${actual.distance} instead of ${expected.distance}`,
  );
  assert.deepEqual(actual.count, expected.count, what);
}

describe('a sequence in every format', () => {
  let folder: string;
  let frames: Frame[];
  let expected: Evaluation;

  before(function () {
    const found = mot17(SEQUENCE, TRACKER);
    skipUnless(this, found !== null, `${SEQUENCE} is not in ../shared/data/MOT17`);
    frames = found!;
    expected = evaluate(frames, presets[PROFILE]);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-formats-'));
  });
  after(() => folder && rmSync(folder, { recursive: true }));

  const write = (name: string, role: 'reference' | 'tracker', written: Written): string => {
    const path = join(folder, name, role);
    for (const file of filesOf(path, written)) {
      mkdirSync(dirname(file.name), { recursive: true });
      writeFileSync(file.name, file.text);
    }
    return path;
  };

  for (const name of Object.keys(WRITERS)) {
    it(`gives tgospa eval the same number as ${name}`, async () => {
      const written = WRITERS[name](feedOf(frames, 'tracker'));
      const options = Object.entries(written.options).flatMap(([key, value]) => ['--option', `${key}=${value}`]);
      const files = ['--reference', write(name, 'reference', WRITERS[name](feedOf(frames, 'reference')))];
      files.push('--tracker', write(name, 'tracker', written));
      const points = [
        '--distance',
        'euclidean',
        '--cutoff',
        '50',
        '--admissible-error',
        '34',
        '--switch-penalty',
        '20',
      ];
      const out = new PassThrough();
      const console = { out, err: new PassThrough().resume(), screen: { columns: 80, colors: false }, progress: false };
      const read = text(out);
      await runEval(['--format', name, ...options, ...files, '--json', ...(POINTS.has(name) ? points : [])], console);
      out.end();
      const [entry] = JSON.parse(await read) as Array<Evaluation & { params: never }>;
      const corner = ({ id, box }: { id: string; box: number[] }) => ({ id, point: [box[0], box[1], 0] });
      const scene = frames.map(({ reference, tracker }) => ({
        reference: (reference as PlainFrame['objects']).map(corner),
        tracker: (tracker as PlainFrame['objects']).map(corner),
      }));
      assertSame(entry, POINTS.has(name) ? evaluate(scene, entry.params) : expected, name);
    });
  }

  describe('sent live', () => {
    let app: App;
    let sent: Frame[];
    let expectedLive: Evaluation;

    before(async () => {
      sent = frames.slice(0, LIVE_FRAMES);
      expectedLive = evaluate(sent, presets[PROFILE]);
      const { config } = readConfig({
        // the window holds all that is sent, so that its last report is what evaluate says of it
        text: JSON.stringify({
          evaluation: UNTIMED_EVALUATION,
          // a frame is complete when the next one begins, however long that takes on a busy machine
          limits: { payloadBytes: 16_777_216, unfinishedMs: 600_000 },
          streams: { defaults: { profiles: [PROFILE], windowFrames: sent.length, pairing: UNTIMED_PAIRING } },
        }),
        overrides: { listen: { port: 0 }, data: { dir: join(folder, 'data') } },
        env: {},
      });
      app = await startApp(config, { env: {}, logger: createLogger({ level: 'silent' }) });
    });
    after(() => app?.stop());

    for (const name of LIVE) {
      it(`gives the same number as ${name}`, async () => {
        const stream = `as-${name}`;
        const written = WRITERS[name](feedOf(sent, 'tracker'));
        const probe = await Probe.open(`${app.urls.live}?stream=${stream}`);
        const open = { url: app.urls.http, stream, WebSocket };
        const reference = connect({ ...open, role: 'reference' });
        const tracker = connect({ ...open, role: 'tracker', tracker: 'sort', format: name, options: written.options });
        const rejects: unknown[] = [];
        tracker.on('reject', (reject) => rejects.push(reject));
        try {
          const native = async () => {
            for (const { k, objects } of feedOf(sent, 'reference'))
              await reference.send({ k, t: secondsOf(k), objects });
            await reference.end();
          };
          const foreign = async () => {
            for (const message of written.messages) await tracker.sendMessage(message);
            await tracker.end();
          };
          await Promise.all([native(), foreign()]);
          assert.deepEqual(rejects, []);
          let report: { type: string; frame: number; window: Evaluation };
          do report = (await probe.nextOf('report')) as never;
          while (report.frame < sent.length - 1);
          assertSame(report.window, expectedLive, name);
        } finally {
          await reference.close({ flush: false });
          await tracker.close({ flush: false });
          await probe.close();
        }
      });
    }
  });
});
