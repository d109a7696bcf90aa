/**
 * The best matching of one frame alone: per-frame GOSPA. Pairs that share no end with another are assigned; the others are matched in groups
 * of those that hang together, so that a crowd costs what its crossings do.
 */

import { cheapestMatching } from './assignment.js';
import { Basket } from './window/basket.js';
import { type FrameRecord, lonePairs } from './window/frame-record.js';

const NONE = -1;

// scratch: of each pair the next one with the same truth, and with the same track; of each truth and track its first pair, and its row or column in the group
let nextOfTruth = new Int32Array(64);
let nextOfTrack = new Int32Array(64);
let firstOfTruth = new Int32Array(64);
let firstOfTrack = new Int32Array(64);
let row = new Int32Array(64);
let column = new Int32Array(64);
const rows = new Basket<number>();
const columns = new Basket<number>();

/** Assigns the pairs of the best matching. */
export function matchFrame(frame: FrameRecord): void {
  const lone = lonePairs(frame);
  link(frame);
  for (let pair = 0; pair < frame.pairCount; pair++) {
    if (lone[pair]) frame.assign(pair, 1);
    else if (row[frame.truthIndex(pair)] === NONE) matchGroup(frame, frame.truthIndex(pair));
  }
}

function link(frame: FrameRecord): void {
  const { pairCount, truths, tracks } = frame;
  nextOfTruth = roomFor(nextOfTruth, pairCount);
  nextOfTrack = roomFor(nextOfTrack, pairCount);
  firstOfTruth = roomFor(firstOfTruth, truths.length).fill(NONE, 0, truths.length);
  firstOfTrack = roomFor(firstOfTrack, tracks.length).fill(NONE, 0, tracks.length);
  row = roomFor(row, truths.length).fill(NONE, 0, truths.length);
  column = roomFor(column, tracks.length).fill(NONE, 0, tracks.length);
  for (let pair = pairCount - 1; pair >= 0; pair--) {
    const truth = frame.truthIndex(pair);
    const track = frame.trackIndex(pair);
    nextOfTruth[pair] = firstOfTruth[truth];
    nextOfTrack[pair] = firstOfTrack[track];
    firstOfTruth[truth] = firstOfTrack[track] = pair;
  }
}

const roomFor = (list: Int32Array<ArrayBuffer>, length: number) =>
  list.length < length ? new Int32Array(2 * length) : list;

/** Matches everybody who hangs together with a truth. */
function matchGroup(frame: FrameRecord, truth: number): void {
  addRow(truth);
  let columnsDone = 0;
  for (let done = 0; done < rows.size; done++) {
    for (let pair = firstOfTruth[rows.at(done)]; pair !== NONE; pair = nextOfTruth[pair])
      addColumn(frame.trackIndex(pair));
    for (; columnsDone < columns.size; columnsDone++)
      for (let pair = firstOfTrack[columns.at(columnsDone)]; pair !== NONE; pair = nextOfTrack[pair])
        addRow(frame.truthIndex(pair));
  }
  const width = columns.size;
  const costs = new Float64Array(rows.size * width).fill(Number.POSITIVE_INFINITY);
  for (let i = 0; i < rows.size; i++)
    for (let pair = firstOfTruth[rows.at(i)]; pair !== NONE; pair = nextOfTruth[pair])
      costs[i * width + column[frame.trackIndex(pair)]] = frame.cost(pair);
  const matching = cheapestMatching(costs, frame.unit, rows.size, width);
  for (let i = 0; i < rows.size; i++)
    for (let pair = firstOfTruth[rows.at(i)]; pair !== NONE; pair = nextOfTruth[pair])
      if (column[frame.trackIndex(pair)] === matching[i]) frame.assign(pair, 1);
  rows.clear();
  columns.clear();
}

function addRow(truth: number): void {
  if (row[truth] !== NONE) return;
  row[truth] = rows.size;
  rows.add(truth);
}

function addColumn(track: number): void {
  if (column[track] !== NONE) return;
  column[track] = columns.size;
  columns.add(track);
}
