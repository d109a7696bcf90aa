/** The pipeline when feeds are cut, the process stands still, or somebody is too far ahead: with a clock that waits. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { SteadyClock } from '../../src/live/clock.js';
import { Live } from '../../src/live/live.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { pack } from '../../src/wire/objects.js';
import { feed, quiet, TestClock } from '../kit/live.js';
import { skipInFastRun, until } from '../kit/system/system.js';

class StallingClock extends TestClock {
  uptimeMs = 0;
  uptime = () => this.uptimeMs;
}

describe('a stream that resumes', () => {
  let dir: string;
  let clock: StallingClock;
  const open: Live[] = [];
  const events: LiveEvent[] = [];

  async function start(pairing: object = {}): Promise<Live> {
    const text = JSON.stringify({ data: { dir, groupCommitMs: 1 }, streams: { defaults: { pairing } } });
    const live = await Live.open(readConfig({ text, env: {} }).config, clock, quiet);
    open.push(live);
    live.events$.subscribe((event) => events.push(event));
    return live;
  }

  const send = (live: Live, tracker: string | null, k: number) =>
    live.ingest(feed('s', tracker), { seq: k, k, objects: pack([{ id: 'a', box: [0, 0, 5, 5] }]) }, clock.nowMs);
  const openBoth = (live: Live) => {
    for (const tracker of [null, 't']) live.openFeed(feed('s', tracker));
  };
  const isResuming = (live: Live) => live.streams()[0]?.resuming ?? false;
  const news = () => events.flatMap((event) => (event.type === 'resuming' ? [event.over] : []));
  const silences = () => events.filter(({ type }) => type === 'silence').length;
  const missed = () => events.filter(({ type }) => type === 'missing').length;
  /** The look of a tick ends before that of the next but one. */
  const ticks = () => {
    const { ticked } = clock;
    return until('two ticks', () => clock.ticked > ticked + 2);
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-resuming-'));
    clock = new StallingClock();
    events.length = 0;
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  it('says so from the cut of a feed until it has caught up, names the feed, and counts nothing as missed', async () => {
    const live = await start();
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    live.cut(feed('s', 't'));
    await until('it resumes', () => isResuming(live));
    assert.deepEqual(
      live.streams()[0].feeds.map(({ role, awaited }) => `${role} ${awaited}`),
      ['reference false', 'tracker true'],
    );
    clock.nowMs += 8000;
    await send(live, null, 2);
    clock.nowMs += 100;
    await send(live, 't', 2);
    clock.nowMs += 1000;
    await until('it has caught up', () => !isResuming(live));
    assert.deepEqual(news(), [false, true]);
    assert.equal(missed(), 0);
    assert.deepEqual(
      live.recentEvents('s').map(({ type }) => type),
      ['resuming', 'resuming'],
    );
  });

  it('gives a tracker up that is not back within resumeMs', async () => {
    const live = await start({ resumeMs: 5000 });
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    live.cut(feed('s', 't'));
    await send(live, null, 2);
    await until('it resumes', () => isResuming(live));
    clock.nowMs += 4999;
    await send(live, null, 3);
    assert.equal(missed(), 0);
    clock.nowMs += 1;
    await until('it is over', () => missed() > 0);
    assert.equal(isResuming(live), false);
  });

  it('waits for all feeds after a restart, whatever the clock says', async () => {
    for (const jumpMs of [60_000, -3_600_000]) {
      const live = await start();
      openBoth(live);
      const first = live.streams()[0] ? live.streams()[0].feeds[0].seq + 1 : 1;
      await Promise.all([send(live, null, first), send(live, 't', first), send(live, null, first + 1)]);
      await live.kill();
      clock.nowMs += jumpMs;
      const again = await start();
      openBoth(again);
      await until('it resumes', () => isResuming(again));
      clock.nowMs += 9000;
      await send(again, 't', first + 1);
      await until('it is judged', () => again.streams()[0].series[0].k === first + 1);
      assert.equal(missed(), 0);
      await again.kill();
    }
  });

  it('calls nobody late whose frames are not read yet, by the clock or by a part of the other feed', async () => {
    const live = await start();
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    live.unread(feed('s', 't'), true);
    await send(live, null, 2);
    clock.nowMs += 3000;
    await send(live, null, 3);
    await ticks();
    await Promise.all([send(live, 't', 2), send(live, 't', 3)]);
    live.unread(feed('s', 't'), false);
    await until('it is judged', () => live.streams()[0].series[0].k === 3);
    assert.equal(missed(), 0);
    await send(live, null, 4);
    clock.nowMs += 3000;
    await until('it is late now', () => missed() === 1);
  });

  it('waits for what may be unread no longer than evaluation.unreadMaxMs', async () => {
    const live = await start();
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    live.unread(feed('s', null), true);
    await send(live, null, 2);
    clock.nowMs += 19_000;
    await ticks();
    assert.equal(missed(), 0);
    for (let n = 0; n < 20 && missed() === 0; n++) {
      clock.nowMs += 2000;
      await ticks();
    }
    await until('it is late, though the reference always sends as much as it may', () => missed() === 1);
  });

  it('counts the time for nobody in which the process stood still', async () => {
    const live = await start();
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1), send(live, null, 2)]);
    await ticks();
    clock.uptimeMs += 30_000;
    clock.nowMs += 30_000;
    // the first thing that is heard afterwards is a part, not the clock
    await Promise.all([send(live, null, 3), send(live, 't', 2), send(live, 't', 3)]);
    await until('it is judged', () => live.streams()[0].series[0].k === 3);
    assert.equal(missed(), 0);
    assert.deepEqual(news(), [false]);
  });

  it('finds nobody late or silent while the disk is slow, but for so long', async function () {
    skipInFastRun(this);
    const live = await start();
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    const { gauges } = live.log;
    let queuedRecords = 1;
    Object.defineProperty(live.log, 'gauges', { get: () => ({ ...gauges, queuedRecords }) });
    await send(live, null, 2);
    const passes = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 200) {
        clock.nowMs += 200;
        await ticks();
      }
    };
    await passes(10_000);
    assert.deepEqual([missed(), silences()], [0, 0]);
    queuedRecords = 0;
    await passes(800);
    assert.deepEqual([missed(), silences()], [0, 0], 'who waited for an ack has a moment to answer it');
    await passes(600);
    await until('the tracker is missed', () => missed() === 1);
  });

  it('acks a feed that is ahead only when the other one follows', async () => {
    const live = await start({ bufferFrames: 8 });
    openBoth(live);
    await Promise.all([send(live, null, 1), send(live, 't', 1)]);
    live.cut(feed('s', 't'));
    await until('it resumes', () => isResuming(live));
    await Promise.all([2, 3, 4, 5].map((k) => send(live, null, k)));
    await until('four wait', () => live.storage().backlogRecords === 0);
    let acked = false;
    const ack = send(live, null, 6).then(() => {
      acked = true;
    });
    await until('it is durable and applied', () => live.streams()[0].feeds[0].seq === 6);
    await ticks();
    assert.equal(acked, false);
    await Promise.all([2, 3, 4].map((k) => send(live, 't', k)));
    await ack;
    assert.equal(missed(), 0);
  });
});

describe('the clock', () => {
  it('does not jump with the wall clock, and tells of it once', () => {
    const { now } = Date;
    try {
      const clock = new SteadyClock();
      const before = clock.now();
      assert.equal(clock.jumpMs(), 0);
      for (const stepMs of [3_600_000, -3_600_000]) {
        Date.now = () => now() + stepMs;
        assert.ok(Math.abs(clock.now() - before) < 1000, 'a test takes no second');
        assert.ok(Math.abs(clock.jumpMs()) > 3_500_000);
        assert.equal(clock.jumpMs(), 0);
      }
    } finally {
      Date.now = now;
    }
  });
});
