/**
 * The page of a running demo, in a real browser. Frames keep coming here, so a figure on the page is compared with the
 * report of the very frame that the page says it shows.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { WebSocket } from '../../../src/edge/sockets.js';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { Screen } from '../../kit/system/page.js';
import { Program } from '../../kit/system/program.js';
import { skipUnless, until } from '../../kit/system/system.js';

const PROFILE = 'online-surveillance';

interface Told {
  distance: number;
  cost: Record<string, number>;
}

describe('the page of the demo', () => {
  let browser: Browser | undefined;
  let demo: Program | undefined;
  let live: WebSocket | undefined;
  let folder: string;
  let url = '';
  /** `tracker k`: what the evaluator told about the window that ends there */
  const told = new Map<string, Told>();

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-page-demo-'));
    demo = Program.tgospa(['demo', '--port', '0'], { env: { TMPDIR: folder } });
    [, url] = await demo.shows(/page +(http:\S+)/);
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
    await demo?.end('SIGKILL');
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
      // a reader that lags is told less: then it is another frame's turn
      const { figures, report, k } = await until(`a frame of ${tracker} that both were told of`, async () => {
        await screen.page.getByRole('button', { name: 'Pause' }).click();
        await screen.shows({ mode: 'paused' });
        const { k, ...figures } = await screen.figures(tracker);
        const report = told.get(`${tracker} ${k}`);
        if (report) return { figures, report, k };
        await screen.page.keyboard.press('End');
        await screen.shows({ mode: 'follow' });
        return undefined;
      });
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
