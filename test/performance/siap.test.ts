/**
 * SIAP by its definitions (Votruba et al. 2001, as tracktotruthmetrics of Stone Soup has them), worked out slowly from
 * the associations at every time, beside the numbers that are kept frame by frame. Scenes where both apply: one track
 * for a truth at a time, and no truth comes back to a track that it had. And scenes with clutter and duplicates, whose
 * numbers were computed by Stone Soup itself (test/cases/siap).
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { evaluate } from '../../src/metric/evaluate.js';
import type { Params } from '../../src/metric/params.js';
import type { PerformanceFrame } from '../../src/performance/frame.js';
import { Performance, type PerformanceNumbers } from '../../src/performance/performance.js';
import { performanceOf } from '../../src/performance/sequence.js';
import { randomFrom } from '../kit/random.js';

/** Truths of any lifetimes, each tracked by one track after the other for a while each, with false tracks besides. */
function sceneOf(seed: number): PerformanceFrame[] {
  const draw = randomFrom(seed);
  const frames = 30;
  const lives = Array.from({ length: 6 }, (_, n) => {
    const first = Math.floor(draw() * 15);
    const last = first + 5 + Math.floor(draw() * (frames - first - 5));
    return {
      id: `t${n}`,
      first,
      last,
      turn: first + 1 + Math.floor(draw() * 12),
      missedUpTo: first + Math.floor(draw() * 4),
    };
  });
  return Array.from({ length: frames }, (_, k) => {
    const truths = lives.filter(({ first, last }) => k >= first && k <= last);
    const pairs = truths
      .filter(({ missedUpTo }) => k >= missedUpTo)
      .map(({ id, turn }) => ({ truth: id, track: `${id}${k < turn ? 'a' : 'b'}`, distance: draw() }));
    const tracks = [
      ...pairs.map(({ track }) => track),
      ...Array.from({ length: Math.floor(draw() * 3) }, (_, n) => `f${k}${n}`),
    ];
    const located = (id: string) => ({ id, place: [0, 0] });
    return {
      t: 2.5 * k,
      truths: truths.map(({ id }) => located(id)),
      tracks: tracks.map(located),
      pairs,
      extras: [],
    };
  });
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** From associations: (truth, track) with the times from the first to the last at which they are together. */
function byDefinition(frames: PerformanceFrame[]) {
  const times = new Map<string, number[]>();
  const together = new Map<string, Map<string, number[]>>();
  for (const { t, truths, pairs } of frames) {
    for (const { id } of truths) times.set(id, [...(times.get(id) ?? []), t]);
    for (const { truth, track } of pairs) {
      const own = together.get(truth) ?? new Map<string, number[]>();
      own.set(track, [...(own.get(track) ?? []), t]);
      together.set(truth, own);
    }
  }
  const durations = [...together.values()].map((own) =>
    [...own.values()].map((list) => Math.max(...list) - Math.min(...list)),
  );
  const [J, JT, N, NA, PA] = [
    sum(frames.map(({ truths }) => truths.length)),
    sum(frames.map(({ pairs }) => new Set(pairs.map(({ truth }) => truth)).size)),
    sum(frames.map(({ tracks }) => tracks.length)),
    sum(frames.map(({ pairs }) => new Set(pairs.map(({ track }) => track)).size)),
    sum(frames.flatMap(({ pairs }) => pairs.map(({ distance }) => distance))),
  ];
  return {
    completeness: JT / J,
    spuriousness: (N - NA) / N,
    ambiguity: NA / JT,
    positionalAccuracy: PA / NA,
    numberChangeRate: sum([...together.values()].map((own) => own.size - 1)) / sum(durations.flat()),
    longestSegmentShare:
      sum(durations.map((list) => Math.max(...list))) /
      sum([...times.values()].map((list) => Math.max(...list) - Math.min(...list))),
  };
}

const CASES = fileURLToPath(new URL('../../../test/cases/siap/', import.meta.url));

interface StoneSoupCase {
  cutoff: number;
  frames: Array<{ t: number; truths: Place[]; tracks: Place[] }>;
  siap: PerformanceNumbers['siap'];
}
type Place = [id: string, x: number, y: number];

describe('SIAP', () => {
  for (const name of readdirSync(CASES).filter((file) => file.endsWith('.json')))
    it(`is what Stone Soup says of ${name}`, () => {
      const { cutoff, frames, siap } = JSON.parse(readFileSync(CASES + name, 'utf8')) as StoneSoupCase;
      const objects = (places: Place[]) => places.map(([id, x, y]) => ({ id, point: [x, y] }));
      const scene = frames.map(({ truths, tracks }) => ({ reference: objects(truths), tracker: objects(tracks) }));
      const params: Params = { distance: 'euclidean', cutoff, exponent: 1, switchPenalty: 0.5 };
      const { perFrame } = evaluate(scene, params);
      const times = frames.map(({ t }) => t);
      const own = performanceOf(scene, perFrame, times, params).siap;
      for (const [measure, value] of Object.entries(siap))
        assert.ok(Math.abs(own[measure as keyof typeof own] - value) < 1e-9, `${measure}: ${JSON.stringify(own)}`);
      assert.deepEqual(Object.keys(own).sort(), Object.keys(siap).sort());
    });
});

describe('SIAP kept frame by frame', () => {
  it('equals its definitions on 40 seeded scenes', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const frames = sceneOf(seed);
      const performance = new Performance({ plane: 'flat', gapSteps: 3, truthsMax: 100 });
      for (const frame of frames) performance.update(frame);
      const expected = byDefinition(frames);
      const { siap } = performance.get();
      for (const [name, value] of Object.entries(siap))
        assert.ok(Math.abs(value - expected[name as keyof typeof expected]) < 1e-12, `seed ${seed}, ${name}: ${value}`);
    }
  });
});
