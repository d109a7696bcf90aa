/** A scene of `tgospa demo`: how it is judged, what is wrong with one of its trackers, and how it is sent. */
import type { FeedClient } from '../client.js';
import type { Fault } from '../simulation/walkers.js';
import type { Pace } from './player.js';

export type DemoFeeds = Record<'reference' | 'good' | 'faulty', FeedClient>;

export interface DemoScene {
  stream: string;
  trackers: readonly [good: string, faulty: string];
  /** of the evaluator */
  config: object;
  /** what is sent at a time */
  unit: string;
  roundLength: number;
  /** of one round, 1-based */
  faults: readonly Fault[];
  /** lines for whoever sees it for the first time */
  about: readonly string[];
  open(url: string): DemoFeeds;
  /** Round after round until it is time to stop; the first `calm` of them without faults. */
  play(feeds: DemoFeeds, rounds: { first: number; calm: number }, pace: Pace): Promise<void>;
}
