/**
 * A short hunt for windows that say otherwise than their frames from scratch; the long one is `node
 * dist/test/metric/hunt/sliding-hunt.js`.
 */

import { drawn, skipInFastRun } from '../../kit/system/system.js';
import { slideOf, slidesAsFromScratch } from './sliding-hunt.js';

const SCENES = 30;
const WINDOW_MAX = 34;
/** scenes in which the program once had more optima to choose from than it could look through */
const FOUND = [194, 215, 50_029];
/** a scene in which a pair was handed to the program whose neighbours were none any more since the same push */
const PARTED = 602;

describe('a window under every preset and distance', () => {
  it('says after every push what its frames give from scratch, to the last digit', function () {
    skipInFastRun(this);
    for (let seed = 1; seed <= drawn(SCENES); seed++) slidesAsFromScratch(slideOf(seed, WINDOW_MAX), 'auto');
  });

  it('does so by the program alone', function () {
    skipInFastRun(this);
    for (let seed = 1; seed <= drawn(SCENES); seed++) slidesAsFromScratch(slideOf(seed, WINDOW_MAX), 'lp');
  });

  it('does so where a pair is given up whose neighbours have just left it', () => {
    slidesAsFromScratch(slideOf(PARTED), 'auto');
  });

  for (const seed of FOUND)
    it(`does so where ties are everywhere, seed ${seed}`, function () {
      skipInFastRun(this);
      slidesAsFromScratch(slideOf(seed), 'auto');
    });
});
