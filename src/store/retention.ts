/**
 * How much of the log is kept: the oldest commits go when the log is too large or too old, as far as snapshots cover
 * them, and their space is reclaimed once that is worthwhile.
 */
import { type ParsedKey, parseKey } from './commit.js';
import { COMMITS, type Database } from './database.js';

export interface RetentionSettings {
  /** bytes: the log keeps at most this much, as far as snapshots allow */
  maxBytes: number;
  /** hours: records older than this go, as far as snapshots allow */
  maxAgeHours: number;
}

const CHECK_MS = 1000;
/** one pass looks at no more commits than this */
const COMMITS_MAX = 4096;
/** shrinking goes this far below the limit, so that it happens rarely */
const SHRINK_TO = 0.9;
/** dropped bytes that make reclaiming the space worthwhile */
const RECLAIM_BYTES = 32 * 1024 ** 2;

export class Retention {
  /** bytes of all commits that were ever dropped */
  bytesDropped = 0;
  /** epoch milliseconds of the oldest commit kept; 0 when there is none */
  oldestMs = 0;
  #checkedMs = 0;
  /** when the store was opened: what stands in the future was written before, by a clock that was set back since */
  #openedMs = 0;
  #reclaim = { bytes: 0, from: '', to: '', underway: null as Promise<void> | null };

  constructor(readonly settings: RetentionSettings) {}

  /** Where the oldest commit stands when the store is opened. */
  async load(db: Database, nowMs: number): Promise<void> {
    this.#openedMs = nowMs;
    for await (const key of db.keys({ ...COMMITS, limit: 1 })) {
      const oldest = parseKey(key);
      this.bytesDropped = oldest.bytesBefore;
      this.oldestMs = oldest.timeMs;
    }
  }

  /** Whether it is time to look, and something is too large or too old. */
  isDue(bytesWritten: number, nowMs: number): boolean {
    if (nowMs - this.#checkedMs < CHECK_MS) return false;
    this.#checkedMs = nowMs;
    const { maxBytes, maxAgeHours } = this.settings;
    const tooOld = this.oldestMs !== 0 && this.#writtenMs(this.oldestMs, nowMs) < nowMs - maxAgeHours * 3_600_000;
    return tooOld || bytesWritten - this.bytesDropped > maxBytes;
  }

  /**
   * Hands out the keys of commits to be deleted, none of which holds a record from `floor` on; true: more should go.
   */
  async drop(
    db: Database,
    bytesWritten: number,
    nowMs: number,
    floor: number,
    remove: (key: string) => void,
  ): Promise<boolean> {
    const { maxBytes, maxAgeHours } = this.settings;
    const oldest = nowMs - maxAgeHours * 3_600_000;
    const tooLarge = bytesWritten - this.bytesDropped > maxBytes;
    const bytesGone = tooLarge ? bytesWritten - maxBytes * SHRINK_TO : 0;
    let last: string | null = null;
    for await (const key of db.keys({ ...COMMITS, limit: COMMITS_MAX })) {
      const next = parseKey(key);
      if (last !== null) {
        if (next.position > floor) return true;
        remove(last);
        this.#dropped(last, next);
      }
      if (next.bytesBefore >= bytesGone && this.#writtenMs(next.timeMs, nowMs) >= oldest) break;
      last = key;
    }
    return false;
  }

  /** When a commit was written at the latest. */
  #writtenMs(timeMs: number, nowMs: number): number {
    return timeMs > nowMs ? this.#openedMs : timeMs;
  }

  #dropped(key: string, next: ParsedKey): void {
    this.#reclaim.from ||= key;
    this.#reclaim.to = key;
    this.#reclaim.bytes += next.bytesBefore - this.bytesDropped;
    this.bytesDropped = next.bytesBefore;
    this.oldestMs = next.timeMs;
  }

  /** Deleted values leave the disk when LevelDB compacts their range. */
  reclaimSpace(db: Database): void {
    const { bytes, from, to, underway } = this.#reclaim;
    if (bytes < Math.min(RECLAIM_BYTES, this.settings.maxBytes / 4) || underway) return;
    const compacted = db.compactRange(from, to).catch(() => {});
    this.#reclaim = { bytes: 0, from: '', to: '', underway: compacted };
    void compacted.then(() => {
      this.#reclaim.underway = null;
    });
  }

  /** Resolves when nothing is being compacted. */
  async idle(): Promise<void> {
    await this.#reclaim.underway;
  }
}
