/**
 * Who is told about incidents straight away: Alertmanagers and webhooks. Secrets stay in the environment or in files of
 * their own.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SIGNALS } from '../spikes/signals.js';
import { type Context, count, faultOf, field, name, positive, section } from './fields.js';

/** What a receiver chooses from; it is told of other signals whatever it chose. */
export const RECEIVER_SIGNALS = SIGNALS;

const LABEL_PATTERN = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

const text = (description: string) => z.string().min(1).optional().meta({ description });

const patterns = () =>
  z.array(z.string().regex(/^[A-Za-z0-9._:/*-]+$/, 'must be a stream name; * matches any characters')).min(1);

const labels = () =>
  z.record(z.string().regex(LABEL_PATTERN, 'must be a label name: letters, digits and _'), z.string());

const receiver = (context: Context) =>
  z
    .strictObject({
      name: name().meta({ description: 'name of the receiver in metrics and logs' }),
      type: field(
        z.enum(['alertmanager', 'webhook']),
        'alertmanager',
        'alertmanager: its base URL, alerts go to /api/v2/alerts below it; webhook: gets what Alertmanager would send to a webhook (version 4)',
      ),
      url: text('http or https address; give url, urlEnv or urlFile'),
      urlEnv: text('environment variable that holds the address, if it is a secret'),
      urlFile: text('file that holds the address on its first line'),
      tokenEnv: text('environment variable that holds a bearer token for the receiver'),
      tokenFile: text('file that holds a bearer token on its first line'),
      streams: field(patterns(), ['*'], 'streams it is notified about; * matches any characters'),
      signals: field(z.array(z.enum(RECEIVER_SIGNALS)).min(1), [...RECEIVER_SIGNALS], 'signals it is notified about'),
      labels: field(labels(), {}, 'labels added to every alert, for routing'),
    })
    .superRefine((entry, issue) => {
      for (const [key, message] of receiverProblems(entry, context))
        issue.addIssue({ code: 'custom', path: [key], message });
    });

const group = z.strictObject({
  name: name().meta({ description: 'name of the group in alerts, such as a site or a camera model' }),
  streams: field(patterns(), ['*'], 'streams that belong to it; * matches any characters'),
  atLeast: field(count(2), 3, 'number of streams with incidents from which one alert is sent for all', 'streams'),
  share: field(z.number().gt(0).max(1), 0.5, "and at least this share of the group's streams"),
  labels: field(labels(), {}, 'labels added to the alerts of its streams, for routing'),
});

export const notify = (context: Context) =>
  section(
    {
      receivers: field(
        z
          .array(receiver(context))
          .max(16)
          .refine(
            (list) => new Set(list.map((one) => one.name)).size === list.length,
            'two receivers have the same name',
          ),
        [],
        'who is notified of incidents; empty: nobody, though they are still in the metrics and on /v1/live',
      ),
      pageUrl: field(
        z.url({ protocol: /^https?$/ }).nullable(),
        null,
        'address of the live page as seen by the reader of an alert; null: the address the evaluator listens on',
      ),
      runbookUrl: field(
        z.string().min(1),
        'dashboards/RUNBOOK.md',
        'address of your copy of the runbook, to which the name of the section is appended',
      ),
      dashboardUrl: field(
        z.url({ protocol: /^https?$/ }).nullable(),
        null,
        'address of the Grafana dashboard for one series, to which stream, tracker, profile and time are appended; null: no link',
      ),
      minimumMs: section(
        {
          missed: field(z.number().min(0), 3000, 'missed objects', 'milliseconds'),
          false: field(z.number().min(0), 10_000, 'false tracks', 'milliseconds'),
          switch: field(z.number().min(0), 10_000, 'switches', 'milliseconds'),
          localization: field(z.number().min(0), 10_000, 'localization error', 'milliseconds'),
          silence: field(z.number().min(0), 3000, 'a silent tracker', 'milliseconds'),
          wiring: field(z.number().min(0), 3000, 'feeds that do not fit together', 'milliseconds'),
          timing: field(z.number().min(0), 10_000, 'tracks that are late', 'milliseconds'),
        },
        "a notification is sent once one of the incident's signals has lasted this long, so that nobody is woken by a glitch",
      ),
      doubtMs: field(
        z.number().min(0),
        30_000,
        'a spike of missed objects that is still in doubt must have lasted this long; by then most are beyond doubt, or over',
        'milliseconds',
      ),
      resolveAfterMs: field(
        z.number().min(0),
        60_000,
        'an incident is reported as resolved this long after it ended; if it comes back sooner, nothing is sent',
        'milliseconds',
      ),
      remindMs: field(
        positive(),
        14_400_000,
        'a webhook is reminded of an open incident at this interval, unless it was acknowledged',
        'milliseconds',
      ),
      groups: field(
        z
          .array(group)
          .max(64)
          .refine((list) => new Set(list.map((one) => one.name)).size === list.length, 'two groups have the same name'),
        [{ name: 'all', streams: ['*'], atLeast: 5, share: 0.5, labels: {} }],
        'streams that fail together, by site or camera model: one alert for all of them, instead of one for each',
      ),
      repeatMs: field(
        positive(),
        60_000,
        'firing alerts are resent to an Alertmanager at this interval; keep it well below its resolve_timeout (5 minutes)',
        'milliseconds',
      ),
      timeoutMs: field(
        positive(),
        10_000,
        'a delivery that is not answered within this time has failed',
        'milliseconds',
      ),
      retryFirstMs: field(
        positive(),
        500,
        'a failed delivery is retried after this time, then after twice, four times… as long',
        'milliseconds',
      ),
      retryMaxMs: field(positive(), 60_000, 'and at least this often', 'milliseconds'),
      queueAlerts: field(
        count(),
        1000,
        'alerts that may wait for one receiver; beyond this the oldest are dropped and counted',
        'alerts',
      ),
      batchAlerts: field(count(), 64, 'alerts in one message', 'alerts'),
      mutesMax: field(count(), 1000, 'mutes in force at the same time; further ones are refused', 'mutes'),
      remarksMax: field(
        count(),
        1000,
        'incidents remembered as acknowledged or closed; beyond this the oldest is forgotten and a log line is written',
        'incidents',
      ),
    },
    'alerts straight from the evaluator, without Prometheus',
  );

type Entry = z.output<ReturnType<typeof receiver>>;

function receiverProblems(entry: Entry, context: Context): Array<[key: string, message: string]> {
  const problems: Array<[string, string]> = [];
  const given = (['url', 'urlEnv', 'urlFile'] as const).filter((key) => entry[key] !== undefined);
  if (given.length !== 1) return [['url', 'give exactly one of url, urlEnv and urlFile']];
  if (entry.tokenEnv !== undefined && entry.tokenFile !== undefined)
    problems.push(['tokenFile', 'give tokenEnv or tokenFile, not both']);
  if (!context.readText) return problems;
  const check = (key: string, action: () => unknown) => {
    const fault = faultOf(action);
    if (fault) problems.push([key, fault]);
  };
  check(given[0], () => checkUrl(urlOf(entry, context.env, context.readText!)));
  const tokenKey = entry.tokenEnv === undefined ? 'tokenFile' : 'tokenEnv';
  check(tokenKey, () => {
    const token = tokenOf(entry, context.env, context.readText!);
    // never quote the value: this message is logged
    if (token !== null && !/^[\x21-\x7e]+$/.test(token))
      throw new Error('does not hold a valid token: visible ASCII without spaces');
  });
  return problems;
}

function checkUrl(value: string): void {
  if (!URL.canParse(value)) throw new Error('is not an address; it must look like https://host/path');
  const { protocol, username, password } = new URL(value);
  if (protocol !== 'http:' && protocol !== 'https:') throw new Error('must begin with http:// or https://');
  if (username || password)
    throw new Error('contains a user name or password; use tokenEnv or tokenFile, or put the address into urlEnv');
}

type ReadText = (path: string) => string;

const envValue = (env: NodeJS.ProcessEnv, variable: string): string => {
  const value = env[variable];
  if (value === undefined)
    throw new Error(`environment variable ${variable} is not set; set it before the start, or name a file`);
  return value.trim();
};
const firstLine = (readText: ReadText, path: string) => readText(path).split('\n', 1)[0].trim();

function urlOf({ url, urlEnv, urlFile }: Entry, env: NodeJS.ProcessEnv, readText: ReadText): string {
  if (urlEnv !== undefined) return envValue(env, urlEnv);
  return urlFile === undefined ? url! : firstLine(readText, urlFile);
}

function tokenOf({ tokenEnv, tokenFile }: Entry, env: NodeJS.ProcessEnv, readText: ReadText): string | null {
  if (tokenEnv !== undefined) return envValue(env, tokenEnv);
  return tokenFile === undefined ? null : firstLine(readText, tokenFile);
}

/** A receiver with its secrets. */
export interface Receiver extends Pick<Entry, 'name' | 'type' | 'streams' | 'signals' | 'labels'> {
  url: string;
  token: string | null;
}

/** Reads the addresses and secrets of the receivers. */
export function notifyReceivers(config: { notify: { receivers: Entry[] } }, env = process.env): Receiver[] {
  const readText: ReadText = (path) => readFileSync(path, 'utf8');
  return config.notify.receivers.map((entry) => {
    const { name: called, type, streams, signals, labels } = entry;
    const url = urlOf(entry, env, readText);
    return { name: called, type, streams, signals, labels, url, token: tokenOf(entry, env, readText) };
  });
}

/** What must not appear in the log: tokens, and addresses that are kept apart from the configuration. */
export function notifySecrets(config: { notify: { receivers: Entry[] } }, env = process.env): string[] {
  return notifyReceivers(config, env).flatMap(({ url, token }, n) => [
    ...(config.notify.receivers[n].url === undefined ? [url] : []),
    ...(token === null ? [] : [token]),
  ]);
}
