/** Readers of /v1/live: what they get, and what they get when they are slow. */
import { strict as assert } from 'node:assert';
import { Subscribers } from '../../src/edge/subscribers.js';
import type { Report } from '../../src/index.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { configOf, get, Probe, type RunningEdge, startEdge, untilTurn } from '../kit/edge.js';
import { FakeLive, fakeReportEvent } from '../kit/fake-live.js';
import { skipInFastRun } from '../kit/system/system.js';

describe('subscribers', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  it('sends reports without their frames, and events as they are', async () => {
    edge = await startEdge();
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    const event = fakeReportEvent();
    edge.live.emit(event);
    const report = await reader.next();
    const { perFrame, newest, settled, lifetime, frame: at, events, ...window } = event.report as Report;
    assert.deepEqual(report, {
      type: 'report',
      stream: 'gate-7',
      tracker: 'sort',
      profile: 'online-surveillance',
      k: 100,
      frame: at,
      receivedMs: event.receivedMs,
      solveMs: 0.2,
      window,
      newest,
      settled,
      lifetime,
    });
    assert.deepEqual([perFrame, events], [[], []]);
    const change: LiveEvent = {
      type: 'switch',
      stream: 'gate-7',
      tracker: 'sort',
      profile: 'online-surveillance',
      k: 70,
      truth: '6',
      from: '25',
      to: '28',
      switches: 1,
    };
    edge.live.emit(change);
    assert.deepEqual(await reader.next(), change);
  });

  it('filters by stream, tracker and profile', async () => {
    edge = await startEdge();
    const reader = await Probe.open(`${edge.ws}/v1/live?stream=gate-7&tracker=sort&profile=fine`);
    for (const changes of [
      { stream: 'yard', profile: 'fine' },
      { tracker: 'other', profile: 'fine' },
      { profile: 'coarse' },
      { profile: 'fine' },
    ])
      edge.live.emit(fakeReportEvent(changes));
    edge.live.emit({
      type: 'silence',
      stream: 'gate-7',
      role: 'reference',
      tracker: null,
      since: 1,
      over: false,
    } as LiveEvent);
    const first = await reader.next();
    assert.deepEqual([first.stream, first.tracker, first.profile], ['gate-7', 'sort', 'fine']);
    assert.equal((await reader.next()).type, 'silence', 'a silent reference concerns every tracker');
  });

  it('greets a newcomer with the newest report of each series, and forgets retired ones', async () => {
    edge = await startEdge();
    edge.live.emit(fakeReportEvent({ k: 1 }));
    edge.live.emit(fakeReportEvent({ k: 2 }));
    edge.live.emit(fakeReportEvent({ tracker: 'gone', k: 9 }));
    edge.live.emit({ type: 'retired', stream: 'gate-7', tracker: 'gone', profile: 'online-surveillance' });
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    edge.live.emit(fakeReportEvent({ k: 3 }));
    assert.deepEqual([(await reader.next()).k, (await reader.next()).k], [2, 3]);
  });

  it('greets a newcomer with what was reported before a restart', async () => {
    const live = new FakeLive();
    live.recovered = [fakeReportEvent({ k: 41 })];
    edge = await startEdge('', { live });
    assert.equal((await (await Probe.open(`${edge.ws}/v1/live`)).next()).k, 41);
    assert.match(String((await get(`${edge.url}/metrics`)).body), /tgospa_frames_total\{stream="gate-7"[^}]*\} 70/);
  });

  it('coalesces reports for a slow reader, keeps every event, and says how many reports are left out', async function () {
    skipInFastRun(this);
    edge = await startEdge('limits: { liveShare: 1, liveBufferBytes: 1000 }');
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    reader.socket.pause();
    const total = 20_000;
    for (let k = 1; k <= total; k++) edge.live.emit(fakeReportEvent({ k }));
    for (let k = 1; k <= 50; k++)
      edge.live.emit({
        type: 'switch',
        stream: 'gate-7',
        tracker: 'sort',
        profile: 'online-surveillance',
        k,
      } as LiveEvent);
    assert.ok(edge.meters.counts.coalesced > 1000);
    reader.socket.resume();
    let skipped = 0;
    let reports = 0;
    let switches = 0;
    for (let last = 0; last < total; ) {
      const message = await reader.next();
      if (message.type === 'switch') switches++;
      else {
        reports++;
        skipped += (message.skipped as number) ?? 0;
        last = message.k as number;
      }
    }
    assert.equal(reports + skipped, total);
    assert.equal(switches, 50);
    assert.equal(edge.meters.counts.coalesced, skipped);
  });

  it('closes a reader that takes nothing for limits.liveStallMs', async function () {
    skipInFastRun(this);
    edge = await startEdge('limits: { liveShare: 1, liveBufferBytes: 1000, liveStallMs: 20 }');
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    reader.socket.pause();
    await untilTurn(() => {
      for (let k = 1; k <= 100; k++) edge.live.emit(fakeReportEvent({ k }));
      return edge.meters.counts.slowClosed === 1;
    });
    reader.socket.resume();
    assert.equal((await reader.closed).code, 4008);
  });

  it('closes a reader that is hopelessly slow with 4008', async () => {
    edge = await startEdge('limits: { liveShare: 1, liveBufferBytes: 1000, liveEvents: 100 }');
    const reader = await Probe.open(`${edge.ws}/v1/live`);
    reader.socket.pause();
    const padding = 'x'.repeat(1000);
    for (let k = 1; k <= 20_000 && edge.meters.counts.slowClosed === 0; k++)
      edge.live.emit({ type: 'switch', stream: 'gate-7', k, padding } as unknown as LiveEvent);
    assert.equal(edge.meters.counts.slowClosed, 1);
    reader.socket.resume();
    assert.equal((await reader.closed).code, 4008);
  });

  it('gives readers their share of the time and no more: beyond it, all get the newest report of each series', async () => {
    let nowMs = 0;
    const counts = { coalesced: 0, slowClosed: 0 };
    const { limits } = configOf('limits: { liveShare: 0.5, liveEvents: 20 }');
    const subscribers = new Subscribers(limits, counts, undefined, () => nowMs);
    const received = [0, 1, 2].map(() => [] as Array<{ k: number; type: string; skipped?: number }>);
    for (const list of received) {
      const peer = {
        address: '',
        // a write takes its time, which is not spent on feeds
        send: (text: string | Buffer, sent?: () => void) => {
          nowMs += 0.1;
          list.push(JSON.parse(String(text)));
          sent?.();
        },
        close() {},
        pause() {},
        resume() {},
        backlogBytes: () => 0,
      };
      subscribers.subscribe(peer, { covers: () => true });
    }
    const event = fakeReportEvent();
    for (let k = 1; k <= 1000; k++) subscribers.publish({ ...event, k });
    const spentMs = nowMs;
    assert.ok(spentMs < 100, `${spentMs} ms for readers while 1000 reports were published at once`);
    for (let k = 1; k <= limits.liveEvents + 10; k++)
      subscribers.publish({ type: 'switch', stream: event.stream, k } as LiveEvent);
    assert.equal(received[0].filter(({ type }) => type === 'switch').length, 10, 'a bounded number of events waits');
    subscribers.publish({ type: 'retired', stream: event.stream, tracker: event.tracker, profile: event.profile });
    const clock = setInterval(() => (nowMs += 50), 1);
    await untilTurn(() => received.every((list) => list.at(-1)?.type === 'retired'));
    clearInterval(clock);
    for (const list of received) {
      const reports = list.filter(({ type }) => type === 'report');
      assert.equal(reports.at(-1)!.k, 1000, 'the newest one comes');
      assert.equal(
        reports.reduce((sum, { skipped = 0 }) => sum + 1 + skipped, 0),
        1000,
        'the others are counted',
      );
      assert.ok(reports.length < 200);
    }
    const sent = received[0].filter(({ type }) => type === 'report').length;
    assert.equal(counts.coalesced, 3 * (1000 - sent));
    assert.equal(counts.slowClosed, 0);
  });

  it('serves many readers in turns of a millisecond, each of them in order', async () => {
    let nowMs = 0;
    const { limits } = configOf('limits: { liveShare: 0.5 }');
    const subscribers = new Subscribers(limits, { coalesced: 0, slowClosed: 0 }, undefined, () => nowMs);
    const received = Array.from({ length: 200 }, () => [] as number[]);
    for (const [n, list] of received.entries()) {
      const peer = {
        address: '',
        send: (text: string | Buffer, sent?: () => void) => {
          nowMs += 0.1;
          list.push(JSON.parse(String(text)).k);
          sent?.();
        },
        close() {},
        pause() {},
        resume() {},
        backlogBytes: () => 0,
      };
      const subscription = subscribers.subscribe(peer, { covers: () => true });
      // some leave in the middle of a round
      if (n % 7 === 3) setImmediate(() => subscription.closed());
    }
    for (let k = 1; k <= 5; k++) {
      const beforeMs = nowMs;
      subscribers.publish({ type: 'switch', stream: 'gate-7', k } as LiveEvent);
      assert.ok(nowMs - beforeMs < 2, `readers kept everybody waiting for ${nowMs - beforeMs} ms`);
    }
    const clock = setInterval(() => (nowMs += 5), 1);
    const staying = received.filter((_, n) => n % 7 !== 3);
    await untilTurn(() => staying.every((list) => list.length === 5));
    clearInterval(clock);
    for (const list of received)
      assert.deepEqual(
        list,
        list.map((_, n) => n + 1),
      );
  });
});
