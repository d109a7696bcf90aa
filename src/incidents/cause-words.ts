/** Causes in words: one sentence with the figures. */
import type { Evidence } from '../wire/findings.js';
import type { CauseName } from '../wire/incidents.js';

const frames = (count: unknown) => `${count} frame${Number(count) === 1 ? '' : 's'}`;
const fits = (e: Evidence) => `then ${e.pairs} of ${e.possible} possible pairs fit`;
const whose = ({ feed }: Evidence) => (feed === 'reference' ? 'the reference' : 'the tracker');

const WORDS: Record<CauseName, (e: Evidence) => string> = {
  silent: (e) =>
    e.objects === undefined
      ? 'nothing comes from it'
      : `it reports nothing: none of ${e.objects} objects, in ${frames(e.frames)}`,
  frozen: (e) => `it is frozen: its ${e.objects} tracks stand still in ${frames(e.frames)} while the objects move`,
  late: (e) => `it is late by ${frames(e.frames)}: moved by that, ${e.pairs} of ${e.possible} possible pairs fit`,
  early: (e) =>
    `it is ahead by ${frames(-Number(e.frames))}: its frame numbers are behind, or the reference is late; ${e.pairs} of ${e.possible} possible pairs fit when moved by that`,
  frames_skipped: (e) =>
    `it answers one frame in ${e.every} only: ${e.skipped} of ${frames(e.frames)} ${e.repeated ? 'repeat the one before' : 'are empty'}`,
  box_order: (e) => `the boxes of ${whose(e)} are ${e.order}, not left, top, width, height: read so, ${fits(e)}`,
  axis_swapped: (e) => `the axes of ${whose(e)} are exchanged: exchanged back, ${fits(e)}`,
  scaled: (e) =>
    `the coordinates of ${whose(e)} are of another scale: times ${e.factor ?? `${e.x} and ${e.y}`}, ${fits(e)}`,
  shifted: (e) => `everything is off by ${e.x}, ${e.y}: moved back, ${fits(e)}`,
  region_lost: (e) => {
    const [x, y] = e.unit === 'degrees' ? ['latitude', 'longitude'] : ['x', 'y'];
    return `objects are lost in one region, ${x} ${e.left} to ${e.right}, ${y} ${e.top} to ${e.bottom}: ${e.missed} of ${e.objects} there`;
  },
  class_lost: (e) => `objects of class ${e.class} are lost: ${e.missed} of ${e.objects}`,
  identities_reset: (e) => `identities were reset: ${e.changed} of ${e.of} tracked objects got new ids`,
  identities_permuted: (e) => `identities were exchanged: ${e.changed} of ${e.of} tracked objects changed their track`,
  duplicated: (e) => `objects are reported twice: ${e.doubles} second tracks on ${e.objects} objects`,
  ghost: (e) =>
    `${e.tracks === 1 ? 'a track stays' : `${e.tracks} tracks stay`} where no object is, such as ${e.track} at ${e.x}, ${e.y}`,
  clutter: (e) => `clutter: ${e.perFrame} short-lived tracks in a frame where no object is`,
  reference_frozen: (e) => `the reference is frozen: its ${e.objects} objects stand still while the tracks move`,
  reference_duplicated: (e) => `the reference has objects twice: ${e.doubles} second ones on ${e.objects} tracks`,
  miswired: (e) => `the feeds do not fit together: ${e.finding}`,
  unknown: () => 'no single cause explains it',
};

export const wordsOf = (cause: CauseName, evidence: Evidence): string => WORDS[cause](evidence);
