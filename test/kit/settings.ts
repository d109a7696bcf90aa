/** Complete settings for tests that care about a few of them: the rest are the defaults of the configuration. */
import { type PairingSettings, readConfig } from '../../src/config/config.js';
import type { LogSettings } from '../../src/store/log.js';

const { data, streams } = readConfig({ env: {} }).config;

export const pairingSettings = (own: Partial<PairingSettings> = {}): PairingSettings => ({
  ...streams.defaults.pairing,
  ...own,
});

export const logSettings = (own: Partial<LogSettings> & { dir: string }): LogSettings => ({ ...data, ...own });
