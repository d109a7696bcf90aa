/**
 * Runs a cluster on three brokers, or on one, and does everything to it that it must survive, seed by seed; see
 * `kit/system/chaos.ts`. `npm run chaos -- --seeds 20 --first 1 --brokers 3`, as root: lines between machines and the
 * power of the brokers are cut too, unless `--troubles` names others. Exit code 1 when a run is not what an
 * uninterrupted one would have been, or when nobody was ever fenced in it, or no line cut that could have been.
 */
import { parseArgs } from 'node:util';
import { randomFrom } from './kit/random.js';
import { Chaos, type Trouble } from './kit/system/chaos.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
    evaluators: { type: 'string', default: '2' },
    gateways: { type: 'string', default: '1' },
    brokers: { type: 'string', default: '3' },
    streams: { type: 'string', default: '8' },
    fps: { type: 'string', default: '20' },
    partitions: { type: 'string', default: '8' },
    troubles: { type: 'string' },
    /** a folder for what everybody logged in runs that fail */
    logs: { type: 'string' },
  },
});
const number = (name: keyof typeof values) => Number(values[name]);
const EVERYTHING: Trouble[] = ['kill', 'suspend', 'isolate', 'gateway', 'broker', 'power'];
const OF_THREE: Trouble[] = ['disk', 'split', 'line', 'half'];
const chosen =
  (values.troubles?.split(',') as Trouble[]) ?? (values.brokers === '1' ? EVERYTHING : [...EVERYTHING, ...OF_THREE]);
const all: number[] = [];
let failed = 0;
for (let seed = number('first'); seed < number('first') + number('seeds'); seed++) {
  const random = randomFrom(seed);
  const troubles = shuffled(chosen, random);
  const began = performance.now();
  const plan = {
    seed,
    evaluators: number('evaluators'),
    gateways: number('gateways'),
    brokers: number('brokers') === 1 ? (1 as const) : (3 as const),
    streams: number('streams'),
    fps: number('fps'),
    partitions: number('partitions'),
    troubles,
    calmMs: 2500,
    renewMs: 600,
    expiryMs: 2500,
    cutMs: 8000,
    ...(values.logs ? { logs: values.logs } : {}),
  };
  try {
    const { takeovers, windows, ...sums } = await new Chaos(plan, (line) => console.log(`  ${line}`)).run();
    all.push(...takeovers);
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(
      `seed ${seed}: equal, ${JSON.stringify(sums)}, takeovers ${takeovers.join(' ')} s, ${seconds} s in all`,
    );
    if (sums.fenced === 0) throw new Error('nobody was fenced: this run shows nothing');
    if (sums.cuts === 0 && chosen.includes('isolate')) throw new Error('no line was cut: this run shows nothing');
  } catch (error) {
    failed++;
    console.log(`seed ${seed}: ${(error as Error).message}`);
  }
}
all.sort((a, b) => a - b);
const at = (share: number) => all[Math.min(all.length - 1, Math.floor(share * all.length))];
if (all.length > 0) console.log(`${all.length} takeovers: median ${at(0.5)} s, p99 ${at(0.99)} s`);
console.log(`${failed} of ${number('seeds')} seeds failed`);
process.exitCode = failed > 0 ? 1 : 0;

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const rest = [...list];
  return list.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]);
}
