/** When a stream is too heavy for the thread that serves the sockets. */
import assert from 'node:assert/strict';
import { Load } from '../../src/stream/load.js';

describe('load', () => {
  it('is heavy after one solve with much work, and never for the time it took', () => {
    const load = new Load(4);
    for (let n = 0; n < 100; n++) load.add(3.9);
    assert.equal(load.heavy, false);
    load.add(4);
    assert.equal(load.heavy, true);
    load.add(0);
    assert.equal(load.heavy, true);
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
