/**
 * The rules for a cluster, made from rules.yml (`npm run dashboards`); the result is committed beside it. Every process
 * exposes the streams it owns, so a stream moves from one instance to another. Its numbers are put together first, and
 * only then are rates taken: counters go on where the owner before had brought them. Frames are counted by whoever
 * accepts them, from 0 on in every process: their rates are taken first, and added up.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { METRICS } from '../../src/telemetry/catalogue.js';

interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  annotations?: Record<string, string>;
}

interface RuleFile {
  groups: Array<{ name: string; rules: Rule[] }>;
}

const HEAD = `# Recording rules and alerts for several processes of TGOSPA Live that are one evaluator; for a single one use rules.yml.
# Generated from rules.yml by \`npm run dashboards\`: change that one. Every process exposes the streams it owns; here they are
# put together before rates are taken, so counters continue when a stream moves to another process, and nothing looks like a spike.
`;

/** They are counted where feeds are accepted, not where streams are owned. */
const ACCEPTED = ['tgospa_feed_frames_total', 'tgospa_feed_objects_total'];
const OWNED = METRICS.filter(({ name, labels }) => labels.includes('stream') && !ACCEPTED.includes(name)).map(
  ({ name }) => name,
);

const together = (name: string) => `cluster:${name}:max`;
/** A metric of ours, and no record that is named after it. */
const METRIC = /(?<![:\w])tgospa_\w+(?![\w:])/g;
const owned = (expr: string) => [...expr.matchAll(METRIC)].map(([name]) => name).filter((name) => OWNED.includes(name));

const ACCEPTED_RATE = new RegExp(`rate\\((?:${ACCEPTED.join('|')})(?:\\{[^}]*\\})?\\[\\w+\\]\\)`, 'g');

const withoutInstances = (text: string) =>
  text
    .replace(ACCEPTED_RATE, (rate) => `sum without (instance, pod) (${rate})`)
    .replace(METRIC, (name) => (OWNED.includes(name) ? together(name) : name))
    .replaceAll('job, instance', 'job')
    .replaceAll("job='%s',instance='%s'", "job='%s'")
    .replaceAll('$labels.job $labels.instance', '$labels.job')
    .replaceAll("{instance='%s'}", "{job='%s'}")
    .replaceAll('$labels.instance', '$labels.job');

/** Rules about streams; those about a process stay as they are. */
const isOfStreams = (group: string, { expr }: Rule) =>
  /job, instance, stream/.test(expr) || (group !== 'tgospa-evaluator' && owned(expr).length > 0);

function rewritten(rule: Rule): Rule {
  const annotations = Object.entries(rule.annotations ?? {}).map(([key, text]) => [key, withoutInstances(text)]);
  return {
    ...rule,
    expr: withoutInstances(rule.expr),
    ...(rule.annotations ? { annotations: Object.fromEntries(annotations) } : {}),
  };
}

/** The text of rules-cluster.yml. */
export function clusterRules(text: string): string {
  const { groups } = parse(text) as RuleFile;
  const asked = new Set(
    groups.flatMap(({ name, rules }) =>
      rules.flatMap((rule) =>
        isOfStreams(name, rule) ? owned(`${rule.expr} ${Object.values(rule.annotations ?? {})}`) : [],
      ),
    ),
  );
  const records = [...asked].map((name) => ({ record: together(name), expr: `max without (instance, pod) (${name})` }));
  const rest = groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => (isOfStreams(name, rule) ? rewritten(rule) : rule)),
  }));
  return HEAD + stringify({ groups: [{ name: 'tgospa-owners', rules: records }, ...rest] }, { lineWidth: 0 });
}

const fileOf = (name: string) => fileURLToPath(new URL(`../../../dashboards/prometheus/${name}`, import.meta.url));

export const RULES = { single: fileOf('rules.yml'), cluster: fileOf('rules-cluster.yml') };

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(RULES.cluster, clusterRules(readFileSync(RULES.single, 'utf8')));
