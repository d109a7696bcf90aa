/**
 * A stream that has no time: a harbour (FIELD 6), with tracks that swap and a tracker that goes half blind. Whatever the
 * budget, what settles, what is told and what is alarmed upon is what an endless one finds, with frames left out; and
 * under the default budget nothing is left out, because scans come every 2.5 s.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { Live } from '../../src/live/pipeline.js';
import type { Count, Frame, Obj } from '../../src/metric/evaluation.js';
import { packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import type { LogRecord } from '../../src/store/record.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { Stream, type StreamOptions } from '../../src/stream/stream.js';
import type { LiveEvent, ReportEvent, SpikeEvent } from '../../src/wire/events.js';
import { pack } from '../../src/wire/objects.js';
import { harbour } from '../bench/kernel/harbour.js';
import { feed, quiet, START_MS, TestClock } from '../kit/live.js';
import { until } from '../kit/system/system.js';

const SCANS = 56;
const SCAN_S = 2.5;
const WINDOW = 14;
const BLIND = { from: 40, to: 50 };
const START_S = 1_763_251_200;

const SETTINGS = {
  windowFrames: WINDOW,
  spikes: { learnFrames: 20, falseAlarmFrames: 2000 },
  profiles: ['scan'],
};
const PROFILES = { scan: { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } };

function plan(): StreamPlan {
  const { config } = readConfig({
    text: JSON.stringify({ profiles: PROFILES, streams: { defaults: SETTINGS } }),
    env: {},
  });
  return resolveStream(config, 'port', {}) as StreamPlan;
}

/** Every ten scans two neighbours swap their tracks; for a while half of the ships are not seen. */
function scene(): Frame[] {
  return harbour(SCANS).map(({ reference, tracker }, k) => {
    const swapped = Math.floor(k / 10) % 2 === 1;
    const renamed = tracker.map((one): Obj => {
      const n = Number(one.id);
      return swapped && Number.isInteger(n) ? { ...one, id: String(n % 2 === 0 ? n + 1 : n - 1) } : one;
    });
    const isBlind = k >= BLIND.from && k < BLIND.to;
    return { reference, tracker: isBlind ? renamed.filter((_, n) => n % 2 === 0) : renamed };
  });
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
  for (const record of records(scene())) {
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

/** What each frame added to the settled totals, by its number from 0; null where it stayed unjudged. */
function settledFrames(events: LiveEvent[]): Map<number, Count | null> {
  const frames = new Map<number, Count | null>();
  let before = { frames: 0, uncertified: 0, count: { proper: 0, missed: 0, false: 0, switches: 0 } };
  for (const { report } of reportsOf(events)) {
    const { frames: judged, uncertified = 0, count } = report.settled;
    const added = judged + uncertified - before.frames - before.uncertified;
    const minus = (key: keyof Count) => count[key] - before.count[key];
    // several settle at the end only
    if (added === 1) {
      const one = {
        proper: minus('proper'),
        missed: minus('missed'),
        false: minus('false'),
        switches: minus('switches'),
      };
      frames.set(before.frames + before.uncertified, judged > before.frames ? one : null);
    }
    before = { frames: judged, uncertified, count };
  }
  return frames;
}

const switchesOf = (events: LiveEvent[]) =>
  events.flatMap((event) =>
    event.type === 'switch' ? [`${event.k} ${event.truth} ${event.from} ${event.to} ${event.switches}`] : [],
  );

const spikesOf = (events: LiveEvent[]) => events.filter((event): event is SpikeEvent => event.type === 'spike');

/** Nothing is in a run that the exact one lacks. */
function assertWithin(events: LiveEvent[], exact: LiveEvent[]): void {
  const truth = settledFrames(exact);
  for (const [frame, count] of settledFrames(events)) {
    if (count === null) continue;
    const { switches, ...instances } = count;
    const { switches: most, ...expected } = truth.get(frame)!;
    assert.deepEqual(instances, expected, `frame ${frame}`);
    assert.ok(switches <= most, `frame ${frame}: ${switches} switches, and ${most} in truth`);
  }
  const known = new Set(switchesOf(exact));
  for (const told of switchesOf(events)) assert.ok(known.has(told), `switch ${told}`);
  for (const { phase, signal, at } of spikesOf(events)) {
    if (phase !== 'start') continue;
    const own = spikesOf(exact).filter((spike) => spike.signal === signal);
    const lasting = own.filter((spike) => spike.at <= at).at(-1)?.phase === 'start';
    assert.ok(lasting, `a spike of ${signal} at ${at}`);
  }
}

const unjudgedOf = (events: LiveEvent[]) => reportsOf(events).at(-1)!.report.settled.uncertified ?? 0;

describe('a stream without time', function () {
  this.timeout(120_000);
  let exact: LiveEvent[];
  before(() => {
    exact = run({ budgetMs: Number.POSITIVE_INFINITY });
    assert.ok(switchesOf(exact).length > 10 && spikesOf(exact).length > 0, 'there is something to be told');
    assert.equal(unjudgedOf(exact), 0);
  });

  it('has time enough for a harbour by default: everything is as with an endless budget', () => {
    const events = run({ heavyMs: 4 });
    const plain = (list: LiveEvent[]) =>
      list.map((event) =>
        event.type === 'report' ? { ...event, solveMs: 0, spikes: null, report: summary(event) } : event,
      );
    assert.deepEqual(plain(events), plain(exact));
  });

  for (const budgetMs of [0, 0.2, 0.5, 1])
    it(`settles, tells and alarms only what is true, with ${budgetMs} ms`, () => {
      const events = run({ budgetMs });
      assert.ok(unjudgedOf(events) > 0, 'frames were left out');
      assertWithin(events, exact);
    });

  it('does so when it is stored and restored in between', () => {
    for (const cutEvery of [9, 31]) {
      const events = run({ budgetMs: 0.5 }, cutEvery);
      assertWithin(events, exact);
    }
  });

  it('does so in a worker, over a crash, and when all of it is told again', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'tgospa-uncertified-'));
    const text = JSON.stringify({
      data: { dir, groupCommitMs: 1, snapshotFrames: 10 },
      evaluation: { budgetMs: 0.5, inlineMs: 0, threads: 1 },
      profiles: PROFILES,
      streams: { defaults: SETTINGS },
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
      for (const record of records(scene()))
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
      assert.equal(live.storage().threadStreams, 1);
    } finally {
      await live.kill();
      rmSync(dir, { recursive: true, force: true });
    }
    const runs = lives.map((told) => [...told].sort(([a], [b]) => a - b).map(([, event]) => event));
    assert.ok(
      runs.some((events) => unjudgedOf(events) > 0),
      'frames were left out',
    );
    for (const events of runs) assertWithin(events, exact);
  });

  it('says from when to when frames are not judged, how many, and marks each report', () => {
    const events = run({ budgetMs: 0.5 });
    const told = events.filter((event) => event.type === 'uncertified');
    assert.ok(told.length > 0 && told.every(({ over }, n) => over === (n % 2 === 1)), 'begins and ends take turns');
    assert.equal(
      told.reduce((sum, { over, count }) => sum + (over ? count : 0), 0),
      unjudgedOf(events),
    );
    assert.match(told[0].message, /not judged/);
    for (const { report } of reportsOf(events)) assert.equal(report.exact, report.gap === 0);
  });

  it('ends with a proof of what is left, for which there is time', () => {
    const { report } = reportsOf(run({ budgetMs: 0.5 })).at(-1)!;
    assert.equal(report.exact, true);
    assert.equal(report.settled.frames + (report.settled.uncertified ?? 0), SCANS);
  });
});

function summary({ report }: ReportEvent): object {
  const { cost, count, exact, settled, lifetime, events, newest } = report;
  return { cost, count, exact, settled, lifetime, events, newest };
}
