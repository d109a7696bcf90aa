/** The pull sources of a configuration, started and stopped together. */
import type { Config } from '../config/config.js';
import type { FeedDesk } from '../edge/feed-desk.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { SourceKind } from '../telemetry/source-meters.js';
import { MqttSource } from './mqtt.js';
import { RosbridgeSource } from './rosbridge.js';
import type { Source, SourceParts } from './source.js';
import { TailSource } from './tail.js';

interface SourcesParts {
  config: Config;
  desk: FeedDesk;
  logger: Logger;
  env: NodeJS.ProcessEnv;
  meters: Meters;
}

/** Starts every source; none waits for its connection. */
export function startSources({ meters, ...rest }: SourcesParts): Source {
  const { mqtt, rosbridge, tail } = rest.config.sources;
  const parts = (name: string, kind: SourceKind): SourceParts => ({
    ...rest,
    meter: meters.openSource(name, kind),
  });
  const running: Source[] = [
    ...mqtt.map((settings) => new MqttSource(settings, parts(settings.name, 'mqtt'))),
    ...rosbridge.map((settings) => new RosbridgeSource(settings, parts(settings.name, 'rosbridge'))),
    ...tail.map((settings) => new TailSource(settings, parts(settings.name, 'tail'))),
  ];
  return {
    stop: async () => {
      await Promise.all(running.map((source) => source.stop()));
    },
  };
}
