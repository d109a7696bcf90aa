/**
 * What the data folders in test/cases/data-folders are made of: streams that leave something of every kind behind when
 * they are cut (parts that wait, a numbering begun anew, learned spikes, a spike that lasts, scores, reports without a
 * frame, performance, classes, a heavy stream, records behind the snapshots), and how they go on. It knows nothing of
 * the program but these calls, so that any version of it can write a folder.
 */

export interface SceneFeed {
  stream: string;
  role: 'reference' | 'tracker';
  tracker: string | null;
}

export interface SceneObject {
  id: string;
  box?: [number, number, number, number];
  point?: number[];
  class?: string;
  confidence?: number;
  /** its own time, of a report */
  t?: number;
}

export interface ScenePart {
  seq: number;
  k?: number;
  t?: number;
  objects: SceneObject[];
  reports?: true;
}

/** What a scene asks of a pipeline. */
export interface SceneTarget {
  openFeed(feed: SceneFeed): object | Promise<object>;
  ingest(feed: SceneFeed, part: ScenePart, receivedMs: number): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export const SCENE_START_MS = 1_763_251_200_000;
const FRAME_MS = 40;
/** moments of the scene; all folders are cut after moment `CUT` */
export const CUT = 56;
export const LENGTH = 110;

export const clockAt = (moment: number) => SCENE_START_MS + moment * FRAME_MS;

/** The configuration; a heavy stream is one that is so with `heavyMs` 0. */
export const sceneConfig = (dir: string, evaluation: Record<string, unknown> = {}) => ({
  data: { dir, groupCommitMs: 1, snapshotFrames: 100_000 },
  profiles: { metres: { distance: 'euclidean', cutoff: 30, exponent: 2, switchPenalty: 5 } },
  evaluation: { ...evaluation },
  streams: {
    defaults: {
      windowFrames: 10,
      profiles: ['online-surveillance'],
      pairing: { latenessMs: 1e7, silenceMs: 1e7, restartFrames: 10 },
      // quick enough for a spike to be there at the cut
      spikes: { learnFrames: 15, calmFrames: 6, falseAlarmSeconds: 60 },
    },
    gate: { scores: { enabled: true, strideFrames: 5 } },
    field: { profiles: ['metres'], pairing: { by: 'time', reference: 'linear' } },
    belt: { pairing: { heldTrackers: ['slow'] } },
    coast: {
      profiles: ['metres'],
      pairing: { by: 'time', latenessMs: 200 },
      reports: { greatestGapMs: 2000 },
      performance: { enabled: true, strideFrames: 5, latencyFrames: 16 },
      classes: { apart: true },
    },
  },
});

const feed = (stream: string, tracker: string | null = null): SceneFeed => ({
  stream,
  role: tracker === null ? 'reference' : 'tracker',
  tracker,
});

/** Objects side by side that drift; every 17 moments two tracks swap their ids. */
function boxes(n: number, tracks: boolean, count = 4): SceneObject[] {
  const swap = tracks ? Math.floor(n / 17) % 2 : 0;
  return Array.from({ length: count }, (_, i) => ({
    id: `${tracks ? 't' : 'g'}${i < 2 ? (i + swap) % 2 : i}`,
    box: [i * 15 + (n % 50) + (tracks ? ((n * (i + 3)) % 5) / 2 : 0), 2 * i, 20, 40],
    ...(i % 2 === 0 ? { class: 'person' } : {}),
    ...(tracks ? { confidence: 0.5 + i / 8 } : {}),
  }));
}

const points = (n: number, tracks: boolean): SceneObject[] =>
  [0, 1, 2].map((i) => ({ id: `p${i}`, point: [40 * i + n + (tracks ? (n % 3) / 2 : 0), 10 * i] }));

const ship = (i: number, n: number, track: boolean): SceneObject => ({
  id: `s${i}`,
  point: [60 * i + 1.5 * n + (track ? (n % 3) / 2 : 0), 20 * i],
  class: i === 0 ? 'ferry' : 'cargo',
});

/** Ships that report themselves in turn, and a radar that sees all of them at once. */
function* coastAt(n: number): Generator<{ feed: SceneFeed; part: ScenePart }> {
  const t = clockAt(n) / 1000;
  yield { feed: feed('coast'), part: { seq: n, reports: true, objects: [{ ...ship(n % 3, n, false), t }] } };
  const objects = [0, 1, 2].filter((i) => (n + i) % 7 !== 0).map((i) => ship(i, n, true));
  yield { feed: feed('coast', 'radar'), part: { seq: n, t, objects } };
}

/** the numbers of `gate` begin anew at this moment */
const RENUMBERED = 31;
const numberAt = (n: number) => (n < RENUMBERED ? n : n - RENUMBERED + 1);
/** `deep` sees nothing in these moments */
const isBlind = (n: number) => n >= 45 && n < 70;

/** What comes at a moment, in this order. */
function* partsAt(n: number): Generator<{ feed: SceneFeed; part: ScenePart }> {
  const byNumber = (id: SceneFeed, at: number, objects: SceneObject[]) => ({
    feed: id,
    part: { seq: at, k: numberAt(at), objects },
  });
  yield byNumber(feed('gate'), n, boxes(n, false));
  if (n > 3) yield byNumber(feed('gate', 'sort'), n - 3, boxes(n - 3, true));
  if (n > 6) yield byNumber(feed('gate', 'deep'), n - 6, isBlind(n - 6) ? [] : boxes(n - 6, true).reverse());
  const t = (SCENE_START_MS + n * FRAME_MS) / 1000;
  if (n % 3 === 1) yield { feed: feed('field'), part: { seq: n, t, objects: points(n, false) } };
  yield { feed: feed('field', 'radar'), part: { seq: n, t, objects: points(n, true) } };
  yield { feed: feed('belt'), part: { seq: n, k: n, objects: boxes(n, false, 2) } };
  if (n % 4 === 0) yield { feed: feed('belt', 'slow'), part: { seq: n, k: n, objects: boxes(n, true, 2) } };
  yield* coastAt(n);
  // nobody answers before the cut: the tracker of the dock has said hello, that of the yard has not
  if (n > CUT - 5) {
    for (const stream of ['dock', 'yard']) {
      yield { feed: feed(stream), part: { seq: n, k: n, objects: boxes(n, false, 1) } };
      if (n > CUT + 2) yield { feed: feed(stream, 'late'), part: { seq: n, k: n - 4, objects: boxes(n - 4, true, 1) } };
    }
  }
}

function* harbourAt(n: number): Generator<{ feed: SceneFeed; part: ScenePart }> {
  yield { feed: feed('harbour'), part: { seq: n, k: n, objects: boxes(n, false, 3) } };
  yield { feed: feed('harbour', 'radar'), part: { seq: n, k: n, objects: boxes(n, true, 3) } };
}

/** Opens feeds; those of the yard's tracker only after the cut. */
export async function openFeeds(live: SceneTarget, afterCut: boolean): Promise<void> {
  const feeds = [
    feed('gate'),
    ...[feed('gate', 'sort'), feed('gate', 'deep'), feed('field'), feed('field', 'radar'), feed('belt')],
    ...[
      feed('belt', 'slow'),
      feed('dock'),
      feed('dock', 'late'),
      feed('yard'),
      feed('harbour'),
      feed('harbour', 'radar'),
    ],
    ...[feed('coast'), feed('coast', 'radar')],
    ...(afterCut ? [feed('yard', 'late')] : []),
  ];
  for (const id of feeds) {
    const answer = await live.openFeed(id);
    if (!('nextSeq' in answer)) throw new Error(JSON.stringify(answer));
  }
}

/** Sends the moments from `first` to `last`; resolves when all are stored. */
export async function sendScene(
  live: SceneTarget,
  clock: { nowMs: number },
  first: number,
  last: number,
  parts: 'harbour' | 'others' | 'all' = 'all',
): Promise<void> {
  const stored: Promise<void>[] = [];
  for (let n = first; n <= last; n++) {
    clock.nowMs = clockAt(n);
    const all = [...(parts === 'harbour' ? [] : partsAt(n)), ...(parts === 'others' ? [] : harbourAt(n))];
    for (const { feed: id, part } of all) stored.push(live.ingest(id, part, clock.nowMs));
    // one moment after the other: the order of records is the same in every run
    await Promise.all(stored.splice(0));
  }
}

/**
 * Writes a folder: most of it before snapshots, the harbour once solves count as long, and the last moments behind the
 * snapshots, as a crash leaves them.
 */
export async function writeDataFolder(
  open: (config: object) => Promise<SceneTarget>,
  clock: { nowMs: number },
  dir: string,
): Promise<void> {
  clock.nowMs = clockAt(0);
  const light = await open(sceneConfig(dir));
  await openFeeds(light, false);
  await sendScene(light, clock, 1, CUT - 4, 'others');
  await light.stop();
  const heavy = await open(sceneConfig(dir, { heavyMs: 0 }));
  await sendScene(heavy, clock, 1, CUT - 4, 'harbour');
  await heavy.stop();
  const cut = await open(sceneConfig(dir));
  await sendScene(cut, clock, CUT - 3, CUT);
  await cut.kill();
}
