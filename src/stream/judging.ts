/**
 * What of a step is judged under a profile: the settings of the stream, and what the reference brings along. Every
 * object gets what it costs alone at most, and its class where only objects of one class are pairs; truths that are not
 * to be judged leave the step. A tracker has no say in it.
 */
import { Coverage, type Moving, type NotJudgedReason, weighAltitudes } from '../coverage/coverage.js';
import type { Params } from '../metric/params.js';
import type { NotJudgedCounts } from '../wire/events.js';
import { NO_OBJECTS, type PackedList, pickFrom } from '../wire/objects.js';
import type { Step } from './pairing/step.js';
import type { StreamPlan } from './plan.js';

/** A step as a window gets it. */
export interface JudgedStep {
  reference: PackedList;
  tracks: PackedList;
  /** of each track why it is not judged unless it has a pair; null for those that are; absent where all are */
  reasons?: ReadonlyArray<NotJudgedReason | null>;
  notJudged: NotJudgedCounts | null;
}

export class Judging {
  readonly #coverage: Coverage;
  readonly #most: number;
  /** a unit of altitude counts as so many across */
  readonly #weight: number;
  /** only objects of one class are pairs */
  readonly #apart: boolean;

  constructor({ settings }: StreamPlan, { distance, cutoff, exponent }: Params) {
    const { reference: knows, regions, ignore, within, verticalWeight } = settings.coverage;
    this.#coverage = new Coverage({ knows, regions, ignore, within }, distance, verticalWeight);
    this.#most = cutoff / 2 ** (1 / exponent);
    this.#weight = verticalWeight;
    this.#apart = settings.classes.apart ?? false;
  }

  /** Coordinates of a window as they were sent. */
  unweighed(coordinates: ArrayLike<number>, stride: number): number[] {
    return weighAltitudes(coordinates, this.#weight === 1 ? 1 : stride, 1 / this.#weight);
  }

  judge(step: Step): JudgedStep {
    const judged = this.#judge(step);
    if (this.#weight === 1 && !this.#apart) return judged;
    return { ...judged, reference: this.#prepared(judged.reference), tracks: this.#prepared(judged.tracks) };
  }

  #prepared(list: PackedList): PackedList {
    const weighed = this.#weight === 1 ? list : this.#weighed(list);
    return this.#apart && list.classes ? { ...weighed, kinds: list.classes } : weighed;
  }

  #weighed(list: PackedList): PackedList {
    if (list.shape !== 'point' || list.stride !== 3) return list;
    return { ...list, coordinates: weighAltitudes(list.coordinates, list.stride, this.#weight) };
  }

  #judge({ reference, tracks, unclear, ignore }: Step): JudgedStep {
    const { ignored } = reference;
    if (this.#coverage.isComplete && !unclear && !ignore && !ignored) return { reference, tracks, notJudged: null };
    const notJudged: NotJudgedCounts = { reference: {}, tracker: {} };
    const kept = ignored ? pickFrom(reference, placesOf(ignored, reference, false)) : reference;
    const flagged = ignored ? pickFrom(reference, placesOf(ignored, reference, true)) : NO_OBJECTS;
    add(notJudged.reference, 'dont_care', flagged.ids.length);
    add(notJudged.reference, 'gap', unclear?.ids.length ?? 0);
    const moving: Moving = { dontCare: flagged };
    if (unclear) moving.unclear = unclear;
    if (ignore) moving.ignore = ignore;
    const truth = this.#coverage.judge('reference', kept, this.#most, moving);
    const track = this.#coverage.judge('tracker', tracks, this.#most, moving);
    for (const reason of truth.reasons) if (reason) add(notJudged.reference, reason, 1);
    return {
      reference: truth.alone ? { ...kept, alone: truth.alone } : kept,
      tracks: track.alone ? { ...tracks, alone: track.alone } : tracks,
      reasons: track.reasons,
      notJudged,
    };
  }
}

const placesOf = (flags: ReadonlyArray<boolean | null>, { ids }: PackedList, wanted: boolean): number[] =>
  ids.map((_, n) => n).filter((n) => (flags[n] === true) === wanted);

function add(counts: Partial<Record<NotJudgedReason, number>>, reason: NotJudgedReason, count: number): void {
  if (count > 0) counts[reason] = (counts[reason] ?? 0) + count;
}

/** The objects of a step as they came, for those who draw, with what each costs alone: nothing where it is left out. */
export const drawnObjects = ({ reference, tracks }: Step, judged: JudgedStep) => ({
  reference: priced(reference, judged.reference),
  tracker: priced(tracks, judged.tracks),
});

function priced(list: PackedList, { ids, alone }: PackedList): PackedList {
  if (!alone && ids.length === list.ids.length) return list;
  const prices = new Map(ids.map((id, n) => [id, alone?.[n] ?? Number.POSITIVE_INFINITY]));
  return { ...list, alone: list.ids.map((id) => prices.get(id) ?? 0) };
}

/** Tracks that are not judged and have no pair, by reason. */
export function addUnpaired(
  { notJudged, reasons, tracks }: JudgedStep,
  properTracks: readonly string[],
): NotJudgedCounts | null {
  if (!notJudged || !reasons) return notJudged;
  const paired = new Set(properTracks);
  for (const [n, reason] of reasons.entries())
    if (reason && !paired.has(tracks.ids[n])) add(notJudged.tracker, reason, 1);
  return notJudged;
}

/** Adds what a step did not judge to what was not judged before. */
export function addNotJudged(totals: NotJudgedCounts, more: NotJudgedCounts): void {
  for (const side of ['reference', 'tracker'] as const)
    for (const [reason, count] of Object.entries(more[side])) add(totals[side], reason as NotJudgedReason, count);
}
