/**
 * `npm run bench -- scores [--objects N] [--frames M] [--window T] [--stride S]`: what the companion scores cost beside
 * what a frame costs anyway (parsing two messages, SlidingWindow.push), in processor time on a seeded crowd. The parts
 * take turns in blocks of frames, so that all see the same machine. The last line is the whole result as JSON.
 */

import { parseArgs } from 'node:util';
import { presets, SlidingWindow } from '../../src/index.js';
import { Companion } from '../../src/scores/companion.js';
import { crowd } from './crowd.js';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '20' },
    frames: { type: 'string', default: '20000' },
    window: { type: 'string', default: '60' },
    stride: { type: 'string', default: '300' },
  },
});
const [objects, frameCount, windowFrames, strideFrames] = [
  values.objects,
  values.frames,
  values.window,
  values.stride,
].map(Number);
const WARM_FRAMES = 2000;
const BLOCK_FRAMES = 200;

const frames = crowd(objects, 1000, 7);
const texts = frames.map(({ reference, tracker }) => [JSON.stringify(reference), JSON.stringify(tracker)]);
const window = new SlidingWindow({ ...presets['online-surveillance'], windowFrames });
const companion = new Companion({ kind: 'iou' }, strideFrames, 0);

const spentMs = { parse: 0, push: 0, companion: 0 };
let sum = 0;

/** One block of frames through every part, the clock on each. */
function block(from: number, count: number): void {
  const clock = (part: keyof typeof spentMs, work: (n: number) => void) => {
    // processor time: other programs on the machine do not count
    const began = process.cpuUsage();
    for (let n = from; n < from + count; n++) work(n % frames.length);
    const { user, system } = process.cpuUsage(began);
    spentMs[part] += (user + system) / 1000;
  };
  clock('parse', (n) => {
    sum += JSON.parse(texts[n][0]).length + JSON.parse(texts[n][1]).length;
  });
  clock('push', (n) => {
    sum += window.push(frames[n]).distance;
  });
  clock('companion', (n) => companion.push(n, () => window.frames()));
}

for (let n = 0; n < WARM_FRAMES; n += BLOCK_FRAMES) block(n, BLOCK_FRAMES);
for (const part of Object.keys(spentMs) as Array<keyof typeof spentMs>) spentMs[part] = 0;
for (let n = 0; n < frameCount; n += BLOCK_FRAMES) block(n, BLOCK_FRAMES);
if (Number.isNaN(sum)) throw new Error('nothing was computed');
window.dispose();

const micros = (ms: number) => Number(((ms * 1000) / frameCount).toFixed(2));
const anyway = spentMs.parse + spentMs.push;
const result = {
  objects,
  windowFrames,
  strideFrames,
  frames: frameCount,
  microsPerFrame: {
    parse: micros(spentMs.parse),
    push: micros(spentMs.push),
    companion: micros(spentMs.companion),
    oneEvaluation: Number((micros(spentMs.companion) * strideFrames).toFixed(1)),
  },
  share: Number((spentMs.companion / anyway).toFixed(4)),
};
console.log(`${objects} objects, window ${windowFrames}, stride ${strideFrames}:`);
console.log(result.microsPerFrame);
console.log(`the companion scores add ${(result.share * 100).toFixed(1)} % to parsing and SlidingWindow.push`);
console.log(JSON.stringify(result));
