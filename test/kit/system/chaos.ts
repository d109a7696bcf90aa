/**
 * A cluster of real processes on real brokers, with real clients, to which things are done: evaluators, gateways and
 * brokers are killed, an owner stands still for longer than its lease, lines between machines are cut, the power of all
 * brokers fails. What is left in the end is judged by `cluster-judge.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import WebSocket from 'ws';
import { type ClientObject, connect, type FeedClient } from '../../../src/client.js';
import { connectNats } from '../../../src/cluster/nats/connection.js';
import { randomFrom } from '../random.js';
import { NatsCluster, type NatsServer } from './brokers/nats.js';
import { type Acked, judge, type Verdict } from './cluster-judge.js';
import { EvaluatorProcess, timeless } from './evaluator-process.js';
import { type Machine, Network, type Place } from './network.js';
import { Disk } from './power.js';
import { SnapshotWatch } from './snapshot-watch.js';
import { until } from './system.js';

export interface ChaosPlan {
  seed: number;
  evaluators: number;
  /** processes that accept feeds and answer readers, and own nothing */
  gateways: number;
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
  /** for about so long lines are cut; brokers choose another leader after 4 to 9 s */
  cutMs: number;
  /** a folder for what everybody logged in a run that fails, and for what the brokers say of themselves then */
  logs?: string;
}

/** Somebody who looks on. */
export interface Witness {
  /** everything runs at these addresses (host:port), and frames flow */
  begin(addresses: string[]): Promise<void>;
  /** the next trouble may come when this resolves */
  calm(): Promise<void>;
  /** others have taken what an owner had, who comes back when this resolves */
  taken(): Promise<void>;
  /** the last trouble is over; frames flow until this resolves */
  end(): Promise<void>;
}

/**
 * Of an evaluator: killed, stands still, hears no broker, does not hear one of them. Of a gateway: killed. Of a broker:
 * killed, killed and its disk is lost, hears nobody but the test, does not hear one of the others. Of all brokers: a
 * power cut.
 */
export type Trouble =
  | 'kill'
  | 'suspend'
  | 'isolate'
  | 'line'
  | 'gateway'
  | 'broker'
  | 'disk'
  | 'split'
  | 'half'
  | 'power';

const OF_NETWORKS: readonly Trouble[] = ['isolate', 'line', 'split', 'half'];

export interface ChaosResult extends Verdict {
  /** seconds from a kill or a stop until its last partition was served by somebody else */
  takeovers: number[];
  /** partitions whose owner heard that it was none any more */
  fenced: number;
  /** lines that were cut */
  cuts: number;
  /** snapshots that were seen to be stored, none of them older than the one before it */
  snapshots: number;
  frames: number;
}

const SERIES = { tracker: 't', profile: 'online-surveillance' };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** a broker has everything that the others have within this time */
const WHOLE_MS = 30_000;
const RESTARTS_MAX = 3;

const isWhole = (server: NatsServer): Promise<boolean> =>
  server.whole(WHOLE_MS).then(
    () => true,
    () => false,
  );

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
  readonly #network: Network | null;
  readonly #disk: Disk | null;
  readonly #brokers: NatsCluster;
  #snapshots: SnapshotWatch | null = null;
  #evaluators: EvaluatorProcess[] = [];
  #gateways: EvaluatorProcess[] = [];
  #cuts = 0;
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
    readonly witness?: Witness,
  ) {
    this.#random = randomFrom(plan.seed);
    this.#network = plan.troubles.some((trouble) => OF_NETWORKS.includes(trouble)) ? new Network() : null;
    this.#disk = plan.troubles.includes('power') ? new Disk() : null;
    this.#brokers = new NatsCluster(plan.brokers, (n) => ({
      ...(this.#network ? { place: this.#network.machine() } : {}),
      ...(this.#disk ? { disk: `${this.#disk.folder}/${n}` } : {}),
    }));
  }

  get #processes(): EvaluatorProcess[] {
    return [...this.#evaluators, ...this.#gateways];
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)];
  }

  get #config() {
    const { partitions, renewMs, expiryMs, brokers: replicas } = this.plan;
    const sizes = { logMaxBytes: 1 << 26, logKeepBytes: 1 << 26, stateMaxBytes: 1 << 26 };
    return {
      listen: { insecure: this.#network !== null },
      cluster: { servers: this.#brokers.urls, replicas, partitions, renewMs, expiryMs, moveMs: 500, ...sizes },
      data: { snapshotFrames: 40 },
      evaluation: { budgetMs: 600_000 },
      streams: { defaults: { windowFrames: 20 } },
    };
  }

  async run(): Promise<ChaosResult> {
    try {
      await this.#brokers.start();
      const { cluster, ...others } = this.#config;
      const relay = { ...others, cluster: { ...cluster, roles: ['gateway', 'reader'] } };
      const create = (config: object) => EvaluatorProcess.create(config, this.#network?.machine());
      for (let n = 0; n < this.plan.evaluators; n++) this.#evaluators.push(await create(this.#config));
      for (let n = 0; n < this.plan.gateways; n++) this.#gateways.push(await create(relay));
      await Promise.all(this.#processes.map(started));
      await this.#served();
      this.#snapshots = await SnapshotWatch.start(this.#brokers.urls, this.#config);
      const sending = this.#send();
      sending.catch(() => {});
      await this.witness?.begin(this.#processes.map(({ http }) => new URL(http).host));
      for (const trouble of this.plan.troubles) {
        await sleep(this.plan.calmMs * (0.5 + this.#random()));
        await this.witness?.calm();
        const taken = this.#takeovers.length;
        await this.#make(trouble);
        this.say([trouble, ...this.#takeovers.slice(taken)].join(' '));
        await this.#served();
      }
      await sleep(this.plan.calmMs);
      await this.witness?.end();
      this.#over = true;
      await sending;
      return await this.#judge();
    } catch (error) {
      const processes = this.#processes.map(({ output }, n) => `process ${n}: ${output.slice(-3000)}`);
      const brokers = this.#brokers.servers.map(({ options, logged }) => `${options.name}: ${logged.slice(-2000)}`);
      (error as Error).message += `\n${[...processes, ...brokers].join('\n')}`;
      if (this.plan.logs) await this.#keepLogs(join(this.plan.logs, `seed-${this.plan.seed}`));
      throw error;
    } finally {
      this.#over = true;
      await Promise.all(this.#clients.map((client) => client.close({ flush: false }).catch(() => {})));
      await this.#snapshots?.close().catch(() => {});
      await Promise.all(this.#processes.map((one) => one.dispose()));
      await this.#brokers.close();
      this.#disk?.close();
      this.#network?.close();
    }
  }

  async #keepLogs(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    const keep = (name: string, text: string) => writeFileSync(join(folder, name), text);
    keep('killed.log', this.#outputs.join('\n'));
    keep('acked.json', JSON.stringify({ k: this.#k, acked: [...this.#acked] }));
    for (const [n, one] of this.#processes.entries()) {
      keep(`process-${n}.log`, one.output);
      const ready = await one.json('/readyz').catch(String);
      keep(`process-${n}.json`, JSON.stringify({ ready, streams: await one.json('/v1/streams').catch(String) }));
    }
    for (const broker of this.#brokers.servers) {
      keep(`${broker.options.name}.log`, broker.logged);
      const facts = fetch(`${broker.monitor}/jsz?streams=1&consumers=1&config=1&raft=1`).then((said) => said.text());
      keep(`${broker.options.name}.json`, await facts.catch(String));
    }
  }

  /** Every process says that every partition has an owner. */
  async #served(): Promise<void> {
    await until('all partitions are served', async () => {
      const ready = this.#processes.map((one) =>
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
    const { http } = this.#processes[(n + (role === 'tracker' ? 1 : 0)) % this.#processes.length];
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
    if (this.#processes.some((one) => one.hasEnded)) throw new Error('a process has ended by itself');
    switch (trouble) {
      case 'kill':
      case 'suspend':
      case 'isolate':
        return this.#stopOwner(trouble);
      case 'gateway':
        return this.#restart(this.#pick(this.#gateways));
      case 'broker':
      case 'disk':
        return this.#killBroker(trouble === 'disk');
      case 'power':
        return this.#cutPower();
      default:
        return this.#cutLines(trouble);
    }
  }

  async #restart(victim: EvaluatorProcess): Promise<void> {
    this.#outputs.push(victim.output);
    await victim.kill();
    await started(victim);
  }

  /** An owner is killed, stands still or hears no broker: others take what it owned, and it hears of that. */
  async #stopOwner(trouble: 'kill' | 'suspend' | 'isolate'): Promise<void> {
    const victim = this.#pick(this.#evaluators);
    const owned = await until('the victim owns a partition', () => {
      const partitions = ownedBy(victim);
      return partitions.size > 0 && partitions;
    });
    const atMs = Date.now();
    if (trouble === 'kill') {
      this.#outputs.push(victim.output);
      await victim.kill();
    } else if (trouble === 'suspend') victim.signal('SIGSTOP');
    else for (const broker of this.#brokers.servers) this.#cut(victim.place, broker.place);
    await this.#taken(owned, atMs, victim);
    await this.witness?.taken();
    if (trouble === 'kill') return started(victim);
    await sleep(this.plan.expiryMs * this.#random());
    if (trouble === 'suspend') victim.signal('SIGCONT');
    else this.#network!.heal();
    await until('it hears that others own them', () => {
      const lost = logged(victim.output).filter((line) => line.event === 'partition_lost');
      return [...owned].every((one) =>
        lost.some(({ partition, time }) => partition === one && Date.parse(time) >= atMs),
      );
    });
  }

  #cut(one: Place, other: Place): void {
    this.#cuts++;
    this.#network!.cut(one as Machine, other as Machine);
  }

  /** Some hear each other no longer, for a while; when they do again, everything flows again. */
  async #cutLines(trouble: 'line' | 'split' | 'half'): Promise<void> {
    const broker = this.#pick(this.#brokers.servers);
    const others = this.#brokers.servers.filter((one) => one !== broker);
    const far = {
      line: [this.#pick(this.#processes)],
      split: [...others, ...this.#processes],
      half: [this.#pick(others)],
    }[trouble];
    for (const one of far) this.#cut(broker.place, one.place);
    await sleep(this.plan.cutMs * (0.5 + this.#random()));
    // a majority hears each other, and everybody hears one of it
    if (trouble !== 'half') await this.#flows();
    this.#network!.heal();
    await this.#flows();
  }

  /** What brokers acknowledged was on their disks. */
  async #cutPower(): Promise<void> {
    for (const server of this.#brokers.servers) server.freeze();
    this.#disk!.cutPower();
    await Promise.all(this.#brokers.servers.map((server) => server.stop('SIGKILL')));
    this.#disk!.powerUp();
    // whether each of them has everything at the same moment, as their health says, depends on the machine
    await Promise.all(this.#brokers.servers.map((server) => server.launch()));
    await this.#flows();
  }

  /** Waits until others have taken what a process owned. */
  async #taken(partitions: ReadonlySet<number>, atMs: number, victim: EvaluatorProcess): Promise<void> {
    const others = this.#evaluators.filter((one) => one !== victim);
    for (const partition of partitions) {
      const next = await until(`partition ${partition} is taken by another process`, () =>
        others.find((one) => ownedBy(one).has(partition)),
      );
      const takes = logged(next.output).filter((line) => line.event === 'partition_taken');
      const { time, ...how } = takes.findLast((line) => line.partition === partition)!;
      const seconds = (Date.parse(time) - atMs) / 1000;
      this.say(`${seconds} s: ${JSON.stringify(how)}`);
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
    await this.#wholeBrokers();
    const victim = this.#pick(servers);
    await victim.stop('SIGKILL');
    await sleep(500 + 1500 * this.#random());
    // with others left, everything must go on without it
    if (servers.length > 1) await this.#flows();
    if (loseDisk) victim.loseDisk();
    await victim.launch();
    // until it has everything again, another failure may lose something
    if (loseDisk) await this.#wholeBrokers();
  }

  /**
   * One broker fails at a time, and one that lacks something counts as down. After a lost disk or power, nats-server
   * 2.10.27 may leave a copy behind for good, or never learn which streams there are, and says so of its health: it is
   * started again, as by who operates it.
   */
  async #wholeBrokers(): Promise<void> {
    for (const server of this.#brokers.servers)
      for (let starts = 0; starts < RESTARTS_MAX && !(await isWhole(server)); starts++) {
        this.say(`${server.options.name} lacks something after ${WHOLE_MS / 1000} s: it is started again`);
        await server.stop('SIGKILL');
        await server.launch();
      }
    for (const server of this.#brokers.servers) await server.whole();
  }

  /** Up to the last frame: a busy owner answers late, and a new one has not read everything at once. */
  #window(stream: string): Promise<object> {
    const query = `stream=${stream}&tracker=${SERIES.tracker}&profile=${SERIES.profile}`;
    return until(`${stream} has a window up to frame ${this.#k}`, async () => {
      const window = await this.#processes.at(-1)!.json<{ k?: number }>(`/v1/window?${query}`);
      return window.k === this.#k && window;
    });
  }

  async #judge(): Promise<ChaosResult> {
    const outputs = [...this.#outputs, ...this.#processes.map((one) => one.output)].join('\n');
    const fenced = logged(outputs).filter(({ event }) => event === 'partition_lost' || event === 'log_lost').length;
    await until('everything acked is applied', async () => {
      const { streams } = await this.#processes
        .at(-1)!
        .json<{ streams: Array<{ feeds: Array<{ seq: number }> }> }>('/v1/streams');
      return (
        streams.length === this.plan.streams && streams.every(({ feeds }) => feeds.every(({ seq }) => seq === this.#k))
      );
    });
    const windows = new Map<string, unknown>();
    for (const stream of Array.from({ length: this.plan.streams }, (_, n) => `stream-${n}`))
      windows.set(stream, await this.#window(stream));
    for (const one of this.#processes) await one.end();
    const snapshots = await this.#snapshots!.close();
    if (this.#rejects.length > 0) throw new Error(`rejected: ${this.#rejects[0]}`);
    const connection = await connectNats({
      name: 'judge',
      servers: this.#brokers.urls,
      connectTimeoutMs: 5000,
      heartbeatMs: 2000,
      // after the last trouble one of them may not answer for a while
      reconnectMs: 100,
    });
    try {
      const verdict = await judge(connection, this.#config, this.#acked as Acked, SERIES);
      for (const [stream, window] of windows) sameWindow(stream, window, verdict.windows.get(stream));
      const cuts = this.#cuts;
      return {
        ...verdict,
        fenced,
        cuts,
        snapshots,
        takeovers: this.#takeovers,
        frames: this.#k * this.#clients.length,
      };
    } finally {
      await connection.close();
    }
  }
}

/** Starts an evaluator; one that neither serves nor ends is a failure, and not a run without an end. */
async function started(one: EvaluatorProcess): Promise<void> {
  let isStarted = false;
  const starting = one.start().then(() => {
    isStarted = true;
  });
  const complaint = until('it serves', () => isStarted).catch((error) => {
    throw new Error(`${error}: ${one.output.slice(-3000)}`);
  });
  await Promise.race([starting, complaint]);
}

function sameWindow(stream: string, one: unknown, other: unknown): void {
  const [a, b] = [one, other].map((window) => JSON.stringify(timeless(window as object)));
  if (a !== b) throw new Error(`${stream}: its window is not that of an uninterrupted run\n${a}\n${b}`);
}
