/** How many workers there are. */
import { strict as assert } from 'node:assert';
import { workersOf } from '../../src/cores/start.js';

describe('the number of workers', () => {
  it('is by default one less than there are cores, and none on one core', () => {
    assert.deepEqual(
      [1, 2, 3, 8, 1000].map((cores) => workersOf('auto', cores)),
      [0, 1, 2, 7, 64],
    );
  });

  it('is what the configuration says', () => {
    assert.deepEqual([workersOf(0, 8), workersOf(3, 2)], [0, 3]);
  });
});
