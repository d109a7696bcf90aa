/**
 * `tgospa check` and `tgospa repair`: whether a data folder is sound, and what of it can be saved. Exit code 0 when all
 * is well, 1 when something is damaged, 2 while an evaluator runs on the folder.
 */
import { defaultConfig } from '../config/config.js';
import { hasStore, inspect, isInUse, repair } from '../store/inspection.js';
import { slotFolders, slotsOf } from '../store/layout.js';
import type { Console } from './console/console.js';
import { CommandLine, type OptionGroup, optionHelp, UsageError } from './console/options.js';

const { data } = defaultConfig();

const OPTIONS: OptionGroup = {
  options: {
    data: { value: 'DIR', help: `data folder of a stopped evaluator (default: ${data.dir})` },
    help: { help: 'this text' },
  },
};

const CHECK_HELP = [
  'Usage: tgospa check [options]',
  '',
  'Checks a data folder for damage and says what is lost. It works on a copy and changes nothing.',
  ...optionHelp([OPTIONS]),
  '',
].join('\n');

const REPAIR_HELP = [
  'Usage: tgospa repair [options]',
  '',
  'Rebuilds the store of a data folder from everything in it that is intact, and says what is lost. The old store is kept',
  'in a folder damaged-<time> beside it.',
  ...optionHelp([OPTIONS]),
  '',
].join('\n');

/** Reports on a data folder; resolves with the exit code. */
export async function runCheck(args: string[], { out }: Pick<Console, 'out'>): Promise<number> {
  const dirs = foldersOf('check', args);
  if (dirs === null) {
    out.write(CHECK_HELP);
    return 0;
  }
  const codes: number[] = [];
  for (const dir of dirs) codes.push(await check(dir, out));
  return Math.max(...codes);
}

async function check(dir: string, out: Console['out']): Promise<number> {
  if (await isInUse(dir)) {
    out.write(`${dir} is in use by a running evaluator: ask it at /readyz, or stop it and check again\n`);
    return 2;
  }
  const { damage, lastPosition, streams, events } = await inspect(dir);
  for (const { message } of damage) out.write(`damaged: ${message}\n`);
  if (damage.length > 0) {
    out.write(`${dir} is damaged; to save what is sound: tgospa repair --data ${dir}\n`);
    return 1;
  }
  out.write(`${dir} is sound: ${lastPosition} records, ${streams.length} snapshots, ${events} events\n`);
  return 0;
}

/** Puts a data folder in order; resolves with the exit code. */
export async function runRepair(args: string[], { out }: Pick<Console, 'out'>): Promise<number> {
  const dirs = foldersOf('repair', args);
  if (dirs === null) {
    out.write(REPAIR_HELP);
    return 0;
  }
  const codes: number[] = [];
  for (const dir of dirs) codes.push(await repairOne(dir, out));
  return Math.max(...codes);
}

async function repairOne(dir: string, out: Console['out']): Promise<number> {
  if (await isInUse(dir)) {
    out.write(`${dir} is in use by a running evaluator; stop it before you repair its folder\n`);
    return 2;
  }
  const { damage } = await inspect(dir);
  if (damage.length === 0) {
    out.write(`${dir} is sound; nothing to repair\n`);
    return 0;
  }
  const aside = await repair(dir, Date.now());
  for (const { message } of damage) out.write(`damaged: ${message}\n`);
  const { streams } = await inspect(dir);
  out.write(`${dir} is repaired, with ${streams.length} snapshots; the old store is in ${aside}\n`);
  return 0;
}

/** The folder that is named, or those of its workers; null when help is wanted. */
function foldersOf(command: string, args: string[]): string[] | null {
  const line = new CommandLine(command, [OPTIONS], args);
  if (line.has('help')) return null;
  line.throwMistakes();
  const dir = line.text('data') ?? data.dir;
  const folders = slotFolders(dir, slotsOf(dir));
  if (!folders.every(hasStore))
    throw new UsageError(`${dir} does not contain an evaluator's data; name its data.dir with --data`);
  return folders;
}
