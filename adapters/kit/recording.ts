/**
 * Recorded files in any format: the text of a file becomes the frames of a feed, by the same decoder that reads the
 * feed live. A file of a JSON format holds one message per line, or is one JSON document: a message, or a list of them.
 * A line may also be {"k":1,"message":...}, as messages are sent, which is how formats without frame numbers get
 * theirs. Invariant: the frames of a recording are in order, each comes once, and all of them pass the checks of native
 * frames.
 */

import { InputError, type Problem } from '../../src/metric/input-error.js';
import { Fault } from '../../src/wire/fault.js';
import type { Role } from '../../src/wire/feed.js';
import { checkFrame, checkReports, type FrameRules } from '../../src/wire/frame-check.js';
import {
  type Decoded,
  type Decoder,
  type Format,
  type JudgingOptions,
  type Part,
  PROBLEMS_MAX,
  type Stamp,
} from './adapter.js';
import { isFields } from './fields.js';
import { reread } from './rereading.js';

/** A text to be read; a folder of a format with one file per frame gives several. */
export interface RecordedText {
  /** as it is told in mistakes */
  file: string;
  text: string;
  /** name within its folder; absent for a single file */
  entry?: string;
}

export interface Recording {
  file: string;
  format: Format;
  parts: Part[];
  /** what the reader should know */
  notes: string[];
  /** names of the classes by the ids that other files have for them */
  classNames?: Readonly<Record<string, string>>;
}

/** How far a file is looked at to tell lines from one document. */
const LOOKED_AT_CHARS = 16_384;
const ENVELOPE: ReadonlySet<string> = new Set(['type', 'seq', 'k', 't', 'message']);

interface Message {
  /** file, with the line where there are several */
  place: string;
  message: unknown;
  stamp: Stamp;
}

/** Reads a file, or a folder, or throws one InputError that lists its mistakes. */
export function readRecording(
  file: string,
  sources: readonly RecordedText[],
  format: Format,
  role: Role,
  judging: JudgingOptions = {},
): Recording {
  const problems: Problem[] = [];
  const parts: Part[] = [];
  const notes: string[] = [];
  let checked = false;
  let classNames: Recording['classNames'];
  const collect = (place: string, decoded: Decoded) => {
    checked = decoded.checked ?? false;
    classNames ??= decoded.classNames;
    for (const note of decoded.notes ?? []) notes.push(named(note, file));
    for (const problem of decoded.problems) problems.push(placed(place, problem));
    for (const part of decoded.parts) parts.push(part);
  };
  const { adapter, values } = format;
  const whole = sources.length === 1 ? adapter.readText?.(sources[0].text, values, role, judging) : undefined;
  if (whole) collect(file, whole);
  else {
    const decoder: Decoder = format.decoder(role);
    for (const { place, message, stamp } of messagesOf(file, sources, format, problems)) {
      if (problems.length >= PROBLEMS_MAX) break;
      collect(place, decoder.decode(message, stamp));
    }
    collect(file, decoder.flush());
  }
  const merged = mergeParts(format.rereading ? reread(parts, format.rereading, role) : parts);
  if ((!checked || format.rereading) && problems.length === 0)
    for (const part of merged) check(part, file, format, problems);
  if (problems.length > 0) throw new InputError(problems);
  return { file, format, parts: merged, notes, ...(classNames && { classNames }) };
}

const named = (note: string, file: string): string =>
  note.includes('{file}') ? note.replaceAll('{file}', file) : `${file}: ${note}`;

/** `line:column` joins the file like any compiler's message, other paths stand beside it. */
function placed(place: string, { path, value, message }: Problem): Problem {
  if (path === '') return { path: place, value, message };
  return { path: /^\d/.test(path) ? `${place}:${path}` : `${place} ${path}`, value, message };
}

function* messagesOf(
  file: string,
  sources: readonly RecordedText[],
  format: Format,
  problems: Problem[],
): Generator<Message> {
  const { adapter, values } = format;
  if (sources.some(({ entry }) => entry !== undefined)) {
    yield* framesOfFolder(file, sources, format, problems);
    return;
  }
  const next = orderOf(values);
  for (const { text } of sources) {
    if (adapter.message === 'text') yield { place: file, message: text, stamp: next() };
    else for (const message of jsonMessages(file, text, format)) yield unwrapped(message, next);
  }
}

/** Stamps in order, where the options say that frames are numbered so. */
function orderOf({ firstFrame }: Record<string, unknown>): () => Stamp {
  let next = firstFrame as number | undefined;
  return () => (next === undefined ? {} : { k: next++ });
}

function* framesOfFolder(
  file: string,
  sources: readonly RecordedText[],
  format: Format,
  problems: Problem[],
): Generator<Message> {
  const { adapter, values } = format;
  const groups = new Set<string>();
  const messages: Message[] = [];
  for (const { entry, text } of sources) {
    const found = adapter.frameOfFile?.(entry!, values);
    if (!found) continue;
    const { group, ...stamp } = found;
    groups.add(group);
    messages.push({ place: `${file}/${entry}`, message: text, stamp });
  }
  if (groups.size > 1) {
    const message = `holds the streams ${[...groups].sort().join(', ')}; choose one with option ${'video' in adapter.options ? 'video' : 'stream'}`;
    problems.push({ path: file, value: groups.size, message });
  } else if (messages.length === 0)
    problems.push({
      path: file,
      value: sources.length,
      message: 'holds no file that is named like a frame of this format; adapters/README.md shows such names',
    });
  else yield* messages;
}

/** The messages of a JSON file; what is no JSON is left to the decoder, which says so. */
function* jsonMessages(file: string, text: string, { adapter, values }: Format): Generator<Omit<Message, 'stamp'>> {
  const whole = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (isOneDocument(whole)) {
    const document = parsed(whole.trim());
    const items = Array.isArray(document) ? document : null;
    const listed = items?.every((item) => Array.isArray(item) || isEnvelope(item)) && items.length > 0;
    if (items && (listed || !adapter.isList?.(values)))
      for (const [index, message] of items.entries()) yield { place: `${file} [${index}]`, message };
    else yield { place: file, message: document };
    return;
  }
  let line = 0;
  for (let start = 0; start < whole.length; ) {
    const newline = whole.indexOf('\n', start);
    const end = newline < 0 ? whole.length : newline;
    line++;
    const row = whole.slice(start, end).trim();
    if (row !== '') yield { place: `${file}:${line}`, message: parsed(row) };
    start = end + 1;
  }
}

/** Lines are messages when the first of several is complete by itself. */
function isOneDocument(text: string): boolean {
  const begin = text.trimStart();
  const newline = begin.indexOf('\n');
  if (newline < 0 || begin.slice(newline).trim() === '') return parsed(begin.trim()) !== begin.trim();
  const first = begin.slice(0, newline).trim();
  if (parsed(first) !== first) return false;
  // a first line that is no JSON: noise before the messages, or the beginning of a document
  const isMessage = (line: string) => /^[{[]./.test(line) && parsed(line) !== line;
  const lines = begin
    .slice(newline, newline + LOOKED_AT_CHARS)
    .split('\n')
    .slice(0, -1);
  return !lines.some((line) => isMessage(line.trim())) || parsed(begin.trim()) !== begin.trim();
}

/** The value of a JSON text, or the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isEnvelope = (value: unknown): boolean =>
  isFields(value) && value.message !== undefined && Object.keys(value).every((key) => ENVELOPE.has(key));

function unwrapped({ place, message }: Omit<Message, 'stamp'>, next: () => Stamp): Message {
  if (!isEnvelope(message)) return { place, message, stamp: next() };
  const { k, t, message: inside } = message as { k?: number; t?: number; message: unknown };
  return { place, message: inside, stamp: { k, t } };
}

/** Parts of the same frame number, or time, become one; all are put in order. */
function mergeParts(parts: Part[]): Part[] {
  const frames = new Map<number, Part>();
  for (const part of parts) {
    const key = part.k ?? part.t!;
    const known = frames.get(key);
    if (known) {
      for (const object of part.objects) known.objects.push(object);
      if (part.aside) known.aside = [...(known.aside ?? []), ...part.aside];
    } else frames.set(key, part);
  }
  return [...frames].sort(([a], [b]) => a - b).map(([, part]) => part);
}

function check(part: Part, file: string, format: Format, problems: Problem[]): void {
  const rules: FrameRules = {
    objectsMax: Number.MAX_SAFE_INTEGER,
    idLengthMax: Number.MAX_SAFE_INTEGER,
    shape: format.shape,
    dimensions: 0,
    geodesic: false,
    pointRemedy: '',
    strict: true,
  };
  const { aside: _aside, reports, ...frame } = part;
  const fault = reports
    ? checkReports({ seq: 1, reports: part.objects }, rules)
    : checkFrame({ ...frame, seq: 1 }, rules);
  if (!(fault instanceof Fault)) return;
  const place = part.k === undefined ? `time ${part.t}` : `frame ${part.k}`;
  problems.push({ path: `${file} ${place} ${fault.path}`, value: fault.value, message: fault.message });
}
