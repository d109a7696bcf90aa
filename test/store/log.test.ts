/** The log on a real disk: what was acked is there after a crash, what is covered may go, a full disk is survived. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import fc from 'fast-check';
import { eventKey } from '../../src/store/commit.js';
import { DataFolder } from '../../src/store/folder.js';
import { Log, type LogSettings } from '../../src/store/log.js';
import type { LogOwner, Snapshot, Stored } from '../../src/store/log-port.js';
import { type LogRecord, type PartRecord, RecordReader, RecordWriter } from '../../src/store/record.js';
import { StorageFault } from '../../src/store/storage-fault.js';
import { type PackedList, pack, unpack, type WireObject } from '../../src/wire/objects.js';
import { logSettings } from '../kit/settings.js';
import { skipInFastRun } from '../kit/system/system.js';

const partOf = (stream: string, seq: number, objectCount = 20): PartRecord => ({
  kind: 'part',
  stream,
  atMs: 1_763_251_200_000 + seq,
  role: 'tracker',
  tracker: 'sort',
  part: {
    seq,
    k: seq,
    objects: pack(Array.from({ length: objectCount }, (_, n) => ({ id: String(n), box: [n * 10.5, n, 30, 60.125] }))),
  },
});

interface Probe extends LogOwner {
  nowMs: number;
  seen: Stored[];
  faults: Array<StorageFault | null>;
  held: string[][];
  free: number | null;
  nextFault(): Promise<StorageFault | null>;
}

function probe(): Probe {
  const waiting: Array<(fault: StorageFault | null) => void> = [];
  const owner: Probe = {
    nowMs: 1_763_251_200_000,
    seen: [],
    faults: [],
    held: [],
    free: null,
    now: () => owner.nowMs,
    committed: (first, records) => {
      owner.seen.push(...records.map((record, n) => ({ position: first + n, record })));
    },
    applied: () => owner.seen.at(-1)?.position ?? 0,
    heldBack: (streams) => owner.held.push(streams),
    faultChanged: (fault) => {
      owner.faults.push(fault);
      for (const resolve of waiting.splice(0)) resolve(fault);
    },
    nextFault: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
  };
  return owner;
}

async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of from) list.push(item);
  return list;
}

const seqs = (stored: Stored[]) => stored.map(({ record }) => (record as PartRecord).part.seq);

describe('log', () => {
  let dir: string;
  const logs: Log[] = [];
  const open = async (owner: LogOwner & { free?: number | null } = probe(), settings: Partial<LogSettings> = {}) => {
    const folder = new DataFolder(dir);
    folder.space = () => ({ freeBytes: owner.free ?? 1e12, totalBytes: 2e12 });
    const log = await Log.open(logSettings({ groupCommitMs: 1, storageRetryMs: 5, ...settings, dir }), owner, folder);
    logs.push(log);
    return log;
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-log-'));
  });
  afterEach(async () => {
    for (const log of logs.splice(0)) await log.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  it('gives back every record it acked, in order, after a crash', async () => {
    const log = await open();
    const acked = Array.from({ length: 100 }, (_, n) => log.append(partOf(n % 3 ? 'a' : 'b', n + 1)));
    await Promise.all(acked);
    await log.kill();
    const stored = await all((await open()).records());
    assert.deepEqual(
      seqs(stored),
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
    assert.deepEqual(
      stored.map((s) => s.position),
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
    assert.deepEqual(stored[7].record, partOf('a', 8));
  });

  it('tells its owner about durable records before those who wait for them', async () => {
    const owner = probe();
    const log = await open(owner);
    await log.append(partOf('a', 1));
    assert.deepEqual(seqs(owner.seen), [1]);
  });

  it('writes records that arrive together with one flush', async () => {
    const log = await open(probe(), { groupCommitMs: 10 });
    await Promise.all(Array.from({ length: 50 }, (_, n) => log.append(partOf('a', n + 1))));
    assert.equal(log.gauges.commits, 1);
    assert.equal(log.gauges.queuedRecords, 0);
    assert.ok(log.gauges.bytes > 50 * 700 && log.gauges.commitMs > 0);
  });

  it('does not wait for the time of the group when enough has gathered', async () => {
    const log = await open(probe(), { groupCommitMs: 60_000, commitBytes: 10_000 });
    await Promise.all(Array.from({ length: 50 }, (_, n) => log.append(partOf('a', n + 1))));
    assert.ok(log.gauges.commits >= 1);
  });

  it('gathers no longer behind a slow flush: what came meanwhile goes with the next', async () => {
    const folder = new DataFolder(dir);
    const db = await folder.openDatabase();
    let flushes = 0;
    const slow = async () => {
      flushes++;
      await new Promise((resolve) => setTimeout(resolve, 200));
    };
    folder.openDatabase = async () => db;
    const log = await Log.open(logSettings({ groupCommitMs: 200, commitBytes: 4000, dir }), probe(), folder);
    logs.push(log);
    db.batch = slow as unknown as typeof db.batch;
    const first = log.append(partOf('a', 1, 200));
    void log.append(partOf('a', 2)).catch(() => {});
    await first;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(flushes, 2);
  });

  it('refuses more than queueMaxBytes, and goes on when the disk has caught up', async () => {
    const log = await open(probe(), { queueMaxBytes: 5000, groupCommitMs: 5 });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, n) => log.append(partOf('a', n + 1))),
    );
    const refused = results.filter((r) => r.status === 'rejected');
    assert.ok(refused.length > 0 && refused.length < 20);
    assert.equal((refused[0] as PromiseRejectedResult).reason.code, 'storage_behind');
    await log.append(partOf('a', 21));
  });

  it('reads back only what came after the snapshot of each stream', async () => {
    const log = await open();
    for (let n = 1; n <= 6; n++) await log.append(partOf(n % 2 ? 'odd' : 'even', n));
    log.saveSnapshot('odd', 3, { sum: 4 });
    log.saveSnapshot('odd', 5, { sum: 9 });
    await log.flush();
    await log.kill();
    const again = await open();
    const expected: Snapshot[] = [{ stream: 'odd', position: 5, state: { sum: 9 } }];
    assert.deepEqual(await all(again.snapshots()), expected);
    assert.deepEqual(seqs(await all(again.records())), [2, 4, 6]);
  });

  it('forgets a retired stream, also in the records that are still there', async () => {
    const log = await open();
    await log.append(partOf('gone', 1));
    await log.append(partOf('here', 2));
    log.saveSnapshot('gone', 1, null);
    await log.flush();
    await log.append(partOf('gone', 3));
    await log.kill();
    const again = await open();
    assert.deepEqual(await all(again.snapshots()), [{ stream: 'gone', position: 1, state: null }]);
    assert.deepEqual(seqs(await all(again.records())), [2, 3]);
  });

  it('knows after a crash up to which record events were published', async () => {
    const owner = probe();
    const log = await open(owner);
    await log.append(partOf('a', 1));
    await log.append(partOf('a', 2));
    await log.append(partOf('a', 3));
    await log.kill();
    // the third commit was written when the second had been applied
    assert.equal((await open()).publishedUpTo, 2);
  });

  it('keeps the event history in order, overwrites and removes', async () => {
    const log = await open();
    log.saveEvent(eventKey(20, 0), { n: 3 });
    log.saveEvent(eventKey(3, 1), { n: 2 });
    log.saveEvent(eventKey(3, 0), { n: 1 });
    log.saveEvent(eventKey(20, 0), { n: 4 });
    await log.flush();
    log.saveEvent(eventKey(3, 0), null);
    await log.close();
    const events = await (await open()).events();
    assert.deepEqual(
      events.map((e) => e.event),
      [{ n: 2 }, { n: 4 }],
    );
  });

  it('drops the oldest records above maxBytes, but none that a snapshot does not cover', async () => {
    const owner = probe();
    const log = await open(owner, { maxBytes: 20_000 });
    for (let n = 1; n <= 60; n++) {
      await log.append(partOf('a', n));
      owner.nowMs += 1000;
    }
    assert.ok(log.gauges.bytes > 40_000, 'nothing may go before a snapshot');
    assert.ok(
      owner.held.some((streams) => streams.includes('a')),
      'the owner is asked for a snapshot',
    );
    log.saveSnapshot('a', 50, { upTo: 50 });
    for (let n = 61; n <= 64; n++) {
      await log.append(partOf('a', n));
      owner.nowMs += 1000;
    }
    await log.flush();
    assert.ok(log.gauges.bytes <= 20_000, `${log.gauges.bytes} bytes are kept`);
    await log.kill();
    const again = await open();
    assert.deepEqual(
      seqs(await all(again.records())),
      Array.from({ length: 14 }, (_, n) => n + 51),
    );
    assert.equal(again.gauges.bytes, log.gauges.bytes);
  });

  it('drops records older than maxAgeHours once they are covered, and the marks of retired streams with them', async () => {
    const owner = probe();
    const log = await open(owner, { maxAgeHours: 1 });
    for (let n = 1; n <= 5; n++) await log.append(partOf('old', n));
    log.saveSnapshot('old', 5, null);
    owner.nowMs += 2 * 3_600_000;
    for (let n = 6; n <= 9; n++) {
      await log.append(partOf('new', n));
      owner.nowMs += 2000;
    }
    await log.flush();
    assert.ok(log.gauges.oldestMs > owner.nowMs - 3_600_000);
    await log.kill();
    const again = await open();
    assert.deepEqual(await all(again.snapshots()), []);
    assert.deepEqual(seqs(await all(again.records())), [6, 7, 8, 9]);
  });

  it('drops records that stand in the future, since the clock was set back, by when the store was opened', async () => {
    const ahead = probe();
    ahead.nowMs += 365 * 24 * 3_600_000;
    const log = await open(ahead, { maxAgeHours: 1 });
    for (let n = 1; n <= 5; n++) await log.append(partOf('old', n));
    log.saveSnapshot('old', 5, {});
    await log.close();
    const owner = probe();
    const again = await open(owner, { maxAgeHours: 1 });
    await all(again.records());
    owner.nowMs += 2 * 3_600_000;
    for (let n = 6; n <= 9; n++) {
      await again.append(partOf('new', n));
      owner.nowMs += 2000;
    }
    await again.flush();
    assert.ok(again.gauges.oldestMs <= owner.nowMs, 'the oldest commit left is of this run');
  });

  it('refuses a folder that another process uses', async () => {
    await open();
    await assert.rejects(open(), (error: StorageFault) => {
      assert.match(error.message, /in use by another process; stop it, or choose another data\.dir/);
      return error.name === 'StorageFault';
    });
  });

  /** Changes what the database holds, behind the back of the log. */
  async function tamper(change: (raw: ClassicLevel<string, Buffer>) => Promise<void>): Promise<void> {
    const raw = new ClassicLevel<string, Buffer>(join(dir, 'store'), { valueEncoding: 'buffer' });
    await change(raw);
    await raw.close();
  }

  const messages = (log: Log) => log.damage.map(({ message }) => message);

  it('names the records and frames that are damaged, and gives the rest', async () => {
    const log = await open();
    for (let seq = 1; seq <= 4; seq++) await log.append(partOf('a', seq));
    await log.kill();
    await tamper(async (raw) => {
      const [, key] = await all(raw.keys({ gte: 'b', lt: 'c', limit: 2 }));
      const value = (await raw.get(key))!;
      value[100] ^= 1;
      await raw.put(key, value);
    });
    const again = await open();
    assert.deepEqual(seqs(await all(again.records())), [1, 3, 4]);
    assert.match(messages(again)[0], /the log lacks record 2, lost or damaged/);
    const named = messages(again);
    assert.deepEqual(seqs(await all(again.recordsOf('a', 0, again.lastPosition))), [1, 3, 4]);
    assert.deepEqual(messages(again), named, 'nothing is named twice');
    assert.match(messages(again)[1], /frames 2 to 2 of tracker sort of stream a are lost/);
    await again.append(partOf('a', 5));
    assert.equal(again.lastPosition, 5);
  });

  it('says a word when its tail is cut, and uses no position twice', async () => {
    const log = await open();
    for (let seq = 1; seq <= 4; seq++) await log.append(partOf('a', seq));
    await log.kill();
    await tamper(async (raw) => {
      const keys = await all(raw.keys({ gte: 'b', lt: 'c' }));
      for (const key of keys.slice(2)) await raw.del(key);
    });
    const again = await open();
    assert.deepEqual(seqs(await all(again.records())), [1, 2]);
    assert.match(messages(again)[0], /the log lacks records 3 to 4/);
    const owner = probe();
    await again.kill();
    const third = await open(owner);
    await all(third.records());
    await third.append(partOf('a', 5));
    assert.deepEqual(
      owner.seen.map(({ position }) => position),
      [5],
    );
  });

  for (const [how, change] of [
    ['is damaged', (raw: ClassicLevel<string, Buffer>) => raw.put('sa', Buffer.from('not a snapshot'))],
    ['is lost', (raw: ClassicLevel<string, Buffer>) => raw.del('sa')],
  ] as const)
    it(`names a stream whose snapshot ${how}, and keeps the others`, async () => {
      const log = await open();
      for (const stream of ['a', 'b']) {
        await log.append(partOf(stream, 1));
        log.saveSnapshot(stream, log.lastPosition, { plan: {}, pairing: { early: [], lanes: {} }, series: [] });
      }
      await log.append(partOf('a', 2));
      await log.flush();
      await log.kill();
      await tamper(async (raw) => void (await change(raw)));
      const again = await open();
      const left = (await all(again.snapshots())).filter(({ state }) => state !== null);
      assert.deepEqual(
        left.map(({ stream }) => stream),
        ['b'],
      );
      assert.deepEqual(await all(again.records()), []);
      assert.ok(
        again.damage.some(({ stream, message }) => stream === 'a' && /stream a is lost: its/.test(message)),
        messages(again).join('\n'),
      );
      // what comes now is kept
      await again.append(partOf('a', 3));
      await again.kill();
      const third = await open();
      assert.deepEqual(seqs(await all(third.records())), [3]);
    });

  it('says when events of the history are damaged or gone', async () => {
    const log = await open();
    for (let n = 1; n <= 3; n++) log.saveEvent(eventKey(n, 0), { n });
    await log.flush();
    await log.kill();
    await tamper((raw) => raw.del(`e${eventKey(2, 0)}`));
    const again = await open();
    assert.deepEqual(messages(again), ['snapshots or events are missing, or older than they were']);
  });

  it('refuses a store of another format', async () => {
    await (await open()).kill();
    const raw = new ClassicLevel<string, Buffer>(join(dir, 'store'), { valueEncoding: 'buffer' });
    await raw.put('m', Buffer.from('7'));
    await raw.close();
    await assert.rejects(open(), /written by format 7 and this program reads format 2/);
  });

  it('stops accepting when the disk is nearly full, and goes on when there is room again', async () => {
    const owner = probe();
    const log = await open(owner, { minFreeBytes: 1000 });
    await log.append(partOf('a', 1));
    owner.free = 999;
    // the room is looked at ten times a second
    let fault: StorageFault | undefined;
    for (let seq = 2; !fault; seq++) await log.append(partOf('a', seq)).catch((error) => (fault = error));
    assert.equal(fault.code, 'storage_full');
    assert.match(fault.message, /999 bytes are free .* and 1000 are needed/);
    assert.equal(log.fault, fault);
    assert.throws(() => log.append(partOf('a', 98)), StorageFault);
    owner.free = null;
    assert.equal(await owner.nextFault(), null);
    await log.append(partOf('a', 99));
    await log.kill();
    const kept = seqs(await all((await open()).records()));
    assert.deepEqual(kept, seqs(owner.seen));
    assert.equal(kept.at(-1), 99);
  });

  it('survives a disk that is really full: nothing acked is lost, and it recovers', async function () {
    const disk = mountSmallDisk(dir, 12);
    if (disk === null) {
      assert.notEqual(process.env.TGOSPA_REQUIRE_SYSTEM, '1', 'mounting a small disk needs root');
      return this.skip();
    }
    try {
      const owner = probe();
      const log = await Log.open(
        logSettings({ dir: disk, minFreeBytes: 0, groupCommitMs: 1, storageRetryMs: 20 }),
        owner,
      );
      logs.push(log);
      const acked: number[] = [];
      let seq = 0;
      const send = async () => {
        const mine = ++seq;
        await log.append(partOf('a', mine));
        acked.push(mine);
      };
      for (let round = 0; round < 3; round++) {
        const { bavail, bsize } = statfsSync(disk);
        writeFileSync(join(disk, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - 400_000)));
        let fault: StorageFault | null = null;
        while (!fault) {
          const results = await Promise.allSettled(Array.from({ length: 50 }, send));
          const refused = results.find((r) => r.status === 'rejected');
          if (refused) fault = (refused as PromiseRejectedResult).reason;
        }
        assert.equal(fault.code, 'storage_full');
        assert.equal(log.fault?.code, 'storage_full');
        const over = owner.nextFault();
        unlinkSync(join(disk, 'filler'));
        assert.equal(await over, null);
        await send();
      }
      await log.kill();
      logs.push(await Log.open(logSettings({ dir: disk }), probe()));
      const kept = new Set(seqs(await all(logs.at(-1)!.records())));
      assert.ok(acked.every((n) => kept.has(n)));
      // what is there was told to the owner, acked or not
      assert.deepEqual([...kept], seqs(owner.seen));
      assert.ok(acked.length > 100);
    } finally {
      for (const log of logs.splice(0)) await log.kill();
      execFileSync('umount', [disk]);
    }
  });

  it('has every acked record after kill -9 at random moments', async function () {
    skipInFastRun(this);
    let lastAcked = 0;
    for (let round = 0; round < 4; round++) {
      lastAcked = Math.max(lastAcked, await writeUntilKilled(dir, 200 + round * 731));
      const owner = probe();
      const log = await open(owner);
      const kept = seqs(await all(log.records()));
      assert.deepEqual(
        kept,
        Array.from({ length: kept.length }, (_, n) => n + 1),
      );
      assert.ok(kept.length >= lastAcked, `${kept.length} records are there, ${lastAcked} were acked`);
      await log.kill();
    }
    assert.ok(lastAcked > 500);
  });
});

/** A tmpfs of so many megabytes, or null where that is not allowed. */
function mountSmallDisk(dir: string, megabytes: number): string | null {
  const disk = join(dir, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk], { stdio: 'ignore' });
    return disk;
  } catch {
    return null;
  }
}

/**
 * Runs a process that appends and prints what is acked, kills it once `count` more are acked, returns the last acked.
 */
async function writeUntilKilled(dir: string, count: number): Promise<number> {
  const script = `
    import { Log } from ${JSON.stringify(new URL('../../src/store/log.js', import.meta.url).href)};
    import { pack } from ${JSON.stringify(new URL('../../src/wire/objects.js', import.meta.url).href)};
    const owner = { now: Date.now, committed() {}, applied: () => 0, heldBack() {}, faultChanged() {} };
    const log = await Log.open(${JSON.stringify(logSettings({ dir, groupCommitMs: 1 }))}, owner);
    let seq = log.lastPosition;
    for (;;) {
      const acked = [];
      for (let n = 0; n < 37; n++) {
        const part = { seq: ++seq, k: seq, objects: pack([{ id: '1', box: [1, 2, 3, 4] }]) };
        const record = { kind: 'part', stream: 'a', atMs: seq, role: 'reference', tracker: null, part };
        acked.push(log.append(record));
      }
      await Promise.all(acked);
      process.stdout.write(seq + '\\n');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let first = 0;
  let last = 0;
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    last = Number(text.slice(0, text.lastIndexOf('\n')).split('\n').at(-1));
    first ||= last;
    if (last - first >= count) child.kill('SIGKILL');
  }
  return last;
}

describe('record', () => {
  const roundTrip = (records: LogRecord[]): LogRecord[] => {
    const writer = new RecordWriter(16);
    for (const record of records) writer.write(record);
    const back: LogRecord[] = [];
    for (const reader = new RecordReader(Buffer.from(writer.bytes())); !reader.done; ) back.push(reader.read());
    return back;
  };

  it('comes back from bytes as it was, whatever it holds', function () {
    skipInFastRun(this);
    const text = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('\ud800', 'a\udfff', 'é\ud83d', '😀'),
    );
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.integer().map((hundredths) => hundredths / 100),
      fc.constantFrom(0, -0, 21474836.47, 21474836.48, -21474836.47, -21474836.48, 0.01, 0.005),
    );
    const box = fc.record({ box: fc.tuple(number, number, number, number) });
    const point = (dimensions: number) =>
      fc.record({ point: fc.array(number, { minLength: dimensions, maxLength: dimensions }) });
    const extra = fc.record({ class: text, confidence: number }, { requiredKeys: [] });
    const objects = fc.integer({ min: 0, max: 8 }).chain((dimensions) => {
      const object = fc
        .tuple(text, dimensions === 0 ? box : point(dimensions), extra)
        .map(([id, where, more]): WireObject => ({ id, ...where, ...more }));
      return fc.array(object, { maxLength: 8 }).map(pack);
    });
    const part = fc
      .tuple(fc.record({ k: fc.nat(), t: number }, { requiredKeys: [] }), fc.nat(), objects)
      .map(([when, seq, list]) => ({ seq, objects: list, ...when }));
    const feed = fc.oneof(
      fc.constant({ role: 'reference' as const, tracker: null }),
      text.map((tracker) => ({ role: 'tracker' as const, tracker })),
    );
    const common = fc.record({ stream: text, atMs: fc.double({ noNaN: true }) });
    const record: fc.Arbitrary<LogRecord> = fc.oneof(
      fc.tuple(common, feed, part).map(([c, f, p]) => ({ kind: 'part' as const, ...c, ...f, part: p })),
      fc.tuple(common, feed).map(([c, f]) => ({ kind: 'open' as const, ...c, ...f, settings: { a: [1, 'ü'] } })),
      fc.tuple(common, feed).map(([c, f]) => ({ kind: 'end' as const, ...c, ...f })),
      common.map((c) => ({ kind: 'tick' as const, ...c })),
      common.map((c) => ({ kind: 'resume' as const, ...c })),
      common.map((c) => ({ kind: 'retire' as const, ...c, tracker: null })),
    );
    fc.assert(
      fc.property(fc.array(record, { maxLength: 6 }), (records) => {
        assert.deepStrictEqual(roundTrip(records), records);
      }),
      { seed: 20261116, numRuns: 400 },
    );
  });

  it('objects come back whatever was packed where there is nothing', () => {
    const number = fc.oneof(
      fc.double({ noNaN: true }),
      fc.integer({ min: -99999, max: 99999 }).map((n) => n / 100),
    );
    const packed: fc.Arbitrary<PackedList> = fc
      .tuple(
        fc.constantFrom('box' as const, 'point' as const),
        fc.integer({ min: 1, max: 8 }),
        fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 8 }),
      )
      .chain(([shape, dimensions, ids]) => {
        const stride = shape === 'box' ? 4 : dimensions;
        const exactly = (count: number) => ({ minLength: count, maxLength: count });
        return fc.record(
          {
            shape: fc.constant(shape),
            stride: fc.constant(stride),
            ids: fc.constant(ids),
            coordinates: fc.array(number, exactly(ids.length * stride)),
            classes: fc.array(fc.option(fc.string()), exactly(ids.length)),
            confidences: fc.array(fc.option(number), exactly(ids.length)),
          },
          { requiredKeys: ['shape', 'stride', 'ids', 'coordinates'] },
        );
      });
    const common = { kind: 'part' as const, stream: 's', atMs: 1, role: 'tracker' as const, tracker: 't' };
    fc.assert(
      fc.property(packed, (list) => {
        const [record] = roundTrip([{ ...common, part: { seq: 1, k: 2, objects: list } }]);
        assert.deepStrictEqual((record as PartRecord).part.objects, pack(unpack(list)));
      }),
      { seed: 20261116, numRuns: 400 },
    );
  });
});
