#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * Starts the command line from a bundle of src/build.ts, unless the compiler has run since that was made: `eval` and
 * `tune` from theirs, which comes with its compiled code, everything else from that of the whole program. The modules
 * are the same code, and never mixed with it.
 */

import { BUNDLE, isCurrent, PROGRAM, runBundle } from './bundle.js';

const ABOUT_FILES = ['eval', 'tune'];
// somebody wants to see the modules at work: an inspector, a tracer; TGOSPA_BUNDLE=1 says that it does without
const isWatched = Boolean(process.env.NODE_OPTIONS?.includes('--import')) && process.env.TGOSPA_BUNDLE !== '1';
const isAboutFiles = ABOUT_FILES.includes(process.argv[2]);

// since Node 22; nobody waits for the others long enough to write into a cache
if (isAboutFiles)
  (process.getBuiltinModule('node:module') as { enableCompileCache?: () => void }).enableCompileCache?.();
if (isWatched || !isCurrent(isAboutFiles ? BUNDLE : PROGRAM)) await import('./command-line.js');
else if (isAboutFiles) runBundle();
else await import(PROGRAM.href);
