/**
 * The Grafana dashboards against what a running evaluator really exposes: every metric they ask for is there, has the
 * labels they match, group by and write into legends, and is shown in the unit of its name.
 */
import assert from 'node:assert/strict';
import { files } from '../../dashboards/grafana/generate.js';
import { COLOURS } from '../../dashboards/grafana/grafana.js';
import { STYLE } from '../../src/report/style.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { ClusterMeters } from '../../src/telemetry/cluster-meters.js';
import { labelsOf } from '../kit/exposition.js';
import { Evaluator } from '../kit/system/page.js';
import { until } from '../kit/system/system.js';

interface Panel {
  title: string;
  targets?: Array<{ expr: string; legendFormat: string }>;
  fieldConfig?: { defaults?: { unit?: string } };
}

const FRAMES = 120;
/** Labels that Prometheus adds, and series that it makes itself. */
const OF_PROMETHEUS = { labels: ['job', 'instance', 'le'], metrics: ['ALERTS', 'up'] };

/** The units in which a metric of this name can be shown; by what is made of it. */
function unitsOf(metric: string, expr: string): string[] {
  if (/_seconds(_bucket)?$/.test(metric)) return ['s'];
  if (metric.endsWith('_bytes')) return ['bytes'];
  // of two totals of one kind a share, of one a frequency; per minute is a number
  const isShare = / \/ \(/.test(expr);
  if (metric.endsWith('_total'))
    return isShare ? ['percentunit', 'short'] : expr.startsWith('60 *') ? ['short'] : ['ops', 'short'];
  if (/probability|_time_ratio$|_gap_ratio$/.test(metric)) return ['percentunit'];
  return ['short', 'percentunit'];
}

describe('Grafana dashboards, asked of a running evaluator', () => {
  let evaluator: Evaluator;
  let exposed: Map<string, Set<string>>;
  const panels = Object.entries(files()).flatMap(([name, text]) =>
    (JSON.parse(text).panels as Panel[]).map((panel) => ({ ...panel, where: `${name}, ${panel.title}` })),
  );
  const queries = panels.flatMap(({ where, targets = [], fieldConfig }) =>
    targets.map(({ expr, legendFormat }) => ({ where, expr, legendFormat, unit: fieldConfig?.defaults?.unit })),
  );

  before(async () => {
    evaluator = await Evaluator.start({ text: 'streams: { defaults: { performance: { enabled: true } } }' });
    // it is alone: what it would show as one of a cluster
    const served = { partition: 0, hasOwner: true, isOurs: true, lagSeconds: 0 };
    evaluator.app.meters.cluster = new ClusterMeters(
      () => [served],
      () => 1,
    );
    const frames = crossingScene().trackers.find(({ name }) => name === 'faulty')!.frames;
    await evaluator.open('gate', ['sort', 'deep']);
    for (let n = 0; n < FRAMES; n++) {
      // times, for what is measured in seconds
      const when = { k: n + 1, t: 1_763_251_200 + n / 10 };
      await evaluator.feed('gate', null).send({ ...when, objects: frames[n].reference as never });
      for (const tracker of ['sort', 'deep'])
        await evaluator.feed('gate', tracker).send({ ...when, objects: frames[n].tracker as never });
    }
    const wrong = [{ id: 'a', box: [1, 2, 0, 4] as [number, number, number, number] }];
    await evaluator.feed('gate', 'sort').send({ k: FRAMES + 1, objects: wrong as never });
    for (const tracker of ['sort', 'deep'])
      await until('every frame is judged', async () => (await evaluator.judged('gate', tracker)) === FRAMES);
    // metrics are written one by one: what happens meanwhile is in the later ones only
    let text = '';
    await until('the refused frame and the numbers of the others are in /metrics', async () => {
      text = await (await fetch(`${evaluator.url}/metrics`)).text();
      return /^tgospa_frames_rejected_total\{/m.test(text) && /^tgospa_siap_ratio\{/m.test(text);
    });
    exposed = labelsOf(text);
  });
  after(() => evaluator.stop());

  /** Metrics of a query with the labels it matches. */
  const metricsIn = (expr: string) =>
    [
      ...expr.matchAll(/\b([a-zA-Z_]\w*)(?:\{([^}]*)\})/g),
      ...expr.matchAll(/\b(tgospa_\w+|process_\w+)(?!\w|\{)/g),
    ].map(([, name, matchers = '']) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)"/g)].map(([, label]) => label),
    }));

  it('find every metric, with every label they ask for', () => {
    assert.ok(queries.length > 60);
    for (const { where, expr, legendFormat } of queries) {
      const metrics = metricsIn(expr).filter(({ name }) => !OF_PROMETHEUS.metrics.includes(name));
      // rare: skipped objects and findings have samples only while there are some
      const rare = metrics.every(({ name }) => /objects_skipped|stream_finding|incident/.test(name));
      for (const { name, labels } of metrics) {
        const known = exposed.get(name);
        assert.ok(known || rare, `${where}: ${name} is not exposed`);
        for (const label of labels)
          assert.ok(
            !known || known.has(label) || OF_PROMETHEUS.labels.includes(label),
            `${where}: ${name} has no label ${label}`,
          );
      }
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list.split(', '));
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      for (const label of [...grouped, ...named])
        assert.ok(
          metrics.length === 0 ||
            OF_PROMETHEUS.labels.includes(label) ||
            metrics.some(({ name }) => exposed.get(name)?.has(label) ?? true),
          `${where}: nothing in ${expr} has the label ${label}`,
        );
      // what was summed away cannot be in a legend
      if (/^sum by/.test(expr))
        assert.deepEqual(
          named.filter((label) => !grouped.includes(label)),
          [],
          where,
        );
    }
  });

  it('show every metric in its unit', () => {
    for (const { where, expr, unit = 'short' } of queries) {
      for (const { name } of metricsIn(expr)) {
        if (OF_PROMETHEUS.metrics.includes(name) || !/_(seconds|bytes|total|ratio|probability)/.test(name)) continue;
        const allowed = unitsOf(name, expr);
        assert.ok(allowed.includes(unit), `${where}: ${expr} is shown in ${unit}, not in ${allowed.join(' or ')}`);
      }
    }
  });

  it('show refused frames, of all streams and of one', () => {
    const shown = queries.filter(({ expr }) => expr.includes('tgospa_frames_rejected_total'));
    assert.deepEqual([...new Set(shown.map(({ where }) => where))], ['overview.json, Refused', 'series.json, Refused']);
  });

  it('draw components in the colours of pages and reports', () => {
    for (const component of ['localization', 'missed', 'false', 'switch'])
      assert.match(STYLE, new RegExp(`--${component}: ${COLOURS[component]};`));
  });
});
