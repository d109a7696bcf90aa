/** Events in words: who, when, how much; also as CSV. */
import type { SeriesId } from '../wire/series-key.js';
import type { EventMessage } from './data/api.js';
import { seriesLink } from './kit/addresses.js';
import { brief, count } from './kit/format.js';

/** Groups of events people filter by. */
export const KINDS = ['switch', 'spike', 'incident', 'finding', 'silence', 'rejected', 'other'] as const;
export type Kind = (typeof KINDS)[number];

export const kindOf = ({ type }: EventMessage): Kind => (KINDS.includes(type as Kind) ? (type as Kind) : 'other');

const feedOf = ({ role, tracker }: EventMessage) =>
  role === 'reference' || !tracker ? 'reference' : `tracker ${tracker}`;

/** One sentence about an event; kinds this page does not know are described by their own message. */
export function sentenceOf(event: EventMessage): string {
  const { type, message } = event;
  const text = (key: string) => String(event[key] ?? 'no track');
  if (type === 'switch')
    return `truth ${text('truth')}: ${text('from')} → ${text('to')}, ${count(Number(event.switches ?? 1))} switch`;
  if (type === 'silence') return `${feedOf(event)} ${event.over ? 'is back' : 'is silent'}`;
  if (type === 'resuming')
    return `stream ${event.over ? 'is no longer waiting for feeds' : 'is waiting for its feeds to come back'}`;
  if (type === 'spike') return spikeSentence(event);
  if (type === 'incident') return incidentSentence(event);
  if (type === 'finding') return event.phase === 'end' ? `${text('finding')} is over` : findingSentence(event);
  if (type === 'retired') return 'series retired: no frame for too long';
  if (type === 'quarantine')
    return `${event.suspended ? 'suspended: ' : ''}a frame could not be evaluated and was set aside: ${message}`;
  if (type === 'rejected' || type === 'skipped') return refusalSentence(event);
  if (type === 'gap' || type === 'missing') return absence(event);
  const times = event.count && event.count > 1 ? `${event.count} times: ` : '';
  return `${times}${message || [feedOf(event), event.code].filter(Boolean).join(': ')}`;
}

/** `faulty skipped 50 frames (920-969)`; `9 frames up to 969 did not arrive; counted as all missed`. */
function absence({ type, role, tracker, k, count: frames = 1, message = '' }: EventMessage): string {
  const who = role === 'reference' || !tracker ? 'the reference' : tracker;
  const several = `${frames} frame${frames === 1 ? '' : 's'}`;
  if (type === 'missing' && k !== undefined) {
    const which = frames === 1 ? `frame ${k}` : `${several} up to ${k}`;
    return role === 'reference'
      ? `${which} of the reference did not arrive; not judged`
      : `${which} did not arrive; counted as all missed`;
  }
  const skipped = / came after (\d+) skipped/.exec(message);
  if (!skipped || k === undefined) return message;
  // gaps that were added up are not one range
  const range = Number(skipped[1]) === frames ? ` (${frames === 1 ? k - 1 : `${k - frames}-${k - 1}`})` : '';
  return `${who} skipped ${several}${range}`;
}

const PHASES: Record<string, string> = { start: 'started', update: 'goes on', end: 'is over' };

/** `incident 3 goes on, adopted: late, it is late by 5 frames…`; a message that names its cause says it once. */
function incidentSentence({ id, phase, reason, cause, message = '' }: EventMessage): string {
  const how = reason === 'signals' || reason === 'diagnosis' ? '' : `, ${reason}`;
  const name = String(cause).replaceAll('_', ' ');
  const what = message.startsWith(name) ? message : `${name}, ${message}`;
  return `incident ${id} ${PHASES[String(phase)]}${how}: ${what}`;
}

const findingSentence = ({ finding, message, remedy }: EventMessage) => `${finding}: ${message}; ${remedy}`;

/** `12 times, tracker mine: objects[3].box[2] is 0; ...`, with the newest mistake. */
function refusalSentence(event: EventMessage): string {
  const times = event.count && event.count > 1 ? `${event.count} times, ` : '';
  const what = event.type === 'skipped' ? 'object left out: ' : '';
  return `${times}${feedOf(event)}: ${what}${event.message || event.code || 'refused'}`;
}

function spikeSentence(event: EventMessage): string {
  const { signal, phase, observed, expected, objects } = event;
  const what = `${String(signal ?? 'cost')} spike ${phase === 'end' ? 'ended' : phase === 'update' ? 'lasts' : 'started'}`;
  const figures =
    typeof observed === 'number' && typeof expected === 'number'
      ? `: ${brief(observed)}${signal === 'localization' ? '' : ' per frame'}, usual ${brief(expected)}`
      : '';
  const who = Array.isArray(objects) && objects.length > 0 ? ` (${objects.slice(0, 5).join(', ')})` : '';
  return `${what}${figures}${who}`;
}

/** Where an event can be seen; null when it belongs to no single series. */
export function linkOf(event: EventMessage, series: Iterable<SeriesId>): string | null {
  const { stream, tracker, profile, k } = event;
  if (tracker && profile) return seriesLink({ stream, tracker, profile }, { k });
  for (const one of series)
    if (one.stream === stream && (!tracker || one.tracker === tracker)) return seriesLink(one, { k });
  return null;
}

const CSV_COLUMNS = ['atMs', 'time', 'type', 'stream', 'tracker', 'profile', 'k', 'what'] as const;

export function csvOf(events: EventMessage[]): string {
  const cell = (value: unknown) => {
    const text = value == null ? '' : String(value);
    // a spreadsheet would run a cell that looks like a formula
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const row = (event: EventMessage) => {
    const time = event.atMs ? new Date(event.atMs).toISOString() : '';
    return [event.atMs, time, event.type, event.stream, event.tracker, event.profile, event.k, sentenceOf(event)]
      .map(cell)
      .join(',');
  };
  return `${[CSV_COLUMNS.join(','), ...events.map(row)].join('\r\n')}\r\n`;
}
