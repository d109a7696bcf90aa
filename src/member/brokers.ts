/** The brokers when a process joins: reached, new enough, and known to flush before they acknowledge, or warned of. */
import {
  checkServerVersion,
  connectNats,
  type JetStreamFacts,
  type NatsConnection,
  syncWarning,
} from '../cluster/nats/connection.js';
import { StreamFullError } from '../cluster/nats/partition-stream.js';
import { type ClusterSettings, clusterPassword } from '../config/cluster.js';
import type { Logger } from '../telemetry/logger.js';

export const connectBrokers = (settings: ClusterSettings, env: NodeJS.ProcessEnv): Promise<NatsConnection> =>
  connectNats({
    ...settings,
    name: `tgospa ${settings.name}`,
    password: clusterPassword(settings, env),
    connectTimeoutMs: 5000,
    heartbeatMs: 2000,
    reconnectMs: 200,
  });

/** Throws a sentence about a server that is too old, and warns of one that may lose what it acknowledged. */
export async function checkBrokers(
  connection: NatsConnection,
  { monitors, servers }: ClusterSettings,
  logger: Logger,
): Promise<void> {
  checkServerVersion(connection.info?.version ?? '0');
  await warnOfSync(monitors, servers, logger);
}

/** Right after they were started, brokers choose their leaders. */
export async function untilServed(action: () => Promise<void>, retryMs: number, logger: Logger): Promise<void> {
  for (let n = 1; ; n++) {
    try {
      return await action();
    } catch (error) {
      if (error instanceof StreamFullError || n >= 60) throw error;
      if (n % 10 === 1) logger.warn('brokers_not_ready', { error });
      await new Promise((resolve) => setTimeout(resolve, retryMs * 5));
    }
  }
}

/** Whether the brokers flush before they acknowledge can be known from their monitoring ports only. */
async function warnOfSync(monitors: readonly string[], servers: readonly string[], logger: Logger): Promise<void> {
  const factsOf = async (monitor: string): Promise<JetStreamFacts | null> => {
    try {
      return (await (await fetch(new URL('/jsz?config=true', monitor))).json()) as JetStreamFacts;
    } catch {
      return null;
    }
  };
  const asked = monitors.length > 0 ? monitors : [null];
  for (const monitor of asked) {
    const message = syncWarning(monitor ?? servers.join(', '), monitor === null ? null : await factsOf(monitor));
    if (message) logger.warn('sync_unverified', { message });
  }
}
