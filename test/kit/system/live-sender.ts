/**
 * Sends a scene through a pipeline in a process of its own, so that the process can be killed: run by live.test.ts
 * with a folder and a number of frames. Goes on where the store left off, tells what is acked, and at the end
 * everything that must not depend on how often it was killed.
 */
import { readConfig } from '../../../src/config/config.js';
import { Live } from '../../../src/live/live.js';
import type { FeedId } from '../../../src/wire/feed.js';
import { pack, type WireObject } from '../../../src/wire/objects.js';
import { isLasting } from '../live.js';

const [dir, count] = process.argv.slice(2);
const frames = Number(count);
const text = JSON.stringify({
  data: { dir, groupCommitMs: 2, snapshotFrames: 150 },
  streams: { defaults: { windowFrames: 30, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
});
const live = await Live.open(
  readConfig({ text, env: {} }).config,
  { now: Date.now },
  { info() {}, warn() {}, error() {} },
);
const reference: FeedId = { stream: 's', role: 'reference', tracker: null };
const tracker: FeedId = { stream: 's', role: 'tracker', tracker: 't' };

/** Objects in lanes; every 37 frames two tracks swap, every 11th frame the tracker misses one. */
function objectsAt(k: number, tracks: boolean): WireObject[] {
  const swap = Math.floor(k / 37) % 2;
  const list = Array.from({ length: 8 }, (_, n): WireObject => {
    const id = tracks && n < 2 ? (n + swap) % 2 : n;
    return { id: String(id), box: [n * 15 + (k % 50) + (tracks ? (k * (n + 3)) % 5 : 0), n, 20, 40] };
  });
  return tracks && k % 11 === 0 ? list.slice(1) : list;
}

const next: number[] = [];
for (const feed of [reference, tracker]) {
  const answer = await live.openFeed(feed);
  if (!('nextSeq' in answer)) throw new Error(answer.message);
  next.push(answer.nextSeq);
}
process.send!({ resumedAt: next[0] });
for (let first = Math.min(...next); first <= frames; first += 25) {
  const acks: Promise<void>[] = [];
  for (let k = first; k < Math.min(first + 25, frames + 1); k++) {
    acks.push(live.ingest(reference, { seq: k, k, objects: pack(objectsAt(k, false)) }, Date.now()));
    if (k % 13 > 0) acks.push(live.ingest(tracker, { seq: k, k, objects: pack(objectsAt(k, true)) }, Date.now()));
  }
  await Promise.all(acks);
  process.send!({ acked: Math.min(first + 24, frames) });
}
await live.end(reference);
await live.end(tracker);
const plain = (value: object) => JSON.parse(JSON.stringify(value, (key, v) => (TIMES.includes(key) ? undefined : v)));
const TIMES = ['atMs', 'receivedMs', 'solveMs', 'lastReceivedMs', 'since', 'sinceMs', 'perFrame'];
const reports = live.reports().map(({ spikes, ...report }) => ({
  ...report,
  gauges: spikes?.signals.map((signal) => spikes.gauge(signal)),
}));
const result = {
  reports: plain(reports),
  history: plain(live.recentEvents().filter(isLasting)),
  streams: plain(live.streams()),
};
await live.stop();
process.send!({ result });
process.disconnect();
