/**
 * What people have said about incidents: that they look after one (acknowledged), that one is closed, and of what they
 * want to hear nothing for a while (mutes). Kept in a file beside the log. What somebody says is written before it
 * takes effect: whoever got an answer is not forgotten, and whoever got an error has changed nothing.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, matchesPattern } from '../config/config.js';
import { FORMATS } from '../store/formats.js';
import type { Logger } from '../telemetry/logger.js';
import type { Mute, OpenIncident, Remark } from '../wire/incidents.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';

interface State {
  version: number;
  remarks: Array<[incident: string, remark: Remark]>;
  mutes: Mute[];
  lastMute: number;
}

export type DeskLimits = Pick<Config['notify'], 'remarksMax' | 'mutesMax'>;

const FILE = 'incidents.json';
/** the store says what is wrong with the folder */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

export class IncidentDesk {
  readonly #file: string;
  /** oldest first */
  #remarks: ReadonlyMap<string, Remark>;
  #mutes: readonly Mute[];
  #lastMute: number;

  constructor(
    dir: string,
    readonly logger: Pick<Logger, 'warn'>,
    private readonly limits: DeskLimits,
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

  /** Throws when it cannot be written down. Of too many the oldest is forgotten, and that is logged. */
  remark(incident: SeriesId & { id: number }, remark: Remark): void {
    const key = keyOf(incident);
    const remarks = new Map([...this.#remarks].filter(([other]) => other !== key));
    remarks.set(key, remark);
    const forgotten = [...remarks.keys()].slice(0, Math.max(0, remarks.size - this.limits.remarksMax));
    for (const old of forgotten) remarks.delete(old);
    this.#write({ remarks });
    this.#remarks = remarks;
    if (forgotten.length > 0)
      this.logger.warn('incident_remarks_forgotten', { count: forgotten.length, limit: this.limits.remarksMax });
  }

  /** A new incident under the same number is another matter: that holds even if it cannot be written down. */
  forget(incident: SeriesId & { id: number }): void {
    const remarks = new Map(this.#remarks);
    if (!remarks.delete(keyOf(incident))) return;
    this.#remarks = remarks;
    try {
      this.#write({});
    } catch (error) {
      this.logger.warn('incident_desk_not_saved', { file: FILE, error });
    }
  }

  /** Throws when it cannot be written down; null when as many are in force as there may be. */
  mute(mute: Omit<Mute, 'id'>, nowMs: number): Mute | null {
    const made = { id: this.#lastMute + 1, ...mute };
    const mutes = [...this.mutes(nowMs), made];
    if (mutes.length > this.limits.mutesMax) return null;
    this.#write({ mutes, lastMute: made.id });
    this.#mutes = mutes;
    this.#lastMute = made.id;
    return made;
  }

  /** Whether there was such a mute. */
  unmute(id: number): boolean {
    const mutes = this.#mutes.filter((mute) => mute.id !== id);
    if (mutes.length === this.#mutes.length) return false;
    this.#write({ mutes });
    this.#mutes = mutes;
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
      if (state.version !== FORMATS.remarks.version) throw new Error(`it is of version ${state.version}`);
      return state;
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code ?? ''))
        this.logger.warn('incident_desk_unreadable', { file: FILE, error });
      return none;
    }
  }

  /** Everything as it is, but for what changes. */
  #write(change: { remarks?: ReadonlyMap<string, Remark>; mutes?: readonly Mute[]; lastMute?: number }): void {
    const { remarks, mutes, lastMute } = {
      ...{ remarks: this.#remarks, mutes: this.#mutes, lastMute: this.#lastMute },
      ...change,
    };
    const state: State = { version: FORMATS.remarks.version, remarks: [...remarks], mutes: [...mutes], lastMute };
    writeFileSync(`${this.#file}.new`, JSON.stringify(state), { flush: true });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

const keyOf = ({ stream, tracker, profile, id }: SeriesId & { id: number }) =>
  `${seriesKey(stream, tracker, profile)}\n${id}`;
