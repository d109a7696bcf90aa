/**
 * The pull sources of a configuration, started and stopped together. A kind that nobody has configured is not loaded:
 * the libraries of MQTT and NATS take a quarter of the time that an evaluator needs to start.
 */
import type { Config } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { SourceKind } from '../telemetry/source-meters.js';
import type { Ingest } from './loopback.js';
import type { Source, SourceParts } from './source.js';

interface SourcesParts {
  config: Config;
  ingest: Ingest;
  logger: Logger;
  env: NodeJS.ProcessEnv;
  meters: Meters;
}

/** Starts every source; none waits for its connection. */
export async function startSources({ meters, ...rest }: SourcesParts): Promise<Source> {
  const { mqtt, nats, rosbridge, tail } = rest.config.sources;
  const parts = (name: string, kind: SourceKind): SourceParts => ({
    ...rest,
    meter: meters.openSource(name, kind),
  });
  const running: Source[] = [];
  if (mqtt.length > 0) {
    const { MqttSource } = await import('./mqtt.js');
    running.push(...mqtt.map((settings) => new MqttSource(settings, parts(settings.name, 'mqtt'))));
  }
  if (nats.length > 0) {
    const { NatsSource } = await import('./nats.js');
    running.push(...nats.map((settings) => new NatsSource(settings, parts(settings.name, 'nats'))));
  }
  if (rosbridge.length > 0) {
    const { RosbridgeSource } = await import('./rosbridge.js');
    running.push(...rosbridge.map((settings) => new RosbridgeSource(settings, parts(settings.name, 'rosbridge'))));
  }
  if (tail.length > 0) {
    const { TailSource } = await import('./tail.js');
    running.push(...tail.map((settings) => new TailSource(settings, parts(settings.name, 'tail'))));
  }
  return {
    stop: async () => {
      await Promise.all(running.map((source) => source.stop()));
    },
  };
}
