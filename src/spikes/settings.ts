/**
 * How the spike detector is set: times are seconds, because cameras change their frame rate. Versions before counted
 * frames, at 30 a second; what they stored, or what a configuration still says so, is read here.
 */
import { type INCIDENT_SIGNALS, SIGNALS, type Signal } from './signals.js';

/** What a stream promises, whatever is usual for it; null: nothing. */
export interface Objective {
  /** share of the truths that may be missed */
  missRatio: number | null;
  falsePerMinute: number | null;
  switchesPerObjectHour: number | null;
}

export interface SpikeSettings {
  signals: Signal[];
  /** mean time between two false alarms of a signal, at least */
  falseAlarmSeconds: number;
  /** nothing is compared with what is usual before a series is so old */
  learnSeconds: number;
  memorySeconds: number;
  /** what is usual is learned from what is so old, unless it was part of an alarm */
  holdSeconds: number;
  calmSeconds: number;
  adoptSeconds: number;
  /** more missed than found, or nothing matched at all, for so long is a spike, usual or not */
  floorSeconds: number;
  /** a newcomer should have been found after so long, and a track gone so long after its truth */
  newcomerSeconds: number;
  tailSeconds: number;
  /** of a younger series, bursts that pass by themselves are learned and not told */
  youngSeconds: number;
  /** signals that make an incident critical; that a spike of them is beyond doubt is news */
  critical: Array<(typeof INCIDENT_SIGNALS)[number]>;
  /** what comes back within so long is the same incident */
  sameIncidentSeconds: number;
  /** tracks that are late by so many frames are an incident, without a spike; 0: that is not looked for */
  lateFrames: number;
  objectsMax: number;
  objective: Objective;
}

/** Keys of versions before. */
interface InFrames {
  falseAlarmFrames?: number | null;
  learnFrames?: number | null;
  memoryFrames?: number | null;
  calmFrames?: number | null;
  adoptFrames?: number | null;
}

export type SpikeKeys = Partial<Omit<SpikeSettings, 'objective'>> & InFrames & { objective?: Partial<Objective> };

export const SPIKE_DEFAULTS: SpikeSettings = {
  signals: [...SIGNALS],
  falseAlarmSeconds: 172_800,
  learnSeconds: 5,
  memorySeconds: 1800,
  holdSeconds: 120,
  calmSeconds: 30,
  adoptSeconds: 3600,
  floorSeconds: 60,
  newcomerSeconds: 3,
  tailSeconds: 1,
  youngSeconds: 900,
  critical: ['missed', 'silence', 'wiring'],
  sameIncidentSeconds: 600,
  lateFrames: 1,
  objectsMax: 20,
  objective: { missRatio: null, falsePerMinute: null, switchesPerObjectHour: null },
};

const FRAMES_PER_SECOND = 30;

/** Every setting, in seconds; a key in frames that is given counts. */
export function spikeSettings(keys: SpikeKeys): SpikeSettings {
  const { falseAlarmFrames, learnFrames, memoryFrames, calmFrames, adoptFrames, ...own } = keys;
  const seconds = (frames: number | null | undefined, key: keyof SpikeSettings) =>
    frames === undefined || frames === null ? {} : { [key]: frames / FRAMES_PER_SECOND };
  return {
    ...SPIKE_DEFAULTS,
    ...own,
    ...seconds(falseAlarmFrames, 'falseAlarmSeconds'),
    ...seconds(learnFrames, 'learnSeconds'),
    ...seconds(memoryFrames, 'memorySeconds'),
    ...seconds(calmFrames, 'calmSeconds'),
    ...seconds(adoptFrames, 'adoptSeconds'),
    objective: { ...SPIKE_DEFAULTS.objective, ...own.objective },
  };
}
