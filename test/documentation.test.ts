/**
 * What the pages say is true: commands, options, benchmarks and links exist, programs run, and the package ships what
 * its README links to. The layout of src/README.md and the length of decisions are held to what they promise.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startApp } from '../src/app.js';
import { readConfig } from '../src/config/config.js';
import { type JsonSchema, jsonSchema } from '../src/config/schema.js';
import { METRICS } from '../src/telemetry/catalogue.js';
import { createLogger } from '../src/telemetry/logger.js';
import { metric } from './kit/exposition.js';
import { UNTIMED_PAIRING } from './kit/settings.js';
import { skipInFastRun, until } from './kit/system/system.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const { scripts } = JSON.parse(read('package.json'));

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...['src', 'adapters', 'dashboards', 'docker', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
  ),
];

/** Pages whose options are those of the command line. */
const COMMAND_PAGES = ['README.md', 'src/metric/README.md', 'src/tuning/README.md', 'src/commands/eval/README.md'];

/** Labels of Prometheus, and the package for Python. */
const NO_METRICS: ReadonlySet<string> = new Set(['tgospa_runbook', 'tgospa_dashboard', 'tgospa_live']);

/** Every key of the configuration, behind those of its sections. */
const settingsOf = ({ properties = {}, additionalProperties, items, anyOf = [] }: JsonSchema): string[] => [
  ...Object.entries(properties).flatMap(([key, value]) => [key, ...settingsOf(value).map((rest) => `${key}.${rest}`)]),
  ...[additionalProperties, items, ...anyOf].flatMap((inner) => (typeof inner === 'object' ? settingsOf(inner) : [])),
];

const programsOf = (page: string) =>
  [...read(page).matchAll(/^( *)```js\n([\s\S]*?)^ *```/gm)].map(([, , text]) => text);
const nodeArgs = (program: string) => ['--input-type=module', '--eval', program];

interface Link {
  page: string;
  /** from the root of the repository */
  file: string;
  anchor: string | undefined;
}

const links: Link[] = pages.flatMap((page) =>
  [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path, anchor]) => ({
    page,
    file: path === '' ? page : relative(root, join(root, dirname(page), path)).replaceAll('\\', '/'),
    anchor,
  })),
);

/** The anchors of a page, as they are made from its headings. */
const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the documentation', () => {
  it('names only npm scripts and benchmarks that exist', () => {
    for (const page of pages) {
      const text = read(page);
      for (const [, name] of text.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:-]+)/g))
        assert.ok(name in scripts, `${page} says npm run ${name}, but package.json has no such script`);
      for (const [, name] of text.matchAll(/npm run bench -- ([a-z]+)/g))
        assert.ok(existsSync(join(root, 'test/bench', `${name}.ts`)), `${page} names a benchmark ${name}`);
    }
    assert.match(read('README.md'), /npm start[\s\S]*npm test/);
  });

  it('names only options that a command knows', function () {
    skipInFastRun(this);
    const help = ['eval', 'tune', 'serve', 'demo', 'replay']
      .map((command) => execFileSync(process.execPath, [join(root, 'dist/src/main.js'), command, '--help']))
      .join('\n');
    const known = new Set(help.match(/--[\w-]+/g));
    const named = COMMAND_PAGES.flatMap((page) =>
      [...read(page).matchAll(/(?<![\w-])--[a-z][\w-]+/g)].map(([option]) => ({ page, option })),
    );
    assert.ok(named.length > 50, `only ${named.length} options were found`);
    for (const { page, option } of named)
      assert.ok(known.has(option), `${page} names ${option}, which no command knows`);
  });

  it('names only metrics and settings that exist', () => {
    const metrics = METRICS.map(({ name }) => name);
    const settings = settingsOf(jsonSchema());
    // changes name what is gone
    for (const page of pages.filter((page) => page !== 'CHANGELOG.md')) {
      const text = read(page);
      for (const [, name] of text.matchAll(/(?<![\w:])(tgospa_[a-z_]*[a-z])\b/g))
        assert.ok(
          NO_METRICS.has(name) || metrics.some((metric) => metric === name || metric.startsWith(`${name}_`)),
          `${page} names the metric ${name}, which does not exist`,
        );
      for (const [, section, name] of text.matchAll(
        /`(limits|evaluation|data|pairing|notify|cluster|reports)(\.\w+)`/g,
      ))
        assert.ok(
          settings.some((setting) => `.${setting}`.endsWith(`.${section}${name}`)),
          `${page} names the setting ${section}${name}, which does not exist`,
        );
    }
  });

  it('links to files and sections that exist', () => {
    assert.ok(links.length > 50, `only ${links.length} links were found`);
    for (const { page, file, anchor } of links) {
      assert.ok(existsSync(join(root, file)), `${page} links to ${file}, which does not exist`);
      if (anchor) assert.ok(anchorsOf(file).includes(anchor), `${page} links to ${file}#${anchor}: no such section`);
    }
  });

  it('is in the package, with what the README and its pages link to', function () {
    skipInFastRun(this);
    const packed = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: root, encoding: 'utf8' });
    assert.equal(packed.status, 0, packed.stderr);
    const shipped = new Set(JSON.parse(packed.stdout)[0].files.map(({ path }: { path: string }) => path));
    const reached = links.filter(({ page }) => page === 'README.md').map(({ file }) => file);
    for (const { page, file } of links.filter(({ page }) => page === 'README.md' || reached.includes(page)))
      assert.ok(shipped.has(file), `${page} links to ${file}, which "files" in package.json leaves out`);
  });

  it('shows a program for the library that runs', () => {
    const [program] = programsOf('src/metric/README.md');
    const { status, stdout, stderr } = spawnSync(process.execPath, nodeArgs(program), { cwd: root, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /switches: 1/);
  });

  it('shows a program for tuning that proposes a profile', () => {
    const [program] = programsOf('src/tuning/README.md');
    const { status, stdout, stderr } = spawnSync(process.execPath, nodeArgs(program), { cwd: root, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /cutoff: 0\.\d+/);
  });

  it('shows a program for spikes that finds a covered camera', function () {
    skipInFastRun(this);
    const [program] = programsOf('src/spikes/README.md');
    const { status, stdout, stderr } = spawnSync(process.execPath, nodeArgs(program), { cwd: root, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(
      stdout,
      /^start of missed at frame 600\d: 10 of 10 objects\nincident, start: unknown, .+\nincident, update: silent, .+\ntrue silent\n$/,
    );
  });

  it('shows two feeds in the README that an evaluator judges', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-documentation-'));
    const overrides = { listen: { port: 0 }, data: { dir: join(folder, 'data') } };
    const text = JSON.stringify({ streams: { defaults: { pairing: UNTIMED_PAIRING } } });
    const { config } = readConfig({ text, overrides, env: {} });
    const app = await startApp(config, { logger: createLogger({ level: 'silent' }), env: {} });
    try {
      const [program] = programsOf('README.md');
      const here = program.replace('ws://127.0.0.1:9477', app.urls.ingest);
      assert.notEqual(here, program);
      await promisify(execFile)(process.execPath, nodeArgs(here), { cwd: root, timeout: 60_000 });
      // with the hundredth frame seventy are settled; of the last sixty, every tenth is missed
      const metrics = await until('a report of the last frame', async () => {
        const text = await (await fetch(app.urls.metrics)).text();
        return metric(text, 'tgospa_frames_total', { tracker: 'mine' }) === 70 && text;
      });
      assert.equal(metric(metrics, 'tgospa_window_instances', { tracker: 'mine', kind: 'missed' }), 6);
      assert.equal(metric(metrics, 'tgospa_window_instances', { tracker: 'mine', kind: 'proper' }), 54);
    } finally {
      await app.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('names source files that exist, in the floor plan and the decisions', () => {
    const sources = ['src', 'adapters', 'test'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `/${folder}/${file}`),
    );
    for (const page of ['src/README.md', 'src/DECISIONS.md']) {
      const named = [...read(page).matchAll(/`((?:\.\.\/)?[\w/-]+\.ts)`/g)].map(([, file]) => file.replace('../', ''));
      assert.ok(named.length > 1, `no file was found in ${page}`);
      for (const file of named)
        assert.ok(
          sources.some((source) => source.endsWith(`/${file}`)),
          `${page} names ${file}, which does not exist`,
        );
    }
  });

  it('keeps the floor plan on 150 lines and decisions at about 60 words', () => {
    assert.ok(read('src/README.md').split('\n').length <= 151, 'src/README.md has more than 150 lines');
    const decisions = read('src/DECISIONS.md')
      .split(/\n\n+/)
      .filter((paragraph) => paragraph.startsWith('**'));
    assert.ok(decisions.length > 20, `only ${decisions.length} decisions were found`);
    for (const decision of decisions) {
      const words = decision.split(/\s+/).length;
      assert.ok(words <= 65, `a decision has ${words} words: ${decision.slice(0, 80)}`);
    }
  });
});
