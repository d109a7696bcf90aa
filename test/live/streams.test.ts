/** Records of streams that run elsewhere, retire or fail: who counts them, who is acked, what is published. */
import assert from 'node:assert/strict';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { Snapshots } from '../../src/live/snapshots.js';
import { type Published, Streams } from '../../src/live/streams.js';
import type { Log } from '../../src/store/log.js';
import type { LogRecord } from '../../src/store/record.js';
import type { EventHistory } from '../../src/stream/history.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import type { WorkerResult, WorkerStream, Workers } from '../../src/stream/workers.js';
import { NO_OBJECTS } from '../../src/wire/objects.js';
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

/** A worker that does nothing until it is told what has come of a record. */
class FakeWorkers {
  count = 1;
  pending = 0;
  sent: Array<{ position: number; record: LogRecord }> = [];
  #onResult!: (result: WorkerResult) => void;
  readonly stream = {
    name: 's',
    heavy: false,
    ready: Promise.resolve(),
    pending: 0,
    firstPending: Number.POSITIVE_INFINITY,
    disposed: false,
    apply: (record: LogRecord, position: number) => {
      this.sent.push({ record, position });
      this.#update();
      return null;
    },
    dispose: () => {
      this.stream.disposed = true;
    },
  };

  adopt(_name: string, _snapshot: unknown, onResult: (result: WorkerResult) => void): WorkerStream {
    this.#onResult = onResult;
    return this.stream as unknown as WorkerStream;
  }

  answer(changes: Partial<WorkerResult> = {}): void {
    const stream = this.stream as unknown as WorkerStream;
    const oldest = this.sent.shift()!;
    this.#update();
    this.#onResult({ stream, ...oldest, steps: [], gone: false, error: null, ...changes });
  }

  #update(): void {
    this.pending = this.sent.length;
    this.stream.pending = this.sent.length;
    this.stream.firstPending = this.sent[0]?.position ?? Number.POSITIVE_INFINITY;
  }
}

function start() {
  const workers = new FakeWorkers();
  const marks: string[] = [];
  const errors: unknown[] = [];
  const applied: LogRecord[] = [];
  const published: Published[] = [];
  const saveSnapshot = (name: string, position: number, state: unknown) =>
    state === null && marks.push(`${name}@${position}`);
  const streams = new Streams({
    evaluation: config.evaluation,
    workers: workers as unknown as Workers,
    history: { add() {} } as unknown as EventHistory,
    snapshots: new Snapshots({ saveSnapshot } as unknown as Log, 1000, 0),
    logger: { ...quiet, error: (_event, fields) => errors.push(fields) },
    lastPosition: 10,
    onApplied: (record) => applied.push(record),
    onResult: (result) => published.push(result),
  });
  return { workers, streams, marks, errors, applied, published };
}

const inWorker = (streams: Streams) => streams.restore({ stream: 's', state: { heavy: true }, position: 10 });

describe('streams', () => {
  it('count a record until its worker has applied it, and hold back acks of its stream alone', async () => {
    const { workers, streams, applied } = start();
    await inWorker(streams);
    const acks: string[] = [];
    const queue = streams.enqueue(11, [tick(), tick()]);
    for (const name of ['s', 'other']) void streams.admit(name, Promise.resolve()).then(() => acks.push(name));
    assert.deepEqual([...streams.apply(queue)], []);
    await turn();
    assert.deepEqual([acks, streams.unapplied, applied.length], [['other'], 2, 0]);
    assert.deepEqual([streams.handledPosition, streams.appliedPosition], [12, 10]);
    workers.answer();
    await turn();
    assert.deepEqual([acks, streams.unapplied, applied.length], [['other', 's'], 1, 1]);
    assert.equal(streams.appliedPosition, 11);
  });

  it('hold back nobody whose stream is retired in its worker, and open it anew with what follows', async () => {
    const { workers, streams, marks, published } = start();
    await inWorker(streams);
    const queue = streams.enqueue(11, [tick(), tick(), hello(), tick()]);
    let acked = false;
    void streams.admit('s', Promise.resolve()).then(() => {
      acked = true;
    });
    for (const _ of streams.apply(queue.slice(0, 1)));
    await turn();
    assert.equal(acked, false);
    const event = { type: 'retired' as const, stream: 's', tracker: 't', profile: 'p' };
    workers.answer({ gone: true, steps: [{ events: [event], history: [] }] });
    await turn();
    assert.deepEqual([acked, workers.stream.disposed, streams.size], [true, true, 0]);
    assert.deepEqual(published, [{ position: 11, events: [event] }]);
    // one record nobody takes, then a new stream, here
    for (const _ of streams.apply(queue.slice(1)));
    assert.deepEqual(marks, ['s@11', 's@12']);
    assert.deepEqual([streams.size, streams.unapplied, workers.sent.length], [1, 0, 0]);
  });

  it('keep a stream whose worker opens it anew with a record that is not back yet', async () => {
    const { workers, streams, marks } = start();
    await inWorker(streams);
    for (const _ of streams.apply(streams.enqueue(11, [tick(), hello()])));
    workers.answer({ gone: true });
    assert.deepEqual([streams.size, marks], [1, ['s@11']]);
    workers.answer();
    assert.deepEqual([streams.size, streams.unapplied], [1, 0]);
  });

  it('go on with the next record when one fails, here or in a worker', async () => {
    const broken = { ...plan, settings: { ...plan.settings, filter: undefined } };
    const part = { seq: 1, k: 1, objects: NO_OBJECTS };
    const here = start();
    const records: LogRecord[] = [
      hello(broken),
      { kind: 'part', stream: 's', atMs: START_MS, role: 'reference', tracker: null, part },
      tick(),
    ];
    for (const _ of here.streams.apply(here.streams.enqueue(11, records)));
    assert.deepEqual([here.errors.length, here.applied.length, here.streams.unapplied], [1, 3, 0]);
    const away = start();
    await inWorker(away.streams);
    for (const _ of away.streams.apply(away.streams.enqueue(11, [tick()])));
    away.workers.answer({ error: 'it broke' });
    assert.deepEqual([away.errors.length, away.applied.length], [1, 1]);
  });
});
