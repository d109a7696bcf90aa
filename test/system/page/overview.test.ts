/**
 * The overview in a real browser, with answers of the evaluator put in the place of its own: every state at once, and a
 * thousand series, which no test could bring about in a second. Every test has a page of its own.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { Evaluator, Screen } from '../../kit/system/page.js';
import { skipUnless, until } from '../../kit/system/system.js';

const PROFILE = 'online-surveillance';
const NOW = 1_700_000_000_000;
const MINUTE = 60_000;

const feed = (tracker: string | null, changes = {}) => ({
  role: tracker === null ? 'reference' : 'tracker',
  tracker,
  seq: 100,
  lastReceivedMs: NOW,
  silent: false,
  ended: false,
  awaited: false,
  ...changes,
});

const stream = (name: string, changes: Record<string, unknown> = {}) => ({
  stream: name,
  shape: 'box',
  dimensions: 0,
  windowFrames: 60,
  profiles: [PROFILE],
  resuming: false,
  feeds: [feed(null), feed('sort')],
  series: [{ tracker: 'sort', profile: PROFILE, k: 100, frames: 100, ended: false }],
  findings: [],
  incidents: [],
  ...changes,
});

const incident = (name: string, changes: Record<string, unknown> = {}) => ({
  stream: name,
  tracker: 'sort',
  profile: PROFILE,
  id: 3,
  times: 1,
  k: 40,
  at: 90,
  sinceMs: NOW - 5 * MINUTE,
  severity: 'critical',
  lasting: null,
  cause: 'frozen',
  message: 'it is frozen: its 4 tracks stand still',
  evidence: {},
  signals: [{ signal: 'missed', expected: 0.1, observed: 4, concerned: 4, of: 5, objects: [], over: false }],
  remark: null,
  ...changes,
});

/** One stream for every state. */
const ALL = [
  stream('h-fine'),
  stream('g-ended', { series: [{ tracker: 'sort', profile: PROFILE, k: 9, frames: 9, ended: true }] }),
  stream('f-waiting', { series: [{ tracker: 'sort', profile: PROFILE, k: null, frames: 0, ended: false }] }),
  stream('e-suspended', { suspended: 'a record could not be applied' }),
  stream('d-silent', { feeds: [feed(null), feed('sort', { silent: true, lastReceivedMs: NOW - 3 * MINUTE })] }),
  stream('c-unmatched', {
    findings: [
      {
        finding: 'box_order',
        tracker: 'sort',
        sinceMs: NOW - MINUTE,
        message: 'the boxes fit when they are read as xyxy',
        remedy: 'convert them',
      },
    ],
  }),
  stream('b-worse'),
  stream('a-broken'),
];
const INCIDENTS = [
  incident('a-broken'),
  incident('b-worse', { severity: 'warning', message: 'clutter: 2 short-lived tracks', cause: 'clutter' }),
];
const rate = (name: string) => ({
  stream: name,
  tracker: 'sort',
  profile: PROFILE,
  seconds: 30,
  frames: 300,
  proper: 1200,
  missed: 60,
  false: 6,
  switches: 1,
  usual: { missed: 0.05, false: 0.01, switch: 0.0001 },
  error: 0.1,
});

describe('page: the overview', () => {
  let browser: Browser;
  let evaluator: Evaluator;
  let screen: Screen;

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    browser = await launch();
    evaluator = await Evaluator.start();
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

  /** What the page is told instead; the returned list is what it says about incidents. */
  const tell = async (streams: unknown[], incidents: Array<Record<string, unknown>> = []) => {
    const said: Array<Record<string, unknown>> = [];
    const mutes: unknown[] = [];
    const { page } = screen;
    await page.route('**/v1/streams*', (route) => route.fulfill({ json: { nowMs: NOW, streams } }));
    await page.route('**/v1/rates*', (route) =>
      route.fulfill({ json: { series: (streams as Array<{ stream: string }>).map(({ stream: name }) => rate(name)) } }),
    );
    await page.route('**/v1/incidents*', (route) => {
      if (route.request().method() === 'GET') return route.fulfill({ json: { nowMs: NOW, incidents, mutes } });
      const body = JSON.parse(route.request().postData()!);
      said.push(body);
      const remark = { action: body.action, by: 'anna', atMs: NOW };
      if (body.action === 'mute') mutes.push({ id: 1, ...body, untilMs: NOW + body.minutes * MINUTE, by: 'anna' });
      else if (body.action === 'unmute') mutes.length = 0;
      else Object.assign(incidents.find(({ stream: name }) => name === body.stream)!, { remark });
      return route.fulfill({ json: {} });
    });
    return said;
  };
  const names = async () => {
    const rows = await screen.page.locator('tr[data-series]').all();
    return Promise.all(rows.map(async (row) => (await row.getAttribute('data-series'))!.split('/')[0]));
  };

  it('stands in the order of urgency, each with its sentence, and counts what needs somebody', async () => {
    await tell(ALL, structuredClone(INCIDENTS));
    await screen.go(evaluator, '#/');
    await screen.shows({ view: 'overview', series: 8, attention: 5 });
    await screen.page.getByRole('heading', { name: '5 of 8 series need attention' }).waitFor();
    assert.deepEqual(await names(), [
      'a-broken',
      'b-worse',
      'c-unmatched',
      'd-silent',
      'e-suspended',
      'f-waiting',
      'h-fine',
      'g-ended',
    ]);
    const row = screen.page.locator('tr[data-health="broken"]');
    await row.getByText('It is frozen: its 4 tracks stand still (missed 4 of 5)').waitFor();
    assert.equal(await row.locator('.since').innerText(), '5 min');
    await screen.page.getByText('Tracker silent for 3 min: everything counts as missed').waitFor();
    await screen.page.getByText('The boxes fit when they are read as xyxy').waitFor();
    await screen.page.getByText('A record could not be applied').waitFor();
    await screen.shot('overview-states');
  });

  it('puts usual beside now, in counts per minute and per object hour', async () => {
    await tell([stream('gate-7')]);
    await screen.go(evaluator, '#/');
    await screen.shows({ series: 1, attention: 0 });
    const cells = await screen.page.locator('tr[data-series] td.rate').allInnerTexts();
    // 60 of 1260 objects in half a minute of 300 frames; 4.2 objects are 0.035 object hours
    assert.deepEqual(cells, ['120 30', '12 6', '29 0.86']);
  });

  it('acknowledges, mutes, unmutes and closes where the incident stands, and says who did', async () => {
    const said = await tell(ALL, structuredClone(INCIDENTS));
    await screen.go(evaluator, '#/');
    const row = screen.page.locator('tr[data-health="broken"]');
    await row.getByRole('button', { name: 'Acknowledge' }).click();
    await row.getByText(/acknowledged by anna/).waitFor();
    await row.getByLabel('mute for').selectOption('1 h');
    await row.getByText(/muted until/).waitFor();
    await row.getByRole('button', { name: 'Unmute' }).click();
    await row.locator('[data-muted="false"]').waitFor();
    await row.getByRole('button', { name: 'Close' }).click();
    await row.getByText(/closed by anna/).waitFor();
    const id = { stream: 'a-broken', tracker: 'sort', profile: PROFILE, id: 3 };
    assert.deepEqual(said, [
      { action: 'acknowledge', ...id },
      { action: 'mute', stream: 'a-broken', tracker: 'sort', minutes: 60 },
      { action: 'unmute', id: 1 },
      { action: 'close', ...id },
    ]);
  });

  it('says that a token may not do that', async () => {
    await tell(ALL, structuredClone(INCIDENTS));
    await screen.page.route('**/v1/incidents', (route) =>
      route.fulfill({ status: 403, json: { code: 'role_forbidden', message: 'token a lacks the role operate' } }),
    );
    await screen.go(evaluator, '#/');
    const row = screen.page.locator('tr[data-health="broken"]');
    await row.getByRole('button', { name: 'Acknowledge' }).click();
    await row.getByText('Not done: token a lacks the role operate').waitFor();
    // the browser itself says that a request failed
    screen.complaints.length = 0;
  });

  it('shows one state only, groups by place, and keeps both in the address', async () => {
    await tell([...ALL, stream('north/gate-1'), stream('north/gate-2'), stream('quay-1'), stream('quay-2')]);
    await screen.go(evaluator, '#/');
    await screen.page.getByRole('button', { name: 'fine' }).click();
    await screen.page.getByLabel('Group by').selectOption('place');
    await screen.shows({ series: 7 });
    assert.match(String(await screen.page.evaluate('location.hash')), /group=place&state=fine/);
    await screen.page.reload();
    await screen.shows({ series: 7 });
    const groups = await screen.page.locator('tr.group').allInnerTexts();
    assert.deepEqual(
      groups.filter((text) => /North|Quay/.test(text)),
      ['North 2', 'Quay 2'],
    );
  });

  it('holds a thousand series in a screenful of rows, all of which can be reached', async () => {
    const message = 'clutter: 0.825 short-lived tracks in a frame where no object is, 12 in the last one';
    await tell(
      Array.from({ length: 1000 }, (_, n) => stream(`gate-${String(n).padStart(4, '0')}`)),
      [incident('gate-0500', { message })],
    );
    await screen.go(evaluator, '#/');
    await screen.shows({ series: 1000, attention: 1 });
    assert.ok((await screen.page.locator('tr[data-series]').count()) < 60);
    const [cut, wrong, fine] = (await screen.page.evaluate(`(() => {
      const [wrong, fine] = [...document.querySelectorAll('tr[data-series]')];
      const { scrollHeight, clientHeight } = wrong.querySelector('.sentence');
      return [scrollHeight > clientHeight, wrong.offsetHeight, fine.offsetHeight];
    })()`)) as [boolean, number, number];
    assert.ok(!cut && wrong > 2 * fine, 'what is wrong is read whole, the others are low');
    await screen.page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await until('the last row', async () => (await names()).at(-1) === 'gate-0999');
    assert.ok((await screen.page.locator('tr[data-series]').count()) < 60);
    await screen.page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)');
    await until(
      'a row of the middle',
      async () => (await names()).includes('gate-0500') === false && (await names()).includes('gate-0495'),
    );
    await screen.shot('overview-1000');
  });
});
