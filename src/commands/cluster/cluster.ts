/** `tgospa cluster`: how one stands, and how large one must be. */
import type { Console } from '../console/console.js';
import { UsageError } from '../console/options.js';

const HELP = [
  'Usage: tgospa cluster status [options]   which processes are running, what each owns, which are behind',
  '       tgospa cluster size [options]     estimated resources, from what a frame costs on this machine',
  '',
  'More: tgospa cluster status --help, tgospa cluster size --help',
  '',
].join('\n');

/** Resolves with the exit code. */
export async function runCluster(args: string[], console: Pick<Console, 'out' | 'err'>): Promise<number> {
  const [word, ...rest] = args;
  if (word === '--help') {
    console.out.write(HELP);
    return 0;
  }
  if (word === 'status') return (await import('./status.js')).runStatus(rest, console);
  if (word !== 'size')
    throw new UsageError('missing or unknown subcommand; use tgospa cluster status or tgospa cluster size');
  await (await import('./size.js')).runSize(rest, console);
  return 0;
}
