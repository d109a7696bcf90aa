/**
 * Processor time of whole commands, each in a process of its own, one after the other in the same run: `tgospa eval` on
 * a clip of 60 frames beside Node alone, and on all of MOT17 beside TrackEval with the same files, preprocessing and
 * scores, where a copy of it is at hand (python3 with numpy and scipy runs it).
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const NODE = [process.execPath, '--max-semi-space-size=64'];
/** Trackers of the 21 files. */
const TRACKERS = ['MPNTrack', 'Lif_T', 'BoT-SORT-ReTrack-Botsort_baseline'];
const CLIP_FRAMES = 60;

/** Seconds of processor time that a command and what it starts take. */
function cpuSeconds(command: readonly string[]): number {
  const script = '"$@" >/dev/null 2>&1 || exit 1; times';
  const { status, stdout } = spawnSync('sh', ['-c', script, 'sh', ...command], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`failed: ${command.join(' ')}`);
  const children = stdout.trim().split('\n')[1];
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + 60 * Number(m) + Number(s), 0);
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Seconds for Node alone and for a clip, each the median of the rounds. */
export function clipSeconds(data: string, folder: string, rounds: number): { node: number; clip: number } {
  const [reference, tracker] = [`${data}/train/MOT17-09/gt/gt.txt`, `${data}/results/Lif_T/MOT17-09-FRCNN.txt`].map(
    (file, n) => {
      const rows = readFileSync(file, 'utf8').split('\n');
      const clip = join(folder, `clip-${n}.txt`);
      writeFileSync(clip, rows.filter((row) => row !== '' && Number.parseInt(row, 10) <= CLIP_FRAMES).join('\n'));
      return clip;
    },
  );
  const times = Array.from({ length: rounds }, () => ({
    node: cpuSeconds([process.execPath, '-e', '0']),
    clip: cpuSeconds([...NODE, MAIN, 'eval', '--reference', reference, '--tracker', tracker, '--scores']),
  }));
  return { node: median(times.map(({ node }) => node)), clip: median(times.map(({ clip }) => clip)) };
}

const SCRIPT = `
import sys, numpy as np
np.float, np.int = float, int  # names of older versions
sys.path.insert(0, sys.argv[1])
import trackeval
folder = sys.argv[2]
quiet = {'PRINT_CONFIG': False}
evaluator = trackeval.Evaluator({**quiet, 'TIME_PROGRESS': False, 'PLOT_CURVES': False, 'OUTPUT_DETAILED': False})
dataset = trackeval.datasets.MotChallenge2DBox({**quiet, 'BENCHMARK': 'MOT17', 'GT_FOLDER': folder + '/gt',
  'TRACKERS_FOLDER': folder + '/trackers', 'OUTPUT_FOLDER': folder + '/out', 'SEQMAP_FILE': folder + '/sequences.txt'})
metrics = trackeval.metrics
evaluator.evaluate([dataset], [metrics.HOTA({}), metrics.CLEAR(quiet), metrics.Identity(quiet)])
`;

/** Seconds for all of MOT17 with TrackEval and with ours, round by round. */
export function againstTrackEval(
  data: string,
  copy: string,
  folder: string,
  rounds: number,
): Array<{ trackEval: number; ours: number }> {
  const names = readdirSync(`${data}/train`).filter((name) => /^MOT17-\d\d$/.test(name));
  for (const name of names) {
    mkdirSync(join(folder, `gt/MOT17-train/${name}-FRCNN`), { recursive: true });
    for (const entry of ['gt', 'seqinfo.ini'])
      symlinkSync(resolve(data, 'train', name, entry), join(folder, `gt/MOT17-train/${name}-FRCNN`, entry));
  }
  for (const tracker of TRACKERS) {
    for (const place of [`trackers/MOT17-train/${tracker}`, 'results'])
      mkdirSync(join(folder, place), { recursive: true });
    symlinkSync(resolve(data, 'results', tracker), join(folder, `trackers/MOT17-train/${tracker}/data`));
    symlinkSync(resolve(data, 'results', tracker), join(folder, 'results', tracker));
  }
  writeFileSync(join(folder, 'sequences.txt'), ['name', ...names.map((name) => `${name}-FRCNN`)].join('\n'));
  writeFileSync(join(folder, 'rival.py'), SCRIPT);
  const study = ['--reference', join(folder, 'gt/MOT17-train'), '--tracker', join(folder, 'results')];
  return Array.from({ length: rounds }, () => ({
    trackEval: cpuSeconds(['python3', join(folder, 'rival.py'), copy, folder]),
    ours: cpuSeconds([...NODE, MAIN, 'eval', ...study, '--preprocess', 'motchallenge', '--scores']),
  }));
}
