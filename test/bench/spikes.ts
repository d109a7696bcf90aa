/**
 * `npm run bench -- spikes [--days N] [--trials M] [--seed S]`: how soon the spike detector finds a change, and how
 * often it cries wolf, beside an oracle: a CUSUM that knows the rates before and after, with a threshold that gives it
 * one false alarm a day on as many days. Delays are in frames; 1 means that the first bad frame raised the alarm.
 * Prints a table, and as the last line everything as JSON.
 */
import { parseArgs } from 'node:util';
import { ErrorDetector, errorDetectorSize } from '../../src/spikes/error-detector.js';
import { type RunCounts, RunDetector, type RunTraits, runDetectorSize } from '../../src/spikes/run-detector.js';
import { FALSE, MISSED, SWITCH } from '../../src/spikes/signals.js';
import { type CountScene, ErrorScene, FRAMES_PER_DAY, MissScene, RateScene, startOf } from './spike-scene.js';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '20' },
    trials: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
  },
});
const DAYS = Number(values.days);
const TRIALS = Number(values.trials);
const SEED = Number(values.seed);
/** The settings as they are without a configuration. */
const SETTINGS = { falseAlarmFrames: 5_184_000, learnFrames: 150, memoryFrames: 36_000 };
/** What is usual is learned for so long before each change: ten minutes. */
const WARM_FRAMES = 18_000;
const MOST_FRAMES = 3000;

interface Delay {
  mean: number;
  /** 99 of 100 are not slower */
  late: number;
}

interface Row {
  signal: string;
  change: string;
  falseAlarmsPerDay: number;
  ours: Delay;
  oracle: Delay | null;
}

/** What both kinds of detector have. */
interface Subject {
  detector: { readonly alarming: boolean; reset(): void };
  /** one frame further */
  step(k: number): void;
  learn(): void;
  /** log likelihood ratio of the last frame, for one who knows both rates */
  oracle?(): number;
  break(): void;
}

interface Case {
  signal: string;
  change: string;
  subject(seed: number): Subject;
}

const binomial = (hits: number, of: number, usual: number, bad: number) =>
  hits * Math.log(bad / usual) + (of - hits) * Math.log((1 - bad) / (1 - usual));
const poisson = (hits: number, usual: number, bad: number) => hits * Math.log(bad / usual) - (bad - usual);

function counting(traits: RunTraits, scene: CountScene, oracle: (counts: RunCounts) => number): Subject {
  const detector = new RunDetector(traits, new Float64Array(runDetectorSize(traits)), SETTINGS);
  let counts: RunCounts;
  return {
    detector,
    step(k) {
      counts = scene.step();
      detector.update(counts, k);
    },
    learn: () => detector.learn(counts),
    oracle: () => oracle(counts),
    break: () => scene.break(),
  };
}

function measuring(scene: ErrorScene): Subject {
  const detector = new ErrorDetector(new Float64Array(errorDetectorSize()), SETTINGS);
  return {
    detector,
    step: (k) => detector.update(scene.step(), scene.pairs, k),
    learn: () => detector.learn(),
    break: () => scene.break(),
  };
}

const begins = ({ begun, exposed }: RunCounts) => binomial(begun, exposed, startOf(0.02), startOf(0.3));

const CASES: Case[] = [
  {
    signal: 'missed',
    change: '2 % to 30 %, by more runs',
    subject: (seed) => counting(MISSED, new MissScene(seed, 'runs'), begins),
  },
  {
    signal: 'missed',
    change: '30 % lost at once',
    subject: (seed) => counting(MISSED, new MissScene(seed, 'atOnce'), begins),
  },
  {
    signal: 'false',
    change: '0.02 to 0.4 arriving',
    subject: (seed) => counting(FALSE, new RateScene(seed, 0.02, 0.4, 20), ({ begun }) => poisson(begun, 0.02, 0.4)),
  },
  {
    signal: 'switch',
    change: '0.01 to 0.1',
    subject: (seed) => counting(SWITCH, new RateScene(seed, 0.01, 0.1, 0), ({ begun }) => poisson(begun, 0.01, 0.1)),
  },
  { signal: 'localization', change: 'up by half', subject: (seed) => measuring(new ErrorScene(seed)) },
];

/** Days on which nothing changes: alarms of ours per day, and the threshold at which the oracle has one. */
function stationary({ subject }: Case): { alarms: number; threshold: number } {
  const one = subject(SEED);
  const peaks: number[] = [];
  let [alarms, sum, peak] = [0, 0, 0];
  for (let n = 0; n < DAYS * FRAMES_PER_DAY; n++) {
    one.step(n);
    if (one.detector.alarming) {
      alarms++;
      one.detector.reset();
    } else one.learn();
    if (!one.oracle) continue;
    // the peak between two returns to 0 is what a threshold would have had to exceed
    sum += one.oracle();
    if (sum > peak) peak = sum;
    if (sum > 0) continue;
    if (peak > 4) peaks.push(peak);
    sum = peak = 0;
  }
  peaks.sort((a, b) => b - a);
  return { alarms: alarms / DAYS, threshold: peaks[Math.min(peaks.length - 1, DAYS)] };
}

/** One change: how long ours and the oracle took. */
function delaysOf(one: Subject, threshold: number): [ours: number, oracle: number] {
  let sum = 0;
  for (let n = 0; n < WARM_FRAMES; n++) {
    one.step(n);
    if (one.detector.alarming) one.detector.reset();
    else one.learn();
    if (!one.oracle) continue;
    sum = Math.max(0, sum + one.oracle());
    if (sum > threshold) sum = 0;
  }
  one.break();
  let [ours, oracle] = [0, one.oracle ? 0 : 1];
  for (let n = 1; n <= MOST_FRAMES && !(ours && oracle); n++) {
    one.step(WARM_FRAMES + n);
    if (one.detector.alarming) ours ||= n;
    else if (!ours) one.learn();
    if (!one.oracle) continue;
    sum = Math.max(0, sum + one.oracle());
    if (sum > threshold) oracle ||= n;
  }
  return [ours || MOST_FRAMES, oracle || MOST_FRAMES];
}

function summary(delays: number[]): Delay {
  const sorted = delays.sort((a, b) => a - b);
  return { mean: sorted.reduce((a, b) => a + b, 0) / sorted.length, late: sorted[Math.ceil(0.99 * sorted.length) - 1] };
}

function measure(one: Case): Row {
  const { alarms, threshold } = stationary(one);
  const pairs = Array.from({ length: TRIALS }, (_, n) => delaysOf(one.subject(SEED + 1000 + n), threshold));
  const hasOracle = one.signal !== 'localization';
  return {
    signal: one.signal,
    change: one.change,
    falseAlarmsPerDay: alarms,
    ours: summary(pairs.map(([ours]) => ours)),
    oracle: hasOracle ? summary(pairs.map(([, oracle]) => oracle)) : null,
  };
}

const rows = CASES.map(measure);
const shown = ({ mean, late }: Delay) => `${mean.toFixed(1)} / ${late}`;
console.log(
  `20 objects, 30 frames/s; ${DAYS} stationary days, ${TRIALS} changes each, seed ${SEED}; delays in frames, mean / 99 %`,
);
console.table(
  rows.map(({ signal, change, falseAlarmsPerDay, ours, oracle }) => ({
    signal,
    change,
    'false alarms a day': falseAlarmsPerDay,
    ours: shown(ours),
    oracle: oracle ? shown(oracle) : 'at most 30',
    ratio: oracle ? `${(ours.mean / oracle.mean).toFixed(2)} / ${(ours.late / oracle.late).toFixed(2)}` : '',
  })),
);
console.log(JSON.stringify({ benchmark: 'spikes', days: DAYS, trials: TRIALS, seed: SEED, rows }));
