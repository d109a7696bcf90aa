/**
 * Wrong wiring, over the real process and the package's client: fifteen streams, each connected with another mistake,
 * at the pace of real feeds. Every mistake is named within the first minute everywhere people look.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import WebSocket from 'ws';
import { type ClientFrame, connect, type FeedClient } from '../../src/client.js';
import type { FINDINGS, Finding, FindingEvent } from '../../src/wire/findings.js';
import { Probe } from '../kit/edge.js';
import { inSectors, keyed, moved, type Sent, scene } from '../kit/scenes/wiring-scene.js';
import { CHROMIUM, launch } from '../kit/system/browser.js';
import { Program } from '../kit/system/program.js';
import { SYSTEM_TIMEOUT_MS, skipInFastRun, skipUnless, until } from '../kit/system/system.js';

const CONFIG = `profiles:
  yard: { distance: euclidean, cutoff: 60, exponent: 1, switchPenalty: 30 }
streams:
  defaults: { windowFrames: 10, pairing: { latenessMs: 1500 } }
`;

interface Feeds {
  reference?: Sent[];
  tracker?: Sent[];
  settings?: Record<string, unknown>;
  /** the reference sends a frame when so many later ones of the tracker are stored */
  behindFrames?: number;
}

const EVERY_MS = 50;
const boxes = scene({ everyMs: EVERY_MS, frames: 280, objects: 6 });
const points = scene({ everyMs: EVERY_MS, frames: 280, objects: 6, shape: 'point' });
const byFrame = (feed: Sent[]) => keyed(feed, ({ k }) => ({ k }));
const byTime = (feed: Sent[]) => keyed(feed, ({ t }) => ({ t }));
const sparse = (feed: Sent[]) => feed.filter((_, n) => n % 10 === 0);
const timed = { reference: byTime(boxes.reference), tracker: byTime(boxes.tracker) };
const yard = { ...points, settings: { profiles: ['yard'] } };

/** Each mistake by the name it must be found under. */
const MISTAKES: Record<keyof typeof FINDINGS, Feeds> = {
  feeds_never_match: { ...boxes, tracker: scene({ everyMs: EVERY_MS, frames: 280, seed: 99 }).tracker },
  // counted in frames, not by the clock: who cannot keep pace is late by less, and a machine that stood still forgives
  nothing_pairs: { ...boxes, behindFrames: 80, settings: { pairing: { bufferFrames: 30 } } },
  frame_offset: {
    ...boxes,
    tracker: keyed(boxes.tracker, ({ k }) => ({ k: k! + 1 })),
    reference: byFrame(boxes.reference),
  },
  clock_offset: { ...timed, tracker: keyed(boxes.tracker, ({ t }) => ({ t: t! - 7 })) },
  time_unit: {
    reference: keyed(boxes.reference, ({ atMs }) => ({ t: atMs / 1000 })),
    tracker: keyed(boxes.tracker, ({ atMs }) => ({ t: atMs })),
  },
  mixed_keys: { reference: byFrame(boxes.reference), tracker: byTime(boxes.tracker) },
  rate_mismatch: { ...timed, reference: sparse(timed.reference) },
  interpolation_impossible: {
    ...timed,
    reference: sparse(timed.reference),
    settings: { pairing: { reference: 'linear', holdMaxMs: 2000, latenessMs: 100 } },
  },
  partial_frames: { ...boxes, tracker: inSectors(boxes.tracker, 3) },
  box_order: { ...boxes, tracker: moved(boxes.tracker, ([x, y, w, h]) => [x, y, x + w, y + h]) },
  normalized_boxes: {
    ...boxes,
    tracker: moved(boxes.tracker, ([x, y, w, h]) => [x / 1920, y / 1080, w / 1920, h / 1080]),
  },
  axis_swapped: { ...yard, tracker: moved(points.tracker, ([x, y]) => [y, x]) },
  classes_never_match: {
    ...boxes,
    reference: boxes.reference.map((sent) => ({
      ...sent,
      objects: sent.objects.map((one) => ({ ...one, class: 'person' })),
    })),
    settings: { classes: { apart: true } },
  },
  units: { ...yard, tracker: moved(points.tracker, (at) => at.map((value) => value / 0.3048)) },
  reference_never_came: { tracker: boxes.tracker },
  tracker_never_came: { reference: boxes.reference },
};

describe('wrong wiring', () => {
  let folder: string;
  let server: Program;
  let address: string;
  let live: Probe;
  const clients: FeedClient[] = [];

  before(async function () {
    skipInFastRun(this);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-wiring-'));
    writeFileSync(join(folder, 'tgospa.yaml'), CONFIG);
    server = Program.tgospa(['serve', '--port', '0', '--data', join(folder, 'data')], { cwd: folder });
    [, address] = await server.shows(/listening on http:\/\/(\S+)/);
    live = await Probe.open(`ws://${address}/v1/live?everyMs=60000`);
    await Promise.all(Object.entries(MISTAKES).map(([stream, feeds]) => play(stream, feeds)));
    for (const client of clients) await client.close();
  });
  after(async () => {
    live?.socket.terminate();
    await server?.end('SIGKILL');
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  /** Sends both feeds of a stream at their pace. */
  async function play(stream: string, { reference, tracker, settings, behindFrames }: Feeds): Promise<void> {
    const beganMs = Date.now();
    let stored = 0;
    const isAhead = (n: number) => stored >= Math.min(n + behindFrames!, tracker!.length);
    const send = async (role: 'reference' | 'tracker', feed: Sent[]) => {
      const named = role === 'tracker' ? { tracker: 'sort' } : {};
      const client = connect({
        url: `http://${address}`,
        stream,
        role,
        ...named,
        settings,
        WebSocket: WebSocket as never,
      });
      clients.push(client);
      for (const [n, { atMs, ...frame }] of feed.entries()) {
        await new Promise((resolve) => setTimeout(resolve, beganMs + atMs - Date.now()));
        if (behindFrames && role === 'reference') await until('the tracker is ahead', () => isAhead(n));
        await client.send(frame as ClientFrame);
        if (!behindFrames || role === 'reference') continue;
        await client.flush();
        stored = n + 1;
      }
    };
    await Promise.all([
      ...(reference ? [send('reference', reference)] : []),
      ...(tracker ? [send('tracker', tracker)] : []),
    ]);
  }

  const get = async <T>(path: string): Promise<T> => (await fetch(`http://${address}${path}`)).json() as Promise<T>;

  for (const name of Object.keys(MISTAKES) as Array<keyof typeof FINDINGS>)
    it(`is found and told everywhere: ${name}`, async () => {
      const finding = await until(`${name} in /v1/streams`, async () => {
        const { streams } = await get<{ streams: Array<{ stream: string; findings: Finding[] }> }>('/v1/streams');
        const { findings } = streams.find(({ stream }) => stream === name)!;
        return findings.find((one) => one.finding === name) && findings;
      });
      assert.deepEqual(
        finding.map((one) => one.finding),
        [name],
        'nothing else is found',
      );
      const [{ message, remedy, evidence, tracker }] = finding;
      assert.ok(message && remedy && Object.keys(evidence).length > 0);

      const isStart = (event: FindingEvent) =>
        event.type === 'finding' && event.stream === name && event.finding === name && event.phase === 'start';
      const { events } = await get<{ events: FindingEvent[] }>(`/v1/events?stream=${name}&limit=1000`);
      assert.ok(events.some(isStart));
      // sockets and pipes may bring it after the answer did
      await until('whoever reads along hears it', () => (live.received as unknown as FindingEvent[]).some(isStart));
      await until('the log has it, with its remedy', () => {
        const lines = server.output
          .split('\n')
          .slice(0, -1)
          .filter((line) => line.includes(`"finding":"${name}"`));
        return lines.some((line) => JSON.parse(line).level === 'warn' && JSON.parse(line).remedy);
      });

      const metrics = await (await fetch(`http://${address}/metrics`)).text();
      assert.ok(
        metrics.includes(`tgospa_stream_finding{stream="${name}",tracker="${tracker ?? ''}",finding="${name}"} 1`),
      );

      const probe = await Probe.open(`ws://${address}/v1/ingest`);
      probe.send({ type: 'hello', stream: name, role: 'reference' });
      const { warnings } = await probe.nextOf('welcome');
      assert.ok((warnings as string[]).some((warning) => warning.startsWith(`${name}: `) && warning.endsWith(remedy)));
      await probe.close();
    });

  it('stands on the page, in the overview and with its remedy in the view of the series', async function () {
    skipUnless(this, existsSync(CHROMIUM), `the page is tested in ${CHROMIUM}; install Debian's package chromium`);
    const browser: Browser = await launch();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(SYSTEM_TIMEOUT_MS);
      await page.goto(`http://${address}/`);
      const row = page.locator('tr[data-series="box_order/sort/online-surveillance"]');
      await row.getByText('fit when they are read as xyxy').waitFor();
      await row.locator('a').click();
      const banner = page.locator('.banner[data-state="finding"]');
      await banner.waitFor();
      assert.match((await banner.textContent()) ?? '', /box_order.*read as xyxy.*\[left, top, width, height\]/);
    } finally {
      await browser.close();
    }
  });
});
