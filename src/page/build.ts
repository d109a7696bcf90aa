/**
 * Builds the live page: src/page, bundled and minified into dist/page, each file also as brotli and gzip. Run by
 * `npm run build`; the server only reads what is there. This file owns esbuild, which is not needed at run time.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const source = join(root, 'src/page');
const out = join(root, 'dist/page');

const COMMON: BuildOptions = {
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

/** Bundles one entry; resolves to the name of the output file. */
async function bundle(entry: string, options: BuildOptions = {}): Promise<string> {
  const { metafile } = await build({ ...COMMON, ...options, entryPoints: [join(source, entry)] });
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
