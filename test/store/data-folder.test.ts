/** A data folder written by an earlier version opens, and everything goes on as if nothing had been between. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import { arrangeSlots } from '../../src/live/rearrangement.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { pack } from '../../src/wire/objects.js';
import { lastingEvents, quiet, TestClock } from '../kit/live.js';
import {
  CUT,
  clockAt,
  LENGTH,
  openFeeds,
  type SceneTarget,
  sceneConfig,
  sendScene,
  writeDataFolder,
} from '../kit/scenes/data-folder-scene.js';
import { skipInFastRun } from '../kit/system/system.js';

const FOLDERS = fileURLToPath(new URL('../../../test/cases/data-folders', import.meta.url));

/** A folder that the program of today has written: everything in it is compared. */
const TODAY = 'one of today';

/** Those written when nothing could be reported yet: they have no coast. */
const BEFORE_REPORTS = ['snapshot-1', 'snapshot-2', 'snapshot-3'];

const targetOf = (live: Live): SceneTarget => ({
  openFeed: (feed) => live.openFeed(feed),
  ingest: (feed, part, receivedMs) => live.ingest(feed, { ...part, objects: pack(part.objects) }, receivedMs),
  stop: () => live.stop(),
  kill: () => live.kill(),
});

/** Logarithms of another release of V8 may differ in the last digit from those that were learned and stored. */
const rounded = (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(12)) : value;

/** What must not depend on restarts. */
const comparable = (event: LiveEvent, withSpikes: boolean): unknown =>
  JSON.parse(JSON.stringify(lasting(event, withSpikes)), rounded);

/**
 * Before format 3 of spikes, what was usual was learned otherwise: detectors start anew, and events are numbered so.
 */
function lasting({ n, ...event }: LiveEvent, withSpikes: boolean): unknown {
  const numbered = withSpikes ? { n, ...event } : event;
  if (event.type !== 'report') return numbered;
  const { solveMs: _solveMs, objects: _objects, spikes, report, ...rest } = numbered as typeof event;
  const { solver: _solver, perFrame: _perFrame, ...plain } = JSON.parse(JSON.stringify(report));
  const gauges = withSpikes ? spikes?.signals.map((signal) => spikes.gauge(signal)) : undefined;
  return { ...rest, report: plain, gauges };
}

/** An event, and what of it must not depend on restarts: with what detectors say, and without. */
interface Told {
  event: LiveEvent;
  withSpikes: unknown;
  without: unknown;
}

describe('a data folder of an earlier version, or of this one', () => {
  const clock = new TestClock();
  let dir: string;
  const open: Live[] = [];

  const start = async (config: object): Promise<Live> => {
    const live = await Live.open(readConfig({ text: JSON.stringify(config), env: {} }).config, clock, quiet);
    open.push(live);
    return live;
  };

  /** The events after the cut, as they were when they were told. */
  async function finishScene(live: Live): Promise<Told[]> {
    const events: Told[] = [];
    lastingEvents(live).subscribe((event) => {
      if ((event.atMs ?? 0) <= clockAt(CUT)) return;
      events.push({ event, withSpikes: comparable(event, true), without: comparable(event, false) });
    });
    const target = targetOf(live);
    clock.nowMs = clockAt(CUT + 1);
    await openFeeds(target, true);
    await sendScene(target, clock, CUT + 1, LENGTH);
    for (const { stream, feeds } of live.streams())
      for (const { role, tracker } of feeds) await live.end({ stream, role, tracker });
    await live.stop();
    return events;
  }

  const byStream = (events: Told[], withSpikes: boolean): Map<string, unknown[]> => {
    const told = events.filter(({ event }) => withSpikes || !['spike', 'incident'].includes(event.type));
    const streams = new Map<string, unknown[]>(told.map(({ event }) => [event.stream, []]));
    for (const one of told) streams.get(one.event.stream)!.push(withSpikes ? one.withSpikes : one.without);
    return streams;
  };

  /** What an evaluator says after the cut that was never stopped. */
  let whole: Told[];

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-folder-'));
    clock.nowMs = clockAt(0);
    const live = await start(sceneConfig(folder));
    try {
      await openFeeds(targetOf(live), false);
      await sendScene(targetOf(live), clock, 1, CUT);
      whole = await finishScene(live);
    } finally {
      await live.kill();
      rmSync(folder, { recursive: true, force: true });
    }
    const spikes = whole.flatMap(({ event }) => (event.type === 'spike' ? [`${event.tracker} ${event.signal}`] : []));
    assert.ok(spikes.includes('deep missed'), `spikes: ${spikes}`);
    const ships = whole.flatMap(({ event }) => (event.type === 'report' && event.stream === 'coast' ? [event] : []));
    assert.ok(ships.at(-1)?.performance?.truthInstances && ships.at(-1)?.classes?.ferry, 'the coast is measured');
  });
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-folder-'));
  });
  afterEach(async () => {
    for (const live of open.splice(0)) await live.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  const names = [...readdirSync(FOLDERS).filter((entry) => !entry.endsWith('.md')), TODAY];
  const asItIs = names.map((name) => ({ name, title: `${name} opens and goes on`, slots: [] }));
  const dealtOut = ['snapshot-1', TODAY].map((name) => ({
    name,
    title: `${name} goes on after its streams were in three slots, two, and one again`,
    slots: [3, 2, 1],
  }));
  for (const { name, title, slots } of [...asItIs, ...dealtOut])
    it(title, async function () {
      if (name !== 'snapshot-1' || slots.length > 0) skipInFastRun(this);
      const withSpikes = name === TODAY;
      const expected = byStream(whole, withSpikes);
      assert.deepEqual([...expected.keys()].sort(), ['belt', 'coast', 'dock', 'field', 'gate', 'harbour', 'yard']);

      if (name === TODAY)
        await writeDataFolder(async (config) => targetOf(await start(config)), clock, join(dir, name));
      else cpSync(join(FOLDERS, name), join(dir, name), { recursive: true });
      clock.nowMs = clockAt(CUT);
      const { data } = readConfig({ text: JSON.stringify(sceneConfig(join(dir, name))), env: {} }).config;
      for (const count of slots) assert.equal((await arrangeSlots(data, count, quiet)).length, count);
      const live = await start(sceneConfig(join(dir, name)));
      const streams = live.streams().map(({ stream }) => stream);
      assert.deepEqual(
        [...expected.keys()].filter((stream) => !streams.includes(stream)),
        BEFORE_REPORTS.includes(name) ? ['coast'] : [],
      );
      if (withSpikes) {
        const lasting = live.spikes().map(({ tracker, signal }) => `${tracker} ${signal}`);
        assert.ok(lasting.includes('deep missed'), `a spike lasts: ${lasting}`);
      }
      const incidents = live.streams().flatMap((one) => one.incidents.map(({ tracker }) => tracker));
      assert.deepEqual(incidents, [...new Set(live.spikes().map(({ tracker }) => tracker))], 'each spike is in one');
      const events = byStream(await finishScene(live), withSpikes);
      for (const stream of streams) assert.deepEqual(events.get(stream), expected.get(stream), stream);
    });
});
