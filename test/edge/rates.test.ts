import { strict as assert } from 'node:assert';
import { Rates } from '../../src/edge/rates.js';
import type { ReportEvent } from '../../src/wire/events.js';
import { fakeReport } from '../kit/fake-live.js';

const all = { covers: () => true };
const SERIES = { stream: 'gate-7', tracker: 'sort', profile: 'online-surveillance' };

/** A frame every second: four proper, one missed; a switch and a false track in every tenth. */
function report(n: number, changes: Partial<ReportEvent> = {}): ReportEvent {
  const tens = Math.floor(n / 10);
  const count = { proper: 4 * n, missed: n, false: tens, switches: tens };
  const settled = { frames: n, cost: fakeReport({}).cost, count };
  return {
    type: 'report',
    ...SERIES,
    k: n,
    receivedMs: 1000 * n,
    solveMs: 0,
    report: fakeReport({ settled }),
    ...changes,
  } as ReportEvent;
}

function observed(from: number, to: number, changes: Partial<ReportEvent> = {}) {
  const rates = new Rates(10);
  for (let n = from; n <= to; n++) rates.observe(report(n, changes));
  return rates;
}

describe('rates', () => {
  it('counts what settled within the last minute', () => {
    const [{ seconds, frames, proper, missed, false: wrong, switches }] = observed(1, 300).list(all);
    assert.ok(seconds >= 60 && seconds <= 65, String(seconds));
    assert.deepEqual([frames, proper, missed], [seconds, 4 * seconds, seconds]);
    assert.ok(wrong >= 6 && wrong <= 7 && switches === wrong);
  });

  it('goes by the time of the frames where they have one', () => {
    const rates = new Rates(10);
    for (let n = 1; n <= 100; n++) rates.observe(report(n, { t: 5000 + n * 2, receivedMs: n }));
    const [{ seconds, frames }] = rates.list(all);
    assert.equal(seconds, 2 * frames);
  });

  it('starts over with a series that starts again, and knows nothing of one that was recovered', () => {
    const rates = observed(100, 200);
    rates.observe(report(1, { receivedMs: 900_000 }));
    assert.deepEqual(
      rates.list(all).map(({ frames, seconds }) => [frames, seconds]),
      [[0, 0]],
    );
    assert.equal(observed(1, 50, { receivedMs: 0 }).list(all)[0].seconds, 0);
  });

  it('says what is usual, forgets what is retired, and holds so many series only', () => {
    const gauge = () => ({ active: false, certain: false, score: 0, expected: 0.25, observed: 0, count: 0, begun: 0 });
    const rates = observed(1, 20, { spikes: { signals: ['missed', 'false'], gauge } });
    assert.deepEqual(rates.list(all)[0].usual, { missed: 0.25, false: 0.25 });
    rates.observe({ type: 'retired', ...SERIES });
    assert.deepEqual(rates.list(all), []);
    for (let n = 0; n < 25; n++) rates.observe(report(1, { stream: `gate-${n}` }));
    assert.deepEqual([rates.list(all).length, rates.list({ ...all, stream: 'gate-24' }).length], [10, 1]);
  });
});
