/**
 * Where feeds come in: who may open one, and what has been accepted from each. What is accepted is ahead of what is
 * durable; after a fault of the disk the two are the same again, and the rest must be sent once more.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Config, pointProfileLines, resolveStream, type SettingsPatch } from '../config/config.js';
import type { LogRecord } from '../store/record.js';
import type { FeedInfo, StreamPlan } from '../stream/stream.js';
import type { FeedId } from '../wire/feed.js';
import type { Shape } from '../wire/objects.js';

/** A refused hello. */
export interface Refusal {
  code: string;
  path: string;
  message: string;
}

/** A feed as far as it was accepted. */
export interface OpenFeed {
  readonly id: FeedId;
  /** highest number accepted; a fraction within a foreign message */
  acceptedSeq: number;
  durableSeq: number;
  /** its hello is logged, or on its way */
  opened: boolean;
  openDurable: boolean;
  ended: boolean;
  /** resolves when everything accepted so far is durable */
  stored: Promise<void>;
  /** resolves when its end has taken effect */
  over: Promise<void>;
}

interface Entry {
  plan: StreamPlan;
  /** the log knows the plan */
  planDurable: boolean;
  feeds: Map<string, OpenFeed>;
}

const keyOf = (id: { tracker: string | null }) => id.tracker ?? '';

export class Entrance {
  readonly #entries = new Map<string, Entry>();
  /** feeds that had ended and said hello again */
  readonly #back = new Set<OpenFeed>();

  constructor(readonly config: Config) {}

  /** Admits a feed within the limits. A stream's settings are those of the configuration and of its first hello. */
  admit(id: FeedId, patch: SettingsPatch = {}, shape?: Shape): OpenFeed | Refusal {
    const entry = this.#entries.get(id.stream) ?? this.#newEntry(id.stream, patch);
    if ('code' in entry) return entry;
    const refusal = refuseShape(entry.plan, id.stream, shape) ?? refuseSettings(entry.plan.settings, patch);
    if (refusal) return refusal;
    const feed = entry.feeds.get(keyOf(id)) ?? this.#newFeed(entry, id);
    if ('code' in feed) return feed;
    this.#entries.set(id.stream, entry);
    entry.feeds.set(keyOf(id), feed);
    if (feed.ended) this.#back.add(feed);
    return feed;
  }

  /**
   * A part of this feed is about to be taken: feeds of its stream that had ended and are back begin anew; they must be
   * opened. A hello alone begins nothing, because its client may only want to know whether the end was heard.
   */
  goOn(feed: OpenFeed): OpenFeed[] {
    if (this.#back.size === 0) return [];
    const anew = [...this.#back].filter(({ id }) => id.stream === feed.id.stream);
    for (const one of anew) {
      this.#back.delete(one);
      Object.assign(one, { ended: false, opened: false, openDurable: false });
    }
    return anew;
  }

  /** It had ended, and has nothing more to say. */
  stayAway(feed: OpenFeed): void {
    this.#back.delete(feed);
  }

  /** How a stream that has feeds is judged. */
  planOf(stream: string): StreamPlan {
    return this.#entries.get(stream)!.plan;
  }

  find(id: FeedId): OpenFeed | undefined {
    return this.#entries.get(id.stream)?.feeds.get(keyOf(id));
  }

  /** The record that opens a feed; the first one of a stream brings the settings. */
  openRecord({ id }: OpenFeed, atMs: number): LogRecord {
    const { stream, role, tracker } = id;
    const { plan, planDurable } = this.#entries.get(stream)!;
    return { kind: 'open', stream, atMs, role, tracker, ...(planDurable ? {} : { settings: plan }) };
  }

  /** Follows a record that has become durable. */
  note(record: LogRecord): void {
    const entry = 'role' in record ? this.#entries.get(record.stream) : undefined;
    const feed = entry?.feeds.get(keyOf(record as { tracker: string | null }));
    if (!entry || !feed) return;
    if (record.kind === 'part') {
      feed.durableSeq = record.part.seq;
      feed.acceptedSeq = Math.max(feed.acceptedSeq, feed.durableSeq);
    } else if (record.kind === 'open') {
      feed.opened = feed.openDurable = entry.planDurable = true;
    } else if (record.kind === 'end') feed.ended = true;
  }

  /** What was accepted and is not durable is forgotten. */
  fallBack(): void {
    for (const { feeds } of this.#entries.values()) {
      for (const feed of feeds.values()) {
        feed.acceptedSeq = feed.durableSeq;
        feed.opened &&= feed.openDurable;
      }
    }
  }

  /** A tracker, or with null the stream, is no longer known; who goes on sending opens it anew. */
  forget(stream: string, tracker: string | null): void {
    for (const feed of this.#back)
      if (feed.id.stream === stream && (tracker === null || feed.id.tracker === tracker)) this.#back.delete(feed);
    if (tracker === null) this.#entries.delete(stream);
    else this.#entries.get(stream)?.feeds.delete(tracker);
  }

  /** Takes over a recovered stream. */
  restore(stream: { name: string; feeds(): FeedInfo[] }, plan: StreamPlan): void {
    const feeds = stream.feeds().map(({ role, tracker, seq, ended }) => {
      const id: FeedId = { stream: stream.name, role, tracker };
      return { ...newFeed(id), acceptedSeq: seq, durableSeq: seq, opened: true, openDurable: true, ended };
    });
    const entry = { plan, planDurable: true, feeds: new Map(feeds.map((feed) => [keyOf(feed.id), feed])) };
    this.#entries.set(stream.name, entry);
  }

  #newEntry(stream: string, patch: SettingsPatch): Entry | Refusal {
    const { streams } = this.config.limits;
    if (this.#entries.size >= streams) return exceeded('streams', 'stream', `${streams} streams are open`, streams);
    const resolved = resolveStream(this.config, stream, patch);
    if ('message' in resolved)
      return { code: 'settings_invalid', path: `settings.${resolved.path}`, message: resolved.message };
    return { plan: { ...resolved, patch }, feeds: new Map(), planDurable: false };
  }

  #newFeed(entry: Entry, id: FeedId): OpenFeed | Refusal {
    const { trackersPerStream } = this.config.limits;
    const trackers = [...entry.feeds.values()].filter((feed) => feed.id.role === 'tracker').length;
    return id.role === 'tracker' && trackers >= trackersPerStream
      ? exceeded('trackersPerStream', 'tracker', `stream ${id.stream} has ${trackers} trackers`, trackersPerStream)
      : newFeed(id);
  }
}

const newFeed = (id: FeedId): OpenFeed => ({
  id,
  acceptedSeq: 0,
  durableSeq: 0,
  opened: false,
  openDurable: false,
  ended: false,
  stored: Promise.resolve(),
  over: Promise.resolve(),
});

const exceeded = (limit: 'streams' | 'trackersPerStream', path: string, fact: string, most: number): Refusal => ({
  code: limit === 'streams' ? 'streams_exceeded' : 'trackers_exceeded',
  path,
  message: `${fact}; raise limits.${limit} (now ${most}), or wait until an idle one is retired`,
});

function refuseShape({ shape: expected, settings }: StreamPlan, stream: string, shape?: Shape): Refusal | null {
  if (shape === undefined || shape === expected) return null;
  const profiles = settings.profiles.join(', ');
  if (shape === 'box')
    return {
      code: 'settings_invalid',
      path: 'shape',
      message: `stream ${stream} is judged by ${profiles}, which compares points; send points, or configure a profile for boxes`,
    };
  return {
    code: 'profile_missing',
    path: 'stream',
    message: `points have no natural cut-off, and stream ${stream} is judged by ${profiles}, which compares boxes; add to tgospa.yaml, with your own numbers:\n${pointProfileLines(stream)}`,
  };
}

/** The first setting of a hello that differs from those the stream runs with. */
function refuseSettings(settings: object, patch: object, path = 'settings'): Refusal | null {
  for (const [key, wanted] of Object.entries(patch)) {
    if (wanted === undefined) continue;
    const place = `${path}.${key}`;
    const running = (settings as Record<string, unknown>)[key];
    const nested = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted);
    if (nested) {
      const inner = refuseSettings(running as object, wanted, place);
      if (inner) return inner;
    } else if (!isDeepStrictEqual(running, wanted)) {
      return {
        code: 'settings_invalid',
        path: place,
        message: `${place} is ${JSON.stringify(wanted)}, but the stream runs with ${JSON.stringify(running)}; leave it out, or use another stream name`,
      };
    }
  }
  return null;
}
