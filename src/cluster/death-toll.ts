/**
 * How often processes have ended when they applied a record of a partition, by its position. A process that was killed
 * by a record tells of it when it is back; whoever takes the partition over leaves out what has ended several of them.
 * Without it every process would have to die of the record by itself, again and again.
 */
import { type Cell, FencedError } from './nats/cell.js';

/** the newest records are kept */
const RECORDS_MAX = 64;

export async function readDeaths(cell: Cell): Promise<Map<number, number>> {
  return decode((await cell.read()).bytes);
}

/** A process has ended once more at each of these records. */
export async function addDeaths(cell: Cell, positions: readonly number[], signal?: AbortSignal): Promise<void> {
  for (;;) {
    const { revision, bytes } = await cell.read(signal);
    const deaths = decode(bytes);
    for (const position of positions) deaths.set(position, (deaths.get(position) ?? 0) + 1);
    const kept = [...deaths].sort(([a], [b]) => a - b).slice(-RECORDS_MAX);
    try {
      await cell.write(revision, Buffer.from(JSON.stringify(kept)), signal);
      return;
    } catch (error) {
      // another process has told of its own meanwhile
      if (!(error instanceof FencedError)) throw error;
    }
  }
}

const decode = (bytes: Uint8Array): Map<number, number> =>
  new Map(bytes.length === 0 ? [] : JSON.parse(Buffer.from(bytes).toString()));
