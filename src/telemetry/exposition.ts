/**
 * The text of /metrics, in the format of Prometheus or as OpenMetrics. Samples are made from scratch at every scrape,
 * so a series that is gone from the meters is gone from the text. This file owns the library prom-client.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { METRICS } from './catalogue.js';
import type { Labels, Observed, Sampled, Scrape } from './spec.js';

/** These of prom-client are gauges whose names end in _total, which Prometheus' own linter refuses. */
const BADLY_NAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

export class Exposition {
  readonly #gather: () => Scrape | Promise<Scrape>;
  /** what the samples of this moment are made of */
  #scrape!: Scrape;
  readonly #registry = new Registry();
  readonly #openMetrics = new Registry();
  /** the scrape that is being written, behind those before it */
  #writing: Promise<unknown> = Promise.resolve();

  /** `gather` finds what samples are made of; `processMetrics`: those of the process itself besides. */
  constructor(gather: () => Scrape | Promise<Scrape>, { processMetrics = true }: { processMetrics?: boolean } = {}) {
    this.#gather = gather;
    const scrape = () => this.#scrape;
    this.#openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    for (const spec of METRICS) {
      if (spec.type === 'histogram') this.#registry.registerMetric(histogramView(spec, scrape) as never);
      else register(spec, scrape, this.#registry);
    }
    if (!processMetrics) return;
    collectDefaultMetrics({ register: this.#registry });
    for (const name of BADLY_NAMED) this.#registry.removeSingleMetric(name);
  }

  /** The whole text in the format that the Accept header of a scraper prefers. Two scrapers have it in turn. */
  write(accept = ''): Promise<{ contentType: string; body: string }> {
    const written = this.#writing.then(() => this.#write(accept));
    this.#writing = written.catch(() => {});
    return written;
  }

  async #write(accept: string): Promise<{ contentType: string; body: string }> {
    this.#scrape = await this.#gather();
    const openMetrics = prefersOpenMetrics(accept);
    const writer = (openMetrics ? this.#openMetrics : this.#registry) as Registry & Writer;
    const parts: string[] = [];
    for (const metric of this.#registry.getMetricsAsArray()) {
      // prom-client renames a counter for good when it writes OpenMetrics, so the writer gets a view of it instead
      parts.push(await writer.getMetricsAsString(openMetrics ? viewOf(metric) : metric));
      // thousands of series take a while; sockets are served in between
      await new Promise((resolve) => setImmediate(resolve));
    }
    return {
      contentType: writer.contentType,
      body: openMetrics ? `${parts.join('\n')}\n# EOF\n` : `${parts.join('\n\n')}\n`,
    };
  }
}

function register({ name, type, labels, help, read }: Sampled, scrape: () => Scrape, registry: Registry): void {
  const base = { name, help, labelNames: labels, registers: [registry] };
  // without labels a reset leaves a 0 behind; what is unknown is left out
  if (type === 'gauge')
    new Gauge({
      ...base,
      collect() {
        this.reset();
        if (labels.length === 0) this.remove();
        for (const [values, value] of read(scrape())) this.set(values, value);
      },
    });
  else
    new Counter({
      ...base,
      collect() {
        this.reset();
        if (labels.length === 0) this.remove();
        for (const [values, value] of read(scrape())) this.inc(values, value);
      },
    });
}

/** A histogram of ours in the shape in which prom-client reads a metric. */
function histogramView({ name, help, type, histogram }: Observed, scrape: () => Scrape) {
  const get = async () => {
    const observed = histogram(scrape().meters);
    if (!observed) return { name, help, type, values: [], aggregator: 'sum' };
    const { bounds, sum } = observed;
    const counts = observed.cumulative();
    const values: Array<{ metricName: string; labels: Labels; value: number }> = counts.map((value, n) => ({
      metricName: `${name}_bucket`,
      labels: { le: String(bounds[n] ?? '+Inf') },
      value,
    }));
    values.push({ metricName: `${name}_sum`, labels: {}, value: sum });
    values.push({ metricName: `${name}_count`, labels: {}, value: counts.at(-1)! });
    return { name, help, type, values, aggregator: 'sum' };
  };
  return { name, help, type, get };
}

/** A method of prom-client that its types leave out. */
interface Writer {
  getMetricsAsString(metric: object): Promise<string>;
}

interface Readable {
  name: string;
  type: string;
  get(): Promise<{ name: string }>;
  getForPromString?(): Promise<{ name: string }>;
}

/** A metric under the name OpenMetrics wants: that of a counter family has no _total. */
function viewOf(metric: object): object {
  const original = metric as Readable;
  const name = original.type === 'counter' ? original.name.replace(/_total$/, '') : original.name;
  const read = async () => ({
    ...(await (original.getForPromString ? original.getForPromString() : original.get())),
    name,
  });
  return { get: read };
}

/** Content negotiation: the supported type with the highest weight; text 0.0.4 when in doubt. */
export function prefersOpenMetrics(accept: string): boolean {
  let best = { weight: 0, openMetrics: false };
  for (const range of accept.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const values = new Map(
      parameters.map((p) => p.split('=').map((part) => part.trim().replace(/^"|"$/g, '')) as [string, string]),
    );
    const version = values.get('version');
    const openMetrics = type === 'application/openmetrics-text' && (version === undefined || version === '1.0.0');
    const text =
      (type === 'text/plain' && (version === undefined || version === '0.0.4')) || type === 'text/*' || type === '*/*';
    const weight = Number(values.get('q') ?? 1);
    if ((openMetrics || text) && weight > best.weight) best = { weight, openMetrics };
  }
  return best.openMetrics;
}
