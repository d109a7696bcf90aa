/**
 * What the page says of feeds and of their faults, in a real browser: the doctor of the wiring, the words of events,
 * a feed that ended, an evaluator that starts. Answers of the evaluator are put in the place of its own where a test
 * could not bring them about in a second. Every test has a page of its own.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { Evaluator, Screen } from '../../kit/system/page.js';
import { skipUnless } from '../../kit/system/system.js';

const PROFILE = 'online-surveillance';
const steady = crossingScene().trackers.find(({ name }) => name === 'steady')!.frames;

describe('page: feeds', () => {
  let browser: Browser;
  let evaluator: Evaluator;
  let screen: Screen;

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    browser = await launch();
    evaluator = await Evaluator.start();
    await evaluator.open('gate', ['sort']);
    await evaluator.send('gate', { sort: steady.slice(0, 20) });
  });
  beforeEach(async () => {
    screen = await Screen.open(browser);
  });
  afterEach(async () => {
    await screen.close();
    assert.deepEqual(screen.complaints, [], 'its console is silent');
  });
  after(async () => {
    await browser?.close();
    await evaluator?.stop();
  });

  it('are listed with what was refused, why, and an example', async () => {
    await evaluator.open('faulty', ['sort']);
    const objects = [{ id: 'a', box: [1, 2, 0, 4] as [number, number, number, number] }];
    await evaluator.feed('faulty', 'sort').send({ k: 1, objects: objects as never });
    await screen.go(evaluator, '#/setup?q=faulty');
    const row = screen.page.locator('[data-stream="faulty"] tr[data-feed="tracker sort"]');
    await row.getByText(/1 refused, such as: .*the width of a box must be above 0/).waitFor();
    assert.equal(await row.getAttribute('data-state'), 'connected');
    await screen.shot('setup');
  });

  it('that are wired wrongly come first, with the remedy to copy', async () => {
    const remedy = 'set the format option frameOffset of tracker sort to -1';
    await screen.page.route('**/v1/streams*', async (route) => {
      const body = await (await route.fetch()).json();
      const gate = body.streams.find(({ stream }: { stream: string }) => stream === 'gate');
      const finding = {
        finding: 'frame_offset',
        tracker: 'sort',
        sinceMs: body.nowMs,
        message: 'they are 1 ahead',
        remedy,
      };
      gate.findings = [finding];
      body.streams.push({ ...gate, stream: 'alone', feeds: [gate.feeds[1]], findings: [], series: [] });
      await route.fulfill({ json: body });
    });
    await screen.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await screen.go(evaluator, '#/setup');
    const finding = screen.page.locator('.doctor').first().locator('[data-finding="frame_offset"]');
    await finding.getByRole('button', { name: 'Copy remedy' }).click();
    await finding.getByText('copied').waitFor();
    assert.equal(await screen.page.evaluate('navigator.clipboard.readText()'), remedy);
    await screen.page.locator('[data-stream="alone"] tr[data-state="never connected"]').waitFor();
    await screen.go(evaluator, `#/s/gate/sort/${PROFILE}`);
    await screen.page.locator('summary', { hasText: 'Setup' }).click();
    await screen.page.locator('.doctor [data-finding="frame_offset"]').waitFor();
    await screen.page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('that ended are not called live', async () => {
    await evaluator.open('over', ['sort']);
    await evaluator.send('over', { sort: steady.slice(0, 5) });
    await screen.go(evaluator, `#/s/over/sort/${PROFILE}`);
    await screen.page.locator('.mode[data-mode="follow"][data-alive="live"]').waitFor();
    await evaluator.feed('over', 'sort').end();
    await screen.page.locator('.mode[data-mode="follow"][data-alive="feed ended"]').waitFor();
    await screen.banner('ended').waitFor();
  });

  it('that are waited for are not called live', async () => {
    await screen.page.route('**/v1/streams*', async (route) => {
      const body = await (await route.fetch()).json();
      for (const one of body.streams) one.resuming = one.stream === 'gate';
      await route.fulfill({ json: body });
    });
    await screen.go(evaluator, `#/s/gate/sort/${PROFILE}`);
    await screen.page.locator('.mode[data-mode="follow"][data-alive="waiting for feeds"]').waitFor();
    await screen.banner('resuming').waitFor();
    await screen.page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('are not called live when the evaluator says nothing any more, although the connection is open', async () => {
    let hangs = false;
    await screen.page.clock.install();
    await screen.page.routeWebSocket('**/v1/live*', (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        if (!hangs) socket.send(message);
      });
    });
    await screen.go(evaluator, `#/s/gate/sort/${PROFILE}`);
    await screen.page.locator('.mode[data-mode="follow"][data-alive="live"]').waitFor();
    hangs = true;
    await screen.page.clock.runFor(15_000);
    await screen.page.locator('.mode[data-mode="follow"][data-alive="not connected"]').waitFor();
    await screen.banner('gone').waitFor();
  });

  it('have gaps and missing frames told as people say it', async () => {
    const event = { stream: 'gate', role: 'tracker', tracker: 'sort', atMs: 1e12 };
    const events = [
      {
        ...event,
        n: 1,
        type: 'gap',
        k: 970,
        count: 50,
        message: 'frame 970 of the tracker sort came after 50 skipped frame numbers',
      },
      {
        ...event,
        n: 2,
        type: 'missing',
        k: 969,
        count: 9,
        message: 'frame 969 of the tracker sort did not arrive in time',
      },
      {
        ...event,
        n: 3,
        type: 'gap',
        k: 980,
        count: 7,
        message: 'frame 980 of the tracker sort came after 4 skipped frame numbers',
      },
    ];
    await screen.page.route('**/v1/events*', (route) => route.fulfill({ json: { events } }));
    await screen.go(evaluator, '#/events');
    await screen.shows({ events: 3 });
    const cells = await screen.page.locator('table.events td:nth-child(4)').allInnerTexts();
    assert.deepEqual(cells, [
      'sort skipped 7 frames',
      '9 frames up to 969 did not arrive; counted as all missed',
      'sort skipped 50 frames (920-969)',
    ]);
  });

  it('wait while the evaluator recovers, and the page says how far it is', async () => {
    const recovering = 'recovering: record 700 of 1200';
    await screen.page.route('**/v1/streams*', async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({ json: { ...body, ready: false, reasons: [recovering] } });
    });
    await screen.go(evaluator, '#/');
    await screen.banner('recovering').getByText('Recovering: record 700 of 1200.').waitFor();
    await screen.page.unrouteAll({ behavior: 'ignoreErrors' });
    await screen.banner('recovering').waitFor({ state: 'hidden' });
  });
});
