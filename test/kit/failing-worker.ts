/** Loaded before anything else by a process under test: its first thread of the evaluation fails after some records. */
import { isMainThread, parentPort } from 'node:worker_threads';

const LAST_RECORD = 30;

if (!isMainThread && parentPort) {
  const port = parentPort;
  const post = port.postMessage.bind(port);
  let records = 0;
  port.postMessage = (message: { type?: string }) => {
    if (message.type === 'applied' && ++records > LAST_RECORD) throw new Error('this thread was told to fail');
    post(message);
  };
}
