/**
 * The key of a series in maps: its names in one text. It is put together once and then looked up: joining and hashing
 * the names anew took half a microsecond, for every report and every map.
 */

/** A tracker of a stream judged under one profile: what has a window, reports and Prometheus labels of its own. */
export interface SeriesId {
  stream: string;
  tracker: string;
  profile: string;
}

/** A moment of a series, by frame or by time (epoch milliseconds), and how many frames around it are wanted. */
export interface MomentQuery extends SeriesId {
  k?: number;
  atMs?: number;
  frames: number;
}

/** more are forgotten and made again */
const KEYS_MAX = 20_000;
let keys = new Map<string, Map<string, Map<string, string>>>();
let count = 0;

/** Names have no line breaks; what a series does not have is empty. */
export function seriesKey(stream: string, tracker: string, profile: string): string {
  return keys.get(stream)?.get(tracker)?.get(profile) ?? make(stream, tracker, profile);
}

function make(stream: string, tracker: string, profile: string): string {
  if (count++ === KEYS_MAX) {
    keys = new Map();
    count = 1;
  }
  const key = `${stream}\n${tracker}\n${profile}`;
  const trackers = keys.get(stream) ?? new Map<string, Map<string, string>>();
  keys.set(stream, trackers);
  const profiles = trackers.get(tracker) ?? new Map<string, string>();
  trackers.set(tracker, profiles);
  profiles.set(profile, key);
  return key;
}
