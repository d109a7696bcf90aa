/** Formats by their content: every sample of the table, every dialect, and what is none of them. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adapters } from '../../adapters/index.js';
import { recognize } from '../../adapters/recognition.js';
import { SAMPLES } from '../kit/adapter-samples.js';
import { filesOf, WRITERS } from '../kit/format-writers.js';

const CASES = fileURLToPath(new URL('../../../test/cases/adapters/', import.meta.url));
const frames = [0, 1].map((k) => ({
  k,
  objects: [{ id: '7', box: [10 + k, 20, 30, 40] as [number, number, number, number] }],
}));

describe('the format of a file', () => {
  for (const name of adapters.keys()) {
    // its keys are whatever a mapping says
    if (name === 'mapping') continue;
    it(`is recognized as ${name}`, () => {
      const files = filesOf('x', WRITERS[name](frames));
      const isFolder = files.length > 1 || files[0].name.includes('/');
      const entries = isFolder ? files.map((file) => file.name.slice(2)) : null;
      const head = name === 'supervision-csv' ? String(SAMPLES[name]) : files[0].text;
      const found = recognize({ head, entries });
      // with one class only, ten columns are those of MOTChallenge too
      assert.equal(found, name === 'visdrone' ? 'motchallenge' : name);
    });
  }

  it('is that of the golden cases, whatever the dialect', () => {
    const dialects = [
      'blanks',
      'tabs',
      'semicolons',
      'trailing',
      'wide',
      'header',
      'from-0',
      'bom',
      'results',
      'truth',
    ];
    for (const dialect of dialects) {
      const folder = join(CASES, `mot-${dialect}`);
      const file = readdirSync(folder).find((entry) => entry.startsWith('input'))!;
      const head = readFileSync(join(folder, file), 'utf8');
      assert.equal(recognize({ head, entries: null }), 'motchallenge', dialect);
    }
    const head = readFileSync(join(CASES, 'visdrone-reference/input.txt'), 'utf8');
    assert.equal(recognize({ head, entries: null }), 'visdrone');
  });

  it('is not guessed where nothing tells', () => {
    for (const head of ['', 'hello\n', '{"a":1}', '<html></html>', '1,2,3\n'])
      assert.equal(recognize({ head, entries: null }), null, head);
    assert.equal(recognize({ head: 'x', entries: ['a.jpg'] }), null);
  });
});
