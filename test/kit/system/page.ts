/**
 * What the tests of the page share: an evaluator with exactly as many frames as a test sends, and a page that waits.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { type App, startApp } from '../../../src/app.js';
import { connect, type FeedClient } from '../../../src/client.js';
import { readConfig } from '../../../src/config/config.js';
import { WebSocket } from '../../../src/edge/sockets.js';
import type { Frame } from '../../../src/metric/evaluation.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../settings.js';
import { until } from './system.js';

export const DEADLINE_MS = 60_000;

/** Where a person wants to look at what the browser showed; a picture of a whole page takes as long as a test. */
const SCREENSHOTS = process.env.TGOSPA_SCREENSHOTS;

const SETTINGS = { pairing: UNTIMED_PAIRING };

export class Evaluator {
  #feeds = new Map<string, FeedClient>();

  private constructor(
    readonly app: App,
    readonly dir: string,
    readonly token: string | undefined,
  ) {}

  static async start({
    dir = mkdtempSync(join(tmpdir(), 'tgospa-page-')),
    port = 0,
    text = '',
    token = '',
    evaluation = UNTIMED_EVALUATION as Record<string, number>,
  } = {}) {
    const env = token ? { TGOSPA_TOKEN: token } : {};
    const { config } = readConfig({
      text,
      overrides: { listen: { port }, data: { dir }, evaluation },
      env,
    });
    const app = await startApp(config, { env, logger: createLogger({ level: 'error' }) });
    return new Evaluator(app, dir, token || undefined);
  }

  get url(): string {
    return this.app.urls.http;
  }

  /** The feed of a stream: the reference, or the tracker of that name. */
  feed(stream: string, tracker: string | null, settings: Record<string, unknown> = SETTINGS): FeedClient {
    const key = `${stream}\n${tracker}`;
    let feed = this.#feeds.get(key);
    if (!feed) {
      const role = tracker === null ? ('reference' as const) : ('tracker' as const);
      const named = tracker === null ? {} : { tracker };
      const access = this.token ? { token: this.token } : {};
      feed = connect({ url: this.url, stream, role, ...named, ...access, settings, WebSocket: WebSocket as never });
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  /** Opens the feeds of a stream; resolves when the evaluator expects frames of all of them. */
  async open(stream: string, trackers: string[], settings: Record<string, unknown> = SETTINGS): Promise<void> {
    for (const tracker of [null, ...trackers]) this.feed(stream, tracker, settings);
    const known = async () => (await this.#info(stream))?.feeds.length ?? 0;
    const wanted = trackers.length + 1;
    await until(`${wanted} feeds of ${stream}`, async () => (await known()) === wanted, DEADLINE_MS);
  }

  /** Sends frame after frame, numbered from `first`, of all trackers; resolves when every one is judged. */
  async send(stream: string, trackers: Record<string, Frame[]>, first = 1): Promise<void> {
    const lists = Object.entries(trackers);
    for (let n = 0; n < lists[0][1].length; n++) {
      await this.feed(stream, null).send({ k: first + n, objects: lists[0][1][n].reference as never });
      for (const [tracker, frames] of lists)
        await this.feed(stream, tracker).send({ k: first + n, objects: frames[n].tracker as never });
    }
    const last = first + lists[0][1].length - 1;
    for (const [tracker] of lists)
      await until(
        `frame ${last} of ${stream}/${tracker}`,
        async () => ((await this.judged(stream, tracker)) ?? 0) >= last,
        DEADLINE_MS,
      );
  }

  async #info(stream: string) {
    return (await this.app.live.streams()).find((one) => one.stream === stream);
  }

  async judged(stream: string, tracker: string): Promise<number | null | undefined> {
    return (await this.#info(stream))?.series.find((one) => one.tracker === tracker)?.k;
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}${path}`);
    assert.equal(response.status, 200, path);
    return JSON.parse(await response.text());
  }

  async stop(keep = false): Promise<void> {
    for (const feed of this.#feeds.values()) await feed.close({ flush: false });
    await this.app.stop();
    if (!keep) rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Chromium says this when tests beside it lay lines between machines of their own, and asks again. */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';

/** A page and what its console complained about. */
export class Screen {
  readonly complaints: string[] = [];

  private constructor(readonly page: Page) {
    page.setDefaultTimeout(DEADLINE_MS);
    page.on('console', (message) => {
      if (message.text().includes(NETWORK_CHANGED)) return;
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error.stack)));
  }

  static async open(browser: Browser): Promise<Screen> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
    return new Screen(await context.newPage());
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** Waits until the body says all of this about itself, such as `newest: 150`. */
  async shows(facts: Record<string, string | number>): Promise<void> {
    const selector = Object.entries(facts).map(([name, value]) => `[data-${name}="${value}"]`);
    try {
      await this.page.locator(`body${selector.join('')}`).waitFor({ state: 'attached' });
    } catch (error) {
      const shown = await this.page.evaluate('JSON.stringify({ ...document.body.dataset })');
      throw new Error(`the page says ${shown}`, { cause: error });
    }
  }

  async go(evaluator: Evaluator, hash: string): Promise<void> {
    await this.page.goto(`${evaluator.url}/${hash}`);
  }

  /** The figures of a tracker's panel, as precisely as they came; with `atFrame`, once they are those of that frame. */
  async figures(tracker: string, atFrame?: number): Promise<Record<string, number>> {
    const panel = this.page.locator(`[data-tracker="${tracker}"]`);
    if (atFrame !== undefined) await panel.locator(`.figures-box[data-k="${atFrame}"]`).waitFor();
    const cells = await panel.locator('[data-figure][data-value]').all();
    const entries = cells.map(
      async (cell) => [await cell.getAttribute('data-figure'), Number(await cell.getAttribute('data-value'))] as const,
    );
    const k = Number(await panel.locator('.figures-box').getAttribute('data-k'));
    return { ...Object.fromEntries(await Promise.all(entries)), k };
  }

  banner = (state: string) => this.page.locator(`.banner[data-state="${state}"]`);

  /** A picture for whoever asked for some. */
  async shot(name: string): Promise<void> {
    if (!SCREENSHOTS) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  }
}
