/**
 * The walkers of the demo, judged as a stream is: every fault that the demo names is found and named while it lasts,
 * switches too, and nothing is found in the good tracker. Time is that of the scene.
 */
import assert from 'node:assert/strict';
import { WALKER_FAULTS, walkerRound } from '../../src/commands/demo-walkers.js';
import type { Frame, Obj } from '../../src/metric/evaluation.js';
import { crossingScene, plazaFrames } from '../../src/simulation/walkers.js';
import { pack } from '../../src/wire/objects.js';
import { NAME, StreamRun } from '../kit/stream-run.js';
import { skipInFastRun } from '../kit/system/system.js';

const START_MS = 1_700_000_000_000;
const FRAME_MS = 50;
const LENGTH = 300;
const CALM = 1;
const ROUNDS = CALM + 5;
const SCENES: Record<string, (seed: number) => Frame[]> = {
  crossing: (seed) => crossingScene(seed).trackers[0].frames,
  plaza: plazaFrames,
};
/** What says that it was that fault. */
const CAUSES: Record<number, RegExp> = { 1: /^silent$/, 2: /^clutter$/, 3: /^identities_/, 5: /^ghost$/ };

function play(framesOf: (seed: number) => Frame[]): StreamRun {
  const run = new StreamRun({ streams: { [NAME]: { pairing: { latenessMs: 500, silenceMs: 1000 } } } });
  run.open('reference', null, START_MS);
  for (const tracker of ['steady', 'faulty']) run.open('tracker', tracker, START_MS);
  let k = 0;
  for (let lap = 1; lap <= ROUNDS; lap++)
    for (const { reference, good, faulty } of walkerRound(lap, CALM, framesOf)) {
      const atMs = START_MS + ++k * FRAME_MS;
      const send = (role: 'reference' | 'tracker', tracker: string | null, objects: Obj[]) =>
        run.part(role, tracker, atMs, { k, t: atMs / 1000, objects: pack(objects as never) });
      send('reference', null, reference);
      send('tracker', 'steady', good);
      if (faulty) send('tracker', 'faulty', faulty);
      run.tick(atMs + FRAME_MS / 2);
    }
  return run;
}

for (const [scene, framesOf] of Object.entries(SCENES))
  describe(`the ${scene} of the demo`, function () {
    this.timeout(600_000);
    let run: StreamRun;
    before(function () {
      if (scene === 'plaza') skipInFastRun(this);
      run = play(framesOf);
    });

    for (const { round, from, to, what } of WALKER_FAULTS)
      it(`has its fault named while it lasts: ${what}`, () => {
        const first = (CALM + round - 1) * LENGTH;
        const told = run.of('incident').filter(({ at }) => at! >= first + from && at! <= first + to);
        assert.ok(CAUSES[round], `CAUSES of this test does not say what the fault of round ${round} is to be named`);
        const causes = told.map(({ tracker, cause }) => `${tracker} ${cause}`);
        assert.ok(
          told.some(({ tracker, cause }) => tracker === 'faulty' && CAUSES[round].test(cause)),
          causes.join(', ') || 'nothing was told',
        );
      });

    it('has the exchange of two tracks among its switches, at its frame', () => {
      const fault = WALKER_FAULTS.find(({ round }) => round === 3)!;
      const lap = CALM + fault.round;
      const k = (lap - 1) * LENGTH + fault.from;
      const found = run.of('switch').filter((event) => event.truth === `2/${lap}` || event.truth === `3/${lap}`);
      for (const [truth, before, after] of [
        ['2', 'c2', 'c3'],
        ['3', 'c3', 'c2'],
      ]) {
        const own = found.filter((event) => event.truth === `${truth}/${lap}` && Math.abs(event.k - k) <= 1);
        assert.equal(own.at(0)?.from, `${before}/${lap}`, JSON.stringify(found));
        assert.equal(own.at(-1)?.to, `${after}/${lap}`, JSON.stringify(found));
      }
    });

    it('misses everybody while it says nothing, and invents what it is said to invent', () => {
      const countsIn = (round: number) => {
        const { from, to } = WALKER_FAULTS.find((fault) => fault.round === round)!;
        const first = (CALM + round - 1) * LENGTH;
        return (
          run.reports
            // reading an old report takes long: every twentieth will do
            .filter(({ tracker, k }) => tracker === 'faulty' && k >= first + from && k <= first + to && k % 20 === 0)
            .map(({ report }) => report.newest.count)
        );
      };
      assert.ok(countsIn(1).every(({ proper, missed }) => proper === 0 && missed > 0));
      assert.ok(countsIn(2).every(({ false: count }) => count >= 2));
      assert.ok(countsIn(5).every(({ false: count }) => count >= 2));
    });

    it('has nothing wrong with its good tracker', () => {
      const wrong = run.events.filter(
        (event) => ['incident', 'spike', 'switch', 'silence'].includes(event.type) && event.tracker === 'steady',
      );
      assert.deepEqual(wrong, []);
    });
  });
