/**
 * Real brokers for tests: one nats-server, or three that replicate, on loopback, each in a folder of its own, stopped,
 * killed and suspended by its process id. Every write is on disk before it is acknowledged, as in production.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HERE, type Place } from '../network.js';
import { freePort, skipInFastRun, skipUnless, until } from '../system.js';

const VERSION = /v(\d+)\.(\d+)\.(\d+)/.exec(spawnSync('nats-server', ['--version'], { encoding: 'utf8' }).stdout ?? '');
/** Older ones lose what they acknowledged. */
const NEEDED = [2, 10, 23];

function isNewEnough(): boolean {
  const found = VERSION?.slice(1).map(Number) ?? [];
  const at = NEEDED.findIndex((part, n) => part !== found[n]);
  return found.length > 0 && (at < 0 || found[at] > NEEDED[at]);
}

/** Call it first in a suite's `before`. */
export function skipUnlessNats(test: Mocha.Context): void {
  // a fast run needs no other program
  skipInFastRun(test);
  const found = VERSION ? `nats-server ${VERSION[0]} is too old` : 'nats-server is not on the path';
  skipUnless(test, isNewEnough(), `${found}; .ci/nats-server FOLDER fetches one that is new enough`);
}

export interface BrokerOptions {
  name?: string;
  /** of the configuration; in place of those for a JetStream that is safe against a power cut */
  jetstream?: string[];
  /** more lines of the configuration */
  more?: string[];
  /** a whole configuration, in place of all that; its port and folder are replaced */
  text?: string;
  /** where it runs, if not here */
  place?: Place;
  /** of what it stores, if not its own */
  disk?: string;
}

/** `textOf` gives a whole configuration of a broker whose cluster listens at these addresses. */
interface ClusteredOptions extends BrokerOptions {
  textOf?(hosts: string[]): string;
}

/** The brokers that decide where streams are, as the one that leads them sees the others. */
interface MetaGroup {
  leader?: string;
  replicas?: Array<{ name: string; current?: boolean; offline?: boolean }>;
}

export class NatsServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'tgospa-nats-'));
  #process: ChildProcess | null = null;
  port = 0;
  #monitorPort = 0;

  constructor(readonly options: BrokerOptions = {}) {}

  /** where it runs */
  get place(): Place {
    return this.options.place ?? HERE;
  }

  get #store(): string {
    return this.options.disk ?? join(this.folder, 'store');
  }

  get url(): string {
    return `nats://${this.place.address}:${this.port}`;
  }

  /** its monitoring address */
  get monitor(): string {
    return `http://${this.place.address}:${this.#monitorPort}`;
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  /** Starts it, or starts it again with what is in its folder. */
  async start(more: string[] = []): Promise<void> {
    await this.launch(more);
    await this.healthy();
  }

  /** Starts the process without waiting until it serves: one of several waits for the others. */
  async launch(more: string[] = []): Promise<void> {
    this.port ||= await freePort();
    this.#monitorPort ||= await freePort();
    const lines = [
      ...this.#ownLines(),
      `http: ${this.place.address}:${this.#monitorPort}`,
      `log_file: "${join(this.folder, 'log')}"`,
      ...(this.options.more ?? []),
      ...more,
    ];
    const config = join(this.folder, 'nats.conf');
    writeFileSync(config, `${lines.join('\n')}\n`);
    const [program, words] = this.place.command('nats-server', ['-c', config]);
    // what it says when it dies is not in its log
    const errors = openSync(this.#errors, 'a');
    this.#process = spawn(program, words, { stdio: ['ignore', errors, errors] });
    closeSync(errors);
  }

  #ownLines(): string[] {
    const { name = 'broker', jetstream = ['sync_interval: always'], text } = this.options;
    const listen = `listen: ${this.place.address}:${this.port}`;
    const store = `store_dir: "${this.#store}"`;
    if (text !== undefined) return [text.replace(/^listen: .*$/m, listen).replace(/store_dir: "[^"]*"/, store)];
    const more = ['max_mem: 64MB', 'max_file: 4GB', ...jetstream].join(', ');
    return [`server_name: ${name}`, listen, `jetstream { ${store}, ${more} }`];
  }

  /** Resolves once the broker and all of its streams serve. */
  async healthy(withinMs?: number): Promise<void> {
    await until('the broker serves', () => this.isHealthy(), withinMs);
  }

  async isHealthy(): Promise<boolean> {
    if (this.#ended) throw new Error(`the broker ended: ${this.logged}`);
    return fetch(`${this.monitor}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
  }

  /**
   * Resolves once its copy of each stream has been up to date at some moment: on a busy machine hardly ever all are at
   * the same. Consumers are no data, and may be gone by the time it learns of them.
   */
  async whole(withinMs?: number): Promise<void> {
    let behind: string[] | null = null;
    const isWhole = async () => {
      const now = await this.#behind();
      if (now) behind = behind?.filter((stream) => now.includes(stream)) ?? now;
      return behind?.length === 0;
    };
    await until('the broker has everything', isWhole, withinMs);
  }

  /** The streams whose copy here is not up to date; null while it does not serve at all. */
  async #behind(): Promise<string[] | null> {
    if (this.#ended) throw new Error(`the broker ended: ${this.logged}`);
    const answer = await fetch(`${this.monitor}/healthz?details=true`).catch(() => null);
    if (!answer) return null;
    const { errors = [] } = (await answer.json()) as { errors?: Array<{ type: string; stream?: string }> };
    const isServing = errors.every(({ type }) => type === 'STREAM' || type === 'CONSUMER');
    return isServing ? errors.flatMap(({ type, stream }) => (type === 'STREAM' ? [stream ?? ''] : [])) : null;
  }

  /** Who leads all brokers, and, if this one does, the others. */
  async metaGroup(): Promise<MetaGroup | undefined> {
    if (this.#ended) return undefined;
    const answer = await fetch(`${this.monitor}/jsz`).catch(() => null);
    return ((await answer?.json()) as { meta_cluster?: MetaGroup } | undefined)?.meta_cluster;
  }

  get #errors(): string {
    return join(this.folder, 'errors');
  }

  /** What it has written into its log, and what it said when it died. */
  get logged(): string {
    const own = [join(this.folder, 'log'), this.#errors].map((file) =>
      existsSync(file) ? readFileSync(file, 'utf8') : '',
    );
    const { exitCode, signalCode } = this.#process ?? {};
    return [...own, this.#ended ? `it has ended: ${exitCode ?? signalCode ?? 'stopped'}` : '']
      .filter(Boolean)
      .join('\n');
  }

  get #ended(): boolean {
    return !this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** What it acknowledged survives any signal. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const running = this.#process;
    if (!running || this.#ended) return;
    running.kill(signal);
    // one that is suspended ends only when it runs
    running.kill('SIGCONT');
    await once(running, 'exit');
    this.#process = null;
  }

  /** Returns once it stands still: a signal is only sent, and on a busy machine it may answer before it stops. */
  suspend(): void {
    const { pid } = this.#process!;
    this.#process!.kill('SIGSTOP');
    const tasks = `/proc/${pid}/task`;
    const isStopped = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    while (!readdirSync(tasks).every(isStopped));
  }

  /**
   * As when its power is cut: from here on it says nothing to anybody. Calls into the kernel that are underway are not
   * waited for: what they write may get lost. A broker that lived on would acknowledge some of that all the same:
   * nats-server 2.10.27 did in 6 of 9 runs.
   */
  freeze(): void {
    this.#process!.kill('SIGSTOP');
    const tasks = `/proc/${this.#process!.pid}/task`;
    const isStill = (task: string) => /\) [TD] /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    while (!readdirSync(tasks).every(isStill));
  }

  resume(): void {
    this.#process!.kill('SIGCONT');
  }

  /** All that it has stored is gone, while it is down. */
  loseDisk(): void {
    rmSync(this.#store, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Brokers that have not found each other after so long are started anew; the next time they have as much longer. */
const JOIN_MS = 10_000;
const STARTS_MAX = 6;

/** Brokers that replicate. */
export class NatsCluster {
  readonly servers: NatsServer[] = [];

  /** `optionsOf` says more about the n-th of them. */
  constructor(
    readonly size = 3,
    readonly optionsOf: (n: number) => ClusteredOptions = () => ({}),
  ) {}

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /**
   * Brokers that are started at once may found a cluster that does not take the last one in, although that one says
   * that it is healthy, or one may wait for ever to hear of the others, so that whoever waits for it waits too:
   * nats-server 2.10.27 did in 1 of 15 starts on a busy machine. Nothing is stored yet, so all of them begin anew.
   */
  async start(): Promise<void> {
    for (let starts = 1; ; starts++) {
      try {
        return await this.#found(JOIN_MS * starts);
      } catch (error) {
        await this.close();
        for (const server of this.servers.splice(0)) server.loseDisk();
        if (starts === STARTS_MAX) throw error;
      }
    }
  }

  async #found(joinMs: number): Promise<void> {
    const ports: number[] = [];
    while (ports.length < this.size) ports.push(await freePort());
    const options = ports.map((_, n) => this.optionsOf(n));
    const hosts = ports.map((port, n) => `${(options[n].place ?? HERE).address}:${port}`);
    const routes = hosts.map((host) => `nats://${host}`).join(', ');
    for (const [n, host] of hosts.entries()) {
      const cluster = `cluster { name: tgospa, listen: ${host}, routes: [${routes}] }`;
      const { textOf, ...own } = options[n];
      // a whole configuration has lines of its own for that
      const more = this.size === 1 || textOf ? [] : [cluster];
      this.servers.push(new NatsServer({ name: `broker-${n}`, ...own, text: textOf?.(hosts), more }));
    }
    // two found the cluster, and the others join it one by one
    const [first, second, ...others] = this.servers;
    for (const server of [first, second]) await server?.launch();
    for (const server of [first, second]) if (server) await this.#joined(server, joinMs);
    for (const server of others) {
      await server.launch();
      await this.#joined(server, joinMs);
    }
  }

  async #joined(server: NatsServer, joinMs: number): Promise<void> {
    const hasJoined = async () => (await server.isHealthy()) && (this.size === 1 || (await this.#knows(server)));
    await until(`${server.options.name} joins the others`, hasJoined, joinMs).catch((error) => {
      throw new Error(`${error}; the brokers say: ${this.servers.map(({ logged }) => logged).join('\n')}`);
    });
  }

  /** The one that leads has it among its peers, and hears it. */
  async #knows({ options }: NatsServer): Promise<boolean> {
    const groups = await Promise.all(this.servers.map((server) => server.metaGroup()));
    const leading = groups.find((group) => group?.replicas);
    const heard = (leading?.replicas ?? []).filter(({ current, offline }) => current && !offline);
    return [leading?.leader, ...heard.map(({ name }) => name)].includes(options.name);
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }
}
