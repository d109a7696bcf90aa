/**
 * A harbour (FIELD 6) as a stream: tracks that swap, a tracker that goes half blind for a while; and what a run told of
 * it, compared with one that had all the time in the world: nothing may be settled, told or alarmed upon that the other
 * lacks. Frames may be left out.
 */
import assert from 'node:assert/strict';
import type { Count, Frame, Obj } from '../../../src/metric/evaluation.js';
import type { LiveEvent, SpikeEvent } from '../../../src/wire/events.js';
import { harbour } from '../../bench/kernel/harbour.js';

export const SCANS = 56;
/** seconds */
export const SCAN_S = 2.5;
/** epoch seconds of the first scan */
export const START_S = 1_763_251_200;
const WINDOW = 14;
const BLIND = { from: 40, to: 50 };

/** Of the configuration: how streams of the harbour are judged. */
export const HARBOUR = {
  profiles: { scan: { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } },
  streams: {
    defaults: {
      windowFrames: WINDOW,
      spikes: { learnFrames: 20, falseAlarmFrames: 2000 },
      profiles: ['scan'],
    },
  },
};

/** Every ten scans two neighbours swap their tracks; for a while half of the ships are not seen. */
export function scans(): Frame[] {
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

/** Settled totals, as a report has them. */
export interface Totals {
  frames: number;
  uncertified?: number;
  count: Count;
}

/** What each frame added to the settled totals, by its number from 0; null where it stayed unjudged. */
function settledFrames(totals: Totals[]): Map<number, Count | null> {
  const frames = new Map<number, Count | null>();
  let before = { frames: 0, uncertified: 0, count: { proper: 0, missed: 0, false: 0, switches: 0 } };
  for (const { frames: judged, uncertified = 0, count } of totals) {
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

export const switchesOf = (events: LiveEvent[]) =>
  events.flatMap((event) =>
    event.type === 'switch' ? [`${event.k} ${event.truth} ${event.from} ${event.to} ${event.switches}`] : [],
  );

export const spikesOf = (events: LiveEvent[]) => events.filter((event): event is SpikeEvent => event.type === 'spike');

/** What a run told, and the settled totals of each of its reports. */
export interface Run {
  events: LiveEvent[];
  totals: Totals[];
}

/** Nothing is in a run that the exact one lacks. */
export function assertWithin(run: Run, exact: Run): void {
  const truth = settledFrames(exact.totals);
  for (const [frame, count] of settledFrames(run.totals)) {
    if (count === null) continue;
    const { switches, ...instances } = count;
    const { switches: most, ...expected } = truth.get(frame)!;
    assert.deepEqual(instances, expected, `frame ${frame}`);
    assert.ok(switches <= most, `frame ${frame}: ${switches} switches, and ${most} in truth`);
  }
  const known = new Set(switchesOf(exact.events));
  for (const told of switchesOf(run.events)) assert.ok(known.has(told), `switch ${told}`);
  for (const { phase, signal, at } of spikesOf(run.events)) {
    if (phase !== 'start') continue;
    const own = spikesOf(exact.events).filter((spike) => spike.signal === signal);
    const lasting = own.filter((spike) => spike.at <= at).at(-1)?.phase === 'start';
    assert.ok(lasting, `a spike of ${signal} at ${at}`);
  }
}
