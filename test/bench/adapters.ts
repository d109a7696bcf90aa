/**
 * Speed of every adapter against `JSON.parse` of as many bytes of native frames, in one run: `npm run bench -- adapters
 * [rounds [format ...]]`. A seeded crowd is written in each format; decoding begins with the text of a message, as it
 * comes from a socket or a file. CPU time is compared, rounds of both alternate, and the ratio is that of their
 * medians. The last line is the whole result as JSON.
 */

import { adapters, formatByName } from '../../adapters/index.js';
import type { Format, Part } from '../../adapters/kit/adapter.js';
import type { Box } from '../../src/metric/evaluation.js';
import { type PlainFrame, WRITERS } from '../kit/format-writers.js';
import { crowd } from './crowd.js';

const ROUNDS = Number(process.argv[2] ?? 15);
/** only these formats, when any are named */
const CHOSEN = process.argv.slice(3);
const WARM_UP_ROUNDS = 3;
const OBJECTS = 40;
const FRAMES = 500;
const RATIO_MAX = 3;

/** A crowd on 1920 x 1080 pixels, with fractions as trackers write them; ids from 0. */
function frames(): PlainFrame[] {
  return crowd(OBJECTS, FRAMES, 7).map(({ tracker }, k) => ({
    k,
    objects: tracker.map((object, n) => {
      const box = ('box' in object ? object.box : [0, 0, 1, 1]) as Box;
      const [left, top] = box.map((value) => Math.round(Math.abs(value) * 4000) / 100);
      return { id: String(n), box: [left % 1800, top % 900, 60.25 + (n % 7), 120.5] as Box };
    }),
  }));
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1];

/** CPU milliseconds of this process, which other programs on the machine do not add to. */
function timed(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const scene = frames();
const yardstick = WRITERS.native(scene).messages.map(({ message }) => JSON.stringify(message));
const yardstickBytes = bytesOf(yardstick);

function bytesOf(texts: string[]): number {
  return texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
}

interface Result {
  format: string;
  megabytes: number;
  megabytesPerSecond: number;
  parseMegabytesPerSecond: number;
  framesPerSecond: number;
  ratio: number;
}

function measure(name: string): Result {
  const { options, messages } = WRITERS[name](scene);
  const texts = messages.map(({ message }) => (typeof message === 'string' ? message : JSON.stringify(message)));
  const format = formatByName(name, options) as Format;
  const bytes = bytesOf(texts);
  let parts: Part[] = [];
  const decode = () => {
    const decoder = format.decoder('tracker');
    parts = [];
    texts.forEach((text, n) => {
      const decoded = decoder.decode(text, messages[n].k === undefined ? undefined : { k: messages[n].k });
      if (decoded.problems.length > 0) throw new Error(`${name}: ${JSON.stringify(decoded.problems[0])}`);
      for (const part of decoded.parts) parts.push(part);
    });
    for (const part of decoder.flush().parts) parts.push(part);
  };
  // parse as many bytes of native frames
  const repeats = Math.max(1, Math.round(bytes / yardstickBytes));
  const parse = () => {
    for (let n = 0; n < repeats; n++) for (const text of yardstick) JSON.parse(text);
  };
  const decodeMs: number[] = [];
  const parseMs: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const [decoded, parsed] = [timed(decode), timed(parse)];
    if (round < WARM_UP_ROUNDS) continue;
    decodeMs.push(decoded);
    parseMs.push(parsed);
  }
  if (parts.length !== scene.length) throw new Error(`${name} gave ${parts.length} frames instead of ${scene.length}`);
  const perByte = median(decodeMs) / bytes;
  const parsePerByte = median(parseMs) / (repeats * yardstickBytes);
  return {
    format: name,
    megabytes: bytes / 1e6,
    megabytesPerSecond: 1e-3 / perByte,
    parseMegabytesPerSecond: 1e-3 / parsePerByte,
    framesPerSecond: (parts.length / (perByte * bytes)) * 1000,
    ratio: perByte / parsePerByte,
  };
}

console.log(
  `${OBJECTS} walkers, ${FRAMES} frames, ${ROUNDS} rounds; times JSON.parse of as many bytes (at most ${RATIO_MAX})`,
);
const names = CHOSEN.length > 0 ? CHOSEN : [...adapters.keys()];
const results = names.map((name) => {
  const result = measure(name);
  const { megabytes, megabytesPerSecond, framesPerSecond, ratio } = result;
  console.log(
    `${name.padEnd(20)} ${megabytes.toFixed(1).padStart(5)} MB ${megabytesPerSecond.toFixed(0).padStart(5)} MB/s ${Math.round(framesPerSecond).toLocaleString('en-US').padStart(8)} frames/s  ${ratio.toFixed(2)}${ratio > RATIO_MAX ? '  too slow' : ''}`,
  );
  return result;
});
console.log(JSON.stringify({ benchmark: 'adapters', rounds: ROUNDS, ratioMax: RATIO_MAX, results }));
if (results.some(({ ratio }) => ratio > RATIO_MAX)) process.exitCode = 1;
