/**
 * What people have said about incidents: that they look after one (acknowledged), that one is closed, and of what they
 * want to hear nothing for a while (mutes). Kept in a file beside the log or, in a cluster, on the brokers, where other
 * processes say something too. What somebody says is stored before it takes effect: whoever got an answer is not
 * forgotten, and whoever heard that it cannot be written down has changed nothing.
 */
import { type Config, matchesPattern } from '../config/config.js';
import { FORMATS } from '../store/formats.js';
import type { Logger } from '../telemetry/logger.js';
import type { Mute, OpenIncident, Remark } from '../wire/incidents.js';
import { type SeriesId, seriesKey } from '../wire/series-key.js';

/** Where it is kept. */
export interface DeskMemory {
  /** as it is known to be stored, by whomever; empty when nothing is */
  readonly text: string;
  /**
   * Stores what `next` makes of the newest text, and asks again when somebody else was first; null leaves it as it is.
   * Rejects when it cannot be stored.
   */
  change(next: (text: string) => string | null): Promise<void>;
}

interface Said {
  /** oldest first */
  remarks: ReadonlyMap<string, Remark>;
  mutes: readonly Mute[];
  lastMute: number;
}

export type DeskLimits = Pick<Config['notify'], 'remarksMax' | 'mutesMax'>;

const NOTHING: Said = { remarks: new Map(), mutes: [], lastMute: 0 };

export class IncidentDesk {
  /** the text that was decoded last */
  #decoded = { text: '', said: NOTHING };
  /** what was said before these moments is about an incident before; only until that is stored */
  readonly #forgotten = new Map<string, number>();

  constructor(
    readonly memory: DeskMemory,
    readonly logger: Pick<Logger, 'warn'>,
    private readonly limits: DeskLimits,
  ) {
    this.#decode(memory.text);
  }

  remarkOn(incident: SeriesId & { id: number }): Remark | undefined {
    const key = keyOf(incident);
    const remark = this.#said.remarks.get(key);
    return remark && this.#holds(key, remark) ? remark : undefined;
  }

  /** Rejects when it cannot be written down. Of too many the oldest is forgotten, and that is logged. */
  async remark(incident: SeriesId & { id: number }, remark: Remark): Promise<void> {
    const key = keyOf(incident);
    const limit = this.limits.remarksMax;
    const count = await this.#change(({ remarks }) => {
      const all = [...remarks].filter(([other]) => other !== key).concat([[key, remark]]);
      const tooMany = Math.max(0, all.length - limit);
      return [{ remarks: new Map(all.slice(tooMany)) }, tooMany];
    });
    if (count > 0) this.logger.warn('incident_remarks_forgotten', { count, limit });
  }

  /**
   * A new incident under the same number is another matter: that holds even if it cannot be written down. What was said
   * since it began, before this was told of it, is about the new one.
   */
  forget(incident: SeriesId & { id: number }, beganMs: number): void {
    const key = keyOf(incident);
    const before = this.remarkOn(incident);
    if (!before || before.atMs >= beganMs) return;
    this.#forgotten.set(key, beganMs);
    this.#change(() => [{}, null]).then(
      () => this.#forgotten.delete(key),
      (error) => this.logger.warn('incident_desk_not_saved', { error }),
    );
  }

  /** Rejects when it cannot be written down; null when as many are in force as there may be. */
  mute(mute: Omit<Mute, 'id'>, nowMs: number): Promise<Mute | null> {
    return this.#change(({ mutes, lastMute }) => {
      const made = { id: lastMute + 1, ...mute };
      const all = [...inForce(mutes, nowMs), made];
      return all.length > this.limits.mutesMax ? [null, null] : [{ mutes: all, lastMute: made.id }, made];
    });
  }

  /** Whether there was such a mute. */
  unmute(id: number): Promise<boolean> {
    return this.#change(({ mutes }) => {
      const others = mutes.filter((mute) => mute.id !== id);
      return others.length === mutes.length ? [null, false] : [{ mutes: others }, true];
    });
  }

  mutes(nowMs: number): Mute[] {
    return inForce(this.#said.mutes, nowMs);
  }

  isMuted({ stream, tracker }: OpenIncident, nowMs: number): boolean {
    return this.mutes(nowMs).some(
      (mute) => matchesPattern(mute.stream, stream) && matchesPattern(mute.tracker, tracker),
    );
  }

  get #said(): Said {
    return this.#decode(this.memory.text);
  }

  #holds(key: string, { atMs }: Remark): boolean {
    return atMs >= (this.#forgotten.get(key) ?? Number.NEGATIVE_INFINITY);
  }

  /** Everything as it is, but for what changes: null for nothing. Resolves with what `make` said of it. */
  async #change<T>(make: (said: Said) => [change: Partial<Said> | null, result: T]): Promise<T> {
    let result!: T;
    await this.memory.change((text) => {
      const said = this.#decode(text);
      const remarks = new Map([...said.remarks].filter(([key, remark]) => this.#holds(key, remark)));
      const [change, made] = make({ ...said, remarks });
      result = made;
      return change && encode({ ...said, remarks, ...change });
    });
    return result;
  }

  #decode(text: string): Said {
    if (text !== this.#decoded.text) this.#decoded = { text, said: this.#read(text) };
    return this.#decoded.said;
  }

  #read(text: string): Said {
    if (text === '') return NOTHING;
    try {
      const { version, remarks, mutes, lastMute } = JSON.parse(text);
      if (version !== FORMATS.remarks.version) throw new Error(`it is of version ${version}`);
      return { remarks: new Map(remarks), mutes, lastMute };
    } catch (error) {
      this.logger.warn('incident_desk_unreadable', { error });
      return NOTHING;
    }
  }
}

const encode = ({ remarks, mutes, lastMute }: Said): string =>
  JSON.stringify({ version: FORMATS.remarks.version, remarks: [...remarks], mutes, lastMute });

const inForce = (mutes: readonly Mute[], nowMs: number) => mutes.filter(({ untilMs }) => untilMs > nowMs);

const keyOf = ({ stream, tracker, profile, id }: SeriesId & { id: number }) =>
  `${seriesKey(stream, tracker, profile)}\n${id}`;
