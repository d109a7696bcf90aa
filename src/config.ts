/**
 * One YAML file, one schema: every default, bound and limit of the evaluator, with units.
 * `readConfig` reports all mistakes of a file together, each with its line; what it returns is complete and checked,
 * so nothing behind it needs a default of its own. The file never holds a secret: tokens are named here and read from
 * the environment or from files of their own.
 * This file owns the libraries yaml and zod.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { type HelloFields, type HelloReader, NAME_PATTERN, NAME_RULE, type Shape } from './protocol.js';
import { InputError } from './tgospa/input-error.js';
import { DISTANCES, type DistanceName, type Params, presets, profile } from './tgospa/params.js';

const name = () => z.string().regex(NAME_PATTERN, NAME_RULE);
const count = (least = 1) => z.int().min(least);
const positive = () => z.number().positive();

type Field = <T extends z.ZodType>(
  schema: T,
  standard: z.input<T>,
  description: string,
  unit?: string,
) => z.ZodDefault<T>;

/** Annotates a key with its unit and description; `standard` is its default. */
const field: Field = (schema, standard, description, unit) =>
  schema.meta({ description, ...(unit ? { unit } : {}) }).default(standard as never) as never;
const optional: Field = (schema, standard, description, unit) =>
  schema.meta({ description, default: standard, ...(unit ? { unit } : {}) }).optional() as never;

/** A section whose keys all have defaults. */
const section = <T extends z.core.$ZodLooseShape>(shape: T, description: string) =>
  z
    .strictObject(shape)
    .meta({ description })
    .prefault({} as never);

/** What the checks need to know besides the value itself. */
interface Context {
  profileNames: string[];
  env: NodeJS.ProcessEnv;
  /** undefined: do not look at the disk (JSON schema, hello) */
  readText?: (path: string) => string;
}

const listen = section(
  {
    host: field(
      z.string().min(1),
      '127.0.0.1',
      'address to listen on; anything but loopback needs tokens, or insecure',
    ),
    port: field(z.int().min(0).max(65535), 9477, 'port for WebSocket, HTTP, the page and /metrics; 0 takes a free one'),
    insecure: field(
      z.boolean(),
      false,
      'true: listen beyond loopback without tokens; everybody who reaches the port may read and write',
    ),
  },
  'where the evaluator listens',
);

const tls = (context: Context) =>
  z
    .strictObject({
      certFile: readable(context, 'PEM file with the certificate and its chain'),
      keyFile: readable(context, 'PEM file with the private key'),
    })
    .nullable()
    .meta({ description: 'serve https and wss instead of http and ws; null: plain' })
    .default(null);

function readable(context: Context, description: string) {
  return z
    .string()
    .min(1)
    .superRefine((path, issue) => {
      const fault = context.readText && faultOf(() => context.readText!(path));
      if (fault) issue.addIssue({ code: 'custom', message: `cannot be read: ${fault}` });
    })
    .meta({ description });
}

const faultOf = (action: () => unknown): string | undefined => {
  try {
    action();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

/** Characters that may stand in an Authorization header and in a WebSocket subprotocol alike. */
const TOKEN_PATTERN = /^[A-Za-z0-9._~+-]{16,256}$/;

const token = (context: Context) =>
  z
    .strictObject({
      name: name().meta({ description: 'name of the token in logs and metrics; not secret' }),
      env: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'environment variable that holds the token; give env or file' }),
      file: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'file that holds the token on its first line; give env or file' }),
      roles: field(
        z.array(z.enum(['ingest', 'read'])).min(1),
        ['ingest', 'read'],
        'ingest: may send frames; read: may see reports, metrics and windows',
      ),
      streams: field(
        z.array(z.string().regex(/^[A-Za-z0-9._:/*-]+$/, 'must be a stream name, * stands for any characters')).min(1),
        ['*'],
        'streams the token is good for; * stands for any characters',
      ),
    })
    .superRefine((entry, issue) => {
      const message = tokenProblem(entry, context);
      if (message) issue.addIssue({ code: 'custom', path: [entry.env === undefined ? 'file' : 'env'], message });
    });

function tokenProblem(entry: { env?: string; file?: string }, context: Context): string | undefined {
  if ((entry.env === undefined) === (entry.file === undefined)) return 'give exactly one of env and file';
  if (!context.readText) return undefined;
  let value: string;
  try {
    value = tokenValue(entry, context.env, context.readText);
  } catch (error) {
    return (error as Error).message;
  }
  // never quote the value: this message is logged
  return TOKEN_PATTERN.test(value)
    ? undefined
    : `holds ${value.length} characters that are no usable token; use 16 to 256 letters, digits or . _ ~ + -, for example from: openssl rand -hex 32`;
}

function tokenValue(
  entry: { env?: string; file?: string },
  env: NodeJS.ProcessEnv,
  readText: (path: string) => string,
): string {
  if (entry.file !== undefined) return readText(entry.file).split('\n', 1)[0].trim();
  const value = env[entry.env!];
  if (value === undefined) throw new Error(`environment variable ${entry.env} is not set`);
  return value.trim();
}

const data = section(
  {
    dir: field(
      z.string().min(1),
      'tgospa-data',
      'folder of the log, the snapshots and the event history; made when absent',
    ),
    maxBytes: field(
      count(1 << 20),
      4 * 1024 ** 3,
      'the log keeps at most this much; records that a snapshot covers go first',
      'bytes',
    ),
    maxAgeHours: field(positive(), 168, 'records and events older than this go, once a snapshot covers them', 'hours'),
    groupCommitMs: field(
      z.number().min(0).max(1000),
      10,
      'frames that arrive within this time share one flush to disk, and one ack',
      'milliseconds',
    ),
    commitBytes: field(count(), 256 * 1024, 'a flush does not wait when this much has gathered', 'bytes'),
    queueMaxBytes: field(count(), 64 * 1024 ** 2, 'more than this waiting for the disk is not taken', 'bytes'),
    minFreeBytes: field(
      count(0),
      64 * 1024 ** 2,
      'with less free space on the disk than this, or than a twentieth of a small disk, nothing is taken',
      'bytes',
    ),
    storageRetryMs: field(
      positive(),
      500,
      'while the disk is full, writing is tried again at this interval; nothing is acked meanwhile',
      'milliseconds',
    ),
    snapshotFrames: field(
      count(),
      1000,
      'a stream is snapshotted after this many of its frames; recovery replays at most as many',
      'frames',
    ),
  },
  'the embedded store',
);

const evaluation = section(
  {
    budgetMs: field(
      positive(),
      20,
      'a solve is cut after this time; its report then carries its bounds and gap > 0',
      'milliseconds',
    ),
    auditEvery: field(
      count(0),
      0,
      'every n-th window of a series is solved again by the other engine, and disagreements are counted; 0: never',
      'windows',
    ),
    sliceMs: field(
      positive(),
      4,
      'reading from sockets and work on frames give way to each other after this time',
      'milliseconds',
    ),
    tickMs: field(positive(), 50, 'how often deadlines of pairing are looked at', 'milliseconds'),
    idleCheckMs: field(positive(), 5000, 'how often idle streams are looked for', 'milliseconds'),
    backlogFrames: field(
      count(),
      1024,
      'with more stored frames than this waiting to be evaluated, acks wait too',
      'frames',
    ),
  },
  'how frames are evaluated',
);

const profileEntry = z
  .strictObject({
    distance: field(
      z.enum(DISTANCES),
      'iou',
      'iou, hausdorff, wasserstein compare boxes; euclidean, geodesic (latitude and longitude, metres) compare points',
    ),
    cutoff: positive().meta({
      description: 'a pair at this distance or more is not proper',
      unit: 'unit of the distance',
    }),
    admissibleError: positive().optional().meta({
      description:
        'an error above this is worse than no estimate at all; half the cutoff up to the cutoff; give this or exponent',
      unit: 'unit of the distance',
    }),
    exponent: z.number().min(1).optional().meta({ description: 'exponent p itself, instead of admissibleError' }),
    shortSwitchDistance: z.number().min(0).optional().meta({
      description:
        'short changes count; two tracks this close are a switch; give this, longSwitchFrames or switchPenalty',
      unit: 'unit of the distance',
    }),
    longSwitchFrames: z
      .number()
      .min(0)
      .optional()
      .meta({ description: 'only changes that last longer than this count', unit: 'frames' }),
    switchPenalty: z.number().min(0).optional().meta({
      description: 'switch penalty gamma itself; 0: no switches, per-frame GOSPA',
      unit: 'unit of the distance',
    }),
    missShare: z
      .number()
      .gt(0)
      .lt(1)
      .optional()
      .meta({ description: 'share of a miss in the cost of a miss plus a false object; 0.5 unless given' }),
    forgetting: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .meta({ description: 'a frame n frames old weighs this number to the power n' }),
  })
  .superRefine((words, issue) => {
    try {
      paramsOf(words);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      for (const p of error.problems) issue.addIssue({ code: 'custom', path: p.path.split('.'), message: p.message });
    }
  })
  .meta({ description: 'a named set of metric parameters' });

function paramsOf({ forgetting, ...words }: { forgetting?: number; cutoff: number; distance: DistanceName }): Params {
  return profile(forgetting === undefined ? words : { ...words, weights: { forgetting } });
}

/** The settings of a stream; with `field` as filler every key has its default, with `optional` none is needed. */
const settingsShape = (filler: Field, context: Context) => ({
  profiles: filler(
    z.array(profileName(context)).min(1).max(16),
    ['online-surveillance'],
    'profiles the stream is judged under: names of the section profiles or presets',
  ),
  windowFrames: filler(count().max(100_000), 60, 'length of the sliding window', 'frames'),
  settleFrames: filler(
    count().nullable(),
    null,
    'age at which a frame is settled and enters the counters; null: half the window',
    'frames',
  ),
  idleMinutes: filler(
    positive(),
    60,
    'a stream without any frame for this long is retired and its series are removed',
    'minutes',
  ),
  pairing: nest(filler, pairingShape(filler), 'how the feeds of a stream are joined'),
  filter: nest(filler, filterShape(filler), 'which objects count'),
});

const nest = <T extends z.core.$ZodLooseShape>(filler: Field, shape: T, description: string) => {
  const object = z.strictObject(shape).meta({ description });
  return (filler === field ? object.prefault({} as never) : object.optional()) as z.ZodPrefault<typeof object>;
};

const pairingShape = (filler: Field) => ({
  by: filler(
    z.enum(['auto', 'frame', 'time']),
    'auto',
    'join by frame number k or by time t; auto: by k when the first parts of both feeds have it',
  ),
  toleranceMs: filler(
    z.number().min(0),
    20,
    'by time: parts this close are the same step; keep it below half the time between frames',
    'milliseconds',
  ),
  reference: filler(
    z.enum(['exact', 'hold', 'linear']),
    'exact',
    'by time: exact needs a reference part at the time of the tracker, hold repeats the last one, linear interpolates',
  ),
  holdMaxMs: filler(z.number().min(0), 1000, 'hold and linear: the reference is not stretched further', 'milliseconds'),
  latenessFrames: filler(count(0), 0, 'how many later parts of the same feed may overtake a part', 'frames'),
  latenessMs: filler(z.number().min(0), 2000, 'how long a step waits for a feed', 'milliseconds'),
  silenceMs: filler(
    positive(),
    5000,
    'a feed without a part for this long is silent: a silent tracker misses everything, a silent reference suspends judgement',
    'milliseconds',
  ),
  bufferFrames: filler(count(), 1024, 'parts that may wait for each other; more close the oldest step', 'frames'),
  restartFrames: filler(
    count(),
    100,
    'a frame number that falls back by more than this begins a new numbering',
    'frames',
  ),
  restartMs: filler(
    positive(),
    10_000,
    'by time: a time that falls back by more than this means a clock was set',
    'milliseconds',
  ),
});

const filterShape = (filler: Field) => ({
  classes: filler(
    z.array(z.string().min(1)).min(1).nullable(),
    null,
    'only objects of these classes count; null: all, also those without a class',
  ),
  minConfidence: filler(
    z.number().nullable(),
    null,
    'objects with a lower confidence do not count, objects without one always do; null: all count',
  ),
});

function profileName(context: Context) {
  return z.string().superRefine((value, issue) => {
    if (Object.hasOwn(presets, value) || context.profileNames.includes(value)) return;
    const known = [...Object.keys(presets), ...context.profileNames].join(', ');
    issue.addIssue({
      code: 'custom',
      message: `no profile has this name; add it under profiles, or use one of ${known}`,
    });
  });
}

const limits = section(
  {
    connections: field(
      count(),
      4096,
      'WebSocket connections at the same time; more are refused with HTTP 503',
      'connections',
    ),
    connectionsPerAddress: field(
      count(),
      2048,
      'of these, from one address; more are refused with HTTP 429',
      'connections',
    ),
    payloadBytes: field(
      count(1024).max(1 << 28),
      1024 ** 2,
      'largest message; a larger one closes the connection with 1009',
      'bytes',
    ),
    fragments: field(count(), 64, 'fragments of one message; more close the connection with 1008', 'fragments'),
    bufferedChunks: field(
      count(),
      1024,
      'pieces of an unfinished message held at once; more close the connection with 1008',
      'pieces',
    ),
    objects: field(count(), 2000, 'objects in one frame; a frame with more is rejected', 'objects'),
    idLength: field(count(), 128, 'length of an object id or class', 'characters'),
    streams: field(count(), 1000, 'streams at the same time; more are refused and counted', 'streams'),
    series: field(
      count(),
      5000,
      'combinations of stream, tracker and profile on /metrics; more are left out and counted',
      'series',
    ),
    trackersPerStream: field(count(), 8, 'trackers of one stream; more are refused and counted', 'trackers'),
    creditFrames: field(
      count(),
      256,
      'frames a client may have sent without an ack; one that sends more is not read from until they are stored',
      'frames',
    ),
    framesPerSecond: field(
      positive(),
      50_000,
      'per connection, with bursts of one second; a faster one is not read from for a while',
      'frames per second',
    ),
    rejectsPerMinute: field(
      positive(),
      600,
      'per connection; one that sends more bad messages is closed with 4429',
      'rejects per minute',
    ),
    helloTimeoutMs: field(
      positive(),
      5000,
      'a connection without a valid hello by then is closed with 4408',
      'milliseconds',
    ),
    heartbeatMs: field(
      positive(),
      15_000,
      'time between pings; a peer silent for two of them is cut off',
      'milliseconds',
    ),
    backlogBytes: field(
      count(),
      1024 ** 2,
      'a feed that lets this much of what it is sent pile up unread is closed with 4008',
      'bytes',
    ),
    httpTimeoutMs: field(positive(), 30_000, 'an HTTP request must have arrived by then', 'milliseconds'),
    liveBufferBytes: field(
      count(),
      65_536,
      'a subscriber of /v1/live with more than this unsent gets only the newest report of each series',
      'bytes',
    ),
    liveEvents: field(
      count(),
      1000,
      'events waiting for one subscriber; one that has more waiting is closed with 4008',
      'events',
    ),
    liveStallMs: field(
      positive(),
      30_000,
      'a subscriber that takes nothing for this long is closed with 4008',
      'milliseconds',
    ),
    recentEvents: field(count(), 1000, 'events kept for /v1/events', 'events'),
    stopMs: field(positive(), 5000, 'on SIGTERM, connections that have not closed by then are cut', 'milliseconds'),
  },
  'every limit of the edge',
);

const logging = section(
  {
    level: field(
      z.enum(['debug', 'info', 'warn', 'error', 'silent']),
      'info',
      'least level that is written; one JSON object per line, to standard error',
    ),
  },
  'structured log',
);

const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+$/, 'must look like https://host or https://host:port, without a path');

const rootSchema = (context: Context) =>
  z
    .strictObject({
      listen,
      tls: tls(context),
      origins: field(
        z.array(origin),
        [],
        'web pages of these origins may connect, besides pages of this server itself',
      ),
      tokens: field(
        z.array(token(context)),
        [],
        'who may connect; none: everybody who reaches the port. Without this key the variable TGOSPA_TOKEN is used when it is set',
      ),
      data,
      evaluation,
      profiles: field(
        z.record(name(), profileEntry),
        {},
        'metric parameters by name; the presets detector-training, online-surveillance and offline-scene-understanding are always there',
      ),
      streams: z
        .object({
          defaults: z
            .strictObject(settingsShape(field, context))
            .meta({ description: 'for every stream that says nothing else' })
            .prefault({}),
        })
        .catchall(
          z
            .strictObject(settingsShape(optional, context))
            .meta({ description: 'a stream by its name; keys left out are those of defaults' }),
        )
        .meta({ description: 'settings of streams, by name' })
        .prefault({}),
      limits,
      logging,
    })
    .refine((config) => isLoopback(config.listen.host) || config.listen.insecure || config.tokens.length > 0, {
      path: ['listen', 'host'],
      message:
        'is reachable by others, but no tokens are configured; add tokens, or listen.insecure: true if everybody may read and write',
      when: (payload) => typeof (payload.value as { listen?: { host?: unknown } }).listen?.host === 'string',
    });

export type Config = z.output<ReturnType<typeof rootSchema>>;
export type StreamSettings = Config['streams']['defaults'];
export type PairingSettings = StreamSettings['pairing'];
export type FilterSettings = StreamSettings['filter'];
export type TokenRole = 'ingest' | 'read';
/** Settings as a stream's own entry or a hello may give them: everything may be left out. */
export type SettingsPatch = Partial<Omit<StreamSettings, 'pairing' | 'filter'>> & {
  pairing?: Partial<PairingSettings>;
  filter?: Partial<FilterSettings>;
};

/** One mistake or warning; line and column are 1-based, absent when it does not stand in the file. */
export interface ConfigProblem {
  path: string;
  message: string;
  line?: number;
  column?: number;
}

/** Everything that is wrong with a configuration, with its lines. */
export class ConfigError extends InputError {
  constructor(
    readonly mistakes: ConfigProblem[],
    source: string,
  ) {
    super(mistakes.map(({ path, message }) => ({ path, value: undefined, message })));
    const lines = mistakes.map((mistake) => describeProblem(mistake, source));
    this.message = `${lines.length} ${lines.length === 1 ? 'mistake' : 'mistakes'} in the configuration\n  ${lines.join('\n  ')}`;
  }
}

/** `tgospa.yaml:12:3 limits.objects: ...`, as editors and terminals understand it. */
export function describeProblem(problem: ConfigProblem, source: string): string {
  const place = problem.line === undefined ? source : `${source}:${problem.line}:${problem.column}`;
  return `${place} ${problem.path}: ${problem.message}`;
}

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
  const problems = [...(result.success ? [] : problemsOf(result.error, raw)), ...streamProblems(raw, context)];
  const located = problems
    .map((problem) => locate(problem, document, lines))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (!result.success || located.length > 0) throw new ConfigError(located, source);
  return { config: result.data, warnings: windowWarnings(result.data).map((p) => locate(p, document, lines)) };
}

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

function syntaxProblem(error: { message: string; pos: [number, number] }, lines: LineCounter): ConfigProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  return { path: 'yaml', message: error.message, line, column: col };
}

type Path = PropertyKey[];

function problemsOf(error: z.ZodError, raw: unknown): Problem[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ keys: [...issue.path, key], message: unknownKey(issue.path) }))
      : [{ keys: issue.path, message: `${issue.message}${shown(issue, raw)}${hint(issue.path)}` }],
  );
}

function unknownKey(path: Path): string {
  const known = Object.keys(schemaAt(path)?.properties ?? {});
  return `is no key here; known are ${known.join(', ')}`;
}

/** The offending value; token entries hold no secrets, only names of variables and files. */
function shown(issue: z.core.$ZodIssue, raw: unknown): string {
  const value = valueAt(raw, issue.path);
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  return ` (got ${text.length > 60 ? `${text.slice(0, 57)}...` : text})`;
}

function valueAt(value: unknown, path: Path): unknown {
  for (const key of path)
    value = typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  return value;
}

/** What the key means and its default, as the remedy. */
function hint(path: Path): string {
  const found = schemaAt(path);
  if (!found?.description) return '';
  const standard =
    found.default === undefined
      ? ''
      : `, default ${JSON.stringify(found.default)}${found.unit ? ` ${found.unit}` : ''}`;
  return `; ${path.at(-1) === undefined ? 'configuration' : String(path.at(-1))} is: ${found.description}${standard}`;
}

interface Problem {
  keys: Path;
  message: string;
}

export const formatPath = (path: Path): string =>
  path.map((key, n) => (typeof key === 'number' ? `[${key}]` : n === 0 ? String(key) : `.${String(key)}`)).join('') ||
  'configuration';

/** Finds the line of a path: the key itself, or the nearest one around it that stands in the file. */
function locate(problem: Problem, document: Document, lines: LineCounter): ConfigProblem {
  const found: ConfigProblem = { path: formatPath(problem.keys), message: problem.message };
  for (let length = problem.keys.length; length > 0; length--) {
    const offset = offsetOf(document, problem.keys.slice(0, length));
    if (offset === undefined) continue;
    const { line, col } = lines.linePos(offset);
    return { ...found, line, column: col };
  }
  return found;
}

function offsetOf(document: Document, path: Path): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const key = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
    return pair && isNode(pair.key) ? pair.key.range?.[0] : undefined;
  }
  const node = isSeq(parent) ? parent.items[key as number] : undefined;
  return isNode(node) ? (node.range?.[0] ?? undefined) : undefined;
}

const BOX_DISTANCES: readonly DistanceName[] = ['iou', 'hausdorff', 'wasserstein'];
const shapeOf = (params: Params): Shape => (BOX_DISTANCES.includes(params.distance) ? 'box' : 'point');

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
    filter: { ...base.filter, ...defined(own.filter ?? {}), ...defined(patch.filter ?? {}) },
  };
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
    return { path: 'profiles', message: 'names a profile twice' };
  if ((settings.settleFrames ?? 0) > settings.windowFrames) {
    return {
      path: 'settleFrames',
      message: `is ${settings.settleFrames}, longer than the window of ${settings.windowFrames} frames; a frame must be settled before it leaves`,
    };
  }
  return { settings, profiles, shape: [...shapes][0] };
}

/** What is wrong with streams as wholes; each is looked at alone, so that a mistake elsewhere does not hide it. */
function streamProblems(raw: Record<string, unknown>, context: Context): Problem[] {
  const streams = isRecord(raw.streams) ? raw.streams : {};
  return Object.keys(streams).flatMap((stream): Problem[] => {
    if (!NAME_PATTERN.test(stream))
      return [{ keys: ['streams', stream], message: `is no name for a stream: it ${NAME_RULE}` }];
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

/** DESIGN 2.1: a window of T frames never shows a switch that must last n frames on both sides when T <= 2n + 1. */
export function windowWarning(params: Params, windowFrames: number): string | undefined {
  const lasting = Math.round((params.switchPenalty / params.cutoff) ** params.exponent * 1e9) / 1e9;
  if (lasting < 1 || windowFrames > 2 * lasting + 1) return undefined;
  return `a window of ${windowFrames} frames never shows a switch that must last ${lasting} frames on both sides; use more than ${2 * lasting + 1} frames`;
}

function windowWarnings(config: Config): Problem[] {
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
    format: z.string().max(64).default('native'),
    shape: z.enum(['box', 'point']).optional(),
    settings: settings.optional(),
    resume: z.strictObject({ session: z.string().max(64), seq: count().optional() }).optional(),
    client: z.string().max(128).optional(),
  });
  return (raw) => {
    const result = schema.safeParse(raw);
    return result.success
      ? { fields: result.data as HelloFields<SettingsPatch> }
      : helloProblem(result.error.issues[0], raw);
  };
}

function helloProblem(issue: z.core.$ZodIssue, raw: unknown): { path: string; value: unknown; message: string } {
  const stranger = issue.code === 'unrecognized_keys';
  const keys = stranger ? [...issue.path, issue.keys[0].slice(0, 60)] : issue.path;
  return {
    path: formatPath(keys),
    value: valueAt(raw, keys),
    message: stranger ? 'no such field; leave it out' : issue.message,
  };
}

/** Reads the secret of each token; only their holder compares them. */
export function tokenSecrets(
  config: Config,
  env = process.env,
): Array<{ name: string; roles: TokenRole[]; streams: string[]; secret: string }> {
  return config.tokens.map((entry) => ({
    name: entry.name,
    roles: entry.roles,
    streams: entry.streams,
    secret: tokenValue(entry, env, (path) => readFileSync(path, 'utf8')),
  }));
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

type JsonSchema = {
  description?: string;
  default?: unknown;
  unit?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
};

let cachedSchema: JsonSchema | undefined;

/** The schema for editors (JSON Schema 2020-12); committed beside this file. */
export function jsonSchema(): JsonSchema {
  cachedSchema ??= {
    ...(z.toJSONSchema(rootSchema({ profileNames: [], env: {} }), {
      io: 'input',
      unrepresentable: 'any',
    }) as JsonSchema),
    title: 'tgospa.yaml',
  } as JsonSchema;
  return cachedSchema;
}

function schemaAt(path: Path): JsonSchema | undefined {
  let at: JsonSchema | undefined = jsonSchema();
  for (const key of path) {
    const inner: JsonSchema | undefined =
      at?.properties || at?.items || at?.additionalProperties ? at : at?.anyOf?.find((option) => option.properties);
    const extra: JsonSchema | undefined =
      typeof inner?.additionalProperties === 'object' ? inner.additionalProperties : undefined;
    at = typeof key === 'number' ? inner?.items : (inner?.properties?.[String(key)] ?? extra);
  }
  return at;
}

/** The lines a stream of points needs; offered when one arrives without a profile. */
export const pointProfileLines = (stream: string): string =>
  [
    'profiles:',
    '  points: { distance: euclidean, cutoff: 10, admissibleError: 6, shortSwitchDistance: 3 }   # in the unit of your points',
    'streams:',
    `  ${stream}: { profiles: [points] }`,
  ].join('\n');

/** A file with every key at its default, each with its meaning and unit; entries that have no default are comments. */
export function exampleYaml(): string {
  const head = [
    '# yaml-language-server: $schema=./tgospa.schema.json',
    '# Every key of tgospa.yaml with its default. Keep what you change and drop the rest: without any file the same applies.',
  ];
  return `${[...head, ...exampleSection(jsonSchema(), '')].join('\n')}\n`;
}

function exampleSection(schema: JsonSchema, indent: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => exampleKey(key, inner, indent));
}

function exampleKey(key: string, schema: JsonSchema, indent: string): string[] {
  const unit = schema.unit ? ` [${schema.unit}]` : '';
  const lines = [`${indent}# ${schema.description}${unit}`];
  if (indent === '') lines.unshift('');
  if (schema.properties) {
    lines.push(`${indent}${key}:`, ...exampleSection(schema, `${indent}  `));
    // the settings of one stream have the same keys as the defaults
    return key === 'streams' ? [...lines, `${indent}  # gate-7: { windowFrames: 120, pairing: { by: time } }`] : lines;
  }
  const value = schema.default === undefined ? '' : ` ${JSON.stringify(schema.default)}`;
  lines.push(`${indent}${schema.default === undefined ? '# ' : ''}${key}:${value}`);
  const entry = schema.items?.properties
    ? ['- ', schema.items]
    : schema.anyOf?.find((option) => option.properties)
      ? ['', schema.anyOf[0]]
      : typeof schema.additionalProperties === 'object'
        ? ['name:', schema.additionalProperties]
        : null;
  if (!entry) return lines;
  const [mark, item] = entry as [string, JsonSchema];
  return [...lines, ...exampleEntry(mark, item).map((line) => `${indent}# ${line}`)];
}

/** One entry of a list or a mapping by name, to be shown as a comment. */
function exampleEntry(mark: string, schema: JsonSchema): string[] {
  const keys = Object.entries(schema.properties ?? {}).map(([key, inner]) => {
    const value = inner.default === undefined ? '...' : JSON.stringify(inner.default);
    return `${key}: ${value}   # ${inner.description}${inner.unit ? ` [${inner.unit}]` : ''}`;
  });
  if (mark === 'name:') return ['  name:', ...keys.map((line) => `    ${line}`)];
  return keys.map((line, n) => `  ${mark && (n === 0 ? mark : '  ')}${line}`);
}
