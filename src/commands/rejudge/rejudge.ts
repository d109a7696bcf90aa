/**
 * `tgospa rejudge`: judges what a stopped evaluator has stored once more, against truth that came late, or under other
 * settings. The data folder, and with it every live counter, stays as it is. A ranking as eval has it, JSON, and a file
 * from which Prometheus can be filled. Exit code 2 while an evaluator runs on the folder.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Part } from '../../../adapters/kit/adapter.js';
import { defaultConfig, describeProblem, paramsByName, readConfigFile, resolveStream } from '../../config/config.js';
import type { Config } from '../../config/schema.js';
import { InputError } from '../../metric/input-error.js';
import { type Params, presets } from '../../metric/params.js';
import { hasStore, isInUse } from '../../store/inspection.js';
import type { LogRecord } from '../../store/record.js';
import { readStoredStream, type StoredStream } from '../../store/stored-stream.js';
import type { StreamPlan } from '../../stream/plan.js';
import { Backfill } from '../../telemetry/backfill.js';
import { type Console, write, writeNotes } from '../console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from '../console/options.js';
import { checkWritable } from '../console/output-file.js';
import { bold, dim, type Screen } from '../console/table.js';
import { drawRanking } from '../eval/sequence/ranking.js';
import { describeParams } from '../eval/sequence/verdict.js';
import { FORMAT_OPTIONS, readFormats } from '../files/formats.js';
import { readRecordings } from '../files/recordings.js';
import { Judgement, type SeriesJudgement } from './judgement.js';
import { LateReference } from './late-reference.js';

const { data } = defaultConfig();
const EVERY_S = 15;
const LABEL = 'judgement';

const OPTIONS: OptionGroup = {
  options: {
    stream: { value: 'NAME', help: 'the stream' },
    data: { value: 'DIR', help: `data folder of a stopped evaluator, or a copy of one (default: ${data.dir})` },
    from: { value: 'TIME', help: 'leave out what arrived earlier: 2026-05-01T12:00:00Z, or epoch seconds' },
    to: { value: 'TIME', help: 'leave out what arrived later' },
    reference: { value: 'FILE', help: 'ground truth that arrived late; it replaces the stored reference' },
    ...FORMAT_OPTIONS,
    config: { value: 'FILE', help: 'use the settings, profiles and coverage of this file instead of the stored ones' },
    profile: { value: 'NAME', repeat: true, help: 'judge under this profile: a preset, or one of --config' },
    openmetrics: {
      value: 'FILE',
      help: 'write what Prometheus would have scraped, for promtool tsdb create-blocks-from openmetrics',
    },
    every: { value: 'SECONDS', help: `time between two samples in --openmetrics, ${EVERY_S} by default` },
    [LABEL]: { value: 'NAME', help: `value of the label ${LABEL} on these samples, rejudged by default` },
    json: { help: 'print JSON' },
    help: { help: 'this text' },
  },
};

const HELP = [
  'Usage: tgospa rejudge --stream NAME [--reference FILE] [options]',
  '',
  'Judges what an evaluator has stored again: against ground truth that arrived late, or with other settings. Live counters',
  'do not change.',
  ...optionHelp([OPTIONS]),
  '',
].join('\n');

interface Job {
  dir: string;
  stream: string;
  fromMs: number;
  toMs: number;
  late: readonly Part[] | null;
  config: Config | null;
  profiles: string[];
}

/** Resolves with the exit code. */
export async function runRejudge(args: string[], console: Console): Promise<number> {
  const line = new CommandLine('rejudge', [OPTIONS], args);
  if (line.has('help')) {
    console.out.write(HELP);
    return 0;
  }
  const file = line.text('openmetrics');
  const everyS = line.numberWhere('every', EVERY_S, (value) => value > 0, 'a number of seconds above 0');
  const job = await readJob(line, console);
  if (!hasStore(job.dir))
    throw new InputError([{ path: job.dir, value: 'no store', message: 'is not a data folder; name one with --data' }]);
  if (await isInUse(job.dir)) {
    console.out.write(`${job.dir} is in use by a running evaluator; stop it, or name a copy of the folder\n`);
    return 2;
  }
  if (file !== undefined) checkWritable(file);
  const backfill = file === undefined ? null : new Backfill(everyS * 1000, { [LABEL]: line.text(LABEL) ?? 'rejudged' });
  const { series, profiles } = await judge(job, backfill);
  if (file !== undefined) writeBackfill(file, backfill!);
  await write(console.out, line.has('json') ? jsonOf(job, series, profiles) : textOf(series, profiles, console.screen));
  return 0;
}

async function readJob(line: CommandLine, console: Console): Promise<Job> {
  const stream = line.text('stream');
  if (stream === undefined) line.wrong('--stream NAME is missing');
  const [fromMs, toMs] = ['from', 'to'].map((name) => timeOf(line, name));
  const reference = line.text('reference');
  const formats = reference === undefined ? null : readFormats(line);
  line.throwMistakes();
  const file = line.text('config');
  const read = file === undefined ? null : readConfigFile(file, {});
  const warnings = read?.warnings.map((warning) => `warning: ${describeProblem(warning, file!)}`) ?? [];
  const recordings = formats
    ? readRecordings([{ file: reference!, format: formats.reference, role: 'reference' }])
    : null;
  await writeNotes(console, [...warnings, ...(recordings?.[0].notes ?? [])]);
  return {
    dir: line.text('data') ?? data.dir,
    stream: stream!,
    fromMs: fromMs ?? Number.NEGATIVE_INFINITY,
    toMs: toMs ?? Number.POSITIVE_INFINITY,
    late: recordings?.[0].parts ?? null,
    config: read?.config ?? null,
    profiles: line.texts('profile'),
  };
}

/** Epoch milliseconds. */
function timeOf(line: CommandLine, name: string): number | undefined {
  const text = line.text(name);
  if (text === undefined) return undefined;
  const time = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  if (!Number.isFinite(time)) line.wrong(`--${name} must be a time such as 2026-05-01T12:00:00Z, got "${text}"`);
  return time;
}

interface Judged {
  series: SeriesJudgement[];
  profiles: Record<string, Params>;
}

async function judge(job: Job, backfill: Backfill | null): Promise<Judged> {
  const all: Judged = { series: [], profiles: {} };
  let found = false;
  const known = await readStoredStream(job.dir, job.stream, async (stored) => {
    const judged = await judgeStored(job, stored, backfill);
    if (!judged) return;
    found = true;
    all.series.push(...judged.series);
    Object.assign(all.profiles, judged.profiles);
  });
  if (found) return all;
  const names = [...known].sort().join(', ') || 'nothing';
  const message = `nothing is stored of this stream between these times; the folder has ${names}`;
  throw new InputError([{ path: '--stream', value: job.stream, message }]);
}

async function judgeStored(job: Job, stored: StoredStream, backfill: Backfill | null): Promise<Judged | null> {
  const { config, profiles, late, stream } = job;
  const isAsked = config !== null || profiles.length > 0 || late !== null;
  const reference = late && new LateReference(stream, late);
  const observe: Judgement['observe'] = (event, atMs) => backfill?.add(event, atMs);
  let judgement: Judgement | null = null;
  let lastMs = 0;
  for await (const record of stored.records) {
    if (!isWanted(record, job)) continue;
    if (!judgement) {
      const before = planIn(record) ?? (stored.state as { plan?: StreamPlan } | null)?.plan ?? null;
      if (!before) continue;
      judgement = new Judgement(stream, planFor(job, before), !isAsked, observe);
    }
    lastMs = record.atMs;
    for (const one of reference ? reference.among(record) : [record]) judgement.apply(one);
  }
  if (!judgement) return null;
  for (const record of reference?.afterwards() ?? []) judgement.apply(record);
  const series = judgement.conclude();
  backfill?.sample(lastMs);
  return { series, profiles: judgement.plan.profiles };
}

const isWanted = ({ kind, atMs }: LogRecord, { fromMs, toMs }: Job) =>
  kind === 'open' || kind === 'configure' ? atMs <= toMs : atMs >= fromMs && atMs <= toMs;

const planIn = (record: LogRecord): StreamPlan | null =>
  record.kind === 'open' || record.kind === 'configure' ? ((record.settings as StreamPlan | undefined) ?? null) : null;

/** The plan of then, with what is asked for now. */
function planFor({ config, profiles, late, stream }: Job, before: StreamPlan): StreamPlan {
  let plan = before;
  if (config) {
    const resolved = resolveStream(config, stream, before.patch);
    if ('message' in resolved)
      throw new InputError([{ path: resolved.path, value: stream, message: resolved.message }]);
    plan = { ...resolved, patch: before.patch };
  }
  if (profiles.length > 0) plan = { ...plan, profiles: paramsOf(profiles, config, plan.profiles) };
  if (!late) return plan;
  // nothing is late any more, and everything may wait for the next part of the reference
  const pairing = { ...plan.settings.pairing, latenessMs: 1e9, silenceMs: 1e9, bufferFrames: 1_000_000, resumeMs: 0 };
  return { ...plan, settings: { ...plan.settings, pairing } };
}

/** Of profiles by name: those of the configuration, those of then, presets. */
function paramsOf(names: readonly string[], config: Config | null, before: Record<string, Params>) {
  const known: Record<string, Params> = { ...presets, ...before };
  for (const name of Object.keys(config?.profiles ?? {})) known[name] = paramsByName(config!, name);
  const unknown = names.filter((name) => !Object.hasOwn(known, name));
  if (unknown.length === 0) return Object.fromEntries(names.map((name) => [name, known[name]]));
  const message = `is no profile; there are ${Object.keys(known).join(', ')}`;
  throw new InputError(unknown.map((name) => ({ path: '--profile', value: name, message })));
}

function textOf(series: readonly SeriesJudgement[], profiles: Record<string, Params>, screen: Screen): string {
  const texts = Object.entries(profiles).flatMap(([name, params]) => {
    const own = series.filter(({ profile }) => profile === name);
    if (own.length === 0) return [];
    const contenders = own.map((one) => ({ name: one.tracker, evaluation: evaluationOf(one, params) }));
    const frames = Math.max(...own.map((one) => one.frames));
    const title = `${bold(name, screen)}, ${frames} settled frames`;
    return [[title, dim(describeParams(params), screen), '', ...drawRanking(contenders, screen)].join('\n')];
  });
  return `${texts.join('\n\n') || 'no frame was judged'}\n`;
}

/** What settled, as a whole sequence is told; its cost is an upper bound of that of the whole. */
function evaluationOf({ frames, cost, count, lifetime }: SeriesJudgement, { exponent }: Params) {
  const total = cost.localization + cost.missed + cost.false + cost.switch;
  const lower = lifetime?.lower ?? 0;
  const gap = total === 0 ? 0 : Math.max(0, (total - lower) / total);
  const exact = gap <= 1e-9;
  return {
    frames,
    distance: total ** (1 / exponent),
    cost: { total, ...cost },
    count,
    meanLocalizationError: count.proper > 0 ? (cost.localization / count.proper) ** (1 / exponent) : 0,
    exact,
    lowerBound: lower,
    gap: exact ? 0 : gap,
    solver: { pairs: 0, isolated: 0, frontier: 0, simplex: 0, branch: 0, open: 0 },
  };
}

function jsonOf({ stream }: Job, series: readonly SeriesJudgement[], profiles: Record<string, Params>): string {
  const rows = series.map(({ readings, ...one }) => {
    const { performance, classes, notJudged, scores } = readings;
    const more = { performance, classes, notJudged: notJudged?.totals, scores: scores?.values };
    return { stream, ...one, params: profiles[one.profile], ...more };
  });
  return `${JSON.stringify(rows)}\n`;
}

function writeBackfill(file: string, backfill: Backfill): void {
  const opened = openSync(file, 'w');
  try {
    for (const text of backfill.text()) writeSync(opened, text);
  } finally {
    closeSync(opened);
  }
}
