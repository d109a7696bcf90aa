/**
 * One stream driven by its records, and what comes of it; with `cutEvery` it is stored and restored again and again.
 */
import { readConfig, resolveStream } from '../../src/config/config.js';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import { type LogRecord, RecordReader, RecordWriter } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream } from '../../src/stream/stream.js';
import type { LiveEvent, ReportEvent } from '../../src/wire/events.js';
import type { Role } from '../../src/wire/feed.js';
import type { FeedPart } from '../../src/wire/objects.js';

export const NAME = 'scene';

export function planOf(config: object): StreamPlan {
  const resolved = resolveStream(readConfig({ text: JSON.stringify(config), env: {} }).config, NAME, {});
  if ('message' in resolved) throw new Error(`${resolved.path} ${resolved.message}`);
  return resolved as StreamPlan;
}

/** A stream whose events are kept. Records pass through the format of the log. */
export class StreamRun {
  readonly events: LiveEvent[] = [];
  stream: Stream;
  #position = 0;
  #seq = 0;

  constructor(
    config: object,
    readonly cutEvery = Number.POSITIVE_INFINITY,
  ) {
    this.stream = new Stream(NAME, planOf(config), { budgetMs: 600_000 });
  }

  apply(record: LogRecord): void {
    const writer = new RecordWriter();
    writer.write(record);
    const stored = new RecordReader(Buffer.from(writer.bytes())).read();
    for (const applied of this.stream.apply(stored, ++this.#position)!) this.events.push(...applied.events);
    if (this.#position % this.cutEvery > 0) return;
    const state = unpackSnapshot(packSnapshot(this.stream.toJSON()), 'the snapshot');
    this.stream.dispose();
    this.stream = Stream.fromJSON(NAME, { state, position: this.#position }, { budgetMs: 600_000 });
  }

  open(role: Role, tracker: string | null, atMs: number): void {
    this.apply({ kind: 'open', stream: NAME, atMs, role, tracker });
  }

  part(role: Role, tracker: string | null, atMs: number, part: Omit<FeedPart, 'seq'>): void {
    this.apply({ kind: 'part', stream: NAME, atMs, role, tracker, part: { seq: ++this.#seq, ...part } });
  }

  tick(atMs: number): void {
    this.apply({ kind: 'tick', stream: NAME, atMs });
  }

  end(role: Role, tracker: string | null, atMs: number): void {
    this.apply({ kind: 'end', stream: NAME, atMs, role, tracker });
  }

  get reports(): ReportEvent[] {
    return this.events.filter((event): event is ReportEvent => event.type === 'report');
  }

  /** What everything settled to. */
  get count() {
    const { settled } = this.reports.at(-1)!.report;
    return { frames: settled.frames, ...settled.count };
  }

  of<T extends LiveEvent['type']>(type: T): Array<Extract<LiveEvent, { type: T }>> {
    return this.events.filter((event): event is Extract<LiveEvent, { type: T }> => event.type === type);
  }
}
