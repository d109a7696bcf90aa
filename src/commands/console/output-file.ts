/**
 * Files that a command writes beside its output. Invariant: one that cannot be written is an InputError with a remedy.
 */

import { closeSync, openSync, writeFileSync } from 'node:fs';
import { InputError } from '../../metric/input-error.js';

/** Before the work: whether its result can be written. Creates the file. */
export function checkWritable(file: string): void {
  attempt(file, () => closeSync(openSync(file, 'a')));
}

export function writeOutputFile(file: string, text: string): void {
  attempt(file, () => writeFileSync(file, text));
}

/** A field of comma-separated rows. */
export const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function attempt(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new InputError([
      { path: file, value: code, message: 'cannot be written; name a file in a folder that exists' },
    ]);
  }
}
