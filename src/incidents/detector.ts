/**
 * The detector as a whole, in the library and in the live evaluator: each frame of a sliding window and its time go in;
 * spikes that start, change and end come out, and the diagnosis of what they are together, whenever the incident that
 * gathers them starts, changes or ends. Deterministic; `toJSON` gives everything it knows.
 */
import type { Glance } from '../metric/evaluation.js';
import type { Params } from '../metric/params.js';
import { type SpikeKeys, spikeSettings } from '../spikes/settings.js';
import type { Signal } from '../spikes/signals.js';
import { type SpikeGauge, type SpikeNews, type SpikeState, SpikeWatch } from '../spikes/watch.js';
import type { Evidence } from '../wire/findings.js';
import type { Diagnosis, Incident, IncidentNews, IncidentSignalName } from '../wire/incidents.js';
import { type IncidentContext, type IncidentTime, IncidentWatch, type IncidentWatchState } from './incident.js';

/** What the spikes of a series are put down to; `incident` says whether that starts, changes or ends. */
export interface DiagnosisNews extends Diagnosis {
  phase: 'diagnosis';
  /** of all signals together */
  signal: null;
  /** frame the trouble began with, and frame at which this was known */
  k: number;
  at: number;
  incident: IncidentNews;
}

export type DetectorNews = SpikeNews | DiagnosisNews;

/** Of the metric: errors have a size by exponent and cut-off; a diagnosis measures distances. */
export type DetectorParams = Pick<Params, 'distance' | 'exponent' | 'cutoff'>;

/** A sliding window, or what stands for one. */
export interface DetectorSource extends IncidentContext {
  glance(): Glance;
}

/** Everything a SpikeDetector knows. Plain JSON. */
export interface DetectorState {
  spikes?: SpikeState;
  incidents?: IncidentWatchState;
}

export class SpikeDetector {
  readonly #spikes: SpikeWatch;
  /** null where distances have no meaning: nothing is diagnosed */
  readonly #incidents: IncidentWatch | null;

  /** With an exponent and a cut-off alone it finds spikes, and diagnoses nothing. */
  constructor(settings: SpikeKeys, params: DetectorParams | number, cutoff = 1, state: DetectorState = {}) {
    const of = typeof params === 'number' ? { exponent: params, cutoff } : params;
    this.#spikes = SpikeWatch.fromJSON(state.spikes, settings, of.exponent, of.cutoff);
    const rules = spikeSettings(settings);
    this.#incidents = typeof params === 'number' ? null : new IncidentWatch(params, state.incidents, rules);
  }

  /** Adds the newest frame of a window; from a glance, spikes alone. `switched` names truths whose track changed. */
  update(source: DetectorSource, mark: IncidentTime, switched?: () => string[]): readonly DetectorNews[];
  update(source: Glance, mark: IncidentTime, switched?: () => string[]): readonly SpikeNews[];
  update(source: DetectorSource | Glance, mark: IncidentTime, switched?: () => string[]): readonly DetectorNews[] {
    if (!('glance' in source)) return this.#spikes.update(source, mark, switched);
    const spikes = this.#spikes.update(source.glance(), mark, switched);
    const incidents = this.#incidents?.update(spikes, mark, source);
    return incidents ? together(spikes, incidents) : spikes;
  }

  /** A frame of which nothing is proven: no spike is found by it, but a diagnosis that is under way goes on. */
  skip(source: DetectorSource, mark: IncidentTime): readonly DetectorNews[] {
    this.#spikes.interrupt();
    return together([], this.#incidents?.update([], mark, source) ?? []);
  }

  /** The next frame only says how things are: nothing is known of what was before it. */
  interrupt(): void {
    this.#spikes.interrupt();
  }

  /** The tracker is not heard, or is again. */
  silence(over: boolean, mark: IncidentTime): readonly DetectorNews[] {
    return together([], this.#incidents?.silence(over, mark) ?? []);
  }

  /** The feeds do not fit together, or do again. */
  finding(finding: string, evidence: Evidence, over: boolean, mark: IncidentTime): readonly DetectorNews[] {
    return together([], this.#incidents?.finding(finding, evidence, over, mark) ?? []);
  }

  /** Only these signals are watched from now on: spikes of others end. */
  keep(signals: readonly Signal[], mark: IncidentTime): readonly DetectorNews[] {
    if (signals.length === 0) return this.close(mark);
    const spikes = this.#spikes.close(mark.k, signals);
    return together(spikes, this.#incidents?.applyBetweenFrames(spikes, mark) ?? []);
  }

  /** The tracker is gone while its reference lives: what was wrong with it still is, and says so. */
  retire(mark: IncidentTime): readonly DetectorNews[] {
    return together(this.#spikes.retire(mark.k), this.#incidents?.retire(mark) ?? []);
  }

  /** Nobody watches any longer. */
  close(mark: IncidentTime): readonly DetectorNews[] {
    return together(this.#spikes.close(mark.k), this.#incidents?.close(mark) ?? []);
  }

  /** A spike that lasts, of a version that had no incidents: one gathers it without a word. */
  adopt(spike: SpikeNews, mark: IncidentTime): void {
    if (!this.#incidents?.knows(spike.signal))
      this.#incidents?.applyBetweenFrames([{ ...spike, phase: 'start' }], mark);
  }

  /** The incident that is open; null when there is none. */
  get open(): Incident | null {
    return this.#incidents?.open ?? null;
  }

  /** Whether a signal is part of the incident that is open. */
  knows(signal: IncidentSignalName): boolean {
    return this.#incidents?.knows(signal) ?? false;
  }

  /** A spike lasts. */
  get alarmed(): boolean {
    return this.#spikes.signals.some((signal) => this.#spikes.gauge(signal).active);
  }

  gauge(signal: Signal): SpikeGauge {
    return this.#spikes.gauge(signal);
  }

  get signals(): readonly Signal[] {
    return this.#spikes.signals;
  }

  toJSON(): DetectorState {
    return {
      spikes: this.#spikes.toJSON(),
      ...(this.#incidents ? { incidents: this.#incidents.toJSON() } : {}),
    };
  }

  /** Resumes exactly where `toJSON` was called; without a state it starts anew. */
  static fromJSON(
    state: DetectorState | undefined,
    settings: SpikeKeys,
    params: DetectorParams | number,
    cutoff?: number,
  ): SpikeDetector {
    return new SpikeDetector(settings, params, cutoff, state);
  }
}

const NONE: readonly DetectorNews[] = [];

function together(spikes: readonly SpikeNews[], incidents: readonly IncidentNews[]): readonly DetectorNews[] {
  if (incidents.length === 0) return spikes.length === 0 ? NONE : spikes;
  return [
    ...spikes,
    ...incidents.map((incident): DiagnosisNews => {
      const { cause, message, evidence, k, at } = incident;
      return { phase: 'diagnosis', signal: null, cause, message, evidence, k, at, incident };
    }),
  ];
}

/** What of it are spikes, and what incidents. */
export const spikesIn = (news: readonly DetectorNews[]): SpikeNews[] =>
  news.flatMap((one) => (one.phase === 'diagnosis' ? [] : [one]));
export const incidentsIn = (news: readonly DetectorNews[]): IncidentNews[] =>
  news.flatMap((one) => (one.phase === 'diagnosis' ? [one.incident] : []));
