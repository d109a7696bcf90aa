/** MOT17 sequences with trackers' output, where they are. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { alignMotChallenge, readMotChallenge } from '../../../adapters/formats/motchallenge.js';
import type { Frame } from '../../../src/index.js';

export const MOT17 = fileURLToPath(new URL('../../../../../shared/data/MOT17/', import.meta.url));

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
