/**
 * What `npm run build` makes of the compiled files. The live page: src/page, bundled and minified into dist/page, each
 * file also as brotli and gzip. The commands about files: command-line.ts with `eval` and `tune` as a few files in
 * dist/bundle, because 137 modules take longer to load than a short clip to judge; main.ts chooses between both.
 * This file owns esbuild, which is not needed at run time.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = join(root, 'src/page');
const out = join(root, 'dist/page');
const bundleFolder = join(root, 'dist/bundle');

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
const worker = await bundle('what-if-worker.ts', { external: ['highs'] });
const script = await bundle('main.ts', { define: { WORKER_FILE: JSON.stringify(`/${worker}`) } });
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
  // threads are started by the name of their file, beside whoever starts them
  entryPoints: ['command-line.js', 'commands/eval/study-thread.js', 'commands/console/progress-thread.js'].map((file) =>
    join(root, 'dist/src', file),
  ),
  outdir: bundleFolder,
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  // main.ts never asks the bundle for these
  external: ['serve', 'demo', 'replay', 'data-folder'].map((name) => `./commands/${name}.js`),
  // names stay, for stack traces
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
});
