/**
 * The likeliest cause of what is wrong with a tracker, from its last frames: causes are tried from the most telling one
 * on, and the first that the frames bear out is named with its figures. The work of each stage is bounded; a live
 * evaluator does one with each frame, so that nobody waits. A scene in which nothing is wrong has no diagnosis because
 * nobody asks for one; one that nothing explains has none either.
 */
import type { Signal } from '../spikes/signals.js';
import type { Evidence } from '../wire/findings.js';
import type { CauseName, Diagnosis } from '../wire/incidents.js';
import { wordsOf } from './cause-words.js';
import { classLost, misread, regionLost, shifted } from './geometry.js';
import { doubled, exchanged, risen } from './identities.js';
import { framesSkipped, frozen, lag, silent } from './motion.js';
import type { IncidentScene } from './scene.js';

/** How far an examination is. Plain data. */
export interface Examination {
  stage: number;
  /** by how much the tracks are late, as a stage before found, for the next one to compare with */
  late: Evidence | null;
}

type Cause = { cause: CauseName; evidence: Evidence } | null;
type Stage = (scene: IncidentScene, examination: Examination) => Cause;

const named =
  (cause: CauseName, test: (scene: IncidentScene) => Evidence | null): Stage =>
  (scene) => {
    const evidence = test(scene);
    return evidence && { cause, evidence };
  };

const AT_ONCE: readonly Stage[] = [
  named('silent', silent),
  named('frozen', (scene) => frozen(scene, 'tracker')),
  named('reference_frozen', (scene) => frozen(scene, 'reference')),
  named('frames_skipped', framesSkipped),
];

/** What shows after a few frames, and is quickly seen, is looked for with every stage. */
const first: Stage = (scene, examination) => {
  for (const stage of AT_ONCE) {
    const found = stage(scene, examination);
    if (found) return found;
  }
  return null;
};

const timed: Stage = (scene, examination) => {
  examination.late = lag(scene);
  return null;
};

/** Late, or read otherwise: what fits best under one of them. */
const fitted: Stage = (scene, { late }) => {
  const share = late ? Number(late.pairs) / Number(late.possible) : 0;
  const otherwise = [misread(scene), late ? null : shifted(scene)].filter((one) => one !== null);
  const best = otherwise.reduce<(typeof otherwise)[number] | null>(
    (one, next) => (one && one.share >= next.share ? one : next),
    null,
  );
  if (best && best.share > share) return { cause: best.cause, evidence: best.evidence };
  return late && { cause: Number(late.frames) > 0 ? 'late' : 'early', evidence: late };
};

/** In the order in which causes are tried; some only where a signal tells of them. */
const STAGES: ReadonlyArray<readonly [stage: Stage, signal?: Signal]> = [
  [timed],
  [fitted],
  [named('duplicated', (scene) => doubled(scene, 'tracker')), 'false'],
  [named('reference_duplicated', (scene) => doubled(scene, 'reference')), 'missed'],
  [exchanged, 'switch'],
  [named('class_lost', classLost), 'missed'],
  [named('region_lost', regionLost), 'missed'],
  [risen, 'false'],
];

export const newExamination = (): Examination => ({ stage: 0, late: null });

export const isDone = ({ stage }: Examination): boolean => stage >= STAGES.length;

/** One more stage; an examination that has found something is done. */
export function examine(scene: IncidentScene, signals: readonly string[], examination: Examination): Diagnosis | null {
  const asked = (signal?: Signal) => signal === undefined || signals.includes(signal);
  while (!isDone(examination) && !asked(STAGES[examination.stage][1])) examination.stage++;
  if (isDone(examination)) return null;
  const found = first(scene, examination) ?? STAGES[examination.stage++][0](scene, examination);
  if (!found) return null;
  examination.stage = STAGES.length;
  return { ...found, message: wordsOf(found.cause, found.evidence) };
}

/** What is behind a spike of these signals, all stages at once; null when nothing explains it. */
export function diagnose(scene: IncidentScene, signals: readonly string[]): Diagnosis | null {
  const examination = newExamination();
  let found: Diagnosis | null = null;
  while (!found && !isDone(examination)) found = examine(scene, signals, examination);
  return found;
}
