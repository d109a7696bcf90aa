/** What the thread with the sockets and a worker say to each other. Everything here is plain data, sent in order. */
import type { Config } from '../config/config.js';
import type { FeedRefusal } from '../edge/feeds/feed-port.js';
import type { SharedClock } from '../live/clock.js';
import type { SentEvent, SentReport } from '../stream/sent-event.js';
import type { CloseCode } from '../wire/codes.js';
import type { MomentQuery } from '../wire/series-key.js';

/** What a worker starts with. */
export interface WorkerSetup {
  config: Config;
  clock: SharedClock;
  /** bytes of messages that it has read so far, for the one who sends them */
  read: BigInt64Array;
}

/** A connection of a feed that is known to be for this worker. */
export interface OpenedConnection {
  connection: number;
  address: string;
  /** whose token it has, and whether that is good for the stream of its hello */
  identity: { name: string; token: boolean; covers: boolean };
  /** of its hello; empty where that is not known */
  stream: string;
  /** why it may not be a new one */
  ifNew?: FeedRefusal;
}

/** Questions to a worker, with what it is asked about. */
export interface Questions {
  streams: [];
  /** which of these it does not have */
  unknown: [streams: string[]];
  reports: [];
  window: [stream: string, tracker: string, profile: string];
  moment: [wanted: MomentQuery];
  recentEvents: [stream: string | undefined];
  trends: [series: { stream?: string; tracker?: string; profile?: string }, points: number];
  rates: [series: { stream?: string; tracker?: string; profile?: string }];
  storage: [];
  health: [];
  readings: [];
  quiesce: [];
  stop: [];
}

export type ToWorker =
  | { type: 'messages'; bytes: Uint8Array; atMs: number }
  | ({ type: 'open' } & OpenedConnection)
  | { type: 'binary'; connection: number; byteCount: number }
  | { type: 'closed'; connection: number }
  | { type: 'ask'; ask: number; question: keyof Questions; about: unknown[] }
  /** everything that had come when it asked was sent before this, but for these connections */
  | { type: 'readAll'; held: number[] }
  | { type: 'readReports'; wanted: boolean }
  | { type: 'liftBackpressure' }
  | { type: 'closeFeeds' };

/** So many messages of a connection were handled; whether nothing waits but what is held for the rest of its frame. */
export interface Handled {
  messages: number;
  onlyHeld: boolean;
}

/** What a worker says to the peer of a connection. */
export type ToPeer =
  /** with how far its connection was then */
  | { type: 'send'; connection: number; text: string; handled?: Handled }
  | { type: 'close'; connection: number; code: CloseCode; reason: string; patienceMs?: number }
  | { type: 'pause' | 'resume'; connection: number };

export type FromWorker =
  | { type: 'started' }
  | { type: 'failed'; code?: string; message: string }
  | { type: 'recovered' }
  | { type: 'toPeers'; messages: ToPeer[] }
  | { type: 'events'; events: SentEvent[] }
  | { type: 'restored'; reports: SentReport[]; unseen: boolean }
  /** streams that are there from now on, that are gone, and that a hello asked for in vain */
  | { type: 'streams'; opened: string[]; gone: string[]; released: string[] }
  | { type: 'answer'; ask: number; value?: unknown; error?: string }
  | { type: 'readAll' }
  | { type: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; event: string; fields?: Record<string, unknown> };
