/**
 * The check of every solve must be able to fail: evaluations that were tampered with are refused, here and in processes
 * of a test.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { evaluate, type Params, SlidingWindow } from '../../../src/index.js';
import { type Inspected, inspector, seatInspector } from '../../../src/metric/inspector.js';
import { skipInFastRun } from '../../kit/system/system.js';
import { OptimalityCheck } from './optimality.js';
import { SolveCheck } from './verify-solves.js';

const params: Params = { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 1 };
const at = (id: string, ...point: number[]) => ({ id, point });
/** truth a is followed by p and then by q, b by r all the time but for one frame; c is missed, x false */
const frames = [0, 1, 2, 3, 4, 5].map((k) => ({
  reference: [at('a', k, 0), at('b', k, 9), ...(k === 2 ? [at('c', 50, 50)] : [])],
  tracker: [at(k < 3 ? 'p' : 'q', k, 0.5), ...(k === 4 ? [at('x', -50, 0)] : [at('r', k, 9.25)])],
}));

/** What an inspector is shown while `work` goes on; copies, so that they can be changed. */
function shown(work: () => void): Inspected[] {
  const seen: Inspected[] = [];
  const before = seatInspector(({ window, ...rest }) =>
    seen.push({ ...JSON.parse(JSON.stringify(rest, plain)), window }),
  );
  try {
    work();
  } finally {
    seatInspector(before);
  }
  return seen;
}

const plain = (_: string, value: unknown) => (value instanceof Float64Array ? Array.from(value) : value);

function push(): void {
  const window = new SlidingWindow({ ...params, windowFrames: 6, settleFrames: 2 });
  for (const frame of frames) window.push(frame);
  window.dispose();
}

type Change = (inspected: Inspected) => void;
const TAMPERED: [what: string, complaint: RegExp, change: Change][] = [
  [
    'a cost moved from one component to another',
    /: localization: /,
    ({ evaluation: { cost } }) => {
      cost.localization += 1e-6;
      cost.missed -= 1e-6;
    },
  ],
  ['a total that is not the sum', /sum of the components/, ({ evaluation: { cost } }) => (cost.total += 1e-6)],
  ['another distance', /distance: /, ({ evaluation }) => (evaluation.distance *= 1.000001)],
  ['one switch less', /: counts/, ({ evaluation: { count } }) => (count.switches -= 1)],
  [
    'a switch told at another frame',
    /frame 2: switches: 1 instead of 0|frame 2: switch: /,
    ({ evaluation: { perFrame } }) => {
      const [there, here] = [perFrame[2], perFrame[3]];
      [there.count.switches, here.count.switches] = [here.count.switches, there.count.switches];
      [there.cost.switch, here.cost.switch] = [here.cost.switch, there.cost.switch];
    },
  ],
  ['a pair left out', /frame 1: counts/, ({ evaluation: { perFrame } }) => perFrame[1].assignment.pop()],
  [
    'a truth assigned twice',
    /assigned twice/,
    ({ evaluation: { perFrame } }) => perFrame[1].assignment.push(perFrame[1].assignment[0]),
  ],
  [
    'pairs exchanged',
    /frame 0: distance of a and r/,
    ({ evaluation: { perFrame } }) => {
      const [one, other] = perFrame[0].assignment;
      [one.track, other.track] = [other.track, one.track];
    },
  ],
  [
    'the distance of a pair',
    /frame 5: distance of /,
    ({ evaluation: { perFrame } }) => (perFrame[5].assignment[0].distance! += 1e-9),
  ],
  ['exact with a gap', /exact with a gap/, ({ evaluation }) => (evaluation.gap = 1e-6)],
  ['not exact without a gap', /not exact without a gap/, ({ evaluation }) => (evaluation.exact = false)],
  [
    'a bound below an exact cost',
    /lower bound of an exact value/,
    ({ evaluation }) => (evaluation.lowerBound *= 0.999999),
  ],
  ['a bound above the cost', /lower bound .* above/, ({ evaluation }) => (evaluation.lowerBound *= 1.000001)],
  ['a fractional optimum called exact', /fractional optimum is called exact/, (all) => (all.fractional = true)],
  ['solved pairs that do not add up', /does not add up/, ({ evaluation }) => evaluation.solver.pairs++],
  ['a frame too few', /number of frames/, ({ frames }) => frames.pop()],
  [
    'another frame',
    /frame 3: distance of /,
    ({ frames }) => ((frames[3].reference.coordinates as never)[1] = 0.25 as never),
  ],
];
const TAMPERED_REPORTS: typeof TAMPERED = [
  ['settled costs that do not add up', /settled total/, ({ report }) => (report!.settled.cost.total += 1e-6)],
  ['settled misses without their cost', /settled missed/, ({ report }) => report!.settled.count.missed++],
  [
    'lifetime bounds that cross',
    /lifetime from/,
    ({ report }) => (report!.lifetime!.lower = report!.lifetime!.upper + 1),
  ],
];

describe('the check of every solve', () => {
  it('sits in its place and sees evaluations, pushes and the end of a stream', () => {
    assert.ok(inspector, 'nobody inspects; run mocha in the folder of package.json');
    assert.equal(shown(() => evaluate(frames, params)).length, 1);
    assert.equal(shown(push).length, frames.length);
    assert.equal(shown(() => new SlidingWindow({ ...params, windowFrames: 2 }).end()).length, 1);
    const check = new SolveCheck();
    shown(push).forEach(check.inspect);
    assert.deepEqual([check.count, check.failures], [frames.length, []]);
  });

  for (const [what, complaint, change] of [...TAMPERED, ...TAMPERED_REPORTS])
    it(`refuses ${what}`, () => {
      const check = new SolveCheck();
      const inspected = shown(push).at(-1)!;
      change(inspected);
      assert.throws(() => check.inspect(inspected), complaint);
      assert.equal(check.failures.length, 1);
    });

  it('proves every push optimal, and refuses an assignment that is right but not the best', () => {
    const optimality = new OptimalityCheck();
    const check = new SolveCheck(undefined, optimality);
    const apart = frames.map(({ reference, tracker }) => ({
      reference,
      tracker: tracker.map(({ id, point: [x, y] }) => at(id, x + 1000, y)),
    }));
    const [good] = shown(() => evaluate(frames, params));
    const [nothing] = shown(() => evaluate(apart, params));
    check.inspect(good);
    shown(push).forEach(check.inspect);
    assert.equal(optimality.proven, 1 + frames.length);
    // of the frames as they are, nothing assigned is an assignment too
    const poor = {
      ...nothing,
      frames: good.frames,
      evaluation: { ...nothing.evaluation, solver: good.evaluation.solver },
    };
    new SolveCheck().inspect(poor);
    assert.throws(() => check.inspect(poor), /is called exact, but .* is possible/);
    good.evaluation.cost.total -= 1e-6;
    assert.throws(() => optimality.check(good, 'tampered'), /below the bound/);
  });

  it('lets what it throws come out of the push', () => {
    const check = new SolveCheck();
    const before = seatInspector((inspected) => {
      inspected.evaluation.cost.total += 1;
      check.inspect(inspected);
    });
    try {
      assert.throws(push, /sum of the components/);
    } finally {
      seatInspector(before);
    }
  });

  it('goes along into processes and threads of a test', function () {
    skipInFastRun(this);
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-solves-test-'));
    try {
      const [index, seat] = ['../../../src/index.js', '../../../src/metric/inspector.js'].map(
        (file) => new URL(file, import.meta.url),
      );
      const program = `
        import { Worker } from 'node:worker_threads';
        import { evaluate } from '${index}';
        import { inspector, seatInspector } from '${seat}';
        const frames = ${JSON.stringify(frames)}, params = ${JSON.stringify(params)};
        evaluate(frames, params);
        const child = inspector;
        seatInspector((inspected) => child({ ...inspected, frames: inspected.frames.slice(1) }));
        try { evaluate(frames, params); } catch {}
        const work = "import { evaluate } from '${index}'; evaluate(" + JSON.stringify(frames) + ',' + JSON.stringify(params) + ');';
        new Worker(new URL('data:text/javascript,' + encodeURIComponent(work)), { execArgv: [] });`;
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
        env: { ...process.env, TGOSPA_TEST_SOLVES: folder },
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      const marks = readdirSync(folder).filter((file) => file.startsWith('marks'));
      assert.deepEqual(
        marks.map((file) => statSync(join(folder, file)).size),
        [1, 1],
      );
      assert.match(readFileSync(join(folder, 'failures'), 'utf8'), /^the evaluation of 5 frames: number of frames/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  for (const [how, options] of [
    ['in one process', []],
    ['side by side', ['--parallel', '--jobs', '2']],
  ] as const)
    it(`fails a run of mocha in which code swallows what is wrong, ${how}`, function () {
      skipInFastRun(this);
      const folder = mkdtempSync(join(tmpdir(), 'tgospa-solves-test-'));
      const here = new URL('.', import.meta.url);
      const test = `
        import { evaluate } from '${new URL('../../../src/index.js', here)}';
        import { inspector, seatInspector } from '${new URL('../../../src/metric/inspector.js', here)}';
        it('swallows', () => {
          const check = inspector;
          seatInspector((inspected) => check({ ...inspected, frames: inspected.frames.slice(1) }));
          try { evaluate(${JSON.stringify(frames)}, ${JSON.stringify(params)}); } catch {}
          seatInspector(check);
          evaluate(${JSON.stringify(frames)}, ${JSON.stringify(params)});
        });`;
      try {
        const files = ['one.mjs', 'other.mjs'].map((name) => join(folder, name));
        for (const file of files) writeFileSync(file, test);
        const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
        const hook = fileURLToPath(new URL('verify-solves.js', here));
        const args = [mocha, '--no-package', '--require', hook, ...options, ...files];
        const { status, stdout } = spawnSync(process.execPath, args, {
          env: { PATH: process.env.PATH },
          encoding: 'utf8',
        });
        assert.notEqual(status, 0, stdout);
        assert.match(stdout, /2 passing/);
        assert.match(stdout, /these solves are not what their frames say/);
        assert.match(stdout, /swallows: the evaluation of 5 frames: number of frames/);
        assert.match(stdout, /4 solves verified .*; 2 proven optimal/);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
