/** Streams in workers: whatever their number, and whoever dies, the same comes of the same frames. */
import { strict as assert } from 'node:assert';
import { CoresScene } from '../kit/system/cores-scene.js';
import { skipInFastRun } from '../kit/system/system.js';

const STREAMS = 5;
const FRAMES = 150;

describe('cores', () => {
  const scene = new CoresScene(STREAMS, FRAMES);
  let undisturbed: Awaited<ReturnType<CoresScene['run']>>;

  before(async function () {
    skipInFastRun(this);
    undisturbed = await scene.run('undisturbed', [{ workers: 0, upTo: FRAMES, end: 'stop' }]);
  });
  after(() => scene.dispose());

  it('give the same reports, counters and events when one folder is opened with 0, 1, 2 and 0 workers', async () => {
    const outcome = await scene.run('opened again', [
      { workers: 0, upTo: 40, end: 'stop' },
      { workers: 1, upTo: 80, end: 'kill' },
      { workers: 2, upTo: 120, end: 'kill' },
      { workers: 0, upTo: FRAMES, end: 'stop' },
    ]);
    assert.deepEqual(outcome, undisturbed);
  });

  it('lose nothing when single workers are killed, and the process with them', async () => {
    const outcome = await scene.run('killed', [
      {
        workers: 2,
        upTo: 90,
        end: 'kill',
        workerKills: [
          { frame: 20, slot: 0 },
          { frame: 45, slot: 1 },
          { frame: 47, slot: 1 },
        ],
      },
      { workers: 2, upTo: FRAMES, end: 'stop', workerKills: [{ frame: 100, slot: 0 }] },
    ]);
    assert.deepEqual(outcome, undisturbed);
  });
});
