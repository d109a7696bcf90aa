/** When a connection is read from, without any connection: credit, rate, disk, turns. */
import { strict as assert } from 'node:assert';
import { FlowControl } from '../../../src/edge/feeds/flow-control.js';
import { RateLimit } from '../../../src/edge/limits/rate-limit.js';
import { until } from '../../kit/system/system.js';

function flowOf(limits: { creditFrames: number; framesPerSecond: number }) {
  const calls: string[] = [];
  const backlog = { waiting: 0, stalled: false };
  const peer = { pause: () => calls.push('pause'), resume: () => calls.push('resume') };
  const unread: boolean[] = [];
  const flow = new FlowControl(
    peer as never,
    limits,
    () => calls.push('behind'),
    (now) => unread.push(now),
  );
  flow.follow(backlog);
  const waiting = (count: number) => {
    backlog.waiting = count;
    flow.regulate();
  };
  return { flow, calls, unread, backlog, waiting };
}

describe('flow control', () => {
  const LIMITS = { creditFrames: 10, framesPerSecond: 1000 };

  it('pauses above the credit, and resumes at half of it', () => {
    const { flow, calls, waiting } = flowOf(LIMITS);
    for (const count of [10, 11, 12, 6]) waiting(count);
    assert.deepEqual(calls, ['behind', 'pause']);
    assert.ok(flow.paused && flow.behind);
    waiting(5);
    assert.deepEqual(calls, ['behind', 'pause', 'resume']);
  });

  it('says while frames may be unread: without credit, during the turns of others, and not once it is closed', () => {
    const { flow, unread, waiting } = flowOf(LIMITS);
    flow.hold(true);
    flow.hold(false);
    assert.deepEqual(unread, [true, false]);
    for (const count of [9, 10, 11, 6, 5, 0]) waiting(count);
    assert.deepEqual(unread, [true, false, true], 'what it held back is on its way');
    flow.close();
    assert.deepEqual(unread, [true, false, true, false]);
  });

  it('says so for a while after there is credit again', async () => {
    const { unread, waiting } = flowOf(LIMITS);
    waiting(10);
    waiting(0);
    await until('its time is up', () => unread.length === 2);
    assert.deepEqual(unread, [true, false]);
  });

  it('pauses while the disk takes nothing', () => {
    const { flow, calls, backlog } = flowOf(LIMITS);
    backlog.stalled = true;
    flow.regulate();
    backlog.stalled = false;
    flow.regulate();
    assert.deepEqual(calls, ['behind', 'pause', 'resume']);
  });

  it('pauses for a turn of others without falling behind', () => {
    const { flow, calls } = flowOf(LIMITS);
    flow.hold(true);
    assert.ok(flow.paused && !flow.behind);
    flow.hold(false);
    assert.deepEqual(calls, ['pause', 'resume']);
  });

  it('resumes only when nothing stops it any more, and never once it is frozen', () => {
    const { flow, calls, waiting } = flowOf(LIMITS);
    flow.hold(true);
    waiting(11);
    flow.hold(false);
    assert.ok(flow.paused);
    flow.freeze();
    waiting(0);
    assert.deepEqual(calls, ['pause', 'behind']);
  });

  it('pauses a peer that is too fast until its rate has recovered', async () => {
    const { flow, calls } = flowOf(LIMITS);
    flow.spend(1005);
    flow.regulate();
    assert.deepEqual(calls, ['behind', 'pause']);
    while (flow.paused) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(calls, ['behind', 'pause', 'resume']);
  });

  it('pauses no connection that is gone', () => {
    const { flow, calls } = flowOf({ creditFrames: 10, framesPerSecond: 0.001 });
    flow.spend(1);
    flow.close();
    flow.regulate();
    assert.ok(!flow.paused);
    assert.deepEqual(calls, ['behind']);
  });
});

describe('rate limit', () => {
  it('lets a burst of its capacity pass, then says how long to wait', () => {
    const limit = new RateLimit(0.5, 10, 0);
    assert.equal(limit.spend(10, 0), 0);
    assert.equal(limit.spend(1, 0), 2);
    assert.equal(limit.spend(0, 1), 1);
    assert.equal(limit.spend(0, 2), 0);
  });

  it('refills no further than its capacity', () => {
    const limit = new RateLimit(0.5, 10, 0);
    assert.equal(limit.spend(10, 1e6), 0);
    assert.equal(limit.spend(1, 1e6), 2);
  });
});
