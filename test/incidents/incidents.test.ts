/**
 * One incident for everything that is wrong with a tracker: in a stream, over snapshots, and while the tracker is gone.
 */
import assert from 'node:assert/strict';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { IncidentWatch } from '../../src/incidents/incident.js';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import type { IncidentEvent } from '../../src/wire/incidents.js';
import { pack, type WireObject } from '../../src/wire/objects.js';

const START_MS = 1_763_251_200_000;
const FEEDS = [
  { role: 'reference', tracker: null },
  { role: 'tracker', tracker: 'sort' },
] as const;

/** Ten objects that walk, ten frames a second; what the tracker says of them is up to the test. */
class Scene {
  readonly told: IncidentEvent[] = [];
  stream: Stream;
  k = 0;
  #position = 0;

  constructor(settings: object = {}) {
    const text = JSON.stringify({
      streams: { defaults: { windowFrames: 20, spikes: { calmSeconds: 1 }, ...settings } },
    });
    this.stream = new Stream('gate', resolveStream(readConfig({ text, env: {} }).config, 'gate', {}) as StreamPlan);
    for (const feed of FEEDS) this.apply({ kind: 'open', ...feed });
  }

  apply(record: object): void {
    const whole = { stream: 'gate', atMs: START_MS + 100 * this.k, ...record } as LogRecord;
    for (const { events } of this.stream.apply(whole, ++this.#position))
      for (const event of events) if (event.type === 'incident') this.told.push(event);
  }

  truths(k: number): WireObject[] {
    return Array.from(
      { length: 10 },
      (_, n): WireObject => ({
        id: `${n}`,
        box: [150 * n + 40 * Math.sin(k / 6 + n), 50 + 300 * (n % 2), 60, 120],
      }),
    );
  }

  send(frames: number, tracks: (truths: WireObject[], k: number) => WireObject[] = (truths) => truths): this {
    for (const end = this.k + frames; this.k < end; ) {
      this.k++;
      const truths = this.truths(this.k);
      for (const feed of FEEDS) {
        const objects = pack(feed.role === 'reference' ? truths : tracks(truths, this.k));
        const part = { seq: this.k, k: this.k, t: START_MS / 1000 + this.k / 10, objects };
        this.apply({ kind: 'part', ...feed, part });
      }
    }
    return this;
  }

  restart(): void {
    const state = unpackSnapshot(packSnapshot(this.stream.toJSON()), 'the snapshot');
    this.stream.dispose();
    this.stream = Stream.fromJSON('gate', { state, position: this.#position });
  }

  get open() {
    return this.stream.info().incidents;
  }
}

const words = (told: readonly IncidentEvent[]) => told.map(({ phase, reason, cause }) => `${phase} ${reason} ${cause}`);

describe('incidents', () => {
  it('gather all signals of a fault into one, with its cause, and end when it is better', () => {
    const scene = new Scene().send(300);
    const still = scene.truths(300);
    // misses, false tracks and errors: three spikes
    scene.send(60, () => still);
    const [first] = scene.told;
    assert.equal(first.phase, 'start');
    assert.equal(new Set(scene.told.map(({ id }) => id)).size, 1, words(scene.told).join('; '));
    assert.equal(scene.open.length, 1);
    const [{ cause, signals, severity, sinceMs, message }] = scene.open;
    assert.deepEqual([cause, severity], ['frozen', 'critical'], message);
    assert.ok(signals.length >= 2, JSON.stringify(signals));
    const missed = signals.find(({ signal }) => signal === 'missed')!;
    assert.ok(missed.concerned! > 0 && missed.of === 10, JSON.stringify(missed));
    assert.ok(Math.abs(sinceMs - (START_MS + 30_000)) < 3000, new Date(sinceMs).toISOString());
    scene.send(150);
    assert.deepEqual([scene.told.at(-1)!.phase, scene.told.at(-1)!.reason], ['end', 'recovered']);
    assert.deepEqual(scene.open, []);
    scene.stream.dispose();
  });

  it('are not lost and not repeated over a restart, and go on as without one', () => {
    const [whole, cut] = [new Scene(), new Scene()];
    for (const scene of [whole, cut]) scene.send(300).send(12, () => []);
    cut.restart();
    assert.deepEqual(cut.open, whole.open);
    assert.equal(cut.open.length, 1);
    for (const scene of [whole, cut]) scene.send(30, () => []).send(100);
    assert.deepEqual(cut.told, whole.told);
    assert.equal(whole.told.filter(({ phase }) => phase === 'start').length, 1);
    assert.equal(whole.told.at(-1)!.phase, 'end');
    for (const { stream } of [whole, cut]) stream.dispose();
  });

  it('are a warning while a spike may be chance, and critical once it is beyond doubt', () => {
    const watch = new IncidentWatch({ distance: 'iou', cutoff: 0.5 });
    const nobody = { ids: [], coordinates: [] };
    const around = { frames: () => [{ reference: nobody, tracker: nobody, stride: 4 }] };
    const spike = { signal: 'missed' as const, k: 5, at: 9, expected: 0.1, observed: 1, score: 1, objects: [] };
    const [start] = watch.update([{ ...spike, phase: 'start', certain: false }], { k: 9 }, around);
    assert.deepEqual([start.phase, start.severity], ['start', 'warning']);
    const [sure] = watch.update([{ ...spike, phase: 'update', reason: 'certain', certain: true }], { k: 12 }, around);
    assert.deepEqual([sure.phase, sure.reason, sure.severity, sure.id], ['update', 'signals', 'critical', start.id]);
  });

  it('are looked at anew when something joins them: a camera that is covered while errors are large', () => {
    const off = (truths: WireObject[]) => truths.map(({ id, box }) => ({ id, box: [box![0] + 15, ...box!.slice(1)] }));
    const scene = new Scene().send(300).send(400, off as never);
    assert.deepEqual(
      scene.open.map(({ severity, signals }) => [severity, signals.map(({ signal }) => signal)]),
      [['warning', ['localization']]],
    );
    scene.send(10, () => []);
    const [{ cause, severity }] = scene.open;
    assert.deepEqual([cause, severity], ['silent', 'critical'], words(scene.told).join('; '));
    scene.stream.dispose();
  });

  it('wake nobody any longer when what did is over, although the rest goes on', () => {
    const off = (truths: WireObject[]) => truths.map(({ id, box }) => ({ id, box: [box![0] + 15, ...box!.slice(1)] }));
    const scene = new Scene()
      .send(300)
      .send(60, off as never)
      .send(40, () => []);
    assert.deepEqual(scene.open[0].severity, 'critical');
    scene.send(200, off as never);
    const [{ severity, signals }] = scene.open;
    assert.deepEqual(
      [severity, signals.filter(({ over }) => !over).map(({ signal }) => signal)],
      ['warning', ['localization']],
    );
    assert.equal(scene.told.at(-1)!.severity, 'warning', 'and that is told');
    scene.stream.dispose();
  });

  it('stay one severity lower for what was learned, whatever begins beside it, and not for what is new', () => {
    const watch = new IncidentWatch({ distance: 'iou', cutoff: 0.5 });
    const nobody = { ids: [], coordinates: [] };
    const around = { frames: () => [{ reference: nobody, tracker: nobody, stride: 4 }] };
    const spike = { k: 5, at: 9, expected: 0.1, observed: 1, score: 2, objects: [], certain: true };
    const tell = (signal: 'missed' | 'false' | 'switch', phase: 'start' | 'update', reason?: 'adopted') =>
      watch.update([{ ...spike, signal, phase, ...(reason && { reason }) }], { k: 9 }, around).at(-1);
    tell('false', 'start');
    assert.equal(tell('false', 'update', 'adopted')?.severity, 'info');
    assert.deepEqual([tell('missed', 'start')?.severity, watch.open?.lasting], ['critical', null]);
    assert.equal(tell('missed', 'update', 'adopted')?.severity, 'warning');
    assert.deepEqual([tell('switch', 'start')?.severity, watch.open?.lasting], ['warning', null]);
  });

  it('stay open, one severity lower, with the old usual beside the new one, when what is bad was learned', () => {
    const scene = new Scene({ spikes: { adoptSeconds: 10, calmSeconds: 1 } }).send(300);
    scene.send(300, (truths) => truths.slice(5));
    const adopted = scene.told.filter(({ reason }) => reason === 'adopted');
    assert.equal(adopted.length, 1, words(scene.told).join('; '));
    assert.deepEqual([adopted[0].lasting, adopted[0].severity], ['adopted', 'warning']);
    const [{ signals }] = scene.open;
    const missed = signals.find(({ signal }) => signal === 'missed')!;
    assert.ok(missed.expected < 1 && missed.expectedNow !== undefined, JSON.stringify(missed));
    scene.stream.dispose();
  });

  it('stay open when the tracker is gone while the reference lives, over a restart, until it is back and better', () => {
    const scene = new Scene().send(300).send(30, () => []);
    scene.apply({ kind: 'retire', tracker: 'sort' });
    assert.deepEqual(scene.told.at(-1)!.reason, 'retired');
    scene.restart();
    assert.deepEqual(
      scene.open.map(({ tracker, lasting, severity, cause }) => [tracker, lasting, severity, cause]),
      [['sort', 'retired', 'warning', 'silent']],
    );
    for (const feed of FEEDS) scene.apply({ kind: 'open', ...feed });
    scene.send(200);
    assert.deepEqual([scene.told.at(-1)!.phase, scene.told.at(-1)!.reason], ['end', 'recovered']);
    assert.equal(scene.told.filter(({ phase }) => phase === 'start').length, 1);
    scene.stream.dispose();
  });

  it('come back under the same number within minutes, and say how often', () => {
    const scene = new Scene()
      .send(300)
      .send(20, () => [])
      .send(100)
      .send(20, (truths) => [...truths, ...truths.map(({ id, box }) => ({ id: `copy of ${id}`, box }))]);
    const starts = scene.told.filter(({ phase }) => phase === 'start');
    assert.deepEqual(
      starts.map(({ id, times }) => [id, times]),
      [
        [1, 1],
        [1, 2],
      ],
    );
    const causes = scene.told.filter(({ phase }) => phase !== 'start').map(({ cause }) => cause);
    assert.deepEqual([...new Set(causes)], ['silent', 'duplicated']);
    assert.equal(starts[1].sinceMs, starts[0].sinceMs);
    scene.stream.dispose();
  });

  it('begin with a finding where the feeds never fitted together', () => {
    const scene = new Scene().send(100, (truths) =>
      truths.map(({ id, box: [x, y, width, height] = [0, 0, 1, 1] }) => ({ id, box: [x, y, x + width, y + height] })),
    );
    const [{ cause, signals }] = scene.open;
    assert.equal(cause, 'box_order');
    assert.deepEqual(
      signals
        .filter(({ over }) => !over)
        .map(({ signal }) => signal)
        .includes('wiring'),
      true,
    );
    scene.stream.dispose();
  });
});
