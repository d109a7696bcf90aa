/**
 * The four signals, and what is looked for in each: the kinds of change with their weights, and what is believed about
 * an unknown tracker. Found by simulation (`npm run bench -- spikes`), with real trackers as the judge of what must not
 * be a spike.
 */
import type { RunTraits } from './run-detector.js';

export const SIGNALS = ['missed', 'false', 'switch', 'localization'] as const;
export type Signal = (typeof SIGNALS)[number];

export const MISSED: RunTraits = {
  per: 'object',
  changes: [
    { weight: 0.15, rise: 4, stay: 0.5 },
    { weight: 0.2, rise: 10 },
    { weight: 0.35, rise: 22 },
    { weight: 0.3, rise: 1, burst: 100, stay: 0.1 },
  ],
  begin: { rate: 0.005, weight: 400, least: 0.0005 },
  end: { rate: 0.1, weight: 20, least: 0 },
  level: { rate: 0.02, weight: 100, least: 0 },
};

export const FALSE: RunTraits = {
  per: 'frame',
  changes: [
    { weight: 0.15, rise: 4, stay: 0.5 },
    { weight: 0.25, rise: 10 },
    { weight: 0.4, rise: 22 },
    { weight: 0.2, rise: 1, burst: 100, stay: 0.1 },
  ],
  begin: { rate: 0.02, weight: 100, least: 0.004 },
  beginPerObject: { rate: 0.002, weight: 1000, least: 0 },
  end: { rate: 0.1, weight: 20, least: 0 },
  level: { rate: 0.02, weight: 100, least: 0 },
};

export const SWITCH: RunTraits = {
  per: 'frame',
  changes: [
    { weight: 0.25, rise: 4 },
    { weight: 0.5, rise: 10 },
    { weight: 0.25, rise: 25 },
  ],
  begin: { rate: 0.01, weight: 100, least: 0.001 },
  beginPerObject: { rate: 0.001, weight: 1000, least: 0 },
  end: { rate: 0.1, weight: 1, least: 0 },
  level: { rate: 0.01, weight: 100, least: 0 },
};

/** Frames over which what is observed is smoothed; switches are rare and need more. */
export const SMOOTH_FRAMES: Record<Signal, number> = { missed: 30, false: 30, switch: 150, localization: 30 };
