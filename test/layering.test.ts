/**
 * Arrows point one way: kernel <- adapters <- command line and application <- main. This file holds the table and fails with a
 * sentence. It also keeps the README honest: the commands it names must exist.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Layer {
  name: string;
  /** files, or folders when they end with a slash */
  files: string[];
  /** layers it may import from, besides itself */
  imports: string[];
  /** may it use what comes with Node? */
  node: boolean;
}

const LAYERS: Layer[] = [
  { name: 'kernel', files: ['src/tgospa/'], imports: [], node: false },
  { name: 'adapters', files: ['adapters/'], imports: ['kernel', 'wire'], node: false },
  {
    name: 'tuning',
    files: [
      'src/tuning.ts',
      'src/tuning-intervals.ts',
      'src/tuning-pairs.ts',
      'src/tuning-scores.ts',
      'src/tuning-words.ts',
    ],
    imports: ['kernel'],
    node: false,
  },
  { name: 'door', files: ['src/index.ts'], imports: ['kernel', 'scores', 'tuning'], node: false },
  { name: 'scenes', files: ['src/scene.ts'], imports: ['kernel'], node: false },
  { name: 'spikes', files: ['src/spikes/'], imports: ['kernel'], node: false },
  { name: 'scores', files: ['src/scores/'], imports: ['kernel'], node: false },
  { name: 'reports', files: ['src/report/'], imports: ['kernel'], node: false },
  {
    name: 'terminal',
    files: ['src/options.ts', 'src/table.ts', 'src/timeline.ts', 'src/progress.ts', 'src/progress-thread.ts'],
    imports: ['kernel'],
    node: true,
  },
  {
    name: 'eval',
    files: [
      'src/eval.ts',
      'src/eval-options.ts',
      'src/file-options.ts',
      'src/recordings.ts',
      'src/ranking.ts',
      'src/study/',
    ],
    imports: ['kernel', 'door', 'wire', 'adapters', 'scenes', 'scores', 'terminal', 'reports'],
    node: true,
  },
  {
    name: 'wire',
    files: ['src/protocol.ts', 'src/object-list.ts', 'src/series-key.ts', 'src/frame-scanner.ts'],
    imports: ['kernel', 'spikes'],
    node: false,
  },
  { name: 'client', files: ['src/client.ts'], imports: [], node: false },
  {
    name: 'config',
    files: ['src/config.ts', 'src/config/'],
    imports: ['kernel', 'wire', 'adapters', 'spikes'],
    node: true,
  },
  {
    name: 'pipeline',
    files: [
      'src/record.ts',
      'src/log.ts',
      'src/pairing.ts',
      'src/lane.ts',
      'src/resampling.ts',
      'src/series.ts',
      'src/stream.ts',
      'src/entrance.ts',
      'src/history.ts',
      'src/threads.ts',
      'src/stream-thread.ts',
      'src/pipeline.ts',
    ],
    imports: ['kernel', 'scores', 'door', 'spikes', 'wire', 'config'],
    node: true,
  },
  {
    name: 'edge',
    files: [
      'src/access.ts',
      'src/ingest.ts',
      'src/translation.ts',
      'src/intake.ts',
      'src/subscription.ts',
      'src/trend.ts',
      'src/page-files.ts',
      'src/server.ts',
      'src/telemetry.ts',
      'src/source-meters.ts',
      'src/alert.ts',
      'src/notify.ts',
      'src/logger.ts',
    ],
    imports: ['kernel', 'wire', 'config', 'adapters'],
    node: true,
  },
  {
    name: 'sources',
    files: ['src/sources/'],
    imports: ['wire', 'client', 'config', 'edge', 'adapters'],
    node: true,
  },
  {
    name: 'app',
    files: ['src/app.ts', 'src/serve.ts'],
    imports: ['wire', 'config', 'edge', 'pipeline', 'sources', 'eval', 'terminal'],
    node: true,
  },
  {
    name: 'players',
    files: ['src/player.ts', 'src/demo.ts', 'src/replay.ts'],
    imports: [
      'kernel',
      'door',
      'adapters',
      'scenes',
      'terminal',
      'eval',
      'wire',
      'client',
      'config',
      'edge',
      'pipeline',
      'app',
    ],
    node: true,
  },
  { name: 'dashboards', files: ['dashboards/grafana/'], imports: [], node: true },
  { name: 'page', files: ['src/page/'], imports: ['kernel'], node: false },
  { name: 'page build', files: ['src/page-build.ts'], imports: [], node: true },
  {
    name: 'tune',
    files: ['src/tune.ts', 'src/tune-options.ts', 'src/tune-samples.ts', 'src/tune-summary.ts', 'src/tune-report.ts'],
    imports: ['kernel', 'tuning', 'door', 'adapters', 'scenes', 'terminal', 'reports', 'eval', 'wire'],
    node: true,
  },
  { name: 'main', files: ['src/main.ts'], imports: ['door', 'terminal', 'eval', 'tune', 'app', 'players'], node: true },
];

/** Each outside library has one owner: a file, or a folder when it ends with a slash, with the file beside it. */
const OWNERS: Record<string, string> = {
  '@grafana/grafana-foundation-sdk': 'dashboards/grafana/grafana.ts',
  'classic-level': 'src/log.ts',
  esbuild: 'src/page-build.ts',
  highs: 'src/tgospa/highs.ts',
  mqtt: 'src/sources/mqtt.ts',
  'prom-client': 'src/telemetry.ts',
  rxjs: 'src/pipeline.ts',
  uplot: 'src/page/plots.ts',
  ws: 'src/server.ts',
  yaml: 'src/config/',
  zod: 'src/config/',
};

const root = fileURLToPath(new URL('../../', import.meta.url));
const sources = ['src', 'adapters', 'dashboards'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
);
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b(\s+type\b)?[^'";]*?from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s*'([^']+)'/g;

/** What a file imports; without types, only what is left when it runs. */
function importsOf(file: string, types = true): string[] {
  return [...read(file).matchAll(IMPORT)]
    .filter(([, type]) => types || type === undefined)
    .map(([, , from, dynamic, bare]) => from ?? dynamic ?? bare);
}

function targetOf(file: string, specifier: string): string {
  return normalize(join(dirname(file), specifier))
    .replaceAll('\\', '/')
    .replace(/\.js$/, '.ts');
}

function layerOf(file: string): Layer | undefined {
  return LAYERS.find(({ files }) =>
    files.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place)),
  );
}

function complaintOn(file: string, specifier: string): string | null {
  const layer = layerOf(file);
  if (!layer) return `${file} belongs to no layer; give it a row in test/layering.test.ts`;
  if (specifier.startsWith('node:'))
    return layer.node ? null : `${file} imports ${specifier}, but ${layer.name} must run in a browser too`;
  if (!specifier.startsWith('.')) return outsideComplaint(file, specifier);
  const target = targetOf(file, specifier);
  const other = layerOf(target);
  if (other && (other === layer || layer.imports.includes(other.name))) return null;
  return `${file} imports ${target}, but ${layer.name} may import only ${['itself', ...layer.imports].join(', ')}`;
}

const owns = (owner: string | undefined, file: string): boolean =>
  owner !== undefined &&
  (owner.endsWith('/') ? file.startsWith(owner) || file === `${owner.slice(0, -1)}.ts` : file === owner);

const libraryOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

function outsideComplaint(file: string, specifier: string): string | null {
  const library = libraryOf(specifier);
  const owner = OWNERS[library];
  if (owns(owner, file)) return null;
  if (!owner) return `${file} imports ${library}, which has no owner; name one file for it in test/layering.test.ts`;
  return `${file} imports ${library}, which belongs to ${owner}`;
}

function cycleFrom(file: string, path: string[], finished: Set<string>): string[] | null {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
  if (finished.has(file)) return null;
  for (const specifier of importsOf(file, false).filter((one) => one.startsWith('.'))) {
    const cycle = cycleFrom(targetOf(file, specifier), [...path, file], finished);
    if (cycle) return cycle;
  }
  finished.add(file);
  return null;
}

describe('the layering', () => {
  it('knows a layer for every source file', () => {
    assert.ok(sources.length > 5, `only ${sources.length} source files found under ${root}`);
    const homeless = sources.filter((file) => !layerOf(file));
    assert.deepEqual(
      homeless,
      [],
      `these files belong to no layer; give them a row in test/layering.test.ts: ${homeless}`,
    );
  });

  it('lets imports point one way only, and each outside library have one owner', () => {
    const complaints = sources.flatMap((file) => importsOf(file).map((specifier) => complaintOn(file, specifier)));
    assert.ok(complaints.length > 10, 'hardly any import was found; the search for them must be broken');
    assert.deepEqual(
      complaints.filter((complaint) => complaint !== null),
      [],
    );
  });

  it('has no circles when it runs', () => {
    const finished = new Set<string>();
    for (const file of sources) {
      const cycle = cycleFrom(file, [], finished);
      assert.equal(cycle, null, `these files import each other in a circle: ${cycle?.join(' -> ')}`);
    }
  });

  it('would complain about a wrong import', () => {
    assert.match(String(complaintOn('src/tgospa/ascent.ts', '../eval.js')), /kernel may import only itself$/);
    assert.match(String(complaintOn('src/tgospa/ascent.ts', 'highs')), /belongs to src\/tgospa\/highs.ts$/);
    assert.match(String(complaintOn('src/tgospa/ascent.ts', 'node:fs')), /must run in a browser too$/);
    assert.match(
      String(complaintOn('adapters/motchallenge.ts', '../src/eval.js')),
      /adapters may import only itself, kernel, wire$/,
    );
    assert.match(String(complaintOn('src/eval.ts', 'left-pad')), /has no owner/);
  });

  it('has every dependency owned, and every owner uses it', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json'));
    for (const library of Object.keys(dependencies)) assert.ok(library in OWNERS, `${library} has no owner`);
    for (const [library, owner] of Object.entries(OWNERS)) {
      assert.ok(library in { ...dependencies, ...devDependencies }, `package.json does not have ${library}`);
      assert.ok(
        sources.some((file) => owns(owner, file) && importsOf(file).some((one) => libraryOf(one) === library)),
        `${owner} owns ${library} but does not import it`,
      );
    }
  });
});

describe('the README', () => {
  const text = read('README.md');

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const named = [...text.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:-]+)/g)].map(([, name]) => name);
    assert.ok(named.includes('start') && named.includes('test'), 'the README must say npm start and npm test');
    for (const name of named)
      assert.ok(name in scripts, `the README says npm run ${name}, but package.json has no such script`);
  });

  it('names only options that tgospa eval or tgospa tune knows', async () => {
    const { evalHelp } = await import('../src/eval-options.js');
    const { tuneHelp } = await import('../src/tune-options.js');
    const known = new Set((evalHelp() + tuneHelp()).match(/--[\w-]+/g));
    const named = [...text.matchAll(/--[a-z][\w-]+/g)].map(([option]) => option);
    assert.ok(named.length > 0);
    for (const option of named)
      assert.ok(known.has(option), `the README names ${option}, which neither tgospa eval nor tgospa tune knows`);
  });

  it('shows a program for the library that runs', () => {
    const [, program] = text.match(/```js\n([\s\S]*?)```/) ?? assert.fail('the README has no program');
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /switches: 1/);
  });

  it('is linked with files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, file]) => file);
    for (const file of links)
      assert.doesNotThrow(() => read(file), `the README links to ${file}, which does not exist`);
  });

  it('lists every source file in src/README.md', () => {
    const map = read('src/README.md');
    for (const file of sources.filter((one) => one.startsWith('src/')))
      assert.ok(map.includes(`\`${file.replace('src/', '')}\``), `src/README.md does not mention ${file}`);
  });
});
