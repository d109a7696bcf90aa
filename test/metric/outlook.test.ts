/** The bounds by which the frontier drops states, against the best future of every state of small knots. */

import assert from 'node:assert/strict';
import { Outlook } from '../../src/metric/frontier/outlook.js';
import { FREE, FRESH } from '../../src/metric/frontier/part.js';
import { Edge, Trajectory } from '../../src/metric/window/trajectory.js';
import { type Random, randomFrom } from '../kit/random.js';

/** All states of n truths and m tracks: who holds whom, and who of the others is fresh. */
function allStates(n: number, m: number): Int16Array[] {
  const states: Int16Array[] = [];
  const state = new Int16Array(n + m);
  const others = (x: number) => {
    if (x === n + m) states.push(state.slice());
    else if (state[x] >= 0) others(x + 1);
    else
      for (const kind of [FREE, FRESH]) {
        state[x] = kind;
        others(x + 1);
        state[x] = FREE;
      }
  };
  const pairs = (i: number) => {
    if (i === n) {
      others(0);
      return;
    }
    pairs(i + 1);
    for (let j = 0; j < m; j++) {
      if (state[n + j] >= 0) continue;
      state[i] = j;
      state[n + j] = i;
      pairs(i + 1);
      state[i] = state[n + j] = FREE;
    }
  };
  state.fill(FREE);
  pairs(0);
  return states;
}

/** Every way to join pairs in one frame, with the half-switches it takes. */
function forEachMove(state: Int16Array, n: number, visit: (next: Int16Array, halves: number) => void): void {
  const m = state.length - n;
  const joins: [number, number][] = [];
  const arrive = () => {
    const next = state.slice();
    let halves = 0;
    const release = (i: number) => {
      halves++;
      next[n + next[i]] = FREE;
      next[i] = FREE;
    };
    for (const [i, j] of joins) {
      if (next[i] >= 0) release(i);
      if (next[n + j] >= 0) release(next[n + j]);
    }
    for (const [i, j] of joins) {
      if (next[i] !== FRESH || next[n + j] !== FRESH) halves++;
      next[i] = j;
      next[n + j] = i;
    }
    visit(next, halves);
  };
  const from = (i: number) => {
    if (i === n) {
      arrive();
      return;
    }
    from(i + 1);
    for (let j = 0; j < m; j++) {
      if (state[i] === j || joins.some((join) => join[1] === j)) continue;
      joins.push([i, j]);
      from(i + 1);
      joins.pop();
    }
  };
  from(0);
}

/** The most that can be earned from every state on; benefit[frame][i * m + j]. */
function futures(states: Int16Array[], n: number, benefit: number[][], h: number): Map<string, number> {
  const m = states[0].length - n;
  let value = new Map(states.map((state) => [state.join(), 0]));
  for (const earns of [...benefit].reverse()) {
    const before = new Map<string, number>();
    for (const state of states) {
      let best = Number.NEGATIVE_INFINITY;
      forEachMove(state, n, (next, halves) => {
        let sum = value.get(next.join())! - halves * h;
        for (let i = 0; i < n; i++) if (next[i] >= 0) sum += earns[i * m + next[i]];
        best = Math.max(best, sum);
      });
      before.set(state.join(), best);
    }
    value = before;
  }
  return value;
}

/** An outlook on frames to come, and what they earn. */
export function randomFuture(random: Random, n: number, m: number, h: number) {
  const sparse = 0.3 + 0.6 * random();
  const benefit = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
    Array.from({ length: n * m }, () => (random() < sparse ? 0 : Math.ceil(random() * 10))),
  );
  const side = (count: number, name: string) =>
    Array.from({ length: count }, (_, x) => {
      const trajectory = new Trajectory(`${name}${x}`, x);
      trajectory.knot = x;
      return trajectory;
    });
  const truths = side(n, 't');
  const tracks = side(m, 'k');
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      const edge = new Edge(truths[i], tracks[j]);
      edge.remaining = benefit.reduce((sum, frame) => sum + frame[i * m + j], 0);
      truths[i].addEdge(edge);
      tracks[j].addEdge(edge);
      truths[i].remaining += edge.remaining;
      tracks[j].remaining += edge.remaining;
    }
  }
  const outlook = new Outlook(h);
  outlook.begin(truths, tracks);
  outlook.look();
  return { benefit, outlook, truths, tracks };
}

describe('an outlook', () => {
  for (const [n, m, count] of [
    [1, 2, 60],
    [2, 2, 60],
    [2, 3, 20],
    [3, 3, 10],
  ]) {
    it(`never says too little about what a state of ${n} by ${m} can lose against another`, () => {
      const states = allStates(n, m);
      let tight = 0;
      for (let seed = 1; seed <= count; seed++) {
        const random = randomFrom(seed);
        const h = Math.ceil(random() * 12);
        const { benefit, outlook } = randomFuture(random, n, m, h);
        const value = futures(states, n, benefit, h);
        const size = n + m;
        const rows = new Int16Array(states.length * size);
        states.forEach((state, s) => {
          rows.set(state, s * size);
        });
        for (const [s1, t1] of states.entries()) {
          for (const [s, t] of states.entries()) {
            const loss = value.get(t.join())! - value.get(t1.join())!;
            const place = `seed ${seed}, h ${h}, from ${t1} as ${t}, ${JSON.stringify(benefit)}`;
            const causal = outlook.follow(rows, s1 * size, s * size);
            assert.ok(loss <= causal, `D: ${loss} > ${causal}, ${place}`);
            const bound = outlook.followAhead(rows, s1 * size, s * size, Number.POSITIVE_INFINITY);
            assert.ok(loss <= bound, `D': ${loss} > ${bound}, ${place}`);
            if (t1 !== t && bound > 0 && loss === bound) tight++;
          }
        }
      }
      assert.ok(tight > 0, 'the bound is never reached');
    });
  }

  it('says, where it is cautious, no less than otherwise, and grows by no more than what is added', () => {
    const n = 3;
    const m = 2;
    const states = allStates(n, m);
    const size = n + m;
    const rows = new Int16Array(states.length * size);
    states.forEach((state, s) => {
      rows.set(state, s * size);
    });
    let jumps = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const random = randomFrom(seed);
      const h = Math.ceil(random() * 40);
      const { outlook, truths } = randomFuture(random, n, m, h);
      const bounds = states.map((_, s1) =>
        states.map((_, s) => ({
          ahead: outlook.followAhead(rows, s1 * size, s * size, Number.POSITIVE_INFINITY),
          safe: outlook.followSafely(rows, s1 * size, s * size),
        })),
      );
      // a new frame with one pair; what it adds counts for both ends
      const edge = truths[Math.floor(random() * n)].edges[Math.floor(random() * m)];
      edge.remaining++;
      for (const end of [edge.truth, edge.track]) {
        end.remaining++;
        end.ranked = false;
      }
      const added = 2;
      outlook.look();
      bounds.forEach((row, s1) => {
        row.forEach(({ ahead, safe }, s) => {
          const place = `seed ${seed}, from ${states[s1]} as ${states[s]}`;
          assert.ok(ahead <= safe, place);
          const now = outlook.followAhead(rows, s1 * size, s * size, Number.POSITIVE_INFINITY);
          assert.ok(now <= safe + added, `${now} > ${safe} + ${added}, ${place}`);
          if (now > ahead + added) jumps++;
        });
      });
    }
    assert.ok(jumps > 0, 'it need not be cautious');
  });
});
