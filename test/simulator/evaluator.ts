/**
 * The evaluator in a simulated world: the real pipeline and the real edge on a simulated disk, with a simulated network
 * in the place of sockets. It can be started, stopped, and killed; everything it publishes is kept, whichever of its
 * lives it was published in.
 */
import type { Config } from '../../src/config/config.js';
import { Core } from '../../src/edge/core.js';
import { EdgeServer } from '../../src/edge/edge.js';
import { Access } from '../../src/edge/peers/access.js';
import type { Site, Sockets } from '../../src/edge/sockets.js';
import { SteadyClock } from '../../src/live/clock.js';
import { Live } from '../../src/live/live.js';
import { Meters } from '../../src/telemetry/meters.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { PAGE } from '../kit/edge.js';
import type { Disk } from './disk.js';
import type { Network } from './network.js';
import { Reader } from './reader.js';
import type { Process, World } from './world.js';

/** A line of the log. */
export interface Complaint {
  level: 'warn' | 'error';
  event: string;
  fields: Record<string, unknown>;
}

export class Evaluator {
  live: Live | null = null;
  edge: EdgeServer | null = null;
  meters: Meters | null = null;
  process: Process | null = null;
  /** published in any of its lives */
  readonly events: LiveEvent[] = [];
  readonly complaints: Complaint[] = [];
  /** why it could not be started */
  refusal: Error | null = null;
  lives = 0;
  /** one for each of its lives */
  readonly readers: Reader[] = [];
  #stopping = false;
  onEvent: (event: LiveEvent) => void = () => {};
  /** the port is open */
  onStart: (process: Process) => void = () => {};

  constructor(
    readonly world: World,
    readonly disk: Disk,
    readonly network: Network,
    readonly config: Config,
  ) {}

  get running(): boolean {
    return this.process !== null;
  }

  /** Resolves once the port is open, or the start was refused. */
  async start(): Promise<void> {
    const process = this.world.start(`evaluator ${++this.lives}`);
    this.process = process;
    await new Promise<void>((resolve) => {
      this.world.after(this.world.between(20, 200), process, () => {
        void this.#start(process).then(resolve, (error) => {
          this.refusal = error;
          this.process = null;
          resolve();
        });
      });
    });
  }

  async #start(process: Process): Promise<void> {
    const { config, world } = this;
    const logger = this.#logger();
    const live = await Live.start(config, new SteadyClock(), logger, { folder: this.disk.folder(process) });
    const meters = new Meters(config.limits.series);
    const access = new Access(config, {});
    const sockets = this.#sockets(process);
    const build = { version: '0', node: '0' };
    const core = new Core({ config, live, meters, logger });
    const parts = { config, live: core, sockets, access, meters, logger, build, notifications: () => [] };
    let reader: Reader | null = null;
    live.events$.subscribe((event) => {
      if (!process.alive) return;
      world.record(`${event.type} ${event.stream} ${event.n}`);
      this.events.push(event);
      reader?.published(event);
      this.onEvent(event);
    });
    const edge = new EdgeServer({ ...parts, pageFolder: PAGE, processMetrics: false });
    await edge.listen();
    reader = new Reader(world, process, edge);
    this.readers.push(reader);
    Object.assign(this, { live, meters, edge });
    this.onStart(process);
    live.recovered.catch((error) => {
      // a stop does not wait for it
      if (live !== this.live || this.#stopping) return;
      this.refusal = error;
      this.kill();
    });
  }

  #logger() {
    const write =
      (level: Complaint['level']) =>
      (event: string, fields: Record<string, unknown> = {}) =>
        void this.complaints.push({ level, event, fields });
    return { debug() {}, info() {}, warn: write('warn'), error: write('error') };
  }

  #sockets(process: Process): Sockets {
    const { network } = this;
    let stopping = false;
    return {
      listen: async (site: Site) => {
        network.listener = { process, site };
        return 'http://simulated';
      },
      refuseMore: () => {
        stopping = true;
        if (network.listener?.process === process) network.listener = null;
      },
      counts: () => ({ ingest: 0, live: 0 }),
      get stopping() {
        return stopping;
      },
    } as unknown as Sockets;
  }

  /** As `kill -9` does. */
  kill(): void {
    const { process, network } = this;
    if (!process) return;
    this.world.kill(process);
    if (network.listener?.process === process) network.listener = null;
    this.process = null;
  }

  /** As SIGTERM does. */
  async stop(): Promise<void> {
    const { process, live, edge, world } = this;
    if (!process || !live || !edge) return this.kill();
    this.#stopping = true;
    await new Promise<void>((resolve) => {
      world.after(0, process, () => {
        live.liftBackpressure();
        void edge
          .quiesce()
          .then(() => live.stop())
          .then(resolve);
      });
    });
    this.kill();
    this.#stopping = false;
  }
}
