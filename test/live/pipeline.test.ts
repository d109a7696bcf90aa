/** In which order the pipeline and everybody else of a thread get their turns. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { EMPTY } from 'rxjs';
import { Channels, connectPipeline } from '../../src/live/pipeline.js';
import { OTHERS_FIRST } from '../../src/live/streams.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { START_MS } from '../kit/live.js';

const event = (stream: string) => ({ stream }) as LiveEvent;

/** What happens around groups of events that are told in slices of so many milliseconds. */
async function toldIn(groups: LiveEvent[][], sliceMs: number): Promise<string[]> {
  const channels = new Channels();
  const order: string[] = [];
  const over = new EventTarget();
  const parts = {
    feeds: { committed() {} },
    streams: { enqueue: () => [], apply: () => groups.values() as never, applyingPosition: 0 },
    deadlines: { due: () => EMPTY as never, append() {} },
    publication: null,
    publishedUpTo: 0,
    look: async () => null,
  };
  const clock = { now: () => START_MS, ticks: () => EMPTY };
  const pipeline = connectPipeline(channels, parts as never, clock, { sliceMs, tickMs: 1000 });
  channels.events$.subscribe(({ stream }) => {
    order.push(stream);
    setImmediate(() => order.push(`after ${stream}`));
    if (stream === 'last') setImmediate(() => over.dispatchEvent(new Event('over')));
  });
  const ended = once(over, 'over');
  channels.committed$.next({ first: 1, records: [] });
  await ended;
  pipeline.unsubscribe();
  return order;
}

describe('a slice of the pipeline', () => {
  it('goes on as long as it has time', async () => {
    const groups = [[event('first')], [event('last')]];
    assert.deepEqual(await toldIn(groups, 1e6), ['first', 'last', 'after first', 'after last']);
  });

  it('ends before what takes long: what was said is out before that begins', async () => {
    const groups = [[event('first')], OTHERS_FIRST, [event('last')]];
    assert.deepEqual(await toldIn(groups, 1e6), ['first', 'after first', 'last', 'after last']);
  });
});
