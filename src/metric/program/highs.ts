/**
 * HiGHS (WebAssembly): loading it, talking to it, and what to do when it fails. Only this file knows `highs`; the rest
 * of the kernel runs without it.
 */

import type { Highs, RawModelApi, Solution } from 'highs';

export type { Basis, BasisInput, Highs, ModelData, RawModelApi, Solution, SparseMatrix } from 'highs';

/** Feasibility and optimality, absolute. */
export const TOLERANCE = 1e-10;
export const NO_LIMIT = 2 ** 31 - 1;
const MODEL_STATUS_OPTIMAL = 7;
const MODEL_STATUS_ITERATION_LIMIT = 14;
const MODEL_STATUS_SOLUTION_LIMIT = 16;

/** Loads HiGHS. */
export async function loadHighs(): Promise<Highs> {
  try {
    // the types describe the CommonJS build, but import() yields the module build
    const { default: load } = (await import('highs')) as unknown as { default: () => Promise<Highs> };
    return await load();
  } catch (error) {
    throw failure('HiGHS did not load', error);
  }
}

/** The part of WebAssembly used here; the project's types have no browser library. */
interface WasmCompiler {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => object;
}

/**
 * What the loader looks up again and again: as arguments they are local to it, for globals of a context of its own are
 * slow.
 */
const GLOBALS = [
  ...[
    'Array',
    'ArrayBuffer',
    'BigInt',
    'Boolean',
    'Error',
    'Infinity',
    'JSON',
    'Map',
    'Math',
    'NaN',
    'Number',
    'Object',
  ],
  ...['Promise', 'RangeError', 'RegExp', 'Set', 'String', 'Symbol', 'TypeError', 'WeakMap', 'WeakSet', 'isNaN'],
  ...['Int8Array', 'Uint8Array', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array'],
  ...['Float64Array', 'BigInt64Array', 'BigUint64Array', 'DataView', 'WebAssembly', 'performance', 'TextDecoder'],
];

export function canLoadSync(): boolean {
  return typeof process !== 'undefined' && typeof process.getBuiltinModule === 'function';
}

/**
 * Loads HiGHS without awaiting, in Node only. Its loader is an async function that, given an instance, waits for
 * nothing but microtasks; a context with its own microtask queue runs them before the script returns.
 */
export function loadHighsSync(): Highs {
  if (!canLoadSync())
    throw new Error('simplex: HiGHS loads synchronously only in Node 20.16 or later; await loadSimplex() instead');
  const { createRequire } = process.getBuiltinModule('node:module');
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const vm = process.getBuiltinModule('node:vm');
  const { WebAssembly } = globalThis as unknown as { WebAssembly: WasmCompiler };
  const require = createRequire(import.meta.url);
  const file = require.resolve('highs');
  const wasm = new WebAssembly.Module(readFileSync(require.resolve('highs/runtime')));
  const silent = { log() {}, warn() {}, error() {} };
  const scope = {
    module: { exports: {} },
    exports: {},
    require,
    __filename: file,
    __dirname: file.replace(/[^\\/]*$/, ''),
    process: { versions: process.versions, argv: [], on() {} },
    console: silent,
    performance,
    TextDecoder,
    WebAssembly,
    options: {
      instantiateWasm(imports: object, done: (instance: object) => void) {
        done(new WebAssembly.Instance(wasm, imports));
      },
    },
    outcome: { highs: undefined as Highs | undefined, error: undefined as unknown },
  };
  const names = GLOBALS.join();
  const source = `(function (${names}) { ${readFileSync(file, 'utf8')}
;module.exports(options).then((highs) => { outcome.highs = highs; }, (error) => { outcome.error = error; }); })(${names});`;
  vm.runInContext(source, vm.createContext(scope, { microtaskMode: 'afterEvaluate' }), { filename: file });
  if (!scope.outcome.highs) throw failure('HiGHS did not load synchronously', scope.outcome.error);
  return scope.outcome.highs;
}

/**
 * The HiGHS in use. An aborted WebAssembly instance keeps the memory it held, so it is replaced where that can be done
 * at once.
 */
export interface Runtime {
  highs: Highs;
}

/** Turns whatever HiGHS threw into one short error, and replaces HiGHS when it has aborted. */
export function recover(runtime: Runtime, thrown: unknown): Error {
  if ((thrown as Error)?.name !== 'RuntimeError') return shortError(thrown);
  const megabytes = Math.round(runtime.highs.memoryBytes / 2 ** 20);
  try {
    runtime.highs = loadHighsSync();
  } catch {}
  return failure(`HiGHS aborted with ${megabytes} MB in use, of at most 2048; the problem is too large for it`);
}

/** One short line, whatever was thrown: WebAssembly throws numbers, traps and strings as well as errors. */
export function failure(what: string, cause?: unknown): Error {
  const detail = cause instanceof Error || (cause as Error)?.message ? (cause as Error).message : cause;
  const line = detail === undefined ? '' : `: ${String(detail).split('\n')[0].slice(0, 120)}`;
  return new Error(`simplex: ${what}${line}`);
}

/** Runs `operation` on a fresh, silent model and frees it; anything thrown becomes one short error. */
export function withModel<Result>(runtime: Runtime, operation: (model: RawModelApi) => Result): Result {
  const model = createModel(runtime.highs);
  try {
    return operation(model);
  } catch (error) {
    throw recover(runtime, error);
  } finally {
    discard(model);
  }
}

export function createModel(highs: Highs): RawModelApi {
  try {
    const model = highs.raw.createModel();
    setOptions(model, {
      output_flag: false,
      primal_feasibility_tolerance: TOLERANCE,
      dual_feasibility_tolerance: TOLERANCE,
    });
    return model;
  } catch (error) {
    throw failure('no model', error);
  }
}

/** A model whose WebAssembly has trapped may trap again when freed. */
export function discard(model: RawModelApi): void {
  try {
    model.dispose();
  } catch {}
}

function shortError(error: unknown): Error {
  return error instanceof Error && error.message.startsWith('simplex: ') ? error : failure('HiGHS failed', error);
}

export function setOptions(model: RawModelApi, options: Record<string, string | number | boolean>): void {
  for (const [name, value] of Object.entries(options)) check(model.setOptionValue(name, value), `bad option ${name}`);
}

export function check(result: { status: number }, what: string): void {
  if (result.status < 0) throw failure(what);
}

/** Whether it was solved, or stopped by a limit. */
export function statusOf(model: RawModelApi): 'optimal' | 'limit' {
  const status: number = model.getModelStatus();
  if (status === MODEL_STATUS_OPTIMAL) return 'optimal';
  if (status === MODEL_STATUS_ITERATION_LIMIT || status === MODEL_STATUS_SOLUTION_LIMIT) return 'limit';
  throw failure(`HiGHS ended with model status ${status}, not with an optimum`);
}

export function iterationsOf(model: RawModelApi): number {
  return Number(model.getInfoValue('simplex_iteration_count').value ?? 0);
}

export function solutionOf(model: RawModelApi): Solution {
  const { value } = model.getSolution();
  if (!value) throw failure('HiGHS returned no solution');
  return value;
}
