/** The pull sources of a configuration, started and stopped together. */
import type { Config } from '../config/config.js';
import type { IngestDesk } from '../edge/session.js';
import type { Logger } from '../telemetry/logger.js';
import type { SourceKind, SourceMeter } from '../telemetry/source-meters.js';
import { MqttSource } from './mqtt.js';
import { RosbridgeSource } from './rosbridge.js';
import type { Source, SourceParts } from './source.js';
import { TailSource } from './tail.js';

interface SourcesParts {
  config: Config;
  desk: IngestDesk;
  logger: Logger;
  env: NodeJS.ProcessEnv;
  telemetry: { sourceMeter(source: string, kind: SourceKind): SourceMeter };
}

/** Starts every source; none waits for its connection. */
export function startSources({ telemetry, ...rest }: SourcesParts): Source {
  const { mqtt, rosbridge, tail } = rest.config.sources;
  const parts = (name: string, kind: SourceKind): SourceParts => ({
    ...rest,
    meter: telemetry.sourceMeter(name, kind),
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
