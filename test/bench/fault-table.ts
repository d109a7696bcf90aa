/**
 * The table of faults: trackers on real sequences, each given one fault after six tenths of the sequence. How many
 * frames until the first alarm, what was diagnosed, and how many frames that took; and what is said without a fault.
 */

import { type Frame, presets, SlidingWindow, SpikeDetector } from '../../src/index.js';
import type { IncidentNews } from '../../src/wire/incidents.js';
import { TRACKER_FAULTS, type TrackerFault } from '../kit/scenes/tracker-faults.js';

export interface FaultRow {
  fault: string;
  sequence: string;
  tracker: string;
  /** frames from the fault to the first alarm; null when there was none */
  alarm: number | null;
  /** alarms before the fault */
  before: number;
  diagnosis: string;
  named: boolean;
  /** frames from the fault to the diagnosis that stands */
  after: number | null;
  /** milliseconds of processor time of the longest update */
  slowestMs: number;
}

const FPS = 30;
const EPOCH = 1_763_251_200;
/** the fault lasts for half a minute; a sequence that is shorter goes back and forth */
const FAULT_FRAMES = 900;
/** frames after an alarm within which the diagnosis must stand */
const DIAGNOSIS_FRAMES = 240;

/** Plays a sequence; with a fault from frame `at` on. */
export function playFault(sequence: readonly Frame[], at: number, fault?: TrackerFault) {
  const frames = fault ? toAndFro(sequence, at + FAULT_FRAMES) : sequence;
  const params = { ...presets['online-surveillance'], windowFrames: 60 };
  const window = new SlidingWindow(params);
  const detector = new SpikeDetector({}, params);
  const said: IncidentNews[] = [];
  let slowestMs = 0;
  for (let n = 0; n < frames.length; n++) {
    const { reference } = frames[n];
    const tracker = fault && n >= at ? fault.tracks(frames, n, at) : frames[n].tracker;
    window.push({ reference, tracker });
    const began = process.cpuUsage();
    for (const news of detector.update(window, { k: n, t: EPOCH + n / FPS }))
      if (news.phase === 'diagnosis') said.push(news.incident);
    slowestMs = Math.max(slowestMs, process.cpuUsage(began).user / 1000);
  }
  window.dispose();
  return { said, slowestMs, open: detector.open };
}

function toAndFro(sequence: readonly Frame[], length: number): Frame[] {
  const back = sequence.toReversed();
  const frames: Frame[] = [];
  for (let pass = 0; frames.length < length; pass++) frames.push(...(pass % 2 === 0 ? sequence : back));
  return frames.slice(0, length);
}

export function faultRows(sequence: string, tracker: string, frames: readonly Frame[]): FaultRow[] {
  return Object.entries(TRACKER_FAULTS).map(([name, fault]) => {
    const at = Math.floor(frames.length * 0.6);
    const { said, slowestMs } = playFault(frames, at, fault);
    const [first] = said.filter((one) => one.at >= at && one.phase === 'start');
    const until = first ? Math.max(first.at, at) + DIAGNOSIS_FRAMES : at;
    const since = said.filter((one) => one.at >= at && one.at < until && one.id === first?.id);
    const last = since.findLast(({ phase }) => phase !== 'end');
    const settled = since.find(({ cause }) => cause === last?.cause);
    return {
      fault: name,
      sequence,
      tracker,
      alarm: first ? first.at - at : null,
      before: said.filter((one) => one.at < at && one.phase === 'start').length,
      diagnosis: last?.message ?? '',
      named: last !== undefined && fault.causes.includes(last.cause) && matches(last, fault),
      after: settled ? settled.at - at : null,
      slowestMs: Number(slowestMs.toFixed(1)),
    };
  });
}

const matches = ({ evidence }: IncidentNews, { evidence: wanted = {} }: TrackerFault) =>
  Object.entries(wanted).every(([key, value]) => evidence[key] === value);
