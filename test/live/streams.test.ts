/** Records of streams that run elsewhere, retire or fail: who counts them, who is acked, what is published. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { Quarantine } from '../../src/live/quarantine.js';
import { Snapshots } from '../../src/live/snapshots.js';
import { type Published, Streams } from '../../src/live/streams.js';
import { DataFolder } from '../../src/store/folder.js';
import type { Log } from '../../src/store/log.js';
import type { Snapshot, Stored } from '../../src/store/log-port.js';
import type { LogRecord } from '../../src/store/record.js';
import type { EventHistory } from '../../src/stream/history.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import type { ThreadOwner, ThreadResult, ThreadStream, Threads } from '../../src/stream/threads.js';
import { quiet, START_MS } from '../kit/live.js';

const { config } = readConfig({ text: '{"evaluation":{"backlogFrames":1}}', env: {} });
const plan = { ...resolveStream(config, 's', {}), patch: {} } as StreamPlan;
const tick = (stream = 's'): LogRecord => ({ kind: 'tick', stream, atMs: START_MS });
const hello = (settings: unknown = plan): LogRecord => ({
  kind: 'open',
  stream: 's',
  atMs: START_MS,
  role: 'reference',
  tracker: null,
  settings,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A thread that does nothing until it is told what has come of a record. */
class FakeThreads {
  count = 1;
  pending = 0;
  sent: Array<{ position: number; record: LogRecord }> = [];
  readonly stream = {
    name: 's',
    evaluated: true,
    readsUpTo: 0,
    heavy: false,
    ready: Promise.resolve(null),
    owner: null as ThreadOwner | null,
    unanswered: this.sent,
    status: () => ({ plan, info: { feeds: [] }, spikes: [] }),
    reports: () => [],
    pending: 0,
    firstPending: Number.POSITIVE_INFINITY,
    disposed: false,
    expect: () => {},
    apply: (record: LogRecord, position: number) => {
      this.sent.push({ record, position });
      this.#update();
      return null;
    },
    dispose: () => {
      this.stream.disposed = true;
    },
  };

  adopt(_name: string, _snapshot: unknown, owner: ThreadOwner): ThreadStream {
    this.stream.owner = owner;
    return this.stream as unknown as ThreadStream;
  }

  answer(changes: Partial<ThreadResult> = {}): void {
    const stream = this.stream as unknown as ThreadStream;
    const oldest = this.sent.shift()!;
    this.#update();
    this.stream.owner!.received({ stream, ...oldest, steps: [], gone: false, error: null, workMs: 0, ...changes });
  }

  /** Of its oldest record. */
  die(): void {
    const { stream } = this;
    stream.unanswered = this.sent.splice(0);
    this.#update();
    const [{ position }] = stream.unanswered;
    stream.owner!.lost(stream as unknown as ThreadStream, { reason: 'out of memory', guilty: true, position });
  }

  #update(): void {
    this.pending = this.sent.length;
    this.stream.pending = this.sent.length;
    this.stream.firstPending = this.sent[0]?.position ?? Number.POSITIVE_INFINITY;
  }
}

interface StoredData {
  snapshot?: Snapshot;
  records?: Stored[];
}

function start(dir: string, stored: StoredData = {}, sliceMs = config.evaluation.sliceMs) {
  const threads = new FakeThreads();
  const marks: string[] = [];
  const errors: string[] = [];
  const applied: LogRecord[] = [];
  const published: Published[] = [];
  const saveSnapshot = (name: string, position: number, state: unknown) =>
    state === null && marks.push(`${name}@${position}`);
  const logger = { ...quiet, error: (event: string) => errors.push(event) };
  const recordsOf = async function* (_name: string, after: number, upTo: number) {
    yield* (stored.records ?? []).filter(({ position }) => position > after && position <= upTo);
  };
  const streams = new Streams({
    evaluation: { ...config.evaluation, sliceMs },
    log: { saveSnapshot, snapshotOf: async () => stored.snapshot, recordsOf },
    quarantine: new Quarantine(new DataFolder(dir), logger),
    mark: { at() {} },
    threads: threads as unknown as Threads,
    history: { add() {} } as unknown as EventHistory,
    snapshots: new Snapshots({ saveSnapshot } as unknown as Log, {
      everyRecords: 1000,
      pauseMs: 0,
      flushBytes: 1e6,
      replayRecords: Number.POSITIVE_INFINITY,
    }),
    logger,
    lastPosition: 10,
    onApplied: (record) => applied.push(record),
    onResult: (result) => published.push(result),
    onRestored: () => {},
  });
  return { threads, streams, marks, errors, applied, published };
}

const HEAVY: Snapshot = { stream: 's', state: { plan, heavy: true }, position: 10 };

const inThread = async (streams: Streams) => {
  streams.restore(HEAVY, 10);
  await streams.restored();
};

describe('streams', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-streams-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('count a record until its thread has applied it, and hold back acks of its stream alone', async () => {
    const { threads, streams, applied } = start(dir, { snapshot: HEAVY });
    await inThread(streams);
    const acks: string[] = [];
    const queue = streams.enqueue(11, [tick(), tick()]);
    for (const name of ['s', 'other']) void streams.admit(name, Promise.resolve()).then(() => acks.push(name));
    assert.deepEqual([...streams.apply(queue)], []);
    await turn();
    assert.deepEqual([acks, streams.unapplied, applied.length], [['other'], 2, 0]);
    assert.deepEqual([streams.handledPosition, streams.appliedPosition], [12, 10]);
    threads.answer();
    await turn();
    assert.deepEqual([acks, streams.unapplied, applied.length], [['other', 's'], 1, 1]);
    assert.equal(streams.appliedPosition, 11);
  });

  it('hold back nobody whose stream is retired in its thread, and open it anew with what follows', async () => {
    const { threads, streams, marks, published } = start(dir, { snapshot: HEAVY });
    await inThread(streams);
    const queue = [...streams.enqueue(11, [tick(), tick(), hello(), tick()])];
    let acked = false;
    void streams.admit('s', Promise.resolve()).then(() => {
      acked = true;
    });
    for (const _ of streams.apply(queue.slice(0, 1)));
    await turn();
    assert.equal(acked, false);
    const event = { type: 'retired' as const, stream: 's', tracker: 't', profile: 'p' };
    threads.answer({ gone: true, steps: [{ events: [event], history: [] }] });
    await turn();
    assert.deepEqual([acked, threads.stream.disposed, streams.size], [true, true, 0]);
    assert.deepEqual(published, [{ position: 11, events: [event] }]);
    // one record nobody takes, then a new stream, here
    for (const _ of streams.apply(queue.slice(1)));
    assert.deepEqual(marks, ['s@11', 's@12']);
    assert.deepEqual([streams.size, streams.unapplied, threads.sent.length], [1, 0, 0]);
  });

  it('keep a stream whose thread opens it anew with a record that is not back yet', async () => {
    const { threads, streams, marks } = start(dir, { snapshot: HEAVY });
    await inThread(streams);
    for (const _ of streams.apply(streams.enqueue(11, [tick(), hello()])));
    threads.answer({ gone: true });
    assert.deepEqual([streams.size, marks], [1, ['s@11']]);
    threads.answer();
    assert.deepEqual([streams.size, streams.unapplied], [1, 0]);
  });

  it('set aside a record that fails and are rebuilt without it, while what follows waits', async () => {
    const broken = { kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), { ...tick(), ...broken }, tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, errors, applied, published } = start(dir, { records: stored });
    for (const _ of streams.apply(streams.enqueue(11, records)));
    assert.deepEqual([errors, applied.length, streams.unapplied], [['record_failed'], 2, 1]);
    assert.equal(streams.get('s')!.info().restoring, true);
    await streams.restored();
    assert.deepEqual([applied.length, streams.unapplied, errors.length], [3, 0, 1]);
    assert.equal(streams.get('s')!.info().restoring, undefined);
    assert.deepEqual(
      published.map(({ position }) => position),
      [13],
    );
    assert.equal(readdirSync(join(dir, 'quarantine')).length, 1);
  });

  it('are in their place again when the last record that waited has been told, whoever else wants a turn', async () => {
    const broken = { ...tick(), kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), broken, tick(), tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, published } = start(dir, { records: stored }, 0);
    for (const _ of streams.apply(streams.enqueue(11, records)));
    while (published.at(-1)?.position !== 14) await turn();
    assert.equal(streams.get('s')!.info().restoring, undefined);
  });

  it('are suspended at the third failure; what comes then is acked and stays in the log', async () => {
    const broken = { ...tick(), kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), broken, tick(), broken, tick(), broken, tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, errors, applied, marks } = start(dir, { records: stored });
    for (const _ of streams.apply(streams.enqueue(11, records)));
    await streams.restored();
    assert.deepEqual(errors, ['record_failed', 'record_failed', 'record_failed', 'stream_suspended']);
    assert.match(streams.get('s')!.info().suspended!, /Cannot read/);
    assert.deepEqual([applied.length, streams.unapplied, marks], [7, 0, []]);
    assert.deepEqual([...streams.apply(streams.enqueue(20, [tick()]))], []);
    assert.equal(applied.length, 8);
  });

  it('are rebuilt in another thread when theirs dies, without the record it died of', async () => {
    const { threads, streams, errors, applied } = start(dir, { snapshot: HEAVY });
    await inThread(streams);
    for (const _ of streams.apply(streams.enqueue(11, [tick(), tick()])));
    threads.die();
    await streams.restored();
    assert.deepEqual([errors, applied.length], [['record_failed'], 1]);
    assert.deepEqual(
      threads.sent.map(({ position }) => position),
      [12],
    );
    threads.answer();
    assert.deepEqual([applied.length, streams.unapplied], [2, 0]);
  });
});
