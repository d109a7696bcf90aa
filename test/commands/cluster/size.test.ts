/** `tgospa cluster size`: the model is arithmetic on what was measured, and what breaks first is told. */
import { strict as assert } from 'node:assert';
import { runCluster } from '../../../src/commands/cluster/cluster.js';
import { measureFrameDemand } from '../../../src/commands/cluster/frame-demand.js';
import { clusterSize, concerns, runSize } from '../../../src/commands/cluster/size.js';
import { UsageError } from '../../../src/commands/console/options.js';

const COST = {
  parseUs: 5,
  encodeUs: 5,
  decodeUs: 5,
  calmUs: 15,
  crowdUs: 50,
  jsonBytes: 864,
  logBytes: 500,
  snapshotBytes: 100_000,
};

/** Every solve of a test is verified, which takes its time. */
const BRIEFLY = { warm: 20, counted: 60 };

async function printed(...args: string[]): Promise<string> {
  let text = '';
  await runSize(args, { out: { write: (chunk: string) => (text += chunk) } as never }, () => COST);
  return text;
}

describe('tgospa cluster size', () => {
  it('multiplies what a frame costs by the frames', () => {
    assert.deepEqual(clusterSize(1000, 10, COST), {
      framesPerSecond: 20_000,
      logMegabytesPerSecond: 10,
      diskMegabytesPerSecond: 30,
      gatewayCores: 0.2,
      evaluatorCores: 0.4,
      evaluatorCoresCrowded: 1.1,
      brokerCores: 0.14,
      snapshotMegabytes: 100,
      series: 59_000,
      streamsPerPartition: 16,
    });
  });

  it('says what breaks first', () => {
    assert.deepEqual(concerns(clusterSize(1000, 10, COST)), []);
    assert.equal(concerns(clusterSize(1_000_000, 10, COST)).length, 3);
  });

  it('measures frames of the size asked for', () => {
    const small = measureFrameDemand(5, BRIEFLY);
    const large = measureFrameDemand(20, BRIEFLY);
    for (const cost of [small, large]) for (const [name, value] of Object.entries(cost)) assert.ok(value > 0, name);
    assert.ok(large.logBytes > 2 * small.logBytes && large.jsonBytes > 2 * small.jsonBytes);
    assert.ok(large.snapshotBytes > 1.5 * small.snapshotBytes);
  });

  it('prints a table, or JSON', async () => {
    const text = await printed('--streams', '200', '--objects', '5');
    assert.match(text, /^frames a second +4,000/m);
    assert.match(text, /Have about \d+ cores/);
    const { size, objects } = JSON.parse(await printed('--streams', '200', '--objects', '5', '--json'));
    assert.deepEqual([size.framesPerSecond, objects], [4000, 5]);
  });

  it('refuses what it does not know', async () => {
    await assert.rejects(runCluster(['seize'], {} as never), UsageError);
    await assert.rejects(printed('--streams', '0'), /--streams must be a whole number above 0, not 0/);
  });
});
