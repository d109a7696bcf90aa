/** The event history: bounded, in order, and fair to streams. */
import { strict as assert } from 'node:assert';
import type { Log } from '../../src/store/log.js';
import { EventHistory } from '../../src/stream/history.js';
import type { LiveEvent } from '../../src/wire/events.js';

const EVENTS_MAX = 12;

const silence = (stream: string, since: number): LiveEvent => ({
  type: 'silence',
  stream,
  role: 'reference',
  tracker: null,
  since,
  over: false,
});

describe('event history', () => {
  let stored: Map<string, unknown>;
  let history: EventHistory;

  beforeEach(() => {
    stored = new Map();
    const log = {
      events: async () => [],
      saveEvent: (key: string, event: unknown) => (event === null ? stored.delete(key) : stored.set(key, event)),
    };
    history = new EventHistory(log as unknown as Log, EVENTS_MAX);
  });

  const rejectOften = (stream: string, times: number) => {
    for (let n = 0; n < times; n++) {
      const code = n % 2 ? 'json_invalid' : 'frame_invalid';
      history.addRejected({ type: 'rejected', stream, role: 'tracker', tracker: 't', code, count: 1, atMs: n }, 500);
    }
  };

  it('keeps the events of other streams when one is rejected all the time', () => {
    for (let n = 0; n < 5; n++) history.add(`0${n}`, silence(n % 2 ? 'gate' : 'yard', n));
    rejectOften('noisy', 1000);
    assert.equal(history.list().length, EVENTS_MAX);
    assert.equal(history.list('gate').length + history.list('yard').length, 5);
    assert.equal(history.list('noisy').length, 7);
    assert.equal(stored.size, 5);
  });

  it('takes from the stream that has most when a quiet one has something to tell', () => {
    rejectOften('noisy', 1000);
    for (let n = 0; n < 4; n++) history.add(`0${n}`, silence('gate', n));
    assert.deepEqual(
      history.list('gate').map((event) => event.type === 'silence' && event.since),
      [0, 1, 2, 3],
    );
    assert.equal(history.list('noisy').length, 8);
  });

  it('lists events in the order of their keys, whenever they came', () => {
    history.add('03', silence('b', 3));
    history.add('01', silence('a', 1));
    history.add('02', silence('b', 2));
    const order = (stream?: string) => history.list(stream).map((event) => event.type === 'silence' && event.since);
    assert.deepEqual(order(), [1, 2, 3]);
    assert.deepEqual(order('b'), [2, 3]);
  });
});
