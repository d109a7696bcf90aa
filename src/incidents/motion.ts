/**
 * Causes that show in time: nothing comes, nothing moves, frames are left out, or everything comes late. Pure functions
 * of a scene; each gives the figures of its cause, or null.
 */
import type { Evidence } from '../wire/findings.js';
import { agreementAt, type FeedSample, median } from '../wiring/agreement.js';
import { bestFrameShift, rounded } from '../wiring/hypotheses.js';
import { centreOf, type Lag, lagOf } from '../wiring/lag.js';
import type { IncidentScene } from './scene.js';
import {
  AS_BEFORE,
  BEFORE_MIN,
  ERROR_MAX,
  FEW_GAIN_MIN,
  FEW_TELLERS,
  FRAMES_MIN,
  GAIN_MIN,
  LAG_MIN,
  LAG_TRUTHS_MIN,
  LOOK_ERROR_MAX,
  REGULAR_SHARE,
  RUNS_SHARE,
  SHARE_MIN,
  SILENT_SHARE,
  SKIPPED_MIN,
  STILL_SHARE,
  STILL_TRUTHS_MAX,
  UNKNOWN_LAG_MIN,
  VELOCITY_REACH,
  WAY_SHARE,
} from './thresholds.js';

/** No tracks at all, lately. */
export function silent(scene: IncidentScene): Evidence | null {
  let [frames, empty, truths] = [0, 0, 0];
  for (const n of scene.bad()) {
    if (scene.truths(n).ids.length === 0) continue;
    frames++;
    if (scene.tracks(n).ids.length === 0) empty++;
    truths = scene.truths(n).ids.length;
  }
  return frames >= FRAMES_MIN && empty >= SILENT_SHARE * frames ? { frames: empty, objects: truths } : null;
}

/** Frames without any track between others, or frames that repeat the one before, while the objects move. */
export function framesSkipped(scene: IncidentScene): Evidence | null {
  const frames = [...scene.bad()].filter((n) => scene.truths(n).ids.length > 0);
  if (frames.length < 2 * FRAMES_MIN) return null;
  const isEmpty = (n: number) => scene.tracks(n).ids.length === 0;
  const repeats = (n: number) => n > scene.first && isStill(scene, 'tracker', n) && !isStill(scene, 'reference', n);
  for (const skips of [isEmpty, repeats]) {
    const skipped = frames.map(skips);
    const count = skipped.filter(Boolean).length;
    if (count < SKIPPED_MIN * frames.length || count >= SILENT_SHARE * frames.length) continue;
    // here and there: all in a row was an outage
    const runs = skipped.filter((one, n) => one && !skipped[n - 1]).length;
    if (runs < RUNS_SHARE * (frames.length - count)) continue;
    // whether the first one repeats another is not known
    return {
      every: everyOf(skips === repeats ? skipped.slice(1) : skipped),
      frames: frames.length,
      skipped: count,
      repeated: skips === repeats,
    };
  }
  return null;
}

/** One frame in so many is answered: mostly the same, or in the mean. */
function everyOf(skipped: readonly boolean[]): number {
  const answered = skipped.flatMap((one, n) => (one ? [] : [n]));
  const gaps = answered.slice(1).map((n, before) => n - answered[before]);
  const usual = median(gaps);
  const regular = gaps.filter((gap) => gap === usual).length >= REGULAR_SHARE * gaps.length;
  return regular && usual > 1 ? usual : rounded(skipped.length / answered.length);
}

/** One feed repeats itself while the other does not. */
export function frozen(scene: IncidentScene, feed: 'reference' | 'tracker'): Evidence | null {
  const other = feed === 'tracker' ? 'reference' : 'tracker';
  let [frames, still, others] = [0, 0, 0];
  for (const n of scene.bad()) {
    if (n === scene.first || scene[other][n].objects.ids.length === 0) continue;
    frames++;
    if (isStill(scene, feed, n)) still++;
    if (isStill(scene, other, n)) others++;
  }
  if (frames < FRAMES_MIN || still < STILL_SHARE * frames || others > STILL_TRUTHS_MAX * frames) return null;
  // people who wait stand still as well, and their tracks waver
  if (feed === 'reference' && !goOn(scene)) return null;
  return { frames: still, objects: scene[feed].at(-1)!.objects.ids.length };
}

/** Most tracks get somewhere: they are far from where they were, for the way that they took. */
function goOn(scene: IncidentScene): boolean {
  const ways = new Map<string, { from: number[]; to: number[]; path: number }>();
  for (const n of scene.bad()) {
    const tracks = scene.tracks(n);
    tracks.ids.forEach((id, at) => {
      const to = centreOf(tracks, at);
      const way = ways.get(id);
      if (way) way.path += distanceOf(way.to, to);
      ways.set(id, { from: way?.from ?? to, to, path: way?.path ?? 0 });
    });
  }
  const all = [...ways.values()].filter(({ path }) => path > 0);
  const gone = all.filter(({ from, to, path }) => distanceOf(from, to) >= WAY_SHARE * path);
  return 2 * gone.length > all.length;
}

const distanceOf = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, d) => value - b[d]));

/** Nearly everything of a feed is exactly where it was in the frame before. */
function isStill(scene: IncidentScene, feed: 'reference' | 'tracker', n: number): boolean {
  const [now, before] = [scene[feed][n].objects, scene[feed][n - 1].objects];
  if (now.ids.length === 0 || before.ids.length === 0) return false;
  const places = new Map(before.ids.map((id, at) => [id, at]));
  const { stride, coordinates } = now;
  let still = 0;
  now.ids.forEach((id, at) => {
    const was = places.get(id);
    if (was === undefined) return;
    for (let d = 0; d < stride; d++) if (coordinates[at * stride + d] !== before.coordinates[was * stride + d]) return;
    still++;
  });
  return still >= STILL_SHARE * now.ids.length;
}

/** By how many frames more than usual the tracks are late, or with a minus early. */
export function lag(scene: IncidentScene): Evidence | null {
  const sample = sampleOf(scene);
  const best = bestFrameShift(sample, scene.judge);
  if (!best || best.agreement.share < SHARE_MIN) return null;
  const usual = lagBefore(scene) ?? scene.usualLag;
  const near = offsetOf(sample, scene, best.shift, usual ?? 0);
  // where too little moves the best shift has to do; where it was off, the pairs were others
  const offset =
    near === null
      ? muchBetter(scene, sample, best.shift, usual ?? 0)
      : (offsetOf(sample, scene, Math.round(near + (usual ?? 0)), usual ?? 0) ?? near);
  // trackers smooth: until it is known by how much, a frame is no more than that
  return usual === null && Math.abs(offset) < UNKNOWN_LAG_MIN ? null : lateBy(scene, sample, offset);
}

/**
 * A shift that a few objects tell of, each a little off by itself: some shift always brings them nearer. It counts when
 * hardly anything fits without it, and with it as much as did before the trouble.
 */
function muchBetter(scene: IncidentScene, sample: FeedSample, shift: number, usual: number): number {
  const { judge, reference, tracker, began } = scene;
  const [then, now] = [Math.round(usual), agreementAt(sample, scene.judge, shift)];
  const before = agreementAt({ reference, tracker: tracker.slice(0, began) }, judge, then);
  const asBefore = AS_BEFORE * (before.moments > 0 ? before.share : 1);
  return now.share >= asBefore && now.share >= FEW_GAIN_MIN * agreementAt(sample, judge, then).share ? shift - then : 0;
}

/** What the frames say of a slight lag, in frames. */
export interface SlightLag {
  offset: number;
  lag: Lag;
  /** the figures of a lag of so many frames */
  evidence: (frames: number) => Evidence;
}

/**
 * The same from what pairs as it is: cheap, and enough for a frame or two, which costs hardly any accuracy where
 * objects move slowly, so that no spike tells of it. Null when nobody can tell.
 */
export function slightLag(scene: IncidentScene): SlightLag | null {
  // velocities are taken from the frames beside the one that is looked at, which are as far away as elsewhere
  const lag = lagOf(scene.thinned(VELOCITY_REACH), scene.judge);
  if (!lag || lag.truths < LAG_TRUTHS_MIN || lag.error > LOOK_ERROR_MAX) return null;
  return {
    offset: lag.offset,
    lag,
    evidence: (frames) => {
      const { pairs, possible } = agreementAt(sampleOf(scene), scene.judge, frames);
      return { frames, pairs, possible };
    },
  };
}

const sampleOf = (scene: IncidentScene): FeedSample => ({
  reference: scene.reference,
  tracker: scene.tracker.slice(scene.first),
});

/** The lag in the frames before the trouble, of the same objects; null when nobody can tell. */
function lagBefore({ began, reference, tracker, judge }: IncidentScene): number | null {
  if (began < BEFORE_MIN) return null;
  const fine = lagOf({ reference, tracker: tracker.slice(0, began) }, judge, 0, VELOCITY_REACH);
  return fine && fine.truths >= LAG_TRUTHS_MIN && fine.error <= ERROR_MAX ? fine.offset : null;
}

/** The offset beyond the usual one, to a part of a frame; 0 when it may be chance; null when too little moves. */
function offsetOf(sample: FeedSample, { judge }: IncidentScene, shift: number, usual: number): number | null {
  const fine = lagOf(sample, judge, shift, VELOCITY_REACH);
  if (!fine || fine.truths < LAG_TRUTHS_MIN) return null;
  const more = fine.offset - usual;
  return Math.abs(more) - surely(fine.tellers) * fine.error < LAG_MIN ? 0 : more;
}

/** Standard errors within which chance hardly ever is: a few objects know their own error badly (Student's t, 99 %). */
const surely = (tellers: number): number =>
  tellers <= FEW_TELLERS ? Number.POSITIVE_INFINITY : (2.6 * (tellers + 0.2)) / (tellers - FEW_TELLERS);

function lateBy({ judge }: IncidentScene, sample: FeedSample, offset: number): Evidence | null {
  const frames = Math.round(offset);
  if (frames === 0) return null;
  const [as, at] = [agreementAt(sample, judge, 0), agreementAt(sample, judge, frames)];
  if (at.share < GAIN_MIN * as.share) return null;
  return { frames, pairs: at.pairs, possible: at.possible };
}
