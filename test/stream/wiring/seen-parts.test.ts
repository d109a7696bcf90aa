/** The parts that are kept to be examined: what is read is what came, the last of it. */

import assert from 'node:assert/strict';
import { SeenParts } from '../../../src/stream/wiring/seen-parts.js';
import { NO_OBJECTS, type PackedList } from '../../../src/wire/objects.js';
import { randomFrom } from '../../kit/random.js';

describe('parts that are kept to be examined', () => {
  const next = randomFrom(5);
  const list = (count: number, digits: number, more: Partial<PackedList> = {}): PackedList => ({
    shape: 'box',
    stride: 4,
    ids: Array.from({ length: count }, (_, n) => `t${n}`),
    coordinates: Array.from({ length: 4 * count }, () => Number((2000 * next()).toFixed(digits))),
    ...more,
  });

  it('are the last 64, or fewer where they have many objects, as they came', () => {
    for (const [count, kept] of [
      [3, 64],
      [100, 40],
      [1000, 16],
    ]) {
      const seen = new SeenParts();
      const parts = Array.from({ length: 100 }, (_, n) => {
        const objects = list(n % 7 === 0 ? count - 1 : count, n % 4 === 0 ? 15 : n % 4);
        return { receivedMs: 1000 + n, objects, ...(n % 2 ? { k: n } : { t: n / 10 }) };
      });
      for (const part of parts) seen.add(part, part.receivedMs);
      assert.ok(seen.length === kept || seen.length === kept + 1, `${seen.length} of ${count} objects`);
      assert.deepEqual(seen.list(), parts.slice(-seen.length));
      assert.deepEqual(new SeenParts(seen.list()).list(), seen.list());
      seen.clear();
      assert.deepEqual([seen.length, seen.newest, seen.list()], [0, undefined, []]);
    }
  });

  it('keep what else is known of objects', () => {
    const seen = new SeenParts();
    const extras = { confidences: [0.5, null], classes: ['car', null], velocities: [[1, 2], null] };
    const lists = [list(2, 2), list(2, 2, extras), list(2, 2, { ...extras, ids: ['a', 'b'] }), NO_OBJECTS, list(2, 2)];
    lists.forEach((objects, n) => {
      seen.add({ k: n, objects }, n);
    });
    assert.deepEqual(
      seen.list().map(({ objects }) => objects),
      lists,
    );
    const parts = seen.list();
    parts[0].objects.coordinates[0] = -1;
    assert.deepEqual(seen.list()[0].objects, lists[0]);
  });
});
