/**
 * Stored records judged once more, by a stream of their own: what settled in each series over all of its lives, and
 * every event on the way. With the settings of then it is what the evaluator said; with others, what it would have
 * said.
 */
import { COMPONENTS, type Count, type FrameCost, type Report } from '../../metric/evaluation.js';
import type { LogRecord } from '../../store/record.js';
import type { StreamPlan } from '../../stream/plan.js';
import { Stream } from '../../stream/stream.js';
import type { LiveEvent, Readings, ReportEvent } from '../../wire/events.js';

/** What settled in a series. */
export interface SeriesJudgement {
  tracker: string;
  profile: string;
  frames: number;
  cost: FrameCost;
  count: Count;
  uncertified: number;
  /** bounds of the cost of all lives together; null under time weights */
  lifetime: Report['lifetime'];
  /** the newest of PD, SIAP, classes and so on */
  readings: Readings;
}

/** nobody waits: what settles is what an endless budget settles */
const BUDGET_MS = 600_000;
const COUNTS = ['proper', 'missed', 'false', 'switches'] as const;

export class Judgement {
  #stream: Stream | null = null;
  #position = 0;
  #lastMs = 0;
  /** of this life of the stream */
  readonly #newest = new Map<string, ReportEvent>();
  readonly #ended: ReportEvent[] = [];
  readonly #feeds = new Map<string, { role: 'reference' | 'tracker'; tracker: string | null }>();

  constructor(
    readonly name: string,
    readonly plan: StreamPlan,
    /** settings that were changed on the way count */
    readonly followsSettings: boolean,
    readonly observe: (event: LiveEvent, atMs: number) => void,
  ) {}

  apply(record: LogRecord): void {
    if (record.kind === 'configure' && !this.followsSettings) return;
    this.#stream ??= new Stream(this.name, this.#planOf(record), { budgetMs: BUDGET_MS });
    this.#lastMs = record.atMs;
    if (record.kind === 'part') this.#open(record);
    if (record.kind === 'open') this.#feeds.set(record.tracker ?? '', record);
    for (const { events } of this.#stream.apply(record, ++this.#position))
      for (const event of events) this.#collect(event, record.atMs);
    if (record.kind === 'retire' && record.tracker === null) this.#close();
  }

  /** Everybody has said everything: what is left settles. */
  conclude(): SeriesJudgement[] {
    for (const { role, tracker } of this.#feeds.values())
      this.apply({ kind: 'end', stream: this.name, atMs: this.#lastMs, role, tracker });
    this.#close();
    return this.#sum();
  }

  #planOf(record: LogRecord): StreamPlan {
    const stored = record.kind === 'open' ? (record.settings as StreamPlan | undefined) : undefined;
    return (this.followsSettings && stored) || this.plan;
  }

  /** A log that was cut may begin behind the hello of a feed. */
  #open({ role, tracker, atMs }: Extract<LogRecord, { kind: 'part' }>): void {
    if (!this.#feeds.has(tracker ?? '')) this.apply({ kind: 'open', stream: this.name, atMs, role, tracker });
  }

  #collect(event: LiveEvent, atMs: number): void {
    this.observe(event, atMs);
    if (event.type !== 'report') {
      if (event.type === 'retired') this.#end(`${event.tracker}\n${event.profile}`);
      return;
    }
    const key = `${event.tracker}\n${event.profile}`;
    const before = this.#newest.get(key);
    // a tracker that came back after its end begins anew
    if (before && event.report.frame < before.report.frame) this.#end(key);
    this.#newest.set(key, { ...before, ...event });
  }

  #end(key: string): void {
    const event = this.#newest.get(key);
    if (event) this.#ended.push(event);
    this.#newest.delete(key);
  }

  #close(): void {
    for (const key of [...this.#newest.keys()]) this.#end(key);
    this.#stream?.dispose();
    this.#stream = null;
    this.#feeds.clear();
  }

  #sum(): SeriesJudgement[] {
    const all = new Map<string, SeriesJudgement>();
    for (const { tracker, profile, report, ...readings } of this.#ended) {
      const { settled, lifetime } = report;
      const key = `${tracker}\n${profile}`;
      const sum = all.get(key) ?? emptyJudgement(tracker, profile);
      sum.frames += settled.frames;
      sum.uncertified += settled.uncertified ?? 0;
      for (const name of COMPONENTS) sum.cost[name] += settled.cost[name];
      for (const name of COUNTS) sum.count[name] += settled.count[name];
      sum.lifetime = lifetime &&
        sum.lifetime && { lower: sum.lifetime.lower + lifetime.lower, upper: sum.lifetime.upper + lifetime.upper };
      sum.readings = readings;
      all.set(key, sum);
    }
    return [...all.values()];
  }
}

const emptyJudgement = (tracker: string, profile: string): SeriesJudgement => ({
  tracker,
  profile,
  frames: 0,
  uncertified: 0,
  cost: { localization: 0, missed: 0, false: 0, switch: 0 },
  count: { proper: 0, missed: 0, false: 0, switches: 0 },
  lifetime: { lower: 0, upper: 0 },
  readings: {},
});
