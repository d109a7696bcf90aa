/** Beyond one machine: the brokers that keep the logs of all partitions, and what this process does for them. */
import { z } from 'zod';
import { type Context, count, field, name, positive, readable } from './fields.js';
import { brokerAddress, checkPassword, loginShape, sourcePassword } from './sources.js';

const CLUSTER_ROLES = ['gateway', 'evaluator', 'reader', 'notifier'] as const;
export type ClusterRole = (typeof CLUSTER_ROLES)[number];

export const cluster = (context: Context) =>
  z
    .strictObject({
      servers: z
        .array(brokerAddress())
        .min(1)
        .max(16)
        .meta({ description: 'NATS servers with JetStream, 2.10.23 or newer; any one of them is enough to connect' }),
      ...loginShape(context),
      credentialsFile: readable(context, "file with a user's JWT and seed, instead of a password").optional(),
      monitors: field(
        z.array(z.url({ protocol: /^https?$/ })).max(16),
        [],
        'monitoring addresses of the servers, for example http://broker:8222; used to check that they flush before they acknowledge',
      ),
      name: field(name(), 'tgospa', 'clusters with different names may share the same servers'),
      roles: field(
        z.array(z.enum(CLUSTER_ROLES)).min(1),
        [...CLUSTER_ROLES],
        'what this process does: accept feeds, evaluate partitions, serve the page and readers, send notifications; every process serves /metrics and health',
      ),
      version: field(
        count(0),
        0,
        'version of this configuration: the highest one applies to streams, so raise it when streams or profiles change',
      ),
      partitions: field(
        z.union([1, 2, 4, 8, 16, 32, 64].map((n) => z.literal(n)) as never) as z.ZodType<number>,
        64,
        'number of partition logs; must be the same in all processes and can never be changed',
      ),
      replicas: field(
        z.union([1, 3, 5].map((n) => z.literal(n)) as never) as z.ZodType<number>,
        1,
        'servers that keep a copy of everything: with 3, any one may fail; with 5, any two',
      ),
      renewMs: field(positive(), 600, 'how often an owner renews its claim', 'milliseconds'),
      expiryMs: field(
        positive(),
        2500,
        'an owner that has not renewed its claim for this long is considered dead and its partitions are taken over; sooner if the brokers have lost its connection',
        'milliseconds',
      ),
      moveMs: field(positive(), 2000, 'minimum time between two partition moves to balance the load', 'milliseconds'),
      timeoutMs: field(positive(), 2000, 'a request without a reply is repeated after this time', 'milliseconds'),
      retryMs: field(positive(), 100, 'wait between two attempts', 'milliseconds'),
      stallMs: field(
        positive(),
        1000,
        'if storing frames takes longer than this, the delay does not make their streams late',
        'milliseconds',
      ),
      lagMaxMs: field(
        positive(),
        10_000,
        'stored frames that have waited this long to be evaluated hold back the acks of later ones',
        'milliseconds',
      ),
      logMaxBytes: field(
        count(1 << 20),
        128 * 1024 ** 2,
        "maximum size of a partition's log; brokers reserve it",
        'bytes',
      ),
      logKeepBytes: field(
        count(0),
        16 * 1024 ** 2,
        "the oldest records covered by snapshots are deleted when a partition's log is larger than this",
        'bytes',
      ),
      stateMaxBytes: field(
        count(1 << 20),
        1024 ** 3,
        'maximum size of the snapshots, and of the events; brokers reserve it',
        'bytes',
      ),
      linksKept: field(count(100), 10_000, 'groups of events kept for each partition'),
      purgeMs: field(positive(), 1000, 'how often to look for records covered by snapshots', 'milliseconds'),
      replayRecords: field(
        count(),
        12_000,
        'each stream of a partition is snapshotted once within this many frames of all of them, for up to 200 streams; a takeover replays about half, so fewer means a faster takeover but more snapshots',
        'frames',
      ),
      warmUpFrames: field(
        count(0),
        4000,
        'frames of made-up streams that an evaluator judges while it owns nothing, so that its code is compiled before it takes over a partition; 0: none',
        'frames',
      ),
      heldBatches: field(
        count(),
        5000,
        'a stream is snapshotted when its last snapshot is older than this many batches of its partition',
      ),
    })
    .superRefine((entry, issue) => {
      checkPassword(entry, context, issue);
      if (entry.expiryMs < 3 * entry.renewMs)
        issue.addIssue({ code: 'custom', path: ['expiryMs'], message: 'must be at least three times renewMs' });
    })
    .nullable()
    .default(null)
    .meta({
      description: 'run several processes or machines as one evaluator, on NATS JetStream; null: a single process',
    });

export type ClusterSettings = NonNullable<z.output<ReturnType<typeof cluster>>>;

/** The password at the brokers; undefined when there is none. */
export const clusterPassword = (settings: ClusterSettings, env: NodeJS.ProcessEnv): string | undefined =>
  sourcePassword(settings, env);
