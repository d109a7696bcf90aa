/**
 * The options of adapters: each adapter has one table, from which checking, the command line and the README follow.
 * Invariant: values that leave `readOptions` have the types and bounds of the table; a unit or convention that a format
 * leaves open is an option without a default, so that it is said by somebody and never guessed.
 */

import type { Problem } from '../../src/metric/input-error.js';

interface Common {
  /** what it means; one line */
  help: string;
  /** without it the adapter cannot work; an option that is neither required nor has a default may be left out */
  required?: true;
}

/** One option: its kind decides the type of its value. */
export type OptionSpec =
  | (Common & { kind: 'text'; default?: string })
  | (Common & { kind: 'texts'; default?: readonly string[] })
  | (Common & { kind: 'number'; default?: number; above?: number; min?: number })
  | (Common & { kind: 'whole'; default?: number; min?: number })
  | (Common & { kind: 'numbers'; default?: readonly number[]; length?: number; above?: number })
  | (Common & { kind: 'switch'; default?: boolean })
  | (Common & { kind: 'choice'; choices: readonly string[]; default?: string });

export type OptionTable = Readonly<Record<string, OptionSpec>>;

type ValueOf<S extends OptionSpec> = S extends { kind: 'choice'; choices: readonly (infer C)[] }
  ? C
  : S extends { kind: 'text' }
    ? string
    : S extends { kind: 'texts' }
      ? readonly string[]
      : S extends { kind: 'numbers' }
        ? readonly number[]
        : S extends { kind: 'switch' }
          ? boolean
          : number;

/** Values of a table: those with a default or required are there, the others may be undefined. */
export type OptionValues<T extends OptionTable> = {
  [K in keyof T]: T[K] extends { required: true } | { default: unknown } ? ValueOf<T[K]> : ValueOf<T[K]> | undefined;
};

/** Options as they are given: JSON values of a hello or a configuration. */
export type GivenOptions = Readonly<Record<string, unknown>>;

/** Longest list or text given as an option. */
const LENGTH_MAX = 256;

/** Checks options against a table, or lists every mistake. */
export function readOptions<T extends OptionTable>(table: T, given: GivenOptions): OptionValues<T> | Problem[] {
  const problems: Problem[] = [];
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(given))
    if (!Object.hasOwn(table, key))
      problems.push({ path: key, value: given[key], message: `is no option here; known are ${namesOf(table)}` });
  for (const [key, spec] of Object.entries(table)) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    if (value === undefined || value === null) {
      if (spec.required) problems.push({ path: key, value, message: `is needed: ${spec.help}` });
      values[key] = spec.default;
      continue;
    }
    const expected = expectation(spec, value);
    if (expected) problems.push({ path: key, value, message: `must be ${expected}; it is: ${spec.help}` });
    values[key] = value;
  }
  return problems.length > 0 ? problems : (values as OptionValues<T>);
}

const namesOf = (table: OptionTable) => Object.keys(table).join(', ') || 'none';

/** What was expected instead of this value; null when it is right. */
function expectation(spec: OptionSpec, value: unknown): string | null {
  switch (spec.kind) {
    case 'text':
      return isText(value) ? null : `a text of 1 to ${LENGTH_MAX} characters`;
    case 'texts':
      return isList(value) && value.every(isText) ? null : 'a list of texts';
    case 'switch':
      return typeof value === 'boolean' ? null : 'true or false';
    case 'choice':
      return spec.choices.includes(value as string) ? null : `one of ${spec.choices.join(', ')}`;
    case 'whole':
      return Number.isSafeInteger(value) && (value as number) >= (spec.min ?? Number.NEGATIVE_INFINITY)
        ? null
        : `a whole number${spec.min === undefined ? '' : ` from ${spec.min}`}`;
    case 'number':
      return isNumber(value, spec) ? null : numberWords(spec);
    case 'numbers': {
      const sound = isList(value) && value.every((one) => isNumber(one, spec));
      if (sound && (spec.length === undefined || (value as unknown[]).length === spec.length)) return null;
      return `a list of ${spec.length === undefined ? '' : `${spec.length} `}numbers${spec.above === undefined ? '' : ` above ${spec.above}`}`;
    }
  }
}

const isText = (value: unknown) => typeof value === 'string' && value.length > 0 && value.length <= LENGTH_MAX;
const isList = (value: unknown): value is unknown[] =>
  Array.isArray(value) && value.length > 0 && value.length <= LENGTH_MAX;

function isNumber(value: unknown, { above, min }: { above?: number; min?: number }): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  return value > (above ?? Number.NEGATIVE_INFINITY) && value >= (min ?? Number.NEGATIVE_INFINITY);
}

const numberWords = ({ above, min }: { above?: number; min?: number }) =>
  `a number${above === undefined ? '' : ` above ${above}`}${min === undefined ? '' : ` from ${min}`}`;

/**
 * One `key=value` of a command line as the JSON value its option wants; what does not fit stays text and is refused
 * later.
 */
export function optionFromText(table: OptionTable, key: string, text: string): unknown {
  const kind = Object.hasOwn(table, key) ? table[key].kind : 'text';
  switch (kind) {
    case 'number':
    case 'whole':
      return numberFromText(text);
    case 'numbers':
      return text.split(',').map(numberFromText);
    case 'texts':
      return text.split(',');
    case 'switch':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
}

const numberFromText = (text: string): unknown =>
  text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
