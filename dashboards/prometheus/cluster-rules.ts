/**
 * The rules for a cluster, made from rules.yml (`npm run dashboards`); the result is committed beside it. Every process
 * exposes the streams it owns, so a stream moves from one instance to another. Its numbers are put together first, and
 * only then are rates taken: counters go on where the owner before had brought them. What a process counts since it
 * began, as accepted frames and solves, is not part of what an owner hands on: rates are taken first, and added up.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { METRICS } from '../../src/telemetry/catalogue.js';

const HEAD = `# Recording rules and alerts for several processes of TGOSPA Live that are one evaluator; for a single one use rules.yml.
# Generated from rules.yml by \`npm run dashboards\`: change that one. Every process exposes the streams it owns; here they are
# put together before rates are taken, so counters continue when a stream moves to another process, and nothing looks like a spike.
`;

const OF_STREAMS = METRICS.filter(({ labels }) => labels.includes('stream'));
const namesOf = (metrics: typeof METRICS) => metrics.map(({ name }) => name);
/** Counted by each process for itself, not part of the state of a stream. */
const OF_PROCESSES = namesOf(OF_STREAMS.filter(({ ofProcess }) => ofProcess));
const OWNED = namesOf(OF_STREAMS.filter(({ ofProcess }) => !ofProcess));

const together = (name: string) => `cluster:${name}:max`;
/** A metric of ours, and no record that is named after it. */
const METRIC = /(?<![:\w])tgospa_\w+(?![\w:])/g;
const named = (expr: string, names: readonly string[]) =>
  [...expr.matchAll(METRIC)].map(([name]) => name).filter((name) => names.includes(name));

const RATE = new RegExp(`(?:rate|increase)\\((?:${OF_PROCESSES.join('|')})(?:\\{[^}]*\\})?\\[\\w+\\]\\)`, 'g');

const withoutInstances = (text: string) =>
  text
    .replace(RATE, (rate) => `sum without (instance, pod) (${rate})`)
    .replace(METRIC, (name) => (OWNED.includes(name) ? together(name) : name))
    .replaceAll('job, instance', 'job')
    .replaceAll("job='%s',instance='%s'", "job='%s'")
    .replaceAll('$labels.job $labels.instance', '$labels.job')
    .replaceAll("{instance='%s'}", "{job='%s'}")
    .replaceAll('$labels.instance', '$labels.job');

/** Rules about streams; those about a process stay as they are. */
const isOfStreams = (group: string, rule: string) =>
  /job, instance, stream/.test(rule) ||
  (group !== 'tgospa-evaluator' && named(rule, [...OWNED, ...OF_PROCESSES]).length > 0);

/** The text of rules-cluster.yml. */
export function clusterRules(text: string): string {
  const asked = new Set<string>();
  let group = '';
  // a part is a rule, or the head of the file or of a group
  const parts = text.slice(text.indexOf('groups:\n') + 'groups:\n'.length).split(/^(?= {6}- | {2}- | {2}# )/m);
  const rewritten = parts.map((part) => {
    group = /^ {2}- name: (\S+)/.exec(part)?.[1] ?? group;
    if (!part.startsWith('      - ') || !isOfStreams(group, part)) return part;
    for (const name of named(part, OWNED)) asked.add(name);
    return withoutInstances(part);
  });
  const records = [...asked].map(
    (name) => `      - record: ${together(name)}\n        expr: max without (instance, pod) (${name})\n`,
  );
  return [HEAD, 'groups:\n  - name: tgospa-owners\n    rules:\n', ...records, '\n', ...rewritten].join('');
}

const OPERATOR_HEAD = `# For the Prometheus operator. Generated from dashboards/prometheus/rules.yml by \`npm run dashboards\`: change that one.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: tgospa
  labels: { app.kubernetes.io/name: tgospa }
spec:
`;

/** The same rules as an object of Kubernetes: the text of docker/kubernetes/rules.yaml. */
export const operatorRules = (rules: string): string =>
  OPERATOR_HEAD + rules.slice(rules.indexOf('groups:\n')).replaceAll(/^(?=.)/gm, '  ');

const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export const RULES = {
  single: fileOf('dashboards/prometheus/rules.yml'),
  cluster: fileOf('dashboards/prometheus/rules-cluster.yml'),
  operator: fileOf('docker/kubernetes/rules.yaml'),
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rules = clusterRules(readFileSync(RULES.single, 'utf8'));
  writeFileSync(RULES.cluster, rules);
  writeFileSync(RULES.operator, operatorRules(rules));
}
