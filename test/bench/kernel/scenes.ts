/**
 * What the kernel is measured on: MOT17 and MOT20 results as they are and made poorer, a harbour, dense crowds,
 * detections without identities. Real data come from ../shared/data when they are there; the rest is seeded and the
 * same on every machine.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { alignMotChallenge, readMotChallenge } from '../../../adapters/formats/motchallenge.js';
import { type Params, presets, profile } from '../../../src/index.js';
import type { Box, Frame, Obj } from '../../../src/metric/evaluation.js';
import { type Random, randomFrom } from '../../kit/random.js';
import { crowd } from '../crowd.js';
import { harbour } from './harbour.js';

export interface Scene {
  name: string;
  /** sequences that are slid over one by one */
  sequences: Frame[][];
  params: Params;
  windowFrames: number;
}

const DATA = '../shared/data/';
/** ground per walker in pixels: as much as one box covers, and much less */
const CRUSH = 4000;
const PILE = 600;
const ONLINE = presets['online-surveillance'];
const OFFLINE = presets['offline-scene-understanding'];

const readSequence = (folder: string, reference: string, file: string): Frame[] => {
  const read = (path: string, kind: 'reference' | 'tracker') =>
    readMotChallenge(readFileSync(path, 'utf8'), { kind, file: path });
  return alignMotChallenge(
    read(`${folder}train/${reference}/gt/gt.txt`, 'reference'),
    read(`${folder}results/${file}`, 'tracker'),
  );
};

/** Every tracker result of MOT17 and MOT20 there is, or a crowd in their place. */
function motSequences(): Frame[][] {
  if (!existsSync(`${DATA}MOT17`)) return [crowd(10, 525, 7), crowd(45, 1050, 8)];
  return ['MOT17/', 'MOT20/'].flatMap((set) =>
    readdirSync(`${DATA}${set}results`)
      .sort()
      .flatMap((tracker) =>
        readdirSync(`${DATA}${set}results/${tracker}`)
          .sort()
          .map((file) => readSequence(DATA + set, file.split(/-FRCNN|\.txt/)[0], `${tracker}/${file}`)),
      ),
  );
}

export function motSequence(name: 'MOT17-04' | 'MOT17-09' | 'MOT20-01'): Frame[] {
  if (!existsSync(`${DATA}MOT17`)) return crowd(name === 'MOT17-09' ? 10 : 45, 500, 9);
  if (name === 'MOT20-01') return readSequence(`${DATA}MOT20/`, name, 'OC-SORT-JLJ19/MOT20-01.txt');
  const tracker = name === 'MOT17-04' ? 'MPNTrack' : 'BoT-SORT-ReTrack-Botsort_baseline';
  return readSequence(`${DATA}MOT17/`, name, `${tracker}/${name}-FRCNN.txt`);
}

/** Nothing ever happens: twenty objects far from each other, all seen. */
export function calm(frameCount: number): Frame[] {
  const random = randomFrom(5);
  const at = (prefix: string, n: number, noise: number): Obj => ({
    id: `${prefix}${n}`,
    box: [100 * n + noise * random(), 50 * n + noise * random(), 40, 100],
  });
  return Array.from({ length: frameCount }, () => ({
    reference: Array.from({ length: 20 }, (_, n) => at('t', n, 0)),
    tracker: Array.from({ length: 20 }, (_, n) => at('k', n, 6)),
  }));
}

/** As a detector would see it: every track lives for one frame. */
const withoutIds = (frames: Frame[]): Frame[] =>
  frames.map(({ reference, tracker }, k) => ({
    reference,
    tracker: tracker.map((object) => ({ ...object, id: `${k}-${object.id}` })),
  }));

/**
 * A poorer tracker: tracks are lost for a while and come back under another id, neighbours exchange theirs, boxes
 * tremble, and there is clutter.
 */
export function degraded(frames: Frame[], seed: number): Frame[] {
  const random = randomFrom(seed);
  const names = new Map<string, string>();
  const awayUntil = new Map<string, number>();
  let next = 0;
  return frames.map(({ reference, tracker }, k) => {
    const kept: Obj[] = [];
    for (const object of tracker) {
      if (!names.has(object.id)) names.set(object.id, `d${next++}`);
      if ((awayUntil.get(object.id) ?? -1) > k) continue;
      if (random() < 0.02) {
        awayUntil.set(object.id, k + 2 + Math.floor(random() * 15));
        if (random() < 0.5) names.set(object.id, `d${next++}`);
        continue;
      }
      kept.push({ id: names.get(object.id)!, box: shaken((object as { box: Box }).box, random) });
    }
    swapNeighbours(tracker, names, random);
    return { reference, tracker: [...kept, ...clutter(reference, k, random)] };
  });
}

const shaken = ([left, top, width, height]: Box, random: Random): Box => [
  left + 0.3 * width * (random() - 0.5),
  top + 0.2 * height * (random() - 0.5),
  width,
  height,
];

/** Two tracks that overlap exchange their names now and then. */
function swapNeighbours(tracker: Obj[], names: Map<string, string>, random: Random): void {
  for (let n = 1; n < tracker.length; n++) {
    if (random() > 0.01) continue;
    const own = (tracker[n] as { box: Box }).box;
    const other = tracker.find((each, m) => m < n && overlap((each as { box: Box }).box, own));
    if (!other) continue;
    const [a, b] = [tracker[n].id, other.id];
    const name = names.get(a)!;
    names.set(a, names.get(b)!).set(b, name);
  }
}

const overlap = (a: Box, b: Box) => Math.abs(a[0] - b[0]) < a[2] / 2 && Math.abs(a[1] - b[1]) < a[3] / 2;

/** False objects beside true ones, about one for every twenty. */
function clutter(reference: readonly Obj[], k: number, random: Random): Obj[] {
  return reference.flatMap((object, n) =>
    random() < 0.05 ? [{ id: `c${k}-${n}`, box: shaken((object as { box: Box }).box, random) }] : [],
  );
}

/** The rows of the table; quick ones have fewer frames. */
export function scenes(quick: boolean): Scene[] {
  const cut = (frames: Frame[], most: number) => (quick ? frames.slice(0, most) : frames);
  const mot = motSequences().slice(0, quick ? 6 : undefined);
  const shortMot = mot.map((frames) => cut(frames, 200));
  const poor = [cut(degraded(motSequence('MOT20-01'), 1), 150)];
  const dense = (objects: number) => [crowd(objects, quick ? 34 : 60, 11, CRUSH)];
  const noIds = [withoutIds(crowd(20, quick ? 45 : 100, 11, PILE))];
  const ships = harbour(quick ? 140 : 600);
  const shipping = (cutoff: number) =>
    profile({ distance: 'geodesic', cutoff, admissibleError: 0.68 * cutoff, shortSwitchDistance: 0.34 * cutoff });
  const row = (name: string, sequences: Frame[][], params: Params, windowFrames: number): Scene => ({
    name,
    sequences,
    params,
    windowFrames,
  });
  return [
    row(`${mot.length} MOT results, online`, shortMot, ONLINE, 60),
    row(`${mot.length} MOT results, offline`, shortMot, OFFLINE, 60),
    row(
      `${mot.length} MOT results, online, T 300`,
      mot.map((frames) => cut(frames, 400)),
      ONLINE,
      300,
    ),
    row(
      `${mot.length} MOT results, offline, T 300`,
      mot.map((frames) => cut(frames, 400)),
      OFFLINE,
      300,
    ),
    row('poorer tracker, MOT20-01, online', poor, ONLINE, 60),
    row('poorer tracker, MOT20-01, offline', poor, OFFLINE, 60),
    row('harbour, 200 m', [ships], shipping(200), 60),
    row('harbour, 67.5 m', [ships], shipping(67.5), 60),
    row('dense, 1,000 objects', dense(1000), OFFLINE, 30),
    row('dense, 3,000 objects', dense(3000), OFFLINE, 30),
    row('without ids, 20 objects, T 15', noIds, ONLINE, 15),
    row('without ids, 20 objects, T 30', noIds, ONLINE, 30),
  ];
}
