/** An evaluator with pull sources in a folder of its own, and what tests of sources look at. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from './settings.js';
import { until } from './system/system.js';

export class SourceBench {
  readonly folder = mkdtempSync(join(tmpdir(), 'tgospa-source-'));
  readonly logLines: string[] = [];
  #app: App | null = null;

  get app(): App {
    return this.#app!;
  }

  /** Starts an evaluator; one that is started again goes on with the same data. */
  async start(settings: Record<string, unknown>, env: NodeJS.ProcessEnv = {}): Promise<App> {
    const sources = { backoffMs: 10, backoffMaxMs: 200, pollMs: 5, ...(settings.sources as object) };
    const text = JSON.stringify({
      evaluation: UNTIMED_EVALUATION,
      ...settings,
      sources,
      streams: { defaults: { windowFrames: 1000, pairing: UNTIMED_PAIRING } },
      ...('streams' in settings ? { streams: settings.streams } : {}),
    });
    const overrides = { listen: { port: 0 }, data: { dir: join(this.folder, 'data') } };
    const { config } = readConfig({ text, overrides, env });
    const logger = createLogger({ level: 'debug', write: (line) => this.logLines.push(line) });
    this.#app = await startApp(config, { env, logger });
    return this.#app;
  }

  async stop(): Promise<void> {
    await this.#app?.stop();
    this.#app = null;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Lines of the log about an event. */
  logged(event: string): Array<Record<string, unknown>> {
    return this.logLines.map((line) => JSON.parse(line)).filter((line) => line.event === event);
  }

  /** Steps judged so far in a series of the default profile. */
  async frames(stream: string, tracker: string): Promise<number> {
    const reports = await this.app.live.reports();
    return reports.find((one) => one.stream === stream && one.tracker === tracker)?.report.frames ?? 0;
  }

  /** Number of the last stored frame of a feed; its whole part counts messages. */
  async storedSeq(stream: string, tracker: string | null): Promise<number> {
    const info = (await this.app.live.streams()).find((one) => one.stream === stream);
    return info?.feeds.find((feed) => feed.tracker === tracker)?.seq ?? 0;
  }

  async metric(name: string, labels: string): Promise<number> {
    const text = await (await fetch(this.app.urls.metrics)).text();
    const line = text.split('\n').find((one) => one.startsWith(`${name}{${labels}`));
    return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
  }

  untilFrames(stream: string, tracker: string, count: number): Promise<boolean> {
    return until(
      `${count} frames of ${stream} ${tracker} are judged`,
      async () => (await this.frames(stream, tracker)) === count,
    );
  }
}

/** A frame with one object, as JSON. */
export const frameText = (k: number, id = 'a', left = k) =>
  JSON.stringify({ k, objects: [{ id, box: [left % 500, 10, 20, 40] }] });
