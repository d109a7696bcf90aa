/** How much processor time another process has used, and its main thread alone, as the kernel counts it. */
import { readFileSync } from 'node:fs';

/** of the kernel's clock, on every Linux that Node runs on */
const TICK_MS = 10;

/** Milliseconds of all of its threads so far. */
export const processorMs = (pid: number): number => readTicks(`/proc/${pid}/stat`) * TICK_MS;

/** Milliseconds of the thread that runs its event loop. */
export const mainThreadMs = (pid: number): number => readTicks(`/proc/${pid}/task/${pid}/stat`) * TICK_MS;

/** User and system time; the name of a program may have spaces, and ends with the last parenthesis. */
function readTicks(path: string): number {
  const [user, system] = readFileSync(path, 'utf8').split(') ').at(-1)!.split(' ').slice(11, 13).map(Number);
  return user + system;
}
