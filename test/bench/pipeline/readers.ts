/**
 * Readers of /v1/live in a process of their own: `readers URL COUNT [mixed]`; they count what they get and
 * look at nothing. All read everything; mixed, some want the objects too, some one report in 100 ms, some one stream,
 * and some stop reading.
 */
import { once } from 'node:events';
import WebSocket from 'ws';

const [url, count, kind] = process.argv.slice(2);
const MIXED = ['', '?objects=1', '?everyMs=100', '?stream=stream-1&objects=1', 'slow'];
const wishOf = (n: number) => (kind === 'mixed' ? MIXED[n % MIXED.length] : '');
let messages = 0;
const sockets = Array.from(
  { length: Number(count) },
  (_, n) => new WebSocket(url + wishOf(n).replace('slow', ''), ['tgospa.v1'], { perMessageDeflate: false }),
);
for (const socket of sockets) socket.on('message', () => messages++);
await Promise.all(sockets.map((socket) => once(socket, 'open')));
for (const [n, socket] of sockets.entries()) if (wishOf(n) === 'slow') socket.pause();
process.on('message', () =>
  process.send!({ messages, open: sockets.filter(({ readyState }) => readyState === 1).length }),
);
process.on('disconnect', () => process.exit(0));
process.send!('open');
