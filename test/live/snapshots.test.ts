/** When streams are snapshotted: by their records, in turns, when the log needs it, and at the end. */
import assert from 'node:assert/strict';
import { Snapshots } from '../../src/live/snapshots.js';
import type { Log } from '../../src/store/log.js';
import type { RunningStream, StreamSnapshot } from '../../src/stream/running-stream.js';

/** Remembers what was saved, as `stream@position`; a retired stream as `stream retired@position`. */
class FakeLog {
  saved: string[] = [];
  gauges = { queuedBytes: 0 };
  settings = { commitBytes: 1 };
  saveSnapshot = (stream: string, position: number, state: unknown) =>
    this.saved.push(state === null ? `${stream} retired@${position}` : `${stream}@${position}`);
}

interface Progress {
  position?: number;
  inRecord?: boolean;
  evaluated?: boolean;
  workMs?: number;
}

const streamAt = (name: string, { position = 1, ...progress }: Progress = {}): RunningStream => {
  const snapshot = (save: (snapshot: StreamSnapshot) => void) => save({ state: {}, position });
  return {
    name,
    inRecord: false,
    evaluated: true,
    workMs: 0,
    ...progress,
    snapshot,
  } as Partial<RunningStream> as RunningStream;
};

function start(
  everyRecords: number,
  pauseMs: number,
  replayRecords = Number.POSITIVE_INFINITY,
  find: (name: string) => RunningStream | undefined = () => undefined,
) {
  const log = new FakeLog();
  const settings = { everyRecords, pauseMs, flushBytes: 1e6, replayRecords };
  return { log, snapshots: new Snapshots(log as unknown as Log, settings, find) };
}

describe('snapshots', () => {
  it('are made after so many records of a stream', () => {
    const { log, snapshots } = start(3, 0);
    for (let position = 1; position <= 7; position++) snapshots.count(streamAt('a', { position }));
    assert.deepEqual(log.saved, ['a@3', 'a@6']);
  });

  it('are made after so much work, whatever the records', () => {
    const { log, snapshots } = start(1e6, 0);
    for (let position = 1; position <= 8; position++)
      snapshots.count(streamAt('a', { position, workMs: 1000 * position }));
    assert.deepEqual(log.saved, ['a@3', 'a@6']);
  });

  it('of streams of the same age take turns, but do not wait for ever', () => {
    const { log, snapshots } = start(3, 1e9);
    for (let position = 1; position <= 6; position++)
      for (const name of ['a', 'b']) snapshots.count(streamAt(name, { position }));
    assert.deepEqual(log.saved, ['a@3', 'b@6']);
  });

  it('are made of the stream that has waited longest, so that all together have no more than so much to repeat', () => {
    const applied: string[] = [];
    const covered = new Map<string, number>();
    const { log, snapshots } = start(1e6, 0, 1000, (name) => streamAt(name, { position: applied.length }));
    const save = log.saveSnapshot;
    log.saveSnapshot = (name, position, state) => {
      covered.set(name, position);
      return save(name, position, state);
    };
    let [most, repeated] = [0, 0];
    snapshots.beginTurns();
    for (let n = 0; n < 3200; n++) {
      // one that has a record now and then holds back as much as one that has many
      const name = n % 1500 === 0 ? 'rare' : `busy-${n % 3}`;
      applied.push(name);
      snapshots.count(streamAt(name, { position: applied.length }));
      const first = applied.findIndex((one, at) => at >= (covered.get(one) ?? 0));
      most = Math.max(most, first < 0 ? 0 : applied.length - first);
      if (n >= 1200) repeated += applied.filter((one, at) => at >= (covered.get(one) ?? 0)).length;
    }
    assert.ok(most > 800 && most <= 1000, `${most} records behind the first that no snapshot covers`);
    // all of them are read, and those of streams with a newer snapshot are not repeated
    assert.ok(repeated / 2000 < 600, `${repeated / 2000} records to be repeated at any moment`);
    assert.deepEqual([...covered.keys()].sort(), ['busy-0', 'busy-1', 'busy-2', 'rare']);
  });

  it('leave time for records: a stream has sixty of them before its next turn, however many streams there are', () => {
    const { log, snapshots } = start(1e6, 0, 1000, (name) => streamAt(name));
    snapshots.beginTurns();
    for (let n = 0; n < 60 * 1000; n++) snapshots.count(streamAt(`s${n % 100}`));
    assert.ok(log.saved.length > 700 && log.saved.length <= 1000, `${log.saved.length} snapshots of 60,000 records`);
  });

  it('take no turns while a recovery repeats records: somebody waits for its end', () => {
    const { log, snapshots } = start(1e6, 0, 10, (name) => streamAt(name));
    for (let n = 0; n < 2000; n++) snapshots.count(streamAt('a'));
    assert.deepEqual(log.saved, []);
    snapshots.beginTurns();
    for (let n = 0; n < 2000; n++) snapshots.count(streamAt('a'));
    assert.ok(log.saved.length > 0);
  });

  it('of a stream that waits to be rebuilt are not asked for', () => {
    const { log, snapshots } = start(1e6, 0, 1, () => undefined);
    snapshots.beginTurns();
    for (let n = 0; n < 1000; n++) snapshots.count(streamAt(`s${n % 2}`));
    assert.deepEqual(log.saved, []);
  });

  it('are made when the log is held back, but not in the middle of a record', () => {
    const { log, snapshots } = start(3, 0);
    snapshots.saveHolders([streamAt('a'), streamAt('b', { inRecord: true })]);
    assert.deepEqual(log.saved, ['a@1']);
  });

  it('are made at the end of what has changed and is evaluated', async () => {
    const { log, snapshots } = start(3, 0);
    const [changed, saved, gone] = [streamAt('changed'), streamAt('saved'), streamAt('gone', { evaluated: false })];
    for (const stream of [changed, saved, gone]) snapshots.count(stream);
    snapshots.save(saved);
    await snapshots.saveLast([changed, saved, gone]);
    assert.deepEqual(log.saved, ['saved@1', 'changed@1']);
  });

  it('end with a mark when a stream is retired', () => {
    const { log, snapshots } = start(3, 0);
    for (let position = 1; position <= 2; position++) snapshots.count(streamAt('a', { position }));
    snapshots.retire('a', 9);
    snapshots.count(streamAt('a', { position: 10 }));
    assert.deepEqual(log.saved, ['a retired@9']);
  });
});
