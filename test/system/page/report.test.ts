/** A report in a real browser: the player of its worst moments, which has no script. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { drawFilm } from '../../../src/report/film.js';
import { drawPage } from '../../../src/report/page.js';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { skipUnless, until } from '../../kit/system/system.js';

const film = (id: string) =>
  drawFilm(
    id,
    Array.from({ length: 6 }, (_, n) => ({
      name: `frame ${n + 1}`,
      reference: [{ id: '1', at: [10 * n, 0, 20, 40] as const, alone: n === 2 }],
      tracker: [{ id: 'a', at: [10 * n, 1, 20, 40] as const, alone: false }],
    })),
    2,
    'what happens',
  );

describe('page: a report', () => {
  let browser: Browser;

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `reports are tested in ${CHROMIUM}; install Debian's package chromium`);
    browser = await launch();
  });
  after(() => browser?.close());

  it('plays its worst moments, steps through them and goes to any frame, each player by itself', async () => {
    const page = await browser.newPage();
    await page.setContent(drawPage({ title: 'report', subtitle: '', body: [film('one'), film('two')], footer: '' }));
    /** frames that are seen */
    const seen = (n: number) =>
      page.evaluate(`[...document.querySelectorAll('.film')[${n}].querySelectorAll('.picture')].flatMap(
        (picture, at) => getComputedStyle(picture).visibility === 'visible' ? [at + 1] : [])`) as Promise<number[]>;
    assert.deepEqual(await seen(0), [3], 'the worst at first');
    await page.getByRole('radio', { name: 'frame 5' }).first().click();
    assert.deepEqual(await seen(0), [5]);
    await page.keyboard.press('ArrowLeft');
    assert.deepEqual(await seen(0), [4]);
    await page.getByRole('radio', { name: 'Play' }).first().check();
    const played = new Set<number>();
    await until('all frames', async () => {
      for (const frame of await seen(0)) played.add(frame);
      return played.size === 6;
    });
    await page.getByRole('radio', { name: 'frame 2' }).first().click();
    assert.deepEqual([await seen(0), await seen(1)], [[2], [3]], 'a frame that is chosen stops the play');
  });
});
