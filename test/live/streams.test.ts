/** Records of streams that fail: who counts them, who is acked, what is published. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig, resolveStream } from '../../src/config/config.js';
import { Quarantine } from '../../src/live/quarantine.js';
import { Snapshots } from '../../src/live/snapshots.js';
import { OTHERS_FIRST, type Published, Streams } from '../../src/live/streams.js';
import { DataFolder } from '../../src/store/folder.js';
import type { Log } from '../../src/store/log.js';
import type { Snapshot, Stored } from '../../src/store/log-port.js';
import type { LogRecord } from '../../src/store/record.js';
import type { EventHistory } from '../../src/stream/history.js';
import type { StreamPlan } from '../../src/stream/plan.js';
import { quiet, START_MS } from '../kit/live.js';

const { config } = readConfig({ text: '{"evaluation":{"backlogFrames":1}}', env: {} });
const plan = { ...resolveStream(config, 's', {}), patch: {} } as StreamPlan;
const tick = (stream = 's'): LogRecord => ({ kind: 'tick', stream, atMs: START_MS });
const hello = (settings: unknown = plan): LogRecord => ({
  kind: 'open',
  stream: 's',
  atMs: START_MS,
  role: 'reference',
  tracker: null,
  settings,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

interface StoredData {
  snapshot?: Snapshot;
  records?: Stored[];
}

function start(dir: string, stored: StoredData = {}, evaluation: Partial<typeof config.evaluation> = {}) {
  const marks: string[] = [];
  const errors: string[] = [];
  const applied: LogRecord[] = [];
  const published: Published[] = [];
  const saveSnapshot = (name: string, position: number, state: unknown) =>
    state === null && marks.push(`${name}@${position}`);
  const logger = { ...quiet, error: (event: string) => errors.push(event) };
  const recordsOf = async function* (_name: string, after: number, upTo: number) {
    yield* (stored.records ?? []).filter(({ position }) => position > after && position <= upTo);
  };
  const streams = new Streams({
    evaluation: { ...config.evaluation, ...evaluation },
    log: { saveSnapshot, snapshotOf: async () => stored.snapshot, recordsOf },
    quarantine: new Quarantine(new DataFolder(dir), logger),
    mark: { at() {} },
    history: { add() {} } as unknown as EventHistory,
    snapshots: new Snapshots({ saveSnapshot } as unknown as Log, {
      everyRecords: 1000,
      pauseMs: 0,
      flushBytes: 1e6,
      replayRecords: Number.POSITIVE_INFINITY,
    }),
    logger,
    lastPosition: 10,
    onApplied: (record) => applied.push(record),
    onResult: (result) => published.push(result),
    onRestored: () => {},
  });
  return { streams, marks, errors, applied, published };
}

describe('streams', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-streams-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('set aside a record that fails and are rebuilt without it, while what follows waits', async () => {
    const broken = { kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), { ...tick(), ...broken }, tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, errors, applied, published } = start(dir, { records: stored });
    for (const _ of streams.apply(streams.enqueue(11, records)));
    assert.deepEqual([errors, applied.length, streams.unapplied], [['record_failed'], 2, 1]);
    assert.equal(streams.get('s')!.info().restoring, true);
    await streams.restored();
    assert.deepEqual([applied.length, streams.unapplied, errors.length], [3, 0, 1]);
    assert.equal(streams.get('s')!.info().restoring, undefined);
    assert.deepEqual(
      published.map(({ position }) => position),
      [13],
    );
    assert.equal(readdirSync(join(dir, 'quarantine')).length, 1);
  });

  it('are in their place again when the last record that waited has been told, whoever else wants a turn', async () => {
    const broken = { ...tick(), kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), broken, tick(), tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, published } = start(dir, { records: stored }, { sliceMs: 0 });
    for (const _ of streams.apply(streams.enqueue(11, records)));
    while (published.at(-1)?.position !== 14) await turn();
    assert.equal(streams.get('s')!.info().restoring, undefined);
  });

  it('are suspended at the third failure; what comes then is acked and stays in the log', async () => {
    const broken = { ...tick(), kind: 'part', role: 'tracker', tracker: null } as unknown as LogRecord;
    const records = [hello(), broken, tick(), broken, tick(), broken, tick()];
    const stored = records.map((record, n) => ({ position: 11 + n, record }));
    const { streams, errors, applied, marks } = start(dir, { records: stored });
    for (const _ of streams.apply(streams.enqueue(11, records)));
    await streams.restored();
    assert.deepEqual(errors, ['record_failed', 'record_failed', 'record_failed', 'stream_suspended']);
    assert.match(streams.get('s')!.info().suspended!, /Cannot read/);
    assert.deepEqual([applied.length, streams.unapplied, marks], [7, 0, []]);
    assert.deepEqual([...streams.apply(streams.enqueue(20, [tick()]))], []);
    assert.equal(applied.length, 8);
  });

  it('let others go first before each record of a heavy stream', () => {
    const { streams } = start(dir);
    for (const groups of streams.apply(streams.enqueue(11, [hello()]))) assert.notEqual(groups, OTHERS_FIRST);
    Object.defineProperty(streams.get('s'), 'share', { value: 1 });
    const groups = [...streams.apply(streams.enqueue(12, [tick(), tick()]))];
    assert.equal(groups.filter((group) => group === OTHERS_FIRST).length, 2);
  });

  it('apply records of others between two pieces of a heavy one, and it comes out the same', () => {
    const [alone, among] = [false, true].map((hasOthers) => {
      const { streams } = start(dir, {}, { sliceMs: 0, heavyMs: 0 });
      const told: string[] = [];
      const ids = ['a', 'b', 'c'];
      let position = 10;
      const apply = (...records: object[]) => {
        const waiting = streams.enqueue(position + 1, records as LogRecord[]);
        position += records.length;
        const others: string[] = [];
        for (const group of streams.apply(waiting)) {
          for (const event of group) told.push(JSON.stringify({ ...event, solveMs: 0 }));
          // after the first piece of a heavy record all who came before it have been applied
          if (group.some(({ type }) => type === 'report')) assert.ok(others.length === 0 || streams.get(others[0]));
          if (!hasOthers || group !== OTHERS_FIRST) continue;
          others.push(`s${++position}`);
          streams.enqueue(position, [{ ...hello(), stream: others.at(-1)! }]);
        }
        return others.length;
      };
      apply(hello(), { ...hello(), role: 'tracker', tracker: 'y' });
      let most = 0;
      for (let k = 1; k <= 9; k++) {
        const partAt = (shift: number) => {
          const coordinates = ids.flatMap((_, n) => [40 * n + shift, 0, 100, 90]);
          return { seq: k, k, objects: { shape: 'box', stride: 4, ids, coordinates } };
        };
        const one = { kind: 'part', stream: 's', atMs: START_MS + 100 * k };
        apply({ ...one, role: 'reference', tracker: null, part: partAt(k) });
        most = Math.max(most, apply({ ...one, role: 'tracker', tracker: 'y', part: partAt(3 * k) }));
        assert.deepEqual([streams.unapplied, streams.appliedPosition], [0, position]);
      }
      // before and behind each piece
      assert.ok(!hasOthers || most >= 3, `${most} others`);
      return told;
    });
    assert.ok(alone.length >= 9);
    assert.deepEqual(among, alone);
  });
});
