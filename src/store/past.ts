/**
 * Looks back into the log: where a moment stands, by time or by frame, and the records of one stream around it. Reads
 * only, in slices that leave the event loop to others, and no more bytes than allowed; what was dropped meanwhile, or
 * is damaged, is left out.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { type LogRecord, type PartRecord, RecordReader } from './record.js';

/** What of a log is needed. Positions grow along it, and each batch has at least one. */
export interface PastLog {
  /** nothing is behind it */
  readonly lastPosition: number;
  /** Where the batch begins that holds a position, or the oldest one behind it; null when there is none. */
  placeOf(position: number): Promise<PastPlace | null>;
  /** From the batch that holds a position on, or back from it. */
  batches(position: number, reverse: boolean): AsyncIterable<PastBatch>;
}

export interface PastPlace {
  position: number;
  /** when it was stored, epoch milliseconds */
  timeMs: number;
}

/** Records that became durable together. */
export interface PastBatch {
  /** what it took to read it */
  bytes: number;
  /** as RecordReader reads them; none where they are damaged */
  records: Buffer;
}

export interface Around {
  /** parts of each feed before the position, where they have no numbers, and behind the moment */
  before: number;
  after: number;
  /** the moment, which comes some records behind the position: one batch may hold many frames */
  isReached(part: PartRecord): boolean;
  /** far enough before the moment, by its number; feeds may be far apart in the log */
  isBehind(part: PartRecord): boolean;
  /** far enough after the moment, by its number */
  isBeyond(part: PartRecord): boolean;
  bytesMax: number;
}

/** milliseconds after which others have their turn */
const SLICE_MS = 3;
/** bytes: so far is looked for a part of a stream from one place on */
const PROBE_BYTES = 4 * 1024 ** 2;

/** The records of one stream, batch after batch, forwards or back. */
export async function* recordsFrom(
  log: PastLog,
  stream: string,
  position: number,
  reverse: boolean,
  bytesMax: number,
): AsyncGenerator<LogRecord> {
  let bytes = 0;
  let end = performance.now() + SLICE_MS;
  for await (const batch of log.batches(position, reverse)) {
    bytes += batch.bytes;
    const records = recordsIn(batch, stream);
    yield* reverse ? records.reverse() : records;
    if (bytes > bytesMax) return;
    if (performance.now() < end) continue;
    await turn();
    end = performance.now() + SLICE_MS;
  }
}

function recordsIn({ records }: PastBatch, stream: string): LogRecord[] {
  const found: LogRecord[] = [];
  try {
    for (const reader = new RecordReader(records); !reader.done; ) {
      const record = reader.readOf(stream);
      if (record) found.push(record);
    }
  } catch {
    // damage is told by whoever checks the store
  }
  return found;
}

/** Position of the last batch stored at or before this time; the oldest one when all are later. */
export async function positionAt(log: PastLog, atMs: number): Promise<number | null> {
  const oldest = await log.placeOf(1);
  if (!oldest) return null;
  return search(log, oldest.position, async ({ timeMs }) => timeMs <= atMs);
}

/** Position of a frame of a stream, by its number; null when it is not stored. */
export async function positionOfFrame(log: PastLog, stream: string, k: number): Promise<number | null> {
  const oldest = await log.placeOf(1);
  if (!oldest) return null;
  const isBefore = async ({ position }: PastPlace) => {
    const part = await nextPart(log, stream, position);
    return part?.part.k !== undefined && part.part.k <= k;
  };
  const position = await search(log, oldest.position, isBefore);
  // the batch before may hold it: a frame comes in two parts
  const part = await nextPart(log, stream, position);
  return part?.part.k !== undefined && part.part.k <= k ? position : null;
}

/** The last batch for which it holds, by bisection; the first one when it holds for none. */
async function search(log: PastLog, first: number, holds: (place: PastPlace) => Promise<boolean>): Promise<number> {
  let low = first;
  let high = log.lastPosition;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const place = await log.placeOf(middle);
    if (place && (await holds(place))) low = middle;
    else high = Math.max(low, Math.min(middle, place?.position ?? middle) - 1);
  }
  return (await log.placeOf(low))?.position ?? low;
}

async function nextPart(log: PastLog, stream: string, position: number): Promise<PartRecord | null> {
  for await (const record of recordsFrom(log, stream, position, false, PROBE_BYTES))
    if (record.kind === 'part') return record;
  return null;
}

/** The tracker of a part; null for every reference, which may have a name. */
const feedOf = ({ role, tracker }: PartRecord): string | null => (role === 'reference' ? null : tracker);

/** A log that several processes append to may hold a part twice, and late; whoever applied it left that out. */
function isRepeated(record: LogRecord, newest: Map<string | null, PartRecord>): boolean {
  if (record.kind !== 'part' || record.epoch === undefined) return false;
  const before = newest.get(feedOf(record));
  if (before && (record.epoch - before.epoch! || record.part.seq - before.part.seq) <= 0) return true;
  newest.set(feedOf(record), record);
  return false;
}

/** The records of a stream around a moment, in order: enough of both feeds before it, and behind it. */
export async function recordsAround(
  log: PastLog,
  stream: string,
  tracker: string,
  position: number,
  { before, after, isReached, isBehind, isBeyond, bytesMax }: Around,
): Promise<LogRecord[]> {
  const behind: LogRecord[] = [];
  const left = new Map<string | null, number>([
    [null, before],
    [tracker, before],
  ]);
  for await (const record of recordsFrom(log, stream, position - 1, true, bytesMax / 2)) {
    behind.push(record);
    const parts = record.kind === 'part' ? left.get(feedOf(record)) : undefined;
    if (parts === undefined || record.kind !== 'part') continue;
    left.set(feedOf(record), record.part.k === undefined ? parts - 1 : isBehind(record) ? 0 : 1);
    if ([...left.values()].every((one) => one <= 0)) break;
  }
  const newest = new Map<string | null, PartRecord>();
  const found = behind.reverse().filter((record) => !isRepeated(record, newest));
  const needed = new Map<string | null, number>([
    [null, found.some((record) => record.kind === 'part' && feedOf(record) === null && isBeyond(record)) ? 0 : after],
    [tracker, after],
  ]);
  for await (const record of recordsFrom(log, stream, position, false, bytesMax / 2)) {
    if (isRepeated(record, newest)) continue;
    found.push(record);
    const parts = record.kind === 'part' ? needed.get(feedOf(record)) : undefined;
    if (parts === undefined || record.kind !== 'part' || !isReached(record)) continue;
    needed.set(feedOf(record), isBeyond(record) ? 0 : parts - 1);
    if ([...needed.values()].every((one) => one <= 0)) break;
  }
  return found;
}

/** The next part of a feed from a position on, if there is one near. */
export async function partFrom(
  log: PastLog,
  stream: string,
  tracker: string,
  position: number,
): Promise<PartRecord | null> {
  for await (const record of recordsFrom(log, stream, position, false, PROBE_BYTES))
    if (record.kind === 'part' && record.tracker === tracker) return record;
  return null;
}
