/**
 * The evaluator as one object: `startApp(config)` opens the store and the port, recovers, and returns its addresses and
 * `stop`. Everything that is started goes on one clean-up stack: listeners to events before the pipeline, whatever
 * brings frames after it. Unwound in reverse, also when the start fails half way, intake stops first, then what has
 * come in takes effect, and last the listeners hear of it.
 */
import { readFileSync } from 'node:fs';
import { DeskFile } from './alerts/desk-file.js';
import { IncidentDesk } from './alerts/incident-desk.js';
import { Notifier, type NotifierMemory } from './alerts/notifier.js';
import {
  type Config,
  clusterPassword,
  notifyReceivers,
  notifySecrets,
  sourceSecrets,
  tokenSecrets,
} from './config/config.js';
import type { Cores } from './cores/cores.js';
import { startCores } from './cores/start.js';
import { EdgeServer } from './edge/edge.js';
import { Access } from './edge/peers/access.js';
import { Sockets } from './edge/sockets.js';
import { SteadyClock } from './live/clock.js';
import { startSources } from './sources/sources.js';
import { createLogger, type Logger } from './telemetry/logger.js';
import { Meters } from './telemetry/meters.js';

export interface App {
  urls: {
    /** page, JSON and health */
    http: string;
    ingest: string;
    live: string;
    metrics: string;
  };
  live: Cores;
  meters: Meters;
  logger: Logger;
  /** Stops accepting, stores and acks what has come, closes connections with 1001, and closes the store. */
  stop(): Promise<void>;
}

export interface AppOptions {
  logger?: Logger;
  env?: NodeJS.ProcessEnv;
}

/** milliseconds between two looks at the wall clock */
const JUMP_CHECK_MS = 1000;

/** Beside this program, as modules and as a bundle. */
const PAGE = new URL('../page/', import.meta.url);

/** Version of this package. */
export const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

export async function startApp(config: Config, options: AppOptions = {}): Promise<App> {
  const { env = process.env, logger = configuredLogger(config, env) } = options;
  const cleanUp = new CleanUp();
  try {
    const receivers = notifyReceivers(config, env);
    // in a cluster, null while another process notifies
    let notifier: Notifier | null = null;
    cleanUp.push(() => notifier?.stop());
    const meters = new Meters(config.limits.series);
    const access = new Access(config, env);
    const sockets = new Sockets({ config, access, meters, logger });
    cleanUp.push(() => sockets.close());

    const clock = new SteadyClock();
    // loaded where it is asked for: the libraries of brokers take their time
    const member = config.cluster
      ? await (await import('./member/member.js')).Member.start({ config, clock, meters, logger, env })
      : null;
    const live: Cores = member ?? (await startCores({ config, clock, meters, logger }));
    cleanUp.push(() => live.stop());
    const said = (await member?.sharedText('said')) ?? new DeskFile(config.data.dir, logger);
    const desk = new IncidentDesk(said, logger, config.notify);
    const newNotifier = (memory?: NotifierMemory) =>
      new Notifier({ settings: config.notify, receivers, dir: config.data.dir, memory, desk, logger });
    if (!member) notifier = newNotifier();
    const jumps = setInterval(() => noticeJump(clock, meters, logger), JUMP_CHECK_MS).unref();
    cleanUp.push(() => clearInterval(jumps));
    live.events$.subscribe((event) => {
      if (event.type === 'incident') notifier?.observe(event);
    });

    const build = { version: version(), node: process.version };
    const notifications = () => notifier?.counts() ?? [];
    const edge = new EdgeServer({
      ...{ config, live, sockets, access, meters, logger, build, notifications, desk },
      pageFolder: PAGE,
    });
    cleanUp.push(() => edge.quiesce());
    const http = await edge.listen();
    member?.announce(http);
    logger.info('listening', { url: http, dataDir: config.data.dir });
    await live.recovered;
    const startNotifier = async (one: Notifier) => {
      const incidents = await (member?.incidents() ?? openIncidents(live));
      if (one === notifier) one.start(http, incidents, () => member?.allNames() ?? live.names());
    };
    if (notifier) await startNotifier(notifier);
    await member?.electNotifier((memory) => {
      void notifier?.stop();
      notifier = memory && newNotifier(memory);
      if (notifier) void startNotifier(notifier);
    });
    if (member?.acceptsFeeds ?? true) {
      const sources = await startSources({ config, ingest: live, meters, logger, env });
      cleanUp.push(() => sources.stop());
    } else if (Object.values(config.sources).some(isNotEmpty))
      logger.info('sources_left_out', { message: 'cluster.roles leaves out gateway: others read the sources' });
    cleanUp.push(() => live.liftBackpressure());
    return { urls: urlsOf(http), live, meters, logger, stop: () => cleanUp.run() };
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

const isNotEmpty = (list: unknown): boolean => Array.isArray(list) && list.length > 0;
const openIncidents = async (live: Cores) => (await live.streams()).flatMap((stream) => stream.incidents);

/** A wall clock that is set is counted and logged, and changes nothing but the times that people read. */
function noticeJump(clock: SteadyClock, meters: Meters, logger: Logger): void {
  const byMs = clock.jumpMs();
  if (byMs === 0) return;
  meters.counts.clockJumps++;
  const message = 'the wall clock was set; times of events are by the clock of the start until the next one';
  logger.warn('clock_jumped', { byMs, message });
}

/** A logger at the configured level that hides every secret of the configuration. */
function configuredLogger(config: Config, env: NodeJS.ProcessEnv): Logger {
  const tokens = tokenSecrets(config, env).map(({ secret }) => secret);
  const password = config.cluster && clusterPassword(config.cluster, env);
  const brokers = password ? [password] : [];
  const secrets = [...tokens, ...sourceSecrets(config, env), ...notifySecrets(config, env), ...brokers];
  return createLogger({ level: config.logging.level, secrets });
}

/** What was started, undone from the last to the first, and only once, whoever asks. */
class CleanUp {
  readonly #actions: Array<() => Promise<void> | void> = [];
  #done: Promise<void> | null = null;

  push(action: () => Promise<void> | void): void {
    this.#actions.push(action);
  }

  run(): Promise<void> {
    this.#done ??= this.#undo();
    return this.#done;
  }

  async #undo(): Promise<void> {
    for (let next = this.#actions.pop(); next; next = this.#actions.pop()) await next();
  }
}

function urlsOf(http: string): App['urls'] {
  const ws = http.replace(/^http/, 'ws');
  return { http, ingest: `${ws}/v1/ingest`, live: `${ws}/v1/live`, metrics: `${http}/metrics` };
}
