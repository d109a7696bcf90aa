/**
 * Malformed messages by the thousand: whatever a peer sends, the server lives, answers with a documented code, and a
 * well-behaved feed beside it is not disturbed. fast-check prints the seed and the smallest message of a failure.
 */
import { strict as assert } from 'node:assert';
import { connect as connectTcp } from 'node:net';
import fc from 'fast-check';
import { CLOSE_CODES, REJECT_CODES } from '../../src/wire/codes.js';
import { Fault } from '../../src/wire/fault.js';
import { parseMessage } from '../../src/wire/messages.js';
import { fuzzMessages } from '../fuzz.js';
import { frame, hello, Probe, type RunningEdge, startEdge } from '../kit/edge.js';
import { garbled, mutated, strange } from '../kit/mutations.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const validMessages = [
  hello(),
  hello({ settings: { windowFrames: 30, pairing: { by: 'time' } }, resume: { session: 'x', seq: 1 } }),
  frame(1),
  frame(2, {
    t: 1763251200.033,
    objects: [
      { id: 'a', box: [1, 2, 3, 4], class: 'car', confidence: 0.5 },
      { id: 'b', box: [5, 6, 7, 8] },
    ],
  }),
  { type: 'frames', frames: [frame(3), frame(4)] },
  { type: 'end' },
  { type: 'ping' },
];

const validTexts = validMessages.map((message) => JSON.stringify(message));

const anyText = fc.oneof(
  { weight: 5, arbitrary: mutated(validMessages).map((message) => JSON.stringify(message)) },
  { weight: 3, arbitrary: garbled(validTexts) },
  { weight: 1, arbitrary: fc.string() },
  { weight: 1, arbitrary: strange.map((value) => JSON.stringify(value) ?? 'undefined') },
  { weight: 1, arbitrary: fc.constantFrom(...validTexts) },
);
const anyMessage = fc.oneof(
  { weight: 20, arbitrary: anyText },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
);

describe('fuzz', () => {
  let edge: RunningEdge;
  let good: Probe;
  let goodSeq = 0;

  before(async () => {
    edge = await startEdge('limits: { rejectsPerMinute: 20, payloadBytes: 20000 }');
    edge.live.streamsMax = Number.POSITIVE_INFINITY;
    good = await Probe.open(`${edge.ws}/v1/ingest`);
    good.send(hello({ stream: 'calm' }));
    await good.nextOf('welcome');
  });
  after(() => edge.stop());

  const calm = async () => {
    good.send(frame(++goodSeq));
    while ((await good.nextOf('ack')).seq !== goodSeq);
  };

  /** What came back until the answer to a ping, or the close code. */
  async function answers(
    probe: Probe,
    pongs: number,
  ): Promise<{ messages: Array<Record<string, unknown>>; closed: number | null }> {
    const messages: Array<Record<string, unknown>> = [];
    probe.send('{"type":"ping"}');
    for (;;) {
      try {
        const message = await probe.next();
        if (message.type !== 'pong') messages.push(message);
        else if (--pongs === 0) return { messages, closed: null };
      } catch {
        return { messages, closed: (await probe.closed).code };
      }
    }
  }

  it('answers thousands of malformed messages with documented codes and lives', async function () {
    skipInFastRun(this);
    let sent = 0;
    let streams = 0;
    const run = async (greet: boolean, list: Array<string | Buffer>) => {
      const probe = await Probe.open(`${edge.ws}/v1/ingest`);
      if (greet) {
        probe.send(hello({ stream: `wild-${streams++}` }));
        await probe.nextOf('welcome');
      }
      for (const message of list) {
        probe.socket.send(message);
        sent++;
        const parsed = typeof message === 'string' ? parseMessage(message) : null;
        const isPing = parsed !== null && !(parsed instanceof Fault) && parsed.type === 'ping';
        const { messages, closed } = await answers(probe, isPing ? 2 : 1);
        for (const answer of messages) {
          assert.ok(
            ['welcome', 'ack', 'reject', 'ended'].includes(answer.type as string),
            `undocumented answer ${JSON.stringify(answer)}`,
          );
          if (answer.type === 'reject')
            assert.ok(
              Object.hasOwn(REJECT_CODES, answer.code as string) && answer.message,
              `undocumented reject ${JSON.stringify(answer)}`,
            );
        }
        if (closed !== null) {
          assert.ok(Object.hasOwn(CLOSE_CODES, closed), `undocumented close ${closed}`);
          break;
        }
        // whatever is not even readable must be told so
        if (parsed === null || parsed instanceof Fault)
          assert.ok(
            messages.some((answer) => answer.type === 'reject'),
            'no reject',
          );
      }
      probe.socket.terminate();
      await calm();
    };
    await fc.assert(fc.asyncProperty(fc.boolean(), fc.array(anyMessage, { minLength: 1, maxLength: 15 }), run), {
      seed: 20261116,
      numRuns: drawn(700),
    });
    assert.ok(sent > drawn(2000), `${sent} messages`);
    assert.equal(edge.live.parts.get('calm/tracker/sort')!.length, goodSeq);
  });

  it('survives bytes that are no WebSocket frames', async () => {
    const port = Number(new URL(edge.url).port);
    const upgrade =
      'GET /v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
    const run = (greet: boolean, bytes: Uint8Array) =>
      new Promise<void>((resolve) => {
        const socket = connectTcp(port, '127.0.0.1');
        socket.on('connect', () => {
          if (greet) socket.write(upgrade);
          socket.end(bytes);
        });
        socket
          .on('error', () => {})
          .on('close', () => resolve())
          .resume();
      });
    await fc.assert(fc.asyncProperty(fc.boolean(), fc.uint8Array({ minLength: 1, maxLength: 300 }), run), {
      seed: 20261116,
      numRuns: drawn(300),
    });
    await calm();
  });

  it('answers 5,000 messages of the long run with documented codes', async function () {
    skipInFastRun(this);
    const tally = await fuzzMessages(5000, 20261117);
    for (const answer of ['welcome', 'json_invalid', 'message_invalid', 'frame_invalid'])
      assert.ok(tally[answer] > 0, answer);
  });
});
