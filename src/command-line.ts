/**
 * The command line: one table of commands, and what the outcome of each means for the exit code.
 * 0 done, 1 the input or the system is at fault, 2 the command line is. Our own bugs keep their stack trace.
 */

import { readFileSync } from 'node:fs';
import { type Console, processConsole } from './commands/console/console.js';
import { nearest, UsageError } from './commands/console/options.js';
import { StartError } from './commands/start-error.js';
import { InputError } from './metric/input-error.js';

interface Command {
  summary: string;
  /** how it is called at first, for the help */
  example?: string;
  /** resolves with the exit code, when it is not 0 */
  run(args: string[], console: Console): Promise<unknown>;
}

/** Each is loaded when it is asked for: the others need no sockets and no store, or no files and no tables. */
const COMMANDS: Record<string, Command> = {
  eval: {
    summary: 'compare trackers with a reference, from files',
    example: 'tgospa eval --reference gt.txt --tracker a.txt --tracker b.txt',
    run: async (args, console) => (await import('./commands/eval/eval.js')).runEval(args, console),
  },
  tune: {
    summary: 'choose the parameters of a profile from sample data',
    example: 'tgospa tune --reference gt.txt --tracker a.txt --html report.html',
    run: async (args, console) => (await import('./commands/tune/tune.js')).runTune(args, console),
  },
  serve: {
    summary: 'evaluate trackers live: WebSocket in, Prometheus out',
    example: 'tgospa serve --config tgospa.yaml',
    run: async (args, console) => (await import('./commands/serve.js')).runServe(args, console),
  },
  demo: {
    summary: 'start the evaluator with a simulated scene and two trackers',
    run: async (args, console) => (await import('./commands/demo.js')).runDemo(args, console),
  },
  replay: {
    summary: 'send recorded files to a running evaluator',
    example: 'tgospa replay --reference gt.txt --tracker a.txt',
    run: async (args, console) => (await import('./commands/replay.js')).runReplay(args, console),
  },
  rejudge: {
    summary: 're-evaluate what an evaluator has stored: late ground truth, other settings',
    example: 'tgospa rejudge --stream gate-7 --reference late.txt',
    run: async (args, console) => (await import('./commands/rejudge/rejudge.js')).runRejudge(args, console),
  },
  cluster: {
    summary: 'show the status of a cluster, or estimate the resources it needs',
    run: async (args, console) => (await import('./commands/cluster/cluster.js')).runCluster(args, console),
  },
  check: {
    summary: 'check a data folder for damage',
    run: async (args, console) => (await import('./commands/data-folder.js')).runCheck(args, console),
  },
  repair: {
    summary: 'rebuild a damaged data folder from what is intact',
    run: async (args, console) => (await import('./commands/data-folder.js')).runRepair(args, console),
  },
};

/** Mistakes of the same kind that are listed. */
const READ_MAX = 1000;
const ALIKE_SHOWN_MAX = 3;
/** Mistakes that are listed at all. */
const SHOWN_MAX = 20;

const { stdout, stderr } = process;

// whoever reads us may stop reading (`tgospa eval ... | head`): that is no error
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main([name, ...args]: string[]): Promise<number> {
  if (name === 'help' && args.length > 0) return main([...args, '--help']);
  if (name === undefined || ['--help', '-h', 'help'].includes(name)) return print(help());
  if (['--version', '-V', '-v'].includes(name)) return print(version());
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) return complain(2, `tgospa: unknown command "${name}"${remedyFor(name)}\nTry: tgospa --help`);
  try {
    // -h is understood everywhere
    const words = args.map((arg) => (arg === '-h' ? '--help' : arg));
    const code = await command.run(words, processConsole());
    return typeof code === 'number' ? code : 0;
  } catch (error) {
    return explain(name, error);
  }
}

/** A file instead of a command is the most natural mistake of all. */
function remedyFor(name: string): string {
  const near = nearest(name, Object.keys(COMMANDS));
  if (near) return `; did you mean ${near}?`;
  return name.startsWith('-') || /[./\\]/.test(name)
    ? `; a command comes first, e.g. ${COMMANDS.eval.example}`
    : `; there are ${Object.keys(COMMANDS).join(', ')}`;
}

function explain(name: string, error: unknown): number {
  if (error instanceof UsageError) return complain(2, `${prefixed(name, error)}\nTry: tgospa ${name} --help`);
  if (error instanceof InputError) return complain(1, prefixed(name, withoutRepeats(error)));
  if (error instanceof StartError) return complain(1, prefixed(name, error));
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (code && syscall) return complain(1, `tgospa ${name}: cannot ${syscall} ${path}: ${message}`);
  throw error;
}

/** A file in the wrong format has the same mistake on every line: a few of each kind are enough. */
function withoutRepeats(error: InputError): Error {
  const seen = new Map<string, number>();
  const kept = error.problems.filter(({ message }) => {
    seen.set(message, (seen.get(message) ?? 0) + 1);
    return seen.get(message)! <= ALIKE_SHOWN_MAX;
  });
  const hidden = error.problems.length - kept.length;
  if (hidden === 0) return error;
  const lines = new InputError(kept).message.split('\n').slice(1, 1 + SHOWN_MAX);
  // whoever reads a file stops after so many
  const atLeast = error.problems.length >= READ_MAX ? 'at least ' : '';
  const more = `  and ${atLeast}${error.problems.length - lines.length} more like these; if the file is in another format, say --format (tgospa eval --formats lists them)`;
  return new Error([`${atLeast}${error.problems.length} problems`, ...lines, more].join('\n'));
}

function prefixed(name: string, error: Error): string {
  return error.message
    .split('\n')
    .map((line) => `tgospa ${name}: ${line}`)
    .join('\n');
}

function help(): string {
  const entries = Object.entries(COMMANDS);
  return [
    'tgospa: how far is a multi-object tracker from the truth, and why? One exact number, the TGOSPA distance, and its split',
    'into localization, missed, false and switch; live or from files.',
    '',
    'Usage: tgospa COMMAND [options]',
    '',
    ...entries.map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`),
    '',
    'Start here:',
    '  tgospa demo            everything at work, with a page in the browser, within a minute',
    '  tgospa eval --demo     what a verdict on trackers looks like, in the terminal',
    '',
    'Then, with your own data:',
    ...entries.flatMap(([, { example }]) => (example ? [`  ${example}`] : [])),
    '',
    'tgospa COMMAND --help lists the options of a command.',
  ].join('\n');
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

function print(text: string): number {
  stdout.write(`${text}\n`);
  return 0;
}

function complain(exitCode: number, text: string): number {
  stderr.write(`${text}\n`);
  return exitCode;
}
