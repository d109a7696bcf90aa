/**
 * What src/build.ts makes of the command line: for the commands about files one script with its code compiled
 * beforehand, for the whole program few modules that hold all they need. The engine takes the compiled code only when
 * its own version, its flags and the length of the script are those it was made with; otherwise the script is compiled
 * as usual, so the result never depends on it.
 */

import type { Script } from 'node:vm';

// by import they are wrapped, which loads streams and promises of files that nobody needs
const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
const { createRequire } = process.getBuiltinModule('node:module');
const { dirname } = process.getBuiltinModule('node:path');
const { fileURLToPath } = process.getBuiltinModule('node:url');
const vm = process.getBuiltinModule('node:vm');

export const BUNDLE = fileURLToPath(new URL('../bundle/command-line.js', import.meta.url));
/** The whole program: its modules and those of the packages, which are 800 files, in few. */
export const PROGRAM = new URL('../program/program.js', import.meta.url);
/** Flags that main.ts is started with: as a script, and by its name. The engine makes other code for each. */
export const FLAGS = ['', '--max-semi-space-size=64'];
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];

/** Whether a bundle is there, and the compiler has not run since it was made. */
export function isCurrent(bundle: string | URL): boolean {
  const timeOf = (file: string | URL) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  // an installed package has no record of the compiler
  return timeOf(bundle) > timeOf(new URL('../.tsbuildinfo', import.meta.url));
}

/** Where the code is that was made under such flags. */
export const codeFile = (flags: string): string => BUNDLE.replace(/\.js$/, `${FLAGS.indexOf(flags)}.code`);

/** Runs the bundle from its compiled code, or as any other script. */
export function runBundle(): void {
  const file = codeFile(process.execArgv.join(' '));
  const script = statSync(file, { throwIfNoEntry: false }) && compiled(readFileSync(file));
  if (script && !script.cachedDataRejected) run(script);
  else createRequire(BUNDLE)(BUNDLE);
}

/** The bundle as a script that is a function of what any module of its kind is given. */
export function compiled(code?: Buffer): Script {
  const source = `(function(${PARAMETERS.join()}){${readFileSync(BUNDLE, 'utf8')}\n})`;
  return new vm.Script(source, {
    filename: BUNDLE,
    cachedData: code,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

export function run(script: Script): void {
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(BUNDLE), module, BUNDLE, dirname(BUNDLE));
}
