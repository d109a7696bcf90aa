import assert from 'node:assert/strict';
import { FeedOrigins } from '../../src/cluster/feed-origins.js';
import type { LogRecord } from '../../src/store/record.js';

const feed = (stream: string, tracker: string | null) => ({
  stream,
  tracker,
  role: tracker === null ? ('reference' as const) : ('tracker' as const),
});
const part = (stream: string, tracker: string | null): LogRecord =>
  ({ kind: 'part', ...feed(stream, tracker), atMs: 1, part: { seq: 1, objects: [] } }) as unknown as LogRecord;

describe('origins of feeds', () => {
  const origins = new FeedOrigins();
  const of = (process: string) =>
    origins.of((one) => one === process).map(({ stream, tracker }) => `${stream} ${tracker}`);

  it('are the processes that stored their last part', () => {
    origins.record('p', [part('s', null), part('s', 't'), part('other', 't')]);
    origins.record('q', [part('s', 't')]);
    assert.deepEqual(of('p'), ['s null', 'other t']);
    assert.deepEqual(of('q'), ['s t']);
  });

  it('are forgotten with a cut, an end, and what is retired', () => {
    origins.record('owner', [{ kind: 'cut', ...feed('s', null), atMs: 2 }]);
    assert.deepEqual(of('p'), ['other t']);
    assert.ok(origins.has(feed('s', 't')), 'of that feed alone');
    origins.record('p', [part('s', null)]);
    origins.record('owner', [{ kind: 'retire', stream: 's', tracker: null, atMs: 3 }]);
    assert.deepEqual([of('p'), of('q')], [['other t'], []]);
    origins.record('p', [{ kind: 'end', ...feed('other', 't'), atMs: 4 }]);
    assert.deepEqual(of('p'), []);
  });
});
