/**
 * Recorded files of any format, read from the disk. Mistakes of all files are reported together, before anything is
 * computed.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Format, JudgingOptions } from '../../../adapters/kit/adapter.js';
import { type RecordedText, type Recording, readRecording } from '../../../adapters/kit/recording.js';
import { HEAD_CHARS, recognize } from '../../../adapters/recognition.js';
import { InputError, together } from '../../metric/input-error.js';
import type { Role } from '../../wire/feed.js';
import { optimizeLater } from './engine.js';

/** Files of a folder that are read; a recording of one file per frame has as many as frames. */
const ENTRIES_MAX = 1_000_000;

export interface RecordedFile {
  file: string;
  format: Format;
  role: Role;
  judging?: JudgingOptions;
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
  if (name === null && adapter.message === 'text') return ofNoFormat(file, head.trimStart());
  // rows of numbers are what a damaged file of many formats looks like
  if (name === null || name === adapter.name || name === 'motchallenge' || name === 'visdrone') return null;
  const message = `cannot be read as ${adapter.name}; it looks like ${name}: say --format ${name}, or leave --format out`;
  return new InputError([{ path: file, value: adapter.name, message }]);
}

/** JSON or XML that no format has, read as rows because nothing else was said. */
function ofNoFormat(file: string, text: string): InputError | null {
  const [value, remedy] = /^[{[]/.test(text)
    ? ['JSON', 'say where its fields are with --format mapping (adapters/README.md)']
    : ['XML', 'there are cvat, ua-detrac and onvif-xml'];
  if (!/^[{[<]/.test(text)) return null;
  return new InputError([{ path: file, value, message: `is ${value} of a format that is not known; ${remedy}` }]);
}

function readSources(file: string, { adapter }: Format): RecordedText[] {
  const isFolder = adapter.frameOfFile !== undefined;
  try {
    if (statSync(file).isDirectory() !== isFolder)
      throw new InputError([
        {
          path: file,
          value: adapter.name,
          message: isFolder
            ? 'must be a folder with one file per frame'
            : 'is a folder; name a file in it, or give folders for both, --reference and --tracker',
        },
      ]);
    if (!isFolder) return [{ file, text: textOf(file) }];
    const entries = readdirSync(file).sort().slice(0, ENTRIES_MAX);
    return entries
      .filter((entry) => entry.endsWith('.txt'))
      .map((entry) => ({ file, entry, text: textOf(join(file, entry)) }));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw unreadable(file, error);
  }
}

/** The text of a file, or an InputError. */
export function readText(file: string): string {
  try {
    return textOf(file);
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw unreadable(file, error);
  }
}

/** Unpacked, a file may not be larger than a text can be. */
const UNPACKED_MAX_BYTES = 500e6;

/** What stands in a file: UTF-8, UTF-16 with its mark, or either packed by gzip. */
function textOf(file: string): string {
  optimizeLater();
  return decoded(unpacked(readFileSync(file), file));
}

function unpacked(bytes: Buffer, file: string): Buffer {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4)
    throw new InputError([{ path: file, value: 'ZIP', message: 'is an archive; unpack it and name a file in it' }]);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    // loaded when it is needed: most files are not packed
    return process.getBuiltinModule('node:zlib').gunzipSync(bytes, { maxOutputLength: UNPACKED_MAX_BYTES });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `is packed by gzip and cannot be unpacked; it must be whole and at most ${UNPACKED_MAX_BYTES / 1e6} MB`;
    throw new InputError([{ path: file, value: code, message }]);
  }
}

function decoded(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le', 2);
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return bytes
      .subarray(2, bytes.length & ~1)
      .swap16()
      .toString('utf16le');
  return bytes.toString('utf8');
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
