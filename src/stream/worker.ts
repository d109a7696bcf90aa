/** A worker: the thread that heavy streams run in, which does what `workers.ts` asks of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { WorkerDuties } from './worker-duties.js';
import type { WorkerSetup, WorkerTask } from './workers.js';

const duties = new WorkerDuties(workerData as WorkerSetup, (answer) => parentPort!.postMessage(answer));
parentPort!.on('message', (task: WorkerTask) => duties.receive(task));
