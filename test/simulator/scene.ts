/** Streams of a simulated run: walkers, and trackers that lose, swap and invent some of them; all from one seed. */
import type { ClientObject } from '../../src/client.js';
import { type Random, randomFrom } from '../kit/random.js';

export interface SceneFeed {
  stream: string;
  /** null for the reference */
  tracker: string | null;
  /** objects by frame */
  frames: ClientObject[][];
}

export interface Scene {
  seed: number;
  frames: number;
  periodMs: number;
  windowFrames: number;
  /** frames have a time instead of a number */
  byTime: boolean;
  profiles: string[];
  feeds: SceneFeed[];
}

const WALKERS = 4;

export function sceneOf(seed: number): Scene {
  const random = randomFrom(seed * 7919 + 1);
  const frames = 40 + Math.floor(random() * 80);
  const streams = 1 + Math.floor(random() * 3);
  const feeds: SceneFeed[] = [];
  for (let n = 0; n < streams; n++) {
    const stream = `gate-${n}`;
    const truths = walk(random, frames);
    feeds.push({ stream, tracker: null, frames: truths });
    const trackers = random() < 0.3 ? ['sort', 'deep'] : ['sort'];
    for (const tracker of trackers) feeds.push({ stream, tracker, frames: track(random, truths) });
  }
  return {
    seed,
    frames,
    periodMs: 1000 / (5 + Math.floor(random() * 26)),
    windowFrames: 5 + Math.floor(random() * 25),
    byTime: random() < 0.3,
    profiles: random() < 0.3 ? ['online-surveillance', 'detector-training'] : ['online-surveillance'],
    feeds,
  };
}

function walk(random: Random, frames: number): ClientObject[][] {
  const walkers = Array.from({ length: WALKERS }, (_, n) => ({
    id: `w${n}`,
    from: Math.floor(random() * frames * 0.3),
    to: frames - Math.floor(random() * frames * 0.3),
    left: 100 * n * random(),
    top: 50 * random(),
    dx: 4 * random() - 2,
    dy: 2 * random() - 1,
  }));
  return Array.from({ length: frames }, (_, k) =>
    walkers
      .filter(({ from, to }) => k >= from && k < to)
      .map(({ id, left, top, dx, dy }) => ({ id, box: [round(left + dx * k), round(top + dy * k), 40, 80] })),
  );
}

function track(random: Random, truths: ClientObject[][]): ClientObject[][] {
  const swapAt = Math.floor(random() * truths.length);
  return truths.map((objects, k) => {
    const seen = objects.filter(() => random() > 0.05);
    const tracks = seen.map(({ id, box }, n): ClientObject => {
      const [left, top, width, height] = box!;
      const other = k >= swapAt && n < 2 ? seen[1 - n]?.id : undefined;
      return {
        id: `t${other ?? id}`,
        box: [round(left + 6 * random() - 3), round(top + 6 * random() - 3), width, height],
      };
    });
    if (random() < 0.05) tracks.push({ id: `ghost${k}`, box: [600, 600, 30, 30] });
    return tracks;
  });
}

const round = (value: number) => Math.round(value * 100) / 100;
