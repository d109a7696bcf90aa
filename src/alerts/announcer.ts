/**
 * What receivers should know at a moment: the alerts of incidents that have lasted for a while, of groups of streams
 * that fail together, and of incidents that were over only just now. Deliveries compare that with what they have told,
 * so that a restart, a mute or a group needs no case of its own. An alert that is `quiet` is not told anew, and not
 * taken back either.
 */
import { type Config, matchesPattern } from '../config/config.js';
import type { IncidentEvent, IncidentSignal, OpenIncident } from '../wire/incidents.js';
import { seriesKey } from '../wire/series-key.js';
import { type Alert, alertOf, groupAlertOf, type Links } from './alert.js';
import type { IncidentDesk } from './incident-desk.js';

/** An alert that receivers should know of. */
export interface Wanted {
  alert: Alert;
  /** of these incidents */
  incidents: readonly OpenIncident[];
  quiet: boolean;
  /** somebody looks after it: no reminders */
  acknowledged: boolean;
}

interface Known {
  incident: OpenIncident;
  /** when it was heard of, and when it ended; epoch milliseconds */
  knownMs: number;
  endedMs: number | null;
}

export type NotifySettings = Config['notify'];
type Group = NotifySettings['groups'][number];

export class Announcer {
  readonly #incidents = new Map<string, Known>();
  /** groups whose alert is out: it stays until all of their incidents are over */
  readonly #failing = new Set<string>();

  constructor(
    readonly settings: NotifySettings,
    readonly desk: IncidentDesk,
    /** names of all streams */
    readonly streams: () => readonly string[],
  ) {}

  /** An incident that was open at the start. */
  restore(incident: OpenIncident): void {
    this.#incidents.set(keyOf(incident), { incident, knownMs: Number.NEGATIVE_INFINITY, endedMs: null });
  }

  observe(event: IncidentEvent, nowMs: number): void {
    const { type: _type, phase, reason: _reason, n: _n, atMs = nowMs, t: _t, ...incident } = event;
    const key = keyOf(incident);
    const known = this.#incidents.get(key);
    if (phase === 'end') {
      if (known) this.#incidents.set(key, { ...known, endedMs: atMs });
      return;
    }
    if (phase === 'start' && incident.times === 1) this.desk.forget(incident, atMs);
    // what comes back before it was taken back has never gone
    const knownMs = known ? known.knownMs : atMs;
    this.#incidents.set(key, { incident, knownMs, endedMs: null });
  }

  /** For one receiver: `wants` chooses, `labels` are added. */
  wanted(
    wants: (incident: OpenIncident) => boolean,
    labels: Record<string, string>,
    links: Links,
    nowMs: number,
  ): Wanted[] {
    this.#forgetOld(nowMs);
    const told = [...this.#incidents.values()].filter(({ incident }) => wants(incident) && !this.#isClosed(incident));
    const due = told.filter((known) => this.#isDue(known, nowMs));
    const groups = this.#failingGroups(told, due);
    const inhibited = new Set(groups.flatMap(({ members }) => members));
    const single = due.map(({ incident }): Wanted => {
      const own = Object.assign({}, ...this.#groupsOf(incident).map((group) => group.labels), labels);
      return {
        alert: alertOf(incident, own, links),
        incidents: [incident],
        quiet: inhibited.has(incident) || this.desk.isMuted(incident, nowMs),
        acknowledged: this.desk.remarkOn(incident)?.action === 'acknowledge',
      };
    });
    const many = groups.map(
      ({ group, members, streams }): Wanted => ({
        alert: groupAlertOf(group, members, streams, labels, links),
        incidents: members,
        quiet: members.every((one) => this.desk.isMuted(one, nowMs)),
        acknowledged: members.every((one) => this.desk.remarkOn(one)?.action === 'acknowledge'),
      }),
    );
    return [...many, ...single];
  }

  #isClosed(incident: OpenIncident): boolean {
    return this.desk.remarkOn(incident)?.action === 'close';
  }

  /** One of its signals has lasted for as long as it must. */
  #isDue({ incident, knownMs, endedMs }: Known, nowMs: number): boolean {
    const active = incident.signals.filter(({ over }) => !over || endedMs !== null);
    const least = Math.min(...active.map((signal) => this.#minimumMs(signal)));
    return (endedMs ?? nowMs) - knownMs >= least;
  }

  /** What will wake somebody once it is beyond doubt waits for that: otherwise it is told of twice, and taken back. */
  #minimumMs({ signal, certain }: IncidentSignal): number {
    const { minimumMs, doubtMs } = this.settings;
    return signal === 'missed' && certain === false ? Math.max(minimumMs.missed, doubtMs) : minimumMs[signal];
  }

  #forgetOld(nowMs: number): void {
    for (const [key, known] of this.#incidents)
      if (known.endedMs !== null && nowMs - known.endedMs >= this.settings.resolveAfterMs) this.#incidents.delete(key);
  }

  #groupsOf({ stream }: OpenIncident): Group[] {
    return this.settings.groups.filter((group) => inGroup(group, stream));
  }

  /** Whoever is due counts with those that are about to be: the first of many is not told of alone. */
  #failingGroups(told: readonly Known[], due: readonly Known[]) {
    return this.settings.groups.flatMap((group) => {
      const own = (list: readonly Known[]) => list.filter(({ incident }) => inGroup(group, incident.stream));
      const members = own(told).map(({ incident }) => incident);
      const failing = new Set(members.map(({ stream }) => stream)).size;
      const streams = Math.max(failing, this.streams().filter((stream) => inGroup(group, stream)).length);
      if (failing === 0) this.#failing.delete(group.name);
      else if (failing >= group.atLeast && failing >= group.share * streams) this.#failing.add(group.name);
      return this.#failing.has(group.name) && own(due).length > 0 ? [{ group, members, streams }] : [];
    });
  }
}

const inGroup = ({ streams }: Group, stream: string) => streams.some((pattern) => matchesPattern(pattern, stream));

const keyOf = ({ stream, tracker, profile }: OpenIncident) => seriesKey(stream, tracker, profile);
