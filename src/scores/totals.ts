/**
 * What the companion scores are made of. Every part of `Totals` is a sum over frames or trajectories of one sequence,
 * so sequences are combined by adding, exactly as TrackEval combines them; `scoresOf` divides last.
 */

/** The localization thresholds of HOTA: 0.05, 0.10, ... 0.95. */
export const THRESHOLDS = Float64Array.from({ length: 19 }, (_, n) => 0.05 + n * 0.05);
/** Pairs count for CLEAR and Identity from this similarity on. */
export const MATCH_MIN = 0.5;

export interface Totals {
  frames: number;
  /** objects over all frames, and how many trajectories they belong to */
  truths: number;
  tracks: number;
  truthIds: number;
  trackIds: number;
  /**
   * CLEAR: pairs, their similarity, changes of track, interruptions; truths tracked for most, part, little of their
   * time
   */
  matched: number;
  similarity: number;
  switches: number;
  fragmentations: number;
  mostlyTracked: number;
  partlyTracked: number;
  mostlyLost: number;
  /** Identity: objects under the one best pairing of whole trajectories */
  identityMatched: number;
  /** HOTA, at each threshold: pairs, the association of their trajectories, their similarity */
  hotaMatched: number[];
  association: number[];
  hotaSimilarity: number[];
}

/**
 * The scores under the names the field knows them by, in the order in which they are printed: ratios from 0 to 1 (MOTA
 * may be below 0) or counts, and which values are good.
 */
export const SCORE_KINDS = {
  HOTA: { unit: 'ratio', best: 'high' },
  DetA: { unit: 'ratio', best: 'high' },
  AssA: { unit: 'ratio', best: 'high' },
  LocA: { unit: 'ratio', best: 'high' },
  MOTA: { unit: 'ratio', best: 'high' },
  MOTP: { unit: 'ratio', best: 'high' },
  IDSW: { unit: 'count', best: 'low' },
  Frag: { unit: 'count', best: 'low' },
  MT: { unit: 'count', best: 'high' },
  PT: { unit: 'count', best: 'low' },
  ML: { unit: 'count', best: 'low' },
  IDF1: { unit: 'ratio', best: 'high' },
  IDP: { unit: 'ratio', best: 'high' },
  IDR: { unit: 'ratio', best: 'high' },
} as const satisfies Record<string, { unit: 'ratio' | 'count'; best: 'low' | 'high' }>;

export type ScoreName = keyof typeof SCORE_KINDS;
export type Scores = { [Name in ScoreName]: number };
export const SCORE_NAMES = Object.keys(SCORE_KINDS) as readonly ScoreName[];

export function emptyTotals(): Totals {
  const zeros = () => new Array<number>(THRESHOLDS.length).fill(0);
  return {
    ...{ frames: 0, truths: 0, tracks: 0, truthIds: 0, trackIds: 0 },
    ...{ matched: 0, similarity: 0, switches: 0, fragmentations: 0 },
    ...{ mostlyTracked: 0, partlyTracked: 0, mostlyLost: 0, identityMatched: 0 },
    ...{ hotaMatched: zeros(), association: zeros(), hotaSimilarity: zeros() },
  };
}

/** Several sequences as one. */
export function addTotals(list: readonly Totals[]): Totals {
  const sum = emptyTotals() as unknown as Record<string, number | number[]>;
  for (const totals of list) {
    for (const [key, value] of Object.entries(totals as unknown as Record<string, number | number[]>)) {
      const known = sum[key];
      if (typeof known === 'number') sum[key] = known + (value as number);
      else for (let n = 0; n < known.length; n++) known[n] += (value as number[])[n];
    }
  }
  return sum as unknown as Totals;
}

export function scoresOf(totals: Totals): Scores {
  const { truths, tracks, matched, identityMatched } = totals;
  const falses = tracks - matched;
  let hota = 0;
  let detection = 0;
  let association = 0;
  let localization = 0;
  totals.hotaMatched.forEach((pairs, n) => {
    const det = pairs / Math.max(1, truths + tracks - pairs);
    const ass = totals.association[n] / Math.max(1, pairs);
    detection += det;
    association += ass;
    hota += Math.sqrt(det * ass);
    localization += Math.max(1e-10, totals.hotaSimilarity[n]) / Math.max(1e-10, pairs);
  });
  const count = THRESHOLDS.length;
  return {
    HOTA: hota / count,
    DetA: detection / count,
    AssA: association / count,
    LocA: localization / count,
    MOTA: (matched - falses - totals.switches) / Math.max(1, truths),
    MOTP: totals.similarity / Math.max(1, matched),
    IDSW: totals.switches,
    Frag: totals.fragmentations,
    MT: totals.mostlyTracked,
    PT: totals.partlyTracked,
    ML: totals.mostlyLost,
    IDF1: identityMatched / Math.max(1, (truths + tracks) / 2),
    IDP: identityMatched / Math.max(1, tracks),
    IDR: identityMatched / Math.max(1, truths),
  };
}
