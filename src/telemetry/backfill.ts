/**
 * The metrics of series over a stretch of the past, as OpenMetrics with timestamps, which
 * `promtool tsdb create-blocks-from openmetrics` turns into blocks: what a Prometheus would have scraped. Every sample
 * has one label more, so that nothing is mixed up with what was scraped live.
 */
import type { LiveEvent } from '../wire/events.js';
import { Meters } from './meters.js';
import { PERFORMANCE_METRICS } from './performance-metrics.js';
import { SERIES_METRICS } from './series-metrics.js';
import type { Labels, ProgramFacts, Sampled, Scrape } from './spec.js';

const FAMILIES: readonly Sampled[] = [...SERIES_METRICS, ...PERFORMANCE_METRICS];

/** Nothing of a process that is not there. */
const NOBODY = { incidents: () => [], objectives: () => [] } as Partial<ProgramFacts> as ProgramFacts;

export class Backfill {
  readonly #meters = new Meters(Number.POSITIVE_INFINITY);
  /** by family, in the order of time */
  readonly #lines = new Map<string, string[]>(FAMILIES.map(({ name }) => [name, []]));
  #dueMs = Number.NEGATIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** by family, where the lines of the last sample begin */
  readonly #lastAt = new Map<string, number>();

  /** A sample of everything every so many milliseconds, with these labels besides. */
  constructor(
    readonly everyMs: number,
    readonly labels: Labels,
  ) {}

  /** Something happened at this time, epoch milliseconds; times do not fall. */
  add(event: LiveEvent, atMs: number): void {
    if (atMs >= this.#dueMs) this.sample(atMs);
    this.#meters.observe(event, atMs);
  }

  /** What is known now, under this time; instead of what was known before under the same one. */
  sample(atMs: number): void {
    const isAgain = atMs === this.#lastMs;
    this.#dueMs = atMs + this.everyMs;
    this.#lastMs = atMs;
    const scrape: Scrape = { meters: this.#meters, surroundings: NOBODY, build: {} };
    for (const { name, read } of FAMILIES) {
      const lines = this.#lines.get(name)!;
      if (isAgain) lines.length = this.#lastAt.get(name) ?? 0;
      this.#lastAt.set(name, lines.length);
      for (const [labels, value] of read(scrape))
        lines.push(`${name}${labelText({ ...labels, ...this.labels })} ${value} ${atMs / 1000}\n`);
    }
  }

  /** The file, family by family. */
  *text(): Generator<string> {
    for (const { name, type, help } of FAMILIES) {
      const lines = this.#lines.get(name)!;
      if (lines.length === 0) continue;
      const family = type === 'counter' ? name.replace(/_total$/, '') : name;
      yield `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
      yield* lines;
    }
    yield '# EOF\n';
  }
}

const escaped = (value: string) => value.replace(/["\\\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`));

const labelText = (labels: Labels) =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')}}`;
