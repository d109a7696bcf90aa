/** Beyond one machine: the brokers that keep the logs of all partitions, and what this process does for them. */
import { z } from 'zod';
import { type Context, count, field, name, positive, readable } from './fields.js';
import { brokerAddress, checkPassword, loginShape, sourcePassword } from './sources.js';

export const CLUSTER_ROLES = ['gateway', 'evaluator', 'reader', 'notifier'] as const;
export type ClusterRole = (typeof CLUSTER_ROLES)[number];

export const cluster = (context: Context) =>
  z
    .strictObject({
      servers: z
        .array(brokerAddress())
        .min(1)
        .max(16)
        .meta({ description: 'NATS servers with JetStream, 2.10.23 or newer; any of them serves' }),
      ...loginShape(context),
      credentialsFile: readable(context, 'file with the JWT and the seed of a user, in place of a password').optional(),
      monitors: field(
        z.array(z.url({ protocol: /^https?$/ })).max(16),
        [],
        'monitoring addresses of the servers, for example http://broker:8222: whether they flush before they acknowledge is asked there',
      ),
      name: field(name(), 'tgospa', 'clusters with different names may share the same servers'),
      roles: field(
        z.array(z.enum(CLUSTER_ROLES)).min(1),
        [...CLUSTER_ROLES],
        'what this process does: accepts feeds, evaluates partitions, serves the page and those who read, notifies; /metrics and health are served by all',
      ),
      version: field(
        count(0),
        0,
        'of this configuration: streams are judged by the newest, so raise it when streams or profiles change',
      ),
      partitions: field(
        z.union([1, 2, 4, 8, 16, 32, 64].map((n) => z.literal(n)) as never) as z.ZodType<number>,
        64,
        'how many logs there are; the same in all processes, and for ever',
      ),
      replicas: field(
        z.union([1, 3, 5].map((n) => z.literal(n)) as never) as z.ZodType<number>,
        1,
        'servers that keep a copy of everything: with 3 any one of them may fail, with 5 any two',
      ),
      renewMs: field(positive(), 600, 'how often an owner says that it lives', 'milliseconds'),
      expiryMs: field(
        positive(),
        2500,
        'an owner that has said nothing for so long is gone, and another takes its partitions; half of it when the brokers have lost its connection',
        'milliseconds',
      ),
      moveMs: field(
        positive(),
        2000,
        'least time between two partitions that move to even out the load',
        'milliseconds',
      ),
      timeoutMs: field(positive(), 2000, 'an answer that has not come is asked for again', 'milliseconds'),
      retryMs: field(positive(), 100, 'wait between two attempts', 'milliseconds'),
      stallMs: field(
        positive(),
        1000,
        'when storing frames took longer, their streams are not late by it',
        'milliseconds',
      ),
      lagMaxMs: field(
        positive(),
        10_000,
        'frames that are stored and not evaluated for so long hold back the acks of those behind them',
        'milliseconds',
      ),
      logMaxBytes: field(
        count(1 << 20),
        128 * 1024 ** 2,
        'the log of a partition holds at most this much; brokers reserve it',
        'bytes',
      ),
      logKeepBytes: field(
        count(0),
        16 * 1024 ** 2,
        'records that snapshots cover are dropped when the log of a partition is larger than this',
        'bytes',
      ),
      stateMaxBytes: field(
        count(1 << 20),
        1024 ** 3,
        'most that snapshots, and events, may hold; brokers reserve it',
        'bytes',
      ),
      linksKept: field(count(100), 10_000, 'groups of events that are kept for each partition'),
      purgeMs: field(positive(), 1000, 'how often records that snapshots cover are looked for', 'milliseconds'),
      replayRecords: field(
        count(),
        20_000,
        'frames of all streams of a partition within which each is snapshotted, as long as there are at most 200 streams; a takeover repeats about half of them: more snapshots for a shorter takeover',
        'frames',
      ),
      warmUpFrames: field(
        count(0),
        2000,
        'frames of a made-up stream that an evaluator judges while it owns nothing, so that its code is compiled when it takes something over; 0: none',
        'frames',
      ),
      heldBatches: field(
        count(),
        5000,
        'a stream whose last snapshot is older than this many batches of its partition is snapshotted',
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
      description: 'several processes and machines as one evaluator, on NATS JetStream; null: this process alone',
    });

export type ClusterSettings = NonNullable<z.output<ReturnType<typeof cluster>>>;

/** The password at the brokers; undefined when there is none. */
export const clusterPassword = (settings: ClusterSettings, env: NodeJS.ProcessEnv): string | undefined =>
  sourcePassword(settings, env);
