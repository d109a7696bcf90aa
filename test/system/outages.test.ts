/**
 * Interruptions as users meet them: the real process, the package's client, frames at their own pace. The evaluator is
 * killed and started again, or suspended, its clock is set, its disk stands still, or a feed loses its line; in the
 * end counters, events and windows are those of a run that nobody interrupted. The long matrix is `outages.ts`;
 * OUTAGE_SEED repeats a run.
 */
import { strict as assert } from 'node:assert';
import { type Kind, type Outage, play } from '../kit/system/outage.js';

/** much longer than the lateness, which is the default */
const OUTAGE_MS = 8000;
const COMMON = { streams: 2, fps: 15, frames: 210 };

describe('an outage', () => {
  const seed = Number(process.env.OUTAGE_SEED ?? 1);

  it(`of eight seconds changes no counter, event or window, whoever is away, seed ${seed}`, async () => {
    const run = async (kind: Kind, outageMs: number) =>
      (await play({ ...COMMON, kind, outageMs, seed } satisfies Outage)).map(({ told: _, ...left }) => left);
    const kinds: Kind[] = ['kill', 'suspend', 'reference', 'tracker', 'disk', 'ahead', 'behind'];
    const [expected, ...outcomes] = await Promise.all([run('kill', 0), ...kinds.map((kind) => run(kind, OUTAGE_MS))]);
    for (const [n, kind] of kinds.entries()) assert.deepEqual(outcomes[n], expected, kind);
  });
});
