/** The detector of the library: what it returns, that it resumes where it was, and that a live stream says the same. */
import assert from 'node:assert/strict';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { incidentsIn, spikesIn } from '../../src/incidents/detector.js';
import { type DetectorNews, type Obj, presets, SlidingWindow, SpikeDetector } from '../../src/index.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import { pack } from '../../src/wire/objects.js';
import { skipInFastRun } from '../kit/system/system.js';

const START = 1_763_251_200;
const PARAMS = { ...presets['online-surveillance'], windowFrames: 20 };
const SETTINGS = { calmSeconds: 1 };
const FRAMES = 260;

/** Ten objects that walk, ten frames a second. */
const truthsAt = (k: number): Obj[] =>
  Array.from({ length: 10 }, (_, n) => ({
    id: `${n}`,
    box: [150 * n + 40 * Math.sin(k / 6 + n), 50 + 300 * (n % 2), 60, 120],
  }));

/** Frozen from frame 151 to 190. */
const tracksAt = (k: number): Obj[] => truthsAt(k > 150 && k <= 190 ? 150 : k);

const markOf = (k: number) => ({ k, t: START + k / 10 });

/** Everything that is said of the frames; `restartAt` puts the detector through JSON after that frame. */
function play(restartAt = 0): DetectorNews[] {
  const window = new SlidingWindow(PARAMS);
  let detector = new SpikeDetector(SETTINGS, PARAMS);
  const said: DetectorNews[] = [];
  for (let k = 1; k <= FRAMES; k++) {
    window.push({ reference: truthsAt(k), tracker: tracksAt(k) });
    said.push(...detector.update(window, markOf(k)));
    if (k === restartAt) detector = SpikeDetector.fromJSON(JSON.parse(JSON.stringify(detector)), SETTINGS, PARAMS);
  }
  window.dispose();
  return said;
}

/** The same frames through a stream as the live evaluator has it. */
function live() {
  const text = JSON.stringify({ streams: { defaults: { windowFrames: PARAMS.windowFrames, spikes: SETTINGS } } });
  const stream = new Stream('gate', resolveStream(readConfig({ text, env: {} }).config, 'gate', {}) as StreamPlan);
  const said: { spikes: object[]; incidents: object[] } = { spikes: [], incidents: [] };
  let position = 0;
  const apply = (record: object, k: number) => {
    const whole = { stream: 'gate', atMs: 1000 * markOf(k).t, ...record } as LogRecord;
    for (const { events } of stream.apply(whole, ++position))
      for (const { n: _n, ...event } of events as Array<{ n?: number; type: string }>) {
        if (event.type === 'spike') said.spikes.push(event);
        if (event.type === 'incident') said.incidents.push(event);
      }
  };
  const feeds = [
    { role: 'reference', tracker: null, at: truthsAt },
    { role: 'tracker', tracker: 'sort', at: tracksAt },
  ];
  for (const { at: _at, ...feed } of feeds) apply({ kind: 'open', ...feed }, 0);
  for (let k = 1; k <= FRAMES; k++)
    for (const { at, ...feed } of feeds)
      apply({ kind: 'part', ...feed, part: { seq: k, ...markOf(k), objects: pack(at(k)) } }, k);
  stream.dispose();
  return said;
}

describe('the detector', () => {
  it('returns spikes that start and end, and the diagnosis of what they are together', () => {
    const said = play();
    const phases = new Set(said.map(({ phase }) => phase));
    for (const phase of ['start', 'end', 'diagnosis'] as const) assert.ok(phases.has(phase), [...phases].join());
    const diagnoses = said.flatMap((one) => (one.phase === 'diagnosis' ? [one] : []));
    assert.equal(diagnoses[0].incident.phase, 'start');
    assert.equal(diagnoses.at(-1)!.incident.phase, 'end');
    assert.ok(diagnoses.some(({ cause, message }) => cause === 'frozen' && /frozen/.test(message)));
    assert.equal(new Set(diagnoses.map(({ incident }) => incident.id)).size, 1);
  });

  it('resumes from JSON in the middle of a diagnosis as if nothing had happened', function () {
    skipInFastRun(this);
    const whole = play();
    const first = whole.find(({ phase }) => phase === 'start')!.at;
    for (const restartAt of [first, first + 2]) assert.deepEqual(play(restartAt), whole);
  });

  it('is what the live evaluator uses: the same frames give the same spikes and incidents', () => {
    const news = play();
    const id = { stream: 'gate', tracker: 'sort', profile: 'online-surveillance' };
    const { spikes, incidents } = live();
    // when a record was written, and which objects switched, only a stream knows
    const plain = (list: readonly object[]) => list.map((one) => ({ ...one, atMs: 0, t: 0, objects: 0, signals: 0 }));
    assert.deepEqual(plain(spikes), plain(spikesIn(news).map((one) => ({ type: 'spike', ...id, ...one }))));
    assert.deepEqual(plain(incidents), plain(incidentsIn(news).map((one) => ({ type: 'incident', ...id, ...one }))));
  });

  it('finds spikes from glances alone, and diagnoses nothing then', () => {
    const window = new SlidingWindow(PARAMS);
    const detector = new SpikeDetector(SETTINGS, PARAMS.exponent, PARAMS.cutoff);
    const said: string[] = [];
    for (let k = 1; k <= FRAMES; k++) {
      window.push({ reference: truthsAt(k), tracker: tracksAt(k) });
      for (const { phase, signal } of detector.update(window.glance(), markOf(k))) said.push(`${phase} ${signal}`);
    }
    window.dispose();
    const whole = spikesIn(play()).map(({ phase, signal }) => `${phase} ${signal}`);
    assert.deepEqual(said, whole);
    assert.equal(detector.open, null);
  });
});
