/**
 * Every metric, in the order of /metrics and of METRICS.md, the catalogue for people; a test holds the two together.
 */
import { CLUSTER_METRICS } from './cluster-metrics.js';
import { FEED_METRICS } from './feed-metrics.js';
import { PERFORMANCE_METRICS } from './performance-metrics.js';
import { SERIES_METRICS } from './series-metrics.js';
import { LOG_METRICS, PROGRAM_METRICS, SERVER_METRICS } from './server-metrics.js';
import { SOURCE_METRICS } from './source-metrics.js';
import type { Spec } from './spec.js';

export const METRICS: readonly Spec[] = [
  ...SERIES_METRICS,
  ...PERFORMANCE_METRICS,
  ...FEED_METRICS,
  ...SERVER_METRICS,
  ...LOG_METRICS,
  ...SOURCE_METRICS,
  ...CLUSTER_METRICS,
  ...PROGRAM_METRICS,
];
