/** Groups of events on their way to a shared log: how large they are, and where they are cut. */
import assert from 'node:assert/strict';
import { Publication } from '../../src/live/publication.js';
import type { LiveEvent } from '../../src/wire/events.js';

const event = (type: LiveEvent['type'], n: number) => ({ type, n }) as unknown as LiveEvent;

describe('events on their way to a shared log', () => {
  const published = async (add: (publication: Publication) => void, applied: number) => {
    const groups: Array<{ upTo: number; events: readonly unknown[] }> = [];
    const told: LiveEvent[] = [];
    const log = {
      publishedUpTo: 0,
      publish: async (upTo: number, events: readonly unknown[]) => void groups.push({ upTo, events }),
    };
    const failed = (error: unknown) => assert.fail(String(error));
    const publication = new Publication(
      log,
      () => applied,
      (one) => told.push(one),
      failed,
    );
    add(publication);
    await publication.drained();
    return { groups, told };
  };

  it('go in groups that a broker takes, cut between records, in order and each once', async () => {
    const { groups, told } = await published((publication) => {
      // three events of every second record, as streams take turns
      for (const first of [2, 4])
        for (let position = first; position <= 1000; position += 4)
          for (let n = 0; n < 3; n++) publication.add(position, event('spike', 3 * position + n));
    }, 1003);
    assert.deepEqual(
      groups.map(({ upTo, events }) => [upTo, events.length]),
      [
        [334, 501],
        [668, 501],
        [1003, 498],
      ],
    );
    assert.deepEqual(
      groups.flatMap(({ events }) => events),
      told,
    );
    const order = told.map((one) => (one as unknown as { n: number }).n);
    assert.equal(new Set(order).size, 1500);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  it('leave reports out of account, and never divide a record', async () => {
    const { groups } = await published((publication) => {
      for (let position = 1; position <= 2000; position++) publication.add(position, event('report', position));
      for (let n = 0; n < 2000; n++) publication.add(2001, event('spike', n));
      publication.add(2002, event('spike', 2000));
    }, 2002);
    assert.deepEqual(
      groups.map(({ upTo, events }) => [upTo, events.length]),
      [
        [2001, 4000],
        [2002, 1],
      ],
    );
  });
});
