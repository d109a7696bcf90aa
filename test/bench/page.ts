/**
 * The live page in a real browser: its weight, and how fast it draws 100 truths and 100 tracks, or as many as asked,
 * with trails, ids, lines and marks. `npm run bench -- page [seconds] [objects]` prints JSON: pictures per second and
 * CPU time of the page's main thread per picture, while it replays one frame per picture as fast as the browser asks
 * for them and while frames come in live at 60 per second, and beside it the rate at which the same browser asks an
 * empty page for pictures.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { startApp } from '../../src/app.js';
import { connect } from '../../src/client.js';
import { readConfig } from '../../src/config/config.js';
import { WebSocket } from '../../src/edge/sockets.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { launch } from '../kit/system/browser.js';
import { until } from '../kit/system/system.js';
import { crowd } from './crowd.js';

const LIVE_FPS = 60;
const seconds = Number(process.argv[2] ?? 10);
const OBJECTS = Number(process.argv[3] ?? 100);
/** the CPU profile of the replay goes here, for the profiler of a browser */
const profileFile = process.env.TGOSPA_PAGE_PROFILE;

interface Rate {
  picturesPerSecond: number;
  cpuMsPerPicture: number;
  /** share of one core */
  mainThread: number;
}

const COUNT_PICTURES = `
  const ask = window.requestAnimationFrame.bind(window);
  window.pictures = 0;
  window.requestAnimationFrame = (draw) => ask((now) => { window.pictures++; draw(now); });
`;

/** CPU time of the page's main thread so far, in milliseconds, by the operating system's account. */
function cpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** The process of the one page that is open. */
async function processOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  return renderers.sort((a, b) => b.cpuTime - a.cpuTime)[0].id;
}

/** Counts pictures and CPU time for a while. */
async function measure(page: Page, pid: number, ms: number): Promise<Rate> {
  const now = () => page.evaluate('[performance.now(), window.pictures]') as Promise<[number, number]>;
  const [beganMs, before] = await now();
  const cpuBefore = cpuMs(pid);
  await new Promise((resolve) => setTimeout(resolve, ms));
  const [endedMs, after] = await now();
  const cpu = cpuMs(pid) - cpuBefore;
  const pictures = after - before;
  const tidy = (value: number) => Number(value.toFixed(2));
  return {
    picturesPerSecond: tidy((pictures * 1000) / (endedMs - beganMs)),
    cpuMsPerPicture: tidy(cpu / pictures),
    mainThread: tidy(cpu / (endedMs - beganMs)),
  };
}

/** Waits until the page has a frame. */
const reached = (page: Page, k: number) =>
  until(
    `frame ${k} on the page`,
    () => page.evaluate(`Number(document.body.dataset.newest) >= ${k}`) as Promise<boolean>,
  );

const gzipped = (folder: URL) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.gz'))
    .reduce((sum, name) => sum + statSync(new URL(name, folder)).size, 0);

const dir = mkdtempSync(join(tmpdir(), 'tgospa-bench-page-'));
const { config } = readConfig({ overrides: { listen: { port: 0 }, data: { dir } }, env: {} });
const app = await startApp(config, { env: {}, logger: createLogger({ level: 'error' }) });
const browser = await launch();
const feeds = (['reference', 'tracker'] as const).map((role) =>
  connect({
    url: app.urls.http.replace('http', 'ws'),
    stream: 'crowd',
    role,
    ...(role === 'tracker' ? { tracker: 'bench' } : {}),
    WebSocket: WebSocket as never,
  }),
);
try {
  const frames = crowd(OBJECTS, 900 + Math.ceil(seconds * LIVE_FPS) + 200, 7);
  let k = 0;
  const send = async () => {
    const frame = frames[k];
    k++;
    await Promise.all([feeds[0].send({ k, objects: frame.reference }), feeds[1].send({ k, objects: frame.tracker })]);
  };
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(COUNT_PICTURES);
  const session = await page.context().newCDPSession(page);
  await page.goto('about:blank');
  await page.evaluate('(function again() { requestAnimationFrame(again); })()');
  const empty = await measure(page, await processOf(browser), Math.min(3, seconds) * 1000);
  await send();
  await page.goto(`${app.urls.http}/#/s/crowd/bench/online-surveillance`);
  await reached(page, 1);
  while (k < 900) {
    await send();
    if (k % 50 === 0) await reached(page, k);
  }
  const pid = await processOf(browser);
  await page.getByLabel('speed of replay').selectOption('every frame');
  await page.getByRole('button', { name: 'Replay' }).click();
  if (profileFile) {
    await session.send('Profiler.enable');
    await session.send('Profiler.start');
  }
  const replay = await measure(page, pid, Math.min(seconds, 10) * 1000);
  if (profileFile) writeFileSync(profileFile, JSON.stringify((await session.send('Profiler.stop')).profile));
  await page.keyboard.press('End');
  const timer = setInterval(() => k < frames.length && void send(), 1000 / LIVE_FPS);
  await reached(page, k + 30);
  const live = await measure(page, pid, seconds * 1000);
  clearInterval(timer);
  const pageKilobytes = Number((gzipped(new URL('../../page/', import.meta.url)) / 1000).toFixed(1));
  console.log(
    JSON.stringify(
      {
        objects: OBJECTS,
        canvas: await page.evaluate(
          "(() => { const c = document.querySelector('canvas.scene'); return [c.width, c.height]; })()",
        ),
        pageKilobytesGzipped: pageKilobytes,
        empty,
        replay,
        live60: live,
      },
      null,
      1,
    ),
  );
} finally {
  for (const feed of feeds) await feed.close({ flush: false });
  await browser.close();
  await app.stop();
  rmSync(dir, { recursive: true, force: true });
}
