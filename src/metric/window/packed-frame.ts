/**
 * A frame as the window gets it: ids and coordinates in flat arrays, checked before.
 */

/** Objects of one feed: `coordinates` holds `stride` numbers for each id. Boxes are left, top, width, height. */
export interface PackedFeed {
  ids: string[];
  coordinates: Float64Array;
  /**
   * of each object what it costs alone at most, in the unit of the distance; nothing where all of them cost the full
   * price
   */
  alone?: ArrayLike<number> | null;
  /** of each object its kind, null for none: only objects of one kind are pairs; nothing where nobody has one */
  kinds?: Kinds | null;
}

export type Kinds = readonly (string | null)[];

export interface PackedFrame {
  reference: PackedFeed;
  tracker: PackedFeed;
  /** numbers per object: 4 for boxes, the dimension for points; 0 when the frame is empty */
  stride: number;
}
