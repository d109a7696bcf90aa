/**
 * Watches one series for incidents: spikes, silences and findings go in, and one incident that gathers them comes out
 * when it starts, changes and ends. It is diagnosed when it starts, whenever a signal joins, and at longer and longer
 * intervals, because a cause shows only after some frames. It ends when every signal is as usual again; what comes back
 * within minutes is the same incident. State is plain JSON; what is found does not depend on restarts.
 */
import type { FrameView } from '../metric/window/frame-view.js';
import { SPIKE_DEFAULTS, type SpikeSettings } from '../spikes/settings.js';
import type { FrameTime, SpikeNews } from '../spikes/watch.js';
import type { Evidence } from '../wire/findings.js';
import type {
  CauseName,
  Diagnosis,
  Incident,
  IncidentNews,
  IncidentReason,
  IncidentSignal,
  IncidentSignalName,
  Severity,
} from '../wire/incidents.js';
import { wordsOf } from './cause-words.js';
import { type Examination, examine, isDone, newExamination } from './diagnosis.js';
import { slightLag } from './motion.js';
import { IncidentScene, type SceneSettings } from './scene.js';
import { BACK_FRAMES, FIRST_LOOK, LOOKS_MAX } from './thresholds.js';
import { keepsPace, lookAfter, lookAt, NEW_TIMING, type Timing, usualLag } from './timing.js';

/** When a frame was; `atMs` is when it came, epoch milliseconds. */
export interface IncidentTime extends FrameTime {
  atMs?: number;
}

/** Where the frames of the window come from, when a diagnosis asks. */
export interface IncidentContext {
  frames(): readonly FrameView[];
  /** of truths, where they have one */
  classes?(): ReadonlyMap<string, string>;
}

/** Which signals make an incident critical, when one is the same again, how late is too late, and how sure that is. */
export type IncidentRules = Pick<
  SpikeSettings,
  'critical' | 'sameIncidentSeconds' | 'lateFrames' | 'falseAlarmSeconds'
>;

/** Everything an IncidentWatch knows. Plain JSON; its version stands in store/formats.ts. */
export interface IncidentWatchState {
  count: number;
  open: Open | null;
  /** the last one, while it may come back */
  last: Open | null;
  timing: Timing;
}

interface Open extends Incident {
  /** frames since it began, or since what joined it did; and at which of them it is looked at next */
  frames: number;
  nextLook: number;
  looks: number;
  /** how far it is being looked at; null while it is not */
  examination: Examination | null;
  /** when it ended, epoch milliseconds, and how many frames ago that was */
  endedMs: number;
  endedFrames: number;
}

const UNKNOWN: Diagnosis = { cause: 'unknown', message: wordsOf('unknown', {}), evidence: {} };
const SEVERITIES: readonly Severity[] = ['critical', 'warning', 'info'];
const LOWER: Record<Severity, Severity> = { critical: 'warning', warning: 'info', info: 'info' };
const NONE: IncidentNews[] = [];
const NEW_STATE: IncidentWatchState = {
  count: 0,
  open: null,
  last: null,
  timing: NEW_TIMING,
};
/** What a finding says of the cause; others are a matter of wiring. */
const CAUSE_OF_FINDING: Record<string, CauseName> = {
  box_order: 'box_order',
  axis_swapped: 'axis_swapped',
  units: 'scaled',
  normalized_boxes: 'scaled',
};

export class IncidentWatch {
  readonly #settings: SceneSettings;
  #state: IncidentWatchState;

  constructor(
    settings: SceneSettings,
    state: IncidentWatchState = NEW_STATE,
    private readonly rules: IncidentRules = SPIKE_DEFAULTS,
  ) {
    this.#settings = settings;
    this.#state = structuredClone(state);
  }

  /** The incident that is open; null when there is none. */
  get open(): Incident | null {
    return this.#state.open && incidentOf(this.#state.open);
  }

  /** Whether a signal is part of what is open. */
  knows(signal: IncidentSignalName): boolean {
    return this.#state.open?.signals.some((one) => one.signal === signal && !one.over) ?? false;
  }

  /** A frame, with the spikes that started, changed or ended with it. */
  update(spikes: readonly SpikeNews[], mark: IncidentTime, around: IncidentContext): IncidentNews[] {
    const { open, last } = this.#state;
    if (open) open.frames++;
    else if (last) this.#forget(last, mark);
    if (spikes.length > 0) return this.#gather(spikes, mark, around);
    // one thing with each frame
    const { timing } = this.#state;
    if (this.rules.lateFrames > 0 && ++timing.frames >= lookAfter(timing) && !open?.examination)
      return this.#lookForLag(mark, around);
    return open && this.#look(open, around) ? [this.#news('update', 'diagnosis', mark.k)] : NONE;
  }

  /** A slight delay is no spike of anything: it is looked for by itself, and joins what else is there. */
  #lookForLag(mark: IncidentTime, around: IncidentContext): IncidentNews[] {
    const { timing, open } = this.#state;
    const isUsualPace = keepsPace(timing, mark.t);
    timing.frames = 0;
    if (!isUsualPace) return NONE;
    const known = open?.signals.some(({ signal, over }) => signal === 'timing' && !over) ?? false;
    const seen = slightLag(this.#scene(around, Number.POSITIVE_INFINITY));
    if (!seen) return NONE;
    const { lateFrames, falseAlarmSeconds } = this.rules;
    // looks are seconds apart: a false alarm comes once in that many
    const frames = lookAt(timing, seen, { lateFrames, evidence: Math.log(falseAlarmSeconds) }, !open);
    if (known === (frames !== 0)) return NONE;
    const signal: IncidentSignal = { signal: 'timing', expected: 0, observed: frames, objects: [], over: frames === 0 };
    return this.#join(signal, mark, frames > 0 ? 'late' : 'early', frames === 0 ? {} : seen.evidence(frames));
  }

  #scene(around: IncidentContext, badFrames: number): IncidentScene {
    const usual = usualLag(this.#state.timing);
    return new IncidentScene(around.frames(), badFrames, this.#settings, around.classes?.(), usual);
  }

  /** What ended or changed without a frame: the series is over, its settings are others, its tracker is gone. */
  applyBetweenFrames(spikes: readonly SpikeNews[], mark: IncidentTime): IncidentNews[] {
    return spikes.length === 0 ? NONE : this.#gather(spikes, mark, null);
  }

  /** The tracker is gone while its reference lives: what was wrong with it still is. */
  retire(mark: IncidentTime): IncidentNews[] {
    const { open } = this.#state;
    if (!open || open.lasting === 'retired') return NONE;
    open.lasting = 'retired';
    open.examination = null;
    return [this.#news('update', 'retired', mark.k)];
  }

  /** Nobody watches any longer. */
  close(mark: IncidentTime): IncidentNews[] {
    const { open } = this.#state;
    if (!open) return NONE;
    for (const signal of open.signals) signal.over = true;
    return [this.#end(open, mark, 'closed')];
  }

  #gather(spikes: readonly SpikeNews[], mark: IncidentTime, around: IncidentContext | null): IncidentNews[] {
    const started = spikes.filter(({ phase }) => phase === 'start');
    const isNew = this.#state.open === null;
    if (isNew && started.length === 0) return NONE;
    const open = this.#state.open ?? this.#start(started[0], mark);
    for (const spike of spikes) put(open.signals, signalOf(spike, open));
    if (started.length > 0 && around) {
      this.#lookAnew(open, started, mark, around.frames().length);
      this.#look(open, around);
    }
    if (spikes.some(({ reason }) => reason === 'retired')) open.lasting = 'retired';
    else if (started.length > 0 || open.lasting !== 'retired') open.lasting = isAdopted(open) ? 'adopted' : null;
    return this.#told(open, mark, isNew, spikes);
  }

  /** What joins may have another cause: frames before it are not part of that, where the window shows no others. */
  #lookAnew(open: Open, started: readonly SpikeNews[], { k }: IncidentTime, windowFrames: number): void {
    if (open.frames > windowFrames) open.frames = framesSince(started, k);
    open.nextLook = open.frames + FIRST_LOOK;
    open.looks = 0;
    open.examination = newExamination();
  }

  /** What is said of it now, if anything: that it is new, over, or in which respect it has changed. */
  #told(open: Open, mark: IncidentTime, isNew: boolean, spikes: readonly SpikeNews[]): IncidentNews[] {
    if (isNew) return [this.#news('start', 'signals', mark.k)];
    if (open.signals.every(({ over }) => over)) {
      const closed = spikes.some(({ reason }) => reason === 'closed');
      return [this.#end(open, mark, closed ? 'closed' : 'recovered')];
    }
    const [told] = spikes.filter(({ phase }) => phase !== 'end');
    if (!told) return this.#relieved(open, mark);
    const { phase, reason } = told;
    const own = phase === 'start' || reason === undefined || reason === 'closed' || reason === 'certain';
    return [this.#news('update', own ? 'signals' : reason, mark.k)];
  }

  /** The worst of it is over: what wakes people must not stay for the rest. */
  #relieved(open: Open, { k }: IncidentTime): IncidentNews[] {
    return this.#severityOf(open) === open.severity ? NONE : [this.#news('update', 'signals', k)];
  }

  /** The tracker is not heard, or is again. */
  silence(over: boolean, mark: IncidentTime): IncidentNews[] {
    const signal: IncidentSignal = { signal: 'silence', expected: 0, observed: 1, objects: [], over };
    return this.#join(signal, mark, 'silent', {});
  }

  /** The feeds do not fit together, or do again. */
  finding(finding: string, evidence: Evidence, over: boolean, mark: IncidentTime): IncidentNews[] {
    const offset = finding === 'frame_offset' ? Number(evidence.frames) : 0;
    const cause = offset > 0 ? 'late' : offset < 0 ? 'early' : (CAUSE_OF_FINDING[finding] ?? 'miswired');
    const signal: IncidentSignal = { signal: 'wiring', expected: 0, observed: 1, objects: [], finding, over };
    return this.#join(signal, mark, cause, { ...evidence, finding });
  }

  #join(signal: IncidentSignal, mark: IncidentTime, cause: CauseName, evidence: Evidence): IncidentNews[] {
    const known = this.#state.open?.signals.find((one) => one.signal === signal.signal);
    if (signal.over && (!known || known.over)) return NONE;
    const isNew = this.#state.open === null;
    const open = this.#state.open ?? this.#start(mark, mark);
    put(open.signals, signal);
    if (!signal.over && open.cause === 'unknown')
      Object.assign(open, { cause, message: wordsOf(cause, evidence), evidence });
    if (isNew) return [this.#news('start', 'signals', mark.k)];
    if (open.signals.every(({ over }) => over)) return [this.#end(open, mark, 'recovered')];
    if (signal.over) return this.#relieved(open, mark);
    return known && !known.over ? NONE : [this.#news('update', 'signals', mark.k)];
  }

  #start({ k, since }: Pick<SpikeNews, 'k' | 'since'>, mark: IncidentTime): Open {
    const { last } = this.#state;
    const open: Open = {
      ...UNKNOWN,
      id: last?.id ?? ++this.#state.count,
      times: (last?.times ?? 0) + 1,
      k,
      at: mark.k,
      sinceMs: last?.sinceMs ?? (since === undefined ? timeOf(mark) : since * 1000),
      severity: 'warning',
      lasting: null,
      signals: [],
      frames: framesSince([{ k }], mark.k),
      nextLook: 0,
      looks: 0,
      examination: null,
      endedMs: 0,
      endedFrames: 0,
    };
    open.nextLook = open.frames + FIRST_LOOK;
    this.#state.open = open;
    this.#state.last = null;
    return open;
  }

  /** Looks for the cause, a stage with each frame; true when another one is likelier than what was known. */
  #look(open: Open, around: IncidentContext): boolean {
    if (!open.examination && open.frames >= open.nextLook && !open.lasting) this.#lookAgain(open);
    const { examination } = open;
    if (!examination) return false;
    const scene = this.#scene(around, open.frames);
    const signals = open.signals.flatMap(({ signal, over }) => (over ? [] : [signal]));
    const found = examine(scene, signals, examination);
    if (isDone(examination)) open.examination = null;
    // what has left the window was not wrong
    if (!found) return false;
    const changed = found.cause !== open.cause || (isOff(found) && found.evidence.frames !== open.evidence.frames);
    Object.assign(open, found);
    return changed;
  }

  #lookAgain(open: Open): void {
    open.nextLook = open.frames + Math.max(FIRST_LOOK, open.frames);
    if (++open.looks <= LOOKS_MAX || open.cause === 'unknown') open.examination = newExamination();
  }

  #news(phase: IncidentNews['phase'], reason: IncidentReason, at: number): IncidentNews {
    const open = this.#state.open!;
    open.at = at;
    if (phase !== 'end') open.severity = this.#severityOf(open);
    return { phase, reason, ...incidentOf(open) };
  }

  /** That of its worst signal; one that is learned as usual by now wakes nobody for what joins it. */
  #severityOf({ signals, lasting }: Open): Severity {
    const each = signals.flatMap((one) => (one.over ? [] : [this.#urgencyOf(one, lasting === 'retired')]));
    return SEVERITIES.find((severity) => each.includes(severity)) ?? 'info';
  }

  #urgencyOf({ signal, certain, expectedNow }: IncidentSignal, retired: boolean): Severity {
    const own = certain !== false && this.rules.critical.includes(signal) ? 'critical' : 'warning';
    return retired || expectedNow !== undefined ? LOWER[own] : own;
  }

  #end(open: Open, mark: IncidentTime, reason: IncidentReason): IncidentNews {
    const news = this.#news('end', reason, mark.k);
    this.#state.open = null;
    this.#state.last = { ...open, endedFrames: 0, endedMs: timeOf(mark) };
    return news;
  }

  /** After some minutes what comes is another incident. */
  #forget(last: Open, mark: IncidentTime): void {
    last.endedFrames++;
    if (last.endedFrames > BACK_FRAMES || timeOf(mark) - last.endedMs > 1000 * this.rules.sameIncidentSeconds)
      this.#state.last = null;
  }

  toJSON(): IncidentWatchState {
    return structuredClone(this.#state);
  }
}

/** Epoch milliseconds: as the frame says, or else as it came; 0 when nobody knows. */
const timeOf = ({ t, atMs = 0 }: IncidentTime) => (t === undefined ? atMs : t * 1000);

/** How many frames there are from the first of what began up to frame `at`. */
const framesSince = (began: ReadonlyArray<{ k: number }>, at: number): number =>
  Math.max(1, at - Math.min(...began.map(({ k }) => k)) + 1);

/** All that is still wrong is learned as usual by now. */
const isAdopted = ({ signals }: Incident): boolean =>
  signals.some(({ over }) => !over) && signals.every(({ over, expectedNow }) => over || expectedNow !== undefined);

/** By how much a tracker is late is what matters of it. */
const isOff = ({ cause }: Diagnosis) => cause === 'late' || cause === 'early';

/** Without what only the watch needs. */
function incidentOf(open: Open): Incident {
  const { cause, message, evidence, id, times, k, at, sinceMs, severity, lasting, signals } = open;
  const own = signals.map((one) => ({ ...one }));
  return { id, times, k, at, sinceMs, severity, lasting, cause, message, evidence, signals: own };
}

function put(signals: IncidentSignal[], signal: IncidentSignal): void {
  const at = signals.findIndex((one) => one.signal === signal.signal);
  if (at < 0) signals.push(signal);
  else signals[at] = signal;
}

/** What an incident keeps of a spike: what was usual when it began stands beside what is usual by now. */
function signalOf(
  { phase, signal, expected, observed, concerned, of, objects, certain, reason }: SpikeNews,
  open: Open,
): IncidentSignal {
  const known = open.signals.find((one) => one.signal === signal && phase !== 'start');
  return {
    signal,
    expected: known?.expected ?? expected,
    observed,
    ...(reason === 'adopted' || known?.expectedNow !== undefined ? { expectedNow: expected } : {}),
    ...(concerned === undefined ? {} : { concerned }),
    ...(of === undefined ? {} : { of }),
    objects,
    certain,
    over: phase === 'end',
  };
}
