/**
 * Whether a tracker is behind or ahead: one sample may show it twice in a row, or samples that do not overlap show it
 * together. Plain data, so that it is kept with the stream.
 */
import { addLag, fitted, type Lag, type LagSums, NO_LAG } from '../../wiring/lag.js';

/** Samples that do not overlap, added up; older ones count less. */
export interface LagHistory {
  sums: LagSums;
  samples: number;
  /** parts of the tracker after which the next sample is new */
  nextParts: number;
}

/** A tracker of which so many parts have come, and what they showed. */
interface Lagging {
  parts: number;
  lag?: LagHistory;
}

/** parts of a sample */
export const LAG_PARTS = 48;
/** intervals: what one sample must show, twice in a row */
const LAG_MIN = 0.65;
const LAG_TRUTHS_MIN = 5;
/** samples that together tell more than each of them, and what an older one counts then */
export const LAG_SAMPLES = 4;
const LAG_MEMORY = 0.75;
/**
 * Intervals that all of them must show. Trackers smooth, and lie up to 0.8 frames behind without anybody having
 * numbered anything wrongly; none is ahead of what is there.
 */
const LATE_MIN = 0.85;
const EARLY_MIN = 0.35;
/** standard errors that both must be beyond */
const LAG_ERRORS = 5;
/** and as many more, divided by the truths */
const LAG_FEW = 30;
/** of those, what ends a finding when it is not reached any more */
const LAG_KEPT_SHARE = 0.5;

/** Adds a sample to those before, unless they share half of it. */
export function addSample(wiring: Lagging, sums: LagSums | null): void {
  const { sums: before, samples, nextParts } = wiring.lag ?? { sums: NO_LAG, samples: 0, nextParts: 0 };
  if (wiring.parts < nextParts) return;
  const share = samples < LAG_SAMPLES ? 1 : LAG_MEMORY;
  wiring.lag = {
    sums: addLag(before, sums ?? NO_LAG, share),
    samples: samples + 1,
    nextParts: wiring.parts + LAG_PARTS,
  };
}

/** The lag that all samples together show; null while they are few, or nothing moves. */
export function lagOfAll({ lag }: Lagging, gap: number): Lag | null {
  return !lag || lag.samples < LAG_SAMPLES || !(lag.sums.vv > 0) ? null : { ...fitted(lag.sums), gap };
}

/** Whether one sample shows a lag of so many intervals when chance is taken off; few truths hardly know their error. */
export const isOff = ({ offset, error, gap, truths }: Lag): boolean =>
  truths >= LAG_TRUTHS_MIN && Math.abs(offset) - (2 + LAG_FEW / truths) * error > LAG_MIN * gap;

/** Whether a tracker is behind or ahead by all that was seen; one that is known to be ends when hardly any is left. */
export function isOffAltogether({ offset, error, gap, truths }: Lag, known: boolean): boolean {
  const [far, min] = [Math.abs(offset), (offset > 0 ? LATE_MIN : EARLY_MIN) * gap];
  if (known) return far > LAG_KEPT_SHARE * min;
  return truths >= LAG_TRUTHS_MIN * LAG_SAMPLES && far > Math.max(min, (LAG_ERRORS + LAG_FEW / truths) * error);
}
