import { strict as assert } from 'node:assert';
import { PARTITIONS, partitionOf, slotOf } from '../../src/store/partition.js';

describe('partition', () => {
  it('is the same for a name for ever: stores are laid out by it', () => {
    assert.deepEqual(['gate-7', 'yard', '', 'größe'].map(partitionOf), [28, 40, 0, 9]);
  });

  it('deals streams out evenly, to partitions and to slots', () => {
    const names = Array.from({ length: 6400 }, (_, n) => `stream-${n}`);
    const counts = new Array(PARTITIONS).fill(0);
    for (const name of names) counts[partitionOf(name)]++;
    assert.ok(Math.min(...counts) > 60 && Math.max(...counts) < 150, String(counts));
    const second = names.filter((name) => slotOf(name, 2) === 1).length;
    assert.ok(second > 3000 && second < 3400, String(second));
  });
});
