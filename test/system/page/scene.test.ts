/** The scene of the page in a real browser: who is who, what lies behind the objects, and places on Earth. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import type { Frame } from '../../../src/index.js';
import { UNTIMED_PAIRING } from '../../kit/settings.js';
import { CHROMIUM, launch } from '../../kit/system/browser.js';
import { Evaluator, Screen } from '../../kit/system/page.js';
import { skipUnless, until } from '../../kit/system/system.js';

const FRAMES = 12;
const BOXES = 'online-surveillance';
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"><rect width="640" height="480" fill="#0f0"/></svg>';

/** Two people in one place, one of them with a track, and later with another one. */
const boxes = (): Frame[] =>
  Array.from({ length: FRAMES }, (_, n) => ({
    reference: [
      { id: 'anna', class: 'person', box: [100, 100, 200, 200] },
      { id: 'tiny', box: [190, 190, 20, 20] },
    ] as Frame['reference'],
    tracker: [{ id: n < 6 ? 'a1' : 'a2', box: [101, 100, 200, 200] }] as Frame['tracker'],
  }));
const ships = (): Frame[] =>
  Array.from({ length: FRAMES }, (_, n) => ({
    reference: [-1, 1].map((side) => ({ id: `ship${side}`, point: [54 + 0.02 * side, 8 + 0.001 * n] })),
    tracker: [{ id: 't1', point: [54.0201, 8 + 0.001 * n] }],
  }));

describe('the scene of the page', () => {
  let browser: Browser | undefined;
  let evaluator: Evaluator;
  let screen: Screen;
  let pictures: Server;
  let pictureUrl: string;

  before(async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    pictures = createServer((_, response) => response.setHeader('Content-Type', 'image/svg+xml').end(PICTURE));
    pictures.listen(0, '127.0.0.1');
    await once(pictures, 'listening');
    pictureUrl = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}`;
    evaluator = await Evaluator.start({
      text: JSON.stringify({
        pictureOrigins: [pictureUrl],
        profiles: { metres: { distance: 'geodesic', cutoff: 50, admissibleError: 30, shortSwitchDistance: 10 } },
      }),
    });
    const ignore = [{ box: [400, 100, 150, 200] }];
    const settings = { pairing: UNTIMED_PAIRING, coverage: { ignore }, picture: `${pictureUrl}/plan.svg` };
    await evaluator.open('hall', ['cam', 'eye'], settings);
    await evaluator.send('hall', { cam: boxes(), eye: boxes() });
    await evaluator.open('plain', ['cam']);
    await evaluator.send('plain', { cam: boxes() });
    const within = [{ sector: { at: [54, 8], range: [0, 5000] } }];
    await evaluator.open('bay', ['radar'], { profiles: ['metres'], pairing: UNTIMED_PAIRING, coverage: { within } });
    await evaluator.send('bay', { radar: ships() });
    browser = await launch();
  });
  beforeEach(async () => {
    screen = await Screen.open(browser!);
  });
  afterEach(async () => {
    await screen.close();
    assert.deepEqual(screen.complaints, [], 'its console is silent');
  });
  after(async () => {
    await browser?.close();
    await evaluator?.stop();
    pictures?.close();
  });

  const open = async (path: string) => {
    await screen.go(evaluator, `#/s/${path}?k=${FRAMES}`);
    await screen.shows({ view: 'series', shown: FRAMES, mode: 'paused' });
  };
  const canvas = () => screen.page.locator('canvas.scene');
  const middle = async () => {
    const box = (await canvas().boundingBox())!;
    return { x: box.x + box.width / 2, y: box.y + box.height / 2, box };
  };
  /** Colours of the scene as the eye has them, at a share of its width and height. */
  const colourAt = async (x: number, y: number): Promise<number[]> => {
    const clip = (await canvas().boundingBox())!;
    const at = { x: clip.x + x * clip.width, y: clip.y + y * clip.height, width: 4, height: 4 };
    const png = await screen.page.screenshot({ clip: at });
    const data = `data:image/png;base64,${png.toString('base64')}`;
    return (await screen.page.evaluate(`(async () => {
      const image = new Image();
      image.src = ${JSON.stringify(data)};
      await image.decode();
      const context = document.createElement('canvas').getContext('2d');
      context.drawImage(image, 0, 0);
      return [...context.getImageData(1, 1, 1, 1).data];
    })()`)) as number[];
  };

  it('says who is under the pointer, with class, partner, error and history', async () => {
    await open(`plain/cam/${BOXES}`);
    const { x, y, box } = await middle();
    await screen.page.mouse.move(x, y);
    const card = screen.page.locator('.object-card');
    await card.getByText('Truth tiny').waitFor();
    await card.getByText('missed', { exact: true }).waitFor();
    // windows do not repeat classes: the next frame brings them
    await evaluator.send('plain', { cam: boxes().slice(-1) }, FRAMES + 1);
    await screen.shows({ newest: FRAMES + 1, shown: FRAMES });
    await screen.page.mouse.move(x - box.height * 0.25, y);
    await screen.page.locator('.object-card[data-object="anna"]').waitFor();
    await card.getByText(/^person; tracked as a2, error 0\.0/).waitFor();
    await card.getByText('In 12 loaded frames, tracked in 100 % of them: a1 1–6, a2 7–12.').waitFor();
    await screen.page.mouse.move(2, 2);
    await card.getByText('Point at an object').waitFor();
  });

  it('isolates who is clicked, and shows all again', async () => {
    await open(`plain/cam/${BOXES}`);
    const { x, y } = await middle();
    const picture = () => screen.page.evaluate("document.querySelector('canvas.scene').toDataURL()");
    await screen.page.mouse.click(x, y);
    await screen.page.getByRole('button', { name: 'Isolate' }).click();
    await screen.page.getByRole('button', { name: 'Show all' }).waitFor();
    const alone = await picture();
    await screen.shot('scene-isolated');
    await screen.page.getByRole('button', { name: 'Show all' }).click();
    await screen.page.getByRole('button', { name: 'Isolate' }).waitFor();
    assert.notEqual(await picture(), alone);
    await screen.page.getByRole('button', { name: 'close object' }).click();
    await screen.page.getByText('Point at an object').waitFor();
  });

  it('shows the picture that the stream names behind its boxes, and regions that are ignored', async () => {
    await open(`hall/cam/${BOXES}`);
    await screen.page.getByText('Background').click();
    await screen.page.getByText('640 x 480 pixels').waitFor();
    const [red, green, blue] = await colourAt(0.15, 0.5);
    assert.ok(green > red + 60 && green > blue + 60, String([red, green, blue]));
    await screen.shot('scene-picture');
    await screen.page.getByRole('button', { name: 'Remove' }).click();
    await screen.page
      .getByText('640 x 480 pixels')
      .waitFor({ state: 'detached' })
      .catch(() => {});
    await screen.page.getByLabel('address of a picture').fill('http://127.0.0.1:9/other.png');
    await screen.page.getByRole('button', { name: 'Show', exact: true }).click();
    await screen.page.getByText(/other\.png could not be shown: .* pictureOrigins/).waitFor();
    // the browser itself says that its policy forbids it
    screen.complaints.length = 0;
  });

  it('opens a picture or a map from a file, and says what is neither', async () => {
    await open(`plain/cam/${BOXES}`);
    await screen.page.getByText('Background').click();
    const file = screen.page.getByLabel('picture, floor plan or map');
    const give = (name: string, mimeType: string, text: string) =>
      file.setInputFiles({ name, mimeType, buffer: Buffer.from(text) });
    const coast = {
      type: 'LineString',
      coordinates: [
        [8, 53.9],
        [8.1, 54.1],
      ],
    };
    await give('coast.geojson', 'application/geo+json', JSON.stringify({ type: 'Feature', geometry: coast }));
    await screen.page.getByText('coast.geojson: 1 lines').waitFor();
    await give('empty.geojson', 'application/geo+json', '{}');
    await screen.page.getByText('empty.geojson could not be shown: it has no lines or polygons').waitFor();
  });

  it('is a map for places on Earth: position, range and bearing, in metres or nautical miles', async () => {
    await open('bay/radar/metres');
    const { x, y, box } = await middle();
    await screen.page.mouse.move(x, y);
    await screen.page.locator('.cursor', { hasText: /^54° 00\.\d{3}′ N {2}008° 00\.\d{3}′ E$/ }).waitFor();
    await screen.page.getByLabel('rings').check();
    await screen.page.mouse.move(x, box.y + 30);
    await screen.page.locator('.cursor', { hasText: / km, \d+°$/ }).waitFor();
    await screen.page.getByLabel('units of length').selectOption('nautical miles');
    await screen.page.mouse.move(x, box.y + 40);
    await screen.page.locator('.cursor', { hasText: / nmi, \d+°$/ }).waitFor();
    await screen.shot('scene-map');
  });

  it('has the coastline of the world behind it, which comes from the evaluator itself', async () => {
    await screen.page.route('**/coastline-*', (route) => route.fulfill({ json: [] }));
    await open('bay/radar/metres');
    await screen.page.locator('.background[data-coast="0"]').waitFor({ state: 'attached' });
    // far enough out for the bay to have shores
    const fromAfar = async () => {
      for (let n = 0; n < 14; n++) await screen.page.getByRole('button', { name: 'zoom out' }).click();
      // what changes is drawn in the next animation frame
      await screen.page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      return screen.page.evaluate("document.querySelector('canvas.scene').toDataURL()");
    };
    const bare = await fromAfar();
    await screen.page.unroute('**/coastline-*');
    await screen.page.reload();
    await screen.page.locator('.background[data-coast]:not([data-coast="0"])').waitFor({ state: 'attached' });
    const lines = Number(await screen.page.locator('.background').getAttribute('data-coast'));
    assert.ok(lines > 1000, `${lines} lines`);
    assert.ok((await fromAfar()) !== bare, 'there are shores');
    await screen.shot('scene-coast');
  });

  it('fits the window with an incident open, for one tracker and for two: nothing lies over it', async () => {
    const signal = { signal: 'missed', expected: 0.1, observed: 4, concerned: 4, of: 5, objects: [], over: false };
    const incident = {
      ...{ stream: 'hall', profile: BOXES, id: 1, times: 2, k: 3, at: 5, sinceMs: Date.now(), severity: 'critical' },
      ...{ lasting: null, cause: 'frozen', message: 'it is frozen: its tracks stand still', signals: [signal] },
    };
    const incidents = ['cam', 'eye'].map((tracker) => ({ ...incident, tracker }));
    await screen.page.route('**/v1/incidents*', (route) =>
      route.fulfill({ json: { nowMs: Date.now(), incidents, mutes: [] } }),
    );
    for (const [width, height, path] of [
      [1280, 800, `hall/cam/${BOXES}`],
      [1920, 1080, `hall/cam/${BOXES}?with=eye`],
    ] as const) {
      await screen.page.setViewportSize({ width, height });
      await screen.go(evaluator, `#/s/${path}`);
      await screen.shows({ view: 'series', newest: FRAMES });
      const cards = screen.page.locator('.incident:visible');
      await cards.first().getByText('it came back once, last at frame 3').waitFor();
      const transport = (await screen.page.locator('.transport').boundingBox())!;
      assert.ok(transport.y + transport.height <= height, `the controls of time end at ${height}`);
      for (const box of await Promise.all((await canvas().all()).map((one) => one.boundingBox()))) {
        assert.ok(box!.y + box!.height <= transport.y, `${width}: ${JSON.stringify({ box, transport })}`);
        assert.ok(box!.height >= 240, `${width}: ${box!.height}`);
      }
      assert.equal(await cards.count(), path.includes('eye') ? 2 : 1);
    }
  });

  it('leaves the wheel to the page until it has the focus', async () => {
    await screen.page.setViewportSize({ width: 1280, height: 500 });
    await open(`plain/cam/${BOXES}`);
    const { x, y } = await middle();
    await screen.page.mouse.move(x, y);
    await screen.page.mouse.wheel(0, 120);
    await until('a page that scrolls', () => screen.page.evaluate('scrollY > 0'));
    await canvas().focus();
    const picture = () => screen.page.evaluate("document.querySelector('canvas.scene').toDataURL()");
    const before = await picture();
    await screen.page.mouse.wheel(0, -240);
    await until('another picture', async () => (await picture()) !== before);
  });
});
