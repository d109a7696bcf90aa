/**
 * Our own mistakes at the edge: an exception where a message, a request or an event was handled. Whoever caught it
 * answers the peer; here it is counted and logged, the same kind once a minute, so that a peer that repeats the message
 * can neither end the process nor fill the log.
 */
import type { Logger } from '../../telemetry/logger.js';
import type { FaultPlace, Meters } from '../../telemetry/meters.js';

const LOGGED_EVERY_MS = 60_000;

export class ServerFaults {
  /** place and name of the error: when it was logged last, and how often it came since */
  readonly #kinds = new Map<string, { loggedMs: number; unlogged: number }>();

  constructor(
    readonly meters: Meters,
    readonly logger: Logger,
    readonly now: () => number = () => performance.now(),
  ) {}

  report(place: FaultPlace, error: unknown, fields: Record<string, unknown> = {}): void {
    this.meters.faults[place]++;
    const kind = `${place} ${error instanceof Error ? error.constructor.name : typeof error}`;
    const known = this.#kinds.get(kind);
    if (known && this.now() - known.loggedMs < LOGGED_EVERY_MS) {
      known.unlogged++;
      return;
    }
    this.#kinds.set(kind, { loggedMs: this.now(), unlogged: 0 });
    this.logger.error('fault', { place, ...fields, unlogged: known?.unlogged ?? 0, error });
  }
}
