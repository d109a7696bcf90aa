/**
 * The Grafana dashboards: fresh, whole, and asking only for what there is. Their queries are run in alerting.test.ts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { files } from '../../dashboards/grafana/generate.js';
import { METRICS } from '../../src/telemetry/catalogue.js';
import { queriesOf, variablesIn } from '../kit/dashboard-queries.js';

const folder = fileURLToPath(new URL('../../../dashboards/grafana/', import.meta.url));

interface Panel {
  type: string;
  title?: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
}

describe('Grafana dashboards', () => {
  const generated = files();
  const dashboards = Object.entries(generated).map(([name, text]) => ({ name, text, json: JSON.parse(text) }));

  it('are committed as they are generated', () => {
    for (const [name, text] of Object.entries(generated))
      assert.equal(readFileSync(join(folder, name), 'utf8'), text, `${name} is stale; run npm run dashboards`);
  });

  it('have fixed uids and no numeric id, so that provisioning updates them in place', () => {
    assert.deepEqual(
      dashboards.map(({ json }) => json.uid),
      ['tgospa-overview', 'tgospa-series', 'tgospa-comparison'],
    );
    for (const { json } of dashboards) assert.equal(json.id ?? null, null);
  });

  it('ask only the data source that is chosen in the variable', () => {
    for (const { name, json } of dashboards) {
      const [first] = json.templating.list;
      assert.deepEqual([first.name, first.type, first.query], ['datasource', 'datasource', 'prometheus'], name);
      const references = JSON.stringify(json).match(/"datasource":\{[^}]*\}/g) ?? [];
      assert.ok(references.length > 10);
      for (const reference of references)
        assert.equal(reference, '"datasource":{"type":"prometheus","uid":"$datasource"}', name);
    }
  });

  it('have the variables that are promised, looked up anew on every load, and use no other', () => {
    for (const { name, json } of dashboards) {
      const variables = json.templating.list as Array<{ name: string; type: string; refresh?: number }>;
      const names = variables.map((variable) => variable.name);
      const promised = name === 'overview.json' ? ['stream', 'profile'] : ['stream', 'tracker', 'profile'];
      for (const variable of promised) assert.ok(names.includes(variable), `${name} lacks ${variable}`);
      for (const { type, refresh } of variables) if (type === 'query') assert.equal(refresh, 2);
      for (const used of variablesIn(generated[name]))
        assert.ok(names.includes(used), `${name} uses $${used}, which is no variable of it`);
    }
  });

  it('ask only for metrics that exist', () => {
    const known = new Set(METRICS.map((metric) => metric.name));
    for (const { name, json } of dashboards)
      for (const { expr, where } of queriesOf(json))
        for (const metric of expr.match(/\btgospa_\w+/g) ?? [])
          assert.ok(known.has(metric.replace(/_bucket$/, '')), `${name}, ${where}: ${metric} does not exist`);
  });

  it('explain every panel and let none cover another', () => {
    for (const { name, json } of dashboards) {
      const panels = json.panels as Panel[];
      for (const panel of panels.filter(({ type }) => type !== 'row' && type !== 'text'))
        assert.ok(panel.title && panel.description, `${name}: a panel lacks its title or description`);
      for (const [n, a] of panels.entries())
        for (const b of panels.slice(n + 1)) assert.ok(!overlap(a, b), `${name}: ${a.title} covers ${b.title}`);
    }
  });
});

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
