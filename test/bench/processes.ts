/**
 * `npm run bench -- processes [--frames N] [--streams S]`: a cluster on one broker that flushes, with one evaluator
 * process and with two; clients send frames of 20 objects as fast as they are acked, to all processes alike. Frames a
 * second until everything is evaluated, and processor time per frame of the evaluators, the broker and the senders: on
 * two cores they all share, so processor time tells more than the rate. The last line is the whole result as JSON.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { type ClientObject, connect } from '../../src/client.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { NatsServer } from '../kit/system/nats.js';
import { until } from '../kit/system/system.js';
import { crowd } from './crowd.js';

const { values } = parseArgs({
  options: { frames: { type: 'string', default: '3000' }, streams: { type: 'string', default: '8' } },
});
const [frameCount, streams] = [values.frames, values.streams].map(Number);
const scene = crowd(20, 500, 7);
/** before the clock runs: the compiler needs some thousand pushes */
const WARM_FRAMES = 500;
const TICKS_PER_SECOND = 100;

/** Processor time of a process so far, in microseconds. */
function spentUs(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
  return ((user + system) / TICKS_PER_SECOND) * 1e6;
}

async function measure(processes: number) {
  const broker = new NatsServer();
  await broker.start();
  const sizes = { partitions: 8, logMaxBytes: 1 << 28, stateMaxBytes: 1 << 28, moveMs: 100 };
  const config = { cluster: { servers: [broker.url], ...sizes }, streams: { defaults: { windowFrames: 60 } } };
  const evaluators: EvaluatorProcess[] = [];
  for (let n = 0; n < processes; n++) evaluators.push(await EvaluatorProcess.create(config));
  await Promise.all(evaluators.map((one) => one.start()));
  const owned = (one: EvaluatorProcess) =>
    one.output.split('partition_taken').length - one.output.split('partition_released').length;
  await until('partitions are shared', () => evaluators.every((one) => owned(one) === sizes.partitions / processes));
  const clients = Array.from({ length: 2 * streams }, (_, n) =>
    connect({
      url: `${evaluators[n % processes].http.replace('http', 'ws')}/v1/ingest`,
      stream: `s${n >> 1}`,
      role: n % 2 === 0 ? 'reference' : 'tracker',
      ...(n % 2 === 0 ? {} : { tracker: 't' }),
      WebSocket: WebSocket as never,
      batchFrames: 16,
      bufferFrames: 256,
    }),
  );
  const send = async (from: number, to: number) => {
    await Promise.all(
      clients.map(async (client, n) => {
        for (let k = from; k <= to; k++) {
          const { reference, tracker } = scene[k % scene.length];
          await client.send({ k, objects: (n % 2 === 0 ? reference : tracker) as unknown as ClientObject[] });
        }
        await client.flush();
      }),
    );
    await until('everything is evaluated', async () => {
      const answer = await evaluators[0].json<{ streams: Array<{ feeds: Array<{ seq: number }> }> }>('/v1/streams');
      return (
        answer.streams.length === streams && answer.streams.every(({ feeds }) => feeds.every(({ seq }) => seq >= to))
      );
    });
  };
  await send(1, WARM_FRAMES);
  const spent = () => [evaluators.reduce((sum, { pid }) => sum + spentUs(pid), 0), spentUs(broker.pid)];
  const before = [...spent(), spentUs(process.pid)];
  const began = performance.now();
  await send(WARM_FRAMES + 1, WARM_FRAMES + frameCount);
  const seconds = (performance.now() - began) / 1000;
  const after = [...spent(), spentUs(process.pid)];
  const frames = frameCount * clients.length;
  const [evaluatorUs, brokerUs, senderUs] = after.map((us, n) => Math.round(((us - before[n]) / frames) * 10) / 10);
  await Promise.all(clients.map((client) => client.close({ flush: false })));
  await Promise.all(evaluators.map((one) => one.dispose()));
  await broker.close();
  return { processes, framesPerSecond: Math.round(frames / seconds), evaluatorUs, brokerUs, senderUs };
}

const table = [await measure(1), await measure(2)];
console.table(table);
console.log(JSON.stringify({ frames: frameCount, streams, table }));
