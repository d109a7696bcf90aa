/**
 * The verdict on a series: in which state it is, since when, and one sentence about it. What people must look at first
 * comes first. Pure: everything is handed in.
 */

import { type Finding, type FindingName, WIRING_MISTAKES } from '../../wire/findings.js';
import { duration } from '../kit/format.js';
import type { FeedSummary, IncidentState, StreamSummary } from './api.js';

/** In order of urgency. */
export const HEALTH = {
  broken: 'broken',
  worse: 'worse than usual',
  unmatched: 'never matched',
  silent: 'silent',
  suspended: 'suspended',
  waiting: 'waiting',
  fine: 'fine',
  ended: 'ended',
} as const;
export type Health = keyof typeof HEALTH;
export const HEALTH_ORDER = Object.keys(HEALTH) as Health[];

export interface HealthVerdict {
  health: Health;
  sentence: string;
  /** epoch milliseconds by the server's clock; 0: not known */
  sinceMs: number;
}

/** What is known about a series. */
export interface SeriesFacts {
  tracker: string;
  judged: boolean;
  ended: boolean;
  stream: StreamSummary | undefined;
  incident: IncidentState | undefined;
  /** of this tracker, or of the stream as a whole */
  findings: Finding[];
  /** signals that are worse than usual, with the time since when */
  spikes: Array<{ signal: string; sinceMs: number }>;
}

/** Findings under which every figure is about the wiring and not about the tracker. */
const MISFITS: ReadonlySet<string> = new Set<FindingName>([
  ...WIRING_MISTAKES,
  'feeds_never_match',
  'nothing_pairs',
  'mixed_keys',
  'reference_never_came',
  'tracker_never_came',
]);

export function verdictOf(known: SeriesFacts, ageMs: (serverMs: number) => number): HealthVerdict {
  const { stream, incident, findings, spikes } = known;
  if (stream?.suspended !== undefined) return { health: 'suspended', sentence: capital(stream.suspended), sinceMs: 0 };
  const misfit = findings.find(({ finding }) => MISFITS.has(finding));
  if (misfit) return { health: 'unmatched', sentence: capital(misfit.message), sinceMs: misfit.sinceMs };
  const silent = silence(known, ageMs);
  if (silent) return silent;
  if (incident) return incidentVerdict(incident);
  if (spikes.length > 0) {
    const signals = spikes.map(({ signal }) => signal).join(', ');
    return { health: 'worse', sentence: `More ${signals} than usual`, sinceMs: spikes[0].sinceMs };
  }
  return calm(known);
}

function incidentVerdict(incident: IncidentState): HealthVerdict {
  const grave = incident.severity === 'critical' && incident.lasting === null;
  const share = shareOf(incident);
  const sentence = `${capital(incident.message)}${share ? ` (${share})` : ''}`;
  return { health: grave ? 'broken' : 'worse', sentence, sinceMs: incident.sinceMs };
}

/** `missed 4 of 5` of the signal that concerns most. */
function shareOf({ signals }: IncidentState): string {
  const [worst] = signals
    .filter(({ over, of }) => !over && of !== undefined && of > 0)
    .sort((a, b) => b.concerned! / b.of! - a.concerned! / a.of!);
  return worst ? `${worst.signal} ${worst.concerned} of ${worst.of}` : '';
}

/** A feed that should be heard and is not. */
function silence({ stream, tracker }: SeriesFacts, ageMs: (serverMs: number) => number): HealthVerdict | null {
  const quiet = (feed: FeedSummary, who: string, what: string): HealthVerdict => ({
    health: 'silent',
    sentence: `${who} silent for ${duration(ageMs(feed.lastReceivedMs))}: ${what}`,
    sinceMs: feed.lastReceivedMs,
  });
  const reference = stream?.feeds.find(({ role }) => role === 'reference');
  if (reference?.silent) return quiet(reference, 'Reference', 'nothing can be judged');
  const own = stream?.feeds.find((feed) => feed.tracker === tracker);
  if (own?.silent) return quiet(own, 'Tracker', 'everything counts as missed');
  return null;
}

function calm({ ended, judged, stream }: SeriesFacts): HealthVerdict {
  const verdict = (health: Health, sentence: string): HealthVerdict => ({ health, sentence, sinceMs: 0 });
  if (!stream) return verdict('waiting', 'No data yet');
  if (stream.restoring) return verdict('waiting', 'Being rebuilt from the log');
  if (stream.resuming) return verdict('waiting', 'Waiting for its feeds to come back');
  if (ended) return verdict('ended', 'The feed has ended');
  if (!judged) return verdict('waiting', 'No frame judged yet');
  return verdict('fine', 'As usual');
}

const capital = (text: string) => (text ? text[0].toUpperCase() + text.slice(1) : text);
