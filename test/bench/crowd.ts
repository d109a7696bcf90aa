/**
 * A seeded synthetic crowd for benchmarks: walkers on a plane whose size grows with their number, so that density stays
 * the same; a tracker with noise, misses, clutter, fragmentation and swaps when two walkers meet.
 */

import type { Frame, Obj } from '../../src/metric/evaluation.js';
import { type Random, randomFrom } from '../kit/random.js';

interface Walker {
  id: number;
  track: number;
  x: number;
  y: number;
  vx: number;
  vy: number;
  until: number;
}

const WIDTH = 40;
const HEIGHT = 100;
/** ground per walker in pixels: dense enough for boxes to overlap now and then */
const AREA_PER_WALKER = 22_000;

export function crowd(objectCount: number, frameCount: number, seed: number, areaPerWalker = AREA_PER_WALKER): Frame[] {
  const next = randomFrom(seed);
  const side = Math.sqrt(objectCount * areaPerWalker);
  let ids = 1;
  let tracks = 1;
  const spawn = (frame: number): Walker => {
    const angle = next() * 2 * Math.PI;
    const speed = 1 + 3 * next();
    const until = frame + 60 + Math.floor(next() * 240);
    return {
      id: ids++,
      track: tracks++,
      x: next() * side,
      y: next() * side,
      vx: speed * Math.cos(angle),
      vy: speed * Math.sin(angle),
      until,
    };
  };
  const walkers = Array.from({ length: objectCount }, () => spawn(-Math.floor(next() * 200)));
  const frames: Frame[] = [];
  for (let k = 0; k < frameCount; k++) {
    const reference: Obj[] = [];
    const tracker: Obj[] = [];
    walkers.forEach((walker, n) => {
      if (walker.until < k) walkers[n] = spawn(k);
      const w = walkers[n];
      w.x = (w.x + w.vx + side) % side;
      w.y = (w.y + w.vy + side) % side;
      reference.push({ id: `${w.id}`, box: [w.x, w.y, WIDTH, HEIGHT] });
      if (next() < 0.003) w.track = tracks++;
      if (next() < 0.05) return;
      tracker.push({
        id: `${w.track}`,
        box: [w.x + 6 * (next() - 0.5), w.y + 12 * (next() - 0.5), WIDTH * (0.95 + 0.1 * next()), HEIGHT],
      });
    });
    swapClose(walkers, next);
    if (next() < 0.02 * objectCount) tracker.push({ id: `c${k}`, box: [next() * side, next() * side, WIDTH, HEIGHT] });
    frames.push({ reference, tracker });
  }
  return frames;
}

function swapClose(walkers: Walker[], next: Random): void {
  for (let tries = 0; tries < walkers.length; tries++) {
    const a = walkers[Math.floor(next() * walkers.length)];
    const b = walkers[Math.floor(next() * walkers.length)];
    if (a === b || Math.abs(a.x - b.x) > WIDTH || Math.abs(a.y - b.y) > HEIGHT || next() > 0.2) continue;
    [a.track, b.track] = [b.track, a.track];
  }
}
