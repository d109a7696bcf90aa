/**
 * A harbour through the real process and the package's client, under the default budget, beside streams that keep it
 * busy: what it settles, tells and alarms upon is what a run with all the time in the world finds. Where the budget is
 * a tenth of a millisecond nothing else is said either; frames stay unjudged, and /metrics and the events say so.
 */
import { strict as assert } from 'node:assert';
import WebSocket from 'ws';
import { type ClientFrame, connect } from '../../src/client.js';
import type { LiveEvent } from '../../src/wire/events.js';
import { Probe } from '../kit/edge.js';
import { metric } from '../kit/exposition.js';
import {
  assertWithin,
  HARBOUR,
  type Run,
  SCAN_S,
  SCANS,
  START_S,
  scans,
  switchesOf,
} from '../kit/scenes/harbour-stream.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { skipInFastRun, until } from '../kit/system/system.js';

interface LiveReport {
  settled: Run['totals'][number];
  window: { exact: boolean };
  skipped?: number;
}

const STREAM = 'port';

/** Sends the harbour as fast as it is taken, and reads what is said of it. */
async function judge(evaluation: object): Promise<Run & { reports: LiveReport[]; metrics: string }> {
  const evaluator = await EvaluatorProcess.create({ ...HARBOUR, evaluation, limits: { liveShare: 1 } });
  try {
    await evaluator.start();
    const reader = await Probe.open(`${evaluator.http.replace('http', 'ws')}/v1/live?stream=${STREAM}`);
    const frames = scans();
    const send = async (role: 'reference' | 'tracker') => {
      const named = role === 'tracker' ? { tracker: 'radar' } : {};
      const client = connect({ url: evaluator.http, stream: STREAM, role, ...named, WebSocket: WebSocket as never });
      for (const [k, frame] of frames.entries())
        await client.send({ k, t: START_S + k * SCAN_S, objects: frame[role] as ClientFrame['objects'] });
      await client.end();
      await client.close();
    };
    await Promise.all([send('reference'), send('tracker')]);
    const reports = () =>
      reader.received.filter(({ type }) => type === 'report') as unknown as Array<LiveReport & { type: string }>;
    await until('everything is judged', () => {
      const { frames: judged, uncertified = 0 } = reports().at(-1)?.settled ?? { frames: 0 };
      return judged + uncertified === SCANS;
    });
    assert.ok(
      reports().every(({ skipped = 0 }) => skipped === 0),
      'the reader has every report',
    );
    const { events } = await evaluator.json<{ events: LiveEvent[] }>(`/v1/events?stream=${STREAM}&limit=10000`);
    const metrics = await (await fetch(`${evaluator.http}/metrics`)).text();
    reader.socket.terminate();
    return { events, totals: reports().map(({ settled }) => settled), reports: reports(), metrics };
  } finally {
    await evaluator.dispose();
  }
}

describe('a harbour, live', () => {
  let exact: Awaited<ReturnType<typeof judge>>;

  before(async function () {
    skipInFastRun(this);
    exact = await judge({ budgetMs: 100_000 });
    assert.ok(switchesOf(exact.events).length > 10, 'there is something to be told');
    assert.equal(exact.totals.at(-1)!.uncertified ?? 0, 0);
  });

  it('is judged under the default budget as under an endless one', async () => {
    const run = await judge({});
    assertWithin(run, exact);
    assert.deepEqual(run.totals.at(-1), exact.totals.at(-1));
    assert.deepEqual(switchesOf(run.events), switchesOf(exact.events));
  });

  it('without time has nothing settled, told or alarmed upon that is not true, and says what is left out', async () => {
    const run = await judge({ budgetMs: 0.2 });
    assertWithin(run, exact);
    const left = run.totals.at(-1)!.uncertified ?? 0;
    assert.ok(left > 0, 'frames were left out');
    const series = { stream: STREAM, tracker: 'radar', profile: 'scan' };
    assert.equal(metric(run.metrics, 'tgospa_frames_uncertified_total', series), left);
    assert.equal(metric(run.metrics, 'tgospa_missed_total', series), run.totals.at(-1)!.count.missed);
    assert.ok(
      run.events.some(({ type }) => type === 'uncertified'),
      'an event tells of it',
    );
    assert.ok(
      run.reports.some(({ window }) => !window.exact),
      'reports are marked',
    );
  });
});
