/** Drawings of a series of costs. */

import assert from 'node:assert/strict';
import { drawTimeline, timelineLegend } from '../../../src/commands/console/timeline.js';

const PLAIN = { columns: 80, colors: false };
const cost = (localization: number, missed = 0, wrong = 0, change = 0) => ({
  localization,
  missed,
  false: wrong,
  switch: change,
});

describe('a timeline', () => {
  it('stacks the components of each frame, scaled to the dearest', () => {
    const costs = Array.from({ length: 10 }, (_, index) => (index < 5 ? cost(1, 1) : cost(2, 2, 2, 2)));
    const lines = drawTimeline(costs, [6], PLAIN);
    assert.deepEqual(lines, [
      '  8.00 ┤     sssss',
      '       ┤     sssss',
      '       ┤     fffff',
      '       ┤     fffff',
      '       ┤     mmmmm',
      '       ┤     mmmmm',
      '       ┤mmmmmlllll',
      '     0 ┤llllllllll',
      '       └─────▲────',
      '        frame 1 10',
    ]);
  });

  it('lets the dearest frame speak for those that share a column', () => {
    const costs = Array.from({ length: 1000 }, (_, index) => (index === 503 ? cost(8) : cost(0)));
    const [top] = drawTimeline(costs, [], PLAIN);
    assert.equal(top.indexOf('l'), 8 + Math.floor((503 * 71) / 1000));
  });

  it('draws a flat line for a series without cost', () => {
    const lines = drawTimeline([cost(0), cost(0)], [], PLAIN);
    assert.ok(lines.every((line) => !/[lmfs]$/.test(line)));
  });

  it('explains its letters', () => {
    assert.equal(timelineLegend(PLAIN), 'l localization   m missed   f false   s switch');
  });
});
