/** `tgospa cluster`: how one stands, and how large one must be. */
import type { Console } from '../console/console.js';
import { UsageError } from '../console/options.js';

const HELP = [
  'Usage: tgospa cluster status [options]   who is there, who owns what, who is behind',
  '       tgospa cluster size [options]     what so many streams need, from what a frame costs here',
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
  if (word !== 'size') throw new UsageError('say what about a cluster: tgospa cluster status, or tgospa cluster size');
  await (await import('./size.js')).runSize(rest, console);
  return 0;
}
