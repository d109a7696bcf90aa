/**
 * A tracker that dies and is retired while its reference lives: what was wrong with it stays open until it is better.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { NEW_TIMING } from '../../src/incidents/timing.js';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import type { SpikeEvent } from '../../src/wire/events.js';
import { pack, type WireObject } from '../../src/wire/objects.js';

const START_MS = 1_763_251_200_000;
const FEEDS = [
  { role: 'reference', tracker: null },
  { role: 'tracker', tracker: 'sort' },
] as const;

/** where a detector that counts says how many seconds it has learned from */
const USUAL_AGE = 17;
const retiredSpikes = (format: number) =>
  new URL(`../../../test/cases/snapshots/retired-spikes-${format}.gz`, import.meta.url);

/** A stream of ten objects and one tracker, and what is said of its spikes. */
class Gate {
  stream: Stream;
  position = 0;
  k = 0;
  readonly said: Array<[string, string | undefined]> = [];

  constructor() {
    const settings = { windowFrames: 5, spikes: { calmSeconds: 1 } };
    const text = JSON.stringify({ streams: { defaults: settings } });
    const plan = resolveStream(readConfig({ text, env: {} }).config, 'gate', {}) as StreamPlan;
    this.stream = new Stream('gate', plan);
  }

  apply(record: object): void {
    const whole = { stream: 'gate', atMs: START_MS + 100 * this.k, ...record } as LogRecord;
    for (const { events } of this.stream.apply(whole, ++this.position))
      for (const event of events)
        if (event.type === 'spike') this.said.push([event.phase, (event as SpikeEvent).reason]);
  }

  open(): void {
    for (const feed of FEEDS) this.apply({ kind: 'open', ...feed });
  }

  send(frames: number, sees: boolean): void {
    for (const end = this.k + frames; this.k < end; ) {
      const k = ++this.k;
      const truths = Array.from({ length: 10 }, (_, n): WireObject => ({ id: `${n}`, box: [100 * n, 50, 40, 80] }));
      for (const feed of FEEDS) {
        const objects = pack(feed.role === 'reference' || sees ? truths : []);
        this.apply({ kind: 'part', ...feed, part: { seq: k, k, t: START_MS / 1000 + k / 10, objects } });
      }
    }
  }

  /** Goes on from a snapshot. */
  restore(packed: Uint8Array): void {
    this.stream.dispose();
    const state = unpackSnapshot(packed, 'the snapshot');
    this.stream = Stream.fromJSON('gate', { state, position: this.position });
  }
}

describe('a tracker that is gone', () => {
  let gate: Gate;
  beforeEach(() => {
    gate = new Gate();
  });
  afterEach(() => gate.stream.dispose());

  it('keeps its spike while the reference lives, over a restart, until it is back and better', () => {
    gate.open();
    gate.send(300, true);
    gate.send(30, false);
    gate.apply({ kind: 'retire', tracker: 'sort' });
    assert.deepEqual(gate.said, [
      ['start', undefined],
      ['update', 'retired'],
    ]);
    gate.restore(packSnapshot(gate.stream.toJSON()));
    assert.equal(gate.stream.spikes().length, 1);
    gate.open();
    gate.send(200, true);
    assert.deepEqual(gate.said.slice(2), [['end', 'recovered']]);
    assert.equal(gate.stream.spikes().length, 0);
  });

  for (const format of [3, 4, 5, 6, 7])
    it(`is remembered from a snapshot with spikes of format ${format}`, () => {
      [gate.position, gate.k] = [663, 330];
      gate.restore(gunzipSync(readFileSync(retiredSpikes(format))));
      assert.deepEqual(
        gate.stream.spikes().map(({ signal }) => signal),
        ['missed'],
      );
      gate.open();
      gate.send(200, true);
      assert.deepEqual(gate.said, [['end', 'recovered']]);
      const { series } = unpackSnapshot(packSnapshot(gate.stream.toJSON()), 'it') as { series: object[] };
      assert.equal(series.length, 1);
      // what is not a number is null in JSON
      const learned = JSON.parse(JSON.stringify(series[0])).spikes;
      assert.ok(!JSON.stringify([learned.pieces, learned.census]).includes('null'), 'everything learned is a number');
      assert.ok(learned.pieces.missed[USUAL_AGE] > 25, 'what was usual is so still');
      const { timing } = (series[0] as { incidents: { timing: object } }).incidents;
      assert.deepEqual(Object.keys(timing).sort(), Object.keys(NEW_TIMING).sort());
    });
});
