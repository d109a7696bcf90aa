/**
 * `npm run bench -- spikes [--days N] [--draws D] [--trials M] [--seed S] [--objects 5,20,60] [--parts alarms,…]
 * [--scenes clean,…] [--changes missed,…]`: how far the spike detector can be trusted. `alarms`: false alarms per
 * stationary day, by scene and signal, of trackers whose habits are drawn from the whole range of real ones; `delays`
 * in frames at 10 frames/s beside an oracle, a CUSUM that knows both distributions, with a threshold that gives it one
 * false alarm a day; `lasting`: what is said of a fault that stays; `changes`: another frame rate, a restart, a region
 * lost in a crowd; `street`: false alarms per day of people who meet and cross, through a real window; `real`: trackers
 * on MOT17 played to and fro, without a fault; `faults`: with one. Prints tables, and as the last line everything as
 * JSON.
 */
import { parseArgs } from 'node:util';
import { incidentsIn, spikesIn } from '../../src/incidents/detector.js';
import { type Frame, presets, SlidingWindow, SpikeDetector } from '../../src/index.js';
import { SIGNALS, type Signal } from '../../src/spikes/signals.js';
import type { IncidentNews } from '../../src/wire/incidents.js';
import { mot17 } from '../kit/metric/mot17.js';
import { faultRows, playFault } from './fault-table.js';
import { Places } from './spike-places.js';
import { drawTraffic, Traffic, type TrafficFault, type TrafficOptions } from './spike-scene.js';
import { STREET_FPS, Street } from './spike-street.js';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '1' },
    draws: { type: 'string', default: '3' },
    trials: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    objects: { type: 'string', default: '5,20,60' },
    scenes: { type: 'string', default: 'clean,occluded,showered,heterogeneous,diurnal,rare' },
    changes: { type: 'string', default: SIGNALS.join(',') },
    parts: { type: 'string', default: 'alarms,delays,lasting,changes,street,real,faults' },
  },
});
const DAYS = Number(values.days);
const DRAWS = Number(values.draws);
const TRIALS = Number(values.trials);
const SEED = Number(values.seed);
const SIZES = values.objects.split(',').map(Number);
const FRAMES_PER_DAY = 864_000;
const FRAMES_PER_HOUR = 36_000;
/** the rule that pages: most scrapes of 30 s, for 15 s */
const PAGE_SECONDS = 0.7 * 30 + 15;
const EPOCH = 1_763_251_200;

const SCENES: Record<string, Partial<TrafficOptions>> = {
  clean: {},
  occluded: { occlusions: true },
  showered: { showers: true },
  heterogeneous: { errorSpread: 0.47, missSpread: 0.8 },
  diurnal: { diurnal: true },
  rare: { missShare: 0.005 },
};

/** Points, and errors as they are. */
const PARAMS = { distance: 'euclidean', exponent: 1, cutoff: 0.5 } as const;

/** How many incidents started, by cause; one that came with a spike or by itself is "unknown" until it is diagnosed. */
class Causes {
  readonly #counts = new Map<string, number>();

  constructor(all: readonly Causes[] = []) {
    for (const one of all)
      for (const [cause, count] of one.#counts) this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + count);
  }

  add(news: readonly IncidentNews[]): void {
    for (const { phase, cause } of news)
      if (phase === 'start') this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + 1);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  toString(): string {
    return [...this.#counts].map(([cause, count]) => `${cause} ${count}`).join(', ') || 'none';
  }
}

/** A scene with the detector as it is without a configuration. */
class Run {
  readonly scene: Traffic;
  readonly places: Places;
  watch = new SpikeDetector({}, PARAMS);
  /** incidents that started, by cause as it was known then */
  incidents = new Causes();
  /** spikes that started, by signal */
  readonly started = Object.fromEntries(SIGNALS.map((signal) => [signal, 0])) as Record<Signal, number>;
  /** everything that was said of a signal */
  readonly said = { ...this.started };
  /** spikes of missed objects that lasted long enough to page */
  pages = 0;
  k = 0;
  #missedSince = 0;

  constructor(options: TrafficOptions) {
    this.scene = new Traffic(options);
    this.places = new Places(options.seed);
  }

  step(): void {
    const before = this.scene.seconds;
    const glance = this.scene.glance();
    this.places.add(glance, this.scene.seconds - before);
    const source = { glance: () => glance, frames: () => this.places.frames() };
    const news = this.watch.update(source, { k: ++this.k, t: EPOCH + this.scene.seconds });
    if (news.length === 0) return;
    this.incidents.add(incidentsIn(news));
    for (const { phase, signal, certain } of spikesIn(news)) {
      if (phase === 'start') this.started[signal]++;
      if (phase !== 'end') this.said[signal]++;
      if (signal === 'missed' && phase === 'start') this.#missedSince = this.scene.seconds;
      // what pages has lasted, and is beyond doubt
      const lasted = this.scene.seconds - this.#missedSince > PAGE_SECONDS;
      if (signal === 'missed' && phase === 'end' && certain && lasted) this.pages++;
    }
  }

  play(frames: number, fault: TrafficFault = {}): this {
    this.scene.fault = fault;
    for (let n = 0; n < frames; n++) this.step();
    return this;
  }
}

/** Alarms per day on days on which nothing changes: the mean over trackers, and the worst of them. */
function falseAlarms() {
  const wanted = values.scenes.split(',');
  const scenes = Object.entries(SCENES).filter(([scene]) => wanted.includes(scene));
  return scenes.flatMap(([scene, options]) =>
    SIZES.map((objects) => {
      const began = performance.now();
      const runs = Array.from({ length: DRAWS }, (_, n) =>
        new Run({ ...drawTraffic(SEED + n, objects), ...options }).play(DAYS * FRAMES_PER_DAY),
      );
      const perDay = (counts: number[]) => {
        const mean = counts.reduce((a, b) => a + b) / DRAWS / DAYS;
        return `${mean.toFixed(2)}, at most ${(Math.max(...counts) / DAYS).toFixed(1)}`;
      };
      const bySignal = SIGNALS.map((signal) => [signal, perDay(runs.map(({ started }) => started[signal]))]);
      const row = {
        scene,
        objects,
        ...Object.fromEntries(bySignal),
        pages: perDay(runs.map(({ pages }) => pages)),
        incidents: perDay(runs.map(({ incidents }) => incidents.total)),
        causes: runs.map(({ incidents }) => `${incidents}`).join(' | '),
        'seconds a day': Number((seconds(began) / DRAWS / DAYS).toFixed(1)),
      };
      console.log(JSON.stringify(row));
      return row;
    }),
  );
}

const seconds = (began: number) => Number(((performance.now() - began) / 1000).toFixed(1));

const CHANGES: ReadonlyArray<readonly [signal: Signal, factor: number]> = [
  ['missed', 3],
  ['missed', 10],
  ['false', 3],
  ['false', 10],
  ['switch', 3],
  ['switch', 10],
  ['localization', 1.2],
  ['localization', 1.5],
  ['localization', 2],
];

/** As often as in a scene of 20 objects whose threefold an oracle finds in 1,155 frames. */
const DELAY_SCENE = { switchesPerObjectSecond: 0.0027 };

/** log likelihood ratio of the newest frame for one who knows both distributions; of the first bad one with `first`. */
function oracle(
  { seen, options, fault, lossPerSecond, innovation }: Traffic,
  signal: Signal,
  factor: number,
  first = false,
): number {
  const fps = options.framesPerSecond;
  const poisson = (hits: number, usual: number) => hits * Math.log(factor) - usual * (factor - 1);
  if (signal === 'missed') return poisson(seen.lost, (lossPerSecond / fps) * seen.exposed);
  if (signal === 'false') return poisson(seen.appeared, options.clutterPerSecond / fps);
  if (signal === 'switch') return poisson(seen.switched, (options.switchesPerObjectSecond / fps) * seen.noisy);
  const rest = first ? 1 : 1 - options.errorPersistence;
  const shift = (Math.log(factor) * rest) / innovation;
  const added = (Math.log(fault.localization ?? 1) * rest) / innovation;
  return shift * (seen.noise + added * seen.noisy) - (shift * shift * seen.noisy) / 2;
}

/** The threshold at which the oracle has one false alarm a day. */
function oracleThreshold(objects: number, signal: Signal, factor: number): number {
  const scene = new Traffic({ seed: SEED + 99, objects, ...DELAY_SCENE });
  const days = 2;
  const peaks: number[] = [];
  let [sum, peak] = [0, 0];
  for (let n = 0; n < days * FRAMES_PER_DAY; n++) {
    scene.glance();
    sum += oracle(scene, signal, factor);
    if (signal === 'localization') sum = Math.max(sum, oracle(scene, signal, factor, true));
    if (sum > peak) peak = sum;
    if (sum > 0) continue;
    if (peak > 2) peaks.push(peak);
    sum = peak = 0;
  }
  return peaks.sort((a, b) => b - a)[days - 1];
}

/** One change after an hour: frames until ours and the oracle find it, and incidents before and after it. */
function delay(objects: number, signal: Signal, factor: number, threshold: number, seed: number) {
  const run = new Run({ seed, objects, ...DELAY_SCENE });
  let sum = 0;
  for (let n = 0; n < FRAMES_PER_HOUR; n++) {
    run.step();
    sum = Math.max(0, sum + oracle(run.scene, signal, factor));
    if (sum > threshold) sum = 0;
  }
  const before = run.incidents;
  run.incidents = new Causes();
  run.scene.fault = { [signal]: factor };
  let [ours, theirs] = [run.watch.gauge(signal).active ? 1 : 0, 0];
  for (let n = 1; n <= FRAMES_PER_HOUR && !(ours && theirs); n++) {
    run.step();
    sum = Math.max(0, sum) + oracle(run.scene, signal, factor);
    if (n === 1 && signal === 'localization') sum = Math.max(sum, oracle(run.scene, signal, factor, true));
    if (sum > threshold) theirs ||= n;
    if (run.watch.gauge(signal).active) ours ||= n;
  }
  return { ours: ours || FRAMES_PER_HOUR, theirs: theirs || FRAMES_PER_HOUR, before, after: run.incidents };
}

function delays() {
  const wanted = CHANGES.filter(([signal]) => values.changes.split(',').includes(signal));
  return SIZES.filter((objects) => objects <= 20).flatMap((objects) =>
    wanted.map(([signal, factor]) => {
      const threshold = oracleThreshold(objects, signal, factor);
      const found = Array.from({ length: TRIALS }, (_, n) =>
        delay(objects, signal, factor, threshold, SEED + 1000 + n),
      );
      const mean = (side: 'ours' | 'theirs') => found.reduce((sum, one) => sum + one[side], 0) / TRIALS;
      const middle = (side: 'ours' | 'theirs') =>
        found.map((one) => one[side]).sort((a, b) => a - b)[Math.floor(TRIALS / 2)];
      const row = {
        objects,
        change: `${signal} x${factor}`,
        ours: Math.round(mean('ours')),
        oracle: Math.round(mean('theirs')),
        ratio: Number((mean('ours') / mean('theirs')).toFixed(2)),
        'median ours': middle('ours'),
        'median oracle': middle('theirs'),
        'incidents in the hour before': found.reduce((sum, { before }) => sum + before.total, 0),
        'causes named': `${new Causes(found.map(({ after }) => after))}`,
      };
      console.log(JSON.stringify(row));
      return row;
    }),
  );
}

/** What is said about a fault that stays for 12 hours, by night and with fewer and fewer objects. */
function lasting() {
  const faults: Record<string, TrafficFault> = {
    covered: { covered: true },
    'missed x10': { missed: 10 },
    'clutter x10': { false: 10 },
    'error x1.6': { localization: 1.6 },
    'late by 1': {},
  };
  return Object.entries(faults).flatMap(([fault, what]) =>
    [5, 20].map((objects) => {
      const run = new Run({ seed: SEED + 7, objects, diurnal: fault === 'covered' });
      run.play(FRAMES_PER_HOUR);
      Object.assign(run.said, { missed: 0, false: 0, switch: 0, localization: 0 });
      run.incidents = new Causes();
      if (fault === 'late by 1') run.places.late = 1;
      run.play(FRAMES_PER_HOUR, what);
      const signal = fault === 'covered' ? 'missed' : (Object.keys(what)[0] as Signal | undefined);
      const said = () => (signal ? run.said[signal] : run.incidents.total);
      const firstHour = said();
      run.play(11 * FRAMES_PER_HOUR, what);
      return {
        fault,
        objects,
        'said in the first hour': firstHour,
        'said in 12 hours': said(),
        incidents: `${run.incidents}`,
        'alerting after 12 hours': signal ? run.watch.gauge(signal).active : run.watch.knows('timing'),
      };
    }),
  );
}

/** What is no fault and must not alarm in half an hour, and a region that is lost in a crowd, which must. */
function changes() {
  const half = FRAMES_PER_HOUR / 2;
  const count = (what: string, objects: number, options: Partial<TrafficOptions>, change: (run: Run) => void) => {
    const runs = Array.from({ length: 12 }, (_, n) => {
      const run = new Run({ seed: SEED + 300 + n, objects, ...options }).play(FRAMES_PER_HOUR);
      run.incidents = new Causes();
      change(run);
      return run.incidents;
    });
    const alarmed = runs.filter(({ total }) => total > 0);
    return { change: what, objects, runs: runs.length, 'runs that alarm': alarmed.length, causes: alarmed.join(' | ') };
  };
  const dense = { missShare: 0.28, lifeSeconds: 40 };
  return [5, 20]
    .flatMap((objects) => [
      ...[5, 20, 30].map((framesPerSecond) =>
        count(`${framesPerSecond} frames/s`, objects, {}, (run) => {
          run.scene.framesPerSecond = framesPerSecond;
          run.play((half * framesPerSecond) / 10);
        }),
      ),
      count('restart', objects, {}, (run) => {
        run.watch = SpikeDetector.fromJSON(JSON.parse(JSON.stringify(run.watch)), {}, PARAMS);
        run.watch.interrupt();
        run.play(half);
      }),
    ])
    .concat(count('a crowd loses a tenth of the picture', 53, dense, (run) => run.play(half, { blind: 0.1 })));
}

/** People on ways of their own, for a day each: what is said of trackers that are as they always were. */
function street() {
  return SIZES.filter((objects) => objects <= 20).flatMap((objects) =>
    Array.from({ length: DRAWS }, (_, n) => {
      const scene = new Street(SEED + n, objects);
      const of = { frames: DAYS * FRAMES_PER_DAY, framesPerSecond: STREET_FPS };
      const { started, incidents, pages } = playReal(() => scene.frame(), of);
      const row = { seed: SEED + n, objects, ...started, incidents: `${incidents}`, pages };
      console.log(JSON.stringify(row));
      return row;
    }),
  );
}

const TRACKERS = ['BoT-SORT-ReTrack-Botsort_baseline', 'DeepSORT-AxelBogos', 'Lif_T', 'MPNTrack'];
const SEQUENCES = ['02', '04', '05', '09', '10', '11', '13'].map((number) => `MOT17-${number}`);

/** Real trackers to and fro for half an hour, unchanged: alarms by signal. */
function real() {
  return TRACKERS.flatMap((tracker) =>
    SEQUENCES.flatMap((sequence) => {
      const frames = mot17(sequence, tracker);
      if (!frames) return [];
      const { started, incidents } = toAndFro(frames);
      const repeated = incidents.total > 1 || Object.values(started).some((count) => count > 1);
      const row = { tracker, sequence, ...started, incidents: `${incidents}`, repeated };
      console.log(JSON.stringify(row));
      return [row];
    }),
  );
}

function toAndFro(frames: Frame[]) {
  const back = [...frames].reverse();
  const period = 2 * frames.length;
  const frameAt = (n: number) => (n % period < frames.length ? frames : back)[n % frames.length];
  return playReal(frameAt, { frames: Math.ceil((30 * 1800) / frames.length) * frames.length, framesPerSecond: 30 });
}

/** What is said of frames that go through a real window. */
function playReal(frameAt: (n: number) => Frame, of: { frames: number; framesPerSecond: number }) {
  const params = { ...presets['online-surveillance'], windowFrames: 60 };
  const window = new SlidingWindow(params);
  const detector = new SpikeDetector({}, params);
  const incidents = new Causes();
  const started = Object.fromEntries(SIGNALS.map((signal) => [signal, 0])) as Record<Signal, number>;
  let [pages, missedSince] = [0, 0];
  for (let n = 0; n < of.frames; n++) {
    const seconds = n / of.framesPerSecond;
    window.push(frameAt(n));
    const news = detector.update(window, { k: n + 1, t: EPOCH + seconds });
    incidents.add(incidentsIn(news));
    for (const { phase, signal, certain } of spikesIn(news)) {
      if (phase === 'start') started[signal]++;
      if (phase === 'start' && signal === 'missed') missedSince = seconds;
      if (phase === 'end' && signal === 'missed' && certain && seconds - missedSince > PAGE_SECONDS) pages++;
    }
  }
  window.dispose();
  return { started, incidents, pages };
}

/** Faults on real sequences: frames to the first alarm, and what was diagnosed. */
function faults() {
  const rows = SEQUENCES.flatMap((sequence) => {
    for (const tracker of TRACKERS) {
      const healthy = playFault(mot17(sequence, tracker) ?? [], 0).said.map(
        ({ phase, at, message }) => `${phase} ${at}: ${message}`,
      );
      console.log(`${sequence} by ${tracker} without a fault: ${healthy.join('; ') || 'nothing'}`);
    }
    const frames = mot17(sequence, TRACKERS[0]);
    return frames ? faultRows(sequence, TRACKERS[0], frames) : [];
  });
  const named = [...new Set(rows.map(({ fault }) => fault))].map((fault) => {
    const own = rows.filter((row) => row.fault === fault);
    return {
      fault,
      of: own.length,
      found: own.filter((row) => row.alarm !== null).length,
      named: own.filter((row) => row.named).length,
    };
  });
  console.table(named);
  return rows;
}

const PARTS: Record<string, () => object[]> = { alarms: falseAlarms, delays, lasting, changes, street, real, faults };
const results: Record<string, object[]> = {};
for (const part of values.parts.split(',')) {
  results[part] = PARTS[part]();
  console.log(part);
  console.table(results[part]);
}
console.log(JSON.stringify({ benchmark: 'spikes', days: DAYS, trials: TRIALS, seed: SEED, ...results }));
