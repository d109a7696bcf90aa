/**
 * `npm run bench -- processes [--frames N] [--streams S] [--fps F]`: a cluster on one broker that flushes, a gateway,
 * and one evaluator process or two; clients send frames of 20 objects at a rate that the machine carries. What each
 * process costs: processor time per frame, as the kernel counts it, of the gateway, of the evaluators together and of
 * the one with more to do, of the broker, and of the senders. On two cores they all share, so that tells what a
 * rate would not: a process with a core of its own carries 1,000,000 / microseconds. The rate that was held is said
 * too. The last line is the whole result as JSON.
 */
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../src/client.js';
import { NatsServer } from '../kit/system/brokers/nats.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { processorMs } from '../kit/system/program.js';
import { until } from '../kit/system/system.js';
import { crowd } from './crowd.js';

const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '2000' },
    streams: { type: 'string', default: '16' },
    /** of each feed */
    fps: { type: 'string', default: '100' },
  },
});
const [frameCount, streams, fps] = [values.frames, values.streams, values.fps].map(Number);
/** calm: few overlap */
const scene = crowd(20, 500, 7, 200_000);
/** before the clock runs: the compiler needs some thousand pushes */
const WARM_FRAMES = 500;
/** frames of a feed that are sent at once, and share a message */
const BURST = 16;
const PARTITIONS = 8;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A broker, a gateway, and so many evaluators. */
class Cluster {
  readonly broker = new NatsServer();
  gateway!: EvaluatorProcess;
  readonly evaluators: EvaluatorProcess[] = [];
  clients: FeedClient[] = [];

  async start(processes: number): Promise<void> {
    await this.broker.start();
    const sizes = { partitions: PARTITIONS, logMaxBytes: 1 << 28, stateMaxBytes: 1 << 28, moveMs: 100 };
    const config = (...roles: string[]) => ({ cluster: { servers: [this.broker.url], roles, ...sizes } });
    this.gateway = await EvaluatorProcess.create(config('gateway', 'reader'));
    for (let n = 0; n < processes; n++) this.evaluators.push(await EvaluatorProcess.create(config('evaluator')));
    await Promise.all([this.gateway, ...this.evaluators].map((one) => one.start()));
    await until('partitions are shared', () => this.evaluators.every((one) => owned(one) === PARTITIONS / processes));
    this.clients = Array.from({ length: 2 * streams }, (_, n) => this.#connect(n));
  }

  #connect(n: number): FeedClient {
    return connect({
      url: `${this.gateway.http.replace('http', 'ws')}/v1/ingest`,
      stream: `s${n >> 1}`,
      role: n % 2 === 0 ? 'reference' : 'tracker',
      ...(n % 2 === 0 ? {} : { tracker: 't' }),
      WebSocket: WebSocket as never,
      batchFrames: BURST,
      bufferFrames: 4 * BURST,
    });
  }

  /** Resolves when all of these frames are evaluated. */
  async send(from: number, to: number): Promise<void> {
    const beganMs = performance.now();
    for (let first = from; first <= to; first += BURST) {
      const last = Math.min(to, first + BURST - 1);
      await Promise.all(this.clients.map((client, n) => burst(client, n, first, last)));
      await sleep(Math.max(0, beganMs + ((last - from + 1) * 1000) / fps - performance.now()));
    }
    await Promise.all(this.clients.map((client) => client.flush()));
    await until('everything is evaluated', async () => {
      const { streams: known } = await this.gateway.json<{ streams: Known[] }>('/v1/streams');
      return known.length === streams && known.every(({ feeds }) => feeds.every(({ seq }) => seq >= to));
    });
  }

  async end(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close({ flush: false }).catch(() => {})));
    await Promise.all([this.gateway, ...this.evaluators].map((one) => one?.dispose()));
    await this.broker.close();
  }
}

interface Known {
  feeds: Array<{ seq: number }>;
}

const times = (text: string, word: string) => text.split(`"${word}"`).length - 1;
const owned = ({ output }: EvaluatorProcess) =>
  times(output, 'partition_taken') - times(output, 'partition_released') - times(output, 'partition_lost');

async function burst(client: FeedClient, n: number, first: number, last: number): Promise<void> {
  for (let k = first; k <= last; k++) {
    const { reference, tracker } = scene[(k + 7 * (n >> 1)) % scene.length];
    await client.send({ k, objects: (n % 2 === 0 ? reference : tracker) as unknown as ClientObject[] });
  }
}

async function measure(processes: number) {
  const cluster = new Cluster();
  try {
    await cluster.start(processes);
    await cluster.send(1, WARM_FRAMES);
    const pids = [cluster.gateway.pid, cluster.broker.pid, process.pid, ...cluster.evaluators.map(({ pid }) => pid)];
    const before = pids.map(processorMs);
    const began = performance.now();
    await cluster.send(WARM_FRAMES + 1, WARM_FRAMES + frameCount);
    const seconds = (performance.now() - began) / 1000;
    const frames = frameCount * cluster.clients.length;
    const perFrame = pids.map((pid, n) => Math.round(((processorMs(pid) - before[n]) * 10_000) / frames) / 10);
    const [gatewayUs, brokerUs, senderUs, ...each] = perFrame;
    const evaluatorUs = Math.round(10 * each.reduce((sum, us) => sum + us, 0)) / 10;
    const framesPerSecond = Math.round(frames / seconds);
    return { processes, framesPerSecond, gatewayUs, evaluatorUs, busiestUs: Math.max(...each), brokerUs, senderUs };
  } finally {
    await cluster.end();
  }
}

const table = [await measure(1), await measure(2)];
console.table(table);
console.log(JSON.stringify({ frames: frameCount, streams, fps, table }));
