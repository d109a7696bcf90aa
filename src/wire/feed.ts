/**
 * A feed and the names it goes by: one source of frames of one stream, the reference or one of the trackers.
 */

/** Names of streams, trackers, profiles and tokens: may stand in a URL, a label and a log line without quoting. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/;
export const NAME_RULE = 'must be 1 to 64 letters, digits or . _ : / - and begin with a letter or digit';

export type Role = 'reference' | 'tracker';

/** One source of frames; `tracker` is null for the reference, and @ with its name for one of several. */
export interface FeedId {
  stream: string;
  role: Role;
  tracker: string | null;
}

/** The name of one of several references; no tracker has such a name. */
export const referenceName = (feed: string): string => `@${feed}`;
