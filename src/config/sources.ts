/**
 * Pull sources: brokers, robots and files that the evaluator reads by itself. Passwords are named here, never written.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { adapters, formatByName, type NamedFormat } from '../../adapters/index.js';
import { type Context, count, faultOf, field, name, positive, readable, section } from './fields.js';

const text = (description: string) => z.string().min(1).max(1024).meta({ description });

/** Where the messages go, and how they are to be understood. */
const feedShape = {
  stream: name().meta({ description: 'stream the messages belong to' }),
  role: field(z.enum(['reference', 'tracker']), 'tracker', 'reference (taken as the truth) or tracker (judged)'),
  tracker: name().optional().meta({ description: 'name of the tracker; the reference has none' }),
  format: field(
    z.string().min(1).max(64),
    'native',
    'an adapter from adapters/README.md, or a name from the section formats',
  ),
  options: field(z.record(z.string().min(1).max(64), z.unknown()), {}, 'options of the format'),
  stamp: field(
    z.enum(['none', 'arrival']),
    'none',
    'for formats without frame numbers and times: arrival stamps a message with the time it arrived',
  ),
};

function checkRole(feed: { role: string; tracker?: string }, issue: z.core.$RefinementCtx): void {
  if ((feed.role === 'tracker') === (feed.tracker !== undefined)) return;
  const message =
    feed.role === 'tracker' ? 'is required: every tracker has a name' : 'must be left out: the reference has none';
  issue.addIssue({ code: 'custom', path: ['tracker'], message });
}

const feeds = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z
    .array(z.strictObject({ ...shape, ...feedShape }).superRefine(checkRole as never))
    .min(1)
    .max(256)
    .meta({ description: 'what to subscribe to, and which stream it belongs to' });

/** An address without a user or password in it. */
const address = (schemes: string[], description: string) =>
  z
    .string()
    .superRefine((value, issue) => {
      const message = addressProblem(value, schemes);
      if (message) issue.addIssue({ code: 'custom', message });
    })
    .meta({ description });

function addressProblem(value: string, schemes: string[]): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !schemes.includes(url.protocol))
    return `must look like ${schemes[0]}//host:port; known schemes are ${schemes.join(', ')}`;
  return url.username || url.password
    ? 'must not hold a user or password; use username, passwordEnv or passwordFile'
    : undefined;
}

const sourceName = () => name().meta({ description: 'name in logs and metrics' });

export const brokerAddress = () => address(['nats:', 'tls:'], 'a server, for example nats://broker:4222');

export const loginShape = (context: Context) => ({
  username: text('user at the broker').optional(),
  passwordEnv: text('environment variable that holds the password; give this or passwordFile').optional(),
  passwordFile: text('file that holds the password on its first line').optional(),
  caFile: readable(context, "PEM file with the CA that signed the broker's certificate").optional(),
});

export function checkPassword(
  entry: { passwordEnv?: string; passwordFile?: string },
  { env, readText }: Context,
  issue: z.core.$RefinementCtx,
): void {
  const { passwordEnv, passwordFile } = entry;
  const complain = (path: string, message: string) => issue.addIssue({ code: 'custom', path: [path], message });
  if (passwordEnv !== undefined && passwordFile !== undefined)
    complain('passwordFile', 'give passwordEnv or passwordFile, not both');
  else if (readText) {
    const fault = faultOf(() => sourcePassword(entry, env, readText));
    if (fault) complain(passwordEnv === undefined ? 'passwordFile' : 'passwordEnv', fault);
  }
}

const mqtt = (context: Context) =>
  z
    .strictObject({
      name: sourceName(),
      url: address(['mqtt:', 'mqtts:', 'ws:', 'wss:'], 'broker, for example mqtt://broker:1883'),
      protocol: field(
        z.union([z.literal(5), z.literal(4)]),
        5,
        'version of MQTT: 5, or 4 for 3.1.1, which cannot limit payloads',
      ),
      clientId: text('name of the session at the broker; tgospa-NAME by default').optional(),
      ...loginShape(context),
      qos: field(
        z.union([z.literal(0), z.literal(1)]),
        1,
        '1: the broker keeps a message until it is acknowledged; 0: lost messages are not resent',
      ),
      acknowledge: field(
        z.enum(['stored', 'received']),
        'stored',
        'when a message is acknowledged; received is for version 4, when a frame spans more messages than the broker allows in flight',
      ),
      sessionHours: field(
        positive().max(24 * 365),
        24,
        'how long the broker keeps what the evaluator has not fetched',
        'hours',
      ),
      feeds: feeds({ topic: text('topic to subscribe to; + matches one level, # the rest') }),
    })
    .superRefine((entry, issue) => checkPassword(entry, context, issue))
    .meta({ description: 'a broker' });

const nats = (context: Context) =>
  z
    .strictObject({
      name: sourceName(),
      servers: z
        .array(brokerAddress())
        .min(1)
        .max(16)
        .meta({ description: 'servers of the broker; any one of them is enough to connect' }),
      ...loginShape(context),
      credentialsFile: readable(context, "file with a user's JWT and seed, instead of a password").optional(),
      jetstream: z
        .string()
        .regex(/^[^\s.*>/\\]{1,255}$/, 'must be a name without spaces, dots, wildcards and slashes')
        .optional()
        .meta({
          description:
            'name of the JetStream stream that keeps the messages; without it, messages published while the evaluator is not connected are lost',
        }),
      reader: name()
        .optional()
        .meta({ description: 'name under which the broker remembers our position; tgospa-NAME by default' }),
      begin: field(
        z.enum(['oldest', 'new']),
        'oldest',
        'where a reader that is new to the broker starts: at the oldest message kept, or with the next one',
      ),
      sessionHours: field(positive().max(24 * 365), 24, 'how long the broker remembers our position', 'hours'),
      feeds: feeds({ subject: subject('subject to read; * matches one token, > the rest') }),
    })
    .superRefine((entry, issue) => checkPassword(entry, context, issue))
    .meta({ description: 'a broker' });

const subject = (description: string) =>
  z
    .string()
    .max(1024)
    .regex(
      /^([^\s.*>]+|\*)(\.([^\s.*>]+|\*))*(\.>)?$|^>$/,
      'must be tokens separated by dots; * and > stand alone, > last',
    )
    .meta({ description });

const rosbridge = z
  .strictObject({
    name: sourceName(),
    url: address(['ws:', 'wss:'], 'rosbridge server, for example ws://robot:9090'),
    queueLength: field(
      count().max(100_000),
      100,
      'messages the bridge queues while we are not reading; the oldest are dropped first',
      'messages',
    ),
    throttleMs: field(count(0), 0, 'minimum time between two messages of a topic', 'milliseconds'),
    feeds: feeds({
      topic: text('topic to subscribe to, for example /detections'),
      type: text(
        'type of its messages, for example vision_msgs/msg/Detection2DArray; needed only if nobody publishes the topic yet',
      ).optional(),
    }),
  })
  .meta({ description: 'a robot' });

const tail = z
  .strictObject({
    name: sourceName(),
    path: text('file that another program appends to; every line is a message'),
    ...feedShape,
  })
  .superRefine(checkRole as never)
  .meta({ description: 'a file' });

export const sources = (context: Context) =>
  section(
    {
      mqtt: field(z.array(mqtt(context)).max(256), [], 'MQTT brokers to read from'),
      nats: field(z.array(nats(context)).max(256), [], 'NATS brokers to read from'),
      rosbridge: field(z.array(rosbridge).max(256), [], 'rosbridge servers to read from'),
      tail: field(z.array(tail).max(256), [], 'growing files to read from'),
      queueMessages: field(
        count().max(100_000),
        1000,
        'messages of a feed that may wait to be stored; beyond this its source is not read',
        'messages',
      ),
      payloadBytes: field(
        count(1024).max(1 << 28),
        512 * 1024,
        'largest message; a larger one is refused and counted; limits.payloadBytes applies as well',
        'bytes',
      ),
      backoffMs: field(
        positive(),
        500,
        'first wait before reconnecting to a lost source; doubled each time, with jitter',
        'milliseconds',
      ),
      backoffMaxMs: field(positive(), 30_000, 'longest such wait', 'milliseconds'),
      connectTimeoutMs: field(positive(), 10_000, 'a connection attempt is given up after this time', 'milliseconds'),
      pollMs: field(positive(), 100, 'how often a file is checked for new lines', 'milliseconds'),
    },
    'where the evaluator itself fetches messages',
  );

type Sources = z.output<ReturnType<typeof sources>>;
type SourceEntry = Extract<Sources[keyof Sources], readonly unknown[]>[number];
interface Login {
  passwordEnv?: string;
  passwordFile?: string;
}

/** Every source with its place: each section that is a list holds the sources of one kind. */
const allSources = (sources: Sources): Array<{ kind: string; n: number; entry: SourceEntry }> =>
  Object.entries(sources).flatMap(([kind, entries]) =>
    Array.isArray(entries) ? entries.map((entry: SourceEntry, n) => ({ kind, n, entry })) : [],
  );

/** The password of a broker; undefined when it has none. Only its holder may see it. */
export function sourcePassword(
  { passwordEnv, passwordFile }: Login,
  env: NodeJS.ProcessEnv,
  readText: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): string | undefined {
  if (passwordFile !== undefined) return readText(passwordFile).split('\n', 1)[0].trim();
  if (passwordEnv === undefined) return undefined;
  const value = env[passwordEnv];
  if (value === undefined)
    throw new Error(`environment variable ${passwordEnv} is not set; set it before the start, or name a file`);
  return value;
}

/** Every password of the sources, for the logger to hide. */
export const sourceSecrets = ({ sources }: { sources: Sources }, env = process.env): string[] =>
  allSources(sources).flatMap(({ entry }) => sourcePassword(entry as Login, env) ?? []);

interface Placed {
  keys: PropertyKey[];
  message: string;
}

/** What is wrong with sources as wholes: names, formats, options, limits. */
export function sourceProblems(config: { sources: Sources; formats: Readonly<Record<string, NamedFormat>> }): Placed[] {
  const problems: Placed[] = [];
  const seen = new Set<string>();
  for (const { kind, n, entry } of allSources(config.sources)) {
    const at = ['sources', kind, n];
    if (seen.has(entry.name)) problems.push({ keys: [...at, 'name'], message: 'is already used by another source' });
    seen.add(entry.name);
    const feeds = 'feeds' in entry ? entry.feeds : [entry];
    feeds.forEach((feed, f) => {
      const place = 'feeds' in entry ? [...at, 'feeds', f] : at;
      problems.push(
        ...feedProblems(feed as never, config.formats).map(({ keys, message }) => ({
          keys: [...place, ...keys],
          message,
        })),
      );
    });
  }
  return problems;
}

function feedProblems(
  { format, options, stamp }: { format: string; options: Record<string, unknown>; stamp: string },
  formats: Readonly<Record<string, NamedFormat>>,
): Placed[] {
  const found = formatByName(format, options, formats);
  if (found === null) {
    const known = [...Object.keys(formats), ...adapters.keys()].join(', ');
    return [{ keys: ['format'], message: `there is no format ${format}; known formats are ${known}` }];
  }
  if (Array.isArray(found))
    return found.map(({ path, message }) => ({ keys: ['options', path], message: `${path} ${message}` }));
  if (format === 'native' && found.given.size > 0)
    return [
      {
        keys: ['options'],
        message: 'need a named format: define native with these options under formats, and use that name here',
      },
    ];
  const { numbering } = found.adapter;
  if (format !== 'native' && found.adapter.name === 'native' && found.given.size === 0)
    return [{ keys: ['format'], message: 'is native without options; use native itself' }];
  if (numbering === 'stamp' && stamp === 'none')
    return [{ keys: ['stamp'], message: `must be arrival: messages of format ${format} have no time of their own` }];
  if (numbering === 'own' && stamp === 'arrival')
    return [
      { keys: ['stamp'], message: `must be none: messages of format ${format} have a number or time of their own` },
    ];
  return [];
}
