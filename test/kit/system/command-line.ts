/** What the tests of commands share: a console that remembers, and the built-in scene as files. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Console } from '../../../src/commands/console/console.js';
import { UsageError } from '../../../src/commands/console/options.js';
import type { Frame, Obj } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';

/** No terminal: lines of any length, no colours. */
export const PLAIN: Console['screen'] = { columns: Number.POSITIVE_INFINITY, colors: false };

/** Escape sequences of colours. */
export const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

type Command = (args: string[], console: Console) => Promise<void>;

/** Runs a command: what it wrote, and the error it ended with, or null. */
export async function resultOf(
  command: Command,
  args: string[],
  screen = PLAIN,
): Promise<{ out: string; err: string; error: unknown }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const both = Promise.all([text(out), text(err)]);
  let error: unknown = null;
  await command(args, { out, err, screen, progress: false }).catch((reason) => {
    error = reason;
  });
  out.end();
  err.end();
  const [outText, errText] = await both;
  return { out: outText, err: errText, error };
}

/** Runs a command; throws the error it ends with. */
export async function outputOf(
  command: Command,
  args: string[],
  screen = PLAIN,
): Promise<{ out: string; err: string }> {
  const { out, err, error } = await resultOf(command, args, screen);
  if (error !== null) throw error;
  return { out, err };
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

/** One feed of a scene as a MOTChallenge file; ids are numbered as they come. */
export function rowsOf(frames: Frame[], feed: keyof Frame): string {
  const numbers = new Map<string, number>();
  const number = (id: string) => numbers.get(id) ?? numbers.set(id, numbers.size + 1).size;
  const tail = feed === 'reference' ? '1,1,1' : '0.9,-1,-1,-1';
  const row = (object: Obj, frame: number) =>
    `${frame},${number(object.id)},${(object as { box: number[] }).box},${tail}\n`;
  return frames.map((frame, index) => frame[feed].map((object) => row(object, index + 1)).join('')).join('');
}

/** A temporary folder with the built-in scene as MOTChallenge files: gt.txt, and steady.txt, loose.txt, faulty.txt. */
export class SceneFolder {
  readonly path = join(tmpdir(), `tgospa-scene-${randomBytes(3).toString('hex')}`);

  /** For the tests of a suite: written before the first of them, removed after the last. */
  static ofSuite(): SceneFolder {
    const folder = new SceneFolder();
    before(() => folder.#write());
    after(() => rmSync(folder.path, { recursive: true, force: true }));
    return folder;
  }

  #write(): void {
    const { trackers } = crossingScene();
    this.put('gt.txt', rowsOf(trackers[0].frames, 'reference'));
    for (const { name, frames } of trackers) this.put(`${name}.txt`, rowsOf(frames, 'tracker'));
  }

  at(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  /** Writes a file, with the folders it needs, and returns where it is. */
  put(name: string, content: string): string {
    const file = this.at(name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  /** The arguments that compare trackers with the reference. */
  args(...trackers: string[]): string[] {
    return ['--reference', this.at('gt.txt'), ...trackers.flatMap((name) => ['--tracker', this.at(`${name}.txt`)])];
  }
}
