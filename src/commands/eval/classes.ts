/**
 * Which classes are judged one by one: those that a benchmark judges so, or, with --per-class, all that references
 * and trackers have. Each is a study of its own, with its own table.
 */

import { classesOf, type FilePair, PairReader, type PairReading, rulesOf } from '../files/pair-reader.js';
import type { JobFiles } from './options.js';

/** How the files are read, class by class; as they are where classes are not judged one by one. */
export function readingsByClass({ reading, perClass }: JobFiles, pairs: readonly FilePair[]): PairReading[] {
  const byRules = classesOf(rulesOf(reading));
  if (!perClass && !byRules) return [reading];
  const chosen = reading.formats.reference.options.classes as readonly unknown[] | undefined;
  const classes = reading.classes ?? chosen?.map(String) ?? byRules ?? new PairReader(reading).classes(pairs);
  return classes.map((kind) => ({ ...reading, class: kind }));
}
