/**
 * A group commit: records that become durable together, with one flush. Its key says where it stands in the log, its
 * header what it holds and how far the program was when it was written; a checksum covers all of it.
 */
import { crc32 } from 'node:zlib';
import { type LogRecord, RecordWriter } from './record.js';
import { StorageFault } from './storage-fault.js';

/** Records begin behind the header. */
export const HEADER_BYTES = 48;
/** TGL1 */
const MAGIC = 0x314c4754;

/** Records that wait for the disk, and whoever waits for them. */
export class Batch {
  readonly records: LogRecord[] = [];
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (fault: StorageFault) => void;
  first = 0;

  /** `writer` may be one of a former batch. */
  constructor(readonly writer = new RecordWriter()) {
    writer.truncate(HEADER_BYTES);
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // a record nobody waits for may fail quietly: its fault is told by faultChanged
    this.durable.catch(() => {});
  }
}

export interface Header {
  first: number;
  count: number;
  /** every record before this position is covered by a snapshot */
  floor: number;
  /** events of records up to this position have been published */
  applied: number;
}

// magic, checksum, first, count, floor, applied, reserved
export function writeHeader(value: Buffer, header: Header): void {
  value.writeUInt32LE(MAGIC, 0);
  value.writeDoubleLE(header.first, 8);
  value.writeDoubleLE(header.count, 16);
  value.writeDoubleLE(header.floor, 24);
  value.writeDoubleLE(header.applied, 32);
  value.writeDoubleLE(0, 40);
  value.writeUInt32LE(crc32(value.subarray(8)), 4);
}

/** The header of a commit; throws when the commit is damaged. */
export function readHeader(key: string, value: Buffer): Header {
  if (
    value.length < HEADER_BYTES ||
    value.readUInt32LE(0) !== MAGIC ||
    value.readUInt32LE(4) !== crc32(value.subarray(8))
  )
    throw new StorageFault(
      'storage_failed',
      `the log is damaged at record ${parseKey(key).position}; restore data.dir from a copy, or begin with an empty one`,
    );
  return {
    first: value.readDoubleLE(8),
    count: value.readDoubleLE(16),
    floor: value.readDoubleLE(24),
    applied: value.readDoubleLE(32),
  };
}

/** The header of a commit, or null when it is damaged. */
export function headerOf(key: string, value: Buffer): Header | null {
  try {
    const header = readHeader(key, value);
    return header.first === parseKey(key).position ? header : null;
  } catch {
    return null;
  }
}

const hex = (value: number, digits: number) => Math.max(0, Math.floor(value)).toString(16).padStart(digits, '0');

export const commitKey = (position: number, bytesBefore: number, timeMs: number) =>
  `b${hex(position, 14)}${hex(bytesBefore, 14)}${hex(timeMs, 12)}`;

/** Sorts behind every commit that begins at or before this position, and before all others. */
export const keyBehind = (position: number) => `b${hex(position + 1, 14)}`;

/** Key of the event with this index among those of the record at this position: keys sort as events happened. */
export const eventKey = (position: number, index: number) => `${hex(position, 14)}${hex(index, 6)}`;

export interface ParsedKey {
  position: number;
  bytesBefore: number;
  timeMs: number;
}

export const parseKey = (key: string): ParsedKey => ({
  position: Number.parseInt(key.slice(1, 15), 16),
  bytesBefore: Number.parseInt(key.slice(15, 29), 16),
  timeMs: Number.parseInt(key.slice(29), 16),
});
