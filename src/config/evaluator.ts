/** The machinery: the embedded store, the evaluation of frames, the log lines. */
import { z } from 'zod';
import { count, field, positive, section } from './fields.js';

export const data = section(
  {
    dir: field(
      z.string().min(1),
      'tgospa-data',
      'folder for the log, the snapshots and the event history; created if absent',
    ),
    maxBytes: field(
      count(1 << 20),
      4 * 1024 ** 3,
      'maximum size of the log; records covered by a snapshot are deleted first',
      'bytes',
    ),
    maxAgeHours: field(
      positive(),
      168,
      'records and events older than this are deleted once a snapshot covers them',
      'hours',
    ),
    groupCommitMs: field(
      z.number().min(0).max(1000),
      10,
      'frames that arrive within this time share one flush to disk and one ack',
      'milliseconds',
    ),
    commitBytes: field(count(), 256 * 1024, 'once this much has accumulated, it is flushed without waiting', 'bytes'),
    queueMaxBytes: field(
      count(),
      64 * 1024 ** 2,
      'no more is accepted while this much is waiting for the disk',
      'bytes',
    ),
    minFreeBytes: field(
      count(0),
      64 * 1024 ** 2,
      'nothing is accepted while the disk has less free space than this, or a twentieth of a small disk',
      'bytes',
    ),
    storageRetryMs: field(
      positive(),
      500,
      'while the disk is full, writes are retried at this interval; until then nothing is acked',
      'milliseconds',
    ),
    snapshotFrames: field(
      count(),
      1000,
      'a stream is snapshotted every so many frames; recovery replays at most this many',
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
      'threads that evaluate streams, each with its share of them and its own store; auto: one fewer than there are cores; 0: everything runs in the thread that serves the sockets',
    ),
    workerQueueBytes: field(
      count(),
      2 * 1024 ** 2,
      'while more than this is on its way to a worker, its connections are not read',
      'bytes',
    ),
    budgetMs: field(
      positive().nullable(),
      null,
      'a solve is stopped after this much work; its report is then marked, and is neither counted nor used for alerts; null: half of the time between two frames, shared with the other streams of the thread',
      'milliseconds',
    ),
    heavyMs: field(
      z.number().min(0),
      4,
      "a stream is heavy once a solve has needed more work than this; heavy streams share their thread's time equally",
      'milliseconds',
    ),
    auditEvery: field(
      count(0),
      0,
      'every n-th window of a series is solved again by the other engine, and any disagreement is counted; 0: never',
      'windows',
    ),
    sliceMs: field(
      positive(),
      2,
      'time slice after which reading sockets and evaluating frames yield to each other',
      'milliseconds',
    ),
    tickMs: field(positive(), 50, 'how often pairing deadlines are checked', 'milliseconds'),
    unreadMaxMs: field(
      positive(),
      20_000,
      'for at most this long, no feed counts as late while frames of its stream may have arrived but not been read',
      'milliseconds',
    ),
    idleCheckMs: field(positive(), 5000, 'how often to look for idle streams', 'milliseconds'),
    backlogFrames: field(
      count(),
      1024,
      'acks are held back while more stored frames than this are waiting to be evaluated',
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
      'lowest level that is logged; one JSON object per line, to standard error',
    ),
  },
  'structured log',
);
