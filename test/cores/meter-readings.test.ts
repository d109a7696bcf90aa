/** What a worker has counted, on its way to another thread: every second, so it must not cost what nobody asks for. */

import { strict as assert } from 'node:assert';
import { addMeters, readMeters } from '../../src/cores/meter-readings.js';
import { Meters } from '../../src/telemetry/meters.js';
import { fakeReport, fakeReportEvent } from '../kit/fake-live.js';

describe('readings of meters', () => {
  it('arrive as they were, and nobody works out who is assigned to whom', () => {
    const count = { proper: 3, missed: 2, false: 1, switches: 0 };
    const newest = {
      cost: { localization: 1, missed: 2, false: 3, switch: 4 },
      count,
      get assignment(): never {
        throw new Error('nobody asks for it');
      },
    };
    const event = fakeReportEvent({ report: { ...fakeReport({ distance: 2.5 }), newest } });
    const counted = new Meters(10);
    counted.observe(event, event.receivedMs);
    const received = new Meters(10);
    addMeters(received, structuredClone(readMeters(counted)));
    const [meter] = received.series.values();
    assert.equal(meter.report.distance, 2.5);
    assert.deepEqual(meter.report.newest.count, count);
  });
});
