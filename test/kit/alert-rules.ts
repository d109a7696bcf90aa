/**
 * The alert rules as the tests use them: read, and shortened. Shortening divides every duration of rules.yml by the
 * same number: ranges in brackets, offsets, `for` and `keep_firing_for`. Expressions, thresholds, labels and texts stay
 * as they are, so that what a real Prometheus shows in a minute is what the rules do in an hour.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

export interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  for?: string;
  keep_firing_for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface RuleFile {
  groups: Array<{ name: string; rules: Rule[] }>;
}

export const RULES_FILE = fileURLToPath(new URL('../../../dashboards/prometheus/rules.yml', import.meta.url));

export const readRules = (file = RULES_FILE): RuleFile => parse(readFileSync(file, 'utf8'));

export const rulesOf = ({ groups }: RuleFile): Rule[] => groups.flatMap(({ rules }) => rules);

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600 };
/** A duration in brackets, or after the word offset. */
const IN_EXPRESSION = /(?<=\[|offset )(\d+)([smh])(?![\w])/g;

/**
 * The rules with every duration divided by `factor`, as YAML. With scrapes every second, a range needs some seconds to
 * hold enough of them even when a few are lost, and an alert must wait longer than a few lost scrapes last: so there
 * are least lengths, in seconds.
 */
export function shortened(file: RuleFile, factor: number, least = { ranges: 1, waits: 1 }): string {
  const shorter = (amount: string, unit: string, leastSeconds: number) =>
    `${Math.max(leastSeconds, Math.round((Number(amount) * SECONDS[unit]) / factor))}s`;
  const whole = (duration: string, leastSeconds: number) =>
    duration.replace(/^(\d+)([smh])$/, (_, amount, unit) => shorter(amount, unit, leastSeconds));
  const rules = (list: Rule[]) =>
    list.map((rule) => ({
      ...rule,
      expr: rule.expr.replace(IN_EXPRESSION, (_, amount, unit) => shorter(amount, unit, least.ranges)),
      ...(rule.for === undefined ? {} : { for: whole(rule.for, least.waits) }),
      ...(rule.keep_firing_for === undefined ? {} : { keep_firing_for: whole(rule.keep_firing_for, 1) }),
    }));
  return stringify({ groups: file.groups.map(({ name, rules: list }) => ({ name, rules: rules(list) })) });
}
