/**
 * Looks back into the log: where a moment stands, by time or by frame, and the records of one stream around it. Reads
 * only, in slices that leave the event loop to others, and no more bytes than allowed; what was dropped meanwhile, or
 * is damaged, is left out.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { HEADER_BYTES, type ParsedKey, readHeader } from './commit.js';
import { type LogRecord, type PartRecord, RecordReader } from './record.js';

/** What of a log is needed. */
export interface PastLog {
  readonly lastPosition: number;
  placeOf(position: number): Promise<ParsedKey | null>;
  commits(position: number, reverse: boolean): AsyncIterable<[key: string, value: Buffer]>;
}

export const isPastLog = (log: object): log is PastLog => 'placeOf' in log && 'commits' in log;

export interface Around {
  /** parts of each feed before the position, where they have no numbers, and behind the moment */
  before: number;
  after: number;
  /** the moment, which comes some records behind the position: one commit may hold many frames */
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

/** The records of one stream, commit after commit, forwards or back. */
export async function* recordsFrom(
  log: PastLog,
  stream: string,
  position: number,
  reverse: boolean,
  bytesMax: number,
): AsyncGenerator<LogRecord> {
  let bytes = 0;
  let end = performance.now() + SLICE_MS;
  for await (const [key, value] of log.commits(position, reverse)) {
    bytes += value.length;
    const records = recordsIn(key, value, stream);
    yield* reverse ? records.reverse() : records;
    if (bytes > bytesMax) return;
    if (performance.now() < end) continue;
    await turn();
    end = performance.now() + SLICE_MS;
  }
}

function recordsIn(key: string, value: Buffer, stream: string): LogRecord[] {
  const found: LogRecord[] = [];
  try {
    readHeader(key, value);
    for (const reader = new RecordReader(value, HEADER_BYTES); !reader.done; ) {
      const record = reader.readOf(stream);
      if (record) found.push(record);
    }
  } catch {
    // damage is told by whoever checks the store
  }
  return found;
}

/** Position of the last commit written at or before this time; the oldest one when all are later. */
export async function positionAt(log: PastLog, atMs: number): Promise<number | null> {
  const oldest = await log.placeOf(1);
  if (!oldest) return null;
  return search(log, oldest.position, async ({ timeMs }) => timeMs <= atMs);
}

/** Position of a frame of a stream, by its number; null when it is not stored. */
export async function positionOfFrame(log: PastLog, stream: string, k: number): Promise<number | null> {
  const oldest = await log.placeOf(1);
  if (!oldest) return null;
  const isBefore = async ({ position }: ParsedKey) => {
    const part = await nextPart(log, stream, position);
    return part?.part.k !== undefined && part.part.k <= k;
  };
  const position = await search(log, oldest.position, isBefore);
  // the commit before may hold it: a frame comes in two parts
  const part = await nextPart(log, stream, position);
  return part?.part.k !== undefined && part.part.k <= k ? position : null;
}

/** The last commit for which it holds, by bisection; the first one when it holds for none. */
async function search(log: PastLog, first: number, holds: (place: ParsedKey) => Promise<boolean>): Promise<number> {
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
  const ahead: LogRecord[] = [];
  const needed = new Map<string | null, number>([
    [null, behind.some((record) => record.kind === 'part' && feedOf(record) === null && isBeyond(record)) ? 0 : after],
    [tracker, after],
  ]);
  for await (const record of recordsFrom(log, stream, position, false, bytesMax / 2)) {
    ahead.push(record);
    const parts = record.kind === 'part' ? needed.get(feedOf(record)) : undefined;
    if (parts === undefined || record.kind !== 'part' || !isReached(record)) continue;
    needed.set(feedOf(record), isBeyond(record) ? 0 : parts - 1);
    if ([...needed.values()].every((one) => one <= 0)) break;
  }
  return [...behind.reverse(), ...ahead];
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
