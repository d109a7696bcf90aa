/**
 * Backups as docker/README.md advises: a copy of the data folder at one moment, while the evaluator runs (as a snapshot
 * of the file system is; here it is suspended for the copy), or while it is stopped. Everything that was acked is in
 * it, and an evaluator that is started on it continues where it ends.
 */
import { strict as assert } from 'node:assert';
import { cpSync } from 'node:fs';
import WebSocket from 'ws';
import { connect, type FeedClient } from '../../src/client.js';
import { EvaluatorProcess, timeless } from '../kit/system/evaluator-process.js';

const CONFIG = {
  data: { snapshotFrames: 50 },
  evaluation: { budgetMs: 10_000 },
  streams: { defaults: { windowFrames: 20, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
};
const WINDOW = '/v1/window?stream=gate&tracker=sort&profile=online-surveillance';

function openFeeds({ http: url }: EvaluatorProcess): FeedClient[] {
  const common = { url, stream: 'gate', WebSocket: WebSocket as never };
  return [connect({ ...common, role: 'reference' }), connect({ ...common, role: 'tracker', tracker: 'sort' })];
}

async function send(feeds: FeedClient[], from: number, to: number): Promise<void> {
  for (let k = from; k <= to; k++)
    for (const feed of feeds) await feed.send({ k, objects: [{ id: 'a', box: [k % 40, 10, 20, 20] }] });
  await Promise.all(feeds.map((feed) => feed.flush()));
}

async function windowAt(evaluator: EvaluatorProcess, k: number): Promise<unknown> {
  for (;;) {
    const window = await evaluator.json<{ k?: number }>(WINDOW);
    if (window.k === k) return timeless(window);
  }
}

describe('a backup of the data folder', () => {
  for (const way of ['at one moment, while it runs', 'while it is stopped'])
    it(`${way}, is opened and continued`, async () => {
      const [running, restored] = await Promise.all([EvaluatorProcess.create(CONFIG), EvaluatorProcess.create(CONFIG)]);
      let feeds: FeedClient[] = [];
      try {
        await running.start();
        feeds = openFeeds(running);
        await send(feeds, 1, 180);
        const before = await windowAt(running, 180);
        if (way === 'while it is stopped') await running.end();
        else running.signal('SIGSTOP');
        cpSync(running.data, restored.data, { recursive: true });
        if (way !== 'while it is stopped') running.signal('SIGCONT');
        await Promise.all(feeds.map((feed) => feed.close({ flush: false })));
        await restored.start();
        assert.deepEqual(await windowAt(restored, 180), before);
        feeds = openFeeds(restored);
        await send(feeds, 181, 220);
        await windowAt(restored, 220);
        const { events } = await restored.json<{ events: Array<{ type: string }> }>('/v1/events?stream=gate');
        assert.deepEqual(
          events.filter(({ type }) => type !== 'resuming'),
          [],
        );
      } finally {
        await Promise.all(feeds.map((feed) => feed.close({ flush: false })));
        await Promise.all([running.dispose(), restored.dispose()]);
      }
    });
});
