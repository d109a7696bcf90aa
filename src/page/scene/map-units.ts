/** Lengths and places on Earth as people read them: metres and kilometres, or nautical miles. */

export type DistanceUnits = 'metres' | 'nautical miles';

const METRES_PER_MILE = 1852;

const tidy = (value: number) => String(Number(value.toPrecision(3)));

export function lengthOf(metres: number, units: DistanceUnits): string {
  if (units === 'nautical miles') return `${tidy(metres / METRES_PER_MILE)} nmi`;
  return metres >= 1000 ? `${tidy(metres / 1000)} km` : `${tidy(metres)} m`;
}

/** Degrees and decimal minutes, as on a chart. */
export function placeOf([latitude, longitude]: readonly [number, number]): string {
  const part = (value: number, names: string, digits: number) => {
    const whole = Math.abs(value);
    const tenths = Math.round((whole % 1) * 60_000);
    const [up, rest] = tenths === 60_000 ? [1, 0] : [0, tenths];
    const minutes = (rest / 1000).toFixed(3).padStart(6, '0');
    return `${String(Math.floor(whole) + up).padStart(digits, '0')}° ${minutes}′ ${value < 0 ? names[1] : names[0]}`;
  };
  return `${part(latitude, 'NS', 2)}  ${part(longitude, 'EW', 3)}`;
}

/** Degrees clockwise from north, from one place of the scene to another; x is east, y is south. */
export function bearingOf(dx: number, dy: number): number {
  return Math.round((Math.atan2(dx, -dy) * 180) / Math.PI + 360) % 360;
}
