/**
 * A reference that comes after the tracker's frames were given up, over the real process and the package's client: it
 * is counted and told, and the tracker is charged with nothing. At every delay: before the lateness is over everything
 * is judged, after it nothing of what was given up is.
 */
import { strict as assert } from 'node:assert';
import WebSocket from 'ws';
import { connect, type FeedClient } from '../../src/client.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { until } from '../kit/system/system.js';

const FRAMES = 300;
const BUFFER = 100;
const configOf = (latenessMs: number) => ({
  evaluation: { budgetMs: 10_000 },
  streams: { defaults: { windowFrames: 20, pairing: { latenessMs, silenceMs: 1e7, bufferFrames: BUFFER } } },
});

async function sendAll(feed: FeedClient, first = 1): Promise<void> {
  for (let k = first; k <= FRAMES; k++)
    await feed.send({ k, objects: [1, 2, 3].map((n) => ({ id: `${n}`, box: [100 * n, 10, 50, 50] })) });
  await feed.flush();
}

/** Counters of the only series, and how many reference frames came too late. */
async function figures(evaluator: EvaluatorProcess): Promise<Record<string, number>> {
  const text = await (await fetch(`${evaluator.http}/metrics`)).text();
  const value = (name: string, labels: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name}{`) && line.includes(labels))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  return {
    judged: value('tgospa_frames_judged_total', 'sort'),
    missed: value('tgospa_missed_total', 'sort'),
    late: value('tgospa_frames_late_total', 'role="reference"'),
    missing: value('tgospa_frames_missing_total', 'role="reference"'),
  };
}

describe('truth that comes after the tracker', () => {
  const cases = [
    { name: 'within the lateness is judged, but for what did not fit', latenessMs: 1e7, waits: BUFFER },
    { name: 'after the lateness is not', latenessMs: 50, waits: 0 },
  ];
  for (const { name, latenessMs, waits } of cases)
    it(`${name}, and no miss is charged`, async () => {
      const evaluator = await EvaluatorProcess.create(configOf(latenessMs));
      const feeds: FeedClient[] = [];
      try {
        await evaluator.start();
        const common = { url: evaluator.http, stream: 'gate', WebSocket: WebSocket as never };
        feeds.push(connect({ ...common, role: 'tracker', tracker: 'sort' }), connect({ ...common, role: 'reference' }));
        await Promise.all(feeds.map((feed) => feed.ready()));
        await sendAll(feeds[0]);
        const givenUp = FRAMES - waits;
        await until('they are given up', async () => (await figures(evaluator)).missing === givenUp);
        await sendAll(feeds[1]);
        await Promise.all(feeds.map((feed) => feed.end()));
        await until('the truth is counted', async () => (await figures(evaluator)).late === givenUp);
        assert.deepEqual(await figures(evaluator), { judged: waits, missed: 0, late: givenUp, missing: givenUp });
      } finally {
        await Promise.all(feeds.map((feed) => feed.close({ flush: false })));
        await evaluator.dispose();
      }
    });
});
