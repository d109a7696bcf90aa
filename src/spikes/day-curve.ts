/**
 * A memory of the time of day: events and exposure of each hour, over the last days, so that what comes every dusk is
 * expected at dusk.
 */

const HOURS = 24;
const HOUR_SECONDS = 3600;
/** kept of an hour when it comes again a day later */
const KEPT = 0.5;
/** exposure in seconds (of objects, where they count) from which an hour is believed */
const EXPOSURE_MIN = 600;

export const dayCurveSize = () => 1 + 2 * HOURS;

export class DayCurve {
  constructor(private readonly state: Float64Array) {}

  add(time: number, events: number, exposure: number): void {
    const { state } = this;
    const at = 1 + 2 * hourOf(time);
    if (state[0] !== at) {
      state[0] = at;
      state[at] *= KEPT;
      state[at + 1] *= KEPT;
    }
    state[at] += events;
    state[at + 1] += exposure;
  }

  /** The rate at this time of day, or a little later, whichever is more; 0 when it is not known. */
  rate(time: number): number {
    const hour = hourOf(time);
    return Math.max(this.#rateOf(hour), this.#rateOf((hour + 1) % HOURS));
  }

  #rateOf(hour: number): number {
    const at = 1 + 2 * hour;
    return this.state[at + 1] < EXPOSURE_MIN ? 0 : this.state[at] / this.state[at + 1];
  }
}

const hourOf = (time: number) => (((Math.floor(time / HOUR_SECONDS) % HOURS) + HOURS) % HOURS) | 0;
