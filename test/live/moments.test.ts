/** Looking back: what is read from the log again gives the figures that were reported when it was new. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Moment } from '../../src/live/moments.js';
import { SlidingWindow } from '../../src/metric/sliding-window.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import type { ReportEvent } from '../../src/wire/events.js';
import { UNTIMED_PAIRING } from '../kit/settings.js';
import { Evaluator } from '../kit/system/page.js';
import { skipInFastRun, until } from '../kit/system/system.js';

const PROFILE = 'online-surveillance';
const FRAMES = 300;
const { frames } = crossingScene().trackers.find(({ name }) => name === 'faulty')!;

describe('moments', () => {
  let evaluator: Evaluator;
  let dir: string;
  const reports = new Map<number, number>();
  const ask = (query: string) =>
    fetch(`${evaluator.url}/v1/past?stream=gate&tracker=sort&profile=${PROFILE}&${query}`).then(async (response) => ({
      status: response.status,
      body: (await response.json()) as Moment & { message: string },
    }));

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-moments-'));
    evaluator = await Evaluator.start({ dir });
    evaluator.app.live.readReports(true);
    evaluator.app.live.events$.subscribe((event) => {
      const { k, report, stream } = event as ReportEvent;
      if (event.type === 'report' && stream === 'gate') reports.set(k, report.distance);
    });
    // another stream lies between the records of this one
    await evaluator.open('gate', ['sort']);
    await evaluator.open('noise', ['sort']);
    for (let n = 0; n < FRAMES; n += 50) {
      await evaluator.send('gate', { sort: frames.slice(n, n + 50) }, n + 1);
      await evaluator.send('noise', { sort: frames.slice(n, n + 50) }, n + 1);
    }
  });
  after(async () => {
    await evaluator.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Judges what was read, and compares every frame whose window is whole. */
  const assertSame = ({ frames: past, params, lead }: Moment) => {
    const window = new SlidingWindow(params);
    past.forEach((frame, n) => {
      const { distance } = window.push(frame as never);
      if (n >= lead) assert.equal(distance, reports.get(frame.k), `frame ${frame.k}`);
    });
  };

  for (const k of [1, 2, 61, 137, 250, FRAMES])
    it(`finds frame ${k} by its number, with the figures it had`, async () => {
      const { status, body } = await ask(`k=${k}&frames=40`);
      assert.deepEqual([status, body.k], [200, k]);
      assert.ok(body.frames.length <= 40 + 60 + 2, String(body.frames.length));
      assert.deepEqual(
        body.frames.find((frame) => frame.k === k)!.reference,
        JSON.parse(JSON.stringify(frames[k - 1].reference)),
      );
      assertSame(body);
    });

  it('finds a moment by its time', async () => {
    const { body } = await ask('k=180&frames=400');
    const { atMs } = body.frames.find(({ k }) => k === 180)!;
    const found = await ask(`at=${atMs}&frames=10`);
    const last = body.frames.findLast((frame) => frame.atMs <= atMs)!;
    assert.equal(found.body.k, last.k);
    assertSame(found.body);
  });

  it('judges whole frames only, where one feed lags behind the other in the log', async () => {
    await evaluator.open('lagging', ['sort']);
    const distances = new Map<number, number>();
    evaluator.app.live.readReports(true);
    evaluator.app.live.events$.subscribe((event) => {
      const { k, report, stream } = event as ReportEvent;
      if (event.type === 'report' && stream === 'lagging') distances.set(k, report.distance);
    });
    const [reference, tracker] = [evaluator.feed('lagging', null), evaluator.feed('lagging', 'sort')];
    for (let n = 0; n < 240; n++) {
      await reference.send({ k: n + 1, objects: frames[n].reference as never });
      if (n >= 20) await tracker.send({ k: n - 19, objects: frames[n - 20].tracker as never });
    }
    await until('frame 220', () => distances.has(220));
    const response = await fetch(
      `${evaluator.url}/v1/past?stream=lagging&tracker=sort&profile=${PROFILE}&k=200&frames=20`,
    );
    const { frames: past, params, lead } = (await response.json()) as Moment;
    const window = new SlidingWindow(params);
    past.forEach((frame, n) => {
      assert.deepEqual(frame.tracker, JSON.parse(JSON.stringify(frames[frame.k - 1].tracker)), `tracks of ${frame.k}`);
      const { distance } = window.push(frame as never);
      if (n >= lead) assert.equal(distance, distances.get(frame.k), `frame ${frame.k}`);
    });
    assert.ok(past.length - lead > 10);
  });

  it('finds a frame whose reference stands far behind it in the log', async function () {
    skipInFastRun(this);
    // alone in its log, so that whoever looks for the frame finds the tracker's parts first
    const other = await Evaluator.start();
    try {
      await other.open('early', ['sort'], { pairing: UNTIMED_PAIRING });
      for (const [name, role] of [['sort', 'tracker'] as const, [null, 'reference'] as const]) {
        const feed = other.feed('early', name);
        for (let n = 0; n < 100; n++) {
          await feed.send({ k: n + 1, objects: frames[n][role] as never });
          // each in a commit of its own
          await feed.flush();
        }
      }
      await until('frame 100', async () => ((await other.judged('early', 'sort')) ?? 0) >= 100);
      const query = `stream=early&tracker=sort&profile=${PROFILE}&k=60&frames=20`;
      const { k, frames: past } = await other.get<Moment>(`/v1/past?${query}`);
      assert.deepEqual([k, past.at(-1)!.k], [60, 70]);
      assert.deepEqual(past.at(-1)!.reference, JSON.parse(JSON.stringify(frames[69].reference)));
    } finally {
      await other.stop();
    }
  });

  it('leaves out what was not judged', async () => {
    const ignore = [{ box: [0, 0, 300, 1000] }];
    await evaluator.open('masked', ['sort'], { pairing: UNTIMED_PAIRING, coverage: { ignore } });
    const distances = new Map<number, number>();
    evaluator.app.live.readReports(true);
    evaluator.app.live.events$.subscribe((event) => {
      const { k, report, stream } = event as ReportEvent;
      if (event.type === 'report' && stream === 'masked') distances.set(k, report.distance);
    });
    await evaluator.send('masked', { sort: frames.slice(0, 100) });
    const response = await fetch(
      `${evaluator.url}/v1/past?stream=masked&tracker=sort&profile=${PROFILE}&k=90&frames=20`,
    );
    assert.equal(response.status, 200, await response.clone().text());
    const { frames: past, params, lead } = (await response.json()) as Moment;
    const window = new SlidingWindow(params);
    past.forEach((frame, n) => {
      const { distance } = window.push(frame as never);
      if (n >= lead) assert.equal(distance, distances.get(frame.k), `frame ${frame.k}`);
    });
    assert.ok(past.some(({ reference }) => reference.some(({ alone }) => alone === 0)));
  });

  it('says plainly what is not stored, and what is no moment', async () => {
    const later = await ask(`k=${FRAMES + 50}`);
    assert.deepEqual([later.status, /^frame 350 of gate \/ sort is not stored/.test(later.body.message)], [404, true]);
    const none = await ask('frames=3');
    assert.deepEqual([none.status, none.body.message.includes('k, a frame')], [400, true]);
  });
});
