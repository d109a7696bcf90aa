#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * Starts the command line. `eval` and `tune` come from the bundle of src/build.ts, unless the compiler has run since it
 * was made; everything else from the modules themselves. Both are the same code, and never mixed.
 */

import { statSync } from 'node:fs';

const BUNDLED = ['eval', 'tune'];

if (BUNDLED.includes(process.argv[2])) {
  optimizeLater();
  // since Node 22
  (process.getBuiltinModule('node:module') as { enableCompileCache?: () => void }).enableCompileCache?.();
  await import(isCurrent() ? '../bundle/command-line.js' : './command-line.js');
} else await import('./command-line.js');

/**
 * A command lives for seconds: code that the engine optimizes before it has seen all shapes of objects is thrown away
 * and optimized again, which was half of the processor time of a study.
 */
function optimizeLater(): void {
  const olderEngine = Number.parseInt(process.versions.node, 10) < 22;
  process
    .getBuiltinModule('node:v8')
    .setFlagsFromString(olderEngine ? '--interrupt-budget=600000' : '--invocation-count-for-turbofan=20000');
}

function isCurrent(): boolean {
  // somebody wants to see the modules at work: an inspector, a tracer
  if (process.env.NODE_OPTIONS?.includes('--import')) return false;
  const timeOf = (file: string) =>
    statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  const bundle = timeOf('../bundle/command-line.js');
  // an installed package has no record of the compiler
  return bundle > timeOf('../.tsbuildinfo');
}
