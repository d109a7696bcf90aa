/**
 * `npm run bench -- takeover [--streams S] [--fps F] [--objects O] [--rounds R] [--brokers 1|3] [--replay N]`: a
 * partition with so many streams, its feeds through a gateway of their own, and two evaluators: the one that owns it is
 * killed, again and again. Seconds from the kill until the other one serves all streams, of which the first are the
 * lease's (`cluster.expiryMs`), the processor time that it took, and how many records were repeated. Everybody shares
 * the cores of this machine. The last line is the whole result as JSON.
 */
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../src/client.js';
import { randomFrom } from '../kit/random.js';
import { NatsCluster } from '../kit/system/brokers/nats.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { mainThreadMs, processorMs } from '../kit/system/program.js';
import { until } from '../kit/system/system.js';
import { crowd } from './crowd.js';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '200' },
    fps: { type: 'string', default: '10' },
    objects: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '20' },
    brokers: { type: 'string', default: '1' },
    /** cluster.replayRecords, if not the default */
    replay: { type: 'string' },
    /** seconds before the first kill: as many records as are ever repeated must have come */
    calm: { type: 'string', default: '25' },
  },
});
const number = (name: keyof typeof values) => Number(values[name]);
const [streams, fps, rounds] = [number('streams'), number('fps'), number('rounds')];
const brokerCount = number('brokers');
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const random = randomFrom(1);
/** calm: few overlap */
const scene = crowd(number('objects'), 500, 7, 200_000);

type Figure = 'seconds' | 'ms' | 'openMs' | 'replayed' | 'mainMs' | 'cpuMs';

interface Taken {
  time: string;
  event: string;
  ms: number;
  openMs: number;
  streams: number;
  replayed: number;
}

const takenBy = ({ output }: EvaluatorProcess): Taken | undefined =>
  output
    .split('\n')
    .filter((line) => line.includes('"partition_taken"'))
    .map((line) => JSON.parse(line) as Taken)
    .at(-1);

const owns = ({ output }: EvaluatorProcess): boolean =>
  output.lastIndexOf('"partition_taken"') > output.lastIndexOf('"partition_lost"');

const brokers = new NatsCluster(brokerCount);
await brokers.start();
const sizes = { partitions: 1, replicas: brokerCount, logMaxBytes: 1 << 29, stateMaxBytes: 1 << 29 };
const config = (...roles: string[]) => ({
  cluster: { servers: brokers.urls, roles, ...sizes, ...(values.replay ? { replayRecords: number('replay') } : {}) },
  limits: { streams: 2 * streams, connectionsPerAddress: 3 * streams, connectionsPerToken: 3 * streams },
});
const gateway = await EvaluatorProcess.create(config('gateway', 'reader'));
let [owner, other] = [
  await EvaluatorProcess.create(config('evaluator')),
  await EvaluatorProcess.create(config('evaluator')),
];
const clients: FeedClient[] = [];
const results: Array<Record<Figure, number>> = [];
let isOver = false;

async function send(): Promise<void> {
  const beganMs = performance.now();
  for (let k = 1; !isOver; k++) {
    for (const [n, client] of clients.entries()) {
      const { reference, tracker } = scene[(k + 7 * (n >> 1)) % scene.length];
      client.send({ k, objects: (n % 2 === 0 ? reference : tracker) as unknown as ClientObject[] }).catch(() => {});
    }
    await sleep(Math.max(1, beganMs + (k * 1000) / fps - performance.now()));
  }
}

const connectFeed = (n: number): FeedClient =>
  connect({
    url: `${gateway.http.replace('http', 'ws')}/v1/ingest`,
    stream: `s${n >> 1}`,
    role: n % 2 === 0 ? 'reference' : 'tracker',
    ...(n % 2 === 0 ? {} : { tracker: 't' }),
    WebSocket: WebSocket as never,
    retryForever: true,
    backoffMs: 100,
  });

/** Kills the owner, and waits until the other one serves. */
async function takeOver(): Promise<void> {
  // a busy machine may have moved it meanwhile
  if (!owns(owner)) [owner, other] = [other, owner];
  const killedMs = Date.now();
  const { pid } = other;
  const spent = [mainThreadMs(pid), processorMs(pid)];
  await owner.kill();
  const taken = await until('another has it', () => {
    const last = takenBy(other);
    return last && Date.parse(last.time) > killedMs ? last : undefined;
  });
  const { time, ms, openMs, replayed } = taken;
  const seconds = (Date.parse(time) - killedMs) / 1000;
  if (taken.streams !== streams)
    throw new Error(`${taken.streams} of ${streams} streams were taken over: ${other.output.slice(-2000)}`);
  const [mainMs, cpuMs] = [mainThreadMs(pid) - spent[0], processorMs(pid) - spent[1]];
  results.push({ seconds, ms, openMs, replayed, mainMs, cpuMs });
  console.log(JSON.stringify(results.at(-1)));
  [owner, other] = [other, owner];
  await other.start();
}

try {
  await Promise.all([gateway.start(), owner.start()]);
  await until('there is an owner', () => takenBy(owner));
  await other.start();
  for (let n = 0; n < 2 * streams; n++) clients.push(connectFeed(n));
  const sending = send();
  await sleep(1000 * number('calm'));
  for (let round = 0; round < rounds; round++) {
    await takeOver();
    // who takes over next has been there for a while, as a rule
    await until('the other one is warm', () => other.output.includes('"evaluator_warm"'));
    // at any phase of the leases and of the snapshots
    await sleep(2000 + 3000 * random());
  }
  isOver = true;
  await sending;
} finally {
  isOver = true;
  await Promise.all(clients.map((client) => client.close({ flush: false }).catch(() => {})));
  await Promise.all([other, owner, gateway].map((one) => one.dispose()));
  await brokers.close();
}

const at = (key: Figure, share: number) => {
  const list = results.map((one) => one[key]).sort((a, b) => a - b);
  return list[Math.min(list.length - 1, Math.floor(share * list.length))];
};
const FIGURES: Figure[] = ['seconds', 'ms', 'openMs', 'replayed', 'mainMs', 'cpuMs'];
const summary = Object.fromEntries(FIGURES.map((key) => [key, { p50: at(key, 0.5), p99: at(key, 0.99) }]));
console.table(summary);
console.log(JSON.stringify({ streams, fps, rounds, brokers: brokerCount, ...summary }));
