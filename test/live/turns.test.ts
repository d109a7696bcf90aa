/** Fair turns of streams in the queue of records to be applied. */
import { strict as assert } from 'node:assert';
import { Turns } from '../../src/live/turns.js';
import type { LogRecord } from '../../src/store/record.js';

const part = (stream: string, position: number, objects = 9) => {
  const ids = Array.from({ length: objects }, (_, n) => String(n));
  const list = { shape: 'box', stride: 4, ids, coordinates: [] } as const;
  const record: LogRecord = {
    kind: 'part',
    stream,
    atMs: 0,
    role: 'reference',
    tracker: null,
    part: { seq: position, k: position, objects: { ...list, coordinates: [] } },
  };
  return { position, record };
};

describe('turns', () => {
  it('lets a stream with one record in after one turn of a busy one', () => {
    const turns = new Turns();
    for (let position = 1; position <= 1000; position++) turns.add(part('busy', position));
    turns.add(part('light', 1001));
    const order = [...turns].map(({ record }) => record.stream);
    assert.equal(order.length, 1001);
    assert.equal(order.indexOf('light'), 10);
  });

  it('keeps the records of each stream in order, whatever comes meanwhile', () => {
    const turns = new Turns();
    for (let position = 1; position <= 60; position++) turns.add(part(`s${position % 3}`, position, position % 7));
    let position = 60;
    const last = new Map<string, number>();
    let count = 0;
    for (const { record, position: at } of turns) {
      assert.ok(at > (last.get(record.stream) ?? 0));
      last.set(record.stream, at);
      if (++count % 4 === 0 && position < 200) turns.add(part(`s${position % 3}`, ++position));
    }
    assert.equal(count, position);
  });

  it('gives out one stream after the other where nobody waits', () => {
    const turns = new Turns();
    for (let position = 1; position <= 60; position++) turns.add(part(`s${position % 3}`, position));
    const order = [...turns.inTurnsOf(Number.POSITIVE_INFINITY)];
    const streams = order.map(({ record }) => record.stream);
    assert.equal(streams.filter((stream, n) => stream !== streams[n - 1]).length, 3);
    assert.deepEqual(
      order.filter(({ record }) => record.stream === 's1').map(({ position }) => position),
      Array.from({ length: 20 }, (_, n) => 3 * n + 1),
    );
  });

  it('shares objects, not records', () => {
    const turns = new Turns();
    for (let position = 1; position <= 100; position++) turns.add(part('large', position, 199));
    for (let position = 101; position <= 1100; position++) turns.add(part('small', position, 9));
    const first = [...turns].slice(0, 220).map(({ record }) => record.stream);
    const large = first.filter((stream) => stream === 'large').length;
    assert.ok(Math.abs(large * 200 - (220 - large) * 10) <= 200, `${large} large records`);
  });

  it('knows up to where everything is applied', () => {
    const turns = new Turns();
    assert.equal(turns.firstPosition, Number.POSITIVE_INFINITY);
    for (const [stream, position] of [
      ['a', 1],
      ['a', 2],
      ['b', 3],
    ] as const)
      turns.add(part(stream, position, 199));
    const seen: number[][] = [];
    for (const { position } of turns) seen.push([position, turns.firstPosition]);
    assert.deepEqual(seen, [
      [1, 1],
      [3, 2],
      [2, 2],
    ]);
    assert.equal(turns.firstPosition, Number.POSITIVE_INFINITY);
  });

  it('count the work that a record was: a heavy stream has one record, then the others all of theirs', () => {
    const turns = new Turns();
    for (let position = 1; position <= 4; position++) turns.add(part('heavy', position, 20));
    for (let position = 5; position <= 12; position++) turns.add(part('light', position, 20));
    const order: number[] = [];
    for (const { position, record } of turns) {
      order.push(position);
      if (record.stream === 'heavy') turns.charge(20);
    }
    assert.deepEqual(order, [1, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 4]);
  });

  it('give out a record that is not done yet once more, when all others that wait have had their turn', () => {
    const turns = new Turns();
    turns.add(part('heavy', 1));
    turns.add(part('heavy', 2));
    turns.add(part('light', 3));
    const order: number[][] = [];
    for (const { position } of turns) {
      order.push([position, turns.firstPosition]);
      if (order.length < 4 && position === 1) {
        if (order.length === 1) turns.add(part('other', 4));
        turns.again();
      }
    }
    assert.deepEqual(order, [
      [1, 1],
      [3, 1],
      [4, 1],
      [1, 1],
      [2, 2],
    ]);
    assert.equal(turns.firstPosition, Number.POSITIVE_INFINITY);
  });
});
