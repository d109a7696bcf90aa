/**
 * What is wrong with how the feeds of one stream are wired: found from the first parts of both feeds, kept while it
 * holds, cleared when it no longer does. A function of the records: it knows no clock but their times.
 *
 * A tracker is examined from its first part on: the last parts of both feeds are kept and looked at now and then, at
 * longer and longer intervals. Once it matches it is only glanced at, one step in many, and nothing is kept of it; it
 * is examined again when nothing matches any more, when it comes back, and when settings change.
 */
import { Coverage } from '../../coverage/coverage.js';
import type { Role } from '../../wire/feed.js';
import { type Evidence, type Finding, type FindingName, WIRING_MISTAKES } from '../../wire/findings.js';
import { type FeedPart, NO_OBJECTS, type PackedList, pickFrom } from '../../wire/objects.js';
import {
  agreementAt,
  agreementOfStep,
  type FeedSample,
  type Judge,
  type ReceivedPart,
} from '../../wiring/agreement.js';
import { type Explanation, explain, explainByTime, milli } from '../../wiring/hypotheses.js';
import { fitted, gapOf, lagOf, lagSums } from '../../wiring/lag.js';
import type { Step } from '../pairing/step.js';
import type { StreamPlan } from '../plan.js';
import { countClasses, unlikeClass } from './class-agreement.js';
import { explainByDelay } from './delay-hypothesis.js';
import { wordsOf } from './finding-words.js';
import { addSample, isOff, isOffAltogether, LAG_PARTS, LAG_SAMPLES, lagOfAll } from './lag-evidence.js';
import {
  interpolationFault,
  mixedKeys,
  partialFrames,
  rateFault,
  referenceBehindMs,
  sampledOf,
  TIMED_MIN,
} from './pairing-hypotheses.js';
import { SeenParts } from './seen-parts.js';
import {
  FIRST_CHECK,
  newWiring,
  remember,
  restart,
  startSampling,
  stateOf,
  type Wiring,
  type WiringState,
  wiringFrom,
} from './tracker-wiring.js';

const MISTAKES: ReadonlySet<FindingName> = new Set(WIRING_MISTAKES);

/** A finding that starts or ends. */
export interface FindingChange extends Finding {
  phase: 'start' | 'end';
}

/** Everything Findings knows. Plain data. */
export interface FindingsState {
  reference: {
    parts: number;
    opened: boolean;
    firstMs: number | null;
    seen: ReceivedPart[];
    /** of one that reports one by one: how far its newest times are ahead of their arrival, seconds */
    ahead?: number;
  };
  trackers: Array<[tracker: string, wiring: WiringState]>;
  findings: Finding[];
}

type Found = Partial<Record<FindingName, Evidence>>;

/** milliseconds: a feed that has not come when the other has been there for this long never came */
const NEVER_MS = 10_000;
const CHECK_EVERY_MAX = 200;
/** one in so many steps is looked at: examined for long, and healthy */
const LOOK_EVERY = 8;
const GLANCE_EVERY = 64;
const UNMATCHED_MAX = 8;
const EVERY_STEP_UP_TO = 64;
/** possible pairs, or steps, without which nothing is said */
const ENOUGH = 20;
/** shares of possible pairs */
const NEVER_SHARE = 0.02;
const WEAK_SHARE = 0.2;
const POOR_SHARE = 0.6;
/** share of steps that have both feeds */
const PAIRED_SHARE = 0.1;
/** nothing matches, without a cause: said after so many steps or so long */
const NEVER_STEPS = 200;
const NEVER_MATCH_MS = 20_000;
/** samples in a row that show a lag */
const LAGGING_MIN = 2;
/** what is advised, of what would just do: otherwise it would be found again and again */
const AMPLE = 1.2;
/** seconds between two steps that are kept where a feed reports one by one: a clock may be far off */
const SAMPLED_EVERY_S = 1;
/** how much a new part counts for how far a clock is ahead */
const AHEAD_SHARE = 0.1;

export class Findings {
  #plan: StreamPlan;
  #judge: Judge;
  #coverage: Coverage;
  readonly #reference: Omit<FindingsState['reference'], 'seen'> & { seen: SeenParts };
  readonly #trackers: Map<string, Wiring>;
  readonly #findings = new Map<string, Finding>();
  #changes: FindingChange[] = [];

  constructor(plan: StreamPlan, state?: FindingsState) {
    this.#plan = plan;
    this.#judge = judgeOf(plan);
    this.#coverage = coverageOf(plan, this.#judge);
    const reference = state?.reference ?? { parts: 0, opened: false, firstMs: null, seen: [] };
    this.#reference = { ...reference, seen: new SeenParts(reference.seen) };
    this.#trackers = new Map(state?.trackers.map(([tracker, wiring]) => [tracker, wiringFrom(wiring)]));
    for (const finding of state?.findings ?? []) this.#findings.set(keyOf(finding.tracker, finding.finding), finding);
  }

  /** The findings that hold, in the order in which they were found. */
  list(): Finding[] {
    return [...this.#findings.values()];
  }

  /** What started and ended since the last call. */
  drain(): FindingChange[] {
    if (this.#changes.length === 0) return this.#changes;
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** Another plan from now on: everything is examined anew under it. */
  configure(plan: StreamPlan): void {
    this.#plan = plan;
    this.#judge = judgeOf(plan);
    this.#coverage = coverageOf(plan, this.#judge);
    for (const wiring of this.#trackers.values()) restart(wiring);
  }

  /** A feed said hello. */
  open(role: Role, tracker: string | null, atMs: number): void {
    if (role === 'reference') this.#reference.opened = true;
    else {
      const known = this.#trackers.get(tracker!);
      // it may come back wired otherwise
      if (known) restart(known);
      else this.#trackers.set(tracker!, newWiring(atMs));
    }
  }

  /** A tracker, or with null the stream, is gone. */
  retire(tracker: string | null): void {
    for (const finding of this.list())
      if (tracker === null || finding.tracker === tracker) this.#clear(finding.tracker, finding.finding);
    if (tracker === null) this.#trackers.clear();
    else this.#trackers.delete(tracker);
  }

  /** How often the reference's reports come, when it sends such; null while nobody knows. */
  reports(timeliness: { timelyMs: number; latenessMs: number } | null, atMs: number): void {
    if (!timeliness) return;
    const { timelyMs, latenessMs } = timeliness;
    const known = this.#findings.has(keyOf(null, 'interpolation_impossible'));
    const wanted = Math.ceil(timelyMs * AMPLE);
    if (wanted <= latenessMs) this.#clear(null, 'interpolation_impossible');
    else if (!known && timelyMs > latenessMs) {
      const every = Math.round(timelyMs);
      const evidence = {
        feed: 'reference',
        method: 'linear',
        every,
        unit: 'ms',
        setting: 'latenessMs',
        value: latenessMs,
      };
      this.#put(null, 'interpolation_impossible', { ...evidence, wanted }, atMs);
    }
  }

  part(role: Role, tracker: string | null, part: FeedPart, atMs: number): void {
    const isReports = part.reports === true || part.objects.times !== undefined;
    if (isReports || this.#isSampled(role, tracker)) this.#reported(role, tracker, part, atMs, isReports);
    else if (role === 'reference') this.#referencePart(part, atMs);
    else this.#trackerPart(tracker!, part, atMs);
  }

  /** Whether a feed, or the one it is compared with, reports one by one. */
  #isSampled(role: Role, tracker: string | null): boolean {
    return (
      role === 'tracker' && (this.#reference.ahead !== undefined || this.#trackers.get(tracker!)?.sampled !== undefined)
    );
  }

  /** Single reports are no pictures that could be compared: the steps that are made of them are. */
  #reported(role: Role, tracker: string | null, part: FeedPart, atMs: number, isReports: boolean): void {
    const none: FeedPart = { seq: 0, objects: NO_OBJECTS };
    if (role === 'reference') {
      this.#referencePart(none, atMs);
      this.#reference.ahead = smoothed(this.#reference.ahead, aheadOf(part, atMs));
      for (const wiring of this.#trackers.values()) wiring.sampled ??= startSampling(wiring);
      return;
    }
    const wiring = this.#wiring(tracker!, atMs);
    if (isReports) wiring.sampled ??= startSampling(wiring);
    wiring.ahead = smoothed(wiring.ahead, aheadOf(part, atMs));
    this.#trackerPart(tracker!, none, atMs);
  }

  #referencePart(part: FeedPart, atMs: number): void {
    const reference = this.#reference;
    if (reference.parts++ === 0) {
      reference.firstMs = atMs;
      for (const tracker of this.#trackers.keys()) this.#clear(tracker, 'reference_never_came');
    }
    let examined = false;
    for (const [tracker, wiring] of this.#trackers) {
      if (wiring.parts === 0) this.#neverCame(tracker, Math.max(reference.firstMs!, wiring.openedMs), atMs);
      examined ||= !wiring.healthy;
    }
    if (this.#trackers.size === 0) this.#neverCame(null, reference.firstMs!, atMs);
    if (examined) reference.seen.add(part, atMs);
    else if (reference.seen.length > 0) reference.seen.clear();
  }

  #neverCame(tracker: string | null, sinceMs: number, atMs: number): void {
    if (atMs - sinceMs < NEVER_MS || this.#findings.has(keyOf(tracker, 'tracker_never_came'))) return;
    const evidence = { seconds: Math.round((atMs - sinceMs) / 1000), opened: tracker !== null };
    this.#put(tracker, 'tracker_never_came', evidence, atMs);
  }

  #trackerPart(tracker: string, part: FeedPart, atMs: number): void {
    const wiring = this.#wiring(tracker, atMs);
    if (wiring.parts++ === 0) {
      wiring.firstMs = atMs;
      this.#clear(tracker, 'tracker_never_came');
      this.#clear(null, 'tracker_never_came');
    }
    if (wiring.healthy) return;
    if (this.#reference.parts === 0) {
      const heardMs = atMs - wiring.firstMs!;
      if (heardMs < NEVER_MS || this.#findings.has(keyOf(tracker, 'reference_never_came'))) return;
      const evidence = { seconds: Math.round(heardMs / 1000), opened: this.#reference.opened };
      this.#put(tracker, 'reference_never_came', evidence, atMs);
      return;
    }
    if (wiring.sampled) return;
    wiring.seen.add(part, atMs);
    if (wiring.parts >= wiring.nextCheck) this.#examine(tracker, wiring, atMs);
  }

  #wiring(tracker: string, atMs: number): Wiring {
    let wiring = this.#trackers.get(tracker);
    // a stream that was stored before there were findings
    if (!wiring) {
      wiring = newWiring(atMs);
      this.#trackers.set(tracker, wiring);
    }
    return wiring;
  }

  /** A step of a tracker was closed. */
  step(step: Step): void {
    const { tracker, receivedMs } = step;
    const wiring = this.#trackers.get(tracker);
    if (!wiring) return;
    wiring.steps++;
    if (wiring.healthy && wiring.steps % GLANCE_EVERY > 0) return;
    if (wiring.missing) {
      wiring.missing = false;
      return;
    }
    remember(wiring, 'paired', 'unpaired', 1, 0);
    if (wiring.sampled && !wiring.healthy) this.#sample(wiring, wiring.sampled, step);
    if (wiring.healthy || wiring.steps <= EVERY_STEP_UP_TO || wiring.steps % LOOK_EVERY === 0) this.#look(wiring, step);
    if (wiring.sampled) this.#examineSteps(tracker, wiring, receivedMs);
  }

  /** How much of a step pairs that could. */
  #look(wiring: Wiring, { tracker, reference, tracks, receivedMs }: Step): void {
    const truths = this.#judgedTruths(reference);
    const { possible, pairs } = agreementOfStep(truths, tracks, this.#judge);
    if (possible === 0) return;
    wiring.looked++;
    wiring.metMs ??= receivedMs;
    remember(wiring, 'possible', 'pairs', possible, pairs);
    wiring.unmatched = pairs > 0 ? 0 : wiring.unmatched + 1;
    if (this.#plan.settings.classes?.apart) this.#compareClasses(tracker, wiring, truths, tracks, receivedMs);
    if (wiring.healthy && wiring.unmatched >= UNMATCHED_MAX) restart(wiring);
  }

  /** Nobody is expected to see who is beyond what is judged. */
  #judgedTruths(reference: PackedList): PackedList {
    if (this.#coverage.isComplete) return reference;
    const { reasons } = this.#coverage.judge('reference', reference, this.#judge.cutoff);
    return pickFrom(
      reference,
      [...reasons.keys()].filter((n) => reasons[n] === null),
    );
  }

  #compareClasses(tracker: string, wiring: Wiring, truths: PackedList, tracks: PackedList, atMs: number): void {
    wiring.kinds = countClasses(wiring.kinds ?? [], truths, tracks, this.#judge, this.#plan.settings.classes.namesMax);
    const unlike = unlikeClass(wiring.kinds);
    if (unlike) this.#put(tracker, 'classes_never_match', unlike, atMs);
    else this.#clear(tracker, 'classes_never_match');
  }

  /** Keeps a step as two parts, with what is known of when such parts arrive. */
  #sample(wiring: Wiring, sampled: SeenParts, { t, reference, tracks }: Step): void {
    const last = sampled.newest ?? Number.NEGATIVE_INFINITY;
    if (t === undefined || t < last + SAMPLED_EVERY_S) return;
    const arrivalMs = (ahead = 0) => (t - ahead) * 1000;
    sampled.add({ t, objects: this.#judgedTruths(reference) }, arrivalMs(this.#reference.ahead));
    wiring.seen.add({ t, objects: tracks }, arrivalMs(wiring.ahead));
  }

  #examineSteps(tracker: string, wiring: Wiring, atMs: number): void {
    if (!wiring.healthy && wiring.steps >= wiring.nextCheck) this.#examine(tracker, wiring, atMs);
  }

  /** A step was closed without a part of this feed. */
  missing(role: Role, tracker: string | null, atMs: number): void {
    for (const [name, wiring] of this.#trackers) {
      if (wiring.healthy || (role === 'tracker' && name !== tracker)) continue;
      wiring.missing = role === 'tracker';
      remember(wiring, 'unpaired', 'paired', 1, 0);
      if (!wiring.sampled) continue;
      wiring.steps++;
      this.#examineSteps(name, wiring, atMs);
    }
  }

  #examine(tracker: string, wiring: Wiring, atMs: number): void {
    const count = wiring.sampled ? wiring.steps : wiring.parts;
    wiring.nextCheck = count + Math.min(CHECK_EVERY_MAX, Math.max(FIRST_CHECK, count >> 1));
    const sample = this.#sampleOf(wiring);
    const found = this.#diagnose(tracker, wiring, sample, atMs);
    for (const [name, evidence] of Object.entries(found)) this.#put(tracker, name as FindingName, evidence, atMs);
    const matches = wiring.possible >= ENOUGH && wiring.pairs > WEAK_SHARE * wiring.possible;
    const conclusive = matches && sample.tracker.length >= LAG_PARTS && sample.reference.length >= TIMED_MIN;
    const others = this.list().filter(
      (one) => one.tracker === tracker && !(one.finding in found) && one.finding !== 'classes_never_match',
    );
    const any = Object.keys(found).length > 0;
    // that nothing is known yet ends nothing
    if (any || conclusive) for (const { finding } of others) this.#clear(tracker, finding);
    if (any || !conclusive || (wiring.lag?.samples ?? 0) < LAG_SAMPLES) return;
    wiring.healthy = true;
    wiring.seen.clear();
    wiring.sampled?.clear();
  }

  #sampleOf({ seen, sampled }: Wiring): FeedSample {
    return { reference: (sampled ?? this.#reference.seen).list(), tracker: seen.list() };
  }

  #diagnose(tracker: string, wiring: Wiring, sample: FeedSample, atMs: number): Found {
    if (wiring.sampled) return this.#explained(tracker, wiring, sample, { ...this.#judge, by: 'time' }, {}, atMs);
    const { pairing } = this.#plan.settings;
    const mixed = mixedKeys(sample);
    if (mixed) return { mixed_keys: mixed };
    const exact = sampledOf(pairing, tracker) === null;
    const judge: Judge = { ...this.#judge, by: axisOf(sample, pairing.by), exact };
    const found: Found = {};
    const impossible = interpolationFault(sample, judge.by, pairing, tracker);
    if (impossible) found.interpolation_impossible = impossible;
    const rate = rateFault(sample, judge.by, pairing, tracker);
    if (rate) found.rate_mismatch = rate;
    const partial = partialFrames(sample);
    if (partial) found.partial_frames = partial;
    return this.#explained(tracker, wiring, sample, judge, found, atMs);
  }

  /** Why feeds whose parts may meet do not agree. */
  #explained(tracker: string, wiring: Wiring, sample: FeedSample, judge: Judge, found: Found, atMs: number): Found {
    const { possible, pairs, paired, unpaired } = wiring;
    const unrelated = possible >= ENOUGH && pairs <= WEAK_SHARE * possible;
    const apart = unpaired >= ENOUGH && paired < PAIRED_SHARE * (paired + unpaired);
    if (unrelated || apart) Object.assign(found, this.#cause(tracker, wiring, sample, judge));
    else Object.assign(found, this.#lag(tracker, wiring, sample, judge));
    if (Object.keys(found).length > 0) return found;
    if (apart) return { nothing_pairs: unpairedEvidence(wiring, sample, judge, this.#reference.ahead) };
    return unrelated ? this.#neverMatches(wiring, atMs) : found;
  }

  /** Why nothing matches or pairs, as far as one hypothesis explains it; what was found before stands until then. */
  #cause(tracker: string, { sampled }: Wiring, sample: FeedSample, judge: Judge): Found {
    const why = (sampled && explainByDelay(sample, judge)) ?? explain(sample, judge);
    if (!why) {
      // one that was found stays while nothing matches
      const known = this.list().find((one) => one.tracker === tracker && MISTAKES.has(one.finding));
      return known ? { [known.finding]: known.evidence } : {};
    }
    return foundBy(why);
  }

  #neverMatches({ possible, pairs, looked, steps, metMs }: Wiring, atMs: number): Found {
    if (pairs > NEVER_SHARE * possible || looked < ENOUGH) return {};
    if (steps < NEVER_STEPS && atMs - metMs! < NEVER_MATCH_MS) return {};
    return { feeds_never_match: { pairs, possible, steps: looked, cutoff: this.#judge.cutoff } };
  }

  /** Objects match, but lie off along their own ways, by a frame or more. */
  #lag(tracker: string, wiring: Wiring, sample: FeedSample, judge: Judge): Found {
    if (Math.min(sample.tracker.length, sample.reference.length) < LAG_PARTS) return {};
    const name = judge.by === 'frame' ? 'frame_offset' : 'clock_offset';
    const known = this.#findings.has(keyOf(tracker, name));
    const sums = lagSums(sample, judge);
    const gap = gapOf(sample, judge);
    addSample(wiring, sums);
    const all = lagOfAll(wiring, gap);
    const now = sums && { ...fitted(sums), gap };
    wiring.lagging = now && isOff(now) ? wiring.lagging + 1 : 0;
    const found = wiring.lagging >= LAGGING_MIN ? now : all && isOffAltogether(all, known) ? all : null;
    if (!found) return known && !all ? this.#known(tracker, name) : this.#farOff(wiring, sample, judge);
    const byFrame = judge.by === 'frame';
    const frames = Math.sign(found.offset) * Math.max(1, Math.round(Math.abs(found.offset)));
    // fit, pair again, fit: what lies far off pairs only in part
    const offset = byFrame ? frames : milli(lagOf(sample, judge, found.offset)?.offset ?? found.offset);
    const { pairs, possible } = agreementAt(sample, judge, offset);
    return byFrame
      ? { frame_offset: { frames: offset, pairs, possible } }
      : { clock_offset: { seconds: offset, pairs, possible } };
  }

  /** So far off that others than those who belong together pair. */
  #farOff({ possible, pairs, sampled }: Wiring, sample: FeedSample, judge: Judge): Found {
    if (possible < ENOUGH || pairs > POOR_SHARE * possible) return {};
    const why = sampled ? explainByDelay(sample, judge) : explainByTime(sample, judge, POOR_SHARE);
    return why ? foundBy(why) : {};
  }

  /** A finding as it stands. */
  #known(tracker: string, name: FindingName): Found {
    return { [name]: this.#findings.get(keyOf(tracker, name))!.evidence };
  }

  #put(tracker: string | null, finding: FindingName, evidence: Evidence, atMs: number): void {
    const key = keyOf(tracker, finding);
    const known = this.#findings.get(key);
    const sinceMs = known?.sinceMs ?? atMs;
    const full: Finding = { finding, tracker, sinceMs, ...wordsOf(finding, tracker, evidence), evidence };
    this.#findings.set(key, full);
    if (!known) this.#changes.push({ ...full, phase: 'start' });
  }

  #clear(tracker: string | null, finding: FindingName): void {
    const key = keyOf(tracker, finding);
    const known = this.#findings.get(key);
    if (!known) return;
    this.#findings.delete(key);
    this.#changes.push({ ...known, phase: 'end' });
  }

  toJSON(): FindingsState {
    const reference = { ...this.#reference, seen: this.#reference.seen.list() };
    const trackers = [...this.#trackers].map(([tracker, wiring]): [string, WiringState] => [tracker, stateOf(wiring)]);
    return { reference, trackers, findings: this.list() };
  }
}

function foundBy({ cause, feed, agreement: { pairs, possible }, evidence }: Explanation): Found {
  return { [cause]: { ...evidence, ...(feed ? { feed } : {}), pairs, possible } };
}

const keyOf = (tracker: string | null, finding: FindingName) => `${finding}\n${tracker ?? ''}`;

/** What counts as a pair: the distance of the first profile, with the largest cut-off there is for it. */
function judgeOf({ profiles, settings }: StreamPlan): Judge {
  const all = Object.values(profiles);
  const { distance } = all[0];
  const cutoff = Math.max(...all.filter((one) => one.distance === distance).map((one) => one.cutoff));
  return { distance, cutoff, by: 'frame', toleranceMs: settings.pairing.toleranceMs, exact: true };
}

function axisOf({ reference, tracker }: FeedSample, by: 'auto' | 'frame' | 'time'): Judge['by'] {
  if (by !== 'auto') return by;
  return [...reference, ...tracker].every(({ k }) => k !== undefined) ? 'frame' : 'time';
}

function unpairedEvidence(
  { paired, unpaired, ahead }: Wiring,
  sample: FeedSample,
  judge: Judge,
  referenceAhead: number | undefined,
): Evidence {
  const behindMs =
    referenceAhead === undefined || ahead === undefined
      ? referenceBehindMs(sample, judge.by)
      : Math.round(1000 * (ahead - referenceAhead));
  return { unpaired, steps: paired + unpaired, ...(behindMs > 0 ? { referenceBehindMs: behindMs } : {}) };
}

/** How far the newest time of a part is ahead of its arrival, seconds; null where it has none. */
function aheadOf({ t, objects: { times } }: FeedPart, atMs: number): number | null {
  let newest = t ?? Number.NEGATIVE_INFINITY;
  for (const time of times ?? []) if (time !== null && time > newest) newest = time;
  return Number.isFinite(newest) ? newest - atMs / 1000 : null;
}

const smoothed = (before: number | undefined, now: number | null): number | undefined =>
  now === null ? before : before === undefined ? now : before + AHEAD_SHARE * (now - before);

function coverageOf({ settings }: StreamPlan, { distance }: Judge): Coverage {
  const { reference: knows, regions, ignore, within, verticalWeight } = settings.coverage;
  return new Coverage({ knows, regions, ignore, within }, distance, verticalWeight);
}
