/** A thread of a study: reads and judges one pair of files after the other. */

import { parentPort, workerData } from 'node:worker_threads';
import { InputError } from '../../metric/input-error.js';
import { PairReader } from '../files/pair-reader.js';
import type { Answer, StudyTerms, Task } from './study.js';
import { judge } from './verdict.js';

const terms = workerData as StudyTerms;
const reader = new PairReader(terms.reading);

parentPort?.on('message', (task: Task) => {
  parentPort?.postMessage(answerTo(task));
});

function answerTo({ index, pair }: Task): Answer {
  try {
    const read = reader.read(pair);
    return { index, verdict: judge(read, terms), notes: read.notes };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { index, problems: error.problems };
  }
}
