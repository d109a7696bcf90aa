/**
 * The long run of crashes: an evaluator with workers is killed, and single workers of it, at random moments while
 * clients send, and opened again with another number of workers, until so many kills have been. In the end everything
 * must be as in a run that nobody interrupted. `npm run crashes -- 200 1`: so many kills, from seed 1 on.
 */
import { strict as assert } from 'node:assert';
import { type Random, randomFrom } from './kit/random.js';
import { CoresScene, type Life } from './kit/system/cores-scene.js';

const STREAMS = 6;
const FRAMES = 240;
const WORKERS = [2, 1, 2, 0, 3];

/** Lives that end between the first frame and the last; the workers of most of them are killed on the way. */
function livesOf(random: Random): Life[] {
  const ends = Array.from({ length: 4 }, () => 10 + Math.floor(random() * (FRAMES - 20))).sort((a, b) => a - b);
  return [...ends, FRAMES].map((upTo, n): Life => {
    const from = n === 0 ? 0 : ends[n - 1];
    const workers = WORKERS[Math.floor(random() * WORKERS.length)];
    const kills = workers === 0 ? 0 : Math.floor(random() * 4);
    const workerKills = Array.from({ length: kills }, () => ({
      frame: from + Math.floor(random() * (upTo - from)),
      slot: Math.floor(random() * workers),
    })).sort((a, b) => a.frame - b.frame);
    return { workers, upTo, end: upTo === FRAMES ? 'stop' : random() < 0.8 ? 'kill' : 'stop', workerKills };
  });
}

const [kills = 200, first = 1] = process.argv.slice(2).map(Number);
const scene = new CoresScene(STREAMS, FRAMES);
let done = 0;
let failed = 0;
try {
  const undisturbed = await scene.run('undisturbed', [{ workers: 0, upTo: FRAMES, end: 'stop' }]);
  for (let seed = first; done < kills; seed++) {
    const lives = livesOf(randomFrom(seed));
    for (const { end, workerKills = [] } of lives) done += workerKills.length + (end === 'kill' ? 1 : 0);
    try {
      assert.deepEqual(await scene.run(`seed ${seed}`, lives), undisturbed);
      console.log(`seed ${seed}: equal, ${done} kills so far`);
    } catch (error) {
      failed++;
      console.log(`seed ${seed}: ${JSON.stringify(lives)}\n${(error as Error).message}`);
    }
  }
} finally {
  scene.dispose();
}
console.log(`${done} kills, ${failed} runs differ`);
process.exit(failed === 0 ? 0 : 1);
