/**
 * What a push costs besides solving: its time against a hand-written floor that only checks the frame, looks for close
 * pairs and raises distances to the exponent; the bytes it allocates and those a window holds; and what the first
 * pushes of a process cost against later ones.
 */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Params, presets, SlidingWindow } from '../../../src/index.js';
import type { Box, Frame, Obj } from '../../../src/metric/evaluation.js';
import { cpuMs, round } from './engines.js';
import { calm, motSequence } from './scenes.js';

const WINDOW = 60;
const ROUNDS = 12;
const FIRST_PUSHES = 300;
/** windows held at the same time, so that their size stands out */
const HELD = 8;
const params: Params = presets['online-surveillance'];

const SOURCES: Record<string, () => Frame[]> = {
  calm: () => calm(600),
  'MOT17-04': () => motSequence('MOT17-04'),
  'MOT20-01': () => motSequence('MOT20-01'),
  'MOT17-09': () => motSequence('MOT17-09'),
};

/** By hand: everything any program would have to do, as fast as it can be written simply. */
function floor({ reference, tracker }: Frame): number {
  check(reference);
  check(tracker);
  const { cutoff, exponent } = params;
  let sum = 0;
  for (const { box: a } of reference as { box: Box }[]) {
    const right = a[0] + a[2];
    for (const { box: b } of tracker as { box: Box }[]) {
      const x = Math.min(right, b[0] + b[2]) - Math.max(a[0], b[0]);
      if (x <= 0) continue;
      const y = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
      if (y <= 0) continue;
      const distance = 1 - (x * y) / (a[2] * a[3] + b[2] * b[3] - x * y);
      if (distance < cutoff) sum += distance ** exponent;
    }
  }
  return sum;
}

function check(objects: readonly Obj[]): void {
  for (const { id, box } of objects as { id: string; box: Box }[]) {
    if (typeof id !== 'string' || box.length !== 4) throw new Error('not an object');
    if (!(box[2] > 0 && box[3] > 0 && Number.isFinite(box[0] + box[1] + box[2] + box[3]))) throw new Error('not a box');
  }
}

/** Passes of both take turns; the first few warm up. */
function floorRatio(frames: Frame[]): { floorUs: number; pushUs: number; ratio: number } {
  const ratios: number[] = [];
  let floorMs = 0;
  let pushMs = 0;
  let sink = 0;
  for (let pass = 0; pass < ROUNDS; pass++) {
    const first = process.cpuUsage();
    for (let again = 0; again < 5; again++) for (const frame of frames) sink += floor(frame);
    floorMs = cpuMs(first) / 5;
    const window = new SlidingWindow({ ...params, windowFrames: WINDOW });
    const second = process.cpuUsage();
    for (const frame of frames) window.push(frame);
    pushMs = cpuMs(second);
    window.dispose();
    if (pass >= ROUNDS / 2) ratios.push(pushMs / floorMs);
  }
  if (Number.isNaN(sink)) throw new Error('never');
  ratios.sort((a, b) => a - b);
  const us = (ms: number) => round((1000 * ms) / frames.length);
  return { floorUs: us(floorMs), pushUs: us(pushMs), ratio: round(ratios[ratios.length >> 1]) };
}

const bytesNow = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

/** Bytes allocated per push, seen as growth of the heap between collections. */
function allocatedPerPush(frames: Frame[]): number {
  const window = new SlidingWindow({ ...params, windowFrames: WINDOW });
  let bytes = 0;
  let counted = 0;
  let before = bytesNow();
  for (const frame of frames) {
    window.push(frame);
    const after = bytesNow();
    if (after > before) {
      bytes += after - before;
      counted++;
    }
    before = after;
  }
  window.dispose();
  return bytes / Math.max(1, counted);
}

/** What a full window holds, in multiples of the coordinates and ids in it. */
function heldMultiple(frames: Frame[]): { kilobytes: number; multiple: number } {
  const content = frames.slice(-WINDOW);
  const own = content
    .flatMap(({ reference, tracker }) => [...reference, ...tracker])
    .reduce((sum, { id }) => sum + 4 * 8 + id.length, 0);
  gc();
  const before = bytesNow();
  const windows = Array.from({ length: HELD }, () => new SlidingWindow({ ...params, windowFrames: WINDOW }));
  for (const window of windows) for (const frame of frames) window.push(frame);
  gc();
  const held = (bytesNow() - before) / HELD;
  for (const window of windows) window.dispose();
  return { kilobytes: round(held / 1000), multiple: round(held / own) };
}

const gc = () => {
  for (let n = 0; n < 3; n++) (globalThis as { gc?: () => void }).gc?.();
};

interface WarmUp {
  firstMs: number;
  laterMs: number;
}

/** The first pushes of a process, and the same pushes after many more. */
function warmUp(name: string): WarmUp {
  const frames = SOURCES[name]();
  const slide = () => {
    const window = new SlidingWindow({ ...params, windowFrames: WINDOW });
    const start = process.cpuUsage();
    for (let k = 0; k < FIRST_PUSHES; k++) window.push(frames[k % frames.length]);
    const ms = cpuMs(start);
    window.dispose();
    return ms;
  };
  const firstMs = slide();
  const later = Array.from({ length: 25 }, slide).slice(-9);
  later.sort((a, b) => a - b);
  return { firstMs, laterMs: later[4] };
}

export function resourceRow(name: string) {
  const frames = SOURCES[name]();
  const ratio = floorRatio(frames);
  const kilobytes = allocatedPerPush(frames) / 1000;
  const held = heldMultiple(frames);
  const child = execFileSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), name], {
    encoding: 'utf8',
  });
  const { firstMs, laterMs } = JSON.parse(child) as WarmUp;
  return {
    source: name,
    'floor us': ratio.floorUs,
    'push us': ratio.pushUs,
    'to floor': ratio.ratio,
    'kB per push': round(kilobytes),
    'held kB': held.kilobytes,
    'held, times ids and coordinates': held.multiple,
    'first 300 pushes ms': round(firstMs),
    'later ms': round(laterMs),
    'first to later': round(firstMs / laterMs),
  };
}

export const RESOURCE_SOURCES = Object.keys(SOURCES);

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(warmUp(process.argv[2])));
