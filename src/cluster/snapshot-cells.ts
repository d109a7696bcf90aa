/**
 * The snapshots of a partition: one cell for each stream, replaced by compare-and-set, newest position wins. Two owners
 * that both believe in themselves cannot harm each other here: a snapshot is the state of the log at its position,
 * whoever made it, and its events were out before it was written.
 */
import { brotliCompressSync, brotliDecompressSync, constants, inflateRawSync } from 'node:zlib';
import { packSnapshot, unpackSnapshot } from '../store/formats.js';
import type { Snapshot } from '../store/log-port.js';
import type { Layout } from './layout.js';
import { type Cell, FencedError } from './nats/cell.js';
import { readNewest } from './nats/follow.js';

interface Head {
  stream: string;
  position: number;
  retired: boolean;
  /** deflated where it does not say */
  coding?: 'brotli';
}

/** A snapshot on its way. */
export interface OutgoingSnapshot extends Head {
  packed: Uint8Array;
}

export function packed(stream: string, position: number, state: unknown): OutgoingSnapshot {
  const bytes = state === null ? Buffer.alloc(0) : state instanceof Uint8Array ? state : packSnapshot(state);
  return { stream, position, retired: state === null, packed: Uint8Array.from(bytes) };
}

/** Frames are in it more than once, further apart than deflate looks back: half as large in a quarter of the time. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 20 };

function encode({ packed, ...known }: OutgoingSnapshot): Uint8Array {
  const head: Head = { ...known, coding: 'brotli' };
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, brotliCompressSync(packed, { params: BROTLI })]);
}

export function decodeSnapshot(bytes: Uint8Array): OutgoingSnapshot {
  const buffer = Buffer.from(bytes);
  const end = 4 + buffer.readUInt32LE(0);
  const { coding, ...head } = JSON.parse(buffer.toString('utf8', 4, end)) as Head;
  const decode = coding === 'brotli' ? brotliDecompressSync : inflateRawSync;
  return { ...head, packed: decode(buffer.subarray(end)) };
}

const unpacked = ({ stream, position, retired, packed }: OutgoingSnapshot): Snapshot => ({
  stream,
  position,
  state: retired ? null : unpackSnapshot(packed, stream),
});

interface Known {
  cell: Cell;
  revision: number;
  position: number;
}

export class SnapshotCells {
  readonly #known = new Map<string, Known>();

  constructor(
    readonly layout: Layout,
    readonly partition: number,
  ) {}

  /**
   * Everything that was stored before the floor was written under this revision; to be called before anything is saved.
   */
  async load(floorRevision: number): Promise<Snapshot[]> {
    const { layout, partition } = this;
    const { connection, snapshotStream } = layout;
    const stored = await readNewest(connection, snapshotStream, layout.snapshotSubjects(partition), floorRevision);
    const snapshots = stored.filter(({ subject }) => subject !== layout.floorSubject(partition));
    return Promise.all(
      snapshots.map(async ({ sequence: revision, bytes }) => {
        const snapshot = decodeSnapshot(bytes);
        const { stream, position } = snapshot;
        this.#known.set(stream, { cell: await layout.snapshotCell(partition, stream), revision, position });
        return unpacked(snapshot);
      }),
    );
  }

  /** Of the last snapshot of a stream; 0 when there is none. */
  positionOf(stream: string): number {
    return this.#known.get(stream)?.position ?? 0;
  }

  async of(stream: string): Promise<Snapshot | undefined> {
    const { bytes } = await (await this.layout.snapshotCell(this.partition, stream)).read();
    return bytes.length === 0 ? undefined : unpacked(decodeSnapshot(bytes));
  }

  /** Stores it, unless there is a newer one. */
  async save(snapshot: OutgoingSnapshot, signal: AbortSignal): Promise<void> {
    const { stream, position } = snapshot;
    let known = this.#known.get(stream);
    if (!known) {
      known = { cell: await this.layout.snapshotCell(this.partition, stream), revision: 0, position: 0 };
      this.#known.set(stream, known);
    }
    const bytes = encode(snapshot);
    while (known.position < position) {
      try {
        known.revision = await known.cell.write(known.revision, bytes, signal);
        known.position = position;
      } catch (error) {
        if (!(error instanceof FencedError)) throw error;
        // another owner wrote one: of the same log, so only its position matters
        const { revision, bytes: other } = await known.cell.read(signal);
        known.revision = revision;
        known.position = other.length === 0 ? 0 : decodeSnapshot(other).position;
      }
    }
  }
}
