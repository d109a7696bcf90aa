/** Formats of stored state: the page for people, versions inside snapshots, and what is refused. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { FORMATS, FormatError, packSnapshot, unpackSnapshot } from '../../src/store/formats.js';
import { slotsOf, writeSlots } from '../../src/store/layout.js';

const page = readFileSync(new URL('../../../src/store/FORMATS.md', import.meta.url), 'utf8');

/** Rows of the table under a heading, as cells. */
function table(heading: string): string[][] {
  const [, section] = page.split(`${heading}\n`);
  return section
    .split('\n## ')[0]
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

const emptyState = () => ({ plan: {}, pairing: { reference: null, trackers: {}, early: [], lanes: {} }, series: [] });

describe('stored formats', () => {
  it('are listed on their page with their versions', () => {
    assert.deepEqual(
      table('# What is stored, and in which format'),
      Object.entries(FORMATS).map(([name, { version, holds }]) => [name, String(version), holds]),
    );
  });

  it('have a row on the page for every version that a snapshot may come from', () => {
    const rows = table('## What became of earlier versions').map(([name, from, to]) => `${name} ${from} ${to}`);
    const snapshots = Object.entries(FORMATS).filter(([name]) => name !== 'database');
    const expected = snapshots.flatMap(([name, { version }]) =>
      Array.from({ length: version - 1 }, (_, n) => `${name} ${n + 1} ${n + 2}`),
    );
    assert.deepEqual(rows, expected);
  });

  it('stand inside every snapshot', () => {
    const { formats } = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number> };
    assert.deepEqual(Object.keys(formats), [
      'stream',
      'pairing',
      'lane',
      'series',
      'window',
      'spikes',
      'companion',
      'performance',
      'findings',
      'incidents',
    ]);
    for (const [name, version] of Object.entries(formats))
      assert.equal(version, FORMATS[name as keyof typeof FORMATS].version);
    assert.deepEqual(unpackSnapshot(packSnapshot(emptyState()), 'it'), emptyState());
  });

  it('of the layout say how many slots there are, with a version or, as at first, without; later ones are refused', () => {
    const dir = mkdtempSync(join(tmpdir(), 'tgospa-layout-'));
    try {
      writeSlots(dir, 3);
      const file = join(dir, 'layout.json');
      assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { version: FORMATS.layout.version, slots: 3 });
      assert.equal(slotsOf(dir), 3);
      writeFileSync(file, '{"slots":2}');
      assert.equal(slotsOf(dir), 2);
      writeFileSync(file, JSON.stringify({ version: FORMATS.layout.version + 1, slots: 2 }));
      assert.throws(() => slotsOf(dir), /version 2 of the format layout.*use the program that wrote it/);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('of a later program are refused with what to do', () => {
    const later = (name: string) => {
      const stored = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number> };
      stored.formats[name] = 9;
      return serialize(stored);
    };
    for (const name of ['stream', 'lane', 'window', 'spikes'])
      assert.throws(
        () => unpackSnapshot(later(name), 'the snapshot of stream gate'),
        (error: Error) =>
          error instanceof FormatError &&
          new RegExp(
            `^the snapshot of stream gate was written by format 9 of ${name} and this program reads format 1.*; use another data.dir, or the program that wrote it$`,
          ).test(error.message),
        name,
      );
    assert.throws(
      () => unpackSnapshot(serialize({ version: 7 }), 'it'),
      /^FormatError: it was written by format 7 of stream/,
    );
    assert.throws(
      () => unpackSnapshot(serialize({}), 'it'),
      /^FormatError: it was written by format undefined of stream/,
    );
  });

  it('of version 1 become those of today', () => {
    const part = { k: 1, objects: [{ id: 'a', box: [1, 2, 3, 4], class: 'car' }] };
    const packed = { shape: 'box', stride: 4, ids: ['a'], coordinates: [1, 2, 3, 4], classes: ['car'] };
    const arrived = () => ({ part: { ...part }, receivedMs: 7 });
    const side = () => ({ pending: [{ x: 1, ...arrived() }], frontier: 5 });
    const lane = { reference: side(), tracker: side(), undecided: [], history: [{ x: 0, ...arrived() }] };
    const numbers = Array.from({ length: 189 }, (_, n) => n);
    const state = {
      ...{ version: 1, plan: {} },
      pairing: { reference: { lastReceivedMs: 3 }, trackers: {}, early: [arrived()], lanes: { sort: lane } },
      series: [{ spikes: { version: 1, numbers, held: ['a'] } }, {}],
    };
    const after = unpackSnapshot(serialize(state), 'it') as typeof state;
    assert.equal('version' in after, false);
    assert.deepEqual(after.pairing.reference, { lastReceivedMs: 3, quietMs: 3 });
    assert.deepEqual(after.pairing.early[0].part.objects, packed);
    const { reference, history, sampled } = after.pairing.lanes.sort as unknown as Record<string, never>;
    const renewed = { part: { k: 1, objects: packed }, receivedMs: 7, sinceMs: 7 };
    assert.deepEqual(reference, { pending: [{ x: 1, ...renewed }], closedUpTo: 5, suspect: null });
    assert.deepEqual([history, sampled], [[{ x: 0, ...renewed }], 'reference']);
    const { pieces, ...rest } = after.series[0].spikes as unknown as { pieces: Record<string, number[]> };
    assert.deepEqual(rest, { lasting: [] });
    assert.deepEqual(pieces, { counts: [4, 5, 6, 7] });
  });

  it('of reports of version 4 take the times between them for those that are waited', () => {
    const stored = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number>; state: object };
    Object.assign(stored.formats, { pairing: 4, lane: 4 });
    const reports = () => ({ known: [], intervals: [0, 3, 1], newestMs: 7000 });
    const lanes = { radar: { reports: { tracks: reports() } }, frames: { reports: { tracks: null } }, none: {} };
    const { pairing } = stored.state as { pairing: object };
    const state = { ...stored.state, pairing: { ...pairing, truths: reports(), lanes } };
    const after = unpackSnapshot(serialize({ ...stored, state }), 'it') as typeof state;
    const renewed = { ...reports(), waits: [0, 3, 1], newestId: null, othersMs: 7000 };
    assert.deepEqual(after.pairing.truths, renewed);
    assert.deepEqual(after.pairing.lanes, { ...lanes, radar: { reports: { tracks: renewed } } });
  });

  it('of performance of version 2 measure a latency anew', () => {
    const stored = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number>; state: object };
    stored.formats.performance = 2;
    const sums = () => ({ sums: { truths: 7 }, latency: { waiting: 1 } });
    const series = [
      {},
      { performance: { older: sums(), younger: null } },
      { performance: { older: sums(), younger: sums() } },
    ];
    const after = unpackSnapshot(serialize({ ...stored, state: { ...stored.state, series } }), 'it') as object;
    const left = { sums: { truths: 7 } };
    assert.deepEqual((after as { series: unknown }).series, [
      {},
      { performance: { older: left, younger: null } },
      { performance: { older: left, younger: left } },
    ]);
  });

  it('of spikes of version 2 start anew, but for how many there were and which of them last', () => {
    const episodes = Array.from({ length: 32 }, () => 0);
    episodes[8 + 2] = 1;
    episodes[8 + 4] = 421;
    const stored = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number>; state: object };
    stored.formats.spikes = 2;
    const spikes = {
      pieces: { counts: [1, 2, 3, 4], missed: [9], episodes },
      held: ['a'],
      missed: [],
      false: [],
      objects: {},
    };
    stored.state = { ...emptyState(), series: [{ spikes }] };
    const after = unpackSnapshot(serialize(stored), 'it') as { series: Array<{ spikes: object }> };
    assert.deepEqual(after.series[0].spikes, {
      pieces: { counts: [1, 2, 3, 4] },
      objects: {},
      lasting: [{ signal: 'false', k: 421 }],
    });
  });

  it('of lanes of version 2 know the last place given up, and that nobody is doubted or waited for', () => {
    const side = { pending: [], closedUpTo: 5, epoch: 2, dropped: [7, 9, 8] };
    const lane = { reference: { ...side, dropped: [] }, tracker: side, undecided: [], history: [], sampled: null };
    const stored = deserialize(packSnapshot(emptyState())) as { formats: Record<string, number>; state: object };
    stored.formats.lane = 2;
    stored.state = { ...emptyState(), pairing: { ...emptyState().pairing, lanes: { sort: lane } } };
    const after = unpackSnapshot(serialize(stored), 'it') as { pairing: { lanes: Record<string, unknown> } };
    const renewed = { pending: [], closedUpTo: 5, epoch: 2, suspect: null };
    assert.deepEqual(after.pairing.lanes.sort, {
      ...{ reference: renewed, tracker: renewed, undecided: [], history: [], sampled: null },
      ...{ givenUpTo: { 2: 9 }, resuming: null, countsFromMs: -Number.MAX_VALUE },
    });
  });
});
