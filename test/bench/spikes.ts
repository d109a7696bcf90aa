/**
 * `npm run bench -- spikes [--days N] [--trials M] [--seed S]`: how soon the spike detector finds a change, and how often it cries wolf, beside
 * an oracle: a CUSUM that knows the rates before and after and whose threshold is set, on the same days, to one false alarm a day.
 * Delays are counted in frames, 1 when the first bad frame gives the alarm.
 */
import { parseArgs } from 'node:util';
import { ErrorDetector, errorDetectorSize } from '../../src/spikes/error-detector.js';
import { RunDetector, type RunCounts, type RunTraits, runDetectorSize } from '../../src/spikes/run-detector.js';
import { FALSE, MISSED, SWITCH } from '../../src/spikes/signals.js';
import { type CountScene, ErrorScene, FRAMES_PER_DAY, MissScene, RateScene, startOf } from './spike-scene.js';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '20' },
    trials: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const DAYS = Number(values.days);
const TRIALS = Number(values.trials);
const SEED = Number(values.seed);
/** learned before a change: two minutes at the least, or the trials measure the learning */
const WARM_FRAMES = 36_000;
const MOST_FRAMES = 3000;
const SETTINGS = { falseAlarmFrames: 5_184_000, learnFrames: 150, memoryFrames: 36_000 };

interface Case {
  signal: string;
  name: string;
  issue: [mean: number, late: number] | null;
  traits: RunTraits;
  scene(seed: number): CountScene;
  /** log likelihood ratio of a frame, both rates known */
  oracle(counts: RunCounts): number;
}

const binomial = (hits: number, of: number, usual: number, bad: number) =>
  hits * Math.log(bad / usual) + (of - hits) * Math.log((1 - bad) / (1 - usual));
const poisson = (hits: number, usual: number, bad: number) => hits * Math.log(bad / usual) - (bad - usual);

const CASES: Case[] = [
  {
    signal: 'missed',
    name: '2 % to 30 %, more runs',
    issue: [5.5, 13],
    traits: MISSED,
    scene: (seed) => new MissScene(seed, 'runs'),
    oracle: ({ begun, exposed }) => binomial(begun, exposed, startOf(0.02), startOf(0.3)),
  },
  {
    signal: 'missed',
    name: '30 % lost at once',
    issue: [1.5, 7],
    traits: MISSED,
    scene: (seed) => new MissScene(seed, 'atOnce'),
    oracle: ({ begun, exposed }) => binomial(begun, exposed, startOf(0.02), startOf(0.3)),
  },
  {
    signal: 'false',
    name: '0.02 to 0.4 arriving',
    issue: [16, 44],
    traits: FALSE,
    scene: (seed) => new RateScene(seed, 0.02, 0.4, 20),
    oracle: ({ begun }) => poisson(begun, 0.02, 0.4),
  },
  {
    signal: 'switch',
    name: '0.01 to 0.1',
    issue: [81, 226],
    traits: SWITCH,
    scene: (seed) => new RateScene(seed, 0.01, 0.1, 0),
    oracle: ({ begun }) => poisson(begun, 0.01, 0.1),
  },
];

/** Peaks of a CUSUM between two returns to 0: what a threshold is chosen from. */
function oracleThreshold({ scene, oracle }: Case): number {
  const peaks: number[] = [];
  const stationary = scene(SEED);
  let sum = 0;
  let peak = 0;
  for (let n = 0; n < DAYS * FRAMES_PER_DAY; n++) {
    sum += oracle(stationary.step());
    if (sum > peak) peak = sum;
    if (sum > 0) continue;
    if (peak > 5) peaks.push(peak);
    sum = peak = 0;
  }
  peaks.sort((a, b) => b - a);
  return peaks[Math.min(peaks.length - 1, DAYS)] + 1e-9;
}

function falseAlarms({ scene, traits }: Case): number {
  const detector = new RunDetector(traits, new Float64Array(runDetectorSize(traits)), SETTINGS);
  const stationary = scene(SEED + 1);
  let alarms = 0;
  for (let n = 0; n < DAYS * FRAMES_PER_DAY; n++) {
    const counts = stationary.step();
    detector.update(counts, n);
    if (detector.score >= 1) {
      alarms++;
      detector.reset();
    } else detector.learn(counts);
  }
  return alarms / DAYS;
}

/** Delays of both over many changes; the detector has learned `WARM_FRAMES` before each. */
function delays({ scene, traits, oracle }: Case, threshold: number) {
  const learned = new Float64Array(runDetectorSize(traits));
  const detector = { ours: new Int32Array(TRIALS), oracle: new Int32Array(TRIALS) };
  for (let trial = 0; trial < TRIALS; trial++) {
    const state = learned.slice();
    const ours = new RunDetector(traits, state, SETTINGS);
    const run = scene(SEED + 1000 + trial);
    let sum = 0;
    for (let n = 0; n < WARM_FRAMES; n++) {
      const counts = run.step();
      sum = Math.max(0, sum + oracle(counts));
      ours.update(counts, n);
      if (ours.score >= 1) ours.reset();
      else ours.learn(counts);
    }
    run.break();
    let [mine, theirs] = [0, 0];
    if (sum >= threshold) sum = 0;
    for (let n = 1; n <= MOST_FRAMES && !(mine && theirs); n++) {
      const counts = run.step();
      sum = Math.max(0, sum + oracle(counts));
      if (sum >= threshold) theirs ||= n;
      ours.update(counts, n);
      if (ours.score >= 1) mine ||= n;
      else ours.learn(counts);
    }
    detector.ours[trial] = mine || MOST_FRAMES;
    detector.oracle[trial] = theirs || MOST_FRAMES;
  }
  return { ours: summary(detector.ours), oracle: summary(detector.oracle) };
}

function summary(list: Int32Array): { mean: number; late: number } {
  const sorted = list.slice().sort();
  return { mean: sorted.reduce((a, b) => a + b, 0) / sorted.length, late: sorted[Math.ceil(0.99 * sorted.length) - 1] };
}

function localization() {
  const update = (detector: ErrorDetector, scene: ErrorScene, n: number) => {
    const error = scene.step();
    detector.update(error, scene.pairs, n);
  };
  const detector = new ErrorDetector(new Float64Array(errorDetectorSize()), SETTINGS);
  const stationary = new ErrorScene(SEED);
  let alarms = 0;
  for (let n = 0; n < DAYS * FRAMES_PER_DAY; n++) {
    update(detector, stationary, n);
    if (detector.score >= 1) {
      alarms++;
      detector.reset();
    } else detector.learn();
  }
  const list = new Int32Array(TRIALS);
  for (let trial = 0; trial < TRIALS; trial++) {
    const ours = new ErrorDetector(new Float64Array(errorDetectorSize()), SETTINGS);
    const scene = new ErrorScene(SEED + 1000 + trial);
    for (let n = 0; n < 3000; n++) {
      update(ours, scene, n);
      if (ours.score >= 1) ours.reset();
      else ours.learn();
    }
    scene.break();
    for (let n = 1; n <= MOST_FRAMES && !list[trial]; n++) {
      update(ours, scene, n);
      if (ours.score >= 1) list[trial] = n;
      else ours.learn();
    }
    list[trial] ||= MOST_FRAMES;
  }
  return { alarms: alarms / DAYS, ...summary(list) };
}

for (const one of CASES) {
  if (values.only && !one.signal.startsWith(values.only)) continue;
  const began = performance.now();
  const threshold = oracleThreshold(one);
  const t1 = performance.now();
  const alarms = falseAlarms(one);
  const t2 = performance.now();
  const { ours, oracle } = delays(one, threshold);
  console.log(one.signal, one.name, 'h', threshold.toFixed(1), 'oracle', oracle, 'ours', ours, 'ratio', (ours.mean / oracle.mean).toFixed(2), (ours.late / oracle.late).toFixed(2), 'fa/day', alarms, 'ms', (t1-began)|0, (t2-t1)|0, (performance.now()-t2)|0);
}
if (!values.only || values.only === 'loc') console.log('localization', localization());
