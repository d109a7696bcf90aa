/**
 * Aircraft over England (OpenSky states), as a radar sees them: a scan every four seconds with noise, misses, false
 * tracks and ids that swap; and their own reports, raw or resampled to the scans by hand. Not in the repository: tests
 * that need it are skipped without it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ObjectReport, WireObject } from '../../../src/wire/objects.js';
import { type Random, randomFrom } from '../random.js';

const FILE = fileURLToPath(new URL('../../../../../shared/data/adsb-ais/OpenSky_Plane_States.csv', import.meta.url));
export const hasAircraft = existsSync(FILE);

export const SCAN_S = 4;
/** seconds between two reports beyond which nothing is known */
export const GAP_S = 60;
const NOISE_M = 60;
const DETECTED = 0.9;

/** One state as it was sent: the time of the message, and that of the position. */
interface Sent {
  sentS: number;
  report: ObjectReport;
}

/** All states in the order of their messages; those without a position are left out. */
export function states(): Sent[] {
  const [head, ...lines] = readFileSync(FILE, 'utf8').trim().split('\n');
  const column = Object.fromEntries(head.split(',').map((name, n) => [name.trim(), n]));
  return lines
    .map((line) => line.split(','))
    .map((cells) => ({
      sentS: Number(cells[column.time]),
      report: {
        id: cells[column.icao24],
        t: Number(cells[column.lastposupdate]),
        point: [Number(cells[column.lat]), Number(cells[column.lon])],
      },
    }))
    .filter(({ report: { t, point } }) => t > 0 && point!.every(Number.isFinite))
    .sort((a, b) => a.sentS - b.sentS);
}

/**
 * Where everybody is at a time, between two reports no farther apart than the greatest gap; written for tests alone.
 */
export function resampled(sent: readonly Sent[]): (t: number) => WireObject[] {
  const ways = new Map<string, ObjectReport[]>();
  for (const { report } of sent) {
    const way = ways.get(report.id) ?? [];
    ways.set(report.id, way);
    if (!way.some(({ t }) => t === report.t)) way.push(report);
  }
  for (const way of ways.values()) way.sort((a, b) => a.t - b.t);
  return (t) =>
    [...ways].flatMap(([name, way]): WireObject[] => {
      const at = way.findLastIndex((one) => one.t <= t);
      // who comes back after a gap is a new one
      const epoch = way.filter((one, n) => n > 0 && n <= at && one.t - way[n - 1].t > GAP_S).length;
      const id = epoch === 0 ? name : `${name}#${epoch + 1}`;
      const [from, to] = [way[at], way[at + 1]];
      if (from?.t === t) return [{ id, point: from.point }];
      if (!from || !to || to.t - from.t > GAP_S) return [];
      const share = (t - from.t) / (to.t - from.t);
      return [{ id, point: from.point!.map((value, d) => value + (to.point![d] - value) * share) }];
    });
}

const gauss = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export interface Scan {
  t: number;
  truths: WireObject[];
  tracks: WireObject[];
}

/** The scans of a radar; `lateS` is how late its tracks are. */
export function scans(sent: readonly Sent[], seconds: number, lateS = 0): Scan[] {
  const truthsAt = resampled(sent);
  const random = randomFrom(7);
  const first = sent[0].sentS + 30;
  const name = new Map<string, string>();
  return Array.from({ length: Math.floor(seconds / SCAN_S) }, (_, n) => {
    const t = first + n * SCAN_S;
    if (n % 27 === 26) swap(name, random);
    const tracks = truthsAt(t - lateS)
      .filter(() => random() < DETECTED)
      .map(({ id, point }) => {
        if (!name.has(id)) name.set(id, `t${name.size}`);
        const [north, east] = [NOISE_M * gauss(random), NOISE_M * gauss(random)];
        const [latitude, longitude] = point!;
        const across = 111_195 * Math.cos((latitude * Math.PI) / 180);
        return { id: name.get(id)!, point: [latitude + north / 111_195, longitude + east / across] };
      });
    if (random() < 0.5) tracks.push({ id: `false${n}`, point: [51 + 3 * random(), -4 + 4 * random()] });
    return { t, truths: truthsAt(t), tracks };
  });
}

function swap(name: Map<string, string>, random: Random): void {
  const ids = [...name.keys()];
  if (ids.length < 2) return;
  const [a, b] = [ids[Math.floor(random() * ids.length)], ids[Math.floor(random() * ids.length)]];
  const kept = name.get(a)!;
  name.set(a, name.get(b)!);
  name.set(b, kept);
}
