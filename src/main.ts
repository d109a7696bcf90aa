#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * Starts the command line. `eval` and `tune` come from the bundle of src/build.ts, unless the compiler has run since it
 * was made; everything else from the modules themselves. Both are the same code, and never mixed.
 */

import { isCurrent, runBundle } from './bundle.js';

const BUNDLED = ['eval', 'tune'];
// somebody wants to see the modules at work: an inspector, a tracer
const isWatched = process.env.NODE_OPTIONS?.includes('--import') ?? false;

if (BUNDLED.includes(process.argv[2])) {
  // since Node 22
  (process.getBuiltinModule('node:module') as { enableCompileCache?: () => void }).enableCompileCache?.();
  if (isCurrent() && !isWatched) runBundle();
  else await import('./command-line.js');
} else await import('./command-line.js');
