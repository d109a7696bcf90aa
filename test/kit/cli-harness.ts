/** What the tests of commands with files share. */
import assert from 'node:assert/strict';
import { UsageError } from '../../src/commands/console/options.js';
import type { Frame, Obj } from '../../src/index.js';

/** One feed of a scene as a MOTChallenge file; ids are numbered as they come. */
export function rowsOf(frames: Frame[], feed: keyof Frame): string {
  const numbers = new Map<string, number>();
  const number = (id: string) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).size;
  const tail = feed === 'reference' ? '1,1,1' : '0.9,-1,-1,-1';
  const row = (object: Obj, frame: number) =>
    `${frame},${number(object.id)},${(object as { box: number[] }).box},${tail}\n`;
  return frames.map((frame, index) => frame[feed].map((object) => row(object, index + 1)).join('')).join('');
}

/** The mistakes that a command finds in its arguments. */
export function usageMistakes(parse: (args: string[]) => unknown, args: string[]): string[] {
  try {
    parse(args);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message.split('\n');
  }
  return assert.fail(`accepted: ${args.join(' ')}`);
}
