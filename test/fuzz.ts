/**
 * Mangled input by the million: `npm run fuzz -- messages 1000000 [seed]` to sessions of the edge, `npm run fuzz --
 * adapters 1000000 [seed]` to the decoders of all formats. Nothing may be thrown, every answer is documented, what
 * comes out of a decoder passes the checks of native frames, and a right feed beside it is not disturbed. What fails is
 * printed with the call that repeats it.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { adapters, formatByName } from '../adapters/index.js';
import type { Format } from '../adapters/kit/adapter.js';
import { FeedDesk } from '../src/edge/feeds/feed-desk.js';
import { Session } from '../src/edge/feeds/session.js';
import type { Peer } from '../src/edge/peers/peer.js';
import { createLogger } from '../src/telemetry/logger.js';
import { Meters } from '../src/telemetry/meters.js';
import { CLOSE_CODES, REJECT_CODES } from '../src/wire/codes.js';
import { NEEDED, SAMPLES, STAMPED } from './kit/adapter-samples.js';
import { rulesFor, wrongWith } from './kit/decoded-frames.js';
import { configOf, frame, hello } from './kit/edge.js';
import { FakeLive } from './kit/fake-live.js';
import { mangled } from './kit/mangling.js';
import { pick, type Random, randomFrom } from './kit/random.js';

const ANSWERS = new Set(['welcome', 'ack', 'reject', 'ended', 'pong']);
const IDENTITY = {
  name: 'fuzz',
  token: true,
  roles: new Set(['ingest' as const]),
  covers: () => true,
  coversAll: true,
};
const MESSAGES_PER_SESSION = 15;
const SESSIONS_PER_ROUND = 200;

const TEXTS = [
  hello(),
  hello({ settings: { windowFrames: 30, pairing: { by: 'time' } }, resume: { session: 'x', seq: 1 } }),
  frame(1),
  frame(2, { t: 1763251200.033, objects: [{ id: 'a', box: [1, 2, 3, 4], class: 'car', confidence: 0.5 }] }),
  { type: 'frames', frames: [frame(3), frame(4, { objects: [] })] },
  { type: 'message', seq: 1, k: 2, message: SAMPLES.kitti },
  { type: 'end' },
  { type: 'ping' },
].map((message) => JSON.stringify(message));

/** How often each answer came. */
export type Tally = Record<string, number>;

class FuzzPeer implements Peer {
  readonly address = 'fuzz';
  closed = false;

  constructor(readonly tally: Tally) {}

  send(text: string | Buffer): void {
    const { type, code = '' } = JSON.parse(String(text));
    assert.ok(ANSWERS.has(type), `undocumented answer ${text}`);
    if (type === 'reject') assert.ok(Object.hasOwn(REJECT_CODES, code) && code !== 'fault', `${text}`);
    const key = code || type;
    this.tally[key] = (this.tally[key] ?? 0) + 1;
  }

  close(code: number): void {
    assert.ok(Object.hasOwn(CLOSE_CODES, code), `undocumented close ${code}`);
    this.closed = true;
  }

  pause(): void {}
  resume(): void {}
  backlogBytes = () => 0;
}

/** Sends so many mangled messages to sessions of one desk, and a right frame after every round of them. */
export async function fuzzMessages(count: number, seed: number): Promise<Tally> {
  const limits =
    'limits: { rejectsPerMinute: 1e9, streams: 1000000, streamsPerClient: 1000000, newStreamsPerMinute: 1e9 }';
  const live = new FakeLive();
  live.config = configOf(limits);
  live.streamsMax = Number.POSITIVE_INFINITY;
  const meters = new Meters(10);
  const tally: Tally = {};
  const calm: Tally = {};
  let calmSeq = 0;
  for (let round = 0, sent = 0; sent < count; round++) {
    const random = randomFrom(seed + round);
    const desk = new FeedDesk(live.config, live, meters, createLogger({ level: 'silent' }));
    const good = new Session(desk, new FuzzPeer(calm), IDENTITY);
    good.receive(Buffer.from(JSON.stringify(hello({ stream: `calm-${round}` }))));
    for (let n = 0; n < SESSIONS_PER_ROUND && sent < count; n++)
      sent += await converse(desk, `wild-${n}`, random, tally, `seed ${seed + round}`);
    good.receive(Buffer.from(JSON.stringify(frame(1))));
    while ((calm.ack ?? 0) <= calmSeq) await nextTurn();
    calmSeq++;
    desk.stop(1001, 'stopping');
    live.parts.clear();
    live.rejected = [];
    live.ended = [];
  }
  assert.deepEqual(meters.faults, { message: 0, request: 0, upgrade: 0, event: 0 });
  return tally;
}

/** One session; returns how many messages it got. */
async function converse(desk: FeedDesk, stream: string, random: Random, tally: Tally, place: string): Promise<number> {
  const peer = new FuzzPeer(tally);
  const session = new Session(desk, peer, IDENTITY);
  const format = random() < 0.5 ? 'native' : pick(random, [...adapters.keys()]);
  if (random() < 0.9) session.receive(Buffer.from(JSON.stringify(hello({ stream, format, options: NEEDED[format] }))));
  await nextTurn();
  let count = 0;
  for (; count < MESSAGES_PER_SESSION && !peer.closed; count++) {
    const foreign = {
      type: 'message',
      seq: count + 1,
      ...(STAMPED.has(format) ? { k: count } : {}),
      message: SAMPLES[format],
    };
    const texts = format === 'native' ? TEXTS : [...TEXTS, ...Array(8).fill(JSON.stringify(foreign))];
    const text = mangled(texts, random);
    try {
      session.receive(Buffer.from(text));
    } catch (error) {
      console.error(`${place}: ${JSON.stringify(text)}`);
      throw error;
    }
  }
  session.closed();
  return Math.max(count, 1);
}

/** Gives so many mangled messages to the decoders, spread over all formats. */
export function fuzzAdapters(count: number, seed: number): Tally {
  const tally: Tally = {};
  const names = [...adapters.keys()];
  const texts = names.map(
    (name) => (typeof SAMPLES[name] === 'string' ? SAMPLES[name] : JSON.stringify(SAMPLES[name])) as string,
  );
  for (let round = 0, done = 0; done < count; round++) {
    const random = randomFrom(seed + round);
    const at = round % names.length;
    const name = names[at];
    const format = formatByName(name, NEEDED[name]) as Format;
    const rules = rulesFor(format.shape);
    const decoder = format.decoder(random() < 0.5 ? 'tracker' : 'reference');
    for (let n = 0; n < 10 && done < count; n++, done++) {
      const text = mangled(random() < 0.9 ? [texts[at]] : texts, random);
      const message = adapters.get(name)!.message === 'json' && random() < 0.7 ? parsed(text) : text;
      try {
        const decoded = decoder.decode(message, STAMPED.has(name) ? { k: n } : {});
        assert.equal(wrongWith(decoded, rules), null);
        const key = `${name} ${decoded.problems.length > 0 ? 'mistakes' : 'frames'}`;
        tally[key] = (tally[key] ?? 0) + 1;
      } catch (error) {
        console.error(`seed ${seed + round}, ${name}: ${JSON.stringify(text)}`);
        throw error;
      }
    }
    assert.equal(wrongWith(decoder.flush(), rules), null);
  }
  return tally;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [what = 'messages', count = '1000000', seed = '1'] = process.argv.slice(2);
  const began = performance.now();
  const tally = await (what === 'adapters' ? fuzzAdapters : fuzzMessages)(Number(count), Number(seed));
  console.log(`${count} ${what} from seed ${seed} in ${((performance.now() - began) / 1000).toFixed(0)} s`, tally);
}
