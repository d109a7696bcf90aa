/** The thread that heavy streams run in: it does what `threads.ts` asks of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { ThreadDuties } from './thread-duties.js';
import type { ThreadSetup, ThreadTask } from './threads.js';

const duties = new ThreadDuties(workerData as ThreadSetup, (answer) => parentPort!.postMessage(answer));
parentPort!.on('message', (task: ThreadTask) => duties.receive(task));
