/**
 * A tracker that dies and is retired while its reference lives: what was wrong with it stays open until it is better.
 */
import assert from 'node:assert/strict';
import { readConfig, resolveStream } from '../../src/config/config.js';
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

describe('a tracker that is gone', () => {
  it('keeps its spike while the reference lives, over a restart, until it is back and better', () => {
    const settings = { windowFrames: 5, spikes: { calmSeconds: 1 } };
    const text = JSON.stringify({ streams: { defaults: settings } });
    const plan = resolveStream(readConfig({ text, env: {} }).config, 'gate', {}) as StreamPlan;
    let stream = new Stream('gate', plan);
    let position = 0;
    let k = 0;
    const said: Array<[string, string | undefined]> = [];
    const apply = (record: LogRecord) => {
      for (const { events } of stream.apply(record, ++position))
        for (const event of events) if (event.type === 'spike') said.push([event.phase, (event as SpikeEvent).reason]);
    };
    const open = () => {
      for (const feed of FEEDS) apply({ kind: 'open', stream: 'gate', atMs: START_MS + 100 * k, ...feed } as LogRecord);
    };
    const send = (frames: number, sees: boolean) => {
      for (const end = k + frames; k < end; ) {
        k++;
        const truths = Array.from({ length: 10 }, (_, n): WireObject => ({ id: `${n}`, box: [100 * n, 50, 40, 80] }));
        for (const feed of FEEDS) {
          const objects = pack(feed.role === 'reference' || sees ? truths : []);
          const part = { seq: k, k, t: START_MS / 1000 + k / 10, objects };
          apply({ kind: 'part', stream: 'gate', atMs: START_MS + 100 * k, ...feed, part } as LogRecord);
        }
      }
    };
    open();
    send(300, true);
    send(30, false);
    apply({ kind: 'retire', stream: 'gate', atMs: START_MS + 100 * k, tracker: 'sort' } as LogRecord);
    assert.deepEqual(said, [
      ['start', undefined],
      ['update', 'retired'],
    ]);
    const state = unpackSnapshot(packSnapshot(stream.toJSON()), 'the snapshot');
    stream.dispose();
    stream = Stream.fromJSON('gate', { state, position });
    assert.equal(stream.spikes().length, 1);
    open();
    send(200, true);
    assert.deepEqual(said.slice(2), [['end', 'recovered']]);
    assert.equal(stream.spikes().length, 0);
    stream.dispose();
  });
});
