/**
 * A spike as an alert: labels, words and times as Alertmanager knows them, and the two messages that carry alerts:
 * what Alertmanager takes at /api/v2/alerts, and what it sends to webhooks (version 4).
 */
import { createHash } from 'node:crypto';
import type { SpikeEvent } from '../wire/events.js';

export interface Alert {
  /** of the spike's series and signal */
  key: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** ISO times; an alert without an end is firing */
  startsAt: string;
  endsAt?: string;
  generatorURL: string;
}

type Kind = { alertname: string; severity: string; what: string; unit: string };

/** The same names as those of dashboards/prometheus/rules.yml, so that routes and runbook serve both. */
const KINDS: Record<SpikeEvent['signal'], Kind> = {
  missed: {
    alertname: 'TrackerMissSpike',
    severity: 'critical',
    what: 'misses far more than usual',
    unit: 'missed objects per frame',
  },
  false: {
    alertname: 'TrackerFalseSpike',
    severity: 'warning',
    what: 'reports far more objects that are not there than usual',
    unit: 'false tracks per frame',
  },
  switch: {
    alertname: 'TrackerSwitchSpike',
    severity: 'warning',
    what: 'exchanges or breaks identities far more than usual',
    unit: 'track switches per frame',
  },
  localization: {
    alertname: 'TrackerLocalizationDrift',
    severity: 'warning',
    what: 'is less precise than usual',
    unit: 'mean localization error',
  },
};

export const keyOf = ({ stream, tracker, profile, signal }: SpikeEvent) =>
  `${stream}\n${tracker}\n${profile}\n${signal}`;

/** A spike that was adopted, or whose tracker is gone: still bad, less urgent, under another key. */
export const lastingKeyOf = (event: SpikeEvent) => `${keyOf(event)}\nlasting`;
export const isLasting = ({ phase, reason }: SpikeEvent) =>
  phase === 'update' && (reason === 'adopted' || reason === 'retired');
const LOWER: Record<string, string> = { critical: 'warning', warning: 'info' };

const WHY: Record<NonNullable<SpikeEvent['why']>, string> = {
  worse: '',
  never_matched: 'Nothing has ever matched. ',
  mostly_missed: 'More objects are missed than found. ',
  objective: 'The objective of the stream is not met. ',
};

/** The alert of a spike that has begun, or lasts. */
export function alertOf(event: SpikeEvent, extra: Record<string, string>, pageUrl: string): Alert {
  const { stream, tracker, profile, signal } = event;
  const { alertname, severity, what } = KINDS[signal];
  const lasting = isLasting(event);
  return {
    key: lasting ? lastingKeyOf(event) : keyOf(event),
    labels: {
      ...extra,
      alertname,
      severity: lasting ? LOWER[severity] : severity,
      by: 'evaluator',
      stream,
      tracker,
      profile,
      signal,
    },
    annotations: {
      summary: `Tracker ${tracker} of ${stream} ${lasting ? `still ${what}` : what}.`,
      description: descriptionOf(event),
      runbook_url: `dashboards/RUNBOOK.md#${alertname.toLowerCase()}`,
    },
    startsAt: new Date(event.atMs ?? 0).toISOString(),
    generatorURL: `${pageUrl}#/s/${[stream, tracker, profile].map(encodeURIComponent).join('/')}`,
  };
}

function descriptionOf(event: SpikeEvent): string {
  const { signal, profile, k, at, expected, observed, objects, concerned, of, since, why, reason } = event;
  const share = of && concerned !== undefined ? ` (${concerned} of ${of} objects)` : '';
  const still =
    reason === 'adopted' ? 'Still so, and learned by now. ' : reason === 'retired' ? 'The tracker is gone. ' : '';
  const named = objects.length > 0 ? `; concerned: ${objects.join(', ')}` : '';
  const clock = since === undefined ? '' : ` ${new Date(since * 1000).toISOString().slice(0, 19)}Z,`;
  return `${still}${why ? WHY[why] : ''}${KINDS[signal].unit}: ${number(observed)}${share} where ${number(expected)} is usual (profile ${profile}). Since${clock} frame ${k}, known at frame ${at}${named}.`;
}

/** The same alert when it is over. */
export const resolved = (alert: Alert, atMs: number): Alert => ({ ...alert, endsAt: new Date(atMs).toISOString() });

const number = (value: number) => String(Number(value.toPrecision(3)));

/** For POST /api/v2/alerts. Without an end, Alertmanager lets an alert end after its resolve_timeout. */
export const alertmanagerMessage = (alerts: Alert[]): unknown =>
  alerts.map(({ labels, annotations, startsAt, endsAt, generatorURL }) => ({
    labels,
    annotations,
    startsAt,
    ...(endsAt === undefined ? {} : { endsAt }),
    generatorURL,
  }));

/** What a webhook of Alertmanager gets. All alerts are of one stream and tracker, which they are grouped by. */
export function webhookMessage(receiver: string, alerts: Alert[], pageUrl: string): unknown {
  const { stream, tracker } = alerts[0].labels;
  return {
    version: '4',
    groupKey: `{}:{stream=${JSON.stringify(stream)}, tracker=${JSON.stringify(tracker)}}`,
    truncatedAlerts: 0,
    status: alerts.some(({ endsAt }) => endsAt === undefined) ? 'firing' : 'resolved',
    receiver,
    groupLabels: { stream, tracker },
    commonLabels: common(alerts.map(({ labels }) => labels)),
    commonAnnotations: common(alerts.map(({ annotations }) => annotations)),
    externalURL: pageUrl,
    alerts: alerts.map(({ labels, annotations, startsAt, endsAt, generatorURL }) => ({
      status: endsAt === undefined ? 'firing' : 'resolved',
      labels,
      annotations,
      startsAt,
      // so does Alertmanager say that there is none
      endsAt: endsAt ?? '0001-01-01T00:00:00Z',
      generatorURL,
      fingerprint: fingerprint(labels),
    })),
  };
}

const common = (lists: Record<string, string>[]): Record<string, string> =>
  Object.fromEntries(Object.entries(lists[0]).filter(([key, value]) => lists.every((list) => list[key] === value)));

/** Sixteen hexadecimal digits, the same for the same labels. */
function fingerprint(labels: Record<string, string>): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
}
