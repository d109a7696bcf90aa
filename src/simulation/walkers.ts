/**
 * Walkers before a camera. The crossing: seven cross a 1280 x 720 picture in 300 frames, seen by three simulated
 * trackers with known faults. `steady` is good, `loose` draws sloppy boxes, `faulty` misses, swaps, fragments and
 * invents. The plaza is busier: forty walkers, seen by the good tracker only.
 * Invariant: seeded, so the same frames on every machine; the faults built in are listed, so that what is found can be
 * compared with them.
 */
import type { Box, Frame, Obj } from '../metric/evaluation.js';
import type { PlantedFault } from './planted-fault.js';
import { gaussian, type Random, randomFrom } from './random.js';

/** What three trackers make of the same walkers; the reference is the same in the frames of each. */
export interface SimulatedScene {
  name: string;
  trackers: Array<{ name: string; frames: Frame[]; faults: PlantedFault[] }>;
}

interface Walker {
  id: string;
  /** first and last frame, 1-based */
  from: number;
  to: number;
  start: [x: number, y: number];
  end: [x: number, y: number];
  /** height of the box in pixels */
  size: number;
}

const FRAMES = 300;
const WIDTH = 1280;
const HEIGHT = 720;
const PLAZA_WALKERS = 40;

// walkers 2 and 3 meet at frame 120, walkers 5 and 6 at frame 210
const WALKERS: Walker[] = [
  { id: '1', from: 1, to: 300, start: [120, 420], end: [420, 400], size: 190 },
  { id: '2', from: 20, to: 220, start: [300, 300], end: [900, 330], size: 160 },
  { id: '3', from: 20, to: 220, start: [900, 310], end: [300, 320], size: 160 },
  { id: '4', from: 60, to: 300, start: [1180, 470], end: [700, 450], size: 210 },
  { id: '5', from: 120, to: 300, start: [80, 180], end: [620, 190], size: 120 },
  { id: '6', from: 120, to: 300, start: [620, 185], end: [80, 185], size: 120 },
  { id: '7', from: 1, to: 90, start: [640, 240], end: [1240, 210], size: 130 },
];

const FAULTS: PlantedFault[] = [
  { from: 80, to: 104, what: 'walker 1 is lost for 25 frames' },
  { from: 122, to: 122, what: 'walkers 2 and 3 meet and swap tracks' },
  { from: 150, to: 189, what: 'a ghost track appears where nobody is' },
  { from: 170, to: 170, what: "walker 4's track breaks and continues under a new id" },
  { from: 230, to: 230, what: "walker 4's track breaks again" },
  { from: 240, to: 279, what: 'a burst of clutter: single false boxes' },
];

/** The crossing, built anew. */
export function crossingScene(seed = 7): SimulatedScene {
  return {
    name: 'crossing',
    trackers: [
      { name: 'steady', frames: framesOf(steady(randomFrom(seed))), faults: [] },
      {
        name: 'loose',
        frames: framesOf(loose(randomFrom(seed + 1))),
        faults: [{ from: 1, to: FRAMES, what: 'boxes are imprecise, identities are right' }],
      },
      { name: 'faulty', frames: framesOf(faulty(randomFrom(seed + 2))), faults: FAULTS },
    ],
  };
}

/** The frames of a plaza, as the good tracker sees it; its upper and lower rims are empty. */
export function plazaFrames(seed = 7): Frame[] {
  const random = randomFrom(seed);
  const place = (): [number, number] => [random() * (WIDTH - 60), 180 + random() * (HEIGHT - 420)];
  const walkers = Array.from({ length: PLAZA_WALKERS }, (_, n): Walker => {
    const from = Math.floor(random() * FRAMES * 0.3) + 1;
    const to = FRAMES - Math.floor(random() * FRAMES * 0.3);
    return { id: `${n + 1}`, from, to, start: place(), end: place(), size: 60 + random() * 40 };
  });
  return framesOf(steady(random), walkers);
}

function framesOf(track: (frame: number, present: Walker[]) => Obj[], walkers = WALKERS): Frame[] {
  return Array.from({ length: FRAMES }, (_, index) => {
    const frame = index + 1;
    const present = walkers.filter(({ from, to }) => from <= frame && frame <= to);
    const reference = present.map((walker) => ({ id: walker.id, box: boxAt(walker, frame) }));
    return { reference, tracker: track(frame, present) };
  });
}

/** Starts three frames late, then follows closely. */
function steady(random: Random) {
  return (frame: number, present: Walker[]): Obj[] =>
    present
      .filter(({ from }) => frame >= from + 3)
      .map((walker) => ({ id: `a${walker.id}`, box: shaken(boxAt(walker, frame), 0.025, random) }));
}

/** Never loses anybody, but its boxes wander. */
function loose(random: Random) {
  return (frame: number, present: Walker[]): Obj[] =>
    present.map((walker) => ({ id: `b${walker.id}`, box: shaken(boxAt(walker, frame), 0.039, random) }));
}

/** Close boxes, and every fault of the list, besides one missed box in fifteen. */
function faulty(random: Random) {
  return (frame: number, present: Walker[]): Obj[] => {
    const tracks: Obj[] = [];
    for (const walker of present) {
      const lost = walker.id === '1' && frame >= 80 && frame <= 104;
      const blinked = random() < 1 / 15;
      const box = shaken(boxAt(walker, frame), 0.025, random);
      if (!lost && !blinked) tracks.push({ id: faultyId(walker.id, frame), box });
    }
    if (frame >= 150 && frame <= 189) tracks.push({ id: 'ghost', box: shaken([1080, 120, 60, 150], 0.02, random) });
    if (frame >= 240 && frame <= 279 && random() < 0.7) tracks.push({ id: `clutter${frame}`, box: clutter(random) });
    return tracks;
  };
}

function faultyId(walker: string, frame: number): string {
  if (frame >= 122 && walker === '2') return 'c3';
  if (frame >= 122 && walker === '3') return 'c2';
  if (walker === '4' && frame >= 230) return 'c4-third';
  if (walker === '4' && frame >= 170) return 'c4-second';
  return `c${walker}`;
}

/** Straight from start to end, swaying a little. */
function boxAt({ from, to, start, end, size }: Walker, frame: number): Box {
  const way = (frame - from) / (to - from);
  const sway = Math.sin(frame / 9 + size) * 3;
  const width = size * 0.4;
  const left = start[0] + (end[0] - start[0]) * way - width / 2;
  return [left, start[1] + (end[1] - start[1]) * way + sway, width, size];
}

function shaken([left, top, width, height]: Box, share: number, random: Random): Box {
  const shift = () => gaussian(random) * share;
  return [left + shift() * width, top + shift() * height, width * (1 + shift()), height * (1 + shift())];
}

function clutter(random: Random): Box {
  return [random() * (WIDTH - 80), random() * (HEIGHT - 180), 40 + random() * 40, 90 + random() * 90];
}
