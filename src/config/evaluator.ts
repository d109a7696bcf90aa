/** The machinery: the embedded store, the evaluation of frames, the log lines. */
import { z } from 'zod';
import { count, field, positive, section } from './fields.js';

export const data = section(
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

/** one for each partition */
export const WORKERS_MAX = 64;

export const evaluation = section(
  {
    workers: field(
      z.union([z.literal('auto'), count(0).max(WORKERS_MAX)]),
      'auto',
      'threads that evaluate streams, each with its share of them and a store of its own; auto: one per core but one; 0: everything in the thread of the sockets',
    ),
    workerQueueBytes: field(
      count(),
      2 * 1024 ** 2,
      'with more than this on its way to a worker, its connections are not read from',
      'bytes',
    ),
    budgetMs: field(
      positive().nullable(),
      null,
      'a solve is cut after so much work; its report is then marked, and nothing of it is counted or alarmed upon; null: half of the time between two frames, shared with the other streams of its thread',
      'milliseconds',
    ),
    heavyMs: field(
      z.number().min(0),
      4,
      'a stream is heavy once a solve has needed more work than this; heavy streams share the time of their thread equally',
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
      2,
      'reading from sockets and work on frames give way to each other after this time',
      'milliseconds',
    ),
    tickMs: field(positive(), 50, 'how often deadlines of pairing are looked at', 'milliseconds'),
    unreadMaxMs: field(
      positive(),
      20_000,
      'nobody is late while frames of the stream may have come and not been read, for at most this long',
      'milliseconds',
    ),
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

export const logging = section(
  {
    level: field(
      z.enum(['debug', 'info', 'warn', 'error', 'silent']),
      'info',
      'least level that is written; one JSON object per line, to standard error',
    ),
  },
  'structured log',
);
