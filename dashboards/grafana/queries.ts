/** Pieces of queries that several dashboards share, so that the same words mean the same number everywhere. */

/** Matchers of one series. */
export const ONE = 'stream="$stream",tracker="$tracker",profile="$profile"';

const rate = (metric: string, matchers: string) => `rate(${metric}{${matchers}}[$__rate_interval])`;

/** Share of the objects that the tracker missed; nothing while there are no objects. */
export const missedShare = (matchers: string) => share('tgospa_missed_total', matchers);

/** Share of the tracks that are false; nothing while there are no tracks. */
export const falseShare = (matchers: string) => share('tgospa_false_total', matchers);

function share(metric: string, matchers: string): string {
  return `${rate(metric, matchers)} / (${rate(metric, matchers)} + ${rate('tgospa_proper_total', matchers)} > 0)`;
}

export const switchesPerMinute = (matchers: string) => `60 * ${rate('tgospa_switches_total', matchers)}`;

/** A quantile of a histogram of the evaluator, over all evaluators. */
export const quantile = (q: number, metric: string) =>
  `histogram_quantile(${q}, sum by (le) (rate(${metric}_bucket[$__rate_interval])))`;

/** Alerts of rules.yml that fire now. */
export const FIRING = 'ALERTS{alertstate="firing",alertname=~"(Tracker|Reference|Feed|Evaluator|Cluster).+"}';
