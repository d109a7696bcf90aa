/**
 * Two feeds of one scene and the mistakes people make when they connect them: objects that walk through a picture, a
 * tracker with noise, misses and ghosts, and a stream that is handed their parts as records.
 */
import { type Config, readConfig, resolveStream } from '../../../src/config/config.js';
import type { LogRecord } from '../../../src/store/record.js';
import { Stream } from '../../../src/stream/stream.js';
import type { LiveEvent } from '../../../src/wire/events.js';
import { pack, type WireObject } from '../../../src/wire/objects.js';
import { randomFrom } from '../random.js';

export const SCENE_START_MS = 1_763_251_200_000;

/** What a feed sends: the part, and when it arrives, in milliseconds after the start. */
export interface Sent {
  atMs: number;
  k?: number;
  t?: number;
  objects: WireObject[];
}

export interface SceneOptions {
  seed?: number;
  frames?: number;
  objects?: number;
  /** milliseconds */
  everyMs?: number;
  shape?: 'box' | 'point';
  missed?: number;
  ghosts?: number;
  /** as a share of the size of an object */
  noise?: number;
  /** pixels per frame */
  speed?: number;
}

const WIDTH = 1920;
const HEIGHT = 1080;

/** Each frame shows one of so many sectors, in turn. */
export const inSectors = (feed: Sent[], sectors: number): Sent[] =>
  feed.map((sent, n) => {
    const isSeen = ({ id }: WireObject) =>
      Number.parseInt(String(id).replace(/^\D+/, ''), 10) % sectors === n % sectors;
    return { ...sent, objects: sent.objects.filter(isSeen) };
  });

/** A scene in a picture, in pixels; points are the middles of the boxes. Both feeds have k and t. */
export function scene(options: SceneOptions = {}): { reference: Sent[]; tracker: Sent[] } {
  const { seed = 1, frames = 300, objects = 8, everyMs = 100, shape = 'box' } = options;
  const { missed = 0.05, ghosts = 0.2, noise = 0.04, speed = 6 } = options;
  const random = randomFrom(seed);
  const walkers = Array.from({ length: objects }, (_, n) => ({
    id: String(n),
    x: random() * WIDTH,
    y: random() * HEIGHT,
    vx: (random() - 0.5) * 2 * speed,
    vy: (random() - 0.5) * speed,
    size: 40 + random() * 60,
  }));
  const place = (id: string, x: number, y: number, size: number): WireObject =>
    shape === 'box' ? { id, box: [x - size / 2, y - size, size, 2 * size] } : { id, point: [x, y] };
  const reference: Sent[] = [];
  const tracker: Sent[] = [];
  for (let n = 0; n < frames; n++) {
    const tracks: WireObject[] = [];
    for (const walker of walkers) {
      walker.x = (walker.x + walker.vx + WIDTH) % WIDTH;
      walker.y = (walker.y + walker.vy + HEIGHT) % HEIGHT;
      const off = () => (random() - 0.5) * 2 * noise * walker.size;
      if (random() >= missed) tracks.push(place(`t${walker.id}`, walker.x + off(), walker.y + off(), walker.size));
    }
    for (let g = 0; g < ghosts; g += 1)
      if (random() < ghosts - g) tracks.push(place(`g${n}-${g}`, random() * WIDTH, random() * HEIGHT, 60));
    const when = { atMs: n * everyMs, k: n + 1, t: 1_763_251_200 + (n * everyMs) / 1000 };
    reference.push({ ...when, objects: walkers.map(({ id, x, y, size }) => place(id, x, y, size)) });
    tracker.push({ ...when, objects: tracks });
  }
  return { reference, tracker };
}

/** The feed with every object's numbers changed. */
export const moved = (feed: Sent[], change: (numbers: number[]) => number[]): Sent[] =>
  feed.map((sent) => ({
    ...sent,
    objects: sent.objects.map((object) =>
      object.box
        ? { ...object, box: change(object.box) as typeof object.box }
        : { ...object, point: change(object.point!) },
    ),
  }));

/** The feed with other keys. */
export const keyed = (feed: Sent[], change: (sent: Sent) => { k?: number; t?: number }): Sent[] =>
  feed.map((sent) => ({ atMs: sent.atMs, objects: sent.objects, ...change(sent) }));

const POINTS = `profiles:
  yard: { distance: euclidean, cutoff: 60, exponent: 1, switchPenalty: 30 }
  sea: { distance: geodesic, cutoff: 500, exponent: 1, switchPenalty: 200 }
`;

const configs = new Map<string, Config>();

/** Read once: that takes longer than playing a short scene. */
function configOf(text: string): Config {
  const config = configs.get(text) ?? readConfig({ text, env: {} }).config;
  configs.set(text, config);
  return config;
}

/** Plays both feeds into a stream, in the order of arrival; time passes in between. */
export class Rehearsal {
  readonly stream: Stream;
  readonly events: LiveEvent[] = [];
  #position = 0;

  constructor(settings: Record<string, unknown> = {}, text = POINTS) {
    const resolved = resolveStream(configOf(text), 's', {
      // solves are not what is rehearsed
      windowFrames: 2,
      ...settings,
    });
    if ('message' in resolved) throw new Error(resolved.message);
    this.stream = new Stream('s', { ...resolved, patch: {} });
  }

  apply(record: LogRecord): void {
    for (const { events } of this.stream.apply(record, ++this.#position) ?? []) this.events.push(...events);
  }

  open(role: 'reference' | 'tracker', afterMs = 0): void {
    this.apply({ kind: 'open', stream: 's', atMs: SCENE_START_MS + afterMs, role, tracker: nameOf(role) });
  }

  play({ reference, tracker }: { reference?: Sent[]; tracker?: Sent[] }, fromSeq = 1): this {
    const all = [
      ...(reference ?? []).map((sent, n) => ({ role: 'reference' as const, seq: fromSeq + n, sent })),
      ...(tracker ?? []).map((sent, n) => ({ role: 'tracker' as const, seq: fromSeq + n, sent })),
    ].sort((a, b) => a.sent.atMs - b.sent.atMs);
    let nowMs = all[0].sent.atMs;
    for (const { role, seq, sent } of all) {
      for (; nowMs + 500 <= sent.atMs; nowMs += 500) this.#tick(nowMs + 500);
      const { atMs, objects, ...keys } = sent;
      const part = { seq, ...keys, objects: pack(objects) };
      this.apply({ kind: 'part', stream: 's', atMs: SCENE_START_MS + atMs, role, tracker: nameOf(role), part });
    }
    return this;
  }

  #tick(atMs: number): void {
    this.apply({ kind: 'tick', stream: 's', atMs: SCENE_START_MS + atMs });
  }

  get names(): string[] {
    return this.stream.info().findings.map(({ finding }) => finding);
  }

  get only() {
    const { findings } = this.stream.info();
    if (findings.length !== 1) throw new Error(`not one finding but ${JSON.stringify(this.names)}`);
    return findings[0];
  }
}

const nameOf = (role: 'reference' | 'tracker') => (role === 'tracker' ? 'sort' : null);

/** A stream with both feeds open that has heard all of a scene. */
export function rehearse(
  feeds: { reference?: Sent[]; tracker?: Sent[] },
  settings?: Record<string, unknown>,
): Rehearsal {
  const rehearsal = new Rehearsal(settings);
  rehearsal.open('reference');
  rehearsal.open('tracker');
  return rehearsal.play(feeds);
}
