/**
 * Finds the sequences and trackers of a study in folders, as the benchmarks lay them out:
 *
 *   MOTChallenge   reference/SEQUENCE/gt/gt.txt, or SEQUENCE/gt.txt; or the folder above, with train/ in it
 *   KITTI          reference/0000.txt, ...; or the folder above, with label_02/ in it
 *   any tree       gt.txt at any depth, named by the folders that tell them apart
 *   flat           SEQUENCE.txt, .xml or .json
 *   trackers       TRACKER/SEQUENCE.txt, TRACKER/data/SEQUENCE.txt or TRACKER/SEQUENCE/the only file; a folder of such
 *                  folders stands for all of them
 *
 * MOT17 has three public detectors per sequence: TRACKER/MOT17-09-FRCNN.txt belongs to the reference MOT17-09.
 */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { InputError, type Problem } from '../../metric/input-error.js';
import { folderNames, shortNames } from './names.js';

export type LayoutName = 'motchallenge' | 'kitti';

/** One sequence of a study: the reference file, and by tracker its file; null where it has none. */
export interface SequenceFiles {
  name: string;
  reference: string;
  trackers: Array<string | null>;
}

export interface StudyFiles {
  layout: LayoutName;
  trackers: string[];
  sequences: SequenceFiles[];
  notes: string[];
}

interface ReferenceFile {
  name: string;
  file: string;
}

const KITTI_FILE = /^\d{4}\.txt$/;
const EXTENSIONS = ['.txt', '.csv', '.json', '.ndjson', '.jsonl', '.xml'];
const RECORDING = /\.(txt|csv|json|ndjson|jsonl|xml)$/i;
/** Files that hold no recording. */
const NO_RECORDING = /^(seqinfo|readme|license)|\.(ini|md|ya?ml|py)$/i;
const DEPTH_MAX = 4;
const DETECTORS = ['', '-FRCNN', '-SDP', '-DPM'];

export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** All sequences of the reference with the files of all trackers. Throws InputError with everything that is wrong. */
export function findStudy(reference: string, trackers: readonly string[]): StudyFiles {
  const problems: Problem[] = [];
  const { layout, files } = findReferences(reference, problems);
  const found = trackers.flatMap((folder) => findTrackers(folder, files, problems));
  if (problems.length > 0) throw new InputError(problems);
  const folders = [...new Set(found)];
  const sequences = files.flatMap((sequence) => variantsOf(sequence, folders));
  const used = sequences.filter(({ trackers: list }) => list.some((file) => file !== null));
  const names = folderNames(folders);
  return { layout, trackers: names, sequences: used, notes: notesOn(used, files, names) };
}

function findReferences(folder: string, problems: Problem[]): { layout: LayoutName; files: ReferenceFile[] } {
  for (const place of [folder, join(folder, 'label_02')]) {
    const files = entriesOf(place).filter((name) => KITTI_FILE.test(name));
    if (files.length > 0)
      return { layout: 'kitti', files: files.map((name) => ({ name: name.slice(0, -4), file: join(place, name) })) };
  }
  for (const place of [folder, join(folder, 'train')]) {
    const files = entriesOf(place).flatMap((name): ReferenceFile[] => {
      const file = [join(place, name, 'gt', 'gt.txt'), join(place, name, 'gt.txt')].find(existsSync);
      return file ? [{ name, file }] : [];
    });
    if (files.length > 0) return { layout: 'motchallenge', files };
  }
  const files = namedFiles(filesBelow(folder).filter((file) => /^gt\./.test(basename(file))));
  const flat = entriesOf(folder).filter((name) => RECORDING.test(name) && !NO_RECORDING.test(name));
  const found = files.length > 0 ? files : flat.map((name) => ({ name: stemOf(name), file: join(folder, name) }));
  if (found.length > 0) return { layout: 'motchallenge', files: found };
  problems.push({
    path: folder,
    value: 'reference',
    message: 'holds no sequences; expected SEQUENCE/gt/gt.txt (MOTChallenge) or 0000.txt, 0001.txt, ... (KITTI)',
  });
  return { layout: 'motchallenge', files: [] };
}

/** Files named by the folders that tell them apart. */
function namedFiles(files: string[]): ReferenceFile[] {
  const names = shortNames(files);
  return files.map((file, index) => ({ name: names[index], file }));
}

function filesBelow(folder: string, depth = 0): string[] {
  if (depth > DEPTH_MAX) return [];
  return entriesOf(folder).flatMap((name) => {
    const path = join(folder, name);
    return isFolder(path) ? filesBelow(path, depth + 1) : [path];
  });
}

const stemOf = (name: string) => name.slice(0, name.length - extname(name).length);

/** The folder itself when it has files of sequences, otherwise the folders in it that have. */
function findTrackers(folder: string, files: ReferenceFile[], problems: Problem[]): string[] {
  if (files.length === 0) return [];
  const isTracker = (place: string) =>
    files.some(({ name }) => DETECTORS.some((detector) => fileOf(place, name + detector)));
  if (!isFolder(folder)) {
    const message = existsSync(folder)
      ? 'is a file, and the reference a folder of sequences; name the folder it is in, or one sequence as the reference'
      : 'does not exist; check the path';
    problems.push({ path: folder, value: 'tracker', message });
    return [];
  }
  if (isTracker(folder)) return [folder];
  const inside = entriesOf(folder)
    .map((name) => join(folder, name))
    .filter(isTracker);
  if (inside.length === 0)
    problems.push({
      path: folder,
      value: 'tracker',
      message: `holds no result for any sequence; expected a file such as ${files[0].name}.txt in it, in data/, or in folders of trackers`,
    });
  return inside;
}

/** A sequence once, or once for every public detector when trackers have several of them. */
function variantsOf({ name, file }: ReferenceFile, folders: string[]): SequenceFiles[] {
  const variants = DETECTORS.map((detector) => ({
    name: name + detector,
    reference: file,
    trackers: folders.map((folder) => fileOf(folder, name + detector)),
  })).filter(({ trackers }) => trackers.some((one) => one !== null));
  const several = folders.some((_, index) => variants.filter(({ trackers }) => trackers[index] !== null).length > 1);
  if (several) return variants;
  const merged = folders.map((_, index) => variants.map(({ trackers }) => trackers[index]).find((one) => one) ?? null);
  return [{ name, reference: file, trackers: merged }];
}

function fileOf(folder: string, name: string): string | null {
  for (const one of new Set([name, basename(name)])) {
    const paths = [join(folder, one), join(folder, 'data', one)];
    const file = paths.flatMap((path) => EXTENSIONS.map((extension) => path + extension)).find(existsSync);
    if (file !== undefined) return file;
    const inside = entriesOf(join(folder, one)).filter((entry) => RECORDING.test(entry) && !/^gt\./.test(entry));
    if (inside.length === 1) return join(folder, one, inside[0]);
  }
  return null;
}

function entriesOf(folder: string): string[] {
  return isFolder(folder) ? readdirSync(folder).sort() : [];
}

function notesOn(used: SequenceFiles[], files: ReferenceFile[], names: string[]): string[] {
  const left = files.length - new Set(used.map(({ reference }) => reference)).size;
  const notes =
    left > 0 ? [`${left} of ${files.length} sequences of the reference have no tracker file and are left out`] : [];
  names.forEach((name, index) => {
    const missing = used.filter(({ trackers }) => trackers[index] === null).map((sequence) => sequence.name);
    if (missing.length > 0)
      notes.push(
        `${name} has no file for ${missing.join(', ')}; combined results are over the sequences all trackers have`,
      );
  });
  return notes;
}

/** The first file with something in it in a folder or below; null when there is none. */
export function firstFile(folder: string, depth = 0): string | null {
  const paths = entriesOf(folder).map((name) => join(folder, name));
  const file = paths.find(
    (path) =>
      !isFolder(path) &&
      !NO_RECORDING.test(basename(path)) &&
      (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  if (file !== undefined || depth >= DEPTH_MAX) return file ?? null;
  for (const path of paths) {
    const found = firstFile(path, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
