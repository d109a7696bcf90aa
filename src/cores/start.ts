/** Starts the evaluation: in this thread, or in as many workers as the configuration says. */
import { availableParallelism } from 'node:os';
import type { Config } from '../config/config.js';
import { WORKERS_MAX } from '../config/evaluator.js';
import { arrangeSlots } from '../live/rearrangement.js';
import type { Cores } from './cores.js';
import { Host, type HostParts } from './host.js';
import { LocalCore } from './local-core.js';

/** How many workers there are to be on so many cores: with `auto` one for each but the first, which has the sockets. */
export const workersOf = (workers: Config['evaluation']['workers'], cores = availableParallelism()): number =>
  workers === 'auto' ? Math.min(WORKERS_MAX, cores - 1) : workers;

/** Resolves when the stores are open; streams are served as they are recovered. */
export async function startCores(parts: HostParts): Promise<Cores> {
  const { config, clock, meters, logger } = parts;
  const workers = workersOf(config.evaluation.workers);
  if (workers > 0) return Host.start(parts, workers);
  await arrangeSlots(config.data, 1, logger);
  return LocalCore.start(config, clock, meters, logger);
}
