/**
 * What `npm run build` makes of the compiled files. The live page: src/page, bundled and minified into dist/page, each
 * file also as brotli and gzip; coastlines (Natural Earth, 1:50 million, in the public domain, as world-atlas packs
 * them) are a file of their own, which only maps ask for. The command line, twice: in dist/bundle `eval` and `tune` as
 * one script, with the code that the engine makes of it, because 137 modules take longer to load and to compile than a
 * short clip to judge; in dist/program the whole program with its packages, because a start of the evaluator loads 800
 * modules otherwise, and each worker most of them again. main.ts chooses. This file owns esbuild, needed to build only.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';
import { BUNDLE, codeFile, FLAGS, PROGRAM } from './bundle.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = join(root, 'src/page');
const out = join(root, 'dist/page');
const bundleFolder = dirname(BUNDLE);
const programFolder = dirname(fileURLToPath(PROGRAM));
const moduleOf = (file: string): string => join(root, 'dist/src', file);
/** They are started by the name of their file, beside whoever starts them. */
const THREADS = ['commands/eval/study/study-thread.js', 'commands/console/progress-thread.js'].map(moduleOf);

const PAGE: BuildOptions = {
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome109', 'firefox115', 'safari16.4'],
  outdir: out,
  entryNames: '[name]-[hash]',
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
};

/** Bundles one entry of the page; resolves to the name of the output file. */
async function bundle(entry: string, options: BuildOptions = {}): Promise<string> {
  const { metafile } = await build({ ...PAGE, ...options, entryPoints: [join(source, entry)] });
  const [file] = Object.keys(metafile!.outputs);
  return basename(file);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
// what the frontier cannot do is shown with a gap: HiGHS is not sent to the page
const worker = await bundle('data/what-if-worker.ts', { external: ['highs'] });
const define = { WORKER_FILE: JSON.stringify(`/${worker}`), COAST_FILE: JSON.stringify(writeCoast()) };
const script = await bundle('main.ts', { define });
const style = await bundle('style.css');
const html = readFileSync(join(source, 'index.html'), 'utf8')
  .replace('main.ts', script)
  .replace('style.css', style)
  .replaceAll(/>\s+</g, '><');
writeFileSync(join(out, 'index.html'), html);
for (const name of readdirSync(out)) {
  const body = readFileSync(join(out, name));
  writeFileSync(join(out, `${name}.gz`), gzipSync(body, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  writeFileSync(join(out, `${name}.br`), brotliCompressSync(body, { params }));
}

rmSync(bundleFolder, { recursive: true, force: true });
await build({
  entryPoints: [moduleOf('command-line.js'), ...THREADS],
  outdir: bundleFolder,
  entryNames: '[name]',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  packages: 'external',
  define: { 'import.meta.url': 'scriptUrl' },
  banner: { js: 'const scriptUrl=require("node:url").pathToFileURL(__filename).href;' },
  // main.ts never asks the bundle for these
  external: ['serve', 'demo', 'replay', 'data-folder'].map((name) => `./commands/${name}.js`),
  // names stay, for stack traces
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
});
rmSync(programFolder, { recursive: true, force: true });
const { metafile: program } = await build({
  entryPoints: [
    { in: moduleOf('command-line.js'), out: 'program' },
    ...[moduleOf('cores/worker.js'), ...THREADS].map((file) => ({ in: file, out: basename(file, '.js') })),
  ],
  outdir: programFolder,
  chunkNames: '[name]-[hash]',
  bundle: true,
  // what both share stands once, and what nobody asks for (MQTT, NATS) is not loaded
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // one brings a native addon, the other a file of WebAssembly
  external: ['classic-level', 'highs'],
  // packages of the older kind ask for what Node has
  banner: { js: 'import{createRequire as requireFrom}from"node:module";const require=requireFrom(import.meta.url);' },
  // names stay, for stack traces
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  logLevel: 'warning',
});
writeLicences(Object.keys(program.inputs));
// v8: the engine that the code is made for
writeFileSync(join(bundleFolder, 'package.json'), `${JSON.stringify({ type: 'commonjs', v8: process.versions.v8 })}\n`);
for (const flags of FLAGS) compile(flags);

/** Keeps the licences of the packages whose code is in the bundle beside it. */
function writeLicences(files: string[]): void {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const own = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const text = own.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  writeFileSync(join(programFolder, 'LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** What is needed of a TopoJSON file: lines of steps, in units of its own. */
interface Topology {
  arcs: Array<Array<[number, number]>>;
  transform: { scale: [number, number]; translate: [number, number] };
}

/** Writes the coastlines into dist/page; gives their address, or nothing where world-atlas is not installed. */
function writeCoast(): string {
  const atlas = join(root, 'node_modules/world-atlas/land-50m.json');
  if (!existsSync(atlas)) {
    console.error('maps of the page have no coastline: world-atlas is not installed; run npm ci');
    return '';
  }
  const text = JSON.stringify(coastOf(JSON.parse(readFileSync(atlas, 'utf8'))));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
  writeFileSync(join(out, `coastline-${hash}.json`), text);
  return `/coastline-${hash}.json`;
}

/** Lines of longitude and latitude in hundredths of a degree, each but the first as the step from the one before. */
function coastOf({ arcs, transform: { scale, translate } }: Topology): number[][] {
  const lines: number[][] = [];
  for (const arc of arcs) {
    let [x, y] = [0, 0];
    let line: number[] = [];
    let last: [number, number] | null = null;
    for (const [dx, dy] of arc) {
      x += dx;
      y += dy;
      const place: [number, number] = [
        Math.round((x * scale[0] + translate[0]) * 100),
        Math.round((y * scale[1] + translate[1]) * 100),
      ];
      if (last && last[0] === place[0] && last[1] === place[1]) continue;
      // where a polygon was cut there is no coast: at the date line and at the pole
      if (last && isCut(last, place)) {
        if (line.length > 2) lines.push(line);
        line = [];
      }
      line.push(...(line.length === 0 || !last ? place : [place[0] - last[0], place[1] - last[1]]));
      last = place;
    }
    if (line.length > 2) lines.push(line);
  }
  return lines;
}

function isCut(a: [number, number], b: [number, number]): boolean {
  return (Math.abs(a[0]) >= 17_999 && Math.abs(b[0]) >= 17_999) || (a[1] <= -8_990 && b[1] <= -8_990);
}

/** Keeps the code of what runs when a short clip is judged, made by a process with these flags. */
function compile(flags: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'tgospa-build-'));
  const files = ['1,1,1', '1,-1,-1,-1'].map((columns, n) => {
    const file = join(folder, `${n}.txt`);
    const rows = Array.from(
      { length: 90 },
      (_, k) => `${Math.floor(k / 3) + 1},${k % 3},${99 * (k % 3) + n / 7},10.5,20,40,${columns}`,
    );
    writeFileSync(file, rows.join('\n'));
    return file;
  });
  const args = ['eval', '--reference', files[0], '--tracker', files[1], '--scores'];
  const script = `
    process.argv.splice(1, Infinity, 'tgospa', ...${JSON.stringify(args)});
    const { compiled, run } = await import(${JSON.stringify(new URL('bundle.js', import.meta.url))});
    // code is made for the flags of its making, which must stay those of the start
    process.getBuiltinModule('node:v8').setFlagsFromString = () => {};
    const script = compiled();
    run(script);
    const { writeFileSync } = await import('node:fs');
    process.on('exit', () => writeFileSync(${JSON.stringify(codeFile(flags))}, script.createCachedData()));`;
  try {
    execFileSync(process.execPath, [...flags.split(' ').filter(Boolean), '--input-type=module', '--eval', script], {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
