/** The past for Prometheus: one sample of everything every so often, and only one under each time. */
import assert from 'node:assert/strict';
import { Backfill } from '../../src/telemetry/backfill.js';
import { fakeReport, fakeReportEvent } from '../kit/fake-live.js';

const framesOf = (text: string) =>
  [...text.matchAll(/^tgospa_frames_total\{.*judgement="late".*\} (\d+) ([\d.]+)$/gm)].map(([, value, time]) => [
    Number(value),
    Number(time),
  ]);

describe('the past for Prometheus', () => {
  const settled = (frames: number) => {
    const report = fakeReport();
    return fakeReportEvent({ report: { ...report, settled: { ...report.settled, frames } } });
  };

  it('has a sample every so often, and under one time the last of what was known', () => {
    const backfill = new Backfill(1000, { judgement: 'late' });
    for (const [frames, atMs] of [[1, 5000], [2, 5400], [3, 6000], [4, 6000]]) backfill.add(settled(frames), atMs); // biome-ignore format: pairs
    backfill.sample(6000);
    const text = [...backfill.text()].join('');
    assert.deepEqual(framesOf(text), [[4, 6]]);
    assert.match(text, /^# TYPE tgospa_frames counter$/m);
    assert.ok(text.endsWith('# EOF\n'));
  });
});
