/**
 * Grafana dashboards from plain descriptions: what is asked of Prometheus and how it is drawn. This file owns
 * `@grafana/grafana-foundation-sdk`. Invariant: every query goes to the data source chosen in the variable
 * `datasource`, and uids are fixed, so that the result works both imported by hand and provisioned from files.
 */
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as text from '@grafana/grafana-foundation-sdk/text';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

export interface Query {
  expr: string;
  /** name of the curves, with {{label}} filled in; in a table, of the column */
  legend: string;
}

export interface Panel {
  title: string;
  /** what it shows, and what a reader should conclude from it */
  description: string;
  kind: 'lines' | 'stacked' | 'bars' | 'number' | 'table' | 'states';
  queries: Query[];
  unit?: string;
  /** of the 24 columns of the grid; 8 unless given */
  width?: number;
  /** in rows of the grid; 8 unless given */
  height?: number;
  /** one copy for each value of this variable */
  repeat?: string;
  /** numbers and states turn orange and red from these values on */
  warnAt?: [orange: number, red: number];
  /** tables: labels that become columns, left out otherwise; the column to sort by, worst first */
  columns?: string[];
  sortBy?: string;
  /** tables: the first column leads to this dashboard, with these labels as its variables */
  leadsTo?: { uid: string; labels: string[] };
}

export interface Row {
  title: string;
  panels: Panel[];
}

export interface Variable {
  name: string;
  title: string;
  /** a metric, with matchers, and the label whose values are offered */
  from: string;
  label: string;
  /** several values, or all of them, at once */
  many?: boolean;
  /** offer the last value first */
  reversed?: boolean;
}

export interface Annotation {
  name: string;
  expr: string;
  title: string;
  text: string;
  colour: string;
}

export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  variables: Variable[];
  annotations: Annotation[];
  /** text on top: what to look at, in which order */
  guide: string;
  rows: Row[];
}

const TAG = 'tgospa';
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** What the components and their counts are drawn in, as on the page and in reports when they are dark. */
export const COLOURS: Record<string, string> = {
  localization: '#62b6ec',
  missed: '#f0a020',
  false: '#d486bc',
  switch: '#2fc294',
  switches: '#2fc294',
  proper: '#8e9aa6',
};

/** The JSON of a dashboard, as Grafana takes it from a file. */
export function dashboardJson(spec: Dashboard): string {
  const builder = new dashboard.DashboardBuilder(spec.title)
    .uid(spec.uid)
    .description(spec.description)
    .tags([TAG])
    .refresh('5s')
    .time({ from: 'now-15m', to: 'now' })
    .timezone('browser')
    .editable()
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      new dashboard.DashboardLinkBuilder('TGOSPA')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags([TAG])
        .includeVars(true)
        .keepTime(true),
    )
    .withVariable(new dashboard.DatasourceVariableBuilder('datasource').label('data source').type('prometheus'));
  for (const variable of spec.variables) builder.withVariable(variableOf(variable));
  for (const annotation of spec.annotations) builder.annotation(annotationOf(annotation));
  builder.withPanel(
    new text.PanelBuilder().mode(text.TextMode.Markdown).content(spec.guide).transparent(true).span(24).height(3),
  );
  for (const { title, panels } of spec.rows) {
    builder.withRow(new dashboard.RowBuilder(title));
    for (const panel of panels) builder.withPanel(panelOf(panel));
  }
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}

function variableOf({ name, title, from, label, many = false, reversed = false }: Variable) {
  const query = `label_values(${from}, ${label})`;
  const builder = new dashboard.QueryVariableBuilder(name)
    .label(title)
    .datasource(DATASOURCE)
    .query({ qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
    .definition(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(reversed ? dashboard.VariableSort.AlphabeticalDesc : dashboard.VariableSort.AlphabeticalAsc)
    .multi(many)
    .includeAll(many);
  if (many) builder.allValue('.+').current({ selected: true, text: ['All'], value: ['$__all'] });
  return builder;
}

function annotationOf({ name, expr, title, text, colour }: Annotation) {
  return new dashboard.AnnotationQueryBuilder()
    .name(name)
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor(colour)
    .expr(expr)
    .titleFormat(title)
    .textFormat(text)
    .step('5s');
}

function queriesOf({ queries, kind }: Panel) {
  return queries.map(({ expr, legend }, n) => {
    const query = new prometheus.DataqueryBuilder()
      .datasource(DATASOURCE)
      .expr(expr)
      .legendFormat(legend)
      .refId(String.fromCharCode(65 + n));
    if (kind === 'table') return query.instant().format(prometheus.PromQueryFormat.Table);
    return kind === 'number' ? query.instant() : query.range();
  });
}

function panelOf(panel: Panel) {
  const { title, description, unit = 'short', width = 8, height = 8, repeat, warnAt } = panel;
  const builder = bodyOf(panel)
    .title(title)
    .description(description)
    .datasource(DATASOURCE)
    .targets(queriesOf(panel))
    .unit(unit)
    .span(width)
    .height(height);
  if (warnAt) builder.thresholds(thresholdsOf(warnAt));
  if (repeat) builder.repeat(repeat).repeatDirection('h').maxPerRow(3);
  return builder;
}

function bodyOf(panel: Panel) {
  switch (panel.kind) {
    case 'number':
      return new stat.PanelBuilder()
        .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
        .colorMode(common.BigValueColorMode.Value)
        .graphMode(common.BigValueGraphMode.None);
    case 'table':
      return tableOf(panel);
    case 'states':
      return new statetimeline.PanelBuilder()
        .mergeValues(true)
        .showValue(common.VisibilityMode.Never)
        .colorScheme(new dashboard.FieldColorBuilder().mode(dashboard.FieldColorModeId.Thresholds));
    default:
      return curvesOf(panel);
  }
}

function curvesOf({ kind, queries }: Panel) {
  const builder = new timeseries.PanelBuilder()
    .axisSoftMin(0)
    .lineWidth(1)
    .fillOpacity(kind === 'lines' ? 0 : 60)
    .drawStyle(kind === 'bars' ? common.GraphDrawStyle.Bars : common.GraphDrawStyle.Line)
    .showPoints(common.VisibilityMode.Never)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    );
  if (kind === 'stacked') builder.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal));
  // the label decides the colour, whether it is the whole name of a curve or its last word
  const named = queries.some(({ legend }) => /\{\{(component|kind|signal)\}\}/.test(legend));
  for (const [name, colour] of Object.entries(COLOURS))
    if (named || queries.some(({ legend }) => legend === name))
      builder.overrideByRegexp(`/(^|\\s)${name}$/`, [{ id: 'color', value: { mode: 'fixed', fixedColor: colour } }]);
  return builder;
}

/** One row for each combination of the columns, one column for each query. */
function tableOf({ queries, columns = [], sortBy, leadsTo }: Panel) {
  const values = queries.map(({ legend }, n) => [`Value #${String.fromCharCode(65 + n)}`, legend] as const);
  const single = queries.length === 1;
  const builder = new table.PanelBuilder()
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { names: [...columns, ...values.map(([name]) => (single ? 'Value' : name))] } },
    })
    .withTransformation({
      id: 'organize',
      options: {
        indexByName: Object.fromEntries(
          [...columns, ...values.map(([name]) => (single ? 'Value' : name))].map((name, n) => [name, n]),
        ),
        renameByName: Object.fromEntries(values.map(([name, legend]) => [single ? 'Value' : name, legend])),
      },
    });
  for (const { legend } of queries)
    if (legend.endsWith('share')) builder.overrideByName(legend, [{ id: 'unit', value: 'percentunit' }]);
  if (sortBy) builder.sortBy([new common.TableSortByFieldStateBuilder().displayName(sortBy).desc(true)]);
  if (leadsTo) {
    const variables = leadsTo.labels.map((label) => `var-${label}=\${__data.fields.${label}}`);
    builder.overrideByName(columns[0], [
      {
        id: 'links',
        value: [
          {
            title: 'Look at this one',
            url: `/d/${leadsTo.uid}?${['var-datasource=$datasource', ...variables].join('&')}&\${__url_time_range}`,
          },
        ],
      },
    ]);
  }
  return builder;
}

function thresholdsOf([orange, red]: [number, number]) {
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps([
    { value: null, color: 'green' },
    { value: orange, color: 'orange' },
    { value: red, color: 'red' },
  ]);
}
