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

type Settings = Config['sources'];
/** the sections of `sources` that are lists */
type ConfiguredKind = {
  [Key in keyof Settings]: Settings[Key] extends readonly unknown[] ? Key : never;
}[keyof Settings];
type SourceClass<Kind extends ConfiguredKind> = new (settings: Settings[Kind][number], parts: SourceParts) => Source;

/** The compiler asks for an entry when the configuration has another kind. */
const KINDS: { [Kind in ConfiguredKind]: () => Promise<SourceClass<Kind>> } = {
  mqtt: async () => (await import('./mqtt.js')).MqttSource,
  nats: async () => (await import('./nats.js')).NatsSource,
  rosbridge: async () => (await import('./rosbridge.js')).RosbridgeSource,
  tail: async () => (await import('./tail.js')).TailSource,
};

/** Starts every source; none waits for its connection. */
export async function startSources({ meters, ...rest }: SourcesParts): Promise<Source> {
  const running: Source[] = [];
  const start = async <Kind extends ConfiguredKind & SourceKind>(kind: Kind) => {
    const configured: readonly Settings[Kind][number][] = rest.config.sources[kind];
    if (configured.length === 0) return;
    const KindOfSource: SourceClass<Kind> = await KINDS[kind]();
    for (const settings of configured)
      running.push(new KindOfSource(settings, { ...rest, meter: meters.openSource(settings.name, kind) }));
  };
  for (const kind of Object.keys(KINDS) as ConfiguredKind[]) await start(kind);
  return {
    stop: async () => {
      await Promise.all(running.map((source) => source.stop()));
    },
  };
}
