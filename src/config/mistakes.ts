/** What is wrong with a configuration, where it stands in the file, and what to do about it. */
import { type Document, isMap, isNode, isScalar, isSeq, type LineCounter } from 'yaml';
import type { z } from 'zod';
import { InputError } from '../metric/input-error.js';
import { schemaAt } from './schema.js';

/** One mistake or warning; line and column are 1-based, absent when it does not stand in the file. */
export interface ConfigProblem {
  path: string;
  message: string;
  line?: number;
  column?: number;
  /** where it was said, unless in the file */
  said?: string;
}

/** Everything that is wrong with a configuration, with its lines. */
export class ConfigError extends InputError {
  constructor(
    readonly mistakes: ConfigProblem[],
    source: string,
  ) {
    super(mistakes.map(({ path, message }) => ({ path, value: undefined, message })));
    const lines = mistakes.map((mistake) => describeProblem(mistake, source));
    this.message = `${lines.length} ${lines.length === 1 ? 'mistake' : 'mistakes'} in the configuration\n  ${lines.join('\n  ')}`;
  }
}

/** `tgospa.yaml:12:3 limits.objects: ...`, as editors and terminals understand it. */
export function describeProblem(problem: ConfigProblem, source: string): string {
  const place = problem.line === undefined ? (problem.said ?? source) : `${source}:${problem.line}:${problem.column}`;
  return `${place} ${problem.path}: ${problem.message}`;
}

export function syntaxProblem(error: { message: string; pos: [number, number] }, lines: LineCounter): ConfigProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  return { path: 'yaml', message: error.message, line, column: col };
}

export type Path = PropertyKey[];

export function problemsOf(error: z.ZodError, raw: unknown): Misplaced[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ keys: [...issue.path, key], message: unknownKey(issue.path) }))
      : [{ keys: issue.path, message: `${issue.message}${shown(issue, raw)}${hint(issue.path)}` }],
  );
}

function unknownKey(path: Path): string {
  const known = Object.keys(schemaAt(path)?.properties ?? {});
  return `is not a known key; known keys here: ${known.join(', ')}`;
}

/** The offending value; token entries hold no secrets, only names of variables and files. */
function shown(issue: z.core.$ZodIssue, raw: unknown): string {
  const value = valueAt(raw, issue.path);
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  // the part of an address that may hold a password is not for the log
  const open = text.replace(/:\/\/[^/@\s]*@/g, '://...@');
  return ` (got ${open.length > 60 ? `${open.slice(0, 57)}...` : open})`;
}

export function valueAt(value: unknown, path: Path): unknown {
  for (const key of path)
    value = typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  return value;
}

/** What the key means and its default, as the remedy. */
function hint(path: Path): string {
  const found = schemaAt(path);
  if (!found?.description) return '';
  const standard =
    found.default === undefined
      ? ''
      : `, default ${JSON.stringify(found.default)}${found.unit ? ` ${found.unit}` : ''}`;
  return `; ${path.at(-1) === undefined ? 'configuration' : String(path.at(-1))} is: ${found.description}${standard}`;
}

export interface Misplaced {
  keys: Path;
  message: string;
}

export const formatPath = (path: Path): string =>
  path.map((key, n) => (typeof key === 'number' ? `[${key}]` : n === 0 ? String(key) : `.${String(key)}`)).join('') ||
  'configuration';

/**
 * Finds the line of a path: the key itself, or the nearest one around it that stands in the file. What the command line
 * says over the file has none.
 */
export function locate(problem: Misplaced, document: Document, lines: LineCounter, overrides: unknown): ConfigProblem {
  const found: ConfigProblem = { path: formatPath(problem.keys), message: problem.message };
  if (valueAt(overrides, problem.keys) !== undefined) return { ...found, said: 'command line' };
  for (let length = problem.keys.length; length > 0; length--) {
    const offset = offsetOf(document, problem.keys.slice(0, length));
    if (offset === undefined) continue;
    const { line, col } = lines.linePos(offset);
    return { ...found, line, column: col };
  }
  return found;
}

function offsetOf(document: Document, path: Path): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const key = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
    return pair && isNode(pair.key) ? pair.key.range?.[0] : undefined;
  }
  const node = isSeq(parent) ? parent.items[key as number] : undefined;
  return isNode(node) ? (node.range?.[0] ?? undefined) : undefined;
}
