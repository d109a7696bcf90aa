#!/usr/bin/env -S node --max-semi-space-size=32
/**
 * The command line: one table of commands, and what the outcome of each means for the exit code.
 * 0 done, 1 the input or the system is at fault, 2 the command line is. Our own bugs keep their stack trace.
 */

import { readFileSync } from 'node:fs';
import { type Console, runEval } from './eval.js';
import { InputError } from './index.js';
import { UsageError } from './options.js';

interface Command {
  summary: string;
  run(args: string[], console: Console): Promise<void>;
}

const COMMANDS: Record<string, Command> = {
  eval: { summary: 'compare trackers with a reference, from files', run: runEval },
  tune: {
    summary: 'choose the parameters of a profile from sample data',
    run: async (args, console) => (await import('./tune.js')).runTune(args, console),
  },
  serve: {
    summary: 'evaluate trackers live: WebSocket in, Prometheus out',
    // loaded when it is asked for: the other commands need no sockets and no store
    run: async (args, console) => (await import('./serve.js')).run(args, console),
  },
  demo: {
    summary: 'start the evaluator with a simulated scene and two trackers',
    run: async (args, console) => (await import('./demo.js')).run(args, console),
  },
  replay: {
    summary: 'send recorded files to a running evaluator',
    run: async (args, console) => (await import('./replay.js')).run(args, console),
  },
};

const { stdout, stderr } = process;

// whoever reads us may stop reading (`tgospa eval ... | head`): that is no error
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await main(process.argv.slice(2));

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === 'help') return say(help());
  if (name === '--version') return say(version());
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) return complain(2, `tgospa: unknown command "${name}"\n${help()}`);
  try {
    await command.run(args, consoleOf());
    return 0;
  } catch (error) {
    return explain(name, error);
  }
}

function consoleOf(): Console {
  const columns = stdout.isTTY ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
  const colors = stdout.isTTY === true && stdout.hasColors(256);
  return { out: stdout, err: stderr, screen: { columns, colors }, progress: stderr.isTTY === true };
}

function explain(name: string, error: unknown): number {
  if (error instanceof UsageError) return complain(2, `${prefixed(name, error)}\nTry: tgospa ${name} --help`);
  if (error instanceof InputError) return complain(1, prefixed(name, error));
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (code && syscall) return complain(1, `tgospa ${name}: cannot ${syscall} ${path}: ${message}`);
  throw error;
}

function prefixed(name: string, error: Error): string {
  return error.message
    .split('\n')
    .map((line) => `tgospa ${name}: ${line}`)
    .join('\n');
}

function help(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`);
  return [
    'tgospa: live evaluation of multi-object trackers with the TGOSPA metric.',
    '',
    'Usage: tgospa COMMAND [options]',
    '',
    ...commands,
    '',
    'tgospa COMMAND --help explains a command; tgospa demo shows everything at work.',
  ].join('\n');
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

function say(text: string): number {
  stdout.write(`${text}\n`);
  return 0;
}

function complain(exitCode: number, text: string): number {
  stderr.write(`${text}\n`);
  return exitCode;
}
