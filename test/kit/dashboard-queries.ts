/** What a Grafana dashboard asks of Prometheus: its panels, annotations and variables. */

export interface AskedQuery {
  /** which panel, annotation or variable */
  where: string;
  expr: string;
}

interface Target {
  expr?: string;
}

interface DashboardJson {
  panels: Array<{ title?: string; targets?: Target[] }>;
  annotations?: { list?: Array<{ name: string; expr?: string }> };
  templating: { list: Array<{ name: string; type: string; definition?: string }> };
}

const LABEL_VALUES = /^label_values\((.+), (\w+)\)$/;

/** Every query; that of a variable as the values of its label. */
export function queriesOf(json: DashboardJson): AskedQuery[] {
  const panels = json.panels.flatMap(({ title = '', targets = [] }) =>
    targets.flatMap(({ expr }) => (expr === undefined ? [] : [{ where: `panel ${title}`, expr }])),
  );
  const annotations = (json.annotations?.list ?? []).flatMap(({ name, expr }) =>
    expr === undefined ? [] : [{ where: `annotation ${name}`, expr }],
  );
  const variables = json.templating.list
    .filter(({ type }) => type === 'query')
    .map(({ name, definition = '' }) => {
      const [, metric, label] = LABEL_VALUES.exec(definition)!;
      return { where: `variable ${name}`, expr: `group by (${label}) (${metric})` };
    });
  return [...panels, ...annotations, ...variables];
}

/** Names of the variables in a text, without those that Grafana itself provides. */
export const variablesIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/\$\{?(?!__)([a-z]\w*)/g)].map(([, name]) => name));

/** A query as Grafana sends it. */
export const filledIn = (expr: string, values: Record<string, string>): string =>
  expr.replace(/\$(\w+)/g, (whole, name) => values[name] ?? whole);
