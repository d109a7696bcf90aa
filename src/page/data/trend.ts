/** Distance and costs over time, in columns. */
import type { FrameCost } from '../../metric/evaluation.js';

/** Columns of equal length in order of k: distance and costs of the window that ends there. */
export interface Trend {
  k: number[];
  atMs: number[];
  distance: number[];
  /** 1 where distance and costs are proven */
  exact: number[];
  cost: Record<keyof FrameCost, number[]>;
}

export const emptyTrend = (): Trend => ({
  k: [],
  atMs: [],
  distance: [],
  exact: [],
  cost: { localization: [], missed: [], false: [], switch: [] },
});

/** Distance and costs in row n. */
export const pointAt = (trend: Trend, n: number) => ({ distance: trend.distance[n], cost: costAt(trend, n) });

const costAt = ({ cost }: Trend, n: number): FrameCost => ({
  localization: cost.localization[n],
  missed: cost.missed[n],
  false: cost.false[n],
  switch: cost.switch[n],
});
