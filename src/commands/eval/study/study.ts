/**
 * A whole benchmark: every tracker on every sequence, on all cores, and combined over the sequences that all trackers
 * have. Costs add up over sequences as they do over frames (no switch happens between two of them); companion scores
 * are combined as TrackEval does.
 */
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { COMPONENTS } from '../../../metric/evaluation.js';
import { InputError, type Problem } from '../../../metric/input-error.js';
import { addTotals, type Scores, scoresOf } from '../../../scores/totals.js';
import type { Progress } from '../../console/progress.js';
import type { StudyFiles } from '../../files/layout.js';
import { type FilePair, PairReader, type PairReading } from '../../files/pair-reader.js';
import { neighbourWarnings } from '../sequence/neighbours.js';
import { warningsIn } from '../sequence/sequence.js';
import {
  type JudgingTerms,
  judge,
  type NamedProfile,
  type ProfileVerdict,
  type Summary,
  type Verdict,
} from '../sequence/verdict.js';

/** What all pairs of a study have in common. */
export interface StudyTerms extends JudgingTerms {
  reading: PairReading;
}

/** One tracker on one sequence under one profile. */
export interface Result {
  sequence: string;
  tracker: string;
  profile: NamedProfile;
  evaluation: Summary;
  scores: Scores | null;
  /** what makes the numbers doubtful */
  warnings: string[];
}

/** A tracker over all common sequences under one profile. */
export type CombinedResult = Omit<Result, 'sequence'>;

export interface Study {
  reference: string;
  /** the only class that is judged */
  class?: string;
  trackers: string[];
  sequences: string[];
  /** sequences that are combined: every tracker has them */
  common: string[];
  profiles: NamedProfile[];
  results: Array<Result & Pick<ProfileVerdict, 'timeline' | 'ribbon' | 'worst' | 'events'>>;
  combined: CombinedResult[];
  notes: string[];
}

/** To and from a thread. */
export interface Task {
  index: number;
  pair: FilePair;
}
export type TaskAnswer = { index: number } & (
  | { verdict: Verdict; notes: string[]; problems?: undefined }
  | { problems: Problem[] }
);

/**
 * Trackers' files that are worth a thread: each one warms up for a second of processor time, in which a warm one reads
 * and judges 20 MB.
 */
const THREAD_BYTES = 24e6;
/** Room for fresh objects in a thread: an evaluation makes many that live for one sequence. */
const YOUNG_MB = 96;

interface Cell {
  sequence: string;
  tracker: string;
  pair: FilePair;
}

/** Sees a study advance, pair by pair. */
export type StudyWatch = Pick<Progress, 'start' | 'tick'>;

/** Runs a study. Throws one InputError with the mistakes of all files. */
export async function runStudy(
  files: Omit<StudyFiles, 'layout'> & { reference: string },
  terms: StudyTerms,
  threads?: number | null,
  watch?: StudyWatch,
): Promise<Study> {
  const { profiles } = terms;
  const cells = cellsOf(files);
  const answers = await answersTo(cells, terms, threads ?? threadsFor(cells), watch);
  const problems = answers.flatMap((answer) => answer.problems ?? []);
  if (problems.length > 0) throw new InputError(withoutRepeats(problems));
  const verdicts = answers as Array<Extract<TaskAnswer, { verdict: Verdict }>>;
  const common = files.sequences
    .filter(({ trackers }) => trackers.every((one) => one !== null))
    .map(({ name }) => name);
  const reader = new PairReader(terms.reading);
  const alone = cells.map((cell, index) => ({
    ...cell,
    verdict: verdicts[index].verdict,
    warnings: warningsIn(verdicts[index].notes),
    count: verdicts[index].verdict.profiles[0].evaluation.count,
    doubts: () => reader.doubtsOn(cell.pair),
  }));
  const compared = neighbourWarnings(alone);
  const judged = alone.map((cell, index) => ({ ...cell, warnings: [...cell.warnings, ...compared[index]] }));
  return {
    reference: files.reference,
    ...(terms.reading.class !== undefined && { class: terms.reading.class }),
    trackers: files.trackers,
    sequences: files.sequences.map(({ name }) => name),
    common,
    profiles,
    results: judged.flatMap((one) => resultsOf(one, profiles)),
    combined: profiles.flatMap((profile, index) =>
      files.trackers.flatMap((tracker) => {
        const parts = judged.filter((one) => one.tracker === tracker && common.includes(one.sequence));
        return parts.length > 0 ? [combine(tracker, profile, index, parts)] : [];
      }),
    ),
    notes: [...new Set([...files.notes, ...verdicts.flatMap(({ notes }) => notes), ...compared.flat()])],
  };
}

function cellsOf({ trackers: names, sequences }: Pick<StudyFiles, 'trackers' | 'sequences'>): Cell[] {
  return sequences.flatMap(({ name, reference, trackers }) =>
    trackers.flatMap((tracker, index) =>
      tracker === null ? [] : [{ sequence: name, tracker: names[index], pair: { reference, tracker } }],
    ),
  );
}

function threadsFor(cells: Cell[]): number {
  const bytes = cells.reduce(
    (sum, { pair }) => sum + (statSync(pair.tracker, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  return Math.min(availableParallelism(), Math.max(1, Math.floor(bytes / THREAD_BYTES)));
}

/** A tracker on a sequence, and what makes its numbers doubtful. */
export interface Judged {
  verdict: Verdict;
  warnings: string[];
}

/** Several threads may have read the same reference. */
function withoutRepeats(problems: Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}

/** The results of one tracker on one sequence, profile by profile. */
export function resultsOf(
  { sequence, tracker, verdict, warnings }: { sequence: string; tracker: string } & Judged,
  profiles: NamedProfile[],
): Study['results'] {
  const scores = verdict.totals && scoresOf(verdict.totals);
  return verdict.profiles.map((one, index) => ({
    sequence,
    tracker,
    profile: profiles[index],
    scores,
    warnings,
    ...one,
  }));
}

export function combine(tracker: string, profile: NamedProfile, index: number, judged: Judged[]): CombinedResult {
  const totals = judged.map(({ verdict }) => verdict.totals).filter((one) => one !== null);
  return {
    tracker,
    profile,
    evaluation: sumOf(
      judged.map(({ verdict }) => verdict.profiles[index].evaluation),
      profile.params.exponent,
    ),
    scores: totals.length > 0 ? scoresOf(addTotals(totals)) : null,
    warnings: [...new Set(judged.flatMap(({ warnings }) => warnings))],
  };
}

/** Several sequences as one: costs and counts are added, and distances follow from the sums. */
export function sumOf(parts: Summary[], exponent: number): Summary {
  const add = <K extends string>(keys: readonly K[], pick: (part: Summary) => Record<K, number>) =>
    Object.fromEntries(keys.map((key) => [key, parts.reduce((sum, part) => sum + pick(part)[key], 0)])) as Record<
      K,
      number
    >;
  const cost = add([...COMPONENTS, 'total'] as const, (part) => part.cost);
  const count = add(['proper', 'missed', 'false', 'switches'] as const, (part) => part.count);
  const lowerBound = parts.reduce((sum, part) => sum + part.lowerBound, 0);
  // (best - lower) / best of each, back to best
  const best = parts.reduce((sum, { lowerBound: lower, gap }) => sum + (gap < 1 ? lower / (1 - gap) : lower), 0);
  const exact = parts.every((part) => part.exact);
  return {
    frames: parts.reduce((sum, { frames }) => sum + frames, 0),
    distance: cost.total ** (1 / exponent),
    cost,
    count,
    meanLocalizationError: count.proper === 0 ? 0 : (cost.localization / count.proper) ** (1 / exponent),
    exact,
    lowerBound,
    gap: exact || best === 0 ? 0 : (best - lowerBound) / best,
    solver: add(['pairs', 'isolated', 'frontier', 'simplex', 'branch', 'open'] as const, (part) => part.solver),
  };
}

/** Assigns the cells to threads, one at a time each, and collects their answers in the order of the cells. */
async function answersTo(
  cells: Cell[],
  terms: StudyTerms,
  threadsMax: number,
  watch?: StudyWatch,
): Promise<TaskAnswer[]> {
  const answers: TaskAnswer[] = new Array(cells.length);
  const tasks = cells.map(({ pair }, index): Task => ({ index, pair })).values();
  watch?.start({ label: 'tracker on sequence', step: 1, steps: 1, total: cells.length, unit: 'pairs' });
  const length = Math.max(1, Math.min(threadsMax, cells.length));
  if (length === 1) {
    const answer = answering(terms);
    for (const task of tasks) {
      answers[task.index] = answer(task);
      watch?.tick();
    }
    return answers;
  }
  const workers = Array.from({ length }, () => startThread(terms));
  const collect = (answer: TaskAnswer) => {
    answers[answer.index] = answer;
    watch?.tick();
  };
  try {
    await Promise.all(workers.map((worker) => runTasks(worker, tasks, collect)));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return answers;
}

/** What reads and judges one pair of files after the other, in any thread. */
export function answering(terms: StudyTerms): (task: Task) => TaskAnswer {
  const reader = new PairReader(terms.reading);
  return ({ index, pair }) => {
    try {
      const read = reader.read(pair);
      return { index, verdict: judge(read, terms), notes: read.notes };
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return { index, problems: error.problems };
    }
  };
}

function startThread(terms: StudyTerms): Worker {
  return new Worker(new URL('./study-thread.js', import.meta.url), {
    workerData: terms,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
}

/** Gives a thread one task after the other until there are none left. */
function runTasks(worker: Worker, tasks: Iterator<Task>, collect: (answer: TaskAnswer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const assign = () => {
      const { value, done } = tasks.next();
      if (done) resolve();
      else worker.postMessage(value);
    };
    worker.on('message', (answer: TaskAnswer) => {
      collect(answer);
      assign();
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('a thread of the study ended before its work was done')));
    assign();
  });
}
