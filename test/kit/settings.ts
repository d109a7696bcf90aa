/** Complete settings for tests that care about a few of them: the rest are the defaults of the configuration. */
import { type PairingSettings, type ReportSettings, readConfig } from '../../src/config/config.js';
import type { LogSettings } from '../../src/store/log.js';

const { data, streams } = readConfig({ env: {} }).config;

export const pairingSettings = (own: Partial<PairingSettings> = {}): PairingSettings => ({
  ...streams.defaults.pairing,
  ...own,
});

export const reportSettings = (): ReportSettings => streams.defaults.reports;

export const logSettings = (own: Partial<LogSettings> & { dir: string }): LogSettings => ({ ...data, ...own });

/** Nothing depends on how fast the machine is: no solve is cut by the clock, in the main thread or in a worker. */
export const UNTIMED_EVALUATION = { budgetMs: 600_000, heavyMs: 600_000 };

/** The same where a test reaches into the pipeline: it must be in the thread of the test. */
export const IN_THIS_THREAD = { ...UNTIMED_EVALUATION, workers: 0 };

/** Nothing is judged before all feeds have sent it, however long that takes. */
export const UNTIMED_PAIRING = { latenessMs: 1e7, silenceMs: 1e7 };
