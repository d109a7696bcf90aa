/**
 * One YAML file, one schema: every default, bound and limit of the evaluator, with units; its sections are
 * the other files of this folder, which owns the libraries yaml and zod.
 * `readConfig` reports all mistakes of a file together, each with its line; what it returns is complete and checked, so
 * nothing behind it needs a default of its own. The file never holds a secret: tokens are named here and read from the
 * environment or from files of their own.
 */
import { readFileSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { BOX_DISTANCES, type Params, presets, windowWarning } from '../metric/params.js';
import { NAME_PATTERN, NAME_RULE } from '../wire/feed.js';
import type { HelloFields, HelloReader } from '../wire/messages.js';
import type { Shape } from '../wire/objects.js';
import { coverageMistake } from './coverage.js';
import { type Context, count, name, optional } from './fields.js';
import {
  ConfigError,
  type ConfigProblem,
  formatPath,
  locate,
  type Misplaced,
  type Path,
  problemsOf,
  syntaxProblem,
  valueAt,
} from './mistakes.js';
import { type Config, rootSchema, type SettingsPatch, type StreamSettings, schemaAt } from './schema.js';
import { paramsOf, settingsShape } from './settings.js';
import { sourceProblems } from './sources.js';

export { isLoopback, matchesPattern, TOKEN_ROLES, type TokenRole, tokenSecrets } from './access.js';
export { clusterPassword } from './cluster.js';
export { exampleYaml } from './example.js';
export { ConfigError, type ConfigProblem, describeProblem, formatPath } from './mistakes.js';
export { notifyReceivers, notifySecrets, RECEIVER_SIGNALS, type Receiver } from './notify.js';
export {
  type Config,
  type CoverageSettings,
  type FilterSettings,
  jsonSchema,
  type PairingSettings,
  type ReportSettings,
  type SettingsPatch,
  type StreamSettings,
} from './schema.js';
export { completeSettings } from './settings.js';
export { sourcePassword, sourceSecrets } from './sources.js';

export interface ConfigSource {
  /** YAML text; absent: all defaults */
  text?: string;
  /** name of the file in messages */
  source?: string;
  /** what the command line says, over the file: `{ listen: { port: 0 } }` */
  overrides?: Record<string, Record<string, unknown>>;
  env?: NodeJS.ProcessEnv;
}

/** Checks a configuration as a whole, or throws one ConfigError with all its mistakes. */
export function readConfig(from: ConfigSource = {}): { config: Config; warnings: ConfigProblem[] } {
  const { text = '', source = 'configuration', overrides = {}, env = process.env } = from;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    throw new ConfigError(
      document.errors.map((e) => syntaxProblem(e, lines)),
      source,
    );
  const raw = overlay(document.toJS() ?? {}, overrides, env);
  const context: Context = { profileNames: ownKeys(raw.profiles), env, readText: (path) => readFileSync(path, 'utf8') };
  const result = rootSchema(context).safeParse(raw);
  const problems = [
    ...(result.success ? sourceProblems(result.data) : problemsOf(result.error, raw)),
    ...streamProblems(raw, context),
  ];
  const located = problems
    .map((problem) => locate(problem, document, lines, overrides))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (!result.success || located.length > 0) throw new ConfigError(located, source);
  return {
    config: result.data,
    warnings: windowWarnings(result.data).map((p) => locate(p, document, lines, overrides)),
  };
}

/** Every default: the configuration of a file that says nothing. */
export const defaultConfig = (): Config => readConfig({ env: {} }).config;

/** Reads a file; an unreadable one is a ConfigError too. */
export function readConfigFile(path: string, overrides: ConfigSource['overrides'] = {}, env = process.env) {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError([{ path: '--config', message: `cannot be read: ${(error as Error).message}` }], path);
  }
  return readConfig({ text, source: path, overrides, env });
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const ownKeys = (value: unknown): string[] => (isRecord(value) ? Object.keys(value) : []);

function overlay(
  raw: unknown,
  overrides: Record<string, Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): Record<string, unknown> {
  // a document that is no mapping at all goes to the schema as it is, and is reported there
  if (!isRecord(raw)) return raw as never;
  const merged: Record<string, unknown> = { ...raw };
  for (const [key, values] of Object.entries(overrides))
    merged[key] = { ...(isRecord(merged[key]) ? merged[key] : {}), ...values };
  if (!('tokens' in merged) && env.TGOSPA_TOKEN !== undefined)
    merged.tokens = [{ name: 'TGOSPA_TOKEN', env: 'TGOSPA_TOKEN' }];
  // a section header without keys is an empty section
  for (const key of Object.keys(merged)) if (merged[key] === null && key !== 'tls') delete merged[key];
  return merged;
}

const shapeOf = (params: Params): Shape => (BOX_DISTANCES.has(params.distance) ? 'box' : 'point');

/** Parameters of a profile by name: configured ones first, then presets. */
export function paramsByName(config: Config, profileName: string): Params {
  if (Object.hasOwn(config.profiles, profileName)) return paramsOf(config.profiles[profileName]);
  return presets[profileName as keyof typeof presets];
}

/** A stream's settings in force: defaults, then its own entry, then what a hello asked for. */
export function streamSettings(config: Config, stream: string, patch: SettingsPatch = {}): StreamSettings {
  const own: SettingsPatch =
    stream !== 'defaults' && Object.hasOwn(config.streams, stream) ? config.streams[stream] : {};
  const base = config.streams.defaults;
  return {
    ...base,
    ...defined(own),
    ...defined(patch),
    pairing: { ...base.pairing, ...defined(own.pairing ?? {}), ...defined(patch.pairing ?? {}) },
    reports: { ...base.reports, ...defined(own.reports ?? {}), ...defined(patch.reports ?? {}) },
    coverage: { ...base.coverage, ...defined(own.coverage ?? {}), ...defined(patch.coverage ?? {}) },
    classes: { ...base.classes, ...defined(own.classes ?? {}), ...defined(patch.classes ?? {}) },
    filter: { ...base.filter, ...defined(own.filter ?? {}), ...defined(patch.filter ?? {}) },
    spikes: {
      ...base.spikes,
      ...defined(own.spikes ?? {}),
      ...defined(patch.spikes ?? {}),
      objective: {
        ...base.spikes.objective,
        ...defined(own.spikes?.objective ?? {}),
        ...defined(patch.spikes?.objective ?? {}),
      },
    },
    scores: { ...base.scores, ...defined(own.scores ?? {}), ...defined(patch.scores ?? {}) },
    performance: { ...base.performance, ...defined(own.performance ?? {}), ...defined(patch.performance ?? {}) },
  };
}

/** The first setting of a hello that goes beyond limits.hello, and beyond what the configuration itself gives. */
export function beyondCeiling(
  config: Config,
  stream: string,
  patch: SettingsPatch,
): { path: string; message: string } | undefined {
  const own = streamSettings(config, stream);
  const { windowFrames, bufferFrames, idleMinutes, profiles } = config.limits.hello;
  const asked: Array<[string, number | undefined, number, number]> = [
    ['windowFrames', patch.windowFrames, windowFrames, own.windowFrames],
    ['pairing.bufferFrames', patch.pairing?.bufferFrames, bufferFrames, own.pairing.bufferFrames],
    ['idleMinutes', patch.idleMinutes, idleMinutes, own.idleMinutes],
    ['profiles', patch.profiles?.length, profiles, own.profiles.length],
  ];
  for (const [path, value, ceiling, configured] of asked) {
    const most = Math.max(ceiling, configured);
    if (value === undefined || value <= most) continue;
    const limit = `limits.hello.${path.replace('pairing.', '')}`;
    const unit = path === 'profiles' ? ' profiles' : '';
    const message = `settings.${path} asks for ${value}${unit}, but ${limit} allows only ${most}; ask for less, or raise the limit`;
    return { path, message };
  }
  return undefined;
}

const defined = <T extends object>(values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined)) as Partial<T>;

export interface ResolvedStream {
  settings: StreamSettings;
  profiles: Record<string, Params>;
  /** boxes or points: what the profiles compare */
  shape: Shape;
}

/** Everything needed to judge a stream, or the settings that contradict each other. */
export function resolveStream(
  config: Config,
  stream: string,
  patch: SettingsPatch = {},
): ResolvedStream | { path: string; message: string } {
  const settings = streamSettings(config, stream, patch);
  const profiles = Object.fromEntries(settings.profiles.map((key) => [key, paramsByName(config, key)]));
  const shapes = new Set(Object.values(profiles).map(shapeOf));
  if (shapes.size > 1)
    return {
      path: 'profiles',
      message: `mixes profiles for boxes and for points: ${settings.profiles.join(', ')}; judge them as two streams`,
    };
  if (new Set(settings.profiles).size < settings.profiles.length)
    return { path: 'profiles', message: 'names a profile twice; leave one out' };
  if ((settings.settleFrames ?? 0) > settings.windowFrames) {
    return {
      path: 'settleFrames',
      message: `is ${settings.settleFrames}, longer than the window of ${settings.windowFrames} frames; a frame must be settled before it leaves`,
    };
  }
  const { reference, heldTrackers } = settings.pairing;
  if (reference !== 'exact' && heldTrackers.length > 0)
    return {
      path: 'pairing',
      message: `heldTrackers cannot be combined with reference: ${reference}; one of the two feeds must say when to judge`,
    };
  const onEarth = Object.values(profiles).some(({ distance }) => distance === 'geodesic');
  const wrong = coverageMistake(settings.coverage, onEarth);
  return wrong ? { ...wrong, path: `coverage.${wrong.path}` } : { settings, profiles, shape: [...shapes][0] };
}

/** What is wrong with streams as wholes; each is looked at alone, so that a mistake elsewhere does not hide it. */
function streamProblems(raw: Record<string, unknown>, context: Context): Misplaced[] {
  const streams = isRecord(raw.streams) ? raw.streams : {};
  return Object.keys(streams).flatMap((stream): Misplaced[] => {
    if (!NAME_PATTERN.test(stream))
      return [{ keys: ['streams', stream], message: `is not a valid stream name: it ${NAME_RULE}` }];
    const alone = rootSchema(context).safeParse({
      profiles: raw.profiles,
      streams: { defaults: streams.defaults, [stream]: streams[stream] },
    });
    const resolved = alone.success ? resolveStream(alone.data, stream) : null;
    return resolved && 'message' in resolved
      ? [{ keys: ['streams', stream, resolved.path], message: resolved.message }]
      : [];
  });
}

function windowWarnings(config: Config): Misplaced[] {
  return Object.keys(config.streams).flatMap((stream) => {
    const resolved = resolveStream(config, stream);
    if ('message' in resolved) return [];
    return Object.entries(resolved.profiles).flatMap(([key, params]) => {
      const warning = windowWarning(params, resolved.settings.windowFrames);
      return warning ? [{ keys: ['streams', stream, 'windowFrames'], message: `profile ${key}: ${warning}` }] : [];
    });
  });
}

/** Reads hellos; their settings have the keys and bounds of a stream in the file. */
export function helloReader(config: Config): HelloReader<SettingsPatch> {
  const settings = z.strictObject(settingsShape(optional, { profileNames: Object.keys(config.profiles), env: {} }));
  const schema = z.strictObject({
    type: z.literal('hello'),
    stream: name(),
    role: z.enum(['reference', 'tracker']),
    tracker: name().nullish(),
    feed: name().nullish(),
    format: z.string().max(64).default('native'),
    options: z.record(z.string().max(64), z.unknown()).optional(),
    shape: z.enum(['box', 'point']).optional(),
    settings: settings.optional(),
    resume: z.strictObject({ session: z.string().max(64), seq: count().optional() }).optional(),
    client: z.string().max(128).optional(),
  });
  return (raw) => {
    const result = schema.safeParse(raw);
    return result.success
      ? { fields: result.data as HelloFields<SettingsPatch> }
      : helloProblem(result.error.issues[0], raw, Object.keys(schema.shape));
  };
}

function helloProblem(
  issue: z.core.$ZodIssue,
  raw: unknown,
  fields: readonly string[],
): { path: string; value: unknown; message: string } {
  const stranger = issue.code === 'unrecognized_keys';
  const keys = stranger ? [...issue.path, issue.keys[0].slice(0, 60)] : issue.path;
  return {
    path: formatPath(keys),
    value: valueAt(raw, keys),
    message: stranger ? `no such field; there are ${fieldsAt(issue.path, fields).join(', ')}` : issue.message,
  };
}

/** What there is at a place of a hello; its settings are those of a stream in the file. */
function fieldsAt([first, ...rest]: Path, fields: readonly string[]): readonly string[] {
  if (first === 'settings') return Object.keys(schemaAt(['streams', 'defaults', ...rest])?.properties ?? {});
  return first === undefined ? fields : ['session', 'seq'];
}

/** The lines a stream of points needs; offered when one arrives without a profile. */
export const pointProfileLines = (stream: string): string =>
  [
    'profiles:',
    '  points: { distance: euclidean, cutoff: 10, admissibleError: 6, shortSwitchDistance: 3 }   # in the unit of your points',
    'streams:',
    `  ${stream}: { profiles: [points] }`,
  ].join('\n');
