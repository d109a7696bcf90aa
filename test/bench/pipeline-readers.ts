/**
 * Readers of /v1/live in a process of their own: `pipeline-readers URL COUNT`; they count what they get and look at
 * nothing.
 */
import { once } from 'node:events';
import WebSocket from 'ws';

const [url, count] = process.argv.slice(2);
let messages = 0;
const sockets = Array.from(
  { length: Number(count) },
  () => new WebSocket(url, ['tgospa.v1'], { perMessageDeflate: false }),
);
for (const socket of sockets) socket.on('message', () => messages++);
await Promise.all(sockets.map((socket) => once(socket, 'open')));
process.on('message', () =>
  process.send!({ messages, open: sockets.filter(({ readyState }) => readyState === 1).length }),
);
process.on('disconnect', () => process.exit(0));
process.send!('open');
