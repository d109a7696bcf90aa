/** `tgospa eval --demo`: the built-in scene judged and drawn, beside the faults that were put into it. */

import type { PlantedFault } from '../../simulation/planted-fault.js';
import { type Console, write } from '../console/console.js';
import type { Progress } from '../console/progress.js';
import { wrapText } from '../console/table.js';
import { evaluateTrackers, rankingOf } from './one-sequence.js';
import type { Job } from './options.js';
import type { Sequence } from './sequence/sequence.js';
import { drawSeries, slideWindow } from './window-series.js';

const WINDOW_FRAMES = 60;

export async function runDemonstration(
  job: Job,
  sequence: Sequence,
  console: Console,
  progress: Progress,
): Promise<void> {
  const { screen } = console;
  const room = Math.min(screen.columns, 100);
  const evaluations = [...evaluateTrackers(job, sequence, progress)];
  const faulty = sequence.trackers.at(-1)!;
  const [profile] = job.profiles;
  const series = slideWindow(job, profile, faulty, WINDOW_FRAMES, progress, { step: 1, steps: 1 });
  await progress.stop();
  const sections = [
    wrapText(INTRODUCTION, room, '').join('\n'),
    ...job.profiles.map((one) => rankingOf(one, evaluations, screen)),
    drawSeries(faulty, profile, WINDOW_FRAMES, series, screen),
    [`The faults that were built into ${faulty.name}, for comparison:`, ...faulty.faults.map(faultLine)].join('\n'),
    NEXT_STEPS.join('\n'),
  ];
  await write(console.out, `${sections.join('\n\n')}\n`);
}

const INTRODUCTION =
  'The built-in scene: seven people cross a picture in 300 frames, followed by three simulated trackers. TGOSPA gives each ' +
  'its distance from the truth (smaller is better) and splits the cost exactly into localization, missed, false and switch.';
const NEXT_STEPS = [
  'Continue with your own files in MOTChallenge format:',
  '  npx tgospa eval --reference gt.txt --tracker a.txt --tracker b.txt',
  '  npx tgospa eval --reference gt.txt --tracker a.txt --window 60 --csv out.csv',
  '  npx tgospa eval --help',
];

function faultLine({ from, to, what }: PlantedFault): string {
  const when = from === to ? `frame ${from}` : `frames ${from} to ${to}`;
  return `  ${when.padEnd(17)}  ${what}`;
}
