/** rosbridge as a source, against a server that is true to its protocol; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { Backoff } from '../../src/sources/source.js';
import { SourceBench } from '../kit/sources.js';
import { muteServer, RosbridgeServer } from '../kit/system/rosbridge-server.js';
import { until } from '../kit/system/system.js';

const frame = (k: number) => ({ k, objects: [{ id: 'a', box: [k % 500, 10, 20, 40] }] });

describe('rosbridge', () => {
  let bench: SourceBench;
  let robot: RosbridgeServer;
  let url: string;

  beforeEach(async () => {
    bench = new SourceBench();
    robot = new RosbridgeServer({ '/truths': 'tgospa/Frame', '/tracks': 'tgospa/Frame' });
    url = await robot.listen();
  });
  afterEach(async () => {
    await bench.close();
    await robot.close();
  });

  const settings = (common: object = {}, changes: object = {}) => ({
    sources: {
      rosbridge: [
        {
          name: 'robot',
          url,
          queueLength: 50,
          feeds: [
            { topic: '/truths', stream: 's', role: 'reference', type: 'tgospa/Frame' },
            { topic: '/tracks', stream: 's', tracker: 't' },
          ],
          ...changes,
        },
      ],
      ...common,
    },
  });
  const listening = (topic = '/tracks') =>
    until(`somebody listens to ${topic}`, () => robot.readers(topic) > 0 && true);
  const both = (k: number) => {
    robot.publish('/truths', frame(k));
    robot.publish('/tracks', frame(k));
  };
  const labels = 'source="robot",kind="rosbridge"';

  it('subscribes with a queue and without compression, and feeds what is published', async () => {
    await bench.start(settings());
    await listening();
    for (let k = 1; k <= 50; k++) both(k);
    await bench.untilFrames('s', 't', 50);
    assert.equal((await bench.app.live.window('s', 't', 'online-surveillance'))!.evaluation.distance, 0);
    assert.deepEqual(robot.subscriptions, [
      {
        op: 'subscribe',
        id: 'tgospa:/truths',
        topic: '/truths',
        type: 'tgospa/Frame',
        throttle_rate: 0,
        queue_length: 50,
        compression: 'none',
      },
      {
        op: 'subscribe',
        id: 'tgospa:/tracks',
        topic: '/tracks',
        throttle_rate: 0,
        queue_length: 50,
        compression: 'none',
      },
    ]);
    assert.equal(await bench.metric('tgospa_source_messages_total', labels), 100);
    assert.equal(await bench.metric('tgospa_source_connected', labels), 1);
  });

  it('comes back after a cut, and after the robot was away', async () => {
    await bench.start(settings());
    await listening();
    for (let k = 1; k <= 5; k++) both(k);
    await bench.untilFrames('s', 't', 5);
    robot.cut();
    await until('it is back', () => robot.subscriptions.length === 4 && true);
    await listening();
    for (let k = 6; k <= 9; k++) both(k);
    await bench.untilFrames('s', 't', 9);
    const port = Number(new URL(url).port);
    await robot.close();
    await until('it has tried in vain', async () => (await bench.metric('tgospa_source_faults_total', labels)) >= 3);
    assert.equal(await bench.metric('tgospa_source_connected', labels), 0);
    robot = new RosbridgeServer({});
    await robot.listen(port);
    await listening();
    for (let k = 10; k <= 12; k++) both(k);
    await bench.untilFrames('s', 't', 12);
  });

  it('refuses what it did not ask for, tells it, and goes on', async () => {
    await bench.start(settings());
    await listening();
    both(1);
    for (const nonsense of [
      'not json',
      'null',
      '[]',
      '{"op":"png","data":"iVBORw0KGgo="}',
      '{"op":"fragment","id":"1","data":"{}","num":0,"total":2}',
      '{"op":"publish","topic":"/other","msg":{}}',
      '{"op":"publish","topic":"/tracks","msg":7}',
    ])
      robot.send(nonsense, '/tracks');
    robot.send(Buffer.from([1, 2, 3]), '/tracks');
    robot.publish('/tracks', { k: 2, objects: 'none' });
    both(2);
    await bench.untilFrames('s', 't', 2);
    const rejected = await bench.metric('tgospa_source_rejected_total', `${labels},reason="message_invalid"`);
    assert.equal(rejected, 8);
    assert.equal(
      await bench.metric(
        'tgospa_frames_rejected_total',
        'stream="s",role="tracker",tracker="t",reason="frame_invalid"',
      ),
      1,
    );
  });

  it('is cut off from a message above payloadBytes before that is in memory, and comes back', async () => {
    await bench.start(settings({ payloadBytes: 4096 }));
    await listening();
    both(1);
    await bench.untilFrames('s', 't', 1);
    robot.publish('/tracks', { k: 2, objects: [], padding: 'x'.repeat(100_000) });
    await until('it is back', () => robot.subscriptions.length === 4 && true);
    await listening();
    both(2);
    await bench.untilFrames('s', 't', 2);
    assert.equal(await bench.metric('tgospa_source_rejected_total', `${labels},reason="payload_too_large"`), 1);
  });

  it('tells what the bridge complains about', async () => {
    const wrong = [{ topic: '/truths', stream: 's', role: 'reference', type: 'std_msgs/String' }];
    await bench.start(settings({}, { feeds: wrong }));
    const [line] = await until('the status is told', () => {
      const told = bench.logged('source_status');
      return told.length > 0 && told;
    });
    assert.match(String(line.msg), /Tried to subscribe/);
  });

  it('does not read while there is no room, loses nothing by that, and stores what it took before it stops', async () => {
    await bench.start({ ...settings({ queueMessages: 4 }), limits: { creditFrames: 2 } });
    await listening();
    for (let k = 1; k <= 60; k++) both(k);
    await bench.untilFrames('s', 't', 60);
    for (let k = 61; k <= 70; k++) both(k);
    await until('something of it came', async () => (await bench.storedSeq('s', 't')) > 60);
    await bench.stop();
    assert.equal(bench.logged('record_failed').length, 0);
  });

  it('gives up a server that never answers', async () => {
    const { url: mute, server } = await muteServer();
    await bench.start({
      sources: { rosbridge: [{ ...settings().sources.rosbridge[0], url: mute }], connectTimeoutMs: 50 },
    });
    await until('it has tried twice', async () => (await bench.metric('tgospa_source_faults_total', labels)) >= 2);
    await bench.stop();
    server.close();
  });
});

describe('the wait before coming back', () => {
  it('doubles up to its bound, with jitter, and begins again after a success', () => {
    const backoff = new Backoff(100, 1000, () => 0.5);
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6].map(() => backoff.next()),
      [75, 150, 300, 600, 750, 750],
    );
    backoff.reset();
    assert.equal(backoff.next(), 75);
  });
});
