/**
 * What is looked for in the signals that are counted: the kinds of change, and what is believed about an unknown
 * tracker. Found by simulation (`npm run bench -- spikes`), with real trackers as the judge of what is no spike.
 */
import type { CountTraits, Rise } from './count-detector.js';

const RISES: Rise[] = [
  { factor: 3, weight: 0.25, caution: 1, young: 3, clustered: 1 },
  { factor: 10, weight: 0.55, caution: 1, young: 2.2, clustered: 0.5 },
  { factor: 100, weight: 0.2, caution: 1, young: 0.5, clustered: 0, stay: 0.1 },
  { factor: 100, weight: 0.2, caution: 1, young: 0, clustered: 0, stay: 0.1, atOnce: true },
];

/** Switches do not last; where objects meet there are many in seconds, which counts over minutes. */
const SWITCH_RISES: Rise[] = [
  { ...RISES[0], caution: 0.95 },
  { ...RISES[1], caution: 0.95, apart: true },
  { factor: 40, weight: 0.2, caution: 1, young: 1, clustered: 0, apart: true },
];

/** Objects have their own habits of being lost, and this signal wakes people. */
const MISSED_RISES: Rise[] = [
  { ...RISES[0], caution: 1.3, aged: 0.12 },
  { ...RISES[1], caution: 1.08, aged: 0.12 },
  RISES[2],
  RISES[3],
];

/** What comes in runs. Real ones last half a second to three; if believed shorter, one that lasts looks like many. */
const RUNS = { rises: RISES, end: { rate: 1, weight: 4, least: 0 }, levelRises: [1.6, 3] };

/** Per truth that was held, and second; newcomers that are not found in time, per newcomer. */
export const MISSED: CountTraits = {
  ...RUNS,
  rises: MISSED_RISES,
  per: 'object',
  begin: { rate: 0.1, weight: 20, least: 0.004 },
  newcomer: { rate: 0.1, weight: 10, least: 0.005 },
  level: { rate: 0.03, weight: 10, least: 0.002 },
  levelStepMin: 0.03,
};

/** Per second. */
export const FALSE: CountTraits = {
  ...RUNS,
  end: { rate: 1.4, weight: 3, least: 0 },
  per: 'scene',
  begin: { rate: 0.6, weight: 2, least: 0.02 },
  beginPerObject: { rate: 0.06, weight: 20, least: 0 },
  level: { rate: 0.3, weight: 4, least: 0.02 },
  levelStepMin: 0.3,
};

/** Per second. */
export const SWITCH: CountTraits = {
  per: 'scene',
  rises: SWITCH_RISES,
  begin: { rate: 0.3, weight: 2, least: 0.002 },
  beginPerObject: { rate: 0.03, weight: 20, least: 0 },
  level: { rate: 0.01, weight: 4, least: 0 },
  levelRises: [],
  levelStepMin: 0,
};
