/** Which format a file is read in: as it looks, unless one is named, and what is said when it is another. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { runEval } from '../../../src/commands/eval/eval.js';
import { type Evaluation, InputError } from '../../../src/index.js';
import { crossingScene } from '../../../src/simulation/walkers.js';
import { filesOf, type PlainFrame, WRITERS } from '../../kit/format-writers.js';
import { outputOf, resultOf, SceneFolder } from '../../kit/system/command-line.js';

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));
const run = (args: string[]) => outputOf(runEval, args);
const distance = async (args: string[]): Promise<number> =>
  (JSON.parse((await run([...args, '--json'])).out) as Evaluation[])[0].distance;

describe('formats of files', () => {
  const folder = SceneFolder.ofSuite();
  let expected: number;
  const [steady] = crossingScene().trackers;
  const numbers = new Map<string, string>();
  const numbered = (id: string) => numbers.get(id) ?? numbers.set(id, String(numbers.size + 1)).get(id)!;
  const plain = (feed: 'reference' | 'tracker'): PlainFrame[] =>
    steady.frames.map((frame, k) => ({
      k,
      objects: frame[feed].map((object) => ({
        id: numbered(object.id),
        box: (object as { box: [number, number, number, number] }).box,
      })),
    }));
  const feeds = { reference: plain('reference'), tracker: plain('tracker') };

  before(async () => {
    expected = await distance(folder.args('steady'));
  });

  const write = (name: string, feed: 'reference' | 'tracker') => {
    const files = filesOf(`as-${name}/${feed}`, WRITERS[name](feeds[feed]));
    for (const file of files) folder.put(file.name, file.text);
    return folder.at(`as-${name}/${feed}`);
  };

  for (const name of ['native', 'kitti', 'cvat', 'ua-detrac', 'coco-video', 'ultralytics-txt', 'onvif-xml'])
    it(`give the same TGOSPA as ${name}, which is recognized`, async () => {
      const { options } = WRITERS[name](feeds.tracker);
      const given = Object.entries(options).flatMap(([key, value]) => ['--option', `${key}=${value}`]);
      const args = ['--reference', write(name, 'reference'), '--tracker', write(name, 'tracker'), ...given];
      assert.ok(Math.abs((await distance(args)) - expected) < 1e-6 * expected);
    });

  const rows = (feed: 'reference' | 'tracker', row: (frame: number, id: string, box: number[]) => string) =>
    feeds[feed].flatMap(({ k, objects }) => objects.map(({ id, box }) => row(k + 1, id, box))).join('');
  const dialects: Record<string, [row: (frame: number, id: string, box: number[]) => string, ...options: string[]]> = {
    commas: [(frame, id, box) => `${frame},${id},${box},1,-1,-1,-1\n`],
    blanks: [(frame, id, box) => `${frame} ${id} ${box.join('  ')} 1 -1 -1 -1\n`],
    tabs: [(frame, id, box) => `${frame}\t${id}\t${box.join('\t')}\n`],
    semicolons: [(frame, id, box) => `${frame};${id};${box.join(';').replaceAll('.', ',')}\n`],
    trailing: [(frame, id, box) => `${frame},${id},${box},1,-1,-1,-1,\r\n`],
    wide: [(frame, id, box) => `${frame},${id},${box},1,-1,-1,-1,9,9\n`],
    floats: [(frame, id, box) => `${frame}.0,${id}.0,${box.map((one) => one.toExponential(17))}\n`],
    'from 0': [(frame, id, box) => `${frame - 1},${id},${box}\n`, '--tracker-option', 'frameOffset=1'],
    xyxy: [(frame, id, [l, t, w, h]) => `${frame},${id},${l},${t},${l + w},${t + h}\n`, '--box', 'xyxy'],
    cxcywh: [(frame, id, [l, t, w, h]) => `${frame},${id},${l + w / 2},${t + h / 2},${w},${h}\n`, '--box', 'cxcywh'],
    quotes: [(frame, id, box) => `"${frame}","${id}",${box.map((one) => `"${one}"`)}\n`],
    'old line ends': [(frame, id, box) => `${frame},${id},${box}\r`],
    names: [(frame, id, box) => `${frame},car_${id},${box},nan\n`],
    'another order': [(frame, id, box) => `${id},${frame},${box}\n`],
    'numbered rows': [(frame, id, box) => `${frame + 7},${frame},${id},${box},0.5\n`],
    shares: [
      (frame, id, [l, t, w, h]) => `${frame},${id},${l / 1920},${t / 1080},${w / 1920},${h / 1080}\n`,
      '--tracker-option',
      'scale=1920,1080',
    ],
  };
  const heads: Record<string, string> = {
    blanks: '# a comment\n',
    wide: 'frame,id,x,y,w,h,conf,a,b,c,d,e\n',
    'another order': 'track_id,frame,x,y,w,h\n',
    'numbered rows': ',frame,id,left,top,width,height,conf\n',
  };
  for (const [name, [row, ...options]] of Object.entries(dialects))
    it(`give the same TGOSPA in the dialect of ${name}`, async () => {
      const tracker = folder.put(`dialects/${name}.txt`, (heads[name] ?? '') + rows('tracker', row));
      const args = ['--reference', folder.at('gt.txt'), '--tracker', tracker, ...options];
      assert.ok(Math.abs((await distance(args)) - expected) < 1e-9 * expected);
    });

  for (const [name, encode] of Object.entries<(text: string) => Buffer>({
    'packed by gzip': (text) => gzipSync(text),
    'in UTF-16': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
    'in UTF-16, big-endian': (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  }))
    it(`give the same TGOSPA ${name}`, async () => {
      const [reference, tracker] = ['gt.txt', 'steady.txt'].map((file) => {
        const coded = folder.at(`${name.replaceAll(/\W/g, '-')}-${file}`);
        writeFileSync(coded, encode(readFileSync(folder.at(file), 'utf8')));
        return coded;
      });
      assert.equal(await distance(['--reference', reference, '--tracker', tracker]), expected);
    });

  it('are asked for where nothing can be read: archives, broken packing, JSON of no format', async () => {
    const refusal = async (bytes: Buffer | string) => {
      const file = folder.at('unreadable');
      writeFileSync(file, bytes);
      const { error } = await resultOf(runEval, ['--reference', folder.at('gt.txt'), '--tracker', file]);
      assert.ok(error instanceof InputError);
      assert.equal(error.problems.length, 1);
      return error.problems[0].message;
    };
    assert.match(await refusal('PK\x03\x04...'), /^is an archive; unpack it/);
    assert.match(await refusal(gzipSync('1,1,1,1,1,1\n').subarray(0, 20)), /cannot be unpacked; it must be whole/);
    assert.match(await refusal('[{"frame":1,"id":2,"bbox":[1,2,3,4]}]'), /^is JSON .* --format mapping/);
    assert.match(await refusal('<scene><object/></scene>'), /^is XML .* cvat, /);
  });

  it('may differ between the reference and each tracker', async () => {
    const args = ['--reference', write('ua-detrac', 'reference'), ...folder.args('steady').slice(2)];
    assert.ok(Math.abs((await distance(args)) - expected) < 1e-9 * expected);
  });

  it('are named where a file was read in another', async () => {
    const args = ['--reference', write('cvat', 'reference'), '--tracker', write('cvat', 'tracker')];
    await assert.rejects(run([...args, '--format', 'motchallenge']), (error) => {
      assert.ok(error instanceof InputError);
      assert.deepEqual(
        error.problems.map(({ message }) => message),
        Array(2).fill('cannot be read as motchallenge; it looks like cvat: say --format cvat, or leave --format out'),
      );
      return true;
    });
  });

  it('of your own leave out what a rule says, and count it', async () => {
    const line = (k: number) =>
      JSON.stringify({ n: k, tracks: [{ id: 'a', p: [k, 0] }, { id: 'b' }, { id: 'c', p: [k, null] }] });
    const text = `starting up\n${[1, 2, 3].map(line).join('\n')}\n{"status":"ok"}\nbye\n`;
    const file = folder.put('own.ndjson', text);
    const mapping = ['objects=tracks', 'id=id', 'point=p', 'frame=n', 'incomplete=skip', 'foreign=skip'];
    const args = ['--reference', file, '--tracker', file, '--format', 'mapping'];
    const points = ['--distance', 'euclidean', '--cutoff', '3', '--exponent', '1', '--switch-penalty', '1'];
    const { out, err } = await run([...args, ...mapping.flatMap((one) => ['--option', one]), ...points, '--json']);
    assert.equal((JSON.parse(out) as Evaluation[])[0].count.proper, 3);
    assert.match(err, /own\.ndjson: 6 of 9 objects are incomplete and were left out/);
    assert.match(err, /own\.ndjson: 3 lines are foreign and were left out/);
  });

  it('say which options they need', async () => {
    const file = write('onvif-xml', 'tracker');
    await assert.rejects(
      run(['--reference', file, '--tracker', file]),
      /--option imageWidth: is needed: .*\(the files look like onvif-xml\)/,
    );
  });

  it('are told about once when a file is given twice, and in what number at least', () => {
    const bad = folder.put('bad.txt', '1,1,x,1,1,1\n'.repeat(3000));
    const { stderr } = spawnSync(process.execPath, [main, 'eval', '--reference', bad, '--tracker', bad], {
      encoding: 'utf8',
    });
    assert.match(stderr, /^tgospa eval: at least 1000 problems\n/);
    assert.match(stderr, /and at least \d+ more like these/);
  });
});
