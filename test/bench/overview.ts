/**
 * What the overview costs a browser: `npm run bench -- overview [seconds] [series]` sends a report of each of 1,000
 * series, or as many as asked, ten times a second through the real edge, with changing figures and every twentieth of
 * them in trouble, and prints as JSON how much of a core Chromium's processes used meanwhile (processor time by the
 * operating system's account, so that a busy machine does not matter), and how many messages, of many reports each, the
 * page got. The pipeline is left out: it would need more cores than the browser that is measured.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import type { LiveEvent } from '../../src/wire/events.js';
import { startEdge } from '../kit/edge.js';
import { FakeLive, fakeReport, fakeReportEvent } from '../kit/fake-live.js';
import { launch } from '../kit/system/browser.js';
import { until } from '../kit/system/system.js';

const FPS = 10;
const seconds = Number(process.argv[2] ?? 20);
const SERIES = Number(process.argv[3] ?? 1000);
const PROFILE = 'online-surveillance';
/** the CPU profile of the page goes here, for the profiler of a browser */
const profileFile = process.env.TGOSPA_PAGE_PROFILE;
const nameOf = (n: number) => `gate-${String(n).padStart(4, '0')}`;

class ManyStreams extends FakeLive {
  override streams() {
    const feed = (tracker: string | null) => ({
      role: tracker === null ? ('reference' as const) : ('tracker' as const),
      tracker,
      seq: 100,
      lastReceivedMs: Date.now(),
      silent: false,
      ended: false,
      awaited: false,
    });
    return Array.from({ length: SERIES }, (_, n) => ({
      stream: nameOf(n),
      shape: 'box',
      dimensions: 0,
      windowFrames: 60,
      profiles: [PROFILE],
      resuming: false,
      feeds: [feed(null), feed('sort')],
      series: [{ tracker: 'sort', profile: PROFILE, k: 100, frames: 100, ended: false }],
      findings: [],
      incidents: [],
    }));
  }
}

/** Processor time of a process with all its threads, in milliseconds. */
function cpuMs(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
  return (user + system) * 10;
}

async function processesOf(browser: Browser): Promise<Array<{ type: string; id: number }>> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo;
}

const live = new ManyStreams();
const edge = await startEdge(`limits: { series: ${2 * SERIES}, streams: ${2 * SERIES} }`, { live });
const browser = await launch();
let k = 100;
/** One report of a series; every twentieth of them has a spike. */
function report(n: number): LiveEvent {
  const distance = 1 + Math.sin(k / 40 + n) / 4 + (n % 7) / 10;
  const cost = { localization: 0.5, missed: distance / 2, false: distance / 4, switch: 0.125, total: distance };
  return fakeReportEvent({ stream: nameOf(n), k, receivedMs: Date.now(), report: fakeReport({ distance, cost }) });
}
/** The series of one tenth of a second come in ten turns, as those of many cameras do. */
let turn = 0;
function emitTurn(): void {
  for (let n = turn; n < SERIES; n += 10) live.emit(report(n));
  turn = (turn + 1) % 10;
  if (turn === 0) k++;
}

try {
  for (let n = 0; n < 10; n++) emitTurn();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(`
    const Socket = window.WebSocket;
    window.received = 0;
    window.WebSocket = class extends Socket {
      constructor(...args) { super(...args); this.addEventListener('message', () => window.received++); }
    };
  `);
  await page.goto(`${edge.url}/#/`);
  await until(
    'all series',
    () => page.evaluate(`document.body.dataset.series === '${SERIES}'`) as Promise<boolean>,
    60_000,
  );
  for (let n = 0; n < SERIES; n += 20)
    live.emit({
      ...{ type: 'spike', stream: nameOf(n), tracker: 'sort', profile: PROFILE, phase: 'start', signal: 'missed' },
      ...{ k, at: k, n: 1, atMs: Date.now(), expected: 0.1, observed: 3, evidence: 50 },
    } as unknown as LiveEvent);
  const startedMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    // a late timer catches up: the rate is what is promised
    for (; sent < ((performance.now() - startedMs) / 1000) * FPS * 10; sent++) emitTurn();
  }, 10);
  const received = () => page.evaluate('window.received') as Promise<number>;
  const first = await received();
  // a message holds many reports
  await until('reports on the page', async () => (await received()) > first + 10, 60_000);
  const session = await page.context().newCDPSession(page);
  if (profileFile) {
    await session.send('Profiler.enable');
    await session.send('Profiler.start');
  }
  const processes = await processesOf(browser);
  const before = processes.map(({ id }) => cpuMs(id));
  const [fromMs, fromReports, fromFrame] = [performance.now(), await received(), k];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const used = processes.map(({ id }, n) => cpuMs(id) - before[n]);
  const tookMs = performance.now() - fromMs;
  if (profileFile) writeFileSync(profileFile, JSON.stringify((await session.send('Profiler.stop')).profile));
  const share = (ms: number) => Number((ms / tookMs).toFixed(3));
  const of = (type: string) => share(used.filter((_, n) => processes[n].type === type).reduce((a, b) => a + b, 0));
  const result = {
    series: SERIES,
    framesPerSecond: Number((((k - fromFrame) * 1000) / tookMs).toFixed(1)),
    messagesOnThePagePerSecond: Math.round((((await received()) - fromReports) * 1000) / tookMs),
    rows: await page.locator('tr[data-series]').count(),
    ofOneCore: { renderer: of('renderer'), browser: of('browser'), all: share(used.reduce((a, b) => a + b, 0)) },
  };
  clearInterval(timer);
  console.log(JSON.stringify(result, null, 1));
} finally {
  await browser.close();
  await edge.stop();
}
