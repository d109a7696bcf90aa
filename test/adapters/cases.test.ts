/**
 * Golden cases: a folder each, with the format and its options, an input, and the frames that must come of it, or what
 * must be told about it. Each is read as a file, and sent message by message as a feed; both must give the same.
 */
import { strict as assert } from 'node:assert';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adapters, formatByName } from '../../adapters/index.js';
import type { Format, Part, Stamp } from '../../adapters/kit/adapter.js';
import { type RecordedText, readRecording } from '../../adapters/kit/recording.js';
import { InputError, type Problem } from '../../src/metric/input-error.js';
import type { Role } from '../../src/wire/feed.js';

const ROOT = fileURLToPath(new URL('../../../test/cases/adapters/', import.meta.url));
const COORDINATE_TOLERANCE = 1e-9;

interface Case {
  says: string;
  format: string;
  role?: Role;
  options: Record<string, unknown>;
}

interface Expected {
  frames?: Part[];
  problems?: Array<{ path: string; says: string }>;
  /** options that are wrong */
  options?: string[];
}

const json = <T>(...path: string[]): T => JSON.parse(readFileSync(join(ROOT, ...path), 'utf8')) as T;
const names = readdirSync(ROOT).sort();

function sourcesOf(name: string): { file: string; sources: RecordedText[] } {
  const file = readdirSync(join(ROOT, name)).find((entry) => entry.startsWith('input'))!;
  const path = join(ROOT, name, file);
  if (file !== 'input') return { file, sources: [{ file, text: readFileSync(path, 'utf8') }] };
  const sources = readdirSync(path)
    .sort()
    .map((entry) => ({ file, entry, text: readFileSync(join(path, entry), 'utf8') }));
  return { file, sources };
}

function assertFrames(actual: Part[], expected: Part[]): void {
  assert.deepEqual(actual.map(rounded), expected.map(rounded));
}

/** Coordinates as multiples of the tolerance; everything else must be equal as it is. */
function rounded({ k, t, objects, reports }: Part): unknown {
  const round = (value: number) => Math.round(value / COORDINATE_TOLERANCE) * COORDINATE_TOLERANCE + 0;
  return {
    k,
    t: t === undefined ? undefined : Math.round(t * 1e6),
    reports,
    objects: objects.map(({ box, point, velocity, ...rest }) => ({
      ...rest,
      box: box?.map(round),
      point: point?.map(round),
      velocity: velocity?.map(round),
    })),
  };
}

function assertProblems(actual: Problem[], expected: Array<{ path: string; says: string }>): void {
  const told = actual.map(({ path, message }) => `${path}: ${message}`).join('\n');
  assert.equal(actual.length, expected.length, told);
  expected.forEach(({ path, says }, n) => {
    assert.match(actual[n].path, new RegExp(`^${path}`), told);
    assert.match(actual[n].message, new RegExp(says), told);
  });
}

/** The input as a feed would bring it: lines of JSON one by one, text line by line where lines stand for themselves. */
function* messagesOf(
  { sources }: { sources: RecordedText[] },
  { adapter, values }: Format,
): Generator<[unknown, Stamp]> {
  for (const { text, entry } of sources) {
    if (entry !== undefined) {
      const found = adapter.frameOfFile!(entry, values);
      if (found) yield [text, { k: found.k }];
    } else if (['motchallenge', 'visdrone', 'kitti'].includes(adapter.name) || adapter.name === 'supervision-csv')
      for (const line of text.split(/(?<=\n)/)) yield [line, {}];
    else if (adapter.message === 'text') yield [text, {}];
    else yield* jsonMessages(text.replace(/^\ufeff/, ''), values.firstFrame as number | undefined);
  }
}

function* jsonMessages(text: string, firstFrame: number | undefined): Generator<[unknown, Stamp]> {
  let items: unknown[];
  try {
    items = text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line));
  } catch {
    items = JSON.parse(text);
  }
  let frame = firstFrame;
  for (const item of items) {
    const { k, t, message } = item as { k?: number; t?: number; message?: unknown };
    if (message !== undefined) yield [message, { k, t }];
    else yield [item, frame === undefined ? {} : { k: frame++ }];
  }
}

describe('golden cases of adapters', () => {
  for (const name of names) {
    const { says, format: formatName, role = 'tracker', options } = json<Case>(name, 'case.json');
    const expected = json<Expected>(name, 'expected.json');
    const format = formatByName(formatName, options);

    it(`${name}: ${says}`, () => {
      assert.ok(format !== null, `no adapter is called ${formatName}`);
      if (expected.options) {
        assert.ok(Array.isArray(format), 'the options were taken');
        assert.deepEqual(
          format.map(({ path }) => path),
          expected.options,
        );
        return;
      }
      assert.ok(!Array.isArray(format), JSON.stringify(format));
      const { file, sources } = sourcesOf(name);
      const read = () => readRecording(file, sources, format, role).parts;
      if (expected.frames) assertFrames(read(), expected.frames);
      else
        assert.throws(read, (error) => {
          assert.ok(error instanceof InputError, String(error));
          assertProblems(error.problems, expected.problems!);
          return true;
        });
    });

    // a table is a file, not messages
    if (expected.frames && options.table === undefined)
      it(`${name}, message by message`, () => {
        const decoder = (format as Format).decoder(role);
        const parts: Part[] = [];
        for (const [message, stamp] of messagesOf(sourcesOf(name), format as Format)) {
          const decoded = decoder.decode(message, stamp);
          assert.deepEqual(decoded.problems, []);
          parts.push(...decoded.parts);
        }
        parts.push(...decoder.flush().parts);
        parts.sort((a, b) => (a.k ?? a.t!) - (b.k ?? b.t!));
        assertFrames(parts, expected.frames!);
      });
  }

  it('exist for every adapter, and each has an input and what is expected', () => {
    assert.ok(names.length >= 100, `${names.length} cases`);
    const covered = new Set(names.map((name) => json<Case>(name, 'case.json').format));
    for (const name of adapters.keys()) assert.ok(covered.has(name), `${name} has no golden case`);
    for (const name of names) {
      assert.ok(existsSync(join(ROOT, name, 'expected.json')));
      assert.ok(
        readdirSync(join(ROOT, name)).some((entry) => entry.startsWith('input')),
        name,
      );
    }
  });
});
