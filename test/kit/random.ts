/**
 * Random numbers of all tests and benchmarks: one seeded generator, that of the built-in scene, so that a seed gives
 * the same numbers on every machine. Tests name the seed in their title or in their messages. (Simulated days of spikes
 * have a generator with a longer period: `Chance` in bench/spike-scene.ts.)
 */
import { randomFrom } from '../../src/simulation/walkers.js';

/** Numbers in [0, 1). */
export type Random = () => number;

export { randomFrom };

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)];
