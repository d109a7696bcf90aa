/** The alert rules: sound, tested with promtool, and explained in the runbook. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { clusterRules, RULES } from '../../dashboards/prometheus/cluster-rules.js';
import { METRICS } from '../../src/telemetry/catalogue.js';
import { RULES_FILE, type RuleFile, readRules, rulesOf, shortened } from '../kit/alert-rules.js';
import { hasProgram, skipInFastRun, skipUnless } from '../kit/system/system.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The anchors of the headings of a Markdown page, as hosts of repositories make them. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

const UNIT_TESTS = join(dirname(RULES_FILE), 'rules.test.yml');
const UNIT_TESTS_OF_CLUSTER = join(dirname(RULES_FILE), 'rules-cluster.test.yml');
/** A unit test that goes on for longer has its rules evaluated once a minute, as Prometheus does by itself. */
const LONG_MINUTES = 40;

/** Everything is text: 0x160 is a nought that is repeated, and no number. */
const WORDS = { schema: 'failsafe' } as const;

interface UnitTests {
  evaluation_interval: string;
  rule_files: string[];
  tests: Array<{ alert_rule_test?: UnitTest[]; promql_expr_test?: UnitTest[] }>;
}
interface UnitTest {
  eval_time: string;
}

const minutesOf = (duration: string): number => {
  const [, hours = 0, minutes = 0, seconds = 0] = duration.match(/^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/)!;
  return Number(hours) * 60 + Number(minutes) + Number(seconds) / 60;
};

/** Unit tests as two files: nearly all of promtool's time goes into evaluations of the long ones. */
function unitTestsByLength(testsFile: string): Array<[length: string, yaml: string]> {
  const all = parse(readFileSync(testsFile, 'utf8'), WORDS) as UnitTests;
  const isLong = ({ alert_rule_test = [], promql_expr_test = [] }: UnitTests['tests'][number]) =>
    [...alert_rule_test, ...promql_expr_test].some(({ eval_time }) => minutesOf(eval_time) > LONG_MINUTES);
  const rule_files = all.rule_files.map((name) => join(dirname(testsFile), name));
  const short = { ...all, rule_files, tests: all.tests.filter((test) => !isLong(test)) };
  const long = { ...all, rule_files, evaluation_interval: '1m', tests: all.tests.filter(isLong) };
  assert.ok(short.tests.length > 0 && long.tests.length > 0);
  return [
    ['short', stringify(short, WORDS)],
    ['long', stringify(long, WORDS)],
  ];
}

describe('alert rules', () => {
  const file = readRules();
  const alerts = rulesOf(file).filter(({ alert }) => alert !== undefined);
  const names = [...new Set(alerts.map(({ alert }) => alert!))];

  it('hold every alert that is promised', () => {
    for (const name of [
      'TrackerMissSpike',
      'TrackerSwitchSpike',
      'TrackerFalseSpike',
      'TrackerLocalizationDrift',
      'TrackerSilent',
      'ReferenceSilent',
      'EvaluatorLagging',
      'EvaluatorUncertified',
      'EvaluatorStorageFailing',
      'EvaluatorStorageSlow',
    ])
      assert.ok(names.includes(name), `rules.yml has no alert ${name}`);
  });

  it('say how bad, what, and what to do, in a section of the runbook that exists', () => {
    const anchors = anchorsOf(read('dashboards/RUNBOOK.md'));
    for (const { alert, labels, annotations } of alerts) {
      assert.match(
        labels?.severity ?? '',
        alert === 'Watchdog' ? /^none$/ : /^(critical|warning)$/,
        `${alert}: severity`,
      );
      assert.ok(annotations?.summary && annotations.description, `${alert} lacks a summary or a description`);
      const [page, anchor] = annotations.runbook_url.split('#');
      assert.equal(
        page,
        '{{ with $externalLabels.tgospa_runbook }}{{ . }}{{ else }}dashboards/RUNBOOK.md{{ end }}',
        alert,
      );
      assert.equal(anchor, alert!.toLowerCase());
      assert.ok(anchors.includes(anchor), `dashboards/RUNBOOK.md has no section for ${alert}`);
    }
  });

  it('are all the runbook has sections for, and its links lead somewhere', () => {
    const text = read('dashboards/RUNBOOK.md');
    const sections = [...text.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections.sort(), [...names].sort());
    for (const [, anchor] of text.matchAll(/\]\(#([^)]+)\)/g))
      assert.ok(anchorsOf(text).includes(anchor), `the runbook links to #${anchor}, which it does not have`);
  });

  it('find trackers both by the detector and by plain rates, which need no detector', () => {
    for (const name of ['TrackerMissSpike', 'TrackerSwitchSpike', 'TrackerFalseSpike', 'TrackerLocalizationDrift']) {
      const kinds = alerts.filter(({ alert }) => alert === name);
      assert.deepEqual([...new Set(kinds.map(({ labels }) => labels?.by))], ['detector', 'rate']);
      // rates look at the detector only to keep quiet about what it has told
      for (const { labels, expr } of kinds)
        assert.equal(/tgospa_spike(?![^)]*\[15m\]\) == 1)/.test(expr), labels?.by === 'detector', expr);
    }
    for (const { record, expr } of rulesOf(file)) if (record) assert.ok(!expr.includes('tgospa_spike'), record);
  });

  it('let nothing page that has not lasted', () => {
    const BY_COUNTER = ['EvaluatorQuarantine', 'EvaluatorDisagreement'];
    for (const { alert, labels, for: wait } of alerts)
      if (labels?.severity === 'critical' && !BY_COUNTER.includes(alert!)) assert.ok(wait, `${alert} pages at once`);
  });

  it('ask only for metrics that exist, and for records that are made', () => {
    const known = new Set(METRICS.map(({ name }) => name));
    const records = new Set(rulesOf(file).flatMap(({ record }) => record ?? []));
    for (const { expr, record, alert } of rulesOf(file)) {
      const asked = expr.match(/\b(?:(?:series|instance):)?tgospa_\w+(?::\w+)?/g) ?? [];
      for (const name of asked)
        assert.ok(
          records.has(name) || known.has(name.replace(/_bucket$/, '')),
          `${alert ?? record} asks for ${name}, which does not exist`,
        );
    }
  });

  it('pass promtool, whole and shortened', function () {
    skipInFastRun(this);
    skipUnless(this, hasProgram('promtool'), 'promtool is needed; Debian: apt-get install prometheus');
    const run = (args: string[], cwd: string) => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { cwd, encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    };
    run(['check', 'rules', RULES_FILE], root);
    run(['check', 'rules', RULES.cluster], root);
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-rules-'));
    try {
      const unitTests = [UNIT_TESTS, UNIT_TESTS_OF_CLUSTER].flatMap((testsFile) =>
        unitTestsByLength(testsFile).map(([length, yaml]) => {
          const name = `${length}.${basename(testsFile)}`;
          writeFileSync(join(folder, name), yaml);
          return name;
        }),
      );
      run(['test', 'rules', ...unitTests], folder);
      writeFileSync(join(folder, 'rules.yml'), shortened(file, 30));
      run(['check', 'rules', 'rules.yml'], folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('are committed for a cluster as they are generated, and compare nothing by instance there that belongs to a stream', () => {
    const text = read('dashboards/prometheus/rules-cluster.yml');
    assert.equal(text, clusterRules(read('dashboards/prometheus/rules.yml')), 'it is stale; run npm run dashboards');
    const [owners, ...groups] = (parse(text) as RuleFile).groups;
    for (const { record, expr } of owners.rules)
      assert.equal(expr, `max without (instance, pod) (${record!.split(':')[1]})`);
    const ofStreams = METRICS.filter(({ labels }) => labels.includes('stream')).map(({ name }) => name);
    for (const { name, rules } of groups)
      for (const { alert, record, expr } of rules) {
        assert.ok(!/job, instance, stream/.test(expr), `${alert ?? record} compares by instance`);
        if (name === 'tgospa-evaluator' && !expr.includes('cluster:')) continue;
        const asked = expr.match(/(?<![:\w])tgospa_\w+(?![\w:])/g) ?? [];
        for (const metric of asked.filter((one) => ofStreams.includes(one)))
          assert.match(expr, new RegExp(`sum without \\(instance, pod\\) \\(rate\\(${metric}`), `${alert ?? record}`);
      }
  });

  it('have a unit test for every alert that fires and for every alert that must not', () => {
    const { tests } = parse(read('dashboards/prometheus/rules.test.yml')) as {
      tests: Array<{ alert_rule_test?: Array<{ alertname: string; exp_alerts: unknown[] }> }>;
    };
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test ?? []);
    for (const name of names) {
      const own = cases.filter(({ alertname }) => alertname === name);
      assert.ok(
        own.some(({ exp_alerts }) => exp_alerts.length > 0),
        `no unit test shows ${name} firing`,
      );
    }
    const quiet = new Set(cases.filter(({ exp_alerts }) => exp_alerts.length === 0).map(({ alertname }) => alertname));
    // in their tests another feed beside the one that is reported is well
    const beside = ['ReferenceSilent', 'FeedRejected', 'FeedLate'];
    const always = ['Watchdog'];
    assert.deepEqual(
      names.filter((name) => !quiet.has(name) && ![...beside, ...always].includes(name)),
      [],
    );
  });
});

describe('shortening the rules', () => {
  const file: RuleFile = {
    groups: [
      {
        name: 'g',
        rules: [{ alert: 'A', expr: 'rate(x_5m[5m]) > 0.5 and x:rate5m offset 1h', for: '1m', keep_firing_for: '10s' }],
      },
    ],
  };

  it('divides durations and nothing else', () => {
    const [rule] = rulesOf(parse(shortened(file, 30)));
    assert.equal(rule.expr, 'rate(x_5m[10s]) > 0.5 and x:rate5m offset 120s');
    assert.deepEqual([rule.for, rule.keep_firing_for], ['2s', '1s']);
  });

  it('changes every duration of the real file', () => {
    const before = JSON.stringify(readRules()).match(/\[\d+[smh]\]|offset \d+[smh]/g)!;
    const after = JSON.stringify(parse(shortened(readRules(), 7))).match(/\[\d+[smh]\]|offset \d+[smh]/g)!;
    assert.equal(before.length, after.length);
    for (const [n, duration] of before.entries()) assert.notEqual(after[n], duration);
  });
});
