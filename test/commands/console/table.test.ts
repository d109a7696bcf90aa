/** Tables: alignment, folding, shortening, heat. */

import assert from 'node:assert/strict';
import { type Column, drawTable, screenOf, wrapText } from '../../../src/commands/console/table.js';

const WIDE = { columns: Number.POSITIVE_INFINITY, colors: false };
const names: Column = { title: 'tracker', align: 'left', key: true, cells: ['a', 'a-rather-long-name'] };
const numbers = (title: string, values: number[], group?: string): Column => ({
  title,
  group,
  align: 'right',
  cells: values.map(String),
  heat: { values, best: 'low' },
});

describe('a table', () => {
  it('aligns its columns under titles and groups', () => {
    const columns = [names, numbers('distance', [1, 20]), numbers('x', [3, 4], 'cost'), numbers('y', [5, 600], 'cost')];
    assert.deepEqual(drawTable(columns, WIDE), [
      '                              cost ─',
      'tracker             distance  x    y',
      'a                          1  3    5',
      'a-rather-long-name        20  4  600',
    ]);
  });

  it('folds into blocks that repeat the keys, and shortens long keys, on a narrow screen', () => {
    const columns = [names, numbers('distance', [1, 20]), numbers('localization', [3, 4])];
    assert.deepEqual(drawTable(columns, { columns: 26, colors: false }), [
      'tracker  distance',
      'a               1',
      'a-rath…        20',
      '',
      'tracker  localization',
      'a                   3',
      'a-rath…             4',
    ]);
  });

  it('colours the best cell green and the worst red, whichever end is best', () => {
    const color = (line: string) => line.match(/48;5;(\d+)/)?.[1];
    const low = drawTable([numbers('cost', [1, 2])], { ...WIDE, colors: true });
    const high = drawTable([{ ...numbers('proper', [1, 2]), heat: { values: [1, 2], best: 'high' } }], {
      ...WIDE,
      colors: true,
    });
    assert.equal(color(low[1]), color(high[2]));
    assert.equal(color(low[2]), color(high[1]));
    assert.notEqual(color(low[1]), color(low[2]));
  });

  it('leaves cells alone that are all equal', () => {
    const lines = drawTable([numbers('cost', [2, 2])], { ...WIDE, colors: true });
    assert.deepEqual(lines.slice(1), ['   2', '   2']);
  });
});

describe('a screen', () => {
  const terminal = (columns: number, colors: number) => ({
    isTTY: true,
    columns,
    hasColors: (count?: unknown) => (typeof count === 'number' ? count : 16) <= colors,
  });

  it('has colours on every terminal that has any, a plain xterm included', () => {
    assert.deepEqual(screenOf(terminal(120, 256)), { columns: 120, colors: true });
    assert.deepEqual(screenOf(terminal(0, 16)), { columns: 80, colors: true });
    assert.deepEqual(screenOf(terminal(80, 2)), { columns: 80, colors: false });
  });

  it('is plain, and fits where it is pasted, where there is no terminal', () => {
    assert.deepEqual(screenOf({ ...terminal(120, 256), isTTY: false }), { columns: 80, colors: false });
  });
});

describe('wrapped text', () => {
  it('breaks between words and keeps the first indentation', () => {
    assert.deepEqual(wrapText('  one two three', 9, '    '), ['  one two', '    three']);
    assert.deepEqual(wrapText('incomprehensibilities', 5, ''), ['incomprehensibilities']);
  });
});
