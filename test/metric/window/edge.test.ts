/** The frames of an edge: a ring that grows, is emptied and filled again, over numbers that never end. */

import assert from 'node:assert/strict';
import { EdgeRows } from '../../../src/metric/window/edge-rows.js';
import { Edge, Trajectory } from '../../../src/metric/window/trajectory.js';
import { randomFrom } from '../../kit/random.js';

describe('the frames of an edge', () => {
  const edge = (span: number, rows = new EdgeRows(span)) =>
    new Edge(new Trajectory('a', 0, 0), new Trajectory('b', 1, 1), 0, rows);

  it('are found as in a plain list, with gaps, through growth and emptiness', () => {
    const next = randomFrom(3);
    const ring = edge(4000);
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
    const ring = edge(2 ** 32);
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

  for (const span of [200, 256, 257, 70_000])
    it(`stand side by side, come and go, and are moved together, within ${span} frames`, () => {
      const next = randomFrom(span);
      let rows = new EdgeRows(span);
      let rings: { ring: Edge; list: [frame: number, pair: number][] }[] = [];
      let moves = 0;
      let number = 2 ** 40;
      for (let step = 0; step < 2000; step++) {
        number += 1 + Math.floor((next() ** 8 * span) / 4);
        // first many, then few
        const many = step < 1000 ? 120 : 5;
        while (rings.length < many) rings.push({ ring: edge(span, rows), list: [] });
        for (const { ring, list } of rings) {
          while (list.length > 0 && (list[0][0] <= number - span || list.length > 90)) {
            ring.dropFirst();
            list.shift();
          }
          if (next() < 0.3) continue;
          const pair = Math.floor(next() * (step < 300 ? 200 : 70_000));
          ring.add(number, pair);
          list.push([number, pair]);
        }
        const gone = step < 1000 ? 0.02 : 0.1;
        rings = rings.filter(({ ring }, n) => {
          if (n < 5 || next() > gone) return true;
          ring.free();
          return false;
        });
        const smaller = rows.smaller();
        if (smaller) {
          moves++;
          rows = smaller;
          for (const { ring } of rings) ring.moveTo(rows);
        }
        if (step % 10 > 0) continue;
        for (const { ring, list } of rings)
          assert.deepEqual(
            Array.from({ length: ring.size }, (_, n) => [ring.frameAt(n), ring.pairAt(n)]),
            list,
          );
      }
      assert.ok(moves > 0);
    });
});
