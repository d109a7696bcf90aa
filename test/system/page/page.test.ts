/**
 * The live page in a real browser. Every test has a page of its own, which nothing done before has touched, sends
 * exactly as many frames as it names, waits until the page says that it shows them, and pauses before it compares:
 * nothing is compared while it moves.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { runEval } from '../../../src/commands/eval/eval.js';
import { runReplay } from '../../../src/commands/replay.js';
import { paramsByName, readConfig } from '../../../src/config/config.js';
import { evaluate, type Frame, type Params, presets } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { harbour } from '../../bench/kernel/harbour.js';
import { metric } from '../../kit/exposition.js';
import { UNTIMED_PAIRING } from '../../kit/settings.js';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { outputOf } from '../../kit/system/command-line.js';
import { Evaluator, Screen } from '../../kit/system/page.js';
import { freePort, SYSTEM_TIMEOUT_MS, skipUnless, until } from '../../kit/system/system.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PROFILE = 'online-surveillance';
/** a switch at frame 122 is settled by then */
const FRAMES = 160;
const WINDOW = 60;
const COMPONENTS = ['localization', 'missed', 'false', 'switch'] as const;

const scene = crossingScene();
const framesOf = (tracker: string): Frame[] =>
  scene.trackers.find(({ name }) => name === tracker)!.frames.slice(0, FRAMES);
const first = (tracker: string, count: number) => framesOf(tracker).slice(0, count);

/** The window that ends at frame k, from scratch. */
const windowAt = (tracker: string, k: number) =>
  evaluate(framesOf(tracker).slice(Math.max(0, k - WINDOW), k), presets[PROFILE]);

const close = (actual: number, expected: number, what: string) =>
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual}, expected ${expected}`,
  );

function assertFigures(figures: Record<string, number>, tracker: string, k: number): void {
  const { distance, cost } = windowAt(tracker, k);
  assert.equal(figures.k, k);
  close(figures.distance, distance, `distance of ${tracker} at ${k}`);
  for (const name of COMPONENTS) close(figures[name], cost[name], `${name} of ${tracker} at ${k}`);
}

const seriesHash = (tracker: string, query = '') => `#/s/crossing/${tracker}/${PROFILE}${query}`;

describe('page', () => {
  let browser: Browser;
  let evaluator: Evaluator;
  let screen: Screen;

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    browser = await launch();
    evaluator = await Evaluator.start({
      text: 'profiles:\n  metres: { distance: geodesic, cutoff: 50, admissibleError: 30, shortSwitchDistance: 10 }\n  plane: { distance: euclidean, cutoff: 5, admissibleError: 3, longSwitchFrames: 4 }\n',
    });
    await evaluator.open('crossing', ['steady', 'faulty']);
    await evaluator.send('crossing', { steady: first('steady', FRAMES), faulty: first('faulty', FRAMES) });
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

  /** Opens a series of the stream `crossing`; resolves when the page shows its newest frame. */
  const goToSeries = async (tracker: string) => {
    await screen.go(evaluator, seriesHash(tracker));
    await screen.shows({ view: 'series', newest: FRAMES, shown: FRAMES, mode: 'follow' });
  };
  /** Opens it at a frame, where it stays. */
  const goToFrame = async (tracker: string, k: number, query = '') => {
    await screen.go(evaluator, seriesHash(tracker, `?k=${k}${query}`));
    await screen.shows({ view: 'series', newest: FRAMES, shown: k, mode: 'paused' });
  };

  describe('overview', () => {
    it('lists all series with the figures of the evaluator', async () => {
      await screen.go(evaluator, '#/?q=crossing');
      await screen.shows({ view: 'overview', series: 2 });
      await screen.page.locator(`tr[data-k="${FRAMES}"]`).nth(1).waitFor();
      const row = screen.page.locator(`tr[data-series="crossing/faulty/${PROFILE}"]`);
      const shown = Number(await row.locator('.distance').getAttribute('data-value'));
      close(shown, windowAt('faulty', FRAMES).distance, 'distance');
      const text = await (await fetch(`${evaluator.url}/metrics`)).text();
      assert.equal(metric(text, 'tgospa_window_distance', { tracker: 'faulty', profile: PROFILE }), shown);
    });

    it('filters by a search that is part of the address', async () => {
      await screen.go(evaluator, '#/');
      await screen.page.getByLabel('Search').fill('STEADY surv');
      await screen.shows({ series: 1 });
      assert.equal(await screen.page.evaluate('location.hash'), '#/?q=STEADY+surv');
      await screen.page.reload();
      await screen.shows({ view: 'overview', series: 1 });
      await screen.page.getByLabel('Search').fill('nothing like it');
      await screen.page.getByText('No series matches the search.').waitFor();
    });

    it('leads to a series', async () => {
      await screen.go(evaluator, '#/');
      await screen.page.locator(`tr[data-series="crossing/faulty/${PROFILE}"] a`).click();
      await screen.shows({ view: 'series', newest: FRAMES, shown: FRAMES, mode: 'follow' });
    });

    it('shows spikes while they last', async () => {
      await screen.page.route('**/v1/events*', (route) => {
        const series = { stream: 'crossing', tracker: 'faulty', profile: PROFILE };
        const spike = (n: number, signal: string, phase: string) => ({
          type: 'spike',
          n,
          k: 100,
          atMs: 1e12,
          signal,
          phase,
          ...series,
        });
        const events = [spike(1, 'missed', 'start'), spike(2, 'false', 'start'), spike(3, 'false', 'end')];
        return route.fulfill({ json: { events } });
      });
      await screen.go(evaluator, '#/events');
      await screen.page.getByText('missed spike started').waitFor();
      await screen.page.keyboard.press('o');
      await screen.shows({ view: 'overview', attention: 1 });
      const row = screen.page.locator('tr[data-health="worse"]');
      assert.equal(await row.getAttribute('data-series'), `crossing/faulty/${PROFILE}`);
      await row.getByText('More missed than usual').waitFor();
    });
  });

  describe('one series', () => {
    it('shows the figures of the newest frame, equal to the API, to /metrics and to the kernel', async () => {
      await goToSeries('faulty');
      const figures = await screen.figures('faulty', FRAMES);
      assertFigures(figures, 'faulty', FRAMES);
      const api = await evaluator.get<{ k: number; evaluation: { distance: number; cost: Record<string, number> } }>(
        `/v1/window?stream=crossing&tracker=faulty&profile=${PROFILE}`,
      );
      assert.deepEqual([api.k, api.evaluation.distance], [FRAMES, figures.distance]);
      const text = await (await fetch(`${evaluator.url}/metrics`)).text();
      for (const component of COMPONENTS) {
        assert.equal(figures[component], api.evaluation.cost[component]);
        const labels = { tracker: 'faulty', profile: PROFILE, component };
        assert.equal(metric(text, 'tgospa_window_cost', labels), figures[component]);
      }
    });

    it('draws the reference blue and the tracker red', async () => {
      await goToSeries('faulty');
      const counts = (await screen.page.evaluate(`(() => {
        const canvas = document.querySelector('canvas.scene');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let blue = 0, red = 0;
        for (let n = 0; n < data.length; n += 4) {
          if (data[n + 2] > data[n] + 80) blue++;
          if (data[n] > data[n + 2] + 80) red++;
        }
        return { blue, red };
      })()`)) as { blue: number; red: number };
      assert.ok(counts.blue > 300 && counts.red > 300, JSON.stringify(counts));
    });

    it('scrubs back, steps and follows again', async () => {
      await goToSeries('faulty');
      await screen.page.locator('#scrub').fill('130');
      await screen.shows({ shown: 130, mode: 'paused' });
      assertFigures(await screen.figures('faulty', 130), 'faulty', 130);
      await screen.page.locator('h1').click();
      await screen.page.keyboard.press('ArrowLeft');
      await screen.shows({ shown: 129 });
      await screen.page.keyboard.press('Shift+ArrowRight');
      await screen.shows({ shown: 139 });
      await screen.page.getByRole('button', { name: 'one frame back' }).click();
      await screen.shows({ shown: 138 });
      assert.match(String(await screen.page.evaluate('location.hash')), /\?k=138$/);
      await screen.page.keyboard.press('Space');
      await screen.page.locator('h1').click();
      await screen.page.keyboard.press('End');
      await screen.shows({ shown: FRAMES, mode: 'follow' });
    });

    it('opens at the frame of a link, and marks who switched there', async () => {
      await screen.go(evaluator, '#/');
      await goToFrame('faulty', 122);
      assertFigures(await screen.figures('faulty', 122), 'faulty', 122);
      await screen.page.getByText('track changed for 2, 3').waitFor();
      await screen.shot('series-paused-at-switch');
    });

    it('opens a frame of a link that only the log has, with the figures it had', async () => {
      await screen.go(evaluator, seriesHash('faulty', '?k=30&with=steady'));
      await screen.shows({ shown: 30, mode: 'paused', past: 'true' });
      assertFigures(await screen.figures('faulty', 30), 'faulty', 30);
      assertFigures(await screen.figures('steady', 30), 'steady', 30);
      await screen.page.locator('.badge.mode', { hasText: 'past' }).waitFor();
      await screen.page.locator('.when', { hasText: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/ }).waitFor();
      await screen.page.keyboard.press('ArrowLeft');
      await screen.shows({ shown: 29, past: 'true' });
      assertFigures(await screen.figures('faulty', 29), 'faulty', 29);
      await screen.shot('series-past');
      await screen.page.getByRole('button', { name: 'Go live' }).click();
      await screen.shows({ shown: FRAMES, mode: 'follow', past: 'false' });
    });

    it('goes live although a moment of the past is still being loaded for one of two trackers', async () => {
      await screen.go(evaluator, seriesHash('faulty', '?k=30&with=steady'));
      await screen.shows({ shown: 30, mode: 'paused', past: 'true' });
      const requests = new EventEmitter();
      const asked = once(requests, 'asked');
      await screen.page.route(/v1\/past.*tracker=steady/, async (route) => {
        requests.emit('asked');
        await once(requests, 'release');
        await route.continue();
      });
      await screen.page.keyboard.press('ArrowLeft');
      await asked;
      await screen.page.keyboard.press('End');
      await screen.shows({ shown: FRAMES, mode: 'follow', past: 'false' });
      const answered = screen.page.waitForResponse(/v1\/past.*tracker=steady/);
      requests.emit('release');
      await (await answered).finished();
      await screen.page.unroute(/v1\/past.*tracker=steady/);
      // a moment that is opened afterwards is judged by a worker that starts after the late one's
      await screen.page.locator('#scrub').fill('150');
      await screen.shows({ shown: 150, mode: 'paused', past: 'false' });
      assertFigures(await screen.figures('steady', 150), 'steady', 150);
    });

    it('goes to a frame or a time that is typed, and says what is not stored', async () => {
      await goToSeries('faulty');
      const go = async (place: string) => {
        await screen.page.getByLabel('frame or time').fill(place);
        await screen.page.getByRole('button', { name: 'Go to' }).click();
      };
      await go('12');
      await screen.shows({ shown: 12, mode: 'paused', past: 'true' });
      const { frames } = await evaluator.get<{ frames: Array<{ k: number; atMs: number }> }>(
        `/v1/past?stream=crossing&tracker=faulty&profile=${PROFILE}&k=70&frames=400`,
      );
      const { atMs } = frames.find(({ k }) => k === 70)!;
      await go(new Date(atMs).toISOString());
      const last = frames.findLast((frame) => frame.atMs <= atMs)!.k;
      await screen.shows({ shown: last, past: 'true' });
      await go('soon');
      await screen.page.getByText('soon is neither a frame number nor a time').waitFor();
      await go('0');
      await screen.page.getByText(/frame 0 of crossing \/ faulty is not stored; the log reaches back to/).waitFor();
      // the browser itself says that a request failed
      screen.complaints.length = 0;
    });

    it('saves a moment as a file that holds frames, assignment and profile', async () => {
      await screen.go(evaluator, seriesHash('faulty', '?k=30'));
      await screen.shows({ shown: 30, past: 'true' });
      const [download] = await Promise.all([
        screen.page.waitForEvent('download'),
        screen.page.getByRole('button', { name: 'Save moment' }).click(),
      ]);
      const moment = JSON.parse(readFileSync(await download.path(), 'utf8'));
      assert.deepEqual([moment.format, moment.k, moment.tracker], ['tgospa-moment', 30, 'faulty']);
      const upTo30 = moment.frames.filter(({ k }: { k: number }) => k <= 30);
      const { windowFrames: _, settleFrames: __, ...params } = moment.params;
      close(evaluate(upTo30, params).distance, windowAt('faulty', 30).distance, 'judged from the file');
      assert.equal(moment.judged.length, moment.frames.length);
    });

    it('opens a saved moment again, as eval and replay do, with the same figures', async () => {
      await goToFrame('faulty', 130);
      const [download] = await Promise.all([
        screen.page.waitForEvent('download'),
        screen.page.getByRole('button', { name: 'Save moment' }).click(),
      ]);
      const file = join(evaluator.dir, download.suggestedFilename());
      await download.saveAs(file);
      assert.equal(download.suggestedFilename(), 'crossing-faulty-130.moment.json');
      await screen.page.getByRole('link', { name: 'Open file' }).click();
      await screen.page.getByLabel('File').setInputFiles(file);
      await screen.shows({ view: 'moment', shown: 130, past: 'true' });
      assertFigures(await screen.figures('faulty', 130), 'faulty', 130);
      await screen.page.keyboard.press('ArrowLeft');
      await screen.shows({ shown: 129 });
      assertFigures(await screen.figures('faulty', 129), 'faulty', 129);
      await screen.page.getByText('What if', { exact: true }).click();
      await screen.page.locator('.what-if[data-state="done"]').waitFor();
      await screen.shot('moment');
      const { out } = await outputOf(runEval, [file, '--json']);
      const [judged] = JSON.parse(out);
      close(judged.distance, windowAt('faulty', 130).distance, 'distance of eval');
      assert.deepEqual([judged.frames, judged.profile], [WINDOW, PROFILE]);
      const other = await Evaluator.start();
      await outputOf(runReplay, [file, '--url', other.url, '--fps', 'max']);
      const { k, evaluation } = await other.get<{ k: number; evaluation: { distance: number } }>(
        `/v1/window?stream=crossing-130&tracker=faulty&profile=${PROFILE}`,
      );
      await other.stop();
      close(evaluation.distance, windowAt('faulty', k).distance, 'distance of the replay');
    });

    it('opens a moment that is dropped on it, and says what is no moment', async () => {
      await screen.go(evaluator, '#/');
      await screen.shows({ view: 'overview' });
      await screen.page.evaluate(`{
        const files = new DataTransfer();
        files.items.add(new File(['{}'], 'notes.json'));
        dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true }));
      }`);
      await screen.shows({ view: 'moment' });
      await screen.page.getByText('notes.json: is not a moment saved by the page').waitFor();
    });

    it('goes where the address says, even if it draws before it hears of that', async () => {
      await screen.page.addInitScript(`{
        const own = requestAnimationFrame.bind(window);
        const pending = new Set();
        const run = (draw, nowMs) => pending.delete(draw) && draw(nowMs);
        window.requestAnimationFrame = (draw) => {
          pending.add(draw);
          return own((nowMs) => run(draw, nowMs));
        };
        window.drawNow = () => [...pending].forEach((draw) => run(draw, performance.now()));
      }`);
      await goToFrame('faulty', 150);
      await screen.page.evaluate(`{
        location.hash = '#/?q=crossing';
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
        drawNow();
      }`);
      await screen.shows({ view: 'overview', series: 2 });
    });

    it('goes where the ribbon is clicked, which has the range of the charts', async () => {
      await goToFrame('faulty', 150);
      await screen.page.locator('.plots[data-from="1"]').waitFor();
      const box = (await screen.page.locator('.ribbon canvas').boundingBox())!;
      const x = 64 + ((131 - 1) / (FRAMES - 1)) * (box.width - 64 - 8);
      await screen.page.locator('.ribbon canvas').click({ position: { x, y: box.height / 2 } });
      await screen.shows({ shown: 131, mode: 'paused' });
    });

    it('zooms into what is dragged over a chart, and out again', async () => {
      await goToFrame('faulty', 150);
      await screen.page.locator(`.plots[data-from="1"][data-to="${FRAMES}"]`).waitFor();
      const plot = screen.page.locator('.plots .u-over').first();
      await plot.evaluate((one) =>
        (one as unknown as { scrollIntoView(o: object): void }).scrollIntoView({ block: 'center' }),
      );
      const box = (await plot.boundingBox())!;
      const at = (k: number) => box.x + ((k - 1) / (FRAMES - 1)) * box.width;
      await screen.page.mouse.move(at(100), box.y + 40);
      await screen.page.mouse.down();
      await screen.page.mouse.move(at(140), box.y + 44, { steps: 5 });
      await screen.page.mouse.up();
      await screen.page.locator('.plots[data-from="100"][data-to="140"]').waitFor();
      await screen.shows({ shown: 150, mode: 'paused' });
      await screen.shot('series-zoomed');
      await screen.page.getByRole('button', { name: 'Whole range' }).click();
      await screen.page.locator(`.plots[data-from="1"][data-to="${FRAMES}"]`).waitFor();
    });

    it('draws spikes as spans, and what is usual from the frames outside them where no detector says', async () => {
      await screen.page.route('**/v1/rates*', (route) => route.fulfill({ json: { series: [] } }));
      await screen.page.route('**/v1/events*', (route) => {
        const series = { stream: 'crossing', tracker: 'faulty', profile: PROFILE, type: 'spike', atMs: 1e12 };
        const spike = (n: number, k: number, at: number, signal: string, phase: string) => ({
          ...series,
          n,
          k,
          at,
          signal,
          phase,
        });
        const events = [
          spike(1, 80, 82, 'missed', 'start'),
          spike(2, 80, 104, 'missed', 'end'),
          spike(3, 150, 152, 'false', 'start'),
        ];
        return route.fulfill({ json: { events } });
      });
      await goToFrame('faulty', 150);
      const plots = screen.page.locator('.plots[data-spikes="2"]');
      await plots.waitFor();
      const distances = Array.from({ length: FRAMES }, (_, n) => n + 1)
        .filter((k) => (k < 80 || k > 104) && k < 150)
        .map((k) => windowAt('faulty', k).distance)
        .sort((a, b) => a - b);
      const [low, high] = (await plots.getAttribute('data-usual'))!.split(' ').map(Number);
      close(low, distances[Math.round(0.1 * (distances.length - 1))], 'the lower end');
      close(high, distances[Math.round(0.9 * (distances.length - 1))], 'the upper end');
      await screen.shot('series-spikes');
    });

    it('draws the band around what the detector expects of a window', async () => {
      const usual = { missed: 0.2, false: 0.1, switch: 0.01, localization: 0.1 };
      const rate = { stream: 'crossing', tracker: 'faulty', profile: PROFILE, seconds: 10, frames: 100, proper: 400 };
      await screen.page.route('**/v1/rates*', (route) =>
        route.fulfill({ json: { series: [{ ...rate, missed: 0, false: 0, switches: 0, usual, error: 0.1 }] } }),
      );
      await screen.page.route('**/v1/events*', (route) => route.fulfill({ json: { events: [] } }));
      await goToFrame('faulty', 150);
      const plots = screen.page.locator('.plots:not([data-expected=""])');
      await plots.waitFor();
      const { cutoff, exponent: p, switchPenalty } = presets[PROFILE];
      // 0.3 objects without a partner, a hundredth of a switch and four pairs a frame, in 60 frames
      const cost = 60 * ((0.3 * cutoff ** p) / 2 + 0.01 * switchPenalty ** p + 4 * 0.1 ** p);
      const expected = cost ** (1 / p);
      close(Number(await plots.getAttribute('data-expected')), expected, 'the line');
      const distances = Array.from({ length: FRAMES }, (_, n) => windowAt('faulty', n + 1).distance);
      distances.sort((a, b) => a - b);
      const at = (share: number) => distances[Math.round(share * (distances.length - 1))];
      const [low, high] = (await plots.getAttribute('data-usual'))!.split(' ').map(Number);
      close(low, (expected * at(0.1)) / at(0.5), 'the lower end');
      close(high, (expected * at(0.9)) / at(0.5), 'the upper end');
      await screen.shot('series-usual');
    });

    it('zooms, pans and fits', async () => {
      await goToFrame('faulty', 150);
      const picture = () => screen.page.evaluate("document.querySelector('canvas.scene').toDataURL()");
      const before = await picture();
      await screen.page.getByRole('button', { name: 'zoom in' }).click();
      await until('another picture', async () => (await picture()) !== before);
      await screen.page.keyboard.press('f');
      await until('the same picture', async () => (await picture()) === before);
    });

    it('replays the retained frames and then follows', async () => {
      await goToFrame('faulty', 150);
      await screen.page.getByLabel('speed of replay').selectOption('every frame');
      await screen.page.getByRole('button', { name: 'Replay' }).click();
      await screen.shows({ newest: FRAMES, shown: FRAMES, mode: 'follow' });
    });
  });

  describe('a series that goes on', () => {
    const show = async (k: number, mode: string) =>
      screen.shows({ newest: (await evaluator.judged('growing', 'faulty'))!, shown: k, mode });
    /** Sends the next frame and gives its number. */
    const grow = async () => {
      const k = (await evaluator.judged('growing', 'faulty'))! + 1;
      await evaluator.send('growing', { faulty: [framesOf('faulty')[k - 1]] }, k);
      return k;
    };

    before(async () => {
      await evaluator.open('growing', ['faulty']);
      await evaluator.send('growing', { faulty: first('faulty', 100) });
    });

    it('takes in new frames as they come', async () => {
      await screen.go(evaluator, `#/s/growing/faulty/${PROFILE}`);
      await show((await evaluator.judged('growing', 'faulty'))!, 'follow');
      const k = await grow();
      await show(k, 'follow');
      assertFigures(await screen.figures('faulty', k), 'faulty', k);
    });

    it('stays where it is when paused, while frames come in', async () => {
      await screen.go(evaluator, `#/s/growing/faulty/${PROFILE}?k=95`);
      await screen.shows({ shown: 95, mode: 'paused' });
      const k = await grow();
      await show(95, 'paused');
      assertFigures(await screen.figures('faulty', 95), 'faulty', 95);
      await screen.page.keyboard.press('End');
      await show(k, 'follow');
    });
  });

  describe('side by side', () => {
    it('moves one cursor over both plots', async () => {
      await goToFrame('faulty', 140);
      const plots = screen.page.locator('.plots .u-over');
      await plots.nth(1).waitFor();
      await plots
        .first()
        .evaluate((plot) =>
          (plot as unknown as { scrollIntoView(o: object): void }).scrollIntoView({ block: 'center' }),
        );
      const box = (await plots.first().boundingBox())!;
      for (const share of [0.3, 0.7]) {
        await screen.page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
        const places = async () => {
          const cursors = await screen.page.locator('.plots .u-cursor-x').all();
          return Promise.all(cursors.map((one) => one.boundingBox().then((place) => place?.x ?? -1)));
        };
        const [upper, lower] = await until('both cursors there', async () => {
          const now = await places();
          return now.every((x) => Math.abs(x - (box.x + share * box.width)) < 3) && now;
        });
        assert.ok(Math.abs(upper - lower) <= 1, `${upper} above, ${lower} below`);
      }
    });

    it('shows two trackers side by side at the same frame', async () => {
      await goToFrame('faulty', 140, '&with=steady');
      assertFigures(await screen.figures('faulty', 140), 'faulty', 140);
      assertFigures(await screen.figures('steady', 140), 'steady', 140);
      await screen.shot('two-trackers');
      await screen.page.locator('#beside').selectOption('');
      await until('one panel', async () => (await screen.page.locator('.panel').count()) === 1);
    });
  });

  describe('events', () => {
    it('lists what happened; a click shows the moment', async () => {
      await screen.go(evaluator, '#/events');
      const link = screen.page.getByRole('link', { name: 'truth 2: c2 → c3, 1 switch' });
      await link.click();
      await screen.shows({ view: 'series', shown: 122, mode: 'paused' });
    });

    it('lists what repeats itself once, with its count', async () => {
      await evaluator.open('stutter', ['t']);
      await evaluator.send('stutter', { t: first('steady', 3) });
      await screen.go(evaluator, '#/events?q=stutter');
      await screen.shows({ view: 'events', events: 0 });
      const late = evaluator.feed('stutter', 't');
      for (let n = 0; n < 5; n++) await late.send({ k: 3, objects: [] });
      await screen.page.locator('table.events td', { hasText: '5 times: ' }).waitFor();
      await screen.shows({ view: 'events', events: 1 });
      // refused frames of both feeds in turns are two lines
      for (let n = 0; n < 3; n++)
        for (const feed of [null, 't'])
          await evaluator.feed('stutter', feed).send({ k: 4, objects: [{ id: 'a', box: [0, 0, 0, 0] }] as never });
      await screen.page.locator('table.events td', { hasText: '3 times, tracker t: ' }).waitFor();
      await screen.page.locator('table.events td', { hasText: '3 times, reference: ' }).waitFor();
      await screen.shows({ view: 'events', events: 3 });
    });

    it('exports what it lists as JSON and CSV', async () => {
      const { events } = await evaluator.get<{ events: Array<{ type: string; k?: number }> }>('/v1/events?limit=2000');
      const switches = events.filter(({ type }) => type === 'switch');
      await screen.go(evaluator, '#/events?kinds=switch');
      await screen.shows({ view: 'events', events: switches.length });
      const fileOf = async (button: string) => {
        const [download] = await Promise.all([
          screen.page.waitForEvent('download'),
          screen.page.getByRole('button', { name: button }).click(),
        ]);
        return readFileSync(await download.path(), 'utf8');
      };
      assert.deepEqual(JSON.parse(await fileOf('Export JSON')), switches);
      const [head, ...rows] = (await fileOf('Export CSV')).trim().split('\r\n');
      assert.equal(head, 'atMs,time,type,stream,tracker,profile,k,what');
      assert.equal(rows.length, switches.length);
      assert.match(
        rows[0],
        /^\d+,\d{4}-.*Z,switch,crossing,faulty,online-surveillance,122,"truth 2: c2 → c3, 1 switch"$/,
      );
    });
  });

  describe('what if', () => {
    const judged = async () => {
      const box = screen.page.locator('.what-if');
      await screen.page.locator('.what-if[data-state="done"]').waitFor();
      return {
        params: JSON.parse((await box.getAttribute('data-params'))!) as Params,
        evaluation: JSON.parse((await box.getAttribute('data-evaluation'))!) as {
          distance: number;
          cost: Record<string, number>;
          count: object;
        },
      };
    };
    const sameAsEvaluate = ({ params, evaluation }: Awaited<ReturnType<typeof judged>>) => {
      const expected = evaluate(framesOf('faulty').slice(FRAMES - WINDOW, FRAMES), params);
      close(evaluation.distance, expected.distance, 'distance');
      for (const name of COMPONENTS) close(evaluation.cost[name], expected.cost[name], name);
      assert.deepEqual(evaluation.count, expected.count);
    };

    beforeEach(async () => {
      await goToSeries('faulty');
      await screen.page.locator('summary', { hasText: 'What if' }).click();
      // sliders take their places when the window has come
      await judged();
    });

    it('begins with the profile in force and gives the same figures', async () => {
      const result = await judged();
      sameAsEvaluate(result);
      assert.ok(Math.abs(result.evaluation.distance - windowAt('faulty', FRAMES).distance) < 1e-3);
    });

    it('judges the window again as sliders move, exactly as evaluate does', async () => {
      await screen.page.getByLabel('Cut-off').fill('0.3');
      await screen.page.getByLabel('only lasting changes count').check();
      await screen.page.getByLabel('Long-switch frames').fill('3');
      await screen.page.getByLabel('Miss share').fill('0.8');
      const result = await judged();
      assert.deepEqual([result.params.cutoff, result.params.missShare], [0.3, 0.8]);
      sameAsEvaluate(result);
      await screen.shot('what-if');
    });

    it('gives the wish as a profile that the evaluator understands', async () => {
      await screen.page.getByLabel('Miss share').fill('0.8');
      const { params } = await judged();
      assert.equal(params.missShare, 0.8);
      const text = (await screen.page.locator('.what-if .yaml').textContent())!;
      const { config } = readConfig({ text, env: {} });
      assert.deepEqual(paramsByName(config, 'my-profile'), params);
      await screen.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await screen.page.getByRole('button', { name: 'Copy as profile' }).click();
      await screen.page.getByText('paste it into tgospa.yaml').waitFor();
      assert.equal(await screen.page.evaluate('navigator.clipboard.readText()'), text);
    });
  });

  describe('everywhere', () => {
    it('shows points and places on the earth', async () => {
      const ring = (n: number, r: number, shift: number): Array<[number, number]> =>
        Array.from({ length: 5 }, (_, i) => [r * Math.sin(i + n / 20) + shift, r * Math.cos(i + n / 20)]);
      for (const [stream, profile, base, r] of [
        ['yard', 'plane', [0, 0], 20],
        ['bay', 'metres', [53.5, 8.1], 0.01],
      ] as const) {
        const point = ([x, y]: [number, number]) => [base[0] + x, base[1] + y];
        const frames: Frame[] = Array.from({ length: 20 }, (_, n) => ({
          reference: ring(n, r, 0).map((at, i) => ({ id: `s${i}`, point: point(at) })),
          tracker: ring(n, r, r / 100).map((at, i) => ({ id: `t${i}`, point: point(at) })),
        }));
        await evaluator.open(stream, ['radar'], {
          profiles: [profile],
          pairing: { latenessMs: 1e7, silenceMs: 1e7 },
        });
        await evaluator.send(stream, { radar: frames });
        await screen.go(evaluator, `#/s/${stream}/radar/${profile}`);
        await screen.shows({ newest: 20, shown: 20 });
        await screen.page.getByText('Frame 20: 5 truths, 5 tracks; 5 proper').waitFor();
        await screen.shot(`points-${stream}`);
      }
    });

    it('has no faults of accessibility in any view, dark or light, wide or narrow', async () => {
      const views = {
        overview: '#/',
        events: '#/events',
        setup: '#/setup',
        series: seriesHash('faulty', `?k=${FRAMES}&with=steady`),
      };
      for (const [scheme, width] of [
        ['light', 1280],
        ['dark', 390],
      ] as const) {
        await screen.page.emulateMedia({ colorScheme: scheme });
        await screen.page.setViewportSize({ width, height: 900 });
        for (const [name, hash] of Object.entries(views)) {
          await screen.go(evaluator, hash);
          await screen.shows(name === 'series' ? { view: name, shown: FRAMES } : { view: name });
          if (name === 'series') {
            await screen.page.locator('summary', { hasText: 'What if' }).click();
            await screen.page.locator('.what-if[data-state="done"]').waitFor();
          }
          await screen.page.evaluate(AXE);
          const found = await screen.page.evaluate(
            "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((n) => n.html).join(' | ')))",
          );
          assert.deepEqual(found, [], `${name}, ${scheme}, ${width} wide`);
          const overflow = await screen.page.evaluate('document.documentElement.scrollWidth - innerWidth');
          assert.ok(Number(overflow) <= 0, `${name} is ${overflow} pixels too wide at ${width}`);
          await screen.shot(`${name}-${scheme}-${width}`);
        }
      }
    });

    it('loads nothing from elsewhere and weighs less than 150 kB', async () => {
      const origins = new Set<string>();
      let bytes = 0;
      screen.page.on('response', (response) => {
        if (response.url().startsWith('data:')) return;
        origins.add(new URL(response.url()).origin);
        if (!response.url().includes('/v1/')) bytes += Number(response.headers()['content-length'] ?? 0);
      });
      await goToSeries('faulty');
      await screen.page.locator('summary', { hasText: 'What if' }).click();
      await screen.page.locator('.what-if[data-state="done"]').waitFor();
      assert.deepEqual([...origins], [evaluator.url]);
      assert.ok(bytes > 10_000 && bytes < 150_000, `${bytes} bytes`);
    });
  });
});

describe('page states', () => {
  let browser: Browser;
  let screen: Screen;
  const started: Evaluator[] = [];
  const start = async (options: Parameters<typeof Evaluator.start>[0] = {}) => {
    const evaluator = await Evaluator.start(options);
    started.push(evaluator);
    return evaluator;
  };

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    browser = await launch();
  });
  beforeEach(async () => {
    screen = await Screen.open(browser);
  });
  afterEach(async () => {
    await screen?.close();
    for (const evaluator of started.splice(0)) await evaluator.stop();
  });
  after(() => browser?.close());

  it('says that nothing has come yet and how to send something; then what is lacking', async () => {
    const evaluator = await start();
    await screen.go(evaluator, '#/');
    await screen.banner('empty').waitFor();
    assert.match((await screen.banner('empty').textContent())!, /\/v1\/ingest/);
    await screen.shot('state-empty');
    evaluator.feed('gate-7', null);
    await screen.banner('half').waitFor();
    assert.match((await screen.banner('half').textContent())!, /has a reference, but no tracker yet/);
  });

  it('says that the tracker is silent, or the reference, and since when', async () => {
    const evaluator = await start();
    const quick = { pairing: { latenessMs: 100, silenceMs: 300 } };
    for (const [stream, quiet, speaking] of [
      ['no-tracks', 'steady', null],
      ['no-truths', null, 'steady'],
    ] as const) {
      await evaluator.open(stream, ['steady'], quick);
      await evaluator.send(stream, { steady: first('steady', 30) });
      await screen.go(evaluator, `#/s/${stream}/steady/${PROFILE}`);
      const state = screen.banner(quiet === null ? 'reference-silent' : 'tracker-silent');
      // the other one goes on, so that this is a silence and not the end
      let k = 30;
      const [frame] = first('steady', 1);
      await until(
        `the page says that ${stream}`,
        async () => {
          await new Promise((resolve) => setTimeout(resolve, 50));
          k++;
          await evaluator
            .feed(stream, speaking)
            .send({ k, objects: (speaking === null ? frame.reference : frame.tracker) as never });
          return state.isVisible();
        },
        SYSTEM_TIMEOUT_MS / 3,
      );
      await screen.shot(`state-${quiet === null ? 'reference' : 'tracker'}-silent`);
    }
    assert.deepEqual(screen.complaints, []);
  });

  it('says that the evaluator is gone, comes back by itself, and goes on', async () => {
    const port = await freePort();
    const before = await start({ port });
    await before.open('crossing', ['faulty']);
    await before.send('crossing', { faulty: first('faulty', 100) });
    await screen.go(before, seriesHash('faulty'));
    await screen.shows({ newest: 100, connection: 'open' });
    await screen.page.locator('.mode[data-mode="follow"][data-alive="live"]').waitFor();
    started.pop();
    await before.stop(true);
    await screen.banner('gone').waitFor();
    await screen.page.locator('.mode[data-mode="follow"]', { hasText: 'not connected' }).waitFor();
    await screen.shot('state-gone');
    const after = await start({ port, dir: before.dir });
    await screen.shows({ connection: 'open' });
    await after.open('crossing', ['faulty']);
    await after.send('crossing', { faulty: framesOf('faulty').slice(100, 103) }, 101);
    await screen.shows({ newest: 103, shown: 103 });
    assertFigures(await screen.figures('faulty', 103), 'faulty', 103);
    await screen.banner('gone').waitFor({ state: 'hidden' });
  });

  it('says when it is too slow, and that the evaluation is not', async () => {
    const evaluator = await start();
    await evaluator.open('crossing', ['faulty']);
    // what a server says to a reader that lags, put into a report on its way
    await screen.page.routeWebSocket(/objects=1/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        const report = JSON.parse(String(message));
        socket.send(JSON.stringify(report.k === 62 ? { skipped: 17, ...report } : report));
      });
    });
    await evaluator.send('crossing', { faulty: first('faulty', 61) });
    await screen.go(evaluator, seriesHash('faulty'));
    await screen.shows({ newest: 61 });
    await evaluator.send('crossing', { faulty: framesOf('faulty').slice(61, 62) }, 62);
    await screen.page.getByText('17 reports were skipped').waitFor();
    await screen.shot('state-slow');
    assert.deepEqual(screen.complaints, []);
  });

  it('marks figures that were not proven in time, as reports, events and metrics do', async () => {
    const scan = { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 };
    const evaluator = await start({
      text: JSON.stringify({ profiles: { scan } }),
      evaluation: { budgetMs: 0.2 },
    });
    await evaluator.open('port', ['radar'], { profiles: ['scan'], windowFrames: 14, pairing: UNTIMED_PAIRING });
    // every echo is a track of its own
    const echoes = harbour(40).map(({ reference, tracker }, k) => ({
      reference,
      tracker: tracker.map((echo) => ({ ...echo, id: `${k}-${echo.id}` })),
    }));
    await evaluator.send('port', { radar: echoes });
    const { evaluation, settled } = await evaluator.get<{
      evaluation: { exact: boolean };
      settled: { frames: number; uncertified: number };
    }>('/v1/window?stream=port&tracker=radar&profile=scan');
    assert.equal(evaluation.exact, false);
    assert.ok(settled.uncertified > 0 && settled.frames + settled.uncertified < 40);
    const metrics = await (await fetch(`${evaluator.url}/metrics`)).text();
    const series = { stream: 'port', tracker: 'radar', profile: 'scan' };
    assert.equal(metric(metrics, 'tgospa_frames_uncertified_total', series), settled.uncertified);
    assert.equal(metric(metrics, 'tgospa_frames_total', series), settled.frames);
    const { events } = await evaluator.get<{ events: Array<{ type: string; message: string }> }>('/v1/events');
    assert.match(events.find(({ type }) => type === 'uncertified')!.message, /not judged/);
    await screen.go(evaluator, '#/');
    await screen.page.getByText(/^≤ \d/).waitFor();
    await screen.go(evaluator, '#/s/port/radar/scan');
    await screen.banner('uncertified').waitFor();
    await screen.page.locator('.figures-box', { hasText: 'not proven in time' }).getByText(/^≤ \d/).waitFor();
    await screen.shot('state-uncertified');
    assert.deepEqual(screen.complaints, []);
  });

  it('asks for a token where there is one, and keeps it for the tab', async () => {
    const token = 'a-token-for-the-page-0123456789';
    const evaluator = await start({ token });
    await evaluator.open('crossing', ['faulty']);
    await evaluator.send('crossing', { faulty: first('faulty', 20) });
    await screen.go(evaluator, '#/');
    await screen.page.getByLabel('Token').fill('a-token-that-nobody-knows-0123456');
    await screen.page.getByRole('button', { name: 'Connect' }).click();
    await screen.page
      .getByText('This token was refused: this token is not one of the configured ones; add it to tokens.')
      .waitFor();
    await screen.page.getByLabel('Token').fill(token);
    await screen.page.getByRole('button', { name: 'Connect' }).click();
    await screen.shows({ view: 'overview', series: 1, connection: 'open' });
    await screen.page.reload();
    await screen.shows({ view: 'overview', series: 1, connection: 'open' });
    assert.equal(await screen.page.getByLabel('Token').isVisible(), false);
  });

  it('says that a series does not exist', async () => {
    const evaluator = await start();
    await evaluator.open('crossing', ['faulty']);
    await evaluator.send('crossing', { faulty: first('faulty', 5) });
    await screen.go(evaluator, '#/s/crossing/nobody/online-surveillance');
    await screen.banner('unknown').waitFor();
    await screen.page.locator('.mode', { hasText: 'no such series' }).waitFor();
  });
});
