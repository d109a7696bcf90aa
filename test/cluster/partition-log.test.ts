/** How records become batches, on a stream that says when it has one. */
import assert from 'node:assert/strict';
import { PartitionLog, sequenceOf } from '../../src/cluster/partition-log.js';
import { type LogRecord, RecordReader } from '../../src/store/record.js';
import { pack } from '../../src/wire/objects.js';

const SETTINGS = { gatherMs: 1, batchBytes: 4096, queueMaxBytes: 1 << 20, timeoutMs: 100, retryMs: 1, stallMs: 1000 };

const recordOf = (seq: number, idLength: number): LogRecord => {
  const objects = pack([{ id: 'x'.repeat(idLength), box: [1, 2, 3, 4] }]);
  return { kind: 'part', stream: 's', atMs: seq, role: 'tracker', tracker: 't', part: { seq, k: seq, objects } };
};

/** Keeps what is appended, and acknowledges a batch when it is told to. */
class FakeStream {
  readonly payloadMax = 10_000;
  readonly batches: Uint8Array[] = [];
  #acks: Array<(sequence: number) => void> = [];

  append(bytes: Uint8Array): Promise<number> {
    this.batches.push(Uint8Array.from(bytes));
    return new Promise((resolve) => this.#acks.push(resolve));
  }

  acknowledge(): void {
    this.#acks.shift()?.(this.batches.length);
  }

  seqs(): number[][] {
    return this.batches.map((bytes) => {
      const reader = new RecordReader(Buffer.from(bytes));
      const seqs: number[] = [];
      while (!reader.done) seqs.push((reader.read() as Extract<LogRecord, { kind: 'part' }>).part.seq);
      return seqs;
    });
  }
}

describe('batches of a partition', () => {
  it('are no larger than a broker takes, in order, and each record knows its own', async () => {
    const stream = new FakeStream();
    const log = new PartitionLog(stream, SETTINGS);
    // small ones, some that nearly fill a batch alone, small ones again
    const sizes = [...Array(60).fill(100), 6000, 6000, ...Array(60).fill(100), 8500];
    const positions = sizes.map((size, n) => log.append(recordOf(n, size)));
    let isOver = false;
    const all = Promise.all(positions).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      stream.acknowledge();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const seqs = stream.seqs();
    assert.deepEqual(
      seqs.flat(),
      sizes.map((_, n) => n),
    );
    const largest = Math.max(...stream.batches.map(({ length }) => length));
    assert.ok(largest <= 0.9 * stream.payloadMax, `${largest} bytes`);
    assert.ok(largest > SETTINGS.batchBytes, 'one that has to wait grows meanwhile');
    for (const [n, position] of (await all).entries()) {
      const batch = seqs[sequenceOf(position) - 1];
      assert.equal(batch[position % 65_536], n);
    }
    await log.close(0);
  });

  it('do not gather again when the one before took as long as that', async () => {
    const stream = new FakeStream();
    const log = new PartitionLog(stream, { ...SETTINGS, gatherMs: 200 });
    const first = log.append(recordOf(0, 6000));
    const second = log.append(recordOf(1, 100));
    await new Promise((resolve) => setTimeout(resolve, 200));
    stream.acknowledge();
    await first;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(stream.seqs(), [[0], [1]]);
    stream.acknowledge();
    await second;
    await log.close(0);
  });

  it('say for how long the one underway has waited, through every attempt', async () => {
    const stream = new FakeStream();
    let failures = 2;
    const failing = {
      payloadMax: stream.payloadMax,
      append: (bytes: Uint8Array) =>
        failures-- > 0
          ? new Promise<number>((_, reject) => setTimeout(() => reject(new Error('timeout')), 20))
          : stream.append(bytes),
    };
    const log = new PartitionLog(failing, SETTINGS);
    assert.equal(log.unacknowledgedMs, 0);
    const stored = log.append(recordOf(0, 100));
    while (stream.batches.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(log.unacknowledgedMs >= 35, `${log.unacknowledgedMs} ms`);
    stream.acknowledge();
    await stored;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(log.unacknowledgedMs, 0);
    await log.close(0);
  });
});
