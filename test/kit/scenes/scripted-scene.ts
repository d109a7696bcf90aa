/**
 * Scenes whose trackers fail on command: for each stream a reference, a healthy tracker `good` and a tracker `bad` that
 * has the fault of its stream while it is told so. Seeded by frame, so that what a frame holds does not depend on when
 * it is sent. The faults that rates find too come once more, in streams of which the detector is switched off.
 */
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../../src/client.js';
import { randomFrom } from '../random.js';

export const FAULTS = ['miss', 'ghosts', 'swaps', 'drift', 'silence', 'blind'] as const;
export type Fault = (typeof FAULTS)[number];
/** Streams with a fault of accuracy in which nothing is found but by rates. */
export const UNDETECTED = ['miss', 'ghosts', 'swaps', 'drift'].map((fault) => `rate-${fault}`);
export const SCRIPTED_STREAMS: readonly string[] = [...FAULTS, ...UNDETECTED];

const faultOf = (stream: string) => stream.replace(/^rate-/, '') as Fault;

const OBJECTS = 8;
const FRAMES_PER_SECOND = 10;
const WIDTH = 60;
const HEIGHT = 120;

/** Objects walk up and down in lanes of their own, far from each other. */
export function truthsAt(k: number): ClientObject[] {
  return Array.from({ length: OBJECTS }, (_, n) => ({
    id: String(n),
    box: [n * 200, 300 + 200 * Math.sin(k / 40 + n), WIDTH, HEIGHT],
  }));
}

/** What a tracker reports: boxes a little off, one object in fifty missed, and its fault. */
export function tracksAt(k: number, seed: number, fault: Fault | null): ClientObject[] {
  const random = randomFrom(seed * 1_000_003 + k);
  const tracks = truthsAt(k).flatMap(({ id, box }): ClientObject[] => {
    const [left, top] = box!;
    const shift = () => (random() - 0.5) * 6;
    const off = fault === 'drift' ? 12 : 0;
    const seen: ClientObject = { id, box: [left + shift() + off, top + shift(), WIDTH, HEIGHT] };
    const missed = random() < (fault === 'miss' ? 0.4 : 0.02);
    return missed ? [] : [seen];
  });
  if (fault === 'ghosts')
    for (let n = 0; n < 4; n++) tracks.push({ id: `ghost${n}`, box: [n * 200 + 100, 900, WIDTH, HEIGHT] });
  // neighbours exchange their names every other second of the scene
  if (fault === 'swaps' && k % 20 < 10) for (const track of tracks) track.id = String(Number(track.id) ^ 1);
  return tracks;
}

/** Sends all streams, frame after frame, until it is stopped. */
export class ScriptedScene {
  faulty = false;
  #feeds: Array<{ stream: string; role: 'reference' | 'good' | 'bad'; client: FeedClient }>;
  #frame = 0;
  #timer: NodeJS.Timeout;

  constructor(url: string) {
    this.#feeds = SCRIPTED_STREAMS.flatMap((stream) =>
      (['reference', 'good', 'bad'] as const).map((role) => ({
        stream,
        role,
        client: connect({
          url,
          stream,
          ...(role === 'reference' ? { role } : { role: 'tracker', tracker: role }),
          WebSocket,
        }),
      })),
    );
    this.#timer = setInterval(() => this.#send(), 1000 / FRAMES_PER_SECOND);
  }

  #send(): void {
    const k = ++this.#frame;
    for (const [seed, { stream, role, client }] of this.#feeds.entries()) {
      const fault = faultOf(stream);
      if (this.faulty && fault === 'silence' && role === 'bad') continue;
      if (this.faulty && fault === 'blind' && role === 'reference') continue;
      const objects =
        role === 'reference' ? truthsAt(k) : tracksAt(k, seed, this.faulty && role === 'bad' ? fault : null);
      void client.send({ k, objects });
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const { client } of this.#feeds) await client.close({ flush: false });
  }
}
