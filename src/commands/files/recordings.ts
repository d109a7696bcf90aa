/**
 * Recorded files of any format, read from the disk. Mistakes of all files are reported together, before anything is
 * computed.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Format, Judging } from '../../../adapters/kit/adapter.js';
import { type RecordedText, type Recording, readRecording } from '../../../adapters/kit/recording.js';
import { HEAD_CHARS, recognize } from '../../../adapters/recognition.js';
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
  const sources = readSources(file, format);
  try {
    return readRecording(file, sources, format, role, judging);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw recognized(file, sources, format) ?? error;
  }
}

/** What a file that cannot be read looks like, when that is another format than it was read in. */
function recognized(file: string, sources: readonly RecordedText[], { adapter }: Format): InputError | null {
  const entries = sources.flatMap(({ entry }) => entry ?? []);
  const head = (sources[0]?.text ?? '').slice(0, HEAD_CHARS);
  const name = recognize({ head, entries: entries.length > 0 ? entries : null });
  // rows of numbers are what a damaged file of many formats looks like
  if (name === null || name === adapter.name || name === 'motchallenge' || name === 'visdrone') return null;
  const message = `cannot be read as ${adapter.name}; it looks like ${name}: say --format ${name}, or leave --format out`;
  return new InputError([{ path: file, value: adapter.name, message }]);
}

function readSources(file: string, { adapter }: Format): RecordedText[] {
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
