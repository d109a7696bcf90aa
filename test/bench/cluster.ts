/**
 * `npm run bench -- cluster [--frames N] [--partitions P] [--brokers 1|3] [--rounds R]`: frames of 20 objects made
 * durable by the embedded log and by JetStream on loopback, with the same batches, in turns. Both flush to the same
 * disk before they acknowledge; with three brokers every frame is written three times, by the same two cores. CPU is
 * that of this process: the brokers' is their own. The last line is the whole result as JSON.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectNats } from '../../src/cluster/nats/connection.js';
import { makeStream, PartitionStream } from '../../src/cluster/nats/partition-stream.js';
import { PartitionLog } from '../../src/cluster/partition-log.js';
import { readConfig } from '../../src/config/config.js';
import { Log } from '../../src/store/log.js';
import type { LogRecord } from '../../src/store/record.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { NatsCluster, NatsServer } from '../kit/system/brokers/nats.js';
import { crowd } from './crowd.js';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '40000' },
    partitions: { type: 'string', default: '4' },
    brokers: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
  },
});
const [frameCount, partitions, brokerCount, rounds] = [
  values.frames,
  values.partitions,
  values.brokers,
  values.rounds,
].map(Number);
/** of a partition, unacknowledged: what clients with credit have underway */
const UNDERWAY = 2000;

const scene = crowd(20, 500, 7).map(({ tracker }) => pack(tracker as WireObject[]));
const recordOf = (partition: number, n: number): LogRecord => ({
  kind: 'part',
  stream: `s${partition}`,
  atMs: 1_700_000_000_000 + n,
  role: 'tracker',
  tracker: 't',
  part: { seq: n, k: n, objects: scene[n % scene.length] },
});

interface Figures {
  framesPerSecond: number;
  cpuMicroseconds: number;
}

/** Every partition appends its share, with so many underway. */
async function measure(append: (partition: number, record: LogRecord) => Promise<unknown>): Promise<Figures> {
  const began = performance.now();
  const cpu = process.cpuUsage();
  const share = Math.floor(frameCount / partitions);
  await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      for (let n = 0; n < share; n += UNDERWAY) {
        const count = Math.min(UNDERWAY, share - n);
        await Promise.all(Array.from({ length: count }, (_, m) => append(partition, recordOf(partition, n + m))));
      }
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  const frames = share * partitions;
  return {
    framesPerSecond: Math.round((frames / (performance.now() - began)) * 1000),
    cpuMicroseconds: Math.round(((user + system) / frames) * 10) / 10,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'tgospa-bench-cluster-'));
const { data } = readConfig({ text: '', overrides: { data: { dir: join(folder, 'data') } }, env: {} }).config;
const embedded = await Log.open(data, {
  now: Date.now,
  committed() {},
  applied: () => 0,
  heldBack() {},
  faultChanged() {},
});
const brokers = brokerCount === 3 ? new NatsCluster() : new NatsServer();
await brokers.start();
const servers = brokers instanceof NatsCluster ? brokers.urls : [brokers.url];
const connection = await connectNats({ name: 'bench', servers, connectTimeoutMs: 5000, heartbeatMs: 5000 });
const logs: PartitionLog[] = [];
for (let p = 0; p < partitions; p++) {
  await makeStream(connection, { name: `LOG${p}`, subjects: [`log.${p}`], replicas: brokerCount, maxBytes: 2 ** 30 });
  const times = { gatherMs: 10, timeoutMs: 10_000, retryMs: 100, stallMs: 10_000 };
  const stream = await PartitionStream.open(connection, `LOG${p}`, `log.${p}`, times);
  const { commitBytes: batchBytes, queueMaxBytes } = data;
  logs.push(new PartitionLog(stream, { batchBytes, queueMaxBytes, ...times }));
}

const engines = {
  embedded: () => measure((_, record) => embedded.append(record)),
  // as gateways do
  jetstream: () => measure((partition, record) => logs[partition].appendBatched(record)),
};
const results: Record<keyof typeof engines, Figures[]> = { embedded: [], jetstream: [] };
// the first round warms up
for (let round = 0; round <= rounds; round++)
  for (const name of ['embedded', 'jetstream'] as const) {
    const figures = await engines[name]();
    if (round > 0) results[name].push(figures);
  }

const median = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const summary = Object.fromEntries(
  Object.entries(results).map(([name, list]) => [
    name,
    {
      framesPerSecond: median(list.map(({ framesPerSecond }) => framesPerSecond)),
      cpuMicroseconds: median(list.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    },
  ]),
);
console.table(summary);
const ratio = summary.jetstream.framesPerSecond / summary.embedded.framesPerSecond;
console.log(`JetStream makes ${ratio.toFixed(2)} times as many frames a second durable as the embedded log`);
console.log(JSON.stringify({ partitions, brokers: brokerCount, frames: frameCount, ...summary, ratio }));

for (const log of logs) await log.close(1000);
await connection.close();
await brokers.close();
await embedded.close();
rmSync(folder, { recursive: true, force: true });
