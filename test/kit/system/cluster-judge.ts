/**
 * Judges what a cluster left on its brokers. The log is the order of everything: replayed by one owner that nobody
 * interrupts, it must give the chain of events that the owners published together, event by event, and the windows they
 * serve; what clients saw acked is in it, once and in order. What the last owner had no time to publish is published by
 * a next one, as it would be in a cluster that goes on.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { NEVER } from 'rxjs';
import { decodeLink, type Link } from '../../../src/cluster/event-chain.js';
import { Layout } from '../../../src/cluster/layout.js';
import type { NatsConnection } from '../../../src/cluster/nats/connection.js';
import { readAll } from '../../../src/cluster/nats/follow.js';
import { PartitionLog } from '../../../src/cluster/partition-log.js';
import { SharedLog } from '../../../src/cluster/shared-log.js';
import { type Config, readConfig } from '../../../src/config/config.js';
import { Live } from '../../../src/live/live.js';
import { DataFolder } from '../../../src/store/folder.js';
import { type LogRecord, RecordReader } from '../../../src/store/record.js';
import type { LiveEvent } from '../../../src/wire/events.js';
import { quiet } from '../live.js';
import { SharedPartition } from '../shared-log.js';
import { until } from './system.js';

/** The last number that a client saw acked, by `stream/tracker`. */
export type Acked = ReadonlyMap<string, number>;

export interface Verdict {
  records: number;
  /** stored more than once */
  repeated: number;
  events: number;
  /** claims of all partitions */
  claims: number;
  /** feeds that were called silent: none of them ever was */
  silences: string[];
  /** incidents that began, with their signals and causes */
  incidents: string[];
  /** the windows of the replay, by stream */
  windows: Map<string, unknown>;
}

/** The last part of a feed, and the batch it came with. */
interface Seen {
  seq: number;
  sequence: number;
  from: string;
  atMs: number;
  epoch?: number;
}

/** Nothing is due. */
const STILL = { now: () => 0, ticks: () => NEVER };
/** more of it tells a reader nothing */
const STORY_LENGTH = 800;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

export async function judge(
  connection: NatsConnection,
  config: Record<string, unknown> & { cluster: object },
  acked: Acked,
  series: { tracker: string; profile: string },
): Promise<Verdict> {
  const read = readConfig({ text: JSON.stringify(config), env: {} }).config;
  const layout = new Layout(connection, read.cluster!);
  // after the last trouble brokers may still choose a leader
  const allOf = (stream: string, subject: string) =>
    until('the brokers answer', () => readAll(connection, stream, subject).catch(() => false as const));
  const verdict: Verdict = {
    records: 0,
    repeated: 0,
    events: 0,
    claims: 0,
    silences: [],
    incidents: [],
    windows: new Map(),
  };
  const seen = new Map<string, Seen>();
  const epochs = new Map<string, number>();
  for (let p = 0; p < read.cluster!.partitions; p++) {
    await conclude(layout, p, read);
    const stored = await allOf(layout.logStream(p), layout.logSubject(p));
    const batches = stored.map(({ bytes }) => decode(bytes));
    for (const [n, { sequence, from }] of stored.entries())
      for (const record of batches[n]) {
        verdict.records++;
        if (isOfLastHello(record, epochs)) count(record, { sequence, from }, seen, verdict);
      }
    const links = (await allOf(layout.eventStream, layout.eventSubject(p))).map(({ bytes }) => decodeLink(bytes));
    checkChain(p, links, verdict);
    const replayed = await replay(config, batches, verdict.windows, series);
    const published = links.flatMap(({ events }) => (events as Array<{ event: unknown }>).map(({ event }) => event));
    assert.deepEqual(published, replayed, `partition ${p}: the chain is that of an uninterrupted run`);
    verdict.events += published.length;
    for (const event of published as LiveEvent[]) accuse(event, batches, verdict);
  }
  for (const [feed, seq] of acked) {
    const last = seen.get(feed)?.seq ?? 0;
    assert.ok(last >= seq, `${feed}: ${seq} was acked, and the log has ${last}`);
  }
  return verdict;
}

/**
 * An owner that has little time to stop leaves something to publish to the next one, as one that is killed does. Here
 * is the next one: afterwards nothing is left.
 */
async function conclude(layout: Layout, partition: number, { cluster, ...config }: Config): Promise<void> {
  const { logKeepBytes, purgeMs, heldBatches, timeoutMs, retryMs, stallMs } = cluster!;
  const { groupCommitMs: gatherMs, commitBytes: batchBytes, queueMaxBytes } = config.data;
  const writing = { gatherMs, batchBytes, queueMaxBytes, timeoutMs, retryMs, stallMs };
  const writer = new PartitionLog(await layout.log(partition), writing);
  const settings = { logKeepBytes, purgeMs, heldBatches, configVersion: 0 };
  const dir = mkdtempSync(join(tmpdir(), 'tgospa-judge-'));
  const evaluation = { ...config.evaluation };
  const live = await Live.open({ ...config, cluster: null, data: { ...config.data, dir }, evaluation }, STILL, quiet, {
    openLog: (_data, owner) => SharedLog.open({ layout, partition, owner: 'judge', writer, settings }, owner),
    resumes: false,
    configures: false,
    folder: new DataFolder(dir),
  });
  await live.stop();
  await writer.close(0);
  rmSync(dir, { recursive: true, force: true });
}

/** What is said of feeds that send without a pause, with what the log has of them around it. */
function accuse(event: LiveEvent, batches: LogRecord[][], { silences, incidents }: Verdict): void {
  if (event.type === 'silence' && !event.over)
    silences.push(`${event.stream}/${event.tracker ?? ''} since ${event.since}: ${story(batches, event)}`);
  if (event.type === 'incident' && event.phase === 'start') {
    const signals = event.signals.map(({ signal }) => signal).join(' and ');
    const around = story(batches, { stream: event.stream, since: event.sinceMs });
    incidents.push(`${event.stream}, frame ${event.at}: ${signals}, ${event.cause}: ${around}`);
  }
}

/** The records of a stream from a second before somebody was last heard, in runs of the same kind and feed. */
function story(batches: LogRecord[][], { stream, since }: { stream: string; since: number }): string {
  const runs: Array<{ what: string; records: LogRecord[]; batch: number }> = [];
  for (const [batch, records] of batches.entries())
    for (const record of records) {
      if (record.stream !== stream || record.atMs < since - 1000 || record.atMs > since + 40_000) continue;
      const what = 'role' in record ? `${record.kind} ${record.role}` : record.kind;
      const last = runs.at(-1);
      if (last?.what === what) last.records.push(record);
      else runs.push({ what, records: [record], batch });
    }
  const timeOf = (record: LogRecord) => Math.round(record.atMs - since);
  return runs
    .filter(({ records, what }) => records.length > 2 || !what.startsWith('part'))
    .map(({ what, records, batch }) => {
      return `#${batch} ${what} x${records.length} at ${timeOf(records[0])} to ${timeOf(records.at(-1)!)}`;
    })
    .join('; ')
    .slice(0, STORY_LENGTH);
}

function decode(bytes: Uint8Array): LogRecord[] {
  const reader = new RecordReader(Buffer.from(bytes));
  const records: LogRecord[] = [];
  while (!reader.done) records.push(reader.read());
  return records;
}

/**
 * Parts of a hello before the last one of their feed are dropped, and sent again under it: a client that saw them acked
 * and does not leaves a hole.
 */
function isOfLastHello(record: LogRecord, epochs: Map<string, number>): boolean {
  if (record.kind !== 'open' && record.kind !== 'part') return false;
  const feed = `${record.stream}/${record.tracker ?? ''}`;
  const [last, { epoch = 0 }] = [epochs.get(feed) ?? 0, record];
  if (record.kind === 'open') epochs.set(feed, Math.max(last, epoch));
  return record.kind === 'part' && epoch === last;
}

/** Numbers of a feed follow each other without a hole; what comes again is told apart by its number. */
function count(record: LogRecord, batch: Pick<Seen, 'sequence' | 'from'>, all: Map<string, Seen>, sums: Verdict): void {
  if (record.kind !== 'part') return;
  const { atMs, epoch } = record;
  const feed = `${record.stream}/${record.tracker ?? ''}`;
  const last = all.get(feed);
  const { seq } = record.part;
  if (seq <= (last?.seq ?? 0)) {
    sums.repeated++;
    return;
  }
  const now = { seq, ...batch, atMs, epoch };
  const story = `${JSON.stringify(now)} follows ${JSON.stringify(last)}`;
  assert.equal(seq, (last?.seq ?? 0) + 1, `${feed}: ${seq} follows ${last?.seq ?? 0} in the log (${story})`);
  all.set(feed, now);
}

/** One claim begins each epoch, nobody adds to an epoch that is over, and what is out stays out. */
function checkChain(partition: number, links: Link[], verdict: Verdict): void {
  let before: Link | undefined;
  for (const link of links) {
    const place = `partition ${partition}, epoch ${link.epoch}`;
    if (link.epoch === before?.epoch) assert.equal(link.owner, before.owner, `${place} has one owner`);
    else {
      assert.equal(link.epoch, (before?.epoch ?? 0) + 1, `${place} follows the one before it`);
      assert.deepEqual(link.events, [], `${place} begins with a claim`);
      verdict.claims++;
    }
    assert.ok(link.upTo >= (before?.upTo ?? 0), `${place}: what is out stays out`);
    before = link;
  }
}

/** What one owner publishes of the same batches; its windows are those at the end. */
async function replay(
  config: object,
  batches: LogRecord[][],
  windows: Map<string, unknown>,
  { tracker, profile }: { tracker: string; profile: string },
): Promise<unknown[]> {
  const partition = new SharedPartition();
  for (const batch of batches) partition.append(batch);
  if (batches.length === 0) return [];
  const dir = mkdtempSync(join(tmpdir(), 'tgospa-judge-'));
  const text = JSON.stringify({
    ...config,
    cluster: null,
    data: { dir },
    evaluation: { budgetMs: 600_000 },
  });
  const live = await Live.open(readConfig({ text, env: {} }).config, STILL, quiet, {
    openLog: partition.openLog,
    resumes: false,
    configures: false,
    folder: new DataFolder(dir),
  });
  while (partition.upTo < partition.lastPosition) await turn();
  for (const { stream } of live.streams()) windows.set(stream, plain(await live.window(stream, tracker, profile)));
  await live.kill();
  rmSync(dir, { recursive: true, force: true });
  return partition.chain.filter(({ type }) => type !== 'report').map(plain);
}
