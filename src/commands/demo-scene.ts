/** A scene of `tgospa demo`: how it is judged, what is wrong with one of its trackers, and how it is sent. */
import type { FeedClient } from '../client.js';
import type { PlantedFault } from '../simulation/planted-fault.js';
import type { Pace } from './player.js';

export type DemoFeeds = Record<'reference' | 'good' | 'faulty', FeedClient>;

/** A fault, by frames of one round, 1-based; `round`: only in that one of a cycle, after those without faults. */
export interface DemoFault extends PlantedFault {
  round?: number;
}

export interface DemoScene {
  stream: string;
  trackers: readonly [good: string, faulty: string];
  /** of the evaluator */
  config: object;
  /** what is sent at a time */
  unit: string;
  roundLength: number;
  faults: readonly DemoFault[];
  /** lines for whoever sees it for the first time */
  about: readonly string[];
  open(url: string): DemoFeeds;
  /** Round after round until it is time to stop; the first `calm` of them without faults. */
  play(feeds: DemoFeeds, rounds: { first: number; calm: number }, pace: Pace): Promise<void>;
}
