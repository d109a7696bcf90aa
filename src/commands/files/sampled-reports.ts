/**
 * Files whose objects are reported one by one, each at its own time: as frames at the times of the other file, or on a
 * grid where both report. Where everybody is then is read from trajectories, as live; who cannot be known is unclear
 * and not judged, nor is the track that is close. Times before the first and after the last report are left out.
 */
import type { Part } from '../../../adapters/kit/adapter.js';
import type { Recording } from '../../../adapters/kit/recording.js';
import { InputError } from '../../metric/input-error.js';
import { Trajectories } from '../../trajectories/trajectories.js';
import { type ObjectReport, packReports, unpack, type WireObject } from '../../wire/objects.js';

export interface SamplingRules {
  /** milliseconds between two reports beyond which nothing is known in between */
  greatestGapMs: number;
  /** between two steps of a grid; null: the median time between two reports of an object, of the slower file */
  gridMs: number | null;
  onEarth: boolean;
}

export interface SampledPair {
  reference: Recording;
  tracker: Recording;
  /** by time, truths that may be there */
  unclear: Map<number, WireObject[]>;
  notes: string[];
}

export const isReporting = ({ parts }: Recording): boolean => parts.some(({ reports }) => reports);

export function sampleReports(reference: Recording, tracker: Recording, rules: SamplingRules): SampledPair {
  const [truths, tracks] = [reference, tracker].map((one) => (isReporting(one) ? new Reporter(one, rules) : null));
  const all = timesOf(reference, tracker, truths, tracks, rules);
  const reporters = [truths, tracks].flatMap((one) => one ?? []);
  const times = all.filter((t) => reporters.every(({ firstS, lastS }) => t >= firstS && t <= lastS));
  const notes = reporters.map(({ file }) => `${file}: reports, read at ${times.length} times`);
  if (times.length < all.length)
    notes.push(`${all.length - times.length} moments are left out: before the first or after the last report`);
  const unclear = new Map<number, WireObject[]>();
  return {
    reference: truths ? { ...reference, parts: truths.at(times, unclear) } : only(reference, times),
    tracker: tracks ? { ...tracker, parts: tracks.at(times) } : only(tracker, times),
    unclear,
    notes,
  };
}

function only(recording: Recording, times: readonly number[]): Recording {
  const kept = new Set(times);
  return { ...recording, parts: recording.parts.filter(({ t }) => kept.has(t!)) };
}

function timesOf(
  reference: Recording,
  tracker: Recording,
  truths: Reporter | null,
  tracks: Reporter | null,
  { gridMs }: SamplingRules,
): number[] {
  if (!tracks) return framesOf(tracker);
  if (!truths) return framesOf(reference);
  const step = (gridMs ?? Math.max(truths.medianMs, tracks.medianMs)) / 1000;
  const first = Math.ceil(Math.max(truths.firstS, tracks.firstS) / step);
  const last = Math.floor(Math.min(truths.lastS, tracks.lastS) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => (first + n) * step);
}

function framesOf({ file, parts }: Recording): number[] {
  if (parts.some(({ t }) => t === undefined))
    throw new InputError([{ path: file, value: 'frame numbers', message: 'needs times: the other file has reports' }]);
  return parts.map(({ t }) => t!);
}

/** One file of reports. */
class Reporter {
  readonly file: string;
  readonly #reports: ObjectReport[];
  readonly #stride: number;
  readonly #shape: 'box' | 'point';

  constructor(
    { file, parts, format }: Recording,
    readonly rules: SamplingRules,
  ) {
    this.file = file;
    this.#shape = format.shape;
    this.#reports = parts.flatMap(({ objects }) => objects as ObjectReport[]).sort((a, b) => a.t - b.t);
    const placed = this.#reports.find(({ box, point }) => box ?? point);
    this.#stride = (placed?.box ?? placed?.point)?.length ?? 1;
  }

  get firstS(): number {
    return this.#reports[0]?.t ?? Number.POSITIVE_INFINITY;
  }

  get lastS(): number {
    return this.#reports[this.#reports.length - 1]?.t ?? Number.NEGATIVE_INFINITY;
  }

  /** Between two reports of an object. */
  get medianMs(): number {
    const last = new Map<string, number>();
    const gaps: number[] = [];
    for (const { id, t } of this.#reports) {
      const before = last.get(id);
      if (before !== undefined && t > before) gaps.push(t - before);
      last.set(id, t);
    }
    return Math.max(1, Math.round(1000 * (gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 1)));
  }

  /** Who is where at times that go up. */
  at(times: readonly number[], unclear?: Map<number, WireObject[]>): Part[] {
    const unbounded = { idsMax: Number.POSITIVE_INFINITY, reportsPerIdMax: Number.POSITIVE_INFINITY };
    const ways = new Trajectories({ ...unbounded, greatestGapMs: this.rules.greatestGapMs }, this.rules.onEarth);
    let next = 0;
    return times.map((t) => {
      const from = next;
      const until = t + this.rules.greatestGapMs / 1000;
      while (next < this.#reports.length && this.#reports[next].t <= until) next++;
      const objects = packReports(this.#reports.slice(from, next), this.#shape, this.#stride);
      ways.add('', { seq: 0, objects, reports: true }, 0);
      const picture = ways.at(t * 1000, 0);
      ways.close(t * 1000);
      if (picture.unclear.ids.length > 0) unclear?.set(t, unpack(picture.unclear));
      return { t, objects: unpack(picture.objects) };
    });
  }
}
