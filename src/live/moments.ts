/**
 * Stretches of the past, read from the log and paired again exactly as they were, for whoever looks back. One is read
 * at a time, and few may wait; what is read and answered is bounded by the configuration, so the live path goes on.
 */
import type { Config } from '../config/config.js';
import { type PastLog, partFrom, positionAt, positionOfFrame, recordsAround } from '../store/past.js';
import type { LogRecord, PartRecord } from '../store/record.js';
import { StorageFault } from '../store/storage-fault.js';
import { type JudgedStep, Judging } from '../stream/judging.js';
import { Pairing } from '../stream/pairing/pairing.js';
import type { Step } from '../stream/pairing/step.js';
import { isGeodetic, type StreamPlan, sceneOf, windowParams } from '../stream/plan.js';
import { type PackedList, unpack, type WireObject } from '../wire/objects.js';
import type { MomentQuery, SeriesId } from '../wire/series-key.js';

interface PastFrame {
  k: number;
  t?: number;
  atMs: number;
  reference: PastObject[];
  tracker: PastObject[];
}

/** With what it costs alone at most, where that is less than the full price. */
type PastObject = WireObject & { alone?: number };

/** Frames in order; the first `lead` of them only fill the window. `k` is the frame that was asked for. */
export interface Moment extends SeriesId {
  params: ReturnType<typeof windowParams>;
  scene?: ReturnType<typeof sceneOf>['scene'];
  k: number;
  lead: number;
  frames: PastFrame[];
}

/** parts by which one feed may lag behind the other in the log */
const APART = 64;

export class Moments {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    readonly log: PastLog,
    readonly limits: Pick<Config['limits'], 'pastBytes' | 'pastReads'>,
  ) {}

  /** One after the other; a text says why there is none. */
  async read(plan: StreamPlan, wanted: MomentQuery): Promise<Moment | string> {
    if (this.#waiting >= this.limits.pastReads)
      return `${this.#waiting} others are looking back; ask again in a moment, or raise limits.pastReads`;
    this.#waiting++;
    const read = this.#last.then(() => this.#read(plan, wanted));
    this.#last = read.catch(() => {});
    try {
      return await read;
    } catch (error) {
      if (error instanceof StorageFault) return error.message;
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  async #read(plan: StreamPlan, wanted: MomentQuery): Promise<Moment | string> {
    const { stream, tracker, profile, frames } = wanted;
    const position =
      wanted.k === undefined
        ? await positionAt(this.log, wanted.atMs!)
        : await positionOfFrame(this.log, stream, wanted.k);
    if (position === null) return this.#notStored(wanted);
    const params = windowParams(plan, profile);
    const half = Math.ceil(frames / 2);
    const isReached = ({ atMs, part }: PartRecord) =>
      wanted.k === undefined ? atMs > wanted.atMs! : (part.k ?? 0) >= wanted.k;
    const k = wanted.k ?? (await partFrom(this.log, stream, tracker, position))?.part.k ?? 0;
    const isBehind = ({ part }: PartRecord) => (part.k ?? 0) <= k - half - params.windowFrames;
    const isBeyond = ({ part }: PartRecord) => (part.k ?? 0) >= k + half;
    const before = params.windowFrames + half + APART;
    const around = { before, after: half + 1, isReached, isBehind, isBeyond, bytesMax: this.limits.pastBytes };
    const steps = paired(plan, tracker, await recordsAround(this.log, stream, tracker, position, around));
    const at = steps.findLastIndex(({ k, receivedMs }) =>
      wanted.k === undefined ? receivedMs <= wanted.atMs! : k === wanted.k,
    );
    if (at < 0) return this.#notStored(wanted);
    const first = Math.max(0, at - half - params.windowFrames + 1);
    const lead = Math.min(params.windowFrames - 1, at - first);
    const kept = steps.slice(first, at + half + 1);
    const judging = new Judging(plan, params);
    const judged = kept.map((step) => frameOf(step, judging.judge(step)));
    const names = { stream, tracker, profile };
    return { ...names, params, ...sceneOf(plan), k: steps[at].k, lead, frames: judged };
  }

  async #notStored({ stream, tracker, k, atMs }: MomentQuery): Promise<string> {
    const oldest = await this.log.placeOf(1);
    const what = k === undefined ? `nothing at ${new Date(atMs!).toISOString()}` : `frame ${k}`;
    const since = oldest ? `; the log reaches back to ${new Date(oldest.timeMs).toISOString()}` : '';
    return k === undefined
      ? `${what} is stored of ${stream} / ${tracker}${since}`
      : `${what} of ${stream} / ${tracker} is not stored${since}`;
  }
}

const frameOf = ({ k, t, receivedMs }: Step, { reference, tracks }: JudgedStep): PastFrame => ({
  k,
  ...(t === undefined ? {} : { t }),
  atMs: receivedMs,
  reference: objectsOf(reference),
  tracker: objectsOf(tracks),
});

const objectsOf = (list: PackedList): PastObject[] =>
  unpack(list).map((object, n) => {
    const alone = list.alone?.[n] ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(alone) ? { ...object, alone } : object;
  });

/** The steps of one tracker that come of these records, as they came of them when they were new. */
function paired(plan: StreamPlan, tracker: string, records: readonly LogRecord[]): Step[] {
  const pairing = new Pairing(plan.settings.pairing, plan.settings.reports, isGeodetic(plan));
  const first = records[0]?.atMs ?? 0;
  pairing.openReference(first);
  pairing.openTracker(tracker, first);
  const steps: Step[] = [];
  for (const record of records) {
    const outcomes =
      record.kind === 'part' && (record.role === 'reference' || record.tracker === tracker)
        ? pairing.push(record.role, record.tracker, record.part, record.atMs)
        : record.kind === 'tick'
          ? pairing.advance(record.atMs)
          : [];
    for (const outcome of outcomes) if (outcome.type === 'step') steps.push(outcome);
  }
  return steps.filter(isWhole(records, tracker));
}

/** Where reading began in the midst of a frame, or one feed lags, the first steps lack what was not read. */
function isWhole(records: readonly LogRecord[], tracker: string): (step: Step) => boolean {
  const firstOf = (name: string | null) =>
    records.find((record) => record.kind === 'part' && record.tracker === name) as PartRecord | undefined;
  const firsts = [firstOf(null), firstOf(tracker)].map((record) => record?.part);
  const k = Math.max(...firsts.map((part) => part?.k ?? Number.NEGATIVE_INFINITY));
  const t = Math.max(...firsts.map((part) => part?.t ?? Number.NEGATIVE_INFINITY));
  const numbered = firsts.every((part) => part?.k !== undefined);
  return (step) => (numbered ? step.k >= k : (step.t ?? Number.POSITIVE_INFINITY) >= t);
}
