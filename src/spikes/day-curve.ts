/**
 * A memory of the time of day: events and exposure of each hour, over the last days, so that what comes every dusk is
 * expected at dusk. An hour counts when it is over: what happens now is not expected because it happens.
 */

const HOURS = 24;
const HOUR_SECONDS = 3600;
/** kept of an hour when it comes again a day later */
const KEPT = 0.5;
/** exposure in seconds (of objects, where they count) from which an hour is believed */
const EXPOSURE_MIN = 600;
/** the hour that is gathered, counted from 1, and what it has brought; then events and exposure of each hour */
const AT = { hour: 0, events: 1, exposure: 2, hours: 3 } as const;

export const dayCurveSize = () => AT.hours + 2 * HOURS;

export class DayCurve {
  constructor(private readonly state: Float64Array) {}

  add(time: number, events: number, exposure: number): void {
    const { state } = this;
    const hour = 1 + hourOf(time);
    if (state[AT.hour] !== hour) this.#close(hour);
    state[AT.events] += events;
    state[AT.exposure] += exposure;
  }

  #close(next: number): void {
    const { state } = this;
    if (state[AT.hour] > 0) {
      const at = AT.hours + 2 * (state[AT.hour] - 1);
      state[at] = state[at] * KEPT + state[AT.events];
      state[at + 1] = state[at + 1] * KEPT + state[AT.exposure];
    }
    state[AT.hour] = next;
    state[AT.events] = state[AT.exposure] = 0;
  }

  /** The rate at this time of day, or a little later, whichever is more; 0 when it is not known. */
  rate(time: number): number {
    const hour = hourOf(time);
    return Math.max(this.#rateOf(hour), this.#rateOf((hour + 1) % HOURS));
  }

  #rateOf(hour: number): number {
    const at = AT.hours + 2 * hour;
    return this.state[at + 1] < EXPOSURE_MIN ? 0 : this.state[at] / this.state[at + 1];
  }
}

const hourOf = (time: number) => (((Math.floor(time / HOUR_SECONDS) % HOURS) + HOURS) % HOURS) | 0;
