/**
 * The wire contract of `tgospa.v1`: messages, close codes and error codes. PROTOCOL.md is its page for people.
 * Everything that leaves the validators of this file is typed and finite; nothing behind the edge checks it again.
 */
import type { Box } from './tgospa/evaluation.js';

export type Role = 'reference' | 'tracker';

/** One source of frames; `tracker` is null for the reference. */
export interface FeedId {
  stream: string;
  role: Role;
  tracker: string | null;
}

/** One object as it came over the wire: exactly one of `box` and `point`. */
export interface WireObject {
  id: string;
  box?: Box;
  point?: number[];
  class?: string;
  confidence?: number;
}

/** One feed's objects at one step, validated; at least one of `k` (frame number) and `t` (epoch seconds). */
export interface FramePart {
  seq: number;
  k?: number;
  t?: number;
  objects: WireObject[];
}

/** Whether the objects of a stream are boxes or points. */
export type Shape = 'box' | 'point';

/** Names of streams, trackers, profiles and tokens: may stand in a URL, a label and a log line without quoting. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/;
export const NAME_RULE = 'must be 1 to 64 letters, digits or . _ : / - and begin with a letter or digit';
