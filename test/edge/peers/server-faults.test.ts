/**
 * Mistakes of the server itself: whatever a message, a request or an event runs into, the process and its peers live.
 */
import { strict as assert } from 'node:assert';
import type { OpenedFeed } from '../../../src/edge/feeds/feed-port.js';
import { ServerFaults } from '../../../src/edge/peers/server-faults.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { Meters } from '../../../src/telemetry/meters.js';
import { frame, get, hello, openFeed, Probe, type RunningEdge, startEdge } from '../../kit/edge.js';
import { fakeReportEvent } from '../../kit/fake-live.js';

const broken = () => {
  throw new Error('broken');
};

describe('server faults', () => {
  let edge: RunningEdge;

  beforeEach(async () => {
    edge = await startEdge();
  });
  afterEach(() => edge.stop());

  it('reads a number of 123,000 digits as a coordinate that is too large', async () => {
    const { probe } = await openFeed(edge);
    const digits = '1'.repeat(123_000);
    probe.send(`{"type":"frame","seq":1,"k":1,"objects":[{"id":"7","box":[${digits},20,30,40]}]}`);
    const { code, path, seq } = await probe.nextOf('reject');
    assert.deepEqual([code, path, seq], ['frame_invalid', 'objects[0].box[0]', 1]);
    probe.send(`{"type":"frame","seq":2,"k":2,"objects":[{"id":"7","box":[0.${digits},20,30,40]}]}`);
    while ((await probe.nextOf('ack')).seq !== 2);
    assert.deepEqual(edge.live.parts.get('gate-7/tracker/sort')!.at(-1)!.objects[0].box![0], Number(`0.${digits}`));
    assert.equal(edge.meters.faults.message, 0);
  });

  it('sends what the scanner fails on the general way', async () => {
    const { probe } = await openFeed(edge);
    edge.desk.scanner.scan = broken;
    probe.send(frame(1));
    assert.equal((await probe.nextOf('ack')).seq, 1);
    assert.equal(edge.meters.faults.message, 1);
  });

  it('answers a frame it fails on with a reject that uses up its number, and goes on', async () => {
    const { probe } = await openFeed(edge);
    const { rules } = edge.desk;
    const opened = await edge.live.openFeed({ stream: 'gate-7', role: 'tracker', tracker: 'sort' });
    const shared = rules.of('gate-7', (opened as OpenedFeed).plan);
    Object.defineProperty(shared, 'objectsMax', { get: broken, configurable: true });
    probe.send(frame(1));
    const { code, seq } = await probe.nextOf('reject');
    assert.deepEqual([code, seq], ['fault', 1]);
    Object.defineProperty(shared, 'objectsMax', { value: 2000 });
    probe.send(frame(2));
    while ((await probe.nextOf('ack')).seq !== 2);
    assert.deepEqual(
      edge.live.parts.get('gate-7/tracker/sort')!.map(({ seq: stored }) => stored),
      [2],
    );
  });

  it('closes with 1011 when it fails on a hello', async () => {
    edge.live.openFeed = broken;
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello());
    assert.equal((await probe.nextOf('reject')).code, 'fault');
    assert.equal((await probe.closed).code, 1011);
  });

  it('answers a request it fails on with 500, counts, and logs the same fault once', async () => {
    edge.live.recentEvents = broken;
    for (let n = 0; n < 3; n++) assert.equal((await get(`${edge.url}/v1/events`)).status, 500);
    assert.equal(edge.meters.faults.request, 3);
    assert.equal(edge.logLines.filter((line) => line.includes('"event":"fault"')).length, 1);
    assert.match(String((await get(`${edge.url}/metrics`)).body), /^tgospa_faults_total\{place="request"\} 3$/m);
  });

  it('publishes the next event when one could not be', async () => {
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    const event = fakeReportEvent();
    edge.live.emit({ ...event, report: null as never });
    edge.live.emit({ ...event, k: 7 });
    assert.equal((await reader.next()).k, 7);
    assert.equal(edge.meters.faults.event, 1);
  });

  it('logs a fault again after a minute, with how often it came', () => {
    const lines: string[] = [];
    let nowMs = 0;
    const logger = createLogger({ write: (line) => lines.push(line) });
    const faults = new ServerFaults(new Meters(1), logger, () => nowMs);
    for (; nowMs <= 60_000; nowMs += 20_000) faults.report('message', new Error(`number ${nowMs}`));
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).unlogged),
      [0, 2],
    );
  });
});
