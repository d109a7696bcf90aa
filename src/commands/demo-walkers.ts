/**
 * The scenes of walkers before a camera, boxes, frame by frame: a crossing with seven of them, and a busier plaza. The
 * faulty tracker has one fault in a round, and what was wrong in one does not hide the next: so each can be found, and
 * named.
 */
import type { ClientObject, FeedClient } from '../client.js';
import type { Box, Frame, Obj } from '../index.js';
import { randomFrom } from '../simulation/random.js';
import { crossingScene, plazaFrames } from '../simulation/walkers.js';
import type { DemoFault, DemoFeeds, DemoScene } from './demo-scene.js';
import { openFeed, type Pace } from './player.js';

const GOOD = 'steady';
const FAULTY = 'faulty';
/** Short enough for the silence to show: it lasts 5 s at the default pace. */
const SETTINGS = { pairing: { latenessMs: 500, silenceMs: 1000 } };
const FIRST_SEED = 7;
const FALSE_BOXES = 3;
const GHOSTS: Box[] = [
  [1080, 20, 60, 150],
  [60, 560, 60, 150],
];
/** Frames after which tracks break again. */
const BREAK_FRAMES = 25;
/** Walkers who keep their track, whatever happens to those of others. */
const KEPT: ReadonlySet<string> = new Set(['c2', 'c3', 'c7']);

/** A fault, and what becomes of the good tracks of a frame (1-based) while it lasts; null: nothing is sent. */
export interface WalkerFault extends DemoFault {
  round: number;
  apply(tracks: Obj[], frame: number, random: () => number): Obj[] | null;
}

/** Rounds after which the faults begin anew; one is calm, so that false tracks of another kind are news. */
const CYCLE = 5;

export const WALKER_FAULTS: readonly WalkerFault[] = [
  { round: 1, from: 60, to: 159, what: 'it sends nothing at all', apply: () => null },
  {
    round: 2,
    from: 90,
    to: 249,
    what: 'a burst of clutter: three false boxes per frame',
    apply: (tracks, frame, random) => [
      ...tracks,
      ...Array.from({ length: FALSE_BOXES }, (_, n) => ({ id: `clutter${frame}-${n}`, box: somewhere(random) })),
    ],
  },
  {
    round: 3,
    from: 122,
    to: 300,
    what: 'walkers 2 and 3 swap tracks, others get new ones',
    apply: (tracks, frame) => tracks.map((track) => ({ ...track, id: brokenId(track.id, frame) })),
  },
  {
    round: 5,
    from: 90,
    to: 249,
    what: 'two ghost tracks where nobody is',
    apply: (tracks, _, random) => [
      ...tracks,
      ...GHOSTS.map(([left, top, ...size], n) => ({
        id: `ghost${n + 1}`,
        box: [left + random(), top + random(), ...size] as Box,
      })),
    ],
  },
];

export const crossingDemo = (): DemoScene => walkerDemo('crossing', crossingFrames);
export const plazaDemo = (): DemoScene => walkerDemo('plaza', plazaFrames);

const crossingFrames = (seed: number): Frame[] =>
  crossingScene(seed).trackers.find(({ name }) => name === GOOD)!.frames;

function walkerDemo(stream: string, framesOf: (seed: number) => Frame[]): DemoScene {
  return {
    stream,
    trackers: [GOOD, FAULTY],
    config: {},
    unit: 'frame',
    roundLength: framesOf(FIRST_SEED).length,
    faults: WALKER_FAULTS,
    about: [],
    open: (url) => open(url, stream),
    play: (feeds, rounds, pace) => play(feeds, rounds, pace, framesOf),
  };
}

const open = (url: string, stream: string): DemoFeeds => ({
  reference: openFeed({ url, stream, role: 'reference', settings: SETTINGS }),
  good: openFeed({ url, stream, role: 'tracker', tracker: GOOD, settings: SETTINGS }),
  faulty: openFeed({ url, stream, role: 'tracker', tracker: FAULTY, settings: SETTINGS }),
});

/** What all feeds see in a round, with new people each time; `faulty` is null where it says nothing. */
export function walkerRound(
  lap: number,
  calm: number,
  framesOf: (seed: number) => Frame[],
): Array<{ reference: Obj[]; good: Obj[]; faulty: Obj[] | null }> {
  const random = randomFrom(lap);
  const fault = WALKER_FAULTS.find(({ round }) => lap > calm && round === ((lap - calm - 1) % CYCLE) + 1);
  const renamed = (objects: Obj[]) => objects.map((object) => ({ ...object, id: `${object.id}/${lap}` }));
  return framesOf(FIRST_SEED + 3 * (lap - 1)).map(({ reference, tracker }, index) => {
    const frame = index + 1;
    const own = tracker.map((track) => ({ ...track, id: track.id.replace(/^a/, 'c') }));
    const isWrong = fault !== undefined && frame >= fault.from && frame <= fault.to;
    const faulty = isWrong ? fault.apply(own, frame, random) : own;
    return { reference: renamed(reference), good: renamed(tracker), faulty: faulty && renamed(faulty) };
  });
}

/** Round after round. */
async function play(
  feeds: DemoFeeds,
  { first, calm }: { first: number; calm: number },
  pace: Pace,
  framesOf: (seed: number) => Frame[],
): Promise<void> {
  for (let k = first, lap = 1; ; lap++)
    for (const { reference, good, faulty } of walkerRound(lap, calm, framesOf)) {
      if (!(await pace.due())) return;
      const send = (client: FeedClient, objects: Obj[]) =>
        client.send({ k, t: Date.now() / 1000, objects: objects as ClientObject[] });
      await send(feeds.reference, reference);
      await send(feeds.good, good);
      if (faulty) await send(feeds.faulty, faulty);
      k++;
    }
}

function brokenId(id: string, frame: number): string {
  if (id === 'c2') return 'c3';
  if (id === 'c3') return 'c2';
  return KEPT.has(id) ? id : `${id}-${Math.floor((frame - 122) / BREAK_FRAMES)}`;
}

const somewhere = (random: () => number): Box => [
  random() * 1200,
  random() * 540,
  40 + random() * 40,
  90 + random() * 90,
];
