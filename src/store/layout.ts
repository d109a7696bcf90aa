/**
 * Where the slots of a data folder are stored: one slot in the folder itself, as ever; several each in a folder below
 * it, with a store, marks and quarantine of its own. The file `layout.json` says how many there are. It is replaced at
 * once, so a folder has the layout of before or the new one, whenever the process ends; what belongs to neither is
 * left from a change that was not finished, and removed.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FORMATS, FormatError } from './formats.js';
import { PARTITIONS } from './partition.js';
import { StorageFault } from './storage-fault.js';

const FILE = 'layout.json';
const SLOT_FOLDER = /^slot-\d+-of-\d+$/;
/** what belongs to a slot, besides its quarantine */
const OWN = ['store', 'acked', 'applying'];

/** The folder of each slot. */
export const slotFolders = (dir: string, slots: number): string[] =>
  slots <= 1 ? [dir] : Array.from({ length: slots }, (_, slot) => join(dir, `slot-${slot}-of-${slots}`));

/** How many slots a data folder has; 1 when nobody has said, as in every folder of before. */
export function slotsOf(dir: string): number {
  const file = join(dir, FILE);
  if (!existsSync(file)) return 1;
  try {
    const { version = 1, slots } = JSON.parse(readFileSync(file, 'utf8'));
    if (version > FORMATS.layout.version)
      throw new FormatError(
        `${file} has version ${version} of the format layout, which this program, with version ${FORMATS.layout.version}, cannot read: use the program that wrote it, or another data.dir`,
      );
    if (Number.isSafeInteger(slots) && slots >= 1 && slots <= PARTITIONS) return slots;
  } catch (error) {
    if (error instanceof FormatError) throw error;
  }
  throw new StorageFault('storage_failed', `${file} is damaged; it should say how many slots there are: {"slots":1}`);
}

/** From now on the data folder has so many slots. */
export function writeSlots(dir: string, slots: number): void {
  const file = join(dir, FILE);
  writeFileSync(`${file}.new`, `${JSON.stringify({ version: FORMATS.layout.version, slots })}\n`, { flush: true });
  renameSync(`${file}.new`, file);
  const folder = openSync(dir, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/** Removes the slots of every layout but this one, what people may want to look at excepted. */
export function removeOtherSlots(dir: string, slots: number): void {
  if (!existsSync(dir)) return;
  const kept = new Set(slotFolders(dir, slots));
  if (!kept.has(dir)) for (const name of OWN) rmSync(join(dir, name), { recursive: true, force: true });
  for (const name of readdirSync(dir)) {
    const folder = join(dir, name);
    if (!SLOT_FOLDER.test(name) || kept.has(folder)) continue;
    keepQuarantine(folder, join(dir, `quarantine-of-${name}`));
    rmSync(folder, { recursive: true, force: true });
  }
}

function keepQuarantine(folder: string, to: string): void {
  const quarantine = join(folder, 'quarantine');
  if (!existsSync(quarantine)) return;
  rmSync(to, { recursive: true, force: true });
  renameSync(quarantine, to);
}
