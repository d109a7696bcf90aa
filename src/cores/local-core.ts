/** All partitions in this thread, beside the sockets: what `evaluation.workers: 0` means. */
import type { Config } from '../config/config.js';
import { Core } from '../edge/core.js';
import { type Clock, Live } from '../live/live.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import type { Cores } from './cores.js';

export class LocalCore extends Core<Live> implements Cores {
  constructor(
    config: Config,
    readonly live: Live,
    meters: Meters,
    logger: Logger,
  ) {
    super({ config, live, meters, logger });
  }

  static async start(config: Config, clock: Clock, meters: Meters, logger: Logger): Promise<LocalCore> {
    return new LocalCore(config, await Live.start(config, clock, logger), meters, logger);
  }

  get recovered(): Promise<void> {
    return this.live.recovered;
  }

  names(): string[] {
    return this.live.streams().map(({ stream }) => stream);
  }

  liftBackpressure(): void {
    this.live.liftBackpressure();
  }

  stop(): Promise<void> {
    return this.live.stop();
  }
}
