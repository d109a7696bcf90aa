/**
 * A cluster of real processes on real brokers, with real clients, to which things are done: evaluators are killed,
 * brokers are killed, an owner stands still for longer than its lease. What is left in the end is judged by
 * `cluster-judge.ts`.
 */
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../../src/client.js';
import { connectNats } from '../../../src/cluster/nats/connection.js';
import { randomFrom } from '../random.js';
import { type Acked, judge, type Verdict } from './cluster-judge.js';
import { EvaluatorProcess, timeless } from './evaluator-process.js';
import { NatsCluster } from './nats.js';
import { SYSTEM_TIMEOUT_MS, until } from './system.js';

export interface ChaosPlan {
  seed: number;
  evaluators: number;
  /** 1, or 3 that replicate */
  brokers: 1 | 3;
  streams: number;
  fps: number;
  partitions: number;
  /** what happens, in this order, with calm between */
  troubles: Trouble[];
  calmMs: number;
  renewMs: number;
  expiryMs: number;
}

/** of an evaluator: killed, stands still; of a broker: killed, killed and its disk is lost */
export type Trouble = 'kill' | 'suspend' | 'broker' | 'disk';

export interface ChaosResult extends Verdict {
  /** seconds from a kill or a stop until its last partition was served by somebody else */
  takeovers: number[];
  /** partitions whose owner heard that it was none any more */
  fenced: number;
  frames: number;
}

const SERIES = { tracker: 't', profile: 'online-surveillance' };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function objectsAt(stream: number, k: number, isTracker: boolean): ClientObject[] {
  const all = Array.from({ length: 4 }, (_, n): ClientObject => {
    const left = 120 * n + ((k * (n + 1 + stream)) % 60);
    const id = isTracker && Math.floor(k / 40) % 2 === 1 && n < 2 ? 1 - n : n;
    return { id: `${id}`, box: [left + (isTracker ? k % 3 : 0), 40 * n, 50, 90] };
  });
  return isTracker && k % 9 === 0 ? all.slice(1) : all;
}

interface Logged {
  time: string;
  event: string;
  partition?: number;
}

const logged = (output: string): Logged[] =>
  output.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Logged];
    } catch {
      return [];
    }
  });

/** The partitions that a process serves, by what it has logged; on a busy machine it may be none for a while. */
function ownedBy(evaluator: EvaluatorProcess): Set<number> {
  const owned = new Set<number>();
  for (const { event, partition } of logged(evaluator.output))
    if (event === 'partition_taken') owned.add(partition!);
    else if (event === 'partition_lost' || event === 'partition_released') owned.delete(partition!);
  return owned;
}

export class Chaos {
  readonly #random: () => number;
  readonly #brokers: NatsCluster;
  #evaluators: EvaluatorProcess[] = [];
  #clients: FeedClient[] = [];
  readonly #acked = new Map<string, number>();
  readonly #takeovers: number[] = [];
  /** what processes had printed that were killed */
  readonly #outputs: string[] = [];
  #k = 0;
  #over = false;
  #rejects: string[] = [];

  constructor(
    readonly plan: ChaosPlan,
    readonly say: (line: string) => void = () => {},
  ) {
    this.#random = randomFrom(plan.seed);
    this.#brokers = new NatsCluster(plan.brokers);
  }

  get #config() {
    const { partitions, renewMs, expiryMs, brokers: replicas } = this.plan;
    const sizes = { logMaxBytes: 1 << 26, logKeepBytes: 1 << 26, stateMaxBytes: 1 << 26 };
    return {
      cluster: { servers: this.#brokers.urls, replicas, partitions, renewMs, expiryMs, moveMs: 500, ...sizes },
      data: { snapshotFrames: 40 },
      evaluation: { budgetMs: 600_000 },
      streams: { defaults: { windowFrames: 20 } },
    };
  }

  async run(): Promise<ChaosResult> {
    try {
      await this.#brokers.start();
      for (let n = 0; n < this.plan.evaluators; n++) this.#evaluators.push(await EvaluatorProcess.create(this.#config));
      await Promise.all(this.#evaluators.map(started));
      await this.#served();
      const sending = this.#send();
      for (const trouble of this.plan.troubles) {
        await sleep(this.plan.calmMs * (0.5 + this.#random()));
        await this.#make(trouble);
        await this.#served();
      }
      await sleep(this.plan.calmMs);
      this.#over = true;
      await sending;
      return await this.#judge();
    } catch (error) {
      for (const [n, one] of this.#evaluators.entries()) this.say(`evaluator ${n}: ${one.output.slice(-3000)}`);
      for (const broker of this.#brokers.servers) this.say(`${broker.options.name}: ${broker.logged.slice(-2000)}`);
      throw error;
    } finally {
      await Promise.all(this.#clients.map((client) => client.close({ flush: false }).catch(() => {})));
      await Promise.all(this.#evaluators.map((one) => one.dispose()));
      await this.#brokers.close();
    }
  }

  /** Every process says that every partition has an owner. */
  async #served(): Promise<void> {
    await until('all partitions are served', async () => {
      const ready = this.#evaluators.map((one) =>
        one.json<{ ready: boolean }>('/readyz').catch(() => ({ ready: false })),
      );
      return (await Promise.all(ready)).every((one) => one.ready);
    });
  }

  async #send(): Promise<void> {
    for (let n = 0; n < this.plan.streams; n++)
      for (const role of ['reference', 'tracker'] as const) this.#clients.push(this.#connect(n, role));
    while (!this.#over) {
      this.#k++;
      for (const [at, client] of this.#clients.entries())
        client.send({ k: this.#k, objects: objectsAt(at >> 1, this.#k, at % 2 === 1) }).catch(() => {});
      await sleep(1000 / this.plan.fps);
    }
    await Promise.all(this.#clients.map((client) => client.flush()));
  }

  #connect(n: number, role: 'reference' | 'tracker'): FeedClient {
    const { http } = this.#evaluators[(n + (role === 'tracker' ? 1 : 0)) % this.#evaluators.length];
    const stream = `stream-${n}`;
    const client = connect({
      url: `${http.replace('http', 'ws')}/v1/ingest`,
      stream,
      role,
      ...(role === 'tracker' ? { tracker: SERIES.tracker } : {}),
      WebSocket: WebSocket as never,
      retryForever: true,
      backoffMs: 100,
      backoffMaxMs: 1000,
    });
    const feed = `${stream}/${role === 'tracker' ? SERIES.tracker : ''}`;
    client.on('ack', ({ seq }) => void this.#acked.set(feed, seq));
    client.on('reject', (reject) => void this.#rejects.push(JSON.stringify(reject)));
    return client;
  }

  async #make(trouble: Trouble): Promise<void> {
    const { expiryMs } = this.plan;
    const at = Math.floor(this.#random() * this.#evaluators.length);
    const victim = this.#evaluators[at];
    const isOfBroker = trouble === 'broker' || trouble === 'disk';
    this.say(`${trouble} ${isOfBroker ? '' : at}`);
    const dead = this.#evaluators.find((one) => one.hasEnded);
    if (dead) throw new Error('an evaluator has ended by itself');
    if (isOfBroker) await this.#killBroker(trouble === 'disk');
    else {
      const owned = await until('the victim owns a partition', () => {
        const partitions = ownedBy(victim);
        return partitions.size > 0 && partitions;
      });
      const atMs = Date.now();
      if (trouble === 'kill') {
        this.#outputs.push(victim.output);
        await victim.kill();
      } else victim.signal('SIGSTOP');
      await this.#taken(owned, atMs, victim);
      if (trouble === 'kill') await started(victim);
      else {
        await sleep(expiryMs * this.#random());
        victim.signal('SIGCONT');
        await until('it hears that others own them', () => {
          const lost = logged(victim.output).filter((line) => line.event === 'partition_lost');
          return [...owned].every((one) =>
            lost.some(({ partition, time }) => partition === one && Date.parse(time) >= atMs),
          );
        });
      }
    }
  }

  /** Waits until others have taken what a process owned. */
  async #taken(partitions: ReadonlySet<number>, atMs: number, victim: EvaluatorProcess): Promise<void> {
    const others = this.#evaluators.filter((one) => one !== victim);
    for (const partition of partitions) {
      const next = await until(`partition ${partition} is taken by another process`, () =>
        others.find((one) => ownedBy(one).has(partition)),
      );
      const takes = logged(next.output).filter((line) => line.event === 'partition_taken');
      const seconds = (Date.parse(takes.findLast((line) => line.partition === partition)!.time) - atMs) / 1000;
      // it may have been taken just before, and its owner not have heard of it
      if (seconds > 0) this.#takeovers.push(seconds);
    }
  }

  /** Every feed has something acked that it sent after this call. */
  async #flows(): Promise<void> {
    const sent = this.#k;
    await until('everything sent by now is acked', () => [...this.#acked.values()].every((seq) => seq > sent));
  }

  async #killBroker(loseDisk: boolean): Promise<void> {
    const { servers } = this.#brokers;
    const victim = servers[Math.floor(this.#random() * servers.length)];
    await victim.stop('SIGKILL');
    await sleep(500 + 1500 * this.#random());
    // with others left, everything must go on without it
    if (servers.length > 1) await this.#flows();
    if (loseDisk) victim.loseDisk();
    await victim.start();
  }

  async #judge(): Promise<ChaosResult> {
    const outputs = [...this.#outputs, ...this.#evaluators.map((one) => one.output)].join('\n');
    const fenced = logged(outputs).filter(({ event }) => event === 'partition_lost' || event === 'log_lost').length;
    await until('everything acked is applied', async () => {
      const { streams } = await this.#evaluators[0].json<{ streams: Array<{ feeds: Array<{ seq: number }> }> }>(
        '/v1/streams',
      );
      return (
        streams.length === this.plan.streams && streams.every(({ feeds }) => feeds.every(({ seq }) => seq === this.#k))
      );
    });
    const windows = new Map<string, unknown>();
    for (const stream of Array.from({ length: this.plan.streams }, (_, n) => `stream-${n}`))
      windows.set(
        stream,
        await this.#evaluators[0].json(
          `/v1/window?stream=${stream}&tracker=${SERIES.tracker}&profile=${SERIES.profile}`,
        ),
      );
    for (const one of this.#evaluators) await one.end();
    if (this.#rejects.length > 0) throw new Error(`rejected: ${this.#rejects[0]}`);
    const connection = await connectNats({
      name: 'judge',
      servers: this.#brokers.urls,
      connectTimeoutMs: 5000,
      heartbeatMs: 2000,
    });
    try {
      const verdict = await judge(connection, this.#config, this.#acked as Acked, SERIES);
      for (const [stream, window] of windows) sameWindow(stream, window, verdict.windows.get(stream));
      return { ...verdict, fenced, takeovers: this.#takeovers, frames: this.#k * this.#clients.length };
    } finally {
      await connection.close();
    }
  }
}

/** Starts an evaluator; one that neither serves nor ends is a failure, and not a run without an end. */
async function started(one: EvaluatorProcess): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it does not start: ${one.output.slice(-3000)}`)), SYSTEM_TIMEOUT_MS / 3);
  });
  await Promise.race([one.start(), late]).finally(() => clearTimeout(timer));
}

function sameWindow(stream: string, one: unknown, other: unknown): void {
  const [a, b] = [one, other].map((window) => JSON.stringify(timeless(window as object)));
  if (a !== b) throw new Error(`${stream}: its window is not that of an uninterrupted run\n${a}\n${b}`);
}
