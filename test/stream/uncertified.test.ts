/**
 * A stream that has no time: a harbour (FIELD 6), with tracks that swap and a tracker that goes half blind. Whatever
 * the budget, what settles, what is told and what is alarmed upon is what an endless one finds, with frames left out;
 * and under the default budget nothing is left out, because scans come every 2.5 s.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import type { Frame } from '../../src/metric/evaluation.js';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream, type StreamOptions } from '../../src/stream/stream.js';
import type { LiveEvent, ReportEvent } from '../../src/wire/events.js';
import { pack } from '../../src/wire/objects.js';
import { feed, quiet, START_MS, TestClock } from '../kit/live.js';
import {
  assertWithin,
  HARBOUR,
  type Run,
  SCAN_S,
  SCANS,
  START_S,
  scans,
  spikesOf,
  switchesOf,
} from '../kit/scenes/harbour-stream.js';
import { skipInFastRun, until } from '../kit/system/system.js';

function plan(): StreamPlan {
  const { config } = readConfig({ text: JSON.stringify(HARBOUR), env: {} });
  return resolveStream(config, 'port', {}) as StreamPlan;
}

function* records(frames: Frame[]): Generator<LogRecord> {
  const stream = 'port';
  const feeds = [
    { role: 'reference' as const, tracker: null },
    { role: 'tracker' as const, tracker: 'radar' },
  ];
  const atMs = START_S * 1000;
  for (const feed of feeds) yield { kind: 'open', stream, atMs, ...feed };
  for (const [k, frame] of frames.entries())
    for (const feed of feeds) {
      const t = START_S + k * SCAN_S;
      const part = { seq: k + 1, k, t, objects: pack(frame[feed.role]) };
      yield { kind: 'part', stream, atMs: t * 1000, ...feed, part };
    }
  for (const feed of feeds) yield { kind: 'end', stream, atMs: atMs + SCANS * SCAN_S * 1000, ...feed };
}

/** The events of a run; with `cutEvery`, one that is stored and restored again and again. */
function run(options: StreamOptions, cutEvery = Number.POSITIVE_INFINITY): LiveEvent[] {
  const events: LiveEvent[] = [];
  let stream = new Stream('port', plan(), options);
  let position = 0;
  for (const record of records(scans())) {
    for (const applied of stream.apply(record, ++position)) events.push(...applied.events);
    if (position % cutEvery > 0) continue;
    const state = unpackSnapshot(packSnapshot(stream.toJSON()), 'the snapshot');
    stream.dispose();
    stream = Stream.fromJSON('port', { state, position }, options);
  }
  stream.dispose();
  return events;
}

const reportsOf = (events: LiveEvent[]) => events.filter((event): event is ReportEvent => event.type === 'report');

const asRun = (events: LiveEvent[]): Run => ({
  events,
  totals: reportsOf(events).map(({ report }) => report.settled),
});

const unjudgedOf = (events: LiveEvent[]) => reportsOf(events).at(-1)!.report.settled.uncertified ?? 0;

/** Without how long it took. */
const plain = (list: LiveEvent[]) =>
  list.map((event) =>
    event.type === 'report' ? { ...event, solveMs: 0, spikes: null, report: summary(event) } : event,
  );

describe('a stream without time', () => {
  let exact: LiveEvent[];
  /** with a budget of half a millisecond */
  let hurried: LiveEvent[];
  before(() => {
    exact = run({ budgetMs: Number.POSITIVE_INFINITY });
    assert.ok(switchesOf(exact).length > 10 && spikesOf(exact).length > 0, 'there is something to be told');
    assert.equal(unjudgedOf(exact), 0);
    hurried = run({ budgetMs: 0.5 });
  });

  it('has time enough for a harbour by default: everything is as with an endless budget', function () {
    skipInFastRun(this);
    const events = run({ heavyMs: 4 });
    assert.deepEqual(plain(events), plain(exact));
  });

  it('is cut at the same places on a machine that is a thousand times slower: work is counted', () => {
    const { now } = performance;
    performance.now = () => 1000 * now.call(performance);
    try {
      assert.deepEqual(plain(run({ budgetMs: 0.5 })), plain(hurried));
    } finally {
      performance.now = now;
    }
    assert.ok(reportsOf(hurried).some(({ report }) => !report.exact));
  });

  for (const budgetMs of [0, 0.2, 0.5, 1])
    it(`settles, tells and alarms only what is true, with ${budgetMs} ms`, function () {
      if (budgetMs !== 0.5) skipInFastRun(this);
      const events = budgetMs === 0.5 ? hurried : run({ budgetMs });
      assert.ok(unjudgedOf(events) > 0, 'frames were left out');
      assertWithin(asRun(events), asRun(exact));
    });

  it('does so when it is stored and restored in between', function () {
    skipInFastRun(this);
    for (const cutEvery of [9, 31]) {
      const events = run({ budgetMs: 0.5 }, cutEvery);
      assertWithin(asRun(events), asRun(exact));
    }
  });

  it('does so over a crash, and when all of it is told again', async function () {
    skipInFastRun(this);
    const dir = mkdtempSync(join(tmpdir(), 'tgospa-uncertified-'));
    const text = JSON.stringify({
      data: { dir, groupCommitMs: 1, snapshotFrames: 10 },
      evaluation: { budgetMs: 0.5, heavyMs: 0 },
      ...HARBOUR,
    });
    const { config } = readConfig({ text, env: {} });
    // a window that was restored may be cut where the one before was not: what each life says is true by itself
    const lives: Array<Map<number, LiveEvent>> = [];
    const open = async () => {
      const live = await Live.open(config, new TestClock(), quiet);
      const told = new Map<number, LiveEvent>();
      lives.push(told);
      live.events$.subscribe((event) => event.n !== undefined && told.set(event.n, event));
      for (const tracker of [null, 'radar']) live.openFeed(feed('port', tracker));
      return live;
    };
    const send = async (live: Live, from: number, to: number) => {
      for (const record of records(scans()))
        if (record.kind === 'part' && record.part.seq > from && record.part.seq <= to)
          await live.ingest(feed('port', record.tracker), record.part, START_MS);
    };
    let live = await open();
    try {
      await send(live, 0, 30);
      await live.kill();
      live = await open();
      await send(live, 30, SCANS);
      await until('all is judged', () => live.reports()[0]?.report.frame === SCANS - 1);
      assert.equal(live.storage().heavyStreams, 1);
    } finally {
      await live.kill();
      rmSync(dir, { recursive: true, force: true });
    }
    const runs = lives.map((told) => [...told].sort(([a], [b]) => a - b).map(([, event]) => event));
    assert.ok(
      runs.some((events) => unjudgedOf(events) > 0),
      'frames were left out',
    );
    for (const events of runs) assertWithin(asRun(events), asRun(exact));
  });

  it('says from when to when frames are not judged, how many, and marks each report', () => {
    const told = hurried.filter((event) => event.type === 'uncertified');
    assert.ok(told.length > 0 && told.every(({ over }, n) => over === (n % 2 === 1)), 'begins and ends take turns');
    assert.equal(
      told.reduce((sum, { over, count }) => sum + (over ? count : 0), 0),
      unjudgedOf(hurried),
    );
    assert.match(told[0].message, /not judged/);
    for (const { report } of reportsOf(hurried)) assert.equal(report.exact, report.gap === 0);
  });

  it('ends with a proof of what is left, for which there is time', () => {
    const { report } = reportsOf(hurried).at(-1)!;
    assert.equal(report.exact, true);
    assert.equal(report.settled.frames + (report.settled.uncertified ?? 0), SCANS);
  });
});

function summary({ report }: ReportEvent): object {
  const { cost, count, exact, settled, lifetime, events, newest } = report;
  return { cost, count, exact, settled, lifetime, events, newest };
}
