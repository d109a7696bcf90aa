/**
 * Deterministic simulation, by hand: `npm run simulate -- --seeds 1000 --first 1` plays so many seeds and prints those
 * that fail; `npm run simulate -- --seed 17` plays one, and prints what happened.
 */
import { parseArgs } from 'node:util';
import { simulate } from './run.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
  },
});

async function playOne(seed: number): Promise<void> {
  const run = await simulate(seed);
  const { scene, kind, config } = run.plan;
  const { frames, periodMs, windowFrames, byTime, feeds } = scene;
  console.log({ seed, kind, frames, periodMs, windowFrames, byTime, feeds: feeds.length, data: config.data });
  for (const line of run.story) console.log(line);
  for (const violation of run.violations) console.log(`FAILED: ${violation}`);
  console.log({ digest: run.digest, events: run.events, violations: run.violations.length });
  if (run.violations.length > 0) process.exitCode = 1;
}

async function playMany(first: number, count: number): Promise<void> {
  const startMs = performance.now();
  const kinds: Record<string, number> = {};
  let failed = 0;
  for (let seed = first; seed < first + count; seed++) {
    const { plan, violations } = await simulate(seed);
    kinds[plan.kind] = (kinds[plan.kind] ?? 0) + 1;
    if (violations.length === 0) continue;
    failed++;
    console.log(`seed ${seed} (${plan.kind}): ${violations[0].slice(0, 400)}`);
  }
  const seconds = (performance.now() - startMs) / 1000;
  const cpu = process.cpuUsage();
  const cpuSeconds = (cpu.user + cpu.system) / 1e6;
  console.log(
    JSON.stringify({ first, seeds: count, failed, kinds, seconds, cpuSeconds, perMinute: (60 * count) / seconds }),
  );
  if (failed > 0) process.exitCode = 1;
}

if (values.seed !== undefined) await playOne(Number(values.seed));
else await playMany(Number(values.first), Number(values.seeds));
