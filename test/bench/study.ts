/**
 * `npm run bench -- study [--rounds N] [--profile NAME ...] [--trackeval FOLDER]`: all of MOT17 (seven sequences, four
 * trackers, companion scores, report) against a plain read-and-parse of the same files, in the same run: every line
 * split and turned into numbers, each file once. Without ../shared/data a seeded crowd is written to a temporary folder
 * instead. Memory is the peak of a process that runs the study alone. With a copy of TrackEval (`--trackeval`) its
 * processor time beside ours, and that of a short clip (rivals.ts). The last line is the result as JSON.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runStudy, type StudyTerms } from '../../src/commands/eval/study/study.js';
import { drawStudyPage } from '../../src/commands/eval/study/study-page.js';
import { findStudy } from '../../src/commands/files/layout.js';
import { presets } from '../../src/index.js';
import type { Obj } from '../../src/metric/evaluation.js';
import { crowd } from './crowd.js';
import { againstTrackEval, clipSeconds } from './rivals.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    trackeval: { type: 'string' },
    profile: { type: 'string', multiple: true, default: ['online-surveillance'] },
  },
});
const DATA = '../shared/data/MOT17';
const temporary = mkdtempSync(join(tmpdir(), 'tgospa-bench-'));
const real = existsSync(DATA);
const [reference, trackers] = real ? [`${DATA}/train`, `${DATA}/results`] : writeCrowds();

/** Seven crowds of 20 as MOTChallenge files, and two trackers of them. */
function writeCrowds(): [string, string] {
  const rows = (feeds: Obj[][], tail: string) =>
    feeds
      .map((objects, n) =>
        objects
          .map((one) => `${n + 1},${one.id.replace(/\D/g, '')},${(one as { box: number[] }).box},${tail}\n`)
          .join(''),
      )
      .join('');
  for (let n = 1; n <= 7; n++) {
    const put = (path: string, text: string) => {
      mkdirSync(join(temporary, path, '..'), { recursive: true });
      writeFileSync(join(temporary, path), text);
    };
    for (const [tracker, seed] of [
      ['A', n],
      ['B', n + 100],
    ] as const) {
      const frames = crowd(20, 600, seed);
      if (tracker === 'A')
        put(
          `train/SEQ-${n}/gt/gt.txt`,
          rows(
            frames.map((frame) => frame.reference),
            '1,1,1',
          ),
        );
      put(
        `results/${tracker}/SEQ-${n}.txt`,
        rows(
          frames.map((frame) => frame.tracker),
          '1,-1,-1,-1',
        ),
      );
    }
  }
  return [join(temporary, 'train'), join(temporary, 'results')];
}

const MOT = { name: 'motchallenge', options: {} };
const found = findStudy(reference, [trackers]);
const terms: StudyTerms = {
  profiles: values.profile.map((name) => ({ name, params: presets[name as keyof typeof presets] })),
  solve: {},
  scores: true,
  events: false,
  details: true,
  coverage: null,
  reading: { formats: { reference: MOT, tracker: MOT } },
};

/** What any program must do: read the bytes, split the lines, turn the fields into numbers. */
function readAndParse(): { ms: number; rows: number; bytes: number } {
  const began = performance.now();
  const files = new Set(
    found.sequences.flatMap((one) => [one.reference, ...one.trackers.filter((file) => file !== null)]),
  );
  let rows = 0;
  let bytes = 0;
  let sum = 0;
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    bytes += text.length;
    for (const line of text.split('\n')) {
      if (line === '') continue;
      rows++;
      for (const field of line.split(',')) sum += Number(field);
    }
  }
  if (Number.isNaN(sum)) throw new Error('a field is no number');
  return { ms: performance.now() - began, rows, bytes };
}

async function study(): Promise<number> {
  const began = performance.now();
  const result = await runStudy({ ...found, reference }, terms);
  const page = drawStudyPage([result], 'npm run bench -- study');
  if (page.length < 1000) throw new Error('the report is empty');
  return performance.now() - began;
}

try {
  if (values.only === 'study') {
    await study();
    console.log(process.resourceUsage().maxRSS / 1024);
  } else {
    readAndParse();
    const rounds = [];
    for (let n = 0; n < Number(values.rounds); n++) {
      const plain = readAndParse();
      const studyMs = await study();
      rounds.push({
        plainMs: Math.round(plain.ms),
        studyMs: Math.round(studyMs),
        ratio: Number((studyMs / plain.ms).toFixed(2)),
      });
      console.log(`read and parse ${rounds[n].plainMs} ms, study ${rounds[n].studyMs} ms: ${rounds[n].ratio} times`);
    }
    const alone = spawnSync(
      process.execPath,
      [fileURLToPath(import.meta.url), '--only', 'study', ...values.profile.flatMap((name) => ['--profile', name])],
      { encoding: 'utf8' },
    );
    const clip = real ? clipSeconds(DATA, temporary, 7) : null;
    if (clip) console.log(`a clip of 60 frames takes ${clip.clip} s of processor time, Node alone ${clip.node} s`);
    const rivals =
      real && values.trackeval ? againstTrackEval(DATA, values.trackeval, temporary, Number(values.rounds)) : [];
    for (const { trackEval, ours } of rivals)
      console.log(
        `TrackEval ${trackEval.toFixed(2)} s, ours ${ours.toFixed(2)} s: ${(trackEval / ours).toFixed(2)} times`,
      );
    const { rows, bytes } = readAndParse();
    const median = [...rounds].sort((a, b) => a.ratio - b.ratio)[Math.floor(rounds.length / 2)];
    const result = {
      source: real ? 'MOT17' : 'synthetic',
      sequences: found.sequences.length,
      trackers: found.trackers.length,
      profiles: terms.profiles.length,
      rows,
      megabytes: Number((bytes / 1e6).toFixed(1)),
      ...median,
      peakMb: Math.round(Number(alone.stdout)),
      ...clip,
      ...(rivals.length > 0 && { rivals }),
    };
    console.log(`${result.ratio} times a plain read-and-parse (at most 20), peak memory ${result.peakMb} MB`);
    console.log(JSON.stringify(result));
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
