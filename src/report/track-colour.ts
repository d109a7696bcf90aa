/**
 * The colour of a track, from its id alone: the same track has the same colour on the page and in every report, row
 * after row. Numbers that follow each other, wherever they stand in an id, get different colours, so that tracks that
 * came about together, and may be exchanged, can be told apart. Distinguishable for most eyes, on light and dark, with
 * black text on it; the second half is a lighter round of the same hues.
 */

export const TRACK_COLOURS = [
  '#4e9ad0',
  '#f28e2b',
  '#59a14f',
  '#b07aa1',
  '#3fb5ac',
  '#e8696b',
  '#b08562',
  '#e3bd3c',
  '#8f94e0',
  '#e07fb0',
  '#a9d3f2',
  '#ffc58a',
  '#a5d79c',
  '#dcbcd4',
  '#a3e0da',
  '#fbb9b7',
  '#d9bea3',
  '#f6e08f',
  '#c6c9f5',
  '#f7c3dc',
] as const;

/** Position in TRACK_COLOURS. */
export function trackColour(track: string): number {
  let hash = 0x811c9dc5;
  let numbers = 0;
  let number = 0;
  for (let n = 0; n < track.length; n++) {
    const digit = track.charCodeAt(n) - 48;
    if (digit >= 0 && digit <= 9) number = (number * 10 + digit) % TRACK_COLOURS.length;
    else {
      numbers += number;
      number = 0;
      hash = Math.imul(hash ^ track.charCodeAt(n), 0x01000193);
    }
  }
  // the lowest bits of this hash are its worst
  return (((hash ^ (hash >>> 15)) >>> 0) + numbers + number) % TRACK_COLOURS.length;
}
