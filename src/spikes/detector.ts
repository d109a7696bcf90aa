/**
 * What the detectors of all signals share: what is usual, the evidence against it, and how a spike acts on both. Their
 * numbers are pieces of one flat array, so that a detector resumes exactly where it was.
 */
import { type Change, SequentialTest } from './evidence.js';
import type { SpikeSettings } from './settings.js';
import { Usual, usualSize } from './usual.js';

/** Seconds of age from which to which a series learns nothing while there is evidence of so much of a threshold. */
const DOUBTING_FROM_SECONDS = 8;
const DOUBTING_SECONDS = 120;
const DOUBT = 0.25;

export abstract class Detector {
  readonly usual: Usual;
  protected readonly evidence: SequentialTest;
  /** the series is old enough to be compared with what is usual */
  protected learned = false;

  /** `sums` numbers are learned, from index `at` of the state on; the evidence is behind index `evidenceAt`. */
  constructor(
    protected readonly state: Float64Array,
    protected readonly settings: SpikeSettings,
    at: number,
    sums: number,
    private readonly evidenceAt: number,
    /** what `toJSON` gave; numbers of another version are nothing */
    numbers?: readonly number[],
  ) {
    const own = state.subarray(at, at + usualSize(sums));
    this.usual = new Usual(own, sums, settings.memorySeconds, settings.holdSeconds);
    this.evidence = new SequentialTest(state.subarray(evidenceAt), settings.falseAlarmSeconds);
    if (numbers && this.evidence.restore(numbers.slice(evidenceAt))) state.set(numbers.slice(0, evidenceAt));
  }

  /** All of its numbers, in a list of always the same length. */
  toJSON(): number[] {
    return [...this.state.subarray(0, this.evidenceAt), ...this.evidence.toJSON()];
  }

  /** Puts in force what was learned. */
  protected abstract setRates(): void;

  /** The threshold that the model promises for a kind of change. */
  protected abstract least(kind: number): number;

  /** The state is as it was left: its rates are in force. */
  protected resume(): void {
    this.setRates();
    if (this.evidence.thresholds()[0] === 0) this.advanceEvidence(0);
  }

  protected advanceEvidence(seconds: number): void {
    this.evidence.advance(seconds, (kind) => this.least(kind));
  }

  /** What comes now may be a fault that began early. */
  protected get doubted(): boolean {
    const { age } = this.usual;
    if (!this.learned || age < DOUBTING_FROM_SECONDS || age > DOUBTING_SECONDS) return false;
    const thresholds = this.thresholds();
    return this.sums().some((sum, kind) => sum > DOUBT * thresholds[kind] && this.doubts(kind));
  }

  /** Evidence of such a change is a reason to learn nothing. */
  protected doubts(_kind: number): boolean {
    return true;
  }

  get score(): number {
    return this.learned ? this.evidence.score : 0;
  }

  get alarming(): boolean {
    return this.learned && this.evidence.alarming;
  }

  finding(): Change {
    return this.evidence.finding();
  }

  /** A spike starts: what is held back was part of it. */
  open(): void {
    this.usual.drop();
    this.evidence.open();
  }

  /** A spike seems to be over. */
  subside(): void {
    this.evidence.subside();
  }

  /** A spike is over: the test begins anew. */
  reset(): void {
    this.evidence.reset();
  }

  /** The level of the spike is usual from now on; `restore` undoes it. */
  relearn(): void {
    this.usual.relearn();
    this.evidence.reset();
    this.setRates();
  }

  restore(): void {
    this.usual.restore();
    this.setRates();
  }

  /** The evidence so far, and the thresholds in force, by kind of change: for those who tune. */
  sums(): number[] {
    return this.evidence.sums();
  }

  thresholds(): number[] {
    return this.evidence.thresholds();
  }
}
