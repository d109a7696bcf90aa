/** When a stream is looked at, and when that waits. */
import assert from 'node:assert/strict';
import { Deadlines } from '../../src/live/deadlines.js';
import type { OpenFeeds } from '../../src/live/open-feeds.js';
import type { DurableLog } from '../../src/store/log-port.js';
import type { RunningStream } from '../../src/stream/running-stream.js';

const UNREAD_MAX_MS = 20_000;
const NOBODY = new Set<string>();

describe('deadlines', () => {
  const held = new Set<string>();
  const streamOf = (name: string) =>
    ({ name, idle: () => undefined, deadline: () => 0, share: undefined }) as unknown as RunningStream;

  function newDeadlines(): Deadlines {
    held.clear();
    const streams = Object.assign([streamOf('behind'), streamOf('other')], {
      holdsAcks: (stream: string) => held.has(stream),
      heavy: 0,
    });
    const log = { gauges: { commits: 0, queuedRecords: 0 } } as unknown as DurableLog;
    const settings = { idleCheckMs: 1e9, tickMs: 50, unreadMaxMs: UNREAD_MAX_MS };
    return new Deadlines(streams, {} as OpenFeeds, log, settings);
  }

  /** Who is looked at; the records take effect at once. */
  const dueAt = (deadlines: Deadlines, nowMs: number): string[] => {
    const names = deadlines.due(nowMs, NOBODY).map(({ stream }) => stream);
    deadlines.releaseAll();
    return names;
  };

  it('wait while the evaluation holds back acks of a stream, and a moment longer: its senders wait for them', () => {
    const deadlines = newDeadlines();
    assert.deepEqual(dueAt(deadlines, 0), ['behind', 'other']);
    held.add('behind');
    for (let nowMs = 50; nowMs <= 5000; nowMs += 50) assert.deepEqual(dueAt(deadlines, nowMs), ['other']);
    held.clear();
    assert.deepEqual(dueAt(deadlines, 5900), ['other'], 'who waited for an ack has a moment to answer it');
    assert.deepEqual(dueAt(deadlines, 6100), ['behind', 'other']);
  });

  it('wait for no longer than evaluation.unreadMaxMs', () => {
    const deadlines = newDeadlines();
    held.add('behind');
    assert.deepEqual(dueAt(deadlines, 50), ['other']);
    assert.deepEqual(dueAt(deadlines, 50 + UNREAD_MAX_MS - 1), ['other']);
    assert.deepEqual(dueAt(deadlines, 50 + UNREAD_MAX_MS), ['behind', 'other']);
  });
});
