/** Acks wait for a backlog that is too long, and for nothing else. */
import assert from 'node:assert/strict';
import { Backlog } from '../../src/live/backlog.js';

/** Everything that is settled by now has been told. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

const filled = (limit: number, count: number): Backlog => {
  const backlog = new Backlog(limit);
  for (let n = 0; n < count; n++) backlog.add();
  return backlog;
};

/** Acks of so many group commits, and how many of them have been given. */
function commit(backlog: Backlog, commits: number) {
  const acks = { given: 0 };
  for (let n = 0; n < commits; n++) void backlog.admit(Promise.resolve()).then(() => acks.given++);
  return acks;
}

describe('backlog', () => {
  it('acks what is durable while it is short', async () => {
    const acks = commit(filled(3, 3), 2);
    await turn();
    assert.equal(acks.given, 2);
  });

  it('gives the parts of one group commit one promise', () => {
    const backlog = new Backlog(3);
    const durable = Promise.resolve();
    assert.equal(backlog.admit(durable), backlog.admit(durable));
    assert.notEqual(backlog.admit(durable), backlog.admit(Promise.resolve()));
  });

  it('holds acks back while it is too long, and releases two for each record', async () => {
    const backlog = filled(3, 5);
    const acks = commit(backlog, 7);
    const given: number[] = [];
    for (let n = 0; n < 5; n++) {
      backlog.remove();
      await turn();
      given.push(acks.given);
    }
    assert.deepEqual(given, [0, 2, 4, 6, 7]);
  });

  it('releases everybody when nothing is left', async () => {
    const backlog = filled(0, 1);
    const acks = commit(backlog, 5);
    await turn();
    assert.equal(acks.given, 0);
    backlog.remove();
    await turn();
    assert.equal(acks.given, 5);
  });

  it('passes on that something is not going to be durable', async () => {
    const fault = new Error('the disk is full');
    await assert.rejects(filled(3, 5).admit(Promise.reject(fault)), fault);
  });

  it('lets acks pass those who wait for its end', async () => {
    const backlog = filled(1, 2);
    let empty = false;
    void backlog.shrunk(0).then(() => {
      empty = true;
    });
    const acks = commit(backlog, 1);
    await turn();
    backlog.remove();
    await turn();
    assert.deepEqual([acks.given, empty], [1, false]);
    backlog.remove();
    await turn();
    assert.equal(empty, true);
  });

  it('holds nobody up once its limit is lifted', async () => {
    const backlog = filled(1, 9);
    const waiting = commit(backlog, 3);
    await turn();
    backlog.lift();
    const later = commit(backlog, 3);
    await turn();
    assert.deepEqual([waiting.given, later.given], [3, 3]);
    assert.equal(backlog.count, 9);
  });
});
