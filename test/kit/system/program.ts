/**
 * A program in a process of its own, this one or another: started, watched by what it prints or answers, and ended by
 * its own process id. Nothing here waits for time to pass.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HERE, type Place } from './network.js';
import { until } from './system.js';

/** `tgospa` of this build. */
export const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
/** What its first line gives to Node: it runs here as it does where people start it. */
const NODE_FLAGS = readFileSync(MAIN, 'utf8').split('\n', 1)[0].split(' ').slice(3);

const OUTPUT_KEPT = 200_000;
const STOP_MS = 20_000;

/** Of the environment, programs under test get the path, what verifies their solves, and how many workers they have. */
const PASSED_ON = ['PATH', 'NODE_OPTIONS', 'TGOSPA_BUNDLE', 'TGOSPA_TEST_SOLVES', 'TGOSPA_TEST_WORKERS'];
const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));

interface Surroundings {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** loaded before anything else */
  preload?: string;
  /** where it runs, if not here */
  place?: Place;
}

export class Program {
  /** what it has printed, on both ways */
  output = '';
  readonly child: ChildProcess;
  /** its exit code, once it has ended and all of its output is here */
  readonly closed: Promise<number | null>;
  #isClosed = false;
  #waiting: Array<() => void> = [];

  constructor(command: string, args: string[], { cwd, env, place = HERE }: Surroundings = {}) {
    this.child = spawn(...place.command(command, args), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout!, this.child.stderr!])
      stream.on('data', (chunk) => {
        this.output = (this.output + chunk).slice(-OUTPUT_KEPT);
        this.#wake();
      });
    this.closed = once(this.child, 'close').then(([code]) => {
      this.#isClosed = true;
      this.#wake();
      return code;
    });
  }

  /** `tgospa` with these words. */
  static tgospa(args: string[], { cwd, env, preload, place }: Surroundings = {}): Program {
    const own = { ...bareEnvironment(), ...env };
    if (preload !== undefined) {
      own.NODE_OPTIONS = `${own.NODE_OPTIONS ?? ''} --import=${preload}`;
      // what a file changes are the modules; a text changes what all of them use
      if (!preload.startsWith('data:')) own.TGOSPA_BUNDLE = '0';
    }
    return new Program(process.execPath, [...NODE_FLAGS, MAIN, ...args], { cwd, env: own, place });
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Resolves with the match once the output has it. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      if (this.#isClosed) throw new Error(`it ended before it showed ${pattern}: ${this.output}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves once `url` answers 200. */
  async ready(url: string): Promise<void> {
    await until(`${url} is ready`, async () => {
      if (this.ended) throw new Error(`the program for ${url} ended: ${this.output}`);
      return fetch(url).then(
        (answer) => answer.ok,
        () => false,
      );
    });
  }

  /** Sends it a signal and resolves with its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.ended) this.child.kill(signal);
    return this.closed;
  }

  /** Ends it, whether it wants to or not. */
  async stop(): Promise<void> {
    const late = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
    await this.end('SIGTERM');
    clearTimeout(late);
  }
}

/** of the kernel's clock, on every Linux that Node runs on */
const TICK_MS = 10;

/** Milliseconds of processor time of all threads of a process so far, as the kernel counts it. */
export const processorMs = (pid: number): number => readTicks(`/proc/${pid}/stat`) * TICK_MS;

/** Milliseconds of the thread that runs its event loop. */
export const mainThreadMs = (pid: number): number => readTicks(`/proc/${pid}/task/${pid}/stat`) * TICK_MS;

/** User and system time; the name of a program may have spaces, and ends with the last parenthesis. */
function readTicks(path: string): number {
  const [user, system] = readFileSync(path, 'utf8').split(') ').at(-1)!.split(' ').slice(11, 13).map(Number);
  return user + system;
}

/** The system's Python, which runs the client of adapters/python. */
export const PYTHON = '/usr/bin/python3';
export const PYTHON_FOLDER = fileURLToPath(new URL('../../../../adapters/python/', import.meta.url));

export const hasWebsockets = (): boolean =>
  spawnSync(PYTHON, ['-c', 'import websockets'], { stdio: 'ignore' }).status === 0;

export interface PythonRun {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs Python in the folder of the tests; it does not block, since the server may live in this process. */
export function runPython(args: string[], url: string, input = ''): Promise<PythonRun> {
  const env = { ...process.env, TGOSPA_URL: url, PYTHONPATH: PYTHON_FOLDER, PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn(PYTHON, args, { cwd: join(PYTHON_FOLDER, 'tests'), env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.end(input);
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stdout, stderr })));
}
