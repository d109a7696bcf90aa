/**
 * What every command is given: where it writes, what the other end can show, and when it is asked to stop.
 * Invariant: standard output carries the result only; notes, warnings and progress go to standard error.
 */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { type Screen, screenOf } from './table.js';

/** Where a command writes, and what it may assume about the other end. */
export interface Console {
  out: Writable;
  err: Writable;
  screen: Screen;
  /** draw progress: standard error is a terminal */
  progress: boolean;
  /** what is written scrolls over a screen: standard output is a terminal */
  scrolls?: boolean;
}

/** The console of this process. */
export function processConsole(): Console {
  const { stdout, stderr, env } = process;
  const progress = stderr.isTTY === true && env.TERM !== 'dumb';
  return { out: stdout, err: stderr, screen: screenOf(stdout), progress, scrolls: stdout.isTTY === true };
}

/** Writes, and waits when the other end is slow. */
export async function write(stream: Writable, text: string): Promise<void> {
  if (text !== '' && !stream.write(text)) await once(stream, 'drain');
}

/** Notes for people, one line each. */
export async function writeNotes({ err }: Console, notes: readonly string[]): Promise<void> {
  for (const note of notes) await write(err, `${note}\n`);
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Aborted by the first SIGINT or SIGTERM, whose name is the reason; the second ends the process. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of STOP_SIGNALS) {
    process.once(name, () => {
      for (const again of STOP_SIGNALS) process.once(again, () => process.exit(1));
      controller.abort(name);
    });
  }
  return controller.signal;
}
