/** A thread of a study: reads and judges one pair of files after the other. */

import { parentPort, workerData } from 'node:worker_threads';
import { answering, type StudyTerms, type Task } from './study.js';

const answer = answering(workerData as StudyTerms);

parentPort?.on('message', (task: Task) => {
  parentPort?.postMessage(answer(task));
});
