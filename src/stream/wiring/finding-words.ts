/**
 * Findings in words: one sentence with the figures, and the remedy, which names the setting or option to change. The
 * settings are those of `streams.<name>` in tgospa.yaml, the options those of the feed's format.
 */
import type { Evidence, FindingName } from '../../wire/findings.js';

interface Words {
  message: string;
  remedy: string;
}

/** `who` is the tracker. */
type Wording = (evidence: Evidence, who: string) => Words;

const feedOf = ({ feed }: Evidence, who: string) =>
  feed === 'reference' ? 'the reference' : feed === 'tracker' ? who : `one of the reference and ${who}`;

const ahead = (evidence: Evidence, key: string, who: string) =>
  Number(evidence[key]) > 0 ? [who, 'the reference'] : ['the reference', who];

const named = (name: Evidence[string], what: string) =>
  name === '' ? `${what} without a class` : `${what} of class ${name}`;

const share = ({ pairs, possible }: Evidence) => `${pairs} of ${possible} possible pairs`;

const WORDINGS: Record<FindingName, Wording> = {
  feeds_never_match: (e, who) => ({
    message: `${share(e)} of the reference and ${who} are closer than the cut-off ${e.cutoff}, in ${e.steps} steps in which both have objects`,
    remedy:
      'check that both feeds show the same scene in the same coordinates, then the distance and cutoff of the profile',
  }),
  nothing_pairs: (e, who) => ({
    message: `${e.unpaired} of the last ${e.steps} steps of the reference and ${who} had a part of one feed only, though both deliver${typeof e.referenceBehindMs === 'number' ? `; the reference comes ${e.referenceBehindMs} ms after the tracker` : ''}`,
    remedy:
      typeof e.referenceBehindMs === 'number'
        ? `raise pairing.latenessMs above ${e.referenceBehindMs}`
        : 'number frames alike in both feeds or send the same times; by time, pairing.toleranceMs is how far apart they may be',
  }),
  frame_offset: (e, who) => {
    const [first, second] = ahead(e, 'frames', who);
    const frames = Math.abs(Number(e.frames));
    return {
      message: `the frame numbers of ${first} are ${frames} ahead of those of ${second}: shifted by that, ${share(e)} are closer than the cut-off`,
      remedy: `number frames alike in both feeds: set the format option frameOffset of ${first} to -${frames}, or subtract ${frames} from its k`,
    };
  },
  clock_offset: (e, who) => {
    const [first, second] = ahead(e, 'seconds', who);
    const seconds = Math.abs(Number(e.seconds));
    return {
      message: `the times of ${first} are ${seconds} s ahead of those of ${second}: shifted by that, ${share(e)} are closer than the cut-off`,
      remedy: `set both clocks by NTP and send the time of capture; or set the format option timeOffset of ${first} to -${seconds}`,
    };
  },
  time_unit: (e, who) => ({
    message: `the times of ${feedOf(e, who)} run ${e.factor} times as fast as those of the other feed`,
    remedy: `t is in seconds: divide the t of ${feedOf(e, who)} by ${e.factor}, or set the format option timeUnit`,
  }),
  mixed_keys: (e, who) => ({
    message: `the reference sends only ${e.reference} and ${who} only ${e.tracker}: parts without t are paired by when they arrive, parts without k not at all by frame`,
    remedy: 'send the same key from both feeds: k (frame number) or t (seconds), or both',
  }),
  rate_mismatch: (e, who) => ({
    message: `${feedOf(e, who)} sends a part every ${e.every} ${e.unit}, the other feed every ${e.otherEvery}: the steps in between have one feed only`,
    remedy:
      e.feed === 'tracker'
        ? `add the tracker to pairing.heldTrackers, with pairing.${e.setting} at least ${e.wanted}`
        : `set pairing.reference to linear or hold, with pairing.${e.setting} at least ${e.wanted} and pairing.latenessMs at least ${e.latenessMs}`,
  }),
  interpolation_impossible: (e, who) => ({
    message: `${feedOf(e, who)} sends a part every ${e.every} ${e.unit}, but pairing.${e.setting} is ${e.value}: what lies in between cannot be ${e.method === 'linear' ? 'interpolated' : 'held'}`,
    remedy: `raise pairing.${e.setting} to at least ${e.wanted}`,
  }),
  partial_frames: (e, who) => ({
    message: `an object of ${feedOf(e, who)} is in one of ${e.frames} frames, in turn with others: each frame shows a part of the scene, but counts as all that was seen`,
    remedy:
      'send objects as reports, each with its time (sendReports, or reports in the message), or a whole turn in one frame',
  }),
  box_order: (e, who) => ({
    message: `the boxes of ${feedOf(e, who)} fit when they are read as ${e.order}: then ${share(e)} are closer than the cut-off`,
    remedy: `a box is [left, top, width, height]: convert those of ${feedOf(e, who)} from ${e.order}, or name its format in the hello`,
  }),
  normalized_boxes: (e, who) => ({
    message: `the boxes of ${feedOf(e, who)} are shares of the picture: times ${e.x} and ${e.y}, ${share(e)} are closer than the cut-off`,
    remedy: `send pixels, or set the format option scale of ${feedOf(e, who)} to the size of the picture, about [${e.x}, ${e.y}]`,
  }),
  axis_swapped: (e, who) => ({
    message: `the axes of ${feedOf(e, who)} are exchanged: with them exchanged back, ${share(e)} are closer than the cut-off`,
    remedy: 'send x before y, and latitude before longitude, in both feeds',
  }),
  classes_never_match: (e, who) => ({
    message: `only objects of one class are pairs, but of ${e.close} times that ${named(e.truthClass, 'a truth')} was close to a track of ${who}, ${e.alike} had a track of its class, the others mostly ${named(e.trackClass, 'one')}`,
    remedy:
      e.truthClass === '' || e.trackClass === ''
        ? `send the class of every object in both feeds, or set classes.apart to false`
        : `set classes.map to {${e.trackClass}: ${e.truthClass}}, or classes.apart to false`,
  }),
  units: (e, who) => ({
    message: `the coordinates of ${feedOf(e, who)} are in another unit: times ${e.factor ?? `${e.x} and ${e.y}`}${e.unit ? ` (${e.unit})` : ''}, ${share(e)} are closer than the cut-off`,
    remedy: `send both feeds in one unit, that of the cut-off; the format option scale multiplies coordinates`,
  }),
  reference_never_came: (e, who) => ({
    message: `${who} has been sending for ${e.seconds} s, and ${e.opened ? 'the reference said hello but sent no part' : 'no reference ever said hello'}`,
    remedy: e.opened
      ? 'check what the reference sends: its rejects are in /v1/events and in the log'
      : 'connect a feed with role reference and the same stream name; /v1/streams lists the names in use',
  }),
  tracker_never_came: (e, who) => ({
    message: `the reference has been sending for ${e.seconds} s, and ${e.opened ? `${who} said hello but sent no part` : 'no tracker ever said hello'}`,
    remedy: e.opened
      ? 'check what the tracker sends: its rejects are in /v1/events and in the log'
      : 'connect a feed with role tracker, a name and the same stream name; /v1/streams lists the names in use',
  }),
};

/** What a finding about a tracker, or with null about the whole stream, says. */
export const wordsOf = (finding: FindingName, tracker: string | null, evidence: Evidence): Words =>
  WORDINGS[finding](evidence, tracker === null ? 'a tracker' : `tracker ${tracker}`);
