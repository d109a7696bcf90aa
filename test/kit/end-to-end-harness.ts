/** What the tests of the whole system share: reading /metrics, and MOT17 sequences where they are. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { alignMotChallenge, readMotChallenge } from '../../adapters/formats/motchallenge.js';
import type { Frame } from '../../src/index.js';

/** The value of one sample in Prometheus text; NaN when there is none with all these labels. */
export function metric(text: string, name: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && wanted.every((label) => one.includes(label)));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
}

const MOT17 = fileURLToPath(new URL('../../../../shared/data/MOT17/', import.meta.url));

/** A MOT17 sequence with a tracker's output, or null where the data is not there. */
export function mot17(sequence: string, tracker: string): Frame[] | null {
  const files = {
    reference: `${MOT17}train/${sequence}/gt/gt.txt`,
    tracker: `${MOT17}results/${tracker}/${sequence}-FRCNN.txt`,
  };
  if (!Object.values(files).every((file) => existsSync(file))) {
    if (process.env.TGOSPA_REQUIRE_SYSTEM === '1') throw new Error(`MOT17 is needed here, but ${MOT17} lacks it`);
    return null;
  }
  const read = (kind: 'reference' | 'tracker') =>
    readMotChallenge(readFileSync(files[kind], 'utf8'), { kind, file: files[kind] });
  return alignMotChallenge(read('reference'), read('tracker'));
}
