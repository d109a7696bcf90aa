/**
 * How damage of the store is seen. LevelDB drops what it cannot read without a word, so every value carries a checksum
 * over its key and itself, positions of commits must be consecutive, the position of every snapshot is kept twice, and
 * a sum over all snapshots and events says whether one of them is gone.
 */
import { crc32 } from 'node:zlib';

/** What is damaged, and what was lost by it. */
export interface Damage {
  /** the only stream concerned, where that is known */
  stream?: string;
  /** records that are lost, by position */
  records?: { from: number; to: number };
  message: string;
}

const CHECKSUM_BYTES = 4;

/** A value as it is stored, behind the checksum of its key and itself. */
export function seal(key: string, value: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(CHECKSUM_BYTES + value.length);
  sealed.set(value, CHECKSUM_BYTES);
  sealed.writeUInt32LE(crc32(value, crc32(key)), 0);
  return sealed;
}

/** The value, or null when it is not what was stored under this key. */
export function unseal(key: string, sealed: Buffer): Buffer | null {
  if (sealed.length < CHECKSUM_BYTES) return null;
  const value = sealed.subarray(CHECKSUM_BYTES);
  return crc32(value, crc32(key)) === sealed.readUInt32LE(0) ? value : null;
}

/** A sum over the checksums of everything of a kind that is stored; what is missing or old changes it. */
export class Inventory {
  readonly #checksums = new Map<string, number>();
  #sum = 0;

  /** Counts a sealed value, or with null its removal. */
  set(key: string, sealed: Buffer | null): void {
    this.#sum -= this.#checksums.get(key) ?? 0;
    if (sealed === null) this.#checksums.delete(key);
    else {
      const checksum = sealed.length < CHECKSUM_BYTES ? 1 : sealed.readUInt32LE(0);
      this.#checksums.set(key, checksum);
      this.#sum += checksum;
    }
  }

  get value(): [count: number, sum: number] {
    return [this.#checksums.size, this.#sum];
  }
}

const records = (from: number, to: number) => (from === to ? `record ${from}` : `records ${from} to ${to}`);

/** Commits, read in order: their positions must be consecutive, and the frames of feeds too where something is lost. */
export class Continuity {
  readonly damage: Damage[] = [];
  #next: number;
  #isFirst = true;
  #gap: { from: number; to: number } | null = null;
  /** feed: number of its last frame */
  readonly #frames = new Map<string, number>();

  /** Records from this position on are needed; the first commit may begin earlier. */
  constructor(from: number) {
    this.#next = from;
  }

  /** A commit begins at this position. */
  commit(first: number, count: number): void {
    if (first > this.#next) this.#lost(this.#next, first - 1);
    this.#next = this.#isFirst ? Math.max(this.#next, first + count) : first + count;
    this.#isFirst = false;
  }

  /** The log should go on to this position. */
  end(last: number): void {
    if (last >= this.#next) this.#lost(this.#next, last);
  }

  #lost(from: number, to: number): void {
    this.#gap = { from, to };
    const message = `the log lacks ${records(from, to)}, lost or damaged; streams whose snapshots do not cover them go on without`;
    this.damage.push({ records: { from, to }, message });
  }

  /** A part of a feed, whether or not it is replayed. */
  part(stream: string, tracker: string | null, seq: number): void {
    const feed = `${stream}\n${tracker ?? ''}`;
    const before = this.#frames.get(feed);
    this.#frames.set(feed, seq);
    if (!this.#gap || before === undefined || Math.floor(seq) <= Math.floor(before) + 1) return;
    const who = tracker === null ? 'the reference' : `tracker ${tracker}`;
    const [first, last] = [Math.floor(before) + 1, Math.ceil(seq) - 1];
    const message = `frames ${first} to ${last} of ${who} of stream ${stream} are lost`;
    this.damage.push({ stream, records: this.#gap, message });
  }

  /** Streams that may have had records where some are lost. */
  suspects(snapshots: Iterable<[stream: string, position: number]>): Damage[] {
    const gap = this.#gap;
    if (!gap) return [];
    const named = new Set(this.damage.flatMap(({ stream }) => stream ?? []));
    return [...snapshots]
      .filter(([stream, position]) => position < gap.to && !named.has(stream))
      .map(([stream]) => ({
        stream,
        records: gap,
        message: `stream ${stream} may have had frames among the lost ${records(gap.from, gap.to)}`,
      }));
  }
}
