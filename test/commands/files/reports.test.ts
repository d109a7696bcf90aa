/**
 * Files whose objects are reported one by one, as AIS receivers write them: `eval`, a live run of `replay` and
 * `rejudge` with the file as truth that came late all find what was simulated.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../../src/app.js';
import { runEval } from '../../../src/commands/eval/eval.js';
import { openFeed } from '../../../src/commands/player.js';
import { runRejudge } from '../../../src/commands/rejudge/rejudge.js';
import { runReplay } from '../../../src/commands/replay.js';
import { readConfig } from '../../../src/config/config.js';
import { destination } from '../../../src/coverage/earth.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../../kit/settings.js';
import { outputOf } from '../../kit/system/command-line.js';
import { skipInFastRun } from '../../kit/system/system.js';

const START_S = 1_452_603_600;
const SCANS = 30;
const SCAN_S = 4;
const KNOTS = 10;
const KNOT = 0.514444;

/** Ships on straight ways from the Solent, each with a course of its own. */
const ships = [30, 120, 200, 275, 340].map((course, n) => ({ id: `23500${n}`, course, from: [50.7 + n / 50, -1.1] }));
type Ship = (typeof ships)[number];
const placeOf = ({ course, from }: Ship, s: number) =>
  destination(from as [number, number], course, KNOTS * KNOT * (s + 60));

/** Every ship reports every ten seconds, at times of its own; the last one falls silent for longer than the gap. */
const lines = ships.flatMap((ship, n) =>
  Array.from({ length: 14 }, (_, k) => 10 * k - 10 + n)
    .filter((s) => n < 4 || s < 30 || s > 95)
    .map((s) => {
      const [latitude, longitude] = placeOf(ship, s);
      const time = new Date((START_S + s) * 1000).toISOString().replace('T', ' ').replace('Z', '');
      return { s, row: [time, ship.id, latitude, longitude, ship.course, KNOTS].join(',') };
    }),
);
const table = ['Time,MMSI,Lat,Lon,COG,SOG', ...lines.sort((a, b) => a.s - b.s).map(({ row }) => row)].join('\n');

/** The radar sees all of them, within some metres, but for each in turn. */
const scans = Array.from({ length: SCANS }, (_, k) => ({
  t: START_S + k * SCAN_S,
  objects: ships
    .filter((_ship, n) => n === 4 || (k + n) % 5 !== 0)
    .map((ship, n) => ({
      id: `t${ship.id}`,
      point: destination(placeOf(ship, k * SCAN_S), 72 * k, 5 + n) as number[],
    })),
}));
const missed = (SCANS * 4) / 5;

const config = {
  listen: { port: 0 },
  evaluation: UNTIMED_EVALUATION,
  profiles: { radar: { distance: 'geodesic', cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } },
  streams: {
    defaults: {
      profiles: ['radar'],
      windowFrames: 20,
      pairing: { ...UNTIMED_PAIRING, latenessMs: 60_000 },
      reports: { greatestGapMs: 60_000 },
    },
  },
};

describe('files of reports', () => {
  let folder: string;
  const reference = () => [
    ...['--reference', join(folder, 'ais.csv')],
    ...[
      'table=commas',
      'reports=true',
      'id=MMSI',
      'point=Lat,Lon',
      'time=Time',
      'timeUnit=utc',
      'speed=SOG',
      `speedScale=${KNOT}`,
      'course=COG',
    ].flatMap((option) => ['--reference-option', option]),
    ...['--reference-format', 'mapping'],
  ];
  const tracker = () => [
    ...['--tracker', join(folder, 'radar.jsonl'), '--format', 'native', '--option', 'shape=point'],
  ];

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-report-files-'));
    writeFileSync(join(folder, 'ais.csv'), table);
    writeFileSync(join(folder, 'radar.jsonl'), scans.map((scan) => JSON.stringify(scan)).join('\n'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /**
   * What must come out: of the ship that was silent nothing is judged in its gap, nor its track. When it comes back it
   * is a new one, and its track was another's: one switch.
   */
  const check = ({ count }: { count: { proper: number; missed: number; false: number; switches: number } }) => {
    assert.deepEqual([count.missed, count.false, count.switches], [missed, 0, 1]);
    assert.ok(count.proper >= SCANS * 4 - missed + 10, `${count.proper}`);
  };

  it('are read at the times of the tracker by eval, and gaps are not judged', async () => {
    const terms = ['--distance', 'geodesic', '--cutoff', '200', '--admissible-error', '136'];
    const more = ['--short-switch-distance', '68', '--json'];
    const { out } = await outputOf(runEval as never, [...reference(), ...tracker(), ...terms, ...more]);
    const [row] = JSON.parse(out);
    check(row);
    assert.equal(row.frames, SCANS);
    assert.ok(row.notJudged.reference.gap > 10 && row.notJudged.tracker.gap > 10, JSON.stringify(row.notJudged));
  });

  it('are sent as reports by replay, and judged by rejudge as truth that came late', async function () {
    skipInFastRun(this);
    const data = join(folder, 'data');
    const { config: settings } = readConfig({ text: JSON.stringify({ ...config, data: { dir: data } }), env: {} });
    const app = await startApp(settings, { env: {}, logger: createLogger({ level: 'silent' }) });
    try {
      const feeds = [...reference(), ...tracker(), '--url', app.urls.http, '--fps', 'max', '--stream', 'solent'];
      await outputOf((words, console) => runReplay(words, console, new AbortController().signal), feeds);
      const [{ report, notJudged }] = await app.live.reports();
      check(report.settled);
      assert.ok(notJudged!.totals.reference.gap! > 10);
      // a tracker without any reference
      const alone = openFeed({
        url: app.urls.ingest,
        stream: 'late',
        role: 'tracker',
        tracker: 'radar',
        shape: 'point',
      });
      for (const scan of scans) await alone.send(scan);
      await alone.end();
      await alone.close();
    } finally {
      await app.stop();
    }
    const late = reference().map((word) => word.replace(/^--reference-(?=format|option)/, '--'));
    const { out } = await outputOf(runRejudge as never, ['--data', data, '--stream', 'late', ...late, '--json']);
    check(JSON.parse(out)[0]);
  });
});
