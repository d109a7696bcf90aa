/**
 * What an adapter is: it turns the messages of one foreign format into frame parts of a feed. To add a format, write
 * one file that exports `defineAdapter({...})`, and give it a row in index.ts; the contract test then covers it.
 *
 * An adapter makes a Decoder for each feed. A decoder gets messages one after the other (parsed JSON, or text) and
 * gives back the frames they complete. It may hold what is not complete yet, and says so; `flush` gives it out. A file
 * is read by the same decoder (recording.ts).
 *
 * Rules that the contract test holds every adapter to:
 * - whatever comes in, a decoder never throws: what is wrong is a problem with path, value and expectation, and the
 *   feed goes on; a message with a problem adds nothing to any frame;
 * - ids are strings; numbers are finite; boxes are [left, top, width, height], y down;
 * - units and conventions are those the format fixes, or come from options; where neither says, input is refused;
 * - memory is bounded by one frame and what the options allow.
 */

import type { Problem } from '../../src/metric/input-error.js';
import type { RejectCode } from '../../src/wire/codes.js';
import type { Role } from '../../src/wire/feed.js';
import type { Shape, WireObject } from '../../src/wire/objects.js';
import { type GivenOptions, type OptionTable, type OptionValues, readOptions } from './options.js';
import type { Aside, Rules } from './preprocessing.js';
import type { Rereading } from './rereading.js';

/** One feed's objects at one moment, one by one: at least one of `k` (frame number) and `t` (seconds). */
export interface Part {
  k?: number;
  t?: number;
  objects: WireObject[];
  /** the objects are reports, each at its own time; one that is absent is not gone. `t` is the newest of them */
  reports?: true;
  /** files of references: rows that do not count, where a benchmark's preprocessing looks at them */
  aside?: Aside[];
}

/** How a file is going to be judged, where that decides which rows count. */
export interface JudgingOptions {
  /** the benchmark whose preprocessing is applied */
  rules?: Rules;
  /** only objects of this class are judged */
  class?: string;
  /** of trackers: the classes of the reference that count, where somebody chose them and they are numbers */
  classes?: readonly number[];
  /** neither of two feeds is believed */
  symmetric?: boolean;
}

/** What is wrong with a message; `path` is within it: `objects[3].box.x1` in JSON, `line:column` in text. */
export interface MessageProblem extends Problem {
  /** frame_invalid unless given */
  code?: RejectCode;
}

/** What came of a message. */
export interface Decoded {
  /** frames that are complete, in order */
  parts: Part[];
  problems: MessageProblem[];
  /** whether data of this message, or of earlier ones, waits for more */
  held: boolean;
  /**
   * what whoever reads a file should know, such as how many rows do not count; `{file}` stands for its name, which
   * comes first where it is not mentioned
   */
  notes?: string[];
  /** files: the parts are known to be sound */
  checked?: boolean;
  /** names of the classes by the ids that other files have for them */
  classNames?: Readonly<Record<string, string>>;
}

/** Frame number and time that came beside a message, for formats that have none of their own. */
export interface Stamp {
  k?: number;
  t?: number;
}

/** The state of one feed in one format. */
export interface Decoder {
  /** Takes the next message. Never throws. */
  decode(message: unknown, stamp?: Stamp): Decoded;
  /** Gives out what is held: the feed has ended, or nothing came for a while. */
  flush(): Decoded;
}

/** From where a format counts; null: it does not say, or has no such thing. */
export interface Bases {
  frame: 0 | 1 | null;
  pixel: 0 | 1 | null;
}

/** How the frames of a format are numbered: by the format, by whoever sends the message, or either. */
export type Numbering = 'own' | 'stamp' | 'either';

export interface Adapter<T extends OptionTable = OptionTable> {
  /** as it stands in `format` of a hello and after --format */
  name: string;
  /** one line for help texts and the README */
  title: string;
  /** json: a message is a JSON value, or text that is one; text: a message is text */
  message: 'json' | 'text';
  numbering: Numbering;
  bases: Bases;
  options: T;
  /** what the options demand of each other; texts say what is wrong, by option */
  check?(values: OptionValues<T>): Problem[];
  /** boxes or points, under these options */
  shape(values: OptionValues<T>): Shape;
  create(values: OptionValues<T>, role: Role): Decoder;
  /** json: whether a message may itself be a list; else a file that is one list holds a message in each element */
  isList?(values: OptionValues<T>): boolean | undefined;
  /** frame numbers are keys that need not follow each other */
  isSparse?: boolean;
  /** names of classes, by the numbers that stand for them */
  classNames?: Readonly<Record<string, string>>;
  /** readText chooses classes itself */
  readsClasses?: boolean;
  /** The classes in the text of a reference, for formats whose objects do not carry them. */
  classesIn?(text: string): Iterable<string>;
  /** Reads the whole text of a file, where that is more than its messages one after the other; else undefined. */
  readText?(text: string, values: OptionValues<T>, role: Role, judging: JudgingOptions): Decoded | undefined;
  /** For formats with one file per frame: the frame a file stands for, by its name, and which of several recordings it
   * belongs to; null when it is none of the chosen ones. */
  frameOfFile?(name: string, values: OptionValues<T>): (Stamp & { group: string }) | null;
}

/** Gives the options of an adapter their types. */
export const defineAdapter = <const T extends OptionTable>(adapter: Adapter<T>): Adapter =>
  adapter as unknown as Adapter;

/** An adapter with its options checked: what a feed or a file is read with. */
export interface Format {
  adapter: Adapter;
  values: OptionValues<OptionTable>;
  /** options that were said, not defaulted */
  given: ReadonlySet<string>;
  shape: Shape;
  /** files: what is to be read otherwise than the format says */
  rereading?: Rereading;
  decoder(role: Role): Decoder;
}

/** Joins an adapter with options, or lists what is wrong with them. */
export function makeFormat(adapter: Adapter, given: GivenOptions = {}): Format | Problem[] {
  const values = readOptions(adapter.options, given);
  if (Array.isArray(values)) return values;
  const problems = adapter.check?.(values) ?? [];
  if (problems.length > 0) return problems;
  return {
    adapter,
    values,
    given: new Set(Object.keys(given)),
    shape: adapter.shape(values),
    decoder: (role) => adapter.create(values, role),
  };
}

/** Problems told about one message at most; more are counted by nobody, the first ones say what to repair. */
export const PROBLEMS_MAX = 1000;

/** Something in a message is not as the format wants it. Thrown within decoders, never out of them. */
export class Mistake {
  constructor(
    public path: string,
    readonly value: unknown,
    /** what was expected, and the remedy */
    readonly message: string,
    readonly code?: RejectCode,
  ) {}

  /** The same mistake seen from an enclosing value. */
  within(prefix: string): Mistake {
    this.path = this.path === '' ? prefix : this.path.startsWith('[') ? prefix + this.path : `${prefix}.${this.path}`;
    return this;
  }

  toProblem(): MessageProblem {
    const { path, value, message, code } = this;
    return code === undefined ? { path, value, message } : { path, value, message, code };
  }
}

/**
 * Runs one step of a decoder: what it gives out, or the mistake it ran into. Everything else that is thrown is a bug.
 */
export function attempt(step: () => Part[], held: () => boolean): Decoded {
  try {
    return { parts: step(), problems: [], held: held() };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { parts: [], problems: [error.toProblem()], held: held() };
  }
}

/** A decoder of messages that hold whole frames: nothing waits for the next one. */
export abstract class WholeFrames implements Decoder {
  /** The frames of a message; what is wrong with it is thrown as a Mistake. */
  protected abstract read(message: unknown, stamp?: Stamp): Part[];

  decode(message: unknown, stamp?: Stamp): Decoded {
    return attempt(
      () => this.read(message, stamp),
      () => false,
    );
  }

  flush(): Decoded {
    return { parts: [], problems: [], held: false };
  }
}
