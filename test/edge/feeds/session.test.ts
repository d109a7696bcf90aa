/** The conversation with a feed, over a real socket and with a pipeline that stores when the test lets it. */
import { strict as assert } from 'node:assert';
import { pointProfileLines } from '../../../src/config/config.js';
import { frame, hello, openFeed, Probe, type RunningEdge, startEdge, untilTurn } from '../../kit/edge.js';
import type { FakeLive } from '../../kit/fake-live.js';
import { skipInFastRun } from '../../kit/system/system.js';

const gateOf = (live: FakeLive): (() => void) => {
  let open = () => {};
  live.gate = new Promise((resolve) => {
    open = resolve;
  });
  return () => {
    live.gate = null;
    open();
  };
};

const KEY = 'gate-7/tracker/sort';

describe('session', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  it('answers hello with session, next sequence number, credit, limits and heartbeat', async () => {
    edge = await startEdge('limits: { creditFrames: 17, payloadBytes: 5000, heartbeatMs: 9000, reconnectMaxMs: 700 }');
    const { welcome } = await openFeed(edge);
    const { session, ...rest } = welcome;
    assert.equal(typeof session, 'string');
    assert.deepEqual(rest, {
      type: 'welcome',
      nextSeq: 1,
      credit: 17,
      maxPayloadBytes: 5000,
      maxObjects: 2000,
      heartbeatMs: 9000,
      reconnectMaxMs: 700,
      shape: 'box',
      profiles: ['online-surveillance'],
      windowFrames: 60,
    });
  });

  it('warns in the welcome when the window can never show a long switch', async () => {
    edge = await startEdge();
    const { welcome } = await openFeed(edge, {
      settings: { profiles: ['offline-scene-understanding'], windowFrames: 20 },
    });
    assert.match(
      (welcome.warnings as string[])[0],
      /^profile offline-scene-understanding: a window of 20 frames never shows/,
    );
  });

  const logged = (name: string) =>
    edge.logLines.map((line) => JSON.parse(line)).filter((line) => line.event === name && line.level === 'warn');

  it('names field, value and remedy of refused frames in the log, once a minute, and in their events', async () => {
    edge = await startEdge();
    const events: Array<Record<string, unknown>> = [];
    edge.live.events$.subscribe((event) => events.push(event as never));
    const { probe } = await openFeed(edge);
    for (let seq = 1; seq <= 5; seq++) probe.send(frame(seq, { k: -seq }));
    while ((await probe.nextOf('ack')).seq !== 5);
    const [line, ...more] = logged('rejected');
    assert.deepEqual(more, [], 'one line for mistakes of one kind');
    assert.equal(line.message, 'k is -1; a frame number is a whole number from 0');
    assert.deepEqual([line.stream, line.tracker, line.code, line.path], ['gate-7', 'sort', 'frame_invalid', 'k']);
    const rejected = events.filter(({ type }) => type === 'rejected');
    assert.equal(rejected.length, 5);
    assert.match(String(rejected[4].message), /^k is -5; /);
  });

  it('leaves an incomplete object out, and says so in ack, events, metrics and log', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge);
    const [good] = frame(1).objects;
    probe.send(frame(1, { objects: [good, { id: '8', box: [1, 2, 0, 4] }, { id: '9' }] }));
    const ack = await probe.nextOf('ack');
    assert.deepEqual(
      { ...(ack.skipped as object), message: '' },
      { objects: 2, seq: 1, rule: 'place_missing', path: 'objects[2].box', message: '' },
    );
    assert.deepEqual(edge.live.parts.get('gate-7/tracker/sort')![0].objects, [good]);
    const meter = edge.meters.feedMeter({ stream: 'gate-7', role: 'tracker', tracker: 'sort' });
    assert.deepEqual(
      [...meter.skipped],
      [
        ['size_impossible', 1],
        ['place_missing', 1],
      ],
    );
    assert.equal(logged('skipped').length, 2);
    probe.send(frame(2));
    assert.equal('skipped' in (await probe.nextOf('ack')), false);
  });

  it('refuses the frame of an incomplete object on a stream that is strict', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge, { settings: { strict: true } });
    probe.send(frame(1, { objects: [...frame(1).objects, { id: '8', box: [1, 2, 0, 4] }] }));
    assert.equal((await probe.nextOf('reject')).path, 'objects[1].box[2]');
  });

  it('acks frames only once they are stored, cumulatively', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const { probe } = await openFeed(edge);
    probe.send(frame(1));
    probe.send({ type: 'frames', frames: [frame(2), frame(3)] });
    probe.send({ type: 'ping' });
    // the answer to the ping comes after everything before it was read
    assert.equal((await probe.next()).type, 'pong');
    assert.equal(edge.desk.waitingFrames, 3);
    store();
    assert.deepEqual(await probe.next(), { type: 'ack', seq: 3 });
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 2, 3],
    );
    assert.deepEqual(edge.live.parts.get(KEY)![0], { seq: 1, k: 1, objects: [{ id: '7', box: [10, 20, 30, 40] }] });
  });

  it('continues after a cut where the stored frames end, and recognises what is sent twice', async () => {
    edge = await startEdge();
    const first = await openFeed(edge);
    for (const seq of [1, 2, 3]) first.probe.send(frame(seq));
    while ((await first.probe.nextOf('ack')).seq !== 3);
    first.probe.socket.terminate();
    await first.probe.closed;
    const second = await openFeed(edge, { resume: { session: first.welcome.session, seq: 2 } });
    assert.equal(second.welcome.nextSeq, 4);
    for (const seq of [2, 3]) second.probe.send(frame(seq));
    let duplicates = 0;
    while (duplicates < 2) {
      const ack = await second.probe.nextOf('ack');
      assert.equal(ack.seq, 3);
      duplicates += ack.duplicates as number;
    }
    second.probe.send(frame(4));
    assert.deepEqual(await second.probe.next(), { type: 'ack', seq: 4 });
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 2, 3, 4],
    );
    assert.equal(edge.meters.feedMeter({ stream: 'gate-7', role: 'tracker', tracker: 'sort' }).duplicates, 2);
  });

  it('says that a feed is cut behind everything it has sent', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const { probe } = await openFeed(edge);
    probe.send({ type: 'frames', frames: [frame(1), frame(2)] });
    probe.send({ type: 'ping' });
    await probe.nextOf('pong');
    probe.socket.terminate();
    await untilTurn(() => edge.desk.sessions.size === 0);
    assert.deepEqual(edge.live.cuts, []);
    assert.deepEqual([...edge.live.unreadFeeds], [KEY], 'nobody is late before the cut is known');
    store();
    await untilTurn(() => edge.live.cuts.length > 0);
    assert.deepEqual(edge.live.cuts, [KEY]);
    assert.equal(edge.live.parts.get(KEY)!.length, 2);
    assert.deepEqual([...edge.live.unreadFeeds], []);
  });

  it('is not cut when it comes back before what it sent is stored', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const first = await openFeed(edge);
    first.probe.send(frame(1));
    first.probe.send({ type: 'ping' });
    await first.probe.nextOf('pong');
    first.probe.socket.terminate();
    await untilTurn(() => edge.desk.sessions.size === 0);
    const second = await openFeed(edge, { resume: { session: first.welcome.session, seq: 1 } });
    assert.deepEqual([...edge.live.unreadFeeds], []);
    store();
    assert.deepEqual(await second.probe.nextOf('ack'), { type: 'ack', seq: 1 });
    assert.deepEqual(edge.live.cuts, []);
  });

  it('recognises frames that are resent while their first copies are still being stored', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const first = await openFeed(edge);
    first.probe.send({ type: 'frames', frames: [frame(1), frame(2)] });
    first.probe.send({ type: 'ping' });
    await first.probe.nextOf('pong');
    first.probe.socket.terminate();
    const second = await openFeed(edge, { resume: { session: first.welcome.session } });
    assert.equal(second.welcome.nextSeq, 1, 'what is not stored is not promised');
    second.probe.send({ type: 'frames', frames: [frame(1), frame(2), frame(3)] });
    second.probe.send({ type: 'ping' });
    await second.probe.nextOf('pong');
    store();
    assert.equal((await second.probe.nextOf('ack')).seq, 3);
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 2, 3],
    );
  });

  it('rejects a bad frame by code, path, value and remedy, and goes on with the next', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge, { settings: { strict: true } });
    probe.send(frame(1));
    probe.send(
      frame(2, {
        objects: [
          { id: '1', box: [0, 0, 1, 1] },
          { id: '2', box: [0, 0, -3, 1] },
        ],
      }),
    );
    probe.send(frame(3));
    const reject = await probe.nextOf('reject');
    assert.equal(reject.seq, 2);
    assert.equal(reject.code, 'frame_invalid');
    assert.equal(reject.path, 'objects[1].box[2]');
    assert.equal(reject.value, '-3');
    assert.match(reject.message as string, /width of a box must be above 0/);
    while ((await probe.nextOf('ack')).seq !== 3);
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 3],
    );
    assert.deepEqual(edge.live.rejected, ['frame_invalid']);
  });

  it('acks past a rejected frame even when nothing follows it', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge);
    probe.send(frame(1, { objects: 'none' }));
    assert.equal((await probe.nextOf('reject')).seq, 1);
    assert.deepEqual(await probe.next(), { type: 'ack', seq: 1 });
  });

  it('names the place of a bad frame within a batch and keeps the others', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge);
    probe.send({ type: 'frames', frames: [frame(1), frame(2, { k: -1 }), frame(3)] });
    const reject = await probe.nextOf('reject');
    assert.deepEqual([reject.seq, reject.path], [2, 'frames[1].k']);
    while ((await probe.nextOf('ack')).seq !== 3);
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 3],
    );
  });

  it('does not read from a client that ignores its credit, and loses nothing', async function () {
    skipInFastRun(this);
    edge = await startEdge('limits: { creditFrames: 8 }');
    const store = gateOf(edge.live);
    const { probe } = await openFeed(edge);
    const objects = Array.from({ length: 60 }, (_, n) => ({
      id: String(n),
      box: [n, n, 10, 10],
      class: 'c'.repeat(128),
    }));
    const total = 1500;
    for (let seq = 1; seq <= total; seq++) probe.send(frame(seq, { objects }));
    // 16 MB do not fit into the buffers of a loopback connection: the rest stays with the sender
    await untilTurn(() => [...edge.desk.sessions].some((session) => session.paused));
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(edge.desk.waitingFrames < 200, `${edge.desk.waitingFrames} frames are buffered`);
    assert.ok(probe.socket.bufferedAmount > 1_000_000);
    store();
    while ((await probe.nextOf('ack')).seq !== total);
    assert.equal(edge.live.parts.get(KEY)!.length, total);
    assert.ok(edge.meters.counts.pauses > 0);
  });

  it('gives the event loop back after a slice, whatever has come', async () => {
    edge = await startEdge('limits: { creditFrames: 100000 }\nevaluation: { sliceMs: 0.001 }');
    const { probe } = await openFeed(edge);
    const objects = Array.from({ length: 60 }, (_, n) => ({
      id: String(n),
      box: [n, n, 10, 10],
      class: 'c'.repeat(128),
    }));
    const perTurn: number[] = [0];
    const ingest = edge.live.ingest.bind(edge.live);
    edge.live.ingest = (feed, part) => {
      if (perTurn[perTurn.length - 1]++ === 0) setImmediate(() => perTurn.push(0));
      return ingest(feed, part);
    };
    for (let seq = 1; seq <= 500; seq++) probe.send(frame(seq, { objects }));
    while ((await probe.nextOf('ack')).seq !== 500);
    // one read of a socket is 64 kB, six of these frames; without the slice thirty-two reads come together
    assert.ok(Math.max(...perTurn) <= 20, `${Math.max(...perTurn)} frames in one turn`);
    assert.equal(edge.meters.counts.pauses, 0);
  });

  it('slows a client down that exceeds limits.framesPerSecond', async () => {
    edge = await startEdge('limits: { framesPerSecond: 100 }');
    const { probe } = await openFeed(edge);
    const started = performance.now();
    for (let seq = 1; seq <= 120; seq++) probe.send(frame(seq));
    while ((await probe.nextOf('ack')).seq !== 120);
    probe.send(frame(121));
    while ((await probe.nextOf('ack')).seq !== 121);
    assert.ok(performance.now() - started > 150, 'the 21 frames above the burst take 10 ms each');
  });

  it('stops acking while the disk is full and goes on when there is room, in order', async () => {
    edge = await startEdge('data: { storageRetryMs: 5 }');
    const { probe } = await openFeed(edge);
    probe.send(frame(1));
    await probe.nextOf('ack');
    edge.live.diskFull = true;
    probe.send({ type: 'frames', frames: [frame(2), frame(3)] });
    probe.send(frame(4));
    await untilTurn(() => edge.logLines.some((line) => line.includes('storage_stalled')));
    const tries = edge.live.attempts;
    await untilTurn(() => edge.live.attempts > tries + 3);
    assert.equal(probe.received.filter((message) => message.type === 'ack').length, 1);
    assert.equal(edge.logLines.filter((line) => line.includes('storage_')).length, 1, 'said once, not at every try');
    edge.live.diskFull = false;
    while ((await probe.nextOf('ack')).seq !== 4);
    assert.deepEqual(
      edge.live.parts.get(KEY)!.map((part) => part.seq),
      [1, 2, 3, 4],
    );
    assert.ok(edge.logLines.some((line) => line.includes('storage_resumed')));
  });

  it('ends a feed after everything is stored, then takes no more frames', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const { probe } = await openFeed(edge);
    probe.send(frame(1));
    probe.send({ type: 'end' });
    probe.send(frame(2));
    assert.equal((await probe.nextOf('reject')).code, 'feed_ended');
    assert.deepEqual(edge.live.ended, []);
    store();
    assert.deepEqual(await probe.next(), { type: 'ack', seq: 1 });
    assert.deepEqual(await probe.next(), { type: 'ended' });
    assert.deepEqual(edge.live.ended, [KEY]);
  });

  it('refuses a second client for one feed, unless it resumes the session of the first', async () => {
    edge = await startEdge();
    const first = await openFeed(edge);
    const second = await Probe.open(`${edge.ws}/v1/ingest`);
    second.send(hello());
    assert.equal((await second.nextOf('reject')).code, 'feed_taken');
    assert.equal((await second.closed).code, 4409);
    const reference = await openFeed(edge, { role: 'reference', tracker: undefined });
    assert.equal(reference.welcome.nextSeq, 1, 'the reference of the same stream is another feed');
    const third = await openFeed(edge, { resume: { session: first.welcome.session } });
    assert.equal((await first.probe.closed).code, 4410);
    third.probe.send(frame(1));
    assert.equal((await third.probe.nextOf('ack')).seq, 1);
  });

  it('closes a connection without hello in time', async () => {
    edge = await startEdge('limits: { helloTimeoutMs: 20 }');
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    assert.equal((await probe.nextOf('reject')).code, 'hello_timeout');
    assert.equal((await probe.closed).code, 4408);
  });

  it('closes a connection whose first message is no hello', async () => {
    edge = await startEdge();
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(frame(1));
    assert.equal((await probe.nextOf('reject')).code, 'hello_expected');
    assert.equal((await probe.closed).code, 4400);
  });

  for (const [what, changes, path, code] of [
    ['an unknown role', { role: 'judge' }, 'role', 'hello_invalid'],
    ['a tracker without a name', { tracker: undefined }, 'tracker', 'hello_invalid'],
    ['a reference with a tracker name', { role: 'reference' }, 'tracker', 'hello_invalid'],
    ['an unknown field', { colour: 'red' }, 'colour', 'hello_invalid'],
    ['an unknown format', { format: 'morse' }, 'format', 'format_unknown'],
    ['unknown stream settings', { settings: { windowSize: 3 } }, 'settings.windowSize', 'hello_invalid'],
    ['stream settings out of range', { settings: { pairing: { by: 'luck' } } }, 'settings.pairing.by', 'hello_invalid'],
    ['an unknown profile', { settings: { profiles: ['nope'] } }, 'settings.profiles[0]', 'hello_invalid'],
    ['a bad stream name', { stream: 'a b' }, 'stream', 'hello_invalid'],
  ] as const) {
    it(`refuses a hello with ${what}`, async () => {
      edge = await startEdge();
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      probe.send(hello(changes));
      const reject = await probe.nextOf('reject');
      assert.deepEqual([reject.code, reject.path], [code, path]);
      assert.deepEqual(await probe.closed, { code: 4400, reason: code });
    });
  }

  it('keeps the points of a stream in the dimension of the first one, over all its feeds', async () => {
    edge = await startEdge(pointProfileLines('gate-7'));
    const { probe: tracker, welcome } = await openFeed(edge);
    assert.equal(welcome.shape, 'point');
    const { probe: reference } = await openFeed(edge, { role: 'reference', tracker: undefined });
    tracker.send(frame(1, { objects: [{ id: 'a', point: [1, 2, 3] }] }));
    assert.equal((await tracker.nextOf('ack')).seq, 1);
    reference.send(frame(1, { objects: [{ id: 'a', point: [1, 2] }] }));
    assert.equal((await reference.nextOf('reject')).code, 'shape_mismatch');
  });

  it('tells a sender of points on a stream of boxes which lines to add', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge);
    probe.send(frame(1, { objects: [{ id: 'a', point: [1, 2] }] }));
    const reject = await probe.nextOf('reject');
    assert.equal(reject.code, 'shape_mismatch');
    assert.match(reject.message as string, /profiles:\n {2}points: \{ distance: euclidean/);
  });

  it('refuses a stream above the cap and counts it', async () => {
    edge = await startEdge();
    edge.live.streamsMax = 1;
    await openFeed(edge);
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ stream: 'gate-8' }));
    assert.equal((await probe.nextOf('reject')).code, 'streams_exceeded');
    assert.equal((await probe.closed).code, 4429);
    assert.equal(edge.meters.refusals.get('streams_exceeded'), 1);
  });

  it('rejects broken JSON, binary messages and unknown types without closing', async () => {
    edge = await startEdge();
    const { probe } = await openFeed(edge);
    probe.send('{"type":');
    assert.equal((await probe.nextOf('reject')).code, 'json_invalid');
    probe.socket.send(Buffer.from([1, 2, 3]));
    assert.equal((await probe.nextOf('reject')).code, 'message_invalid');
    probe.send({ type: 'dance' });
    assert.equal((await probe.nextOf('reject')).path, 'type');
    probe.send(hello());
    assert.equal((await probe.nextOf('reject')).code, 'hello_repeated');
    probe.send(frame(1));
    assert.equal((await probe.nextOf('ack')).seq, 1);
  });

  it('closes a client that sends rubbish without end', async () => {
    edge = await startEdge('limits: { rejectsPerMinute: 5 }');
    const { probe } = await openFeed(edge);
    for (let n = 0; n < 10; n++) probe.send('rubbish');
    assert.deepEqual(await probe.closed, { code: 4429, reason: 'rejects_exceeded' });
  });

  it('stores, acks and closes with 1001 when it stops', async () => {
    edge = await startEdge();
    const store = gateOf(edge.live);
    const { probe } = await openFeed(edge);
    probe.send(frame(1));
    probe.send({ type: 'ping' });
    await probe.nextOf('pong');
    const stopped = edge.stop();
    store();
    assert.equal((await probe.nextOf('ack')).seq, 1);
    assert.equal((await probe.closed).code, 1001);
    await stopped;
    assert.equal(edge.live.parts.get(KEY)!.length, 1);
  });
});
