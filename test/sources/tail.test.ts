/** Growing files as sources: rotation, half lines, restarts, mistakes; through the real evaluator. */
import { strict as assert } from 'node:assert';
import { appendFileSync, copyFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { frameText, SourceBench } from '../kit/sources.js';
import { skipInFastRun, until } from '../kit/system/system.js';

describe('a growing file', () => {
  let bench: SourceBench;
  let truths: string;
  let tracks: string;

  beforeEach(() => {
    bench = new SourceBench();
    truths = join(bench.folder, 'truths.ndjson');
    tracks = join(bench.folder, 'tracks.ndjson');
  });
  afterEach(() => bench.close());

  const settings = (changes: object = {}, common: object = {}) => ({
    sources: {
      tail: [
        { name: 'truths', path: truths, stream: 's', role: 'reference' },
        { name: 'tracks', path: tracks, stream: 's', tracker: 't', ...changes },
      ],
      ...common,
    },
  });
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, n) => `${frameText(from + n)}\n`).join('');
  const settled = (count: number) => bench.untilFrames('s', 't', count);

  it('is read from its beginning, and on as it grows', async () => {
    writeFileSync(truths, lines(1, 20));
    await bench.start(settings());
    await until('the absence is told', () => bench.logged('source_failed').some((line) => line.source === 'tracks'));
    writeFileSync(tracks, lines(1, 10));
    await settled(10);
    for (let k = 11; k <= 20; k++) appendFileSync(tracks, lines(k, k));
    await settled(20);
    const { evaluation } = (await bench.app.live.window('s', 't', 'online-surveillance'))!;
    assert.equal(evaluation.distance, 0);
    assert.equal(await bench.metric('tgospa_source_messages_total', 'source="tracks",kind="tail"'), 20);
    assert.equal(await bench.metric('tgospa_source_connected', 'source="tracks",kind="tail"'), 1);
    assert.ok((await bench.metric('tgospa_source_faults_total', 'source="tracks",kind="tail"')) >= 1);
  });

  it('has a last line only when it is ended', async () => {
    writeFileSync(truths, lines(1, 2));
    const [first, second] = [frameText(1), frameText(2)];
    writeFileSync(tracks, `${first}\n${second.slice(0, 9)}`);
    await bench.start(settings());
    await settled(1);
    appendFileSync(tracks, second.slice(9));
    appendFileSync(tracks, '\n');
    await settled(2);
    assert.deepEqual(bench.logged('source_rejected'), []);
  });

  it('may be renamed and begun anew, also in the middle of a line', async () => {
    writeFileSync(truths, lines(1, 30));
    writeFileSync(tracks, lines(1, 9) + frameText(10));
    await bench.start(settings());
    await settled(9);
    renameSync(tracks, `${tracks}.1`);
    // its writer still has the old one open
    appendFileSync(`${tracks}.1`, `\n${lines(11, 14)}${frameText(15)}`);
    writeFileSync(tracks, lines(16, 30));
    await settled(30);
    assert.equal(bench.logged('source_rotated').length, 1);
    assert.equal(await bench.storedSeq('s', 't'), 30);
  });

  it('loses nothing that is written while it is rotated, however often', async function () {
    skipInFastRun(this);
    const rotations = 60;
    writeFileSync(truths, lines(1, 3 * rotations));
    writeFileSync(tracks, lines(1, 1));
    await bench.start(settings());
    for (let n = 0; n < rotations; n++) {
      const first = 3 * n + 1;
      await until(`line ${first} is read`, async () => (await bench.storedSeq('s', 't')) >= first);
      // at another moment of its reading each time
      for (let turn = n % 7; turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      renameSync(tracks, `${tracks}.${n}`);
      appendFileSync(`${tracks}.${n}`, lines(first + 1, first + 2));
      writeFileSync(tracks, n + 1 < rotations ? lines(first + 3, first + 3) : '');
    }
    await settled(3 * rotations);
    assert.equal(await bench.storedSeq('s', 't'), 3 * rotations);
  });

  it('may be truncated and written again, shorter, or longer than it was', async () => {
    writeFileSync(truths, lines(1, 30));
    writeFileSync(tracks, lines(1, 10));
    await bench.start(settings());
    await settled(10);
    truncateSync(tracks, 0);
    await until('the truncation is seen', () => bench.logged('source_rotated').length === 1);
    appendFileSync(tracks, lines(11, 13));
    await settled(13);
    // at once longer than before, so that only its beginning tells
    writeFileSync(tracks, lines(14, 30));
    await settled(30);
    assert.equal(bench.logged('source_rotated').length, 2);
  });

  it('goes on after a restart with the first line that is not stored, wherever that is', async () => {
    writeFileSync(truths, lines(1, 60));
    writeFileSync(tracks, lines(1, 10));
    await bench.start(settings());
    await settled(10);
    await bench.stop();
    appendFileSync(tracks, lines(11, 20));
    await bench.start(settings());
    await settled(20);
    await bench.stop();
    // rotated while nobody looked, with lines nobody has read
    appendFileSync(tracks, lines(21, 30));
    renameSync(tracks, `${tracks}.old`);
    writeFileSync(tracks, lines(31, 40));
    await bench.start(settings());
    await settled(40);
    await bench.stop();
    // without the note the file is counted from its start: 40 lines are stored, this one has 50
    rmSync(join(bench.folder, 'data', 'sources', 'tracks.json'));
    writeFileSync(tracks, lines(1, 50));
    await bench.start(settings());
    await settled(50);
    assert.equal(await bench.storedSeq('s', 't'), 50);
  });

  it('begins with a new file when the old one is gone, and says that something may be lost', async () => {
    writeFileSync(truths, lines(1, 20));
    writeFileSync(tracks, lines(1, 10));
    await bench.start(settings());
    await settled(10);
    await bench.stop();
    const replacement = join(bench.folder, 'replacement');
    writeFileSync(replacement, lines(11, 20));
    rmSync(tracks);
    copyFileSync(replacement, tracks);
    bench.logLines.length = 0;
    await bench.start(settings());
    await settled(20);
    assert.equal(bench.logged('source_rotated').length, 1);
  });

  it('may hold mistakes: each is told, its line is used up, and the feed goes on', async () => {
    writeFileSync(truths, lines(1, 6));
    const bad = '{"k":2,"objects":[{"id":"a","box":[0,0,-1,5]}]}\nnot json\n\n[1]\n';
    const long = `{"k":3,"objects":[{"id":"${'x'.repeat(4000)}","box":[0,0,1,5]}]}\n`;
    writeFileSync(tracks, lines(1, 1) + bad + long);
    appendFileSync(tracks, Buffer.from([0xff, 0xfe, 0x0a]));
    appendFileSync(tracks, lines(2, 6));
    await bench.start(settings({}, { payloadBytes: 2048 }));
    await settled(6);
    assert.equal(await bench.storedSeq('s', 't'), 12, 'twelve lines');
    const rejected = (reason: string) =>
      bench.metric('tgospa_source_rejected_total', `source="tracks",kind="tail",reason="${reason}"`);
    assert.equal(await rejected('payload_too_large'), 1);
    assert.equal(await rejected('message_invalid'), 3);
    assert.ok(
      bench.logged('source_rejected').some(({ path, code }) => code === 'frame_invalid' && /box/.test(`${path}`)),
    );
  });

  it('may hold MOTChallenge lines; a frame is complete when the next begins or nothing comes', async () => {
    const mot = (k: number) => `${k},7,${k},10,20,40,1\n${k},8,${k + 100},10,20,40,1\n`;
    writeFileSync(truths, mot(1) + mot(2) + mot(3));
    writeFileSync(tracks, `${mot(1)}${mot(2)}3,7,3,10,20,40,1\n`);
    const both = { format: 'motchallenge', options: {} };
    const { sources } = settings(both);
    Object.assign(sources.tail[0], both);
    await bench.start({ sources, limits: { unfinishedMs: 300 } });
    await settled(3);
    const { evaluation } = (await bench.app.live.window('s', 't', 'online-surveillance'))!;
    assert.deepEqual([evaluation.count.proper, evaluation.count.missed, evaluation.count.false], [5, 1, 0]);
  });

  it('waits when its stream takes nothing, and holds no more than queueMessages', async () => {
    writeFileSync(tracks, lines(1, 100));
    const app = await bench.start({
      sources: {
        tail: [{ name: 'tracks', path: tracks, stream: 's', tracker: 't' }],
        queueMessages: 16,
      },
      limits: { creditFrames: 4 },
    });
    await until('everything is stored', async () => (await bench.storedSeq('s', 't')) === 100);
    assert.equal(app.meters.sources.get('tracks')!.waiting(), 0);
  });

  it('is refused for good when its feed is, says why, and stops as quickly as ever', async () => {
    writeFileSync(tracks, lines(1, 5));
    await bench.start({
      sources: { tail: [{ name: 'tracks', path: tracks, stream: 's', tracker: 't', format: 'motchallenge' }] },
      profiles: { points: { distance: 'euclidean', cutoff: 2, exponent: 1, switchPenalty: 0 } },
      streams: { s: { profiles: ['points'] } },
    });
    const [line] = await until('the refusal is told', () => {
      const told = bench.logged('source_refused');
      return told.length > 0 && told;
    });
    assert.match(String(line.message), /send points, or configure a profile for boxes/);
    assert.equal(await bench.metric('tgospa_source_refused', 'source="tracks",kind="tail"'), 1);
  });
});
