/**
 * Random numbers of all tests and benchmarks: the seeded generator of the built-in scenes, so that a seed gives the
 * same numbers on every machine. Tests name the seed in their title or in their messages. (Simulated days of spikes
 * have a generator with a longer period: `Chance` in bench/spike-scene.ts.)
 */
import { type Random, randomFrom } from '../../src/simulation/random.js';

export { type Random, randomFrom };

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)];
