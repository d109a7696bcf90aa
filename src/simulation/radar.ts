/**
 * The built-in airspace: a radar that turns once in four seconds, and aircraft that report themselves by transponder
 * about once a second, each at its own times. Two light aircraft have no transponder, and many that have one are
 * beyond the radar's range: the reference knows only a part, the tracker sees only a part. Invariant: seeded, so the
 * same on every machine; the faults built in are listed, so that what is found can be compared with them.
 */
import type { PlantedFault } from './planted-fault.js';
import { gaussian, type Random, randomFrom } from './random.js';

/** Where the radar stands, in degrees, how far it sees, and how far around it everybody must have a transponder. */
export const RADAR = { at: [51.15, -0.19] as [number, number], nearest: 1000, range: 60_000, mandatory: 25_000 };
export const SCAN_S = 4;
export const SCANS = 120;

/** One position report of a transponder; times in seconds since the beginning of the round. */
export interface AircraftReport {
  id: string;
  t: number;
  point: [latitude: number, longitude: number];
  /** metres per second east and north */
  velocity: [east: number, north: number];
  end?: boolean;
}

export interface Plot {
  id: string;
  point: [latitude: number, longitude: number];
}

/** One turn of the antenna: what was reported since the one before, and what each tracker makes of it. */
export interface Scan {
  t: number;
  reports: AircraftReport[];
  /** where everybody with a transponder is, whether the radar sees that far or not */
  truths: Plot[];
  trackers: Record<RadarTracker, Plot[]>;
}

export type RadarTracker = 'sharp' | 'blunt';

export interface RadarRound {
  scans: Scan[];
  /** of `blunt`; scans, 1-based */
  faults: Array<PlantedFault & { ids: string[] }>;
}

/** Metres east and north of the radar. */
type Place = [east: number, north: number];

interface Target {
  id: string;
  equipped: boolean;
  placeAt(t: number): Place;
}

const AIRLINERS = 16;
const LIGHT = 2;
/** metres along the beam, and degrees across it */
const RANGE_NOISE_M = 40;
const AZIMUTH_NOISE = 0.06;
const DETECTION = 0.98;
const REPORT_S = 1;
/** of transponders: metres */
const REPORT_NOISE_M = 5;
/** degrees of latitude, and of longitude at the radar, in a metre */
const NORTH = 1 / 111_200;
const EAST = NORTH / Math.cos((RADAR.at[0] * Math.PI) / 180);

const SWAP = 18;
const BLIND = { from: 32, to: 51, azimuth: [270, 90] as [number, number] };
const CLUTTER = { from: 62, to: 79 };
const LAG = { from: 86, to: 120, seconds: 0.4 };

/** A round: other aircraft for every seed. Without faults `blunt` is as good as `sharp`. */
export function radarRound(seed = 1, hasFaults = true): RadarRound {
  const random = randomFrom(seed);
  const targets = [...airliners(random, seed), ...lightAircraft(random, seed)];
  const swapped = hasFaults ? swappedAt(targets, SWAP * SCAN_S) : [];
  const reported = targets.filter(({ equipped }) => equipped).flatMap((target) => reportsOf(target, random));
  reported.sort((a, b) => a.t - b.t);
  const scans = Array.from({ length: SCANS }, (_, index): Scan => {
    const scan = index + 1;
    const t = scan * SCAN_S;
    const truths = targets.filter(({ equipped }) => equipped).map((one) => plot(one.id, one.placeAt(t)));
    const sharp = seen(targets, t, random, 's');
    const blunt = hasFaults ? faulty(targets, scan, swapped, random) : seen(targets, t, random, 'b');
    const reports = reported.filter((one) => one.t > t - SCAN_S && one.t <= t);
    return { t, reports, truths, trackers: { sharp, blunt } };
  });
  return { scans, faults: hasFaults ? faultsOf(targets, swapped) : [] };
}

/** Straight on, from somewhere around the radar to somewhere else. */
function airliners(random: Random, seed: number): Target[] {
  return Array.from({ length: AIRLINERS }, (_, n) => {
    const [distance, bearing] = [90_000 * Math.sqrt(random()), 360 * random()];
    const start = towards(distance, bearing);
    // most of them come across the middle
    const heading = bearing + 180 + 100 * (random() - 0.5);
    const speed = 130 + 110 * random();
    const placeAt = (t: number) => plus(start, towards(speed * t, heading));
    return { id: `A${seed}-${n + 1}`, equipped: true, placeAt };
  });
}

/** Circles well outside of where a transponder is mandatory. */
function lightAircraft(random: Random, seed: number): Target[] {
  return Array.from({ length: LIGHT }, (_, n) => {
    const centre = towards(38_000 + 8000 * random(), 120 + 120 * n + 40 * random());
    const [radius, first] = [2000 + 2000 * random(), 360 * random()];
    const degreesPerSecond = (50 / radius) * (180 / Math.PI);
    const placeAt = (t: number) => plus(centre, towards(radius, first + degreesPerSecond * t));
    return { id: `L${seed}-${n + 1}`, equipped: false, placeAt };
  });
}

/** About once a second, at times of its own; the last one says that it ends. */
function reportsOf({ id, placeAt }: Target, random: Random): AircraftReport[] {
  const reports: AircraftReport[] = [];
  for (let t = REPORT_S * random(); t <= SCANS * SCAN_S; t += REPORT_S * (0.8 + 0.4 * random())) {
    const [from, to] = [placeAt(t - 0.5), placeAt(t + 0.5)];
    const noise: Place = [REPORT_NOISE_M * gaussian(random), REPORT_NOISE_M * gaussian(random)];
    const { point } = plot(id, plus(placeAt(t), noise));
    reports.push({ id, t, point, velocity: [to[0] - from[0], to[1] - from[1]] });
  }
  reports.push({ ...reports.at(-1)!, t: SCANS * SCAN_S, ...plot(id, placeAt(SCANS * SCAN_S)), end: true });
  return reports;
}

/** What the radar sees at a time, under ids of its own. */
function seen(targets: readonly Target[], t: number, random: Random, prefix: string): Plot[] {
  return targets.flatMap(({ id, placeAt }) => {
    const place = placeAt(t);
    const plotted = measured(place, random);
    const missed = random() >= DETECTION;
    return isInRange(place) && !missed ? [plot(`${prefix}${id}`, plotted)] : [];
  });
}

/** The same with the faults of the list. */
function faulty(targets: readonly Target[], scan: number, [one, other]: readonly string[], random: Random): Plot[] {
  const t = scan * SCAN_S;
  const lag = within(scan, LAG) ? LAG.seconds : 0;
  const exchanged = (id: string) => (scan < SWAP ? id : id === one ? other : id === other ? one : id);
  const visible = within(scan, BLIND) ? targets.filter(({ placeAt }) => !isBlind(placeAt(t))) : targets;
  const plots = seen(visible, t - lag, random, '').map(({ id, point }) => ({ id: `b${exchanged(id)}`, point }));
  if (!within(scan, CLUTTER)) return plots;
  const clutter = Array.from({ length: 4 }, (_, n) =>
    plot(`clutter-${scan}-${n}`, towards(4000 + 16_000 * random(), 360 * random())),
  );
  return [...plots, ...clutter];
}

/** Two that the radar sees from before the swap until long after it. */
function swappedAt(targets: readonly Target[], t: number): string[] {
  const stays = ({ placeAt, equipped }: Target) =>
    equipped && [t - 40, t, t + 40].every((at) => isInRange(placeAt(at), 0.95));
  return targets
    .filter(stays)
    .slice(0, 2)
    .map(({ id }) => id);
}

function faultsOf(targets: readonly Target[], swapped: readonly string[]): RadarRound['faults'] {
  const middle = ((BLIND.from + BLIND.to) / 2) * SCAN_S;
  const lost = targets.filter(
    ({ placeAt, equipped }) => equipped && isBlind(placeAt(middle)) && isInRange(placeAt(middle)),
  );
  const sector = `between ${BLIND.azimuth[0]} and ${BLIND.azimuth[1]} degrees`;
  return [
    { from: SWAP, to: SWAP, what: `${swapped.join(' and ')} swap tracks`, ids: [...swapped] },
    { from: BLIND.from, to: BLIND.to, what: `the radar is blind ${sector}`, ids: lost.map(({ id }) => id) },
    {
      from: CLUTTER.from,
      to: CLUTTER.to,
      what: 'clutter around the airport, where everybody has a transponder',
      ids: [],
    },
    { from: LAG.from, to: LAG.to, what: `tracks lag ${LAG.seconds} s behind`, ids: [] },
  ];
}

const within = (scan: number, { from, to }: { from: number; to: number }) => scan >= from && scan <= to;

const isInRange = (place: Place, share = 1) => {
  const distance = Math.hypot(...place);
  return distance >= RADAR.nearest && distance <= share * RADAR.range;
};

/** In the sector that is lost. */
function isBlind([east, north]: Place): boolean {
  const azimuth = ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360;
  const [from, to] = BLIND.azimuth;
  return azimuth >= from || azimuth <= to;
}

/** Off along the beam and across it. */
function measured([east, north]: Place, random: Random): Place {
  const azimuth = (Math.atan2(east, north) * 180) / Math.PI + AZIMUTH_NOISE * gaussian(random);
  return towards(Math.hypot(east, north) + RANGE_NOISE_M * gaussian(random), azimuth);
}

/** So many metres in a direction, degrees clockwise from north. */
const towards = (metres: number, degrees: number): Place => {
  const angle = (degrees * Math.PI) / 180;
  return [metres * Math.sin(angle), metres * Math.cos(angle)];
};

const plus = (a: Place, b: Place): Place => [a[0] + b[0], a[1] + b[1]];

const plot = (id: string, [east, north]: Place): Plot => ({
  id,
  point: [RADAR.at[0] + north * NORTH, RADAR.at[1] + east * EAST],
});
