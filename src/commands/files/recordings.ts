/**
 * Recorded files of any format, read from the disk. Mistakes of all files are reported together, before anything is
 * computed.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Format, Judging } from '../../../adapters/kit/adapter.js';
import { type Recording, readRecording, type Source } from '../../../adapters/kit/recording.js';
import { InputError, together } from '../../metric/input-error.js';
import type { Role } from '../../wire/feed.js';

/** Files of a folder that are read; a recording of one file per frame has as many as frames. */
const ENTRIES_MAX = 1_000_000;

export interface RecordedFile {
  file: string;
  format: Format;
  role: Role;
  judging?: Judging;
}

/** Reads all files, or throws one InputError with the mistakes of all of them. */
export function readRecordings(files: readonly RecordedFile[]): Recording[] {
  return together(files, readRecordedFile);
}

export function readRecordedFile({ file, format, role, judging }: RecordedFile): Recording {
  return readRecording(file, readSources(file, format), format, role, judging);
}

function readSources(file: string, { adapter }: Format): Source[] {
  const isFolder = adapter.frameOfFile !== undefined;
  try {
    if (statSync(file).isDirectory() !== isFolder)
      throw new InputError([
        {
          path: file,
          value: adapter.name,
          message: isFolder ? 'must be a folder with one file per frame' : 'is a folder',
        },
      ]);
    if (!isFolder) return [{ file, text: readFileSync(file, 'utf8') }];
    const entries = readdirSync(file).sort().slice(0, ENTRIES_MAX);
    return entries
      .filter((entry) => entry.endsWith('.txt'))
      .map((entry) => ({ file, entry, text: readFileSync(join(file, entry), 'utf8') }));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw unreadable(file, error);
  }
}

/** The text of a file, or an InputError. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'does not exist; check the path',
  EISDIR: 'is a folder; name a file in it',
  EACCES: 'may not be read; check its permissions',
};

function unreadable(file: string, error: unknown): InputError {
  const { code } = error as NodeJS.ErrnoException;
  return new InputError([
    {
      path: file,
      value: code,
      message: (code && UNREADABLE[code]) || 'cannot be read; name a file that exists and is readable',
    },
  ]);
}
