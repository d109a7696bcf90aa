/**
 * What people say about incidents over HTTP: a POST to /v1/incidents acknowledges or closes one, mutes streams for a
 * while, or ends a mute. It is written down before it is answered.
 */
import type { OpenIncident, Remark } from '../wire/incidents.js';
import { HttpFault } from './http-fault.js';
import type { IncidentPort, LivePort } from './live-port.js';
import { forbiddenStream, type Identity } from './peers/access.js';

interface ActionParts {
  live: LivePort;
  desk?: IncidentPort;
}

type Fields = Record<string, unknown>;
type Action = (body: Fields, parts: Required<ActionParts>, identity: Identity) => unknown;

const EXAMPLE =
  '{"action":"acknowledge","stream":"gate-7","tracker":"sort-v2","profile":"online-surveillance","id":3}; actions are acknowledge, close, mute (stream and tracker patterns, minutes) and unmute (id)';
const MINUTES_MAX = 60 * 24 * 30;
const NOTE_MAX = 500;

const remark =
  (action: Remark['action']): Action =>
  async (body, { live, desk }, identity) => {
    const incident = await openIncident(body, live);
    if (!identity.covers(incident.stream)) throw forbidden(identity, incident.stream);
    const made: Remark = { action, by: identity.name, atMs: live.now(), ...noteOf(body) };
    await desk.remark(incident, made);
    return { ...incident, remark: made };
  };

const mute: Action = async (body, { live, desk }, identity) => {
  const stream = textOf(body, 'stream');
  const tracker = body.tracker === undefined ? '*' : textOf(body, 'tracker');
  const { minutes } = body;
  if (typeof minutes !== 'number' || !(minutes > 0 && minutes <= MINUTES_MAX))
    throw invalid(`minutes must be a number above 0, at most ${MINUTES_MAX}`);
  // a pattern may match what the token is not good for
  if (!identity.coversAll && (stream.includes('*') || !identity.covers(stream))) throw forbidden(identity, stream);
  const nowMs = live.now();
  const wanted = { stream, tracker, untilMs: nowMs + minutes * 60_000, by: identity.name, ...noteOf(body) };
  const made = await desk.mute(wanted, nowMs);
  if (made) return made;
  throw new HttpFault('mutes_exceeded', 'too many mutes are in force; end one (unmute), or raise notify.mutesMax');
};

const unmute: Action = async (body, { desk, live }, identity) => {
  const found = desk.mutes(live.now()).find(({ id }) => id === body.id);
  if (!found) throw new HttpFault('not_found', `no mute has id ${JSON.stringify(body.id)}; /v1/incidents lists them`);
  if (!identity.coversAll && !identity.covers(found.stream)) throw forbidden(identity, found.stream);
  await desk.unmute(found.id);
  return found;
};

const ACTIONS: Record<string, Action> = { acknowledge: remark('acknowledge'), close: remark('close'), mute, unmute };

export function handleIncident({ live, desk }: ActionParts, body: unknown, identity: Identity): unknown {
  if (!desk) throw new HttpFault('not_found', 'this process keeps no incidents');
  if (typeof body !== 'object' || body === null) throw invalid('the body must be an object');
  const fields = body as Fields;
  const name = String(fields.action);
  if (!Object.hasOwn(ACTIONS, name)) throw invalid(`${JSON.stringify(fields.action)} is not an action`);
  return ACTIONS[name](fields, { live, desk }, identity);
}

async function openIncident(body: Fields, live: LivePort): Promise<OpenIncident> {
  const [stream, tracker, profile] = ['stream', 'tracker', 'profile'].map((key) => textOf(body, key));
  const open = (await live.streams()).flatMap((one) => one.incidents);
  const found = open.find((one) => one.stream === stream && one.tracker === tracker && one.profile === profile);
  if (!found || (body.id !== undefined && found.id !== body.id))
    throw new HttpFault('not_found', `no such incident is open on ${stream}; /v1/incidents lists them`);
  return found;
}

function textOf(body: Fields, key: string): string {
  const value = body[key];
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(`${key} must be a text`);
}

function noteOf({ note }: Fields): { note?: string } {
  return typeof note === 'string' && note !== '' ? { note: note.slice(0, NOTE_MAX) } : {};
}

const invalid = (message: string) => new HttpFault('request_invalid', `${message}; as in ${EXAMPLE}`);

const forbidden = (identity: Identity, stream: string) =>
  new HttpFault('stream_forbidden', forbiddenStream(identity, stream));
