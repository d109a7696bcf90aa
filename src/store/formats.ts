/**
 * Every format in which the program keeps state, with its version, and the way from the version before to the one of
 * today. FORMATS.md is the page for people, and a test holds the two together.
 *
 * Invariants: whoever changes what is stored raises the version here and adds a migration; nobody else looks at
 * versions. A snapshot carries the versions of everything in it. What this program cannot read is refused with a
 * sentence, never guessed at.
 */
import { deserialize, serialize } from 'node:v8';
import { type PackedList, pack, type WireObject } from '../wire/objects.js';

export const FORMATS = {
  database: { version: 3, holds: 'the keys of the LevelDB folder, and checksums: commits, snapshots, events' },
  commit: { version: 1, holds: 'records that became durable together, after a header with their checksum' },
  record: { version: 4, holds: 'one input that changes the state of a stream' },
  event: { version: 1, holds: 'one event of the history, as JSON' },
  stream: { version: 3, holds: 'a stream: its settings, feeds, pairing, series, companions, budget and event numbers' },
  pairing: {
    version: 5,
    holds: 'the feeds of a stream, the reports of references, and parts that arrived before any tracker',
  },
  lane: { version: 5, holds: 'the pairing of the reference with one tracker, and the parts that wait in it' },
  series: { version: 5, holds: 'the numbers and times of the frames in a window, and the newest report' },
  window: { version: 3, holds: 'the frames of a sliding window, its settled totals, and who is assigned to whom' },
  spikes: { version: 8, holds: 'what a spike detector has learned, and the open spikes' },
  companion: { version: 1, holds: 'how many frames the companion scores have seen, and their newest values' },
  performance: {
    version: 3,
    holds:
      'sums over the last settled frames of a series, which give PD, SIAP, latency and bias; objects that are present; the last frames',
  },
  findings: { version: 1, holds: 'what is wrong with the wiring of the feeds, and the parts being examined' },
  incidents: {
    version: 4,
    holds: 'what is wrong with a series, the cause, and how late its tracks usually are',
  },
  layout: { version: 1, holds: 'how many slots a data folder has' },
  notifications: { version: 1, holds: 'which alerts each receiver knows to be firing' },
  remarks: { version: 1, holds: 'what people said about incidents, and which streams they muted' },
  checkpoint: { version: 1, holds: 'how far a growing file has been read' },
} as const satisfies Record<string, { version: number; holds: string }>;

/** What a snapshot of a stream consists of, from the outside in. */
const IN_SNAPSHOT = [
  'stream',
  'pairing',
  'lane',
  'series',
  'window',
  'spikes',
  'companion',
  'performance',
  'findings',
  'incidents',
] as const;
type SnapshotFormat = (typeof IN_SNAPSHOT)[number];
type Versions = Record<SnapshotFormat, number>;

const TODAY = Object.fromEntries(IN_SNAPSHOT.map((name) => [name, FORMATS[name].version])) as Versions;
/** of snapshots that do not say */
const UNSAID = Object.fromEntries(IN_SNAPSHOT.map((name) => [name, 1])) as Versions;

/** A state that this program cannot read. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** The state of a stream as the store holds it. */
export const packSnapshot = (state: unknown): Uint8Array => serialize({ formats: TODAY, state });

/** The state of a stream, of today's versions whatever the stored ones are. `place` names it in mistakes. */
export function unpackSnapshot(bytes: Uint8Array, place: string): unknown {
  const stored = deserialize(bytes) as { formats: Versions; state: unknown } | { version: number };
  const { formats, state } =
    'formats' in stored ? stored : { formats: { ...UNSAID, stream: stored.version }, state: stored };
  // what came later than versions is not named in all of them
  const versions = { ...UNSAID, ...formats };
  for (const name of IN_SNAPSHOT) requireReadable(name, versions[name], place);
  for (const name of IN_SNAPSHOT) migrate(name, versions[name], state as SnapshotState);
  return state;
}

/** Refuses a version that is newer than this program, or older than its migrations reach. */
export function requireReadable(name: keyof typeof FORMATS, version: unknown, place: string): void {
  const { version: today } = FORMATS[name];
  const oldest = name === 'database' ? 2 : 1;
  if (Number.isInteger(version) && (version as number) >= oldest && (version as number) <= today) return;
  const part = name === 'database' ? '' : ` of ${name}`;
  const reads = oldest === today ? `${today}` : `${oldest} to ${today}`;
  throw new FormatError(
    `${place} was written by format ${version}${part} and this program reads format ${reads}; use another data.dir, or the program that wrote it`,
  );
}

/** As much of a snapshot as migrations look at. */
interface SnapshotState {
  version?: number;
  pairing: {
    reference: StoredFeed | null;
    trackers: Record<string, StoredFeed>;
    early: StoredArrival[];
    lanes: Record<string, StoredLane>;
    truths?: StoredTrajectories | null;
  };
  series: Array<{ spikes?: StoredSpikes; incidents?: StoredIncidents; performance?: StoredPerformance }>;
  /** of trackers that are gone while their reference lives */
  dormant?: Array<[series: string, spikes: StoredSpikes]>;
  dormantIncidents?: Array<[series: string, name: unknown, incidents: StoredIncidents]>;
}

interface StoredPerformance {
  older: { latency?: unknown };
  younger: { latency?: unknown } | null;
}

interface StoredTrajectories {
  intervals: number[];
  newestMs: number;
}

interface StoredFeed {
  lastReceivedMs: number;
  quietMs?: number;
}

interface StoredPart {
  /** version 1: one by one or packed */
  objects: readonly WireObject[] | PackedList;
}

interface StoredArrival {
  part: StoredPart;
  receivedMs: number;
  sinceMs?: number;
  optional?: boolean;
}

interface StoredSide {
  pending: StoredArrival[];
  /** version 1 */
  frontier?: number;
  closedUpTo?: number;
  /** version 2 */
  dropped?: number[];
  epoch?: number;
  suspect?: null;
}

interface StoredLane {
  reports?: { tracks: StoredTrajectories | null };
  reference: StoredSide;
  tracker: StoredSide;
  undecided: StoredArrival[];
  history: StoredArrival[];
  sampled?: string | null;
  givenUpTo?: Record<number, number>;
  resuming?: null;
  countsFromMs?: number;
}

interface StoredSpikes {
  version?: number;
  /** version 1 */
  numbers?: number[];
  pieces?: Record<string, number[]>;
  census?: {
    truths: Array<[id: string, ...numbers: number[]]>;
    risen?: unknown[];
    switched?: unknown[][];
    switchesWaiting?: unknown[][];
    lostTracks?: unknown[];
  };
}

interface StoredIncidents {
  open: { signals: Array<{ signal: string; observed: number; over: boolean }> } | null;
  timing: Record<string, unknown>;
}

/** What detectors keep, of the trackers that are there and of those that are gone. */
const spikesOf = ({ series, dormant = [] }: SnapshotState): StoredSpikes[] => [
  ...series.flatMap(({ spikes }) => spikes ?? []),
  ...dormant.map(([, spikes]) => spikes),
];
const incidentsOf = ({ series, dormantIncidents = [] }: SnapshotState): StoredIncidents[] => [
  ...series.flatMap(({ incidents }) => incidents ?? []),
  ...dormantIncidents.map(([, , incidents]) => incidents),
];

/** [n]: from version n to n + 1, in place. */
const MIGRATIONS: Partial<Record<SnapshotFormat, Record<number, (state: SnapshotState) => void>>> = {
  stream: {
    1: (state) => {
      delete state.version;
    },
    // what the budget follows from is learned anew
    2: () => {},
  },
  pairing: {
    1: ({ pairing }) => pairing.early.forEach(packPart),
    2: ({ pairing }) => {
      for (const early of pairing.early) Object.assign(early, { sinceMs: early.receivedMs, optional: true });
      for (const feed of [pairing.reference, ...Object.values(pairing.trackers)])
        if (feed) feed.quietMs = feed.lastReceivedMs;
    },
    // nobody reported objects one by one
    3: () => {},
    4: ({ pairing }) => addWaits(pairing.truths),
  },
  lane: {
    1: ({ pairing }) => Object.values(pairing.lanes).forEach(renewLane),
    2: ({ pairing }) => Object.values(pairing.lanes).forEach(addResuming),
    3: () => {},
    4: ({ pairing }) => {
      for (const { reports } of Object.values(pairing.lanes)) addWaits(reports?.tracks);
    },
  },
  // before, frames settled whether their window was proven or not
  series: {
    1: () => {},
    // everything was judged
    2: () => {},
    // nothing was measured
    3: () => {},
    // classes were not kept apart
    4: () => {},
  },
  window: { 1: () => {}, 2: () => {} },
  performance: {
    // how late a tracker is is looked for anew
    1: () => {},
    2: ({ series }) => {
      for (const { performance } of series)
        for (const sums of [performance?.older, performance?.younger]) if (sums) delete sums.latency;
    },
  },
  spikes: {
    1: (state) => spikesOf(state).forEach(nameNumbers),
    2: (state) => spikesOf(state).forEach(keepLasting),
    3: (state) => {
      for (const { census } of spikesOf(state)) census?.truths.forEach(addOwnLevel);
    },
    4: (state) => spikesOf(state).forEach(addAges),
    5: (state) => spikesOf(state).forEach(addAtOnce),
    6: (state) => spikesOf(state).forEach(addHabits),
    7: (state) => spikesOf(state).forEach(addCrowds),
  },
  incidents: {
    1: (state) => incidentsOf(state).forEach(renewTiming),
    2: (state) => incidentsOf(state).forEach(addPeak),
    3: (state) => incidentsOf(state).forEach(addPace),
  },
};

function migrate(name: SnapshotFormat, from: number, state: SnapshotState): void {
  for (let version = from; version < FORMATS[name].version; version++) MIGRATIONS[name]![version](state);
}

/** Version 4 knows an own level of each truth for small shifts, which begins anew; the last number stays last. */
function addOwnLevel(truth: [id: string, ...numbers: number[]]): void {
  truth.splice(-1, 0, ...OWN_LEVEL_ANEW);
}

/** In version 4: nothing gathered, no means, nothing believed; two shifts, neither of them begun, show in full. */
const OWN_LEVEL_ANEW = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];

/** In version 4: what a count detector has learned stands behind its own numbers, in so many vectors of sums. */
const COUNTED = { at: 18, vectors: 15, sums: 15, kept: 11, carried: 11, ended: 12, surprise: 13 };
/** and so many of the numbers of a truth stand before those that were added. */
const TRUTH_NUMBERS_KEPT = 6;

/** Version 5 knows runs by four ages, how often objects are lost and tracks are false, and times without any find. */
function addAges({ pieces = {}, census }: StoredSpikes): void {
  for (const name of ['missed', 'false', 'switch']) if (pieces[name]) pieces[name] = withAges(pieces[name]);
  pieces.floor?.push(0, 0, 0);
  if (!census) return;
  for (const truth of census.truths) truth.splice(TRUTH_NUMBERS_KEPT, 0, 0, 0);
  census.risen = [];
}

/** Runs were counted up to the third age, as if they ended alike. */
function withAges(numbers: number[]): number[] {
  const { at, vectors, sums, kept, carried, ended, surprise } = COUNTED;
  const widened = Array.from({ length: vectors }, (_, n) => {
    const old = numbers.slice(at + n * sums, at + (n + 1) * sums);
    const byAge = (value: number) => [value / 3, value / 3, value / 3, 0];
    return [...old.slice(0, kept), ...old.slice(surprise), ...byAge(old[carried]), ...byAge(old[ended])];
  });
  return [...numbers.slice(0, at), ...widened.flat(), ...numbers.slice(at + vectors * sums)];
}

/** In version 5: where the changes that are tested end, and how many numbers there are of each kind of evidence. */
const TESTED = { at: 15, numbers: 84, levels: 2 };

/** Version 6 tests runs that begin at once by themselves: without evidence so far. */
function addAtOnce({ pieces = {} }: StoredSpikes): void {
  const { at, numbers, levels } = TESTED;
  for (const own of [pieces.missed, pieces.false]) {
    own?.splice(own.length - levels * numbers, 0, ...new Array<number>(numbers).fill(0));
    own?.splice(at, 0, 0, 0);
  }
}

/** In version 6: numbers of the episode of each signal. */
const EPISODE_LENGTH = 20;

/** Version 7 knows who went back to a track, and how many tracks were false when a spike began: not so far. */
function addHabits({ pieces = {}, census }: StoredSpikes): void {
  const { episodes } = pieces;
  for (let at = episodes?.length ?? 0; at > 0; at -= EPISODE_LENGTH) episodes!.splice(at, 0, 0, 0);
  if (census) Object.assign(census, { switched: [], switchesWaiting: [] });
}

/** In version 7: where the vectors of sums of a count detector begin, how many there are, and how long each is. */
const SUMMED = { at: { missed: 20, false: 20, switch: 18 }, vectors: 15, sums: 21, begun: 0, objects: 6, seconds: 7 };

/**
 * Version 8 knows how many objects there are when something comes, so far as many as at any time; which tracks objects
 * had that are lost; and when they changed their tracks the last time that counted.
 */
function addCrowds({ pieces = {}, census }: StoredSpikes): void {
  const { vectors, sums, begun, objects, seconds } = SUMMED;
  for (const name of ['missed', 'false', 'switch'] as const)
    for (let n = pieces[name] ? vectors : 0; n > 0; n--) {
      const own = pieces[name]!;
      const at = SUMMED.at[name] + (n - 1) * sums;
      const usual = own[at + seconds] > 0 ? own[at + objects] / own[at + seconds] : 0;
      own.splice(at + sums, 0, own[at + begun] * usual, own[at + objects] * usual);
    }
  if (!census) return;
  census.lostTracks = [];
  // none of them counted lately
  for (const truth of census.switched ?? []) truth.splice(3, 0, -(2 ** 40));
  for (const waiting of census.switchesWaiting ?? []) waiting.push(0);
}

/** Version 2 has another test for tracks that are a little late, which learns anew; that they are late is kept. */
function renewTiming(incidents: StoredIncidents): void {
  const late = incidents.open?.signals.find(({ signal, over }) => signal === 'timing' && !over);
  incidents.timing = { ...TIMING_ANEW, late: late?.observed ?? 0, seen: [] };
}

/** Version 3 remembers what looked like a lag and came to nothing: nothing so far. */
function addPeak({ timing }: StoredIncidents): void {
  timing.peak = 0;
}

/** Version 4 knows how many truths tell of a lag, and at which pace frames come: nothing of that so far. */
function addPace({ timing }: StoredIncidents): void {
  Object.assign(timing, { tellers: 0, time: 0, interval: 0, otherInterval: 0 });
}

/** In version 2: nothing looked at, nothing known, and the variance of a look that is believed before. */
const NO_SIDE = { evidence: 0, looks: 0, more: 0 };
const TIMING_ANEW = {
  ...{ frames: 0, usual: 0, known: 0, variance: 0.1, blockVariance: 0.1, blocks: 0, blockLooks: 0, blockMore: 0 },
  ...{ behind: NO_SIDE, ahead: NO_SIDE },
};

/** Version 2 has objects packed only. */
function packPart({ part }: { part: StoredPart }): void {
  if (Array.isArray(part.objects)) part.objects = pack(part.objects);
}

/** Times between reports and those that were waited for were not told apart, nor was the newest object from others. */
function addWaits(trajectories: StoredTrajectories | null | undefined): void {
  if (!trajectories) return;
  const { intervals, newestMs } = trajectories;
  Object.assign(trajectories, { waits: [...intervals], newestId: null, othersMs: newestMs });
}

/** Version 2 says up to where steps are closed by that name, and always which feed is sampled. */
function renewLane(lane: StoredLane): void {
  for (const side of [lane.reference, lane.tracker]) {
    side.closedUpTo = side.frontier;
    delete side.frontier;
    side.pending.forEach(packPart);
  }
  lane.undecided.forEach(packPart);
  lane.history.forEach(packPart);
  lane.sampled ??= lane.history.length > 0 ? 'reference' : null;
}

/**
 * Version 3 knows the last place given up instead of a list, parts that are doubted, feeds that come back, and since
 * when a part waits, apart from when it came.
 */
function addResuming(lane: StoredLane): void {
  const { dropped = [], epoch = 0 } = lane.tracker;
  lane.givenUpTo = dropped.length > 0 ? { [epoch]: Math.max(...dropped) } : {};
  for (const side of [lane.reference, lane.tracker]) {
    side.suspect = null;
    delete side.dropped;
  }
  const { reference, tracker, undecided, history } = lane;
  for (const arrival of [...reference.pending, ...tracker.pending, ...undecided, ...history])
    arrival.sinceMs = arrival.receivedMs;
  lane.resuming = null;
  lane.countsFromMs = -Number.MAX_VALUE;
}

/** Where the numbers of version 1 stood: common ones, how many spikes there were, four detectors, four episodes. */
const SPIKE_NUMBERS = [
  ['common', 4],
  ['counts', 4],
  ...[['missed', 40] as const, ['false', 40] as const, ['switch', 36] as const, ['localization', 33] as const],
  ['episodes', 4 * 8],
] as const;

/** Version 2 has the numbers of each part of a detector by its name. */
function nameNumbers(spikes: StoredSpikes): void {
  const { numbers = [] } = spikes;
  const pieces: Record<string, number[]> = {};
  let at = 0;
  for (const [name, size] of SPIKE_NUMBERS) {
    pieces[name] = numbers.slice(at, at + size);
    at += size;
  }
  delete spikes.version;
  delete spikes.numbers;
  Object.assign(spikes, { pieces: numbers.length === at ? pieces : {} });
}

/** Of version 2: signals in the order of their episodes, and where those say that a spike lasts, and since when. */
const SPIKE_SIGNALS = ['missed', 'false', 'switch', 'localization'];
const EPISODE_NUMBERS = { size: 8, active: 2, firstFrame: 4 };

/** Version 3 learns in seconds and by other rules: kept is how many spikes there were, and which of them last. */
function keepLasting(spikes: StoredSpikes): void {
  const { counts, episodes = [] } = spikes.pieces ?? {};
  const { size, active, firstFrame } = EPISODE_NUMBERS;
  const lasting = SPIKE_SIGNALS.map((signal, n) => ({ signal, at: n * size }))
    .filter(({ at }) => episodes[at + active] === 1)
    .map(({ signal, at }) => ({ signal, k: episodes[at + firstFrame] }));
  for (const key of ['held', 'missed', 'false'] as const) delete (spikes as Record<string, unknown>)[key];
  Object.assign(spikes, { pieces: counts ? { counts } : {}, lasting });
}
