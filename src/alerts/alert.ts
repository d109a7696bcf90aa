/**
 * An incident as an alert: labels, words and times as Alertmanager knows them; many of a group as one; and the two
 * messages that carry alerts: what Alertmanager takes at /api/v2/alerts, and what it sends to webhooks (version 4).
 */
import { createHash } from 'node:crypto';
import type { IncidentSignal, IncidentSignalName, OpenIncident, Severity } from '../wire/incidents.js';
import { seriesKey } from '../wire/series-key.js';

export interface Alert {
  /** of its series or group, its name and severity: what an Alertmanager would tell it from others by */
  key: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** ISO times; an alert without an end is firing */
  startsAt: string;
  endsAt?: string;
  generatorURL: string;
  /** nobody knows yet whether the receiver has heard of it */
  unsure?: true;
}

/** Addresses that stand in alerts. */
export interface Links {
  page: string;
  runbook: string;
  /** of the dashboard of a series; null: none */
  dashboard: string | null;
}

type Kind = { alertname: string; what: string; unit: string };

/** The names are those of dashboards/prometheus/rules.yml, so that routes and runbook serve both; the first counts. */
const KINDS: Record<IncidentSignalName, Kind> = {
  silence: { alertname: 'TrackerSilent', what: 'is silent', unit: '' },
  wiring: { alertname: 'TrackerNeverMatches', what: 'does not fit its reference', unit: '' },
  missed: { alertname: 'TrackerMissSpike', what: 'misses far more than usual', unit: 'Missed objects per frame' },
  false: {
    alertname: 'TrackerFalseSpike',
    what: 'reports far more objects that are not there than usual',
    unit: 'False tracks per frame',
  },
  switch: {
    alertname: 'TrackerSwitchSpike',
    what: 'exchanges or breaks identities far more than usual',
    unit: 'Track switches per frame',
  },
  localization: {
    alertname: 'TrackerLocalizationDrift',
    what: 'is less precise than usual',
    unit: 'Mean localization error',
  },
  timing: { alertname: 'TrackerLocalizationDrift', what: 'is late', unit: '' },
};
const ORDER = Object.keys(KINDS) as IncidentSignalName[];
const GROUP_ALERT = 'TrackerGroupIncident';
const STREAMS_NAMED = 10;

/** The signals of an incident that are not over, the most urgent first; all of them when all are. */
function tellingSignals({ signals }: OpenIncident): IncidentSignal[] {
  const active = signals.filter(({ over }) => !over);
  const told = active.length > 0 ? active : signals;
  return [...told].sort((a, b) => ORDER.indexOf(a.signal) - ORDER.indexOf(b.signal));
}

/** The alert of an incident. */
export function alertOf(incident: OpenIncident, extra: Record<string, string>, links: Links): Alert {
  const { stream, tracker, profile, severity, lasting, cause, message, sinceMs, k } = incident;
  const [leading] = tellingSignals(incident);
  const { alertname } = KINDS[leading.signal];
  const known = cause === 'unknown' ? '' : `: ${message}`;
  const path = [stream, tracker, profile].map(encodeURIComponent).join('/');
  const moment = `${links.page}#/s/${path}?k=${k}`;
  return {
    key: `${seriesKey(stream, tracker, profile)}\n${alertname}\n${severity}`,
    labels: { ...extra, alertname, severity, by: 'evaluator', stream, tracker, profile, signal: leading.signal },
    annotations: {
      summary: `Tracker ${tracker} of ${stream} ${lasting ? 'still ' : ''}${whatOf(leading)} since ${clock(sinceMs)}${known}.`,
      description: `${descriptionOf(incident)} The moment: ${moment}`,
      cause,
      runbook_url: `${links.runbook}#${alertname.toLowerCase()}`,
      ...dashboardOf(incident, links),
    },
    startsAt: new Date(sinceMs).toISOString(),
    generatorURL: moment,
  };
}

/** What is wrong, with the number of objects where it is known: 18 of 20. */
function whatOf({ signal, concerned, of }: IncidentSignal): string {
  if (!of || !concerned) return KINDS[signal].what;
  if (signal === 'missed') return `misses ${concerned} of ${of} objects`;
  return signal === 'false' ? `reports ${concerned} objects that are not there, of ${of}` : KINDS[signal].what;
}

function dashboardOf(
  { stream, tracker, profile, sinceMs }: OpenIncident,
  { dashboard }: Links,
): { dashboard_url?: string } {
  if (dashboard === null) return {};
  const url = new URL(dashboard);
  for (const [key, value] of Object.entries({ stream, tracker, profile })) url.searchParams.set(`var-${key}`, value);
  url.searchParams.set('from', String(Math.round(sinceMs) - 300_000));
  return { dashboard_url: url.href };
}

/** As people say it, for a page at night: 14:02:11 UTC on 2026-11-17. */
export function clock(ms: number): string {
  const text = new Date(ms).toISOString();
  return `${text.slice(11, 19)} UTC on ${text.slice(0, 10)}`;
}

/** Sentences: what lasts, why, how much, since when, how often, who. */
function descriptionOf(incident: OpenIncident): string {
  const { profile, k, sinceMs, lasting, message, cause, times } = incident;
  const telling = tellingSignals(incident);
  const named = [...new Set(telling.flatMap(({ objects }) => objects))].slice(0, 20);
  return [
    lasting === 'adopted' ? `Still bad since ${clock(sinceMs)}, and by now learned as normal.` : '',
    lasting === 'retired' ? `The tracker is gone; it was bad since ${clock(sinceMs)}.` : '',
    cause === 'unknown' ? 'No single cause explains it so far.' : `Likely cause: ${message}.`,
    ...telling.flatMap(figuresOf),
    `It began at ${clock(sinceMs)}, frame ${k} (profile ${profile}).`,
    times > 1 ? `It has come back; this is occurrence ${times}.` : '',
    named.length > 0 ? `Affected: ${named.join(', ')}.` : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function figuresOf({ signal, observed, expected, expectedNow, concerned, of }: IncidentSignal): string[] {
  const { unit } = KINDS[signal];
  if (unit === '') return [];
  const share = of && concerned !== undefined ? ` (${concerned} of ${of} objects)` : '';
  const now = expectedNow === undefined ? '' : `, ${number(expectedNow)} by now`;
  return [`${unit}: ${number(observed)}${share} where ${number(expected)} is usual${now}.`];
}

const number = (value: number) => String(Number(value.toPrecision(3)));

const WEIGHT: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };

/** Many incidents of a group of streams as one alert. */
export function groupAlertOf(
  group: { name: string; labels: Record<string, string> },
  members: readonly OpenIncident[],
  streams: number,
  extra: Record<string, string>,
  links: Links,
): Alert {
  const failing = [...new Set(members.map(({ stream }) => stream))].sort();
  const causes = new Map<string, number>();
  for (const { cause } of members) causes.set(cause, (causes.get(cause) ?? 0) + 1);
  const worst = members.reduce((most, one) => (WEIGHT[one.severity] > WEIGHT[most.severity] ? one : most));
  const byCause = [...causes].sort((a, b) => b[1] - a[1]).map(([cause, count]) => `${count} ${cause}`);
  const more = failing.length > STREAMS_NAMED ? ` and ${failing.length - STREAMS_NAMED} more` : '';
  const since = Math.min(...members.map(({ sinceMs }) => sinceMs));
  return {
    key: `group\n${group.name}`,
    // the severity of the worst when it began would make it another alert whenever that changes
    labels: {
      ...extra,
      ...group.labels,
      alertname: GROUP_ALERT,
      severity: 'critical',
      by: 'evaluator',
      group: group.name,
    },
    annotations: {
      summary: `${failing.length} of ${streams} streams of ${group.name} are in trouble: ${byCause.join(', ')}.`,
      description: `Since ${clock(since)}, worst ${worst.severity}: ${failing.slice(0, STREAMS_NAMED).join(', ')}${more}. Look for what they have in common.`,
      runbook_url: `${links.runbook}#${GROUP_ALERT.toLowerCase()}`,
    },
    startsAt: new Date(since).toISOString(),
    generatorURL: links.page,
  };
}

/** The same alert when it is over. */
export const resolved = (alert: Alert, atMs: number): Alert => ({ ...alert, endsAt: new Date(atMs).toISOString() });

/** For POST /api/v2/alerts. Without an end, Alertmanager lets an alert end after its resolve_timeout. */
export const alertmanagerMessage = (alerts: Alert[]): unknown =>
  alerts.map(({ labels, annotations, startsAt, endsAt, generatorURL }) => ({
    labels,
    annotations,
    startsAt,
    ...(endsAt === undefined ? {} : { endsAt }),
    generatorURL,
  }));

/** What alerts to webhooks are grouped by: a stream and tracker, or a group. */
export const groupLabelsOf = ({ labels: { stream, tracker, group, alertname } }: Alert): Record<string, string> =>
  alertname === GROUP_ALERT ? { group } : { stream, tracker };

/** What a webhook of Alertmanager gets. All alerts have the same group labels. */
export function webhookMessage(receiver: string, alerts: Alert[], pageUrl: string): unknown {
  const groupLabels = groupLabelsOf(alerts[0]);
  const named = Object.entries(groupLabels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return {
    version: '4',
    groupKey: `{}:{${named.join(', ')}}`,
    truncatedAlerts: 0,
    status: alerts.some(({ endsAt }) => endsAt === undefined) ? 'firing' : 'resolved',
    receiver,
    groupLabels,
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
