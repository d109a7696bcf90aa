/**
 * Runs tests: `npm test` all of them, `npm test -- edge commands/eval metric/ties` those of the folders and files
 * named, and `npm run test:fast` everything that answers within a minute: no other programs, and none of the tests that
 * are long (`kit/system/system.ts`). Files run side by side, two more than there are processors, for many wait for
 * other programs; those that take longest start first. What comes after the first word with a dash goes to mocha:
 * `npm test -- metric --grep weights`. With TGOSPA_TEST_LIST=1 the files are listed, not run; with
 * TGOSPA_TEST_WORKERS=2 evaluators have two workers where a test does not say how many (`kit/workers-by-default.ts`).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const FAST = '--fast';
/** Folders whose tests start other programs. */
const WITH_PROGRAMS = ['system', 'docker'];
/** What takes longest, file by file: in turn those that mostly wait for other programs, and those that compute. */
const LONGEST = [
  ...['system/alerts/alerting', 'system/page/page', 'docker/docker', 'stream/wiring/findings'],
  ...['system/cluster/cluster', 'system/crash', 'dashboards/rules', 'metric/crowds', 'system/recovery', 'cores/cores'],
  ...[
    'simulator/simulation',
    'commands/demo',
    'system/cluster/roles',
    'metric/budget',
    'system/cluster/takeover-metrics',
  ],
  ...['live/live', 'system/hostile', 'system/misfortune', 'edge/limits', 'system/outages', 'metric/properties'],
  ...['spikes/spikes-live', 'system/page/setup', 'system/python', 'commands/demo-walkers', 'stream/pairing/reports'],
];
/** Folders, likewise. */
const NEXT = ['system', 'docker', 'stream', 'commands', 'cluster', 'cores', 'spikes', 'metric', 'live', 'store'];

const compiled = fileURLToPath(new URL('.', import.meta.url));
const sources = fileURLToPath(new URL('../../test/', import.meta.url));

/** Every compiled test that still has a source, by its path without endings: `edge/http`. */
const all = readdirSync(compiled, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => file.slice(0, -'.test.js'.length))
  .filter((name) => existsSync(`${sources}${name}.test.ts`));

const isIn = (name: string, folder: string) => name === folder || name.startsWith(`${folder}/`);

function namedBy(word: string): string[] {
  const folder = word.replace(/^(dist\/)?test(\/|$)/, '').replace(/(\.test)?\.[jt]s$|\/$/, '');
  const names = folder === '' ? all : all.filter((name) => isIn(name, folder));
  if (names.length > 0) return names;
  const folders = [...new Set(all.map((name) => name.replace(/\/?[^/]+$/, '')))].filter(Boolean).sort().join(' ');
  console.error(`no test is in ${word}; folders of test/ are: ${folders}`);
  return process.exit(2);
}

const rankOf = (name: string): number => {
  const rank = [...LONGEST, ...NEXT].findIndex((folder) => isIn(name, folder));
  return rank < 0 ? Number.POSITIVE_INFINITY : rank;
};

const args = process.argv.slice(2);
const isFast = args[0] === FAST;
if (isFast) args.shift();
const dash = args.findIndex((word) => word.startsWith('-'));
const words = dash < 0 ? args : args.slice(0, dash);
const options = dash < 0 ? [] : args.slice(dash);

const named = words.length > 0 ? [...new Set(words.flatMap(namedBy))] : all;
const names = isFast ? named.filter((name) => !WITH_PROGRAMS.some((folder) => isIn(name, folder))) : named;
names.sort((a, b) => (rankOf(a) === rankOf(b) ? (a < b ? -1 : 1) : rankOf(a) - rankOf(b)));
if (process.env.TGOSPA_TEST_LIST === '1') {
  console.log(names.join('\n'));
  process.exit();
}
const sideBySide = names.length > 1 ? ['--parallel', '--jobs', String(availableParallelism() + 2)] : [];
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const env: NodeJS.ProcessEnv = { ...process.env, ...(isFast ? { TGOSPA_TEST_FAST: '1' } : {}) };
if (env.TGOSPA_TEST_WORKERS !== undefined) {
  env.NODE_OPTIONS = `${env.NODE_OPTIONS ?? ''} --import=file://${compiled}kit/workers-by-default.js`;
  // it changes a module
  env.TGOSPA_BUNDLE = '0';
}
// as the program has it: what a frame leaves behind dies young
const memory = ['--max-semi-space-size=64'];
const child = spawn(
  process.execPath,
  [...memory, mocha, ...sideBySide, ...options, ...names.map((name) => `${compiled}${name}.test.js`)],
  { stdio: 'inherit', env },
);
const [code] = await once(child, 'exit');
process.exitCode = code ?? 1;
