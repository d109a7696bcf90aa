/**
 * The matrix of interruptions, by hand, because it takes as long as the outages last:
 *   node dist/test/system/outages.js [--kinds kill,suspend,reference,tracker,disk,ahead,behind] [--fps 10,30] [--outage 1,8,60] [--seeds 10] [--streams 10]
 * Prints one line of JSON for each run; exits with 1 when one differs from a run that nobody interrupted. A run whose
 * senders were themselves behind by half the lateness is no test of anything: it is `starved`, and repeated.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { type Aftermath, type Kind, play, sender } from '../kit/system/outage.js';

const { values } = parseArgs({
  options: {
    kinds: { type: 'string', default: 'kill' },
    fps: { type: 'string', default: '10,30' },
    outage: { type: 'string', default: '1,8,60' },
    seeds: { type: 'string', default: '10' },
    first: { type: 'string', default: '1' },
    streams: { type: 'string', default: '10' },
  },
});
const numbers = (text: string) => text.split(',').map(Number);
const streams = Number(values.streams);
/** seconds before the outage, and after it */
const AROUND_S = 14;
/** milliseconds: half of pairing.latenessMs */
const STARVED_MS = 1000;
const ATTEMPTS_MAX = 4;
/** streams whose events are printed when a run differs */
const TOLD_MAX = 2;

const isSame = ({ told: _, ...left }: Aftermath, { told: __, ...right }: Aftermath): boolean =>
  isDeepStrictEqual(left, right);

/** What differs between two runs, in figures, and what was told of the first streams that differ. */
function difference(left: Aftermath[], right: Aftermath[]): object {
  const sums: Record<string, number> = {};
  for (const { events } of left)
    for (const [key, count] of Object.entries(events)) sums[key] = (sums[key] ?? 0) + count;
  const missed = left.reduce((sum, { counters }) => {
    const line = counters.find((one) => one.startsWith('tgospa_missed_total'));
    return sum + Number(line?.split(' ')[1] ?? 0);
  }, 0);
  const windows = left.filter(({ window }, n) => !isDeepStrictEqual(window, right[n].window)).length;
  const counters = left.filter((one, n) => !isDeepStrictEqual(one.counters, right[n].counters)).length;
  const differs = left.filter((one, n) => !isSame(one, right[n]));
  return { missed, events: sums, windows, counters, told: differs.slice(0, TOLD_MAX).map(({ told }) => told) };
}

let failed = 0;
for (const kind of values.kinds.split(',') as Kind[])
  for (const fps of numbers(values.fps))
    for (const outageS of numbers(values.outage)) {
      const frames = fps * (outageS + AROUND_S);
      const common = { kind, streams, fps, frames };
      const expected = await play({ ...common, outageMs: 0, seed: 0 });
      for (let seed = Number(values.first); seed < Number(values.first) + Number(values.seeds); seed++) {
        for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
          const got = await play({ ...common, outageMs: outageS * 1000, seed });
          const equal = got.every((one, n) => isSame(one, expected[n]));
          const lagMs = Math.round(sender.lagMs);
          const starved = !equal && lagMs > STARVED_MS;
          if (!equal && !(starved && attempt < ATTEMPTS_MAX)) failed++;
          const outcome = starved ? { starved } : { equal, ...(equal ? {} : difference(got, expected)) };
          console.log(JSON.stringify({ kind, fps, outageS, seed, lagMs, ...outcome }));
          if (!starved) break;
        }
      }
    }
process.exitCode = failed > 0 ? 1 : 0;
