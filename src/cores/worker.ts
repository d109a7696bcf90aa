/** A worker: the thread that evaluates the partitions of a slot, and does what `worker-core.ts` asks of it. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ToWorker, WorkerSetup } from './messages.js';
import { WorkerDuties } from './worker-duties.js';

const duties = new WorkerDuties(workerData as WorkerSetup, (message) => parentPort!.postMessage(message));
parentPort!.on('message', (message: ToWorker) => duties.receive(message));
await duties.start();
