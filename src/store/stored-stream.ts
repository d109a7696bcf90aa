/**
 * One stream as a data folder holds it, while no evaluator has the folder open: its records, oldest first, and the
 * state of its last snapshot. Nothing is changed: what is read is a copy.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForReading } from './inspection.js';
import { slotFolders, slotsOf } from './layout.js';
import { recordsFrom } from './past.js';
import type { LogRecord } from './record.js';

export interface StoredStream {
  /** every record that is still there */
  records: AsyncIterable<LogRecord>;
  /** of the last snapshot; null where there is none */
  state: unknown;
}

/** Calls `read` with the stream in each store of the folder, and returns the streams that have a snapshot in one. */
export async function readStoredStream(
  dir: string,
  stream: string,
  read: (stored: StoredStream) => Promise<void>,
): Promise<Set<string>> {
  const names = new Set<string>();
  for (const folder of slotFolders(dir, slotsOf(dir))) {
    const copy = mkdtempSync(join(tmpdir(), 'tgospa-stored-'));
    try {
      cpSync(join(folder, 'store'), join(copy, 'store'), { recursive: true });
      await readFrom(copy, stream, names, read);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  }
  return names;
}

async function readFrom(
  copy: string,
  stream: string,
  names: Set<string>,
  read: (stored: StoredStream) => Promise<void>,
): Promise<void> {
  const log = await openForReading(copy);
  try {
    let state: unknown = null;
    for await (const snapshot of log.snapshots()) {
      names.add(snapshot.stream);
      if (snapshot.stream === stream) state = snapshot.state;
    }
    await read({ records: recordsFrom(log, stream, 1, false, Number.POSITIVE_INFINITY), state });
  } finally {
    await log.kill();
  }
}
