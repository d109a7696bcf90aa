/**
 * The far end of the pipeline benchmark, in a process of its own: the whole evaluator (`evaluator FOLDER`), or its
 * floor (`floor`): the same sockets, JSON.parse and validation, and nothing else. Answers questions of its parent about
 * time and memory.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { writeHeapSnapshot } from 'node:v8';
import { type WebSocket, WebSocketServer } from 'ws';
import { startApp } from '../../../src/app.js';
import { readConfig } from '../../../src/config/config.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { Fault } from '../../../src/wire/fault.js';
import { checkFrame, type FrameRules } from '../../../src/wire/frame-check.js';
import { parseMessage } from '../../../src/wire/messages.js';

export interface Measured {
  heapBytes: number;
  residentBytes: number;
  reports: number;
  /** milliseconds from the arrival of the last part of a frame to its report */
  latencyMs: { p50: number; p99: number };
  /** the same, of the streams called light and heavy, of which the latter is nowhere else */
  lightMs: { p50: number; p99: number; max: number };
  heavyMs: { p50: number; p99: number };
  loopDelayMs: { p50: number; p99: number; max: number };
  cpuSeconds: number;
  /** since the process began, with its start and what it recovered */
  wholeCpuSeconds: number;
  /** of that, what the thread with the sockets has used */
  mainSeconds: number;
}

/** this process has one client, and every reader of it comes from one address */
const NO_SHARES = { streams: 2000, streamsPerClient: 2000, newStreamsPerMinute: 100_000 };
const [role, folder, settings] = process.argv.slice(2);
/** reports of workers come here only when somebody reads them, which costs time */
const readsReports = JSON.parse(settings ?? '{}').readsReports !== false;
/** sampled every millisecond; what is measured is the time between samples */
const loopDelay = monitorEventLoopDelay({ resolution: 1 });
const latency = createHistogram();
const light = createHistogram();
const heavy = createHistogram();
let reports = 0;
let cpu = process.cpuUsage();
let main = mainSeconds();

const url = role === 'floor' ? await startFloor() : await startEvaluator();
process.on('message', (question) => {
  if (question === 'reset') reset();
  else if (question === 'measure') process.send!({ measured: measure() });
  else if ((question as { judged?: number }).judged !== undefined)
    void whenJudged((question as { judged: number }).judged);
  else if (question === 'heap') process.send!({ file: writeHeapSnapshot() });
});
process.on('disconnect', () => process.exit(0));
reset();
process.send!({ url });

async function whenJudged(count: number): Promise<void> {
  while (reports < count) await new Promise((resolve) => setTimeout(resolve, 20));
  process.send!({ judged: reports });
}

function reset(): void {
  loopDelay.enable();
  loopDelay.reset();
  latency.reset();
  light.reset();
  heavy.reset();
  reports = 0;
  cpu = process.cpuUsage();
  main = mainSeconds();
}

function wholeCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Processor time of the main thread so far. */
function mainSeconds(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e9;
}

function measure(): Measured {
  const { user, system } = process.cpuUsage(cpu);
  const times = {
    reports,
    latencyMs: { p50: latency.percentile(50) / 1000, p99: latency.percentile(99) / 1000 },
    heavyMs: { p50: heavy.percentile(50) / 1000, p99: heavy.percentile(99) / 1000 },
    lightMs: { p50: light.percentile(50) / 1000, p99: light.percentile(99) / 1000, max: light.max / 1000 },
    loopDelayMs: {
      p50: loopDelay.percentile(50) / 1e6,
      p99: loopDelay.percentile(99) / 1e6,
      max: loopDelay.max / 1e6,
    },
    cpuSeconds: (user + system) / 1e6,
    wholeCpuSeconds: wholeCpuSeconds(),
    mainSeconds: mainSeconds() - main,
  };
  global.gc!();
  global.gc!();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed + external, residentBytes: rss, ...times };
}

async function startEvaluator(): Promise<string> {
  const own = { listen: { port: 0 }, data: { dir: folder }, limits: NO_SHARES };
  const { readsReports: _, ...given } = JSON.parse(settings);
  const overrides = { ...own, ...given };
  const { config } = readConfig({ overrides, env: {} });
  const warnings = createLogger({ level: 'warn' });
  // the port is open while streams are recovered; the app is there when they are
  const info = (event: string, fields: Record<string, unknown> = {}) => {
    if (event === 'listening') process.send!({ listening: fields.url });
  };
  const app = await startApp(config, { env: {}, logger: { ...warnings, info } });
  app.live.readReports(readsReports);
  app.live.events$.subscribe((event) => {
    if (event.type !== 'report') return;
    reports++;
    const late = Math.max(1, Math.round((performance.timeOrigin + performance.now() - event.receivedMs) * 1000));
    (event.stream === 'light' ? light : event.stream === 'heavy' ? heavy : latency).record(late);
  });
  return app.urls.ingest;
}

async function startFloor(): Promise<string> {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { limits } = readConfig({ env: {} }).config;
  const sockets = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: limits.payloadBytes });
  sockets.on('connection', (socket) => {
    const rules: FrameRules = {
      objectsMax: limits.objects,
      idLengthMax: limits.idLength,
      shape: 'box',
      dimensions: 0,
      geodesic: false,
      pointRemedy: '',
      strict: false,
    };
    socket.on('message', (data) => answer(socket, String(data), rules, limits.creditFrames));
  });
  return `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

function answer(socket: WebSocket, text: string, rules: FrameRules, credit: number): void {
  const message = parseMessage(text);
  if (message instanceof Fault) throw new Error(message.message);
  if (message.type === 'hello') socket.send(JSON.stringify({ type: 'welcome', nextSeq: 1, credit }));
  if (message.type === 'end') socket.send('{"type":"ended"}');
  if (message.type !== 'frames') return;
  let seq = 0;
  for (const raw of message.raw) {
    const part = checkFrame(raw, rules);
    if (part instanceof Fault) throw new Error(part.message);
    seq = part.seq;
  }
  socket.send(`{"type":"ack","seq":${seq}}`);
}
