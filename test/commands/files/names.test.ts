/** What files are called in results. */

import assert from 'node:assert/strict';
import { folderNames, shortNames } from '../../../src/commands/files/names.js';

describe('names of files', () => {
  it('are those of the files where they differ', () => {
    assert.deepEqual(shortNames(['x/a.txt', 'y/b.txt']), ['a', 'b']);
    assert.deepEqual(shortNames(['x/a.txt']), ['a']);
    assert.deepEqual(shortNames(['x/a.txt.gz']), ['a']);
  });

  it('are those of the folders where the file is only called gt, or result', () => {
    assert.deepEqual(shortNames(['MOT17/train/MOT17-09/gt/gt.txt']), ['MOT17-09']);
    assert.deepEqual(shortNames(['run/alpha/res.txt']), ['alpha']);
    assert.deepEqual(shortNames(['gt.txt']), ['gt']);
  });

  it('are the folders that differ where the files are called the same', () => {
    assert.deepEqual(shortNames(['r/alpha/data/s.txt', 'r/beta/data/s.txt']), ['alpha', 'beta']);
    assert.deepEqual(shortNames(['a.txt', 'a.txt']), ['a', 'a']);
  });

  it('of folders have their parents where they need them', () => {
    assert.deepEqual(folderNames(['r/a', 'r/b']), ['a', 'b']);
    assert.deepEqual(folderNames(['r/a', 's/a']), ['r/a', 's/a']);
  });
});
