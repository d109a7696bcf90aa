/** Foreign messages on their way to frames: numbers, what is held, what is refused, and what a cut in between does. */
import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { formatByName } from '../../../adapters/index.js';
import type { Format } from '../../../adapters/kit/adapter.js';
import { ForeignMessages } from '../../../src/edge/feeds/foreign-messages.js';
import type { FrameRules } from '../../../src/wire/frame-check.js';
import type { FeedPart } from '../../../src/wire/objects.js';
import { hello, Probe, type RunningEdge, startEdge } from '../../kit/edge.js';
import { keyOf } from '../../kit/fake-live.js';
import { skipInFastRun, until } from '../../kit/system/system.js';

const rules: FrameRules = {
  objectsMax: 100,
  idLengthMax: 20,
  shape: 'box',
  dimensions: 0,
  geodesic: false,
  pointRemedy: '',
  strict: false,
};
const mot = formatByName('motchallenge') as Format;
const line = (frame: number, id: number) => `${frame},${id},1,1,1,1`;
const open = (lastSeq = 0, credit = 256) => new ForeignMessages(mot, 'tracker', rules, credit, lastSeq);
const shown = (parts: FeedPart[]) => parts.map(({ seq, k, objects }) => [seq, k, objects.ids.join()]);

describe('translation', () => {
  it('numbers a frame by the last message that is wholly in it', () => {
    const translation = open();
    const first = translation.decode({ seq: 1, message: line(1, 7) })!;
    assert.deepEqual([first.parts, first.upTo, translation.held], [[], 0, true]);
    const second = translation.decode({ seq: 2, message: line(1, 8) })!;
    assert.deepEqual([second.parts, second.upTo], [[], 0], 'nothing is acked while the frame is held');
    const third = translation.decode({ seq: 3, message: line(2, 7) })!;
    assert.deepEqual(shown(third.parts), [[2.5, 1, '7,8']]);
    const rest = translation.flush();
    assert.deepEqual(shown(rest.parts), [[3, 2, '7']]);
    assert.equal(translation.held, false);
  });

  it('gives several frames of one message increasing numbers', () => {
    const translation = open(4);
    const { parts } = translation.decode({ seq: 5, message: [1, 2, 3].map((frame) => line(frame, 7)).join('\n') })!;
    assert.deepEqual(
      shown(parts).map(([, k]) => k),
      [1, 2],
    );
    assert.ok(parts.every(({ seq }, n) => seq > (n === 0 ? 4 : parts[n - 1].seq) && seq < 5));
    assert.deepEqual(shown(translation.flush().parts), [[5, 3, '7']]);
  });

  it('recognises numbers that came before', () => {
    const translation = open(2.5);
    assert.equal(translation.decode({ seq: 2, message: line(1, 7) }), null);
    assert.ok(translation.decode({ seq: 3, message: line(1, 7) }));
    assert.equal(translation.decode({ seq: 3, message: line(1, 7) }), null);
  });

  it('does not let a rejected message acknowledge those that are held', () => {
    const translation = open();
    translation.decode({ seq: 1, message: line(1, 7) });
    const wrong = translation.decode({ seq: 2, message: 'nonsense' })!;
    assert.equal(wrong.upTo, 0);
    assert.deepEqual([wrong.fault?.code, wrong.fault?.path, wrong.fault?.seq], ['frame_invalid', 'message:1:1', 2]);
    const stranger = translation.decode({ seq: 3, message: line(1, 8), fps: 5 })!;
    assert.deepEqual([stranger.upTo, stranger.fault?.code, stranger.fault?.path], [0, 'message_invalid', 'fps']);
    assert.deepEqual(shown(translation.flush().parts), [[3, 1, '7']]);
  });

  it('refuses a frame that the checks of native frames refuse, and uses its messages up', () => {
    const translation = open();
    translation.decode({ seq: 1, message: `${line(1, 7)}\n${line(1, 7)}` });
    const { parts, fault, upTo } = translation.decode({ seq: 2, message: line(2, 7) })!;
    assert.deepEqual([parts, fault?.code, upTo], [[], 'id_duplicate', 1]);
    assert.deepEqual(shown(translation.flush().parts), [[2, 2, '7']]);
  });

  it('gives up a frame that needs as many messages as the credit', () => {
    const translation = open(0, 3);
    translation.decode({ seq: 1, message: line(1, 1) });
    translation.decode({ seq: 2, message: line(1, 2) });
    const { fault, upTo } = translation.decode({ seq: 3, message: line(1, 3) })!;
    assert.deepEqual([fault?.code, upTo, translation.held], ['frame_unfinished', 3, false]);
    translation.decode({ seq: 4, message: line(2, 1) });
    assert.deepEqual(shown(translation.flush().parts), [[4, 2, '1']]);
  });

  it('has every frame once, wherever connections were cut and whatever was stored by then', function () {
    skipInFastRun(this);
    // messages of one to four lines; frame numbers go on by 0 or 1 from line to line
    const messages = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(messages, fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 6 }), (shape, cuts) => {
        let frame = 1;
        let id = 0;
        const texts = shape.map((lines) =>
          lines
            .map((next) => {
              if (next) frame++;
              return line(frame, ++id);
            })
            .join('\n'),
        );
        const expected = framesOf(texts);
        assert.deepEqual(byFrame(sendAll(texts, cuts)), expected);
      }),
      { numRuns: 1000, seed: 5 },
    );
  });

  /** What one connection without cuts makes of the messages. */
  function framesOf(texts: string[]): Map<number, string> {
    const translation = open();
    const parts = texts.flatMap((message, n) => translation.decode({ seq: n + 1, message })!.parts);
    return byFrame([...parts, ...translation.flush().parts]);
  }

  /** Connections that are cut after some messages, when only some of their frames were stored. */
  function sendAll(texts: string[], cuts: Array<[number, number]>): FeedPart[] {
    const stored: FeedPart[] = [];
    const store = (part: FeedPart) => {
      if (part.seq > (stored.at(-1)?.seq ?? 0)) stored.push(part);
    };
    for (const [count, kept] of [...cuts, [texts.length, Number.POSITIVE_INFINITY]]) {
      const from = Math.floor(stored.at(-1)?.seq ?? 0);
      const translation = open(from);
      const offered = texts
        .slice(from, from + count)
        .flatMap((message, n) => translation.decode({ seq: from + n + 1, message })!.parts);
      if (from + count >= texts.length) offered.push(...translation.flush().parts);
      for (const part of offered.slice(0, kept)) store(part);
    }
    return stored;
  }

  /**
   * Frames whose lines fell into a resent and a stored message come again in part; pairing drops them by their number.
   */
  function byFrame(parts: FeedPart[]): Map<number, string> {
    const frames = new Map<number, string>();
    for (const { k, objects } of parts) if (!frames.has(k!)) frames.set(k!, objects.ids.join());
    return frames;
  }
});

describe('a feed of foreign messages', () => {
  let edge: RunningEdge;
  const feed = keyOf({ stream: 'gate-7', role: 'tracker', tracker: 'sort' });
  afterEach(() => edge.stop());

  it('takes the format and its options from the configuration, and those of the hello over them', async () => {
    edge = await startEdge(
      'formats: { cam: { adapter: motchallenge, options: { frameOffset: 10, pixelOffset: -1 } } }',
    );
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ format: 'cam', options: { frameOffset: 20 } }));
    await probe.nextOf('welcome');
    probe.send({ type: 'message', seq: 1, message: '1,7,10,20,30,40' });
    probe.send({ type: 'end' });
    await probe.nextOf('ended');
    assert.deepEqual(edge.live.parts.get(feed), [{ seq: 1, k: 21, objects: [{ id: '7', box: [9, 19, 30, 40] }] }]);
    await probe.close();
  });

  it('takes a frame as complete when nothing more comes', async () => {
    edge = await startEdge('limits: { unfinishedMs: 20 }');
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ format: 'motchallenge' }));
    await probe.nextOf('welcome');
    probe.send({ type: 'message', seq: 1, message: '1,7,10,20,30,40' });
    assert.equal((await probe.nextOf('ack')).seq, 1);
    await until('the frame is there', () => edge.live.parts.get(feed)?.length === 1);
    await probe.close();
  });

  it('reads what has come before it takes a frame as complete, however long the thread stood still', async () => {
    edge = await startEdge('limits: { unfinishedMs: 50 }');
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ format: 'motchallenge' }));
    await probe.nextOf('welcome');
    probe.send({ type: 'message', seq: 1, message: '1,7,10,20,30,40' });
    probe.send({ type: 'ping' });
    await probe.nextOf('pong');
    probe.send({ type: 'message', seq: 2, message: '1,8,10,20,30,40' });
    const until50MsLater = performance.now() + 50;
    while (performance.now() < until50MsLater);
    await until('the frame is there', () => edge.live.parts.get(feed)?.length === 1);
    assert.deepEqual(edge.live.parts.get(feed)![0].objects.length, 2);
    await probe.close();
  });

  it('does not take a frame as complete while its client may be waiting for acks', async () => {
    edge = await startEdge('limits: { unfinishedMs: 10 }');
    let open = () => {};
    edge.live.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const probe = await Probe.open(`${edge.ws}/v1/ingest`);
    probe.send(hello({ format: 'motchallenge' }));
    await probe.nextOf('welcome');
    probe.send({ type: 'message', seq: 1, message: '1,7,10,20,30,40' });
    probe.send({ type: 'message', seq: 2, message: '2,7,10,20,30,40' });
    await until('frame 1 waits for the disk', () => edge.live.attempts === 1);
    // many times as long as an idle client would be given
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(edge.live.attempts, 1, 'frame 2 is still held');
    probe.send({ type: 'message', seq: 3, message: '2,8,10,20,30,40' });
    probe.send({ type: 'ping' });
    await probe.nextOf('pong');
    open();
    await until('both are there', () => edge.live.parts.get(feed)?.length === 2);
    assert.deepEqual(
      edge.live.parts.get(feed)!.map(({ k, objects }) => [k, objects.length]),
      [
        [1, 1],
        [2, 2],
      ],
    );
    await probe.close();
  });

  it('answers frames on a foreign feed, and messages on a native one, with the remedy', async () => {
    edge = await startEdge();
    for (const [format, message] of [
      ['motchallenge', { type: 'frame', seq: 1, k: 1, objects: [] }],
      ['native', { type: 'message', seq: 1, message: {} }],
    ] as const) {
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      probe.send(hello({ format, stream: format }));
      await probe.nextOf('welcome');
      probe.send(message);
      const reject = await probe.nextOf('reject');
      assert.deepEqual([reject.code, reject.path], ['message_invalid', 'type']);
      assert.match(reject.message as string, format === 'native' ? /send frames/ : /"type":"message"/);
      await probe.close();
    }
  });

  it('is refused with a format or options nobody knows', async () => {
    edge = await startEdge();
    for (const [changes, code, says] of [
      [{ format: 'nope' }, 'format_unknown', /known are native, motchallenge/],
      [{ format: 'motchallenge', options: { fps: 3 } }, 'options_invalid', /known are frameOffset/],
    ] as const) {
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      probe.send(hello(changes));
      const reject = await probe.nextOf('reject');
      assert.equal(reject.code, code);
      assert.match(reject.message as string, says);
      assert.equal((await probe.closed).code, 4400);
    }
  });
});
