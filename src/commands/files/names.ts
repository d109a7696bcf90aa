/** What files and folders are called in results: the shortest names that tell them apart. */

import { basename, extname, sep } from 'node:path';

/** Names that say what a file is and not of what: its folders tell that. */
const GENERIC =
  /^(gt|det|dets|res|result|results|track|tracks|tracking|test|data|labels?|annotations?|output|out|hyp)$/i;

/** The names of the files, or the folders that differ. */
export function shortNames(files: readonly string[]): string[] {
  const parts = files.map((file) => withoutExtension(file.replace(/\.gz$/i, '')).split(sep));
  if (files.length === 1) return [parts[0].findLast((part) => part !== '' && !GENERIC.test(part)) ?? parts[0].at(-1)!];
  if (new Set(parts.map((path) => path.at(-1))).size === files.length) return parts.map((path) => path.at(-1) ?? '');
  const head = sharedCount(parts, (path, offset) => path[offset]);
  const tail = sharedCount(parts, (path, offset) => path[path.length - 1 - offset]);
  return parts.map((path) => path.slice(head, path.length - tail).join('/') || path.join('/'));
}

const withoutExtension = (file: string): string => file.slice(0, file.length - extname(file).length);

function sharedCount(parts: string[][], at: (path: string[], offset: number) => string | undefined): number {
  let count = 0;
  while (at(parts[0], count) !== undefined && parts.every((path) => at(path, count) === at(parts[0], count))) count++;
  return count;
}

/** The folders' own names; with their parents where that is needed to tell them apart. */
export function folderNames(folders: readonly string[]): string[] {
  const short = folders.map((folder) => basename(folder));
  return new Set(short).size === short.length ? short : folders.map((folder) => folder.replaceAll('\\', '/'));
}
