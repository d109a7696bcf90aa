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
  'what a hello may ask for at most; the configuration itself may go beyond',
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
      'connections that wait with half a request or between two; one more closes the one that has waited longest',
      'connections',
    ),
    httpConnectionsPerAddress: field(count(), 1024, 'of these, from one address', 'connections'),
    requestsPerSecond: field(
      positive(),
      200,
      'HTTP requests of one address, and of one token, besides those for health; more are refused with HTTP 429',
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
      'streams opened with one token, or by one address where there are no tokens; more are refused and counted',
      'streams',
    ),
    newStreamsPerMinute: field(
      positive(),
      600,
      'streams that one such client may open in a minute; more are refused and counted',
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
      'frames a client may have sent without an ack; one that sends more is not read from until they are stored',
      'frames',
    ),
    unfinishedMs: field(
      positive(),
      500,
      'a frame that comes in several foreign messages counts as complete when no more came for this long',
      'milliseconds',
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
    reconnectMaxMs: field(
      positive(),
      1500,
      'longest wait of a client before it tries to come back, told in the welcome; keep it below pairing.latenessMs',
      'milliseconds',
    ),
    backlogBytes: field(
      count(),
      1024 ** 2,
      'a feed that lets this much of what it is sent pile up unread is closed with 4008',
      'bytes',
    ),
    headerTimeoutMs: field(
      positive(),
      10_000,
      'the header of an HTTP request must have arrived by then',
      'milliseconds',
    ),
    httpTimeoutMs: field(positive(), 30_000, 'an HTTP request must have arrived by then', 'milliseconds'),
    liveShare: field(
      z.number().gt(0).max(1),
      0.15,
      'share of the time that goes to subscribers of /v1/live while feeds keep the program busy; beyond it all of them get only the newest report of each series; 1: as much as they can take',
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
      'events waiting for one subscriber; one that has more waiting is closed with 4008',
      'events',
    ),
    liveStallMs: field(
      positive(),
      30_000,
      'a subscriber that takes nothing for this long is closed with 4008',
      'milliseconds',
    ),
    pastFrames: field(count(), 600, 'frames of the past in one answer, besides those that fill its window', 'frames'),
    pastBytes: field(count(1024), 128 * 1024 ** 2, 'of the log that are read for it', 'bytes'),
    pastReads: field(count(), 4, 'requests for the past that may wait for each other; more are refused', 'requests'),
    trendFrames: field(
      count(),
      600,
      'frames of each series whose costs are kept for /v1/trend and the plots of the page',
      'frames',
    ),
    recentEvents: field(count(), 1000, 'events kept for /v1/events', 'events'),
    stopMs: field(positive(), 5000, 'on SIGTERM, connections that have not closed by then are cut', 'milliseconds'),
  },
  'every limit of the edge',
);
