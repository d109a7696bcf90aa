/**
 * Events on their way out of a partition that could be owned by somebody else by now: the log stores them first, in the
 * order of their records, and only then are they told to anybody. One group of them is underway at a time.
 * Invariant: an event is stored with a position that includes its record, and with none that does not; so the next
 * owner knows which events are out, and publishes the others.
 */
import type { DurableLog } from '../store/log-port.js';
import type { LiveEvent } from '../wire/events.js';

interface Waiting {
  position: number;
  event: LiveEvent;
}

/** events that are stored at once, and perhaps the rest of their record: after a takeover those of seconds wait */
const GROUP_EVENTS = 500;

export class Publication {
  #waiting: Waiting[] = [];
  #scheduled = false;
  #underway: Promise<void> | null = null;
  #closed = false;
  #publishedUpTo: number;

  constructor(
    readonly log: Pick<DurableLog, 'publishedUpTo'> & { publish: NonNullable<DurableLog['publish']> },
    /** records up to here are applied, wholly */
    readonly applied: () => number,
    readonly tell: (event: LiveEvent) => void,
    readonly failed: (error: unknown) => void,
  ) {
    this.#publishedUpTo = log.publishedUpTo;
  }

  /** Everything up to here is out. */
  get publishedUpTo(): number {
    return this.#publishedUpTo;
  }

  /** Something that has come of the record at this position. */
  add(position: number, ...events: LiveEvent[]): void {
    if (position <= this.#publishedUpTo || events.length === 0) return;
    for (const event of events) this.#waiting.push({ position, event });
    this.schedule();
  }

  /** Records were applied: perhaps something can go out. */
  schedule(): void {
    if (this.#scheduled || this.#underway || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#underway && !this.#closed) void this.#send();
    });
  }

  async #send(): Promise<void> {
    const applied = this.applied();
    if (applied <= this.#publishedUpTo) return;
    // streams take turns; the order is that of the log
    const ready = this.#waiting.filter(({ position }) => position <= applied).sort((a, b) => a.position - b.position);
    const upTo = endOfGroup(ready) ?? applied;
    const events = ready.filter(({ position }) => position <= upTo).map(({ event }) => event);
    this.#waiting = this.#waiting.filter(({ position }) => position > upTo);
    this.#underway = this.log.publish(upTo, events);
    try {
      await this.#underway;
      this.#publishedUpTo = upTo;
      if (this.#closed) return;
      for (const event of events) this.tell(event);
    } catch (error) {
      this.#closed = true;
      this.failed(error);
    } finally {
      this.#underway = null;
    }
    this.schedule();
  }

  /** Resolves when everything that can go out is out. */
  async drained(): Promise<void> {
    while (!this.#closed && (this.#underway || this.applied() > this.#publishedUpTo))
      await (this.#underway ?? this.#send());
  }

  /** Nothing more goes out. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }
}

/** Where to cut what is too much for one group; null when it is not. Reports are not stored. */
function endOfGroup(ready: readonly Waiting[]): number | null {
  let stored = 0;
  for (const [n, { position, event }] of ready.entries()) {
    if (stored >= GROUP_EVENTS && position > ready[n - 1].position) return ready[n - 1].position;
    if (event.type !== 'report') stored++;
  }
  return null;
}
