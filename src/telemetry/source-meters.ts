/** What is counted about pull sources. A message touches plain numbers only. */

export type SourceKind = 'mqtt' | 'nats' | 'rosbridge' | 'tail';

/** Why a message of a source was given up before it reached a feed. */
export const SOURCE_REJECTS = ['payload_too_large', 'message_invalid', 'queue_full'] as const;
export type SourceReject = (typeof SOURCE_REJECTS)[number];

/** One source. */
export interface SourceMeter {
  source: string;
  kind: SourceKind;
  connected: boolean;
  /** a feed of it was refused for good: the log says why */
  refused: boolean;
  messages: number;
  bytes: number;
  /** connections that were lost or could not be made */
  faults: number;
  rejects: Record<SourceReject, number>;
  lastMs: number;
  /** messages fetched and not stored yet */
  waiting: () => number;
}

export const newSourceMeter = (source: string, kind: SourceKind): SourceMeter => ({
  source,
  kind,
  connected: false,
  refused: false,
  messages: 0,
  bytes: 0,
  faults: 0,
  rejects: Object.fromEntries(SOURCE_REJECTS.map((reason) => [reason, 0])) as SourceMeter['rejects'],
  lastMs: 0,
  waiting: () => 0,
});
