/**
 * The frames of one feed on their way to the disk. A FeedQueue hands them to the pipeline in the order of their
 * numbers, knows which are stored, recognises what comes twice, and outlives the connection that brought them.
 * Invariant: `acked` is n only when every frame up to n is stored or was rejected. While the disk takes nothing, frames
 * wait here; the connection is not read from meanwhile, so they are bounded by the credit.
 */
import { Fault } from '../../wire/fault.js';
import type { FeedId } from '../../wire/feed.js';
import type { FeedPart } from '../../wire/objects.js';
import type { FeedPort } from './feed-port.js';

/** The connection that a feed has at the moment. */
export interface FeedSession {
  readonly id: string;
  /** the oldest waiting frames are stored */
  progressed(): void;
  /** whether it may be read from may have changed */
  regulate(): void;
  /** another connection resumes the feed */
  superseded(): void;
  /** the pipeline failed */
  failed(): void;
}

export interface QueueOwner {
  readonly port: FeedPort;
  /** runs the action when it is time to try the disk again */
  retryLater(action: () => void): void;
  /** the disk takes no more frames, or with null takes them again */
  stallChanged(queue: FeedQueue, fault: string | null): void;
  /** something failed that is not the disk */
  failed(queue: FeedQueue, error: unknown): void;
  /** nothing waits and nobody is connected */
  discard(queue: FeedQueue): void;
}

interface Entry {
  seq: number;
  /** null once it is stored or rejected */
  part: FeedPart | null;
  receivedMs: number;
}

/** Frames that become durable together. */
interface Group {
  stored: Promise<void>;
  entries: Entry[];
}

export const isStorageFault = (error: unknown): boolean => (error as { name?: string } | null)?.name === 'StorageFault';

/** A number further ahead is a mistake: to use it up would leave none for the frames after it. */
export const SEQ_JUMP_MAX = 2 ** 43;

export const jumpFault = (seq: number, lastSeq: number): Fault => {
  const last = Math.floor(lastSeq);
  const message = `seq is ${seq}, and the last one was ${last}; number your frames ${last + 1}, ${last + 2}, ${last + 3}, ...`;
  return new Fault('frame_invalid', 'seq', message, String(seq));
};

export class FeedQueue {
  /** everything up to this number is stored or was rejected */
  acked = 0;
  /** highest number that came in */
  lastSeq = 0;
  session: FeedSession | null = null;
  #queue: Entry[] = [];
  #head = 0;
  #underway = 0;
  #newest: Group | null = null;
  #stalled = false;
  #drained: Array<() => void> = [];

  constructor(
    readonly feed: FeedId,
    readonly owner: QueueOwner,
  ) {}

  /** Frames not stored yet. */
  get waiting(): number {
    return this.#queue.length - this.#head;
  }

  /** Whether frames are held back because the disk is full. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** A connection opens or resumes the feed; returns the number of the first frame that is not durable. */
  open(nextSeq: number): number {
    // what is accepted but not durable is still in the queue
    if (this.waiting === 0) this.acked = Math.max(this.acked, nextSeq - 1);
    this.lastSeq = Math.max(this.lastSeq, this.acked);
    return Math.floor(this.acked) + 1;
  }

  /** Whether a number is not absurdly far ahead. */
  reaches(seq: number): boolean {
    return seq - this.lastSeq <= SEQ_JUMP_MAX;
  }

  /** Adds a frame; false when its number came before. */
  enqueue(part: FeedPart, receivedMs: number): boolean {
    if (part.seq <= this.lastSeq) return false;
    this.lastSeq = part.seq;
    const entry = { seq: part.seq, part, receivedMs };
    this.#queue.push(entry);
    if (!this.#stalled) this.#store(entry);
    return true;
  }

  /** A rejected frame uses up its number. */
  skip(seq: number): void {
    if (seq <= this.lastSeq || !this.reaches(seq)) return;
    this.lastSeq = seq;
    this.#queue.push({ seq, part: null, receivedMs: 0 });
    this.#advance();
  }

  /** Resolves when everything enqueued so far is stored. */
  drained(): Promise<void> {
    if (this.waiting === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained.push(resolve);
    });
  }

  #store(entry: Entry): void {
    this.#underway++;
    const stored = this.owner.port.ingest(this.feed, entry.part!, entry.receivedMs);
    if (this.#newest?.stored === stored) this.#newest.entries.push(entry);
    else this.#await({ stored, entries: [entry] });
  }

  #await(group: Group): void {
    this.#newest = group;
    group.stored.then(
      () => this.#stored(group),
      (error) => this.#failed(group, error),
    );
  }

  #stored(group: Group): void {
    this.#close(group);
    for (const entry of group.entries) entry.part = null;
    if (this.#stalled && this.#underway === 0) this.#resume();
    this.#advance();
  }

  #close(group: Group): void {
    // what comes from now on is stored with others
    if (this.#newest === group) this.#newest = null;
    this.#underway -= group.entries.length;
  }

  #failed(group: Group, error: unknown): void {
    this.#close(group);
    if (!isStorageFault(error)) {
      this.owner.failed(this, error);
      return;
    }
    if (!this.#stalled) {
      this.#stalled = true;
      this.owner.stallChanged(this, (error as Error).message);
    }
    // the order of frames holds only when nothing else is underway
    if (this.#underway === 0) this.owner.retryLater(() => this.#probe());
  }

  /** Tries the oldest frame alone; the others follow once it is stored. */
  #probe(): void {
    const oldest = this.#queue.find((entry) => entry.part !== null);
    if (oldest) this.#store(oldest);
  }

  #resume(): void {
    this.#stalled = false;
    for (let n = this.#head; n < this.#queue.length; n++) if (this.#queue[n].part) this.#store(this.#queue[n]);
    this.owner.stallChanged(this, null);
  }

  #advance(): void {
    const before = this.#head;
    while (this.#head < this.#queue.length && this.#queue[this.#head].part === null)
      this.acked = this.#queue[this.#head++].seq;
    if (this.#head === before) return;
    if (this.#head === this.#queue.length || this.#head > 1024) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    if (this.waiting === 0) this.#idle();
    this.session?.progressed();
  }

  #idle(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
    if (!this.session) this.owner.discard(this);
  }
}
