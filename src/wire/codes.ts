/**
 * Every code that leaves the server: of closed connections, of rejected messages, of refused HTTP requests. PROTOCOL.md
 * lists them for people, and a test holds the two together.
 */

/** Close codes, with whether a client should come back. 1002, 1007, 1008 and 1009 come from the WebSocket library. */
export const CLOSE_CODES = {
  1000: { retry: false, meaning: 'normal: the client closed, or the feed ended' },
  1001: { retry: true, meaning: 'the server is stopping; everything acked is kept' },
  1002: { retry: false, meaning: 'a violation of the WebSocket protocol' },
  1007: { retry: false, meaning: 'text that is not UTF-8' },
  1008: { retry: false, meaning: 'more fragments than limits.fragments, or more pieces than limits.bufferedChunks' },
  1009: { retry: false, meaning: 'a message larger than limits.payloadBytes' },
  1011: { retry: true, meaning: 'an internal error of the server; everything acked is kept' },
  1013: { retry: true, meaning: 'the stream is being recovered after a start; try again in a moment' },
  4008: { retry: true, meaning: 'the peer reads too slowly' },
  4400: {
    retry: false,
    meaning: 'the hello was wrong, or another message came first; the reject before it says what was wrong',
  },
  4403: { retry: false, meaning: 'the token is not valid for this stream' },
  4408: { retry: true, meaning: 'no hello within limits.helloTimeoutMs' },
  4409: { retry: true, meaning: 'another client holds this feed' },
  4410: { retry: false, meaning: 'another connection resumed this session' },
  4429: { retry: true, meaning: 'too many streams, trackers or rejects' },
} as const satisfies Record<number, { retry: boolean; meaning: string }>;

export type CloseCode = keyof typeof CLOSE_CODES;

/** Codes of `reject`; `close` is the close code that follows it, null when the connection goes on. */
export const REJECT_CODES = {
  json_invalid: { close: null, meaning: 'the message is not JSON' },
  message_invalid: {
    close: null,
    meaning: 'binary, not an object, of unknown type, or with a field that does not belong there',
  },
  hello_expected: { close: 4400, meaning: 'the first message was not a hello' },
  hello_invalid: { close: 4400, meaning: 'a field of the hello is missing, unknown or wrong' },
  hello_repeated: { close: null, meaning: 'a second hello on one connection' },
  hello_timeout: { close: 4408, meaning: 'no hello in time' },
  format_unknown: { close: 4400, meaning: 'no adapter and no configured format has this name' },
  options_invalid: { close: 4400, meaning: 'an option of the format is missing, unknown or wrong' },
  settings_invalid: {
    close: 4400,
    meaning: 'the stream settings of the hello contradict each other or the running stream, or go beyond limits.hello',
  },
  profile_missing: { close: 4400, meaning: 'points without a configured profile; the message gives the lines to add' },
  stream_forbidden: { close: 4403, meaning: 'the token is not valid for this stream' },
  feed_taken: { close: 4409, meaning: 'another client holds this feed' },
  streams_exceeded: {
    close: 4429,
    meaning: 'limits.streams, limits.streamsPerClient or limits.newStreamsPerMinute is reached',
  },
  trackers_exceeded: { close: 4429, meaning: 'limits.trackersPerStream is reached' },
  rejects_exceeded: { close: 4429, meaning: 'more rejects than limits.rejectsPerMinute' },
  frame_invalid: {
    close: null,
    meaning: 'a field of the frame is missing, unknown, of the wrong type or out of range',
  },
  id_duplicate: { close: null, meaning: 'the same id twice in one frame' },
  objects_exceeded: { close: null, meaning: 'more objects than limits.objects' },
  shape_mismatch: {
    close: null,
    meaning: 'points where the stream has boxes, boxes where it has points, or another number of coordinates',
  },
  frame_unfinished: { close: null, meaning: 'a frame that is spread over more messages than limits.creditFrames' },
  fault: { close: null, meaning: 'the server failed on this message and has set it aside; its log says why' },
  feed_ended: { close: null, meaning: 'a frame after end; say hello on a new connection to continue' },
} as const satisfies Record<string, { close: CloseCode | null; meaning: string }>;

export type RejectCode = keyof typeof REJECT_CODES;

/** Why an object is left out of its frame on a stream that is not strict. */
export const SKIP_RULES = {
  object_missing: 'null instead of an object',
  id_missing: 'no id, or null or an empty one',
  place_missing: 'neither a box nor a point',
  attribute_missing: 'null as class or confidence',
  coordinate_missing: 'null among the coordinates, which is how NaN is written in JSON',
  coordinate_impossible: 'a coordinate beyond 1e12, a latitude beyond 90 or a longitude beyond 360 degrees',
  size_impossible: 'a box whose width or height is not above 0',
  time_missing: 'a report without a time',
  report_invalid: 'a report with a mistake of kind, such as a number as id or text as a coordinate',
  report_repeated: 'a report for a time at which its object was already reported',
  report_ahead:
    'a report that is ahead of all other objects by more than reports.greatestGapMs; it is kept, but does not advance the time of the others. Set the clock of its sender',
  report_late: 'a report for a moment that has already been judged; raise pairing.latenessMs to accept such reports',
  ids_exceeded: 'a report of one object more than reports.idsMax; the object with the oldest report is forgotten',
} as const satisfies Record<string, string>;

export type SkipRule = keyof typeof SKIP_RULES;

/** Codes of refused HTTP requests and upgrades; the body is `{"code","message"}`. */
export const HTTP_CODES = {
  request_invalid: { status: 400, meaning: 'a query parameter is missing or wrong' },
  subprotocol_unknown: { status: 400, meaning: 'subprotocols are offered, but tgospa.v1 is not among them' },
  token_missing: { status: 401, meaning: 'tokens are configured and none was sent' },
  token_unknown: { status: 401, meaning: 'the token is not one of the configured ones' },
  role_forbidden: { status: 403, meaning: 'the token lacks the role ingest, read or operate' },
  stream_forbidden: { status: 403, meaning: 'the token is not valid for this stream, or not for all streams' },
  origin_forbidden: { status: 403, meaning: 'the page comes from an origin that is not in origins' },
  host_forbidden: { status: 403, meaning: 'the server was addressed by a host name that is not in listen.names' },
  not_found: { status: 404, meaning: 'no such address, stream, tracker or profile' },
  method_forbidden: { status: 405, meaning: 'not GET or HEAD, nor POST to /v1/incidents' },
  upgrade_expected: { status: 426, meaning: 'this address speaks WebSocket' },
  address_exceeded: { status: 429, meaning: 'limits.connectionsPerAddress is reached' },
  token_exceeded: { status: 429, meaning: 'limits.connectionsPerToken is reached' },
  requests_exceeded: { status: 429, meaning: 'more requests than limits.requestsPerSecond' },
  mutes_exceeded: { status: 429, meaning: 'there are already notify.mutesMax mutes' },
  fault: { status: 500, meaning: 'an internal error of the server' },
  connections_exceeded: { status: 503, meaning: 'limits.connections is reached' },
  not_stored: { status: 503, meaning: 'the brokers have not stored it in time; it may hold nevertheless' },
  recovering: { status: 503, meaning: 'the stream is being rebuilt from the log; ask again in a moment' },
  stopping: { status: 503, meaning: 'the server is stopping' },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type HttpCode = keyof typeof HTTP_CODES;
