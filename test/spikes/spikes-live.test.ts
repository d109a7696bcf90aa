/** Spikes of a running evaluator: the event, the history, the metrics, the webhook, and the same after a crash. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { LiveEvent, SpikeEvent } from '../../src/wire/events.js';
import type { FeedId } from '../../src/wire/feed.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { Chance } from '../bench/spike-scene.js';
import { Probe } from '../kit/edge.js';
import { metric } from '../kit/exposition.js';
import { pipelineOf } from '../kit/live.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const START_MS = 1_763_251_200_000;
const quiet = createLogger({ level: 'silent' });
const reference: FeedId = { stream: 'gate-7', role: 'reference', tracker: null };
const tracker: FeedId = { stream: 'gate-7', role: 'tracker', tracker: 'sort' };

/** Ten objects that stand still; the tracker blinks now and then, and loses six of them from frame 301 to 400. */
function sceneFrame(chance: Chance, k: number): { truths: WireObject[]; tracks: WireObject[] } {
  const truths = Array.from({ length: 10 }, (_, n): WireObject => ({ id: `${n}`, box: [100 * n, 50, 40, 80] }));
  const lost = k > 300 && k <= 400 ? 6 : 0;
  const tracks = truths
    .filter((_, n) => n >= lost && chance.next() > 0.01)
    .map(
      ({ id, box: [x, y, w, h] = [0, 0, 1, 1] }): WireObject => ({
        id: `y${id}`,
        box: [x + 3 * chance.next(), y, w, h],
      }),
    );
  return { truths, tracks };
}

const spikesOf = (events: LiveEvent[]) => events.filter((event): event is SpikeEvent => event.type === 'spike');

describe('spikes of a running evaluator', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-spikes-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** Sends frames `from` to `to`; resolves when they have been judged. */
  async function send(live: Live, chance: Chance, from: number, to: number, startMs = START_MS): Promise<void> {
    live.openFeed(reference);
    live.openFeed(tracker);
    const stored: Promise<void>[] = [];
    for (let k = from; k <= to; k++) {
      const { truths, tracks } = sceneFrame(chance, k);
      stored.push(live.ingest(reference, { seq: k, k, objects: pack(truths) }, startMs + 33 * k));
      stored.push(live.ingest(tracker, { seq: k, k, objects: pack(tracks) }, startMs + 33 * k));
    }
    await Promise.all(stored);
    await until(`frame ${to}`, () => live.streams()[0]?.series[0]?.k === to);
  }

  it('finds the same after a crash as without one', async function () {
    skipInFastRun(this);
    const runs: SpikeEvent[][] = [];
    // crashes while learning, in the middle of a block, and while a spike lasts
    for (const crashes of [[], [130, 250], [311, 350]]) {
      const folder = join(dir, String(runs.length));
      const text = JSON.stringify({
        data: { dir: folder, groupCommitMs: 1, snapshotFrames: 40 },
        streams: { defaults: { spikes: { calmSeconds: 1 } } },
      });
      const { config } = readConfig({ text, env: {} });
      const chance = new Chance(4);
      const found = new Map<number, SpikeEvent>();
      let from = 1;
      for (const to of [...crashes, 520]) {
        const live = await Live.open(config, { now: () => START_MS }, quiet);
        live.events$.subscribe((event) => {
          if (event.type === 'spike') found.set(event.n!, event);
        });
        await send(live, chance, from, to);
        assert.equal(live.spikes().length, to > 301 && to < 400 ? 1 : 0, `at frame ${to}`);
        await live.kill();
        from = to + 1;
      }
      runs.push([...found.values()]);
    }
    const plain = (spikes: SpikeEvent[]) => spikes.map(({ n: _n, ...spike }) => spike);
    const [straight, ...broken] = runs;
    assert.deepEqual(
      straight.map(({ phase, signal, reason }) => [phase, signal, reason]),
      [
        ['start', 'missed', undefined],
        ['update', 'missed', 'certain'],
        ['end', 'missed', 'recovered'],
      ],
    );
    assert.ok(straight[0].k >= 300 && straight[0].at <= 303, JSON.stringify(straight[0]));
    assert.deepEqual([...straight[0].objects].sort().slice(0, 6), ['0', '1', '2', '3', '4', '5']);
    for (const spikes of broken) assert.deepEqual(plain(spikes), plain(straight));
  });

  it('tells them on /v1/live, in the history, as metrics and to a webhook, and goes on after a restart', async function () {
    skipInFastRun(this);
    const told: Array<{ status: string; alerts: Array<{ status: string; labels: Record<string, string> }> }> = [];
    const messages = () =>
      told.map(({ alerts }) => alerts.map(({ status, labels: own }) => `${status} ${own.severity} ${own.alertname}`));
    const webhook = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        told.push(JSON.parse(text));
        response.end();
      });
    });
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`;
    const text = JSON.stringify({
      listen: { port: 0 },
      data: { dir },
      // frames go straight into the pipeline
      evaluation: { workers: 0 },
      streams: { defaults: { spikes: { calmSeconds: 1 } } },
      notify: { resolveAfterMs: 0, receivers: [{ name: 'oncall', type: 'webhook', url }] },
    });
    const { config } = readConfig({ text, env: {} });
    const chance = new Chance(4);
    // how long it lasts counts by the clock: frames come as if they were made now
    const startMs = Date.now();
    const labels = { stream: 'gate-7', tracker: 'sort', signal: 'missed' };
    const metrics = async (at: string) => (await fetch(at)).text();
    let app = await startApp(config, { env: {}, logger: quiet });
    try {
      const reader = await Probe.open(`${app.urls.live}?stream=gate-7`);
      await send(pipelineOf(app), chance, 1, 330, startMs);
      const start = (await reader.nextOf('spike')) as unknown as SpikeEvent;
      assert.deepEqual([start.phase, start.signal, start.tracker], ['start', 'missed', 'sort']);
      assert.deepEqual(
        spikesOf(await app.live.recentEvents('gate-7')).map(({ n, phase, certain }) => [n === start.n, phase, certain]),
        [
          [true, 'start', false],
          [false, 'update', true],
        ],
      );
      const during = await metrics(app.urls.metrics);
      assert.equal(metric(during, 'tgospa_spike_active', labels), 1);
      assert.equal(metric(during, 'tgospa_spikes_total', labels), 1);
      assert.ok(metric(during, 'tgospa_spike_score', labels) >= 1);
      assert.ok(metric(during, 'tgospa_spike_observed_rate', labels) > 5);
      assert.ok(metric(during, 'tgospa_spike_expected_rate', labels) < 1);
      assert.equal(metric(during, 'tgospa_spike_active', { ...labels, signal: 'false' }), 0);
      await until('the webhook knows', () => told.length > 0);
      await app.stop();
      app = await startApp(config, { env: {}, logger: quiet });
      assert.equal(metric(await metrics(app.urls.metrics), 'tgospa_spike_active', labels), 1);
      await send(pipelineOf(app), chance, 331, 520, startMs);
      await until('the webhook knows that it is over', () => told.length > 1);
      assert.deepEqual(messages(), [['firing critical TrackerMissSpike'], ['resolved critical TrackerMissSpike']]);
      const after = await metrics(app.urls.metrics);
      assert.equal(metric(after, 'tgospa_spike_active', labels), 0);
      assert.equal(metric(after, 'tgospa_spikes_total', labels), 1);
      assert.equal(metric(after, 'tgospa_notifications_total', { receiver: 'oncall', result: 'sent' }), 1);
    } finally {
      await app.stop();
      webhook.closeAllConnections();
      await new Promise((resolve) => webhook.close(resolve));
    }
  });
});
