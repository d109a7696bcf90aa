/**
 * CLEAR, Identity and HOTA once more, written down as the papers and TrackEval have them: dense matrices, every frame
 * from the beginning, the kernel's Hungarian method. Slow and plain: the judge of `src/scores`.
 */

import type { Frame, Obj } from '../../../src/index.js';
import type { Scores } from '../../../src/scores/totals.js';
import { bestMatching } from './best-matching.js';

export type Similarity = (truth: Obj, track: Obj) => number;

type Table = Map<string, number>;
const add = (table: Table, key: string, value: number) => table.set(key, (table.get(key) ?? 0) + value);
const key = (truth: Obj, track: Obj) => `${truth.id}\n${track.id}`;

function matrixOf({ reference, tracker }: Frame, value: (truth: Obj, track: Obj) => number): Float64Array {
  return Float64Array.from(reference.flatMap((truth) => tracker.map((track) => value(truth, track))));
}

function matchesOf(frame: Frame, value: (truth: Obj, track: Obj) => number): Array<[Obj, Obj]> {
  const { reference, tracker } = frame;
  const columns = bestMatching(matrixOf(frame, value), reference.length, tracker.length);
  return reference.flatMap(
    (truth, row): Array<[Obj, Obj]> => (columns[row] < 0 ? [] : [[truth, tracker[columns[row]]]]),
  );
}

export function naiveScores(frames: Frame[], similarity: Similarity): Scores {
  return { ...clear(frames, similarity), ...identity(frames, similarity), ...hota(frames, similarity) };
}

function clear(frames: Frame[], similarity: Similarity) {
  const present: Table = new Map();
  const matched: Table = new Map();
  const starts: Table = new Map();
  const ever = new Map<string, string>();
  let before = new Map<string, string>();
  const sum = { truths: 0, tracks: 0, matches: 0, similarity: 0, switches: 0 };
  for (const frame of frames) {
    sum.truths += frame.reference.length;
    sum.tracks += frame.tracker.length;
    for (const { id } of frame.reference) add(present, id, 1);
    if (frame.reference.length === 0 || frame.tracker.length === 0) continue;
    const matches = matchesOf(frame, (truth, track) => {
      const value = similarity(truth, track);
      if (value < 0.5 - Number.EPSILON) return 0;
      return value + (before.get(truth.id) === track.id ? 1000 : 0);
    });
    const now = new Map<string, string>();
    for (const [truth, track] of matches) {
      const last = ever.get(truth.id);
      if (last !== undefined && last !== track.id) sum.switches++;
      ever.set(truth.id, track.id);
      now.set(truth.id, track.id);
      add(matched, truth.id, 1);
      if (!before.has(truth.id)) add(starts, truth.id, 1);
      sum.similarity += similarity(truth, track);
      sum.matches++;
    }
    before = now;
  }
  const ratios = [...present].map(([id, count]) => (matched.get(id) ?? 0) / count);
  return {
    MOTA: (sum.matches - (sum.tracks - sum.matches) - sum.switches) / Math.max(1, sum.truths),
    MOTP: sum.similarity / Math.max(1, sum.matches),
    IDSW: sum.switches,
    Frag: [...starts.values()].reduce((total, count) => total + count - 1, 0),
    MT: ratios.filter((ratio) => ratio > 0.8).length,
    PT: ratios.filter((ratio) => ratio >= 0.2 && ratio <= 0.8).length,
    ML: ratios.filter((ratio) => ratio < 0.2).length,
  };
}

function identity(frames: Frame[], similarity: Similarity) {
  const truths = [...new Set(frames.flatMap(({ reference }) => reference.map(({ id }) => id)))];
  const tracks = [...new Set(frames.flatMap(({ tracker }) => tracker.map(({ id }) => id)))];
  const agree: Table = new Map();
  for (const { reference, tracker } of frames)
    for (const truth of reference)
      for (const track of tracker) if (similarity(truth, track) >= 0.5) add(agree, key(truth, track), 1);
  const benefit = Float64Array.from(
    truths.flatMap((truth) => tracks.map((track) => agree.get(`${truth}\n${track}`) ?? 0)),
  );
  const columns = bestMatching(benefit, truths.length, tracks.length);
  let matched = 0;
  columns.forEach((column, row) => {
    if (column >= 0) matched += benefit[row * tracks.length + column];
  });
  const truthCount = frames.reduce((sum, { reference }) => sum + reference.length, 0);
  const trackCount = frames.reduce((sum, { tracker }) => sum + tracker.length, 0);
  return {
    IDF1: matched / Math.max(1, (truthCount + trackCount) / 2),
    IDP: matched / Math.max(1, trackCount),
    IDR: matched / Math.max(1, truthCount),
  };
}

function hota(frames: Frame[], similarity: Similarity) {
  const together: Table = new Map();
  const truthFrames: Table = new Map();
  const trackFrames: Table = new Map();
  for (const { reference, tracker } of frames) {
    for (const { id } of reference) add(truthFrames, id, 1);
    for (const { id } of tracker) add(trackFrames, id, 1);
    const rows = reference.map((truth) => tracker.reduce((sum, track) => sum + similarity(truth, track), 0));
    const columns = tracker.map((track) => reference.reduce((sum, truth) => sum + similarity(truth, track), 0));
    reference.forEach((truth, i) => {
      tracker.forEach((track, j) => {
        const value = similarity(truth, track);
        if (value > 0) add(together, key(truth, track), value / (rows[i] + columns[j] - value));
      });
    });
  }
  const present = (truth: Obj, track: Obj) => truthFrames.get(truth.id)! + trackFrames.get(track.id)!;
  const align = (truth: Obj, track: Obj) => {
    const share = together.get(key(truth, track)) ?? 0;
    return share / (present(truth, track) - share);
  };
  const matches = frames.flatMap((frame) =>
    matchesOf(frame, (truth, track) => align(truth, track) * similarity(truth, track)),
  );
  const objects = frames.reduce((sum, { reference, tracker }) => sum + reference.length + tracker.length, 0);
  const sums = { HOTA: 0, DetA: 0, AssA: 0, LocA: 0 };
  for (let n = 0; n < 19; n++) {
    const counted = matches.filter((pair) => similarity(...pair) >= 0.05 + n * 0.05 - Number.EPSILON);
    const counts: Table = new Map();
    for (const pair of counted) add(counts, key(...pair), 1);
    const ass = counted.reduce((sum, pair) => {
      const count = counts.get(key(...pair))!;
      return sum + count / Math.max(1, present(...pair) - count);
    }, 0);
    const det = counted.length / Math.max(1, objects - counted.length);
    const loc = counted.reduce((sum, pair) => sum + similarity(...pair), 0);
    sums.DetA += det / 19;
    sums.AssA += ass / Math.max(1, counted.length) / 19;
    sums.HOTA += Math.sqrt((det * ass) / Math.max(1, counted.length)) / 19;
    sums.LocA += Math.max(1e-10, loc) / Math.max(1e-10, counted.length) / 19;
  }
  return sums;
}
