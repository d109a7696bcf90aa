/**
 * What a seed means: a scene, settings of the evaluator, and what goes wrong when. Of the kinds of run, `usual` has the
 * default patience and interruptions that stay within what is promised; `patient` waits for ever and has everything
 * else; both must end as if nothing had happened. In `damaged` runs the disk is changed behind the evaluator's back.
 */
import { type Config, readConfig } from '../../src/config/config.js';
import { pick, type Random, randomFrom } from '../kit/random.js';
import type { DiskFault } from './disk.js';
import { type Scene, sceneOf } from './scene.js';

export type RunKind = 'usual' | 'patient' | 'damaged';

export type Fault =
  | { kind: 'kill' | 'stop'; downMs: number; losesPower: boolean; damages: number }
  | { kind: 'disk'; fault: DiskFault; forMs: number }
  | { kind: 'cut'; feed: number; clientHearsMs: number; serverHearsMs: number; deadMs: number }
  | { kind: 'stall'; feed: number; forMs: number }
  | { kind: 'suspend'; feed: number | null; forMs: number }
  | { kind: 'clock'; byMs: number };

export interface Plan {
  seed: number;
  kind: RunKind;
  scene: Scene;
  config: Config;
  /** share of looks at the clock that take long, and how long then */
  hiccups: { share: number; mostMs: number };
  faults: Array<{ atMs: number } & Fault>;
}

/** scenes that seeds share, so that what should come of them is worked out once */
const SCENES = 40;

export function planOf(seed: number, chosen?: RunKind): Plan {
  const random = randomFrom(seed * 104_729 + 3);
  const scene = sceneOf(seed % SCENES);
  const drawn = pick(random, ['usual', 'usual', 'patient', 'patient', 'damaged'] as const);
  const kind = chosen ?? drawn;
  const lengthMs = scene.frames * scene.periodMs;
  const faults = Array.from({ length: 1 + Math.floor(random() * 5) }, () => ({
    atMs: random() * lengthMs,
    ...faultOf(random, kind, scene),
  }));
  if (kind === 'damaged')
    faults.push({ atMs: (0.3 + random() * 0.6) * lengthMs, ...restart(random, 1 + Math.floor(random() * 3)) });
  faults.sort((a, b) => a.atMs - b.atMs);
  const hiccups = random() < 0.2 ? { share: 0.002, mostMs: 60 } : { share: 0, mostMs: 0 };
  return { seed, kind, scene, config: configOf(random, kind, scene), hiccups, faults };
}

/** The same scene and settings, and nothing goes wrong. */
export function calm(plan: Plan): Plan {
  const { evaluation } = plan.config;
  const config = { ...configOf(() => 0, 'patient', plan.scene), evaluation };
  return { ...plan, config, faults: [], hiccups: { share: 0, mostMs: 0 } };
}

function configOf(random: Random, kind: RunKind, scene: Scene): Config {
  const pairing = kind === 'usual' ? {} : { latenessMs: 1e7, silenceMs: 1e7, resumeMs: 3e6 };
  const settings = {
    data: {
      snapshotFrames: pick(random, [7, 40, 200, 1000]),
      groupCommitMs: pick(random, [0, 3, 10]),
      storageRetryMs: pick(random, [50, 500]),
    },
    evaluation: { heavyMs: random() < 0.7 ? 600_000 : 0, budgetMs: 600_000, sliceMs: pick(random, [1, 8]) },
    limits: { creditFrames: pick(random, [16, 64, 256]) },
    streams: { defaults: { windowFrames: scene.windowFrames, profiles: scene.profiles, pairing } },
  };
  return readConfig({ text: JSON.stringify(settings), env: {} }).config;
}

const restart = (random: Random, damages = 0): Fault => ({
  kind: random() < 0.75 ? 'kill' : 'stop',
  downMs: random() < 0.5 ? random() * 500 : random() * 8000,
  losesPower: random() < 0.3,
  damages,
});

function faultOf(random: Random, kind: RunKind, scene: Scene): Fault {
  const patient = kind !== 'usual';
  const upTo = (usualMs: number, patientMs: number) => random() * (patient ? patientMs : usualMs);
  const feed = Math.floor(random() * scene.feeds.length);
  switch (pick(random, ['restart', 'restart', 'disk', 'cut', 'cut', 'stall', 'suspend', 'clock'] as const)) {
    case 'restart':
      return restart(random);
    case 'disk':
      return {
        kind: 'disk',
        fault: pick(random, patient ? ['full', 'failing', 'slow'] : ['full', 'failing']),
        forMs: upTo(3000, 20_000),
      };
    case 'cut':
      return {
        kind: 'cut',
        feed,
        clientHearsMs: upTo(300, 60_000),
        serverHearsMs: upTo(300, 60_000),
        deadMs: upTo(5000, 30_000),
      };
    case 'stall':
      return { kind: 'stall', feed, forMs: upTo(1000, 30_000) };
    case 'suspend':
      return random() < 0.5
        ? { kind: 'suspend', feed: null, forMs: upTo(8000, 30_000) }
        : { kind: 'suspend', feed, forMs: upTo(1000, 30_000) };
    default:
      return { kind: 'clock', byMs: pick(random, [-3_600_000, -60_000, 60_000, 3_660_000]) };
  }
}
