/** The metrics of a feed: what it brought, and what was wrong with it. The tracker label of the reference is empty. */
import type { FeedId } from '../wire/feed.js';
import type { FeedMeter } from './meters.js';
import type { Labels, Sample, Sampled, Scrape } from './spec.js';

const FEED = ['stream', 'role', 'tracker'];

const labelsOf = ({ stream, role, tracker }: FeedId): Labels => ({ stream, role, tracker: tracker ?? '' });

const perFeed = (value: (meter: FeedMeter) => number | undefined) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const meter of meters.feeds.values()) {
      const sample = value(meter);
      if (sample !== undefined) yield [labelsOf(meter.feed), sample];
    }
  };

const perReason = (counts: (meter: FeedMeter) => ReadonlyMap<string, number>) =>
  function* ({ meters }: Scrape): Iterable<Sample> {
    for (const meter of meters.feeds.values())
      for (const [reason, count] of counts(meter)) yield [{ ...labelsOf(meter.feed), reason }, count];
  };

function* perFinding({ surroundings }: Scrape): Iterable<Sample> {
  for (const { stream, tracker, finding } of surroundings.findings())
    yield [{ stream, tracker: tracker ?? '', finding }, 1];
}

export const FEED_METRICS: readonly Sampled[] = [
  {
    name: 'tgospa_feed_frames_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Frames accepted from a feed since the process started; the label tracker is empty for an unnamed reference.',
    read: perFeed((m) => m.frames),
  },
  {
    name: 'tgospa_feed_objects_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Objects in the frames accepted from a feed.',
    read: perFeed((m) => m.objects),
  },
  {
    name: 'tgospa_feed_last_frame_timestamp_seconds',
    type: 'gauge',
    labels: FEED,
    help: 'When the last accepted frame of a feed arrived, in seconds since 1970; absent before the first one.',
    read: perFeed((m) => (m.lastReceivedMs > 0 ? m.lastReceivedMs / 1000 : undefined)),
  },
  {
    name: 'tgospa_feed_silent',
    type: 'gauge',
    labels: FEED,
    help: '1 while a feed is silent. A silent tracker counts as missing everything; while the reference is silent, nothing is judged.',
    read: perFeed((m) => Number(m.silent)),
  },
  {
    name: 'tgospa_frames_late_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Frames that arrived after their step had closed.',
    read: perFeed((m) => m.late),
  },
  {
    name: 'tgospa_frames_duplicate_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Frames that arrived twice: their sequence number was already stored, or the feed had already delivered that step.',
    read: perFeed((m) => m.duplicates),
  },
  {
    name: 'tgospa_frames_missing_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Steps that closed without data from the feed.',
    read: perFeed((m) => m.missing),
  },
  {
    name: 'tgospa_frames_gap_total',
    type: 'counter',
    ofProcess: true,
    labels: FEED,
    help: 'Steps that no feed delivered.',
    read: perFeed((m) => m.gaps),
  },
  {
    name: 'tgospa_frames_rejected_total',
    type: 'counter',
    ofProcess: true,
    labels: [...FEED, 'reason'],
    help: 'Rejected messages of a feed, by reject code.',
    read: perReason((m) => m.rejected),
  },
  {
    name: 'tgospa_objects_skipped_total',
    type: 'counter',
    ofProcess: true,
    labels: [...FEED, 'reason'],
    help: 'Objects left out of accepted frames because a value is missing or impossible, by the rule they break.',
    read: perReason((m) => m.skipped),
  },
  {
    name: 'tgospa_stream_finding',
    type: 'gauge',
    labels: ['stream', 'tracker', 'finding'],
    help: '1 while the feeds of a stream do not fit together, by finding; the label tracker is empty when the whole stream is concerned. The log, /v1/streams and /v1/events give the figures and the remedy.',
    read: perFinding,
  },
];
