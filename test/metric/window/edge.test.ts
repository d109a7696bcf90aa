/** The frames of an edge: a ring that grows, is emptied and filled again, over numbers that never end. */

import assert from 'node:assert/strict';
import { Edge, Trajectory } from '../../../src/metric/window/trajectory.js';
import { randomFrom } from '../../kit/random.js';

describe('the frames of an edge', () => {
  const edge = () => new Edge(new Trajectory('a', 0, 0), new Trajectory('b', 1, 1), 0);

  it('are found as in a plain list, with gaps, through growth and emptiness', () => {
    const next = randomFrom(3);
    const ring = edge();
    let list: { frame: number; pair: number }[] = [];
    let number = 0;
    for (let step = 0; step < 3000; step++) {
      number += next() < 0.8 ? 1 : 1 + Math.floor(next() * 20);
      const pair = Math.floor(next() * 50);
      ring.add(number, pair);
      list.push({ frame: number, pair });
      const length = step % 500 === 499 ? 0 : Math.floor(next() * 70);
      while (list.length > length && next() < 0.9) {
        ring.dropFirst();
        list = list.slice(1);
      }
      assert.equal(ring.size, list.length);
      list.forEach(({ frame, pair }, n) => {
        assert.equal(ring.frameAt(n), frame);
        assert.equal(ring.pairAt(n), pair);
      });
      for (let wanted = (list[0]?.frame ?? number) - 2; wanted <= number + 2; wanted++) {
        assert.equal(
          ring.seek(wanted),
          list.findIndex(({ frame }) => frame >= wanted),
        );
        assert.equal(ring.pairIn(wanted), list.find(({ frame }) => frame === wanted)?.pair ?? -1);
      }
    }
  });

  it('keep their numbers however far these go', () => {
    const ring = edge();
    ring.add(5, 1);
    let number = 2 ** 30 - 40;
    for (let n = 0; n < 100; n++) ring.add(++number, n);
    ring.dropFirst();
    number = 2 ** 30 + 100;
    for (let n = 0; n < 10; n++) ring.add(number + n, 200 + n);
    assert.equal(ring.frameAt(0), 2 ** 30 - 39);
    assert.equal(ring.pairIn(2 ** 30 + 60), 99);
    assert.equal(ring.pairIn(2 ** 30 + 109), 209);
    for (let far = 2 ** 31; far < 2 ** 34; far += 2 ** 30 - 7) {
      while (ring.size > 1) ring.dropFirst();
      ring.add(far, 7);
      assert.equal(ring.frameAt(ring.size - 1), far);
      assert.equal(ring.pairIn(far), 7);
    }
  });
});
