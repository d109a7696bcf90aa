/** Folders as the benchmarks lay them out: which sequences and trackers are found in them. */

import assert from 'node:assert/strict';
import { findStudy } from '../../../src/commands/files/layout.js';
import { SceneFolder } from '../../kit/system/command-line.js';

describe('a study in folders', () => {
  const folder = SceneFolder.ofSuite();
  const at = (...path: string[]) => folder.at(...path);
  const put = (path: string, content: string) => folder.put(path, content);

  before(() => {
    for (const sequence of ['SEQ-01', 'SEQ-02']) {
      put(`train/${sequence}/gt/gt.txt`, '');
      for (const name of ['faulty', 'loose', 'steady']) put(`results/${name}/${sequence}-FRCNN.txt`, '');
    }
  });

  it('finds trackers in the folder itself, in data/, and in folders of trackers', () => {
    put('flat/SEQ-01.txt', '');
    put('with-data/T1/data/SEQ-01.txt', '');
    const names = (tracker: string) => findStudy(at('train'), [at(tracker)]).trackers;
    assert.deepEqual(names('flat'), ['flat']);
    assert.deepEqual(names('with-data'), ['T1']);
    assert.deepEqual(names('results'), ['faulty', 'loose', 'steady']);
  });

  it('finds the sequences below train/, and leaves out those no tracker has', () => {
    const study = findStudy(folder.path, [at('flat')]);
    assert.equal(study.layout, 'motchallenge');
    assert.deepEqual(
      study.sequences.map(({ name }) => name),
      ['SEQ-01'],
    );
    assert.deepEqual(study.notes, ['1 of 2 sequences of the reference have no tracker file and are left out']);
  });

  it('takes several public detectors of a sequence apart', () => {
    put('detectors/SEQ-01-FRCNN.txt', '');
    put('detectors/SEQ-01-SDP.txt', '');
    const { sequences } = findStudy(at('train'), [at('detectors')]);
    assert.deepEqual(
      sequences.map(({ name }) => name),
      ['SEQ-01-FRCNN', 'SEQ-01-SDP'],
    );
  });

  it('knows the layout of KITTI', () => {
    put('kitti/label_02/0000.txt', '');
    put('kitti/results/X/0000.txt', '');
    const { layout, sequences } = findStudy(at('kitti'), [at('kitti', 'results')]);
    assert.equal(layout, 'kitti');
    assert.deepEqual(
      sequences.map(({ name }) => name),
      ['0000'],
    );
  });

  it('names the sequences of any tree by what tells them apart', () => {
    for (const path of ['day/A', 'day/B', 'night/A']) put(`tree/sets/${path}/gt/gt.txt`, '');
    put('of-tree/T/day/A.txt', '');
    put('of-tree/T/day/B/res.txt', '');
    put('of-tree/T/night/A.txt', '');
    const { sequences, trackers } = findStudy(at('tree'), [at('of-tree')]);
    assert.deepEqual(trackers, ['T']);
    assert.deepEqual(
      sequences.map(({ name, trackers: [file] }) => [name, file?.slice(at('of-tree').length + 1)]),
      [
        ['day/A', 'T/day/A.txt'],
        ['day/B', 'T/day/B/res.txt'],
        ['night/A', 'T/night/A.txt'],
      ],
    );
  });

  it('finds annotations that lie side by side, beside results in another format', () => {
    put('detrac/MVI_1.xml', '');
    put('detrac/MVI_2.xml', '');
    put('of-detrac/T/MVI_1.txt', '');
    const { sequences } = findStudy(at('detrac'), [at('of-detrac')]);
    assert.deepEqual(
      sequences.map(({ name }) => name),
      ['MVI_1'],
    );
  });

  it('says what it expected where it found nothing', () => {
    put('nothing/readme.md', '');
    assert.throws(
      () => findStudy(at('nothing'), [at('results')]),
      /holds no sequences; expected SEQUENCE\/gt\/gt\.txt/,
    );
    assert.throws(
      () => findStudy(at('train'), [at('train')]),
      /holds no result for any sequence; expected a file such as SEQ-01\.txt/,
    );
    assert.throws(() => findStudy(at('train'), [at('nothing/readme.md')]), /is a file, and the reference a folder/);
    assert.throws(() => findStudy(at('train'), [at('nowhere')]), /nowhere: does not exist; check the path/);
  });
});
