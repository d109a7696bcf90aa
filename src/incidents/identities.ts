/**
 * Causes that show in who is who: tracks that changed their objects, objects with two tracks, tracks without an object.
 * Pure functions of a scene; each gives the figures of its cause, or null.
 */
import { distances } from '../metric/distance.js';
import type { Evidence } from '../wire/findings.js';
import { rounded } from '../wiring/hypotheses.js';
import { centreOf } from '../wiring/lag.js';
import type { IncidentScene, PairedFrame } from './scene.js';
import {
  AT_ONCE_MIN,
  AT_ONCE_SHARE,
  CHANGES_FACTOR,
  CHANGES_MIN,
  DOUBLE_FACTOR,
  DOUBLE_PER_PAIR,
  DOUBLE_SHARE,
  GHOST_FRAMES,
  GHOST_SHARE,
  GONE_LIVES,
  MISSED_SHARE,
  NEW_SHARE,
  RISEN_MIN,
  STAYING_SHARE,
  STILL_PAIRED_SHARE,
} from './thresholds.js';

export interface Exchanged {
  cause: 'identities_reset' | 'identities_permuted';
  evidence: Evidence;
}

/** Objects that are followed by another track than before, many at once or again and again. */
export function exchanged(scene: IncidentScene): Exchanged | null {
  const partner = new Map<string, string>();
  const known = new Set<string>();
  const changes = { before: 0, since: 0, pairsBefore: 0, pairsSince: 0, fresh: 0, atOnce: 0, of: 0 };
  for (const frame of [...scene.pairedBefore(), ...scene.paired()]) {
    const { changed, could, fresh } = changesIn(scene, frame, partner, known);
    if (frame.n < scene.began) changes.before += changed;
    else changes.since += changed;
    if (frame.n < scene.began) changes.pairsBefore += could;
    else changes.pairsSince += could;
    if (changed >= AT_ONCE_SHARE * could && changed > changes.atOnce) {
      changes.atOnce = changed;
      changes.of = could;
    }
    changes.fresh += fresh;
  }
  const { before, since, pairsBefore, pairsSince, atOnce, of } = changes;
  if (perFrame(scene.paired(), pairsOf) < STILL_PAIRED_SHARE * perFrame(scene.pairedBefore(), pairsOf)) return null;
  const often =
    since >= CHANGES_MIN && since * (pairsBefore + 1) >= CHANGES_FACTOR * (before + 0.5) * Math.max(1, pairsSince);
  if (atOnce < AT_ONCE_MIN && !often) return null;
  const reset = changes.fresh >= NEW_SHARE * (before + since);
  const evidence = atOnce >= AT_ONCE_MIN ? { changed: atOnce, of } : { changed: since, of: pairsSince };
  return { cause: reset ? 'identities_reset' : 'identities_permuted', evidence };
}

/** How many objects have another track than when they last had one, and how many of these tracks are new. */
function changesIn(scene: IncidentScene, { n, pairs }: PairedFrame, partner: Map<string, string>, known: Set<string>) {
  const [truths, tracks] = [scene.truths(n), scene.tracks(n)];
  let [changed, could, fresh] = [0, 0, 0];
  for (const { i, j } of pairs) {
    const [truth, track] = [truths.ids[i], tracks.ids[j]];
    const before = partner.get(truth);
    partner.set(truth, track);
    if (before === undefined) continue;
    could++;
    if (before === track) continue;
    changed++;
    if (!known.has(track)) fresh++;
  }
  for (const id of tracks.ids) known.add(id);
  return { changed, could, fresh };
}

/** Objects of one feed without a partner that lie on one of the other feed that has another. */
export function doubled(scene: IncidentScene, feed: 'reference' | 'tracker'): Evidence | null {
  const [since, before] = [scene.paired(), scene.pairedBefore()].map((frames) => countDoubles(scene, frames, feed));
  const rate = (counts: typeof since) => counts.doubles / Math.max(1, counts.pairs);
  if (since.doubles < DOUBLE_SHARE * since.alone || rate(since) < DOUBLE_PER_PAIR) return null;
  if (rate(since) < DOUBLE_FACTOR * rate(before)) return null;
  const frames = scene.paired().length;
  return { doubles: Math.round(since.doubles / frames), objects: Math.round(since.pairs / frames) };
}

function countDoubles(scene: IncidentScene, frames: readonly PairedFrame[], feed: 'reference' | 'tracker') {
  const { distance, cutoff } = scene.judge;
  const measure = distances[distance];
  const counts = { doubles: 0, alone: 0, pairs: 0 };
  for (const { n, pairs, missed, false: extra } of frames) {
    const [truths, tracks] = [scene.truths(n), scene.tracks(n)];
    const alone = feed === 'tracker' ? extra : missed;
    counts.alone += alone.length;
    counts.pairs += pairs.length;
    for (const one of alone) {
      const near = pairs.some(({ i, j }) =>
        feed === 'tracker'
          ? measure(truths.coordinates, i, tracks.coordinates, one, truths.stride) < cutoff
          : measure(truths.coordinates, one, tracks.coordinates, j, truths.stride) < cutoff,
      );
      if (near) counts.doubles++;
    }
  }
  return counts;
}

const pairsOf = ({ pairs }: PairedFrame) => pairs.length;
const missedOf = ({ missed }: PairedFrame) => missed.length;
const falseOf = ({ false: extra }: PairedFrame) => extra.length;
const perFrame = (frames: readonly PairedFrame[], count: (frame: PairedFrame) => number) =>
  frames.reduce((sum, frame) => sum + count(frame), 0) / Math.max(1, frames.length);

export interface Risen {
  cause: 'ghost' | 'clutter';
  evidence: Evidence;
}

/** Tracks where no object is that were not false before: those that stay, or many that do not. */
export function risen(scene: IncidentScene): Risen | null {
  const before = scene.pairedBefore();
  const frames = scene.paired();
  const more = (count: (frame: PairedFrame) => number) => perFrame(frames, count) - perFrame(before, count);
  // tracks that are off leave their objects behind: they are neither ghosts nor clutter
  if (more(missedOf) >= MISSED_SHARE * more(falseOf)) return null;
  const old = new Set(before.flatMap(({ n, false: extra }) => extra.map((j) => scene.tracks(n).ids[j])));
  const lives = new Map<string, { first: number; last: number; count: number; at: number[] }>();
  frames.forEach(({ n, false: extra }, index) => {
    const tracks = scene.tracks(n);
    for (const j of extra) {
      const id = tracks.ids[j];
      if (old.has(id)) continue;
      const life = lives.get(id) ?? { first: index, last: index, count: 0, at: [] };
      lives.set(id, { first: life.first, last: index, count: life.count + 1, at: centreOf(tracks, j) });
    }
  });
  const instances = [...lives.values()].reduce((sum, { count }) => sum + count, 0);
  if (instances < RISEN_MIN * frames.length) return null;
  const stays = [...lives].filter(
    ([, { first, count }]) =>
      count >= Math.max(GHOST_FRAMES, frames.length / 2) && count >= GHOST_SHARE * (frames.length - first),
  );
  const staying = stays.reduce((sum, [, { count }]) => sum + count, 0);
  const gone = [...lives.values()].filter(({ last, count }) => last < frames.length - 1 && count >= GHOST_FRAMES);
  const lived = gone.reduce((sum, { count }) => sum + count, 0);
  const each = rounded(instances / frames.length);
  if (staying < STAYING_SHARE * instances || staying * gone.length < GONE_LIVES * lived)
    return { cause: 'clutter', evidence: { perFrame: each, tracks: lives.size } };
  const [id, { at }] = stays.reduce((most, one) => (one[1].count > most[1].count ? one : most));
  const where = { x: rounded(at[0]), y: rounded(at[1] ?? 0) };
  return { cause: 'ghost', evidence: { perFrame: each, tracks: stays.length, track: id, ...where } };
}
