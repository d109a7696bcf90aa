/**
 * A harbour under a radar (FIELD 6): ships from the Solent AIS record in ../shared/data, interpolated between their
 * reports, or a seeded harbour like it; a scan every 2.5 s with a range of 20 km, positions 15 m off, one in ten not
 * seen, boats without AIS on straight lines.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { Frame, Obj } from '../../../src/metric/evaluation.js';
import { type Random, randomFrom } from '../../kit/random.js';

const AIS = '../shared/data/adsb-ais/SolentAIS_20160112_130211.csv';
const RADAR = { latitude: 50.8, longitude: -1.11 };
const RANGE_M = 20_000;
const SCAN_S = 2.5;
const NOISE_M = 15;
const DETECTION = 0.9;
const BOATS = 12;
const SHIPS = 62;
/** a ship without a report for longer is not shown */
const GAP_MAX_S = 190;
const METRES_PER_DEGREE = 111_194.93;

/** metres east and north of the radar */
type Place = [east: number, north: number];
/** Where a ship is at a time in seconds, if anybody knows. */
type Ship = (time: number) => Place | undefined;

const toPoint = ([east, north]: Place): number[] => [
  RADAR.latitude + north / METRES_PER_DEGREE,
  RADAR.longitude + east / METRES_PER_DEGREE / Math.cos((RADAR.latitude * Math.PI) / 180),
];

/** Scans of the harbour: reference by AIS, tracker by radar. */
export function harbour(scanCount: number): Frame[] {
  const random = randomFrom(42);
  const ships = existsSync(AIS) ? shipsOfRecord() : seededShips(random);
  const boats = Array.from({ length: BOATS }, () => course(random, 3 + 6 * random()));
  const seen = (id: string, [east, north]: Place): Obj => ({
    id,
    point: toPoint([east + NOISE_M * normal(random), north + NOISE_M * normal(random)]),
  });
  return Array.from({ length: scanCount }, (_, k) => {
    const reference: Obj[] = [];
    const tracker: Obj[] = [];
    const look = (ship: Ship, id: string, isShip: boolean) => {
      const place = ship(k * SCAN_S);
      if (!place || Math.hypot(...place) > RANGE_M) return;
      if (isShip) reference.push({ id, point: toPoint(place) });
      if (random() < DETECTION) tracker.push(seen(id, place));
    };
    ships.forEach((ship, n) => {
      look(ship, `${n}`, true);
    });
    boats.forEach((boat, n) => {
      look(boat, `boat${n}`, false);
    });
    return { reference, tracker };
  });
}

const normal = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

function course(random: Random, speed: number): Ship {
  const angle = 2 * Math.PI * random();
  const start: Place = [16_000 * (random() - 0.5), 16_000 * (random() - 0.5)];
  return (time) => [start[0] + speed * time * Math.cos(angle), start[1] + speed * time * Math.sin(angle)];
}

interface Report {
  time: number;
  place: Place;
}

/** The ships of the record, each between its reports. */
function shipsOfRecord(): Ship[] {
  const reports = new Map<string, Report[]>();
  let first = Number.NaN;
  for (const line of readFileSync(AIS, 'utf8').split('\n').slice(1)) {
    const [when, id, latitude, longitude] = line.split(',');
    if (!longitude) continue;
    const time = Date.parse(`${when.replace(' ', 'T')}Z`) / 1000;
    if (Number.isNaN(first)) first = time;
    const north = (Number(latitude) - RADAR.latitude) * METRES_PER_DEGREE;
    const east = (Number(longitude) - RADAR.longitude) * METRES_PER_DEGREE * Math.cos((RADAR.latitude * Math.PI) / 180);
    if (!reports.has(id)) reports.set(id, []);
    reports.get(id)!.push({ time: time - first, place: [east, north] });
  }
  return [...reports.values()].map(between);
}

function between(reports: Report[]): Ship {
  let at = 0;
  return (time) => {
    if (reports[at].time > time) at = 0;
    while (at + 1 < reports.length && reports[at + 1].time <= time) at++;
    const [from, to] = [reports[at], reports[at + 1]];
    if (!to || from.time > time || to.time - from.time > GAP_MAX_S) return undefined;
    const share = (time - from.time) / (to.time - from.time);
    return [0, 1].map((n) => from.place[n] + share * (to.place[n] - from.place[n])) as Place;
  };
}

/** Half of them moored in groups of up to eight, 20 to 200 m apart; the others under way. */
function seededShips(random: Random): Ship[] {
  const ships: Ship[] = [];
  while (ships.length < SHIPS / 2) {
    const quay: Place = [8000 * (random() - 0.5), 8000 * (random() - 0.5)];
    for (let n = Math.floor(2 + 7 * random()); n > 0; n--) {
      const berth: Place = [quay[0] + 200 * (random() - 0.5), quay[1] + 200 * (random() - 0.5)];
      ships.push(() => berth);
    }
  }
  while (ships.length < SHIPS) ships.push(course(random, 8 * random()));
  return ships;
}
