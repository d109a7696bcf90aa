/**
 * What people have said about incidents: that they look after one (acknowledged), that one is closed, and of what they
 * want to hear nothing for a while (mutes). Kept in a file beside the log, written before it takes effect.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { matchesPattern } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import type { Mute, OpenIncident, Remark } from '../wire/incidents.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';

interface State {
  version: 1;
  remarks: Array<[incident: string, remark: Remark]>;
  mutes: Mute[];
  lastMute: number;
}

const FILE = 'incidents.json';
/** remarks on incidents that are long over are forgotten beyond so many */
const REMARKS_MAX = 1000;
/** the oldest mutes are forgotten beyond so many */
const MUTES_MAX = 1000;
/** the store says what is wrong with the folder */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

export class IncidentDesk {
  readonly #file: string;
  readonly #remarks: Map<string, Remark>;
  #mutes: Mute[];
  #lastMute: number;

  constructor(
    dir: string,
    readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.#file = join(dir, FILE);
    const { remarks, mutes, lastMute } = this.#load();
    this.#remarks = new Map(remarks);
    this.#mutes = mutes;
    this.#lastMute = lastMute;
  }

  remarkOn(incident: SeriesId & { id: number }): Remark | undefined {
    return this.#remarks.get(keyOf(incident));
  }

  /** Throws when it cannot be written down. */
  remark(incident: SeriesId & { id: number }, remark: Remark): void {
    const key = keyOf(incident);
    this.#remarks.delete(key);
    this.#remarks.set(key, remark);
    for (const old of this.#remarks.keys()) {
      if (this.#remarks.size <= REMARKS_MAX) break;
      this.#remarks.delete(old);
    }
    this.#save();
  }

  /** A new incident under the same number is another matter. */
  forget(incident: SeriesId & { id: number }): void {
    if (this.#remarks.delete(keyOf(incident))) this.#save();
  }

  mute(mute: Omit<Mute, 'id'>): Mute {
    const made = { id: ++this.#lastMute, ...mute };
    this.#mutes = [...this.#mutes, made].slice(-MUTES_MAX);
    this.#save();
    return made;
  }

  /** Whether there was such a mute. */
  unmute(id: number): boolean {
    const left = this.#mutes.filter((mute) => mute.id !== id);
    if (left.length === this.#mutes.length) return false;
    this.#mutes = left;
    this.#save();
    return true;
  }

  mutes(nowMs: number): Mute[] {
    return this.#mutes.filter(({ untilMs }) => untilMs > nowMs);
  }

  isMuted({ stream, tracker }: OpenIncident, nowMs: number): boolean {
    return this.mutes(nowMs).some(
      (mute) => matchesPattern(mute.stream, stream) && matchesPattern(mute.tracker, tracker),
    );
  }

  #load(): Omit<State, 'version'> {
    const none = { remarks: [], mutes: [], lastMute: 0 };
    try {
      const state = JSON.parse(readFileSync(this.#file, 'utf8')) as State;
      return state.version === 1 ? state : none;
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code ?? ''))
        this.logger.warn('incident_desk_unreadable', { file: FILE, error });
      return none;
    }
  }

  #save(): void {
    const state: State = {
      version: 1,
      remarks: [...this.#remarks],
      mutes: this.#mutes,
      lastMute: this.#lastMute,
    };
    writeFileSync(`${this.#file}.new`, JSON.stringify(state), { flush: true });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

const keyOf = ({ stream, tracker, profile, id }: SeriesId & { id: number }) =>
  `${seriesKey(stream, tracker, profile)}\n${id}`;
