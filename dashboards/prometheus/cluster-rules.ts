/**
 * The rules for a cluster, made from rules.yml (`npm run dashboards`); the result is committed beside it. Every process
 * exposes the streams it owns, so a stream moves from one instance to another. Its numbers are put together first, and
 * only then are rates taken: counters go on where the owner before had brought them. Frames are counted by whoever
 * accepts them, from 0 on in every process: their rates are taken first, and added up.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { METRICS } from '../../src/telemetry/catalogue.js';

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
const isOfStreams = (group: string, rule: string) =>
  /job, instance, stream/.test(rule) || (group !== 'tgospa-evaluator' && owned(rule).length > 0);

/** The text of rules-cluster.yml. */
export function clusterRules(text: string): string {
  const asked = new Set<string>();
  let group = '';
  // a part is a rule, or the head of the file or of a group
  const parts = text.slice(text.indexOf('groups:\n') + 'groups:\n'.length).split(/^(?= {6}- | {2}- | {2}# )/m);
  const rewritten = parts.map((part) => {
    group = /^ {2}- name: (\S+)/.exec(part)?.[1] ?? group;
    if (!part.startsWith('      - ') || !isOfStreams(group, part)) return part;
    for (const name of owned(part)) asked.add(name);
    return withoutInstances(part);
  });
  const records = [...asked].map(
    (name) => `      - record: ${together(name)}\n        expr: max without (instance, pod) (${name})\n`,
  );
  return [HEAD, 'groups:\n  - name: tgospa-owners\n    rules:\n', ...records, '\n', ...rewritten].join('');
}

const fileOf = (name: string) => fileURLToPath(new URL(`../../../dashboards/prometheus/${name}`, import.meta.url));

export const RULES = { single: fileOf('rules.yml'), cluster: fileOf('rules-cluster.yml') };

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(RULES.cluster, clusterRules(readFileSync(RULES.single, 'utf8')));
