/**
 * The page of a running demo, in a real browser. Frames keep coming here, so a figure on the page is compared with the
 * report of the very frame that the page says it shows.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { WebSocket } from '../../src/edge/http.js';
import { CHROMIUM, launch } from '../kit/browser.js';
import { Screen } from '../kit/page-harness.js';
import { SYSTEM_TIMEOUT_MS, skipUnless, until } from '../kit/system.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const PROFILE = 'online-surveillance';

interface Told {
  distance: number;
  cost: Record<string, number>;
}

describe('the page of the demo', function () {
  this.timeout(SYSTEM_TIMEOUT_MS);
  let browser: Browser | undefined;
  let demo: ChildProcess | undefined;
  let live: WebSocket | undefined;
  let folder: string;
  let url = '';
  /** `tracker k`: what the evaluator told about the window that ends there */
  const told = new Map<string, Told>();

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-page-demo-'));
    demo = spawn(process.execPath, [MAIN, 'demo', '--port', '0'], {
      env: { PATH: process.env.PATH, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let output = '';
    demo.stdout!.on('data', (chunk) => {
      output += chunk;
    });
    url = await until('the address of the demo', () => /page +(http:\S+)/.exec(output)?.[1]);
    live = new WebSocket(`${url.replace('http', 'ws')}v1/live`, ['tgospa.v1']);
    live.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.type === 'report') told.set(`${message.tracker} ${message.k}`, message.window);
    });
    await once(live, 'open');
    browser = await launch();
  });

  after(async () => {
    await browser?.close();
    live?.terminate();
    if (demo && demo.exitCode === null) {
      demo.kill('SIGKILL');
      await once(demo, 'exit');
    }
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it('shows every view, with the figures of the frame it stands at', async () => {
    const screen = await Screen.open(browser!);
    await screen.page.goto(url);
    await screen.shows({ view: 'overview', series: 2 });
    await screen.shot('demo-overview');
    for (const tracker of ['steady', 'faulty']) {
      await screen.page.goto(`${url}#/s/crossing/${tracker}/${PROFILE}`);
      await screen.shows({ view: 'series', mode: 'follow' });
      await until('some frames', async () => Number(await screen.page.locator('body').getAttribute('data-shown')) > 5);
      await screen.page.getByRole('button', { name: 'Pause' }).click();
      await screen.shows({ mode: 'paused' });
      const { k, ...figures } = await screen.figures(tracker);
      const report = await until(`report ${k} of ${tracker}`, () => told.get(`${tracker} ${k}`));
      for (const [name, value] of Object.entries({ distance: report.distance, ...report.cost }))
        if (name in figures)
          assert.ok(Math.abs(figures[name] - value) <= 1e-9 * Math.max(1, value), `${name} of ${tracker} at ${k}`);
      assert.ok('distance' in figures && 'missed' in figures);
      await screen.shot(`demo-${tracker}`);
    }
    await screen.page.goto(`${url}#/events`);
    await screen.shows({ view: 'events' });
    assert.deepEqual(screen.complaints, []);
    await screen.close();
  });
});
