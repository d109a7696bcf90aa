/** Every limit of the edge, and how far the settings of a hello may go. */
import { z } from 'zod';
import { count, field, nest, positive, section } from './fields.js';

/** What a stream may cost that nobody but its own client asked for. */
const hello = nest(
  field,
  {
    windowFrames: field(count(), 3000, 'longest sliding window', 'frames'),
    bufferFrames: field(count(), 8192, 'most parts that may wait for each other', 'frames'),
    idleMinutes: field(positive(), 1440, 'longest time without a frame', 'minutes'),
    profiles: field(count(), 8, 'most profiles', 'profiles'),
  },
  'the most a hello may ask for; the configuration itself may exceed these',
);

export const limits = section(
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
    connectionsPerToken: field(
      count(),
      2048,
      'of these, with one token; more are refused with HTTP 429',
      'connections',
    ),
    httpConnections: field(
      count(),
      2048,
      'idle HTTP connections, in the middle of a request or between two; beyond this the one that has been idle longest is closed',
      'connections',
    ),
    httpConnectionsPerAddress: field(count(), 1024, 'of these, from one address', 'connections'),
    requestsPerSecond: field(
      positive(),
      200,
      'HTTP requests from one address, and with one token, not counting health checks; more are refused with HTTP 429',
      'requests per second',
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
    streamsPerClient: field(
      count(),
      800,
      'streams opened with one token, or from one address if there are no tokens; more are refused and counted',
      'streams',
    ),
    newStreamsPerMinute: field(
      positive(),
      600,
      'streams that one such client may open per minute; more are refused and counted',
      'streams per minute',
    ),
    series: field(
      count(),
      5000,
      'combinations of stream, tracker and profile on /metrics; more are left out and counted',
      'series',
    ),
    trackersPerStream: field(count(), 8, 'trackers of one stream; more are refused and counted', 'trackers'),
    hello,
    creditFrames: field(
      count(),
      256,
      'frames a client may send without having received an ack; if it sends more, it is not read from until they are stored',
      'frames',
    ),
    unfinishedMs: field(
      positive(),
      500,
      'a frame split over several foreign messages counts as complete when no more have arrived for this long',
      'milliseconds',
    ),
    framesPerSecond: field(
      positive(),
      50_000,
      'per connection, with bursts of one second; a faster sender is not read from for a while',
      'frames per second',
    ),
    rejectsPerMinute: field(
      positive(),
      600,
      'rejected messages per connection; beyond this it is closed with 4429',
      'rejects per minute',
    ),
    helloTimeoutMs: field(
      positive(),
      5000,
      'a connection that has not sent a valid hello within this time is closed with 4408',
      'milliseconds',
    ),
    heartbeatMs: field(
      positive(),
      15_000,
      'time between pings; a peer that misses two of them is disconnected',
      'milliseconds',
    ),
    reconnectMaxMs: field(
      positive(),
      1500,
      'longest time a client waits before it reconnects, sent in the welcome; keep it below pairing.latenessMs',
      'milliseconds',
    ),
    backlogBytes: field(count(), 1024 ** 2, 'a feed that leaves this much unread is closed with 4008', 'bytes'),
    headerTimeoutMs: field(
      positive(),
      10_000,
      'the header of an HTTP request must arrive within this time',
      'milliseconds',
    ),
    httpTimeoutMs: field(positive(), 30_000, 'an HTTP request must arrive within this time', 'milliseconds'),
    liveShare: field(
      z.number().gt(0).max(1),
      0.15,
      'share of the time spent on subscribers of /v1/live while feeds keep the program busy; beyond it they get only the newest report of each series; 1: no limit',
    ),
    liveBufferBytes: field(
      count(),
      65_536,
      'a subscriber of /v1/live with more than this unsent gets only the newest report of each series',
      'bytes',
    ),
    liveEvents: field(
      count(),
      1000,
      'events that may wait for one subscriber; beyond this it is closed with 4008',
      'events',
    ),
    liveStallMs: field(
      positive(),
      30_000,
      'a subscriber that reads nothing for this long is closed with 4008',
      'milliseconds',
    ),
    pastFrames: field(count(), 600, 'past frames in one answer, besides those that fill its window', 'frames'),
    pastBytes: field(count(1024), 128 * 1024 ** 2, 'bytes of the log read for one answer', 'bytes'),
    pastReads: field(count(), 4, 'requests for past frames that may be queued; more are refused', 'requests'),
    trendFrames: field(
      count(),
      600,
      "frames of each series whose costs are kept for /v1/trend and the page's plots",
      'frames',
    ),
    recentEvents: field(count(), 1000, 'events kept for /v1/events', 'events'),
    stopMs: field(
      positive(),
      5000,
      'on SIGTERM, connections that have not closed within this time are dropped, and frames that are not judged by then are judged after the next start',
      'milliseconds',
    ),
  },
  'every limit of the edge',
);
