/** The scene of walkers before a camera: boxes, frame by frame; the first round is what `tgospa eval --demo` shows. */
import type { ClientObject, FeedClient } from '../client.js';
import type { Frame, Obj } from '../index.js';
import { crossingScene, type Fault, type SimulatedScene } from '../simulation/walkers.js';
import type { DemoFeeds, DemoScene } from './demo-scene.js';
import { openFeed, type Pace } from './player.js';

const STREAM = 'crossing';
const GOOD = 'steady';
const FAULTY = 'faulty';
/** The scripted fault that only a live feed can have; frames of one round, 1-based. */
const SILENCE: Fault = { from: 20, to: 69, what: 'says nothing at all' };
/** Short enough for the silence to show: it lasts 2.5 s at the default pace. */
const SETTINGS = { pairing: { latenessMs: 500, silenceMs: 1000 } };
const FIRST_SEED = 7;

export function crossingDemo(): DemoScene {
  const { trackers } = crossingScene();
  const scripted = trackers.find(({ name }) => name === FAULTY)!.faults;
  return {
    stream: STREAM,
    trackers: [GOOD, FAULTY],
    config: {},
    unit: 'frame',
    roundLength: trackers[0].frames.length,
    faults: [...scripted, SILENCE].sort((a, b) => a.from - b.from),
    about: [],
    open,
    play,
  };
}

const open = (url: string): DemoFeeds => ({
  reference: openFeed({ url, stream: STREAM, role: 'reference', settings: SETTINGS }),
  good: openFeed({ url, stream: STREAM, role: 'tracker', tracker: GOOD, settings: SETTINGS }),
  faulty: openFeed({ url, stream: STREAM, role: 'tracker', tracker: FAULTY, settings: SETTINGS }),
});

/** Round after round, with new people each time. */
async function play(feeds: DemoFeeds, { first, calm }: { first: number; calm: number }, pace: Pace): Promise<void> {
  for (let k = first, lap = 1; ; lap++) {
    const scene = crossingScene(FIRST_SEED + 3 * (lap - 1));
    const good = framesOf(scene, GOOD);
    const isCalm = lap <= calm;
    const faulty = isCalm ? good.map(asFaultyNames) : framesOf(scene, FAULTY);
    for (let index = 0; index < good.length; index++, k++) {
      if (!(await pace.due())) return;
      const send = (client: FeedClient, objects: Obj[]) =>
        client.send({ k, t: Date.now() / 1000, objects: renamed(objects, lap) });
      await send(feeds.reference, good[index].reference);
      await send(feeds.good, good[index].tracker);
      if (isCalm || !isSilent(index + 1)) await send(feeds.faulty, faulty[index].tracker);
    }
  }
}

const framesOf = (scene: SimulatedScene, tracker: string) =>
  scene.trackers.find(({ name }) => name === tracker)!.frames;

/** The faulty tracker while it is good: the good one's tracks under its own names. */
const asFaultyNames = (frame: Frame): Frame => ({
  ...frame,
  tracker: frame.tracker.map((object) => ({ ...object, id: object.id.replace(/^a/, 'c') })),
});

const isSilent = (frame: number) => frame >= SILENCE.from && frame <= SILENCE.to;

const renamed = (objects: Obj[], lap: number): ClientObject[] =>
  objects.map((object) => ({ ...object, id: `${object.id}/${lap}` }) as ClientObject);
