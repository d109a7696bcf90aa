/**
 * Which classes are judged one by one: those that a benchmark judges so, or, with --per-class, all that the references
 * have. Each is a study of its own, with its own table.
 */

import { classesOf, PairReader, type PairReading } from '../files/pair-reader.js';
import type { JobFiles } from './options.js';

/** How the files are read, class by class; as they are where classes are not judged one by one. */
export function readingsByClass({ reading, perClass }: JobFiles, references: readonly string[]): PairReading[] {
  const byRules = classesOf(reading.preprocess);
  if (!perClass && !byRules) return [reading];
  const chosen = reading.formats.reference.options.classes as readonly unknown[] | undefined;
  const classes = reading.classes ?? chosen?.map(String) ?? byRules ?? new PairReader(reading).classes(references);
  return classes.map((kind) => ({ ...reading, class: kind }));
}
