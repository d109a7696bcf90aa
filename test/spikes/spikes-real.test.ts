/**
 * Spike detection on MOT17: faults put into the stream of a good tracker are found and named; without them there is
 * nothing to find.
 */
import assert from 'node:assert/strict';
import { type Frame, type Obj, presets, SlidingWindow, type WindowSnapshot } from '../../src/index.js';
import type { Box } from '../../src/metric/evaluation.js';
import { SIGNALS, type Signal } from '../../src/spikes/signals.js';
import { type SpikeNews, type SpikeState, SpikeWatch } from '../../src/spikes/watch.js';
import { Chance } from '../bench/spike-scene.js';
import { configOf } from '../kit/edge.js';
import { mot17 } from '../kit/metric/mot17.js';
import { skipInFastRun } from '../kit/system/system.js';

const TRACKER = 'BoT-SORT-ReTrack-Botsort_baseline';
const SEQUENCES = ['02', '04', '05', '09', '10', '11', '13'].map((number) => `MOT17-${number}`);
const SETTINGS = configOf('').streams.defaults.spikes;

type Fault = (frame: Frame, n: number) => Obj[];

/** A number between 0 and 1 that belongs to an id. */
function share(id: string): number {
  let mixed = 7;
  for (const letter of id) mixed = Math.imul(mixed ^ letter.charCodeAt(0), 2654435761) >>> 0;
  return ((mixed ^ (mixed >>> 15)) % 1000) / 1000;
}

const moved = ({ id, box: [x, y, width, height] }: Obj & { box: Box }, right: number, down: number): Obj => ({
  id,
  box: [x + right * width, y + down * height, width, height],
});

/** Faults by name, each made anew for a stream: signals that must tell of it, signals that may be the first to. */
const FAULTS: Record<string, { signals: Signal[]; first: Signal[]; sequences: string[]; make: () => Fault }> = {
  // half of the tracks are gone
  drop: {
    signals: ['missed'],
    first: ['missed'],
    sequences: SEQUENCES,
    make:
      () =>
      ({ tracker }) =>
        tracker.filter(({ id }) => share(id) >= 0.5),
  },
  // every ten frames three pairs of tracks exchange their ids for ten frames
  swap: {
    signals: ['switch'],
    first: ['switch'],
    sequences: SEQUENCES.filter((name) => name !== 'MOT17-02'),
    make:
      () =>
      ({ tracker }, n) => {
        const ids = tracker.map(({ id }) => id).sort((a, b) => share(a) - share(b));
        const other = new Map(ids.slice(0, 6).map((id, at, few) => [id, few[at ^ 1] ?? id]));
        return n % 20 < 10 ? tracker : tracker.map((object) => ({ ...object, id: other.get(object.id) ?? object.id }));
      },
  },
  // two boxes a frame where nobody is
  clutter: {
    signals: ['false'],
    first: ['false'],
    sequences: SEQUENCES,
    make: () => {
      const chance = new Chance(5);
      const box = (): Box => [1800 * chance.next(), 900 * chance.next(), 60, 160];
      return ({ tracker }, n) => [...tracker, { id: `clutter${n}a`, box: box() }, { id: `clutter${n}b`, box: box() }];
    },
  },
  // the picture stands still: who walks on is missed, and where they were is nobody
  freeze: {
    signals: ['missed', 'false'],
    first: ['missed', 'false', 'localization'],
    sequences: SEQUENCES,
    make: () => {
      let still: Obj[] | null = null;
      return ({ tracker }) => {
        still ??= tracker;
        return still;
      };
    },
  },
  // every box is off by a part of its size; in MOT17-13 the camera turns, and the error wanders by as much by itself
  offset: {
    signals: ['localization'],
    first: ['localization'],
    sequences: SEQUENCES.filter((name) => name !== 'MOT17-13'),
    make:
      () =>
      ({ tracker }) =>
        tracker.map((object) => moved(object as Obj & { box: Box }, 0.15, 0.05)),
  },
};

const PARAMS = { ...presets['online-surveillance'], windowFrames: 60 };

/** A window and a detector that have seen the frames of a good tracker before `at`. */
interface Past {
  at: number;
  window: WindowSnapshot;
  detector: SpikeState;
  news: SpikeNews[];
}

/** What the detector says about frames; the first has number `k`. */
function watch(window: SlidingWindow, detector: SpikeWatch, frames: Frame[], k: number): SpikeNews[] {
  return frames.flatMap((frame, n) => {
    window.push(frame);
    return detector.update(window.glance(), { k: k + n });
  });
}

function learn(frames: Frame[]): Past {
  const at = Math.floor(frames.length * 0.6) + 1;
  const window = new SlidingWindow(PARAMS);
  const detector = new SpikeWatch(SETTINGS, PARAMS.exponent, PARAMS.cutoff);
  const news = watch(window, detector, frames.slice(0, at - 1), 1);
  const past = { at, window: window.toJSON(), detector: detector.toJSON(), news };
  window.dispose();
  return past;
}

/** What the detector says about that past and what comes after it. */
function goOn(past: Past, frames: Frame[]): SpikeNews[] {
  const window = SlidingWindow.fromJSON(past.window);
  const detector = SpikeWatch.fromJSON(past.detector, SETTINGS, PARAMS.exponent, PARAMS.cutoff);
  const news = watch(window, detector, frames, past.at);
  window.dispose();
  return [...past.news, ...news];
}

const words = (news: SpikeNews[]) => news.map(({ phase, signal, k, at }) => `${phase} of ${signal} from ${k} at ${at}`);

describe('spikes on real streams', () => {
  const sequences = new Map<string, { frames: Frame[]; past: Past }>();

  before(function () {
    skipInFastRun(this);
    for (const name of SEQUENCES) {
      const frames = mot17(name, TRACKER);
      if (!frames) this.skip();
      sequences.set(name, { frames, past: learn(frames) });
    }
  });

  for (const name of SEQUENCES) {
    it(`raises nothing on ${name} as a good tracker saw it`, () => {
      const { frames, past } = sequences.get(name)!;
      assert.deepEqual(words(goOn(past, frames.slice(past.at - 1))), []);
    });
  }

  for (const [fault, { signals, first, sequences: names, make }] of Object.entries(FAULTS)) {
    it(`finds and names ${fault}`, () => {
      for (const name of names) {
        const { frames, past } = sequences.get(name)!;
        const { at } = past;
        const spoil = make();
        const spoilt = frames
          .slice(at - 1, at + 120)
          .map((frame, n) => ({ reference: frame.reference, tracker: spoil(frame, n) }));
        const starts = goOn(past, spoilt).filter(({ phase }) => phase === 'start');
        const place = `${name}: ${words(starts)}`;
        assert.ok(starts.length > 0, `${name}: nothing found`);
        for (const start of starts) assert.ok(start.at >= at, place);
        assert.ok(first.includes(starts[0].signal), place);
        for (const signal of SIGNALS)
          if (signals.includes(signal))
            assert.ok(
              starts.some((start) => start.signal === signal),
              `${place}: no ${signal}`,
            );
      }
    });
  }
});
