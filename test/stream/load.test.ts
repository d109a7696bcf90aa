/** When a stream is too heavy for the thread that serves the sockets. */
import assert from 'node:assert/strict';
import { Load } from '../../src/stream/load.js';

describe('load', () => {
  it('is heavy after four long solves in a row, or one with much work, and not after a pause of the machine', () => {
    const paused = new Load(4);
    for (let n = 0; n < 100; n++) paused.add(n % 20 === 0 ? 50 : 0.1, 0.1);
    assert.equal(paused.heavy, false);
    for (let n = 0; n < 4; n++) paused.add(5, 1);
    assert.equal(paused.heavy, true);
    const laborious = new Load(4);
    laborious.add(0.1, 4.1);
    assert.equal(laborious.heavy, true);
  });

  it('is heavy before a part with very many objects is applied, and stays light in a worker', () => {
    const load = new Load(4);
    load.expect(127);
    assert.equal(load.heavy, false);
    load.expect(128);
    assert.equal(load.heavy, true);
    const inWorker = new Load(undefined);
    inWorker.expect(2000);
    assert.equal(inWorker.heavy, false);
  });
});
