/**
 * What can be wrong with how the feeds of a stream are wired, by name: a closed list, because the names are labels of
 * /metrics. PROTOCOL.md lists them for people, and a test holds the two together.
 */

/** Every finding and what it says; a cause stands instead of the symptom it explains. */
export const FINDINGS = {
  feeds_never_match: 'both feeds have objects, but none of them is ever closer than the cut-off',
  nothing_pairs: 'both feeds deliver frames, but these never belong to the same step',
  frame_offset: 'the frame numbers of one feed are ahead of those of the other',
  clock_offset: 'the times of one feed are ahead of those of the other',
  time_unit: 'the times of one feed are in another unit, such as milliseconds',
  mixed_keys: 'one feed has only frame numbers, the other only times',
  rate_mismatch: 'one feed delivers less often than the other, and its objects are not held in between',
  interpolation_impossible: 'a feed should be held or interpolated, but its data are too far apart for the settings',
  partial_frames: 'each frame of one feed shows only a part of the scene, such as one sector of a radar',
  box_order: 'the four numbers of the boxes of one feed are in another order or mean something else',
  normalized_boxes: 'the boxes of one feed are fractions of the picture, those of the other are pixels',
  axis_swapped: 'the two axes of one feed are exchanged: y before x, longitude before latitude',
  classes_never_match:
    'only objects of the same class are paired, but those in the same place have different classes, or none',
  units: 'the coordinates of one feed are in another unit or scale',
  reference_never_came: 'a tracker delivers frames, but a reference never has',
  tracker_never_came: 'the reference delivers frames, but a tracker never has',
} as const satisfies Record<string, string>;

export type FindingName = keyof typeof FINDINGS;

/** Mistakes of wiring that make a tracker match or pair with nothing, whatever it does. */
export const WIRING_MISTAKES = [
  'frame_offset',
  'clock_offset',
  'time_unit',
  'box_order',
  'normalized_boxes',
  'axis_swapped',
  'units',
] as const satisfies readonly FindingName[];
export type WiringMistake = (typeof WIRING_MISTAKES)[number];

/** The figures a finding rests on. */
export type Evidence = Record<string, number | string | boolean>;

/** A finding as it stands; `tracker` is null when it concerns the stream as a whole. */
export interface Finding {
  finding: FindingName;
  tracker: string | null;
  /** epoch milliseconds */
  sinceMs: number;
  /** one sentence with the figures */
  message: string;
  /** the setting or option to change */
  remedy: string;
  evidence: Evidence;
}

/** A finding that starts to hold, or no longer does. */
export type FindingEvent = {
  type: 'finding';
  stream: string;
  phase: 'start' | 'end';
  n?: number;
  atMs?: number;
} & Finding;
