/**
 * Arrows point one way. The table of folders in src/README.md is the law: it names every folder and what it may import,
 * types included, and this test holds the tree to it, with a sentence.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder that ends with a slash, with what is below it unless that has a row of its own, or a single file. */
interface Layer {
  path: string;
  imports: string[];
  /** may it use what comes with Node? */
  node: boolean;
}

/** Each outside library has one owner: a file, or a folder when it ends with a slash, with the file beside it. */
const OWNERS: Record<string, string> = {
  '@grafana/grafana-foundation-sdk': 'dashboards/grafana/grafana.ts',
  '@nats-io/jetstream': 'src/cluster/nats/',
  '@nats-io/transport-node': 'src/cluster/nats/',
  'classic-level': 'src/store/database.ts',
  esbuild: 'src/build.ts',
  highs: 'src/metric/program/highs.ts',
  mqtt: 'src/sources/mqtt.ts',
  'prom-client': 'src/telemetry/exposition.ts',
  rxjs: 'src/live/pipeline.ts',
  uplot: 'src/page/plots.ts',
  ws: 'src/edge/sockets.ts',
  yaml: 'src/config/',
  zod: 'src/config/',
};

const root = fileURLToPath(new URL('../../', import.meta.url));
const programsIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`);
const sources = ['src', 'adapters', 'dashboards'].flatMap(programsIn);
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const ROW = /^\| `([^`]+)` \| (.+?) \| ?(.*?) ?\|$/gm;

/** Paths in the table are as seen from src. */
const inRoot = (path: string) => normalize(join('src', path)).replaceAll('\\', '/');

const layers: Layer[] = [...read('src/README.md').matchAll(ROW)].map(([, path, text, imports]) => ({
  path: inRoot(path),
  imports: imports === '' ? [] : imports.split(', ').map((one) => inRoot(one.endsWith('.ts') ? one : `${one}/`)),
  node: !text.includes('runs in a browser'),
}));

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

/** The row with the longest path that holds the file. */
function layerOf(file: string): Layer | undefined {
  const holders = layers.filter(({ path }) => (path.endsWith('/') ? file.startsWith(path) : file === path));
  return holders.sort((a, b) => b.path.length - a.path.length)[0];
}

function complaintOn(file: string, specifier: string): string | null {
  const layer = layerOf(file);
  if (!layer) return `${file} belongs to no folder of the table in src/README.md; give it a row`;
  if (specifier.startsWith('node:'))
    return layer.node ? null : `${file} imports ${specifier}, but ${layer.path} must run in a browser too`;
  if (!specifier.startsWith('.')) return outsideComplaint(file, specifier);
  const target = targetOf(file, specifier);
  const other = layerOf(target);
  if (other && (other === layer || layer.imports.includes(other.path))) return null;
  return `${file} imports ${target}, but ${layer.path} may import only ${['itself', ...layer.imports].join(', ')} (src/README.md)`;
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
  for (const specifier of importsOf(file).filter((one) => one.startsWith('.'))) {
    const cycle = cycleFrom(targetOf(file, specifier), [...path, file], finished);
    if (cycle) return cycle;
  }
  finished.add(file);
  return null;
}

describe('the layering', () => {
  it('has a row for every folder, and a folder for every row', () => {
    assert.ok(sources.length > 5, `only ${sources.length} source files found under ${root}`);
    const homeless = sources.filter((file) => !layerOf(file));
    assert.deepEqual(homeless, [], `these files belong to no folder of the table in src/README.md: ${homeless}`);
    for (const layer of layers) {
      assert.ok(
        sources.some((file) => layerOf(file) === layer),
        `src/README.md has a row for ${layer.path}, where nothing is`,
      );
      for (const one of layer.imports)
        assert.ok(
          layers.some(({ path }) => path === one),
          `the row of ${layer.path} names ${one}, which has no row`,
        );
    }
  });

  it('has no folder of more than 20 source files, but for formats, of which there are as many as there are', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `test/${file.replaceAll('\\', '/')}`);
    const sizes = new Map<string, number>();
    for (const file of [...sources, ...tests]) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
    const crowded = [...sizes].filter(([folder, size]) => size > 20 && folder !== 'adapters/formats');
    assert.deepEqual(crowded, [], 'give what belongs together a folder of its own, and a row in src/README.md');
  });

  it('allows nothing that nobody uses', () => {
    for (const layer of layers) {
      const used = new Set(
        sources
          .filter((file) => layerOf(file) === layer)
          .flatMap((file) =>
            importsOf(file)
              .filter((one) => one.startsWith('.'))
              .map((one) => layerOf(targetOf(file, one))?.path),
          ),
      );
      const unused = layer.imports.filter((one) => !used.has(one));
      assert.deepEqual(unused, [], `${layer.path} may import ${unused}, but does not; take it out of src/README.md`);
    }
  });

  it('is a list of layers: every folder imports only rows that do not import it', () => {
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      layers
        .find(({ path }) => path === from)!
        .imports.some((one) => one === to || (!seen.has(one) && reaches(one, to, seen.add(one))));
    for (const { path } of layers) assert.ok(!reaches(path, path), `${path} imports itself by way of others`);
  });

  it('lets imports point one way only, and each outside library have one owner', () => {
    const complaints = sources.flatMap((file) => importsOf(file).map((specifier) => complaintOn(file, specifier)));
    assert.ok(complaints.length > 10, 'hardly any import was found; the search for them must be broken');
    assert.deepEqual(
      complaints.filter((complaint) => complaint !== null),
      [],
    );
  });

  it('has no circles', () => {
    const finished = new Set<string>();
    for (const file of sources) {
      const cycle = cycleFrom(file, [], finished);
      assert.equal(cycle, null, `these files import each other in a circle: ${cycle?.join(' -> ')}`);
    }
  });

  it('would complain about a wrong import', () => {
    const kernel = 'src/metric/evaluate.ts';
    assert.match(
      String(complaintOn(kernel, '../wire/messages.js')),
      /src\/metric\/ may import only itself, src\/metric\/window\/, src\/metric\/frontier\/, src\/metric\/program\/ \(/,
    );
    assert.match(String(complaintOn(kernel, 'highs')), /belongs to src\/metric\/program\/highs.ts$/);
    assert.match(String(complaintOn(kernel, 'node:fs')), /must run in a browser too$/);
    assert.match(
      String(complaintOn('adapters/kit/xml.ts', '../../src/app.js')),
      /adapters\/kit\/ may import only itself, src\/metric\/, src\/wire\/ \(/,
    );
    assert.match(String(complaintOn('src/app.ts', 'left-pad')), /has no owner/);
    assert.match(String(complaintOn('src/elsewhere/new.ts', 'node:fs')), /give it a row$/);
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

/** Types that a file shows to others, with the files that have one of that name. */
function shownTypes(): Map<string, string[]> {
  const homes = new Map<string, string[]>();
  for (const file of sources)
    for (const [, name] of read(file).matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm))
      homes.set(name, [...(homes.get(name) ?? []), file]);
  return homes;
}

describe('words', () => {
  it('name one thing each: no two files export a type of the same name', () => {
    const homes = shownTypes();
    assert.ok(homes.size > 500, `${homes.size} types`);
    const twice = [...homes]
      .filter(([, files]) => files.length > 1)
      .map(([name, files]) => `${name}: ${files.join(', ')}`);
    assert.deepEqual(twice, [], 'name what each of them is, or write a shape that both mean once');
  });
});

describe('comments', () => {
  it('fit 120 columns, but for formulas and commands, which are indented', () => {
    const isWide = (line: string) => [...line].length > 120 && /^\s*(\/\/|\/\*|\* ? ?\S)/.test(line);
    const wide = [...sources, ...programsIn('test')].flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, n) => (isWide(line) ? [`${file}:${n + 1}`] : [])),
    );
    assert.deepEqual(wide, []);
  });
});
