/**
 * The evaluator as one object: `startApp(config)` opens the store, recovers, opens the port, and gives back its
 * addresses and `stop`. Everything that was started is on one clean-up stack, undone in reverse order, also when the
 * start fails half way.
 */
import { readFileSync } from 'node:fs';
import { Notifier } from './alerts/notify.js';
import { type Config, notifyReceivers, notifySecrets, sourceSecrets, tokenSecrets } from './config/config.js';
import { EdgeServer } from './edge/http.js';
import { Live } from './live/pipeline.js';
import { startSources } from './sources/index.js';
import { createLogger, type Logger } from './telemetry/logger.js';
import { Telemetry } from './telemetry/telemetry.js';
import type { SpikeEvent } from './wire/events.js';

export interface App {
  urls: {
    /** page, JSON and health */
    http: string;
    ingest: string;
    live: string;
    metrics: string;
  };
  live: Live;
  telemetry: Telemetry;
  logger: Logger;
  /** Stops accepting, stores and acks what has come, closes connections with 1001, and closes the store. */
  stop(): Promise<void>;
}

export interface AppOptions {
  logger?: Logger;
  env?: NodeJS.ProcessEnv;
}

/** Version of this package. */
export const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

export async function startApp(config: Config, options: AppOptions = {}): Promise<App> {
  const { env = process.env } = options;
  const logger =
    options.logger ??
    createLogger({
      level: config.logging.level,
      secrets: [
        ...tokenSecrets(config, env).map(({ secret }) => secret),
        ...sourceSecrets(config, env),
        ...notifySecrets(config, env),
      ],
    });
  const cleanUp: Array<() => Promise<void>> = [];
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= undo(cleanUp);
    return stopped;
  };
  try {
    const live = await Live.open(config, { now: Date.now }, logger);
    cleanUp.push(() => live.stop());
    const startNotifier = prepareNotifier(config, env, live, logger);
    const telemetry = new Telemetry({ seriesMax: config.limits.series, version: version() });
    const server = new EdgeServer({ config, live, telemetry, logger, version: version(), env });
    cleanUp.unshift(() => server.close());
    const http = await server.listen();
    const notifier = startNotifier(http);
    telemetry.notifications = () => notifier.counts();
    cleanUp.unshift(() => notifier.stop());
    cleanUp.push(() => server.quiesce());
    const sources = startSources({ config, desk: server.desk, telemetry, logger, env });
    cleanUp.push(() => sources.stop());
    cleanUp.push(async () => live.hasten());
    logger.info('listening', { url: http, dataDir: config.data.dir });
    return { urls: urlsOf(http), live, telemetry, logger, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Tells the receivers of the configuration about spikes: from the first event on, though where the page is comes later. */
function prepareNotifier(config: Config, env: NodeJS.ProcessEnv, live: Live, logger: Logger) {
  const early: SpikeEvent[] = [];
  let note = (event: SpikeEvent): unknown => early.push(event);
  live.events$.subscribe((event) => {
    if (event.type === 'spike') note(event);
  });
  return (pageUrl: string): Notifier => {
    const parts = {
      settings: config.notify,
      receivers: notifyReceivers(config, env),
      dir: config.data.dir,
      logger,
      pageUrl,
    };
    const notifier = new Notifier(parts, live.spikes());
    note = (event) => notifier.note(event);
    for (const event of early) notifier.note(event);
    return notifier;
  };
}

async function undo(cleanUp: Array<() => Promise<void>>): Promise<void> {
  for (let next = cleanUp.pop(); next; next = cleanUp.pop()) await next();
}

function urlsOf(http: string): App['urls'] {
  const ws = http.replace(/^http/, 'ws');
  return { http, ingest: `${ws}/v1/ingest`, live: `${ws}/v1/live`, metrics: `${http}/metrics` };
}
