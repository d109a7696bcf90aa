/**
 * A stream as it is shown to people, programs and other threads. Everything here is plain data: it can be sent to
 * another thread as it is.
 */
import type { SceneFacts } from '../coverage/region.js';
import type { Evaluation, Report } from '../metric/evaluation.js';
import type { WindowParams } from '../metric/sliding-window.js';
import type { Objective } from '../spikes/settings.js';
import type { FrameMark } from '../wire/events.js';
import type { Role } from '../wire/feed.js';
import type { Finding } from '../wire/findings.js';
import type { OpenIncident } from '../wire/incidents.js';
import type { Shape } from '../wire/objects.js';
import type { SeriesId } from '../wire/series-key.js';
import type { RetainedFrame, SeriesInfo } from './series.js';

export interface FeedInfo {
  role: Role;
  tracker: string | null;
  /** number of the last frame that was stored */
  seq: number;
  /** of its last `open`, where others append to the log too */
  epoch?: number;
  /** epoch milliseconds */
  lastReceivedMs: number;
  silent: boolean;
  ended: boolean;
  /** it was cut off, or the evaluator was away, and it has not been heard since */
  awaited: boolean;
}

export interface StreamInfo {
  stream: string;
  shape: Shape;
  /** coordinates of its points; 0 when it has boxes, or none were seen */
  dimensions: number;
  windowFrames: number;
  profiles: string[];
  /** feeds are coming back: nobody is late or silent meanwhile */
  resuming: boolean;
  feeds: FeedInfo[];
  series: SeriesInfo[];
  /** it is being rebuilt from its last snapshot and the log; its frames wait */
  restoring?: true;
  /** why it is not evaluated until the next start; its frames are stored */
  suspended?: string;
  /** what is wrong with how its feeds are wired */
  findings: Finding[];
  /** what it promises, whatever is usual for it; null: nothing */
  objective?: Pick<Objective, keyof Objective>;
  /** what is wrong with its trackers, also with those that are gone */
  incidents: OpenIncident[];
}

/** The current window of a series; `frames[n]` belongs to `evaluation.perFrame[n]`. */
export interface WindowView extends SeriesId, FrameMark {
  params: WindowParams;
  scene?: SceneFacts;
  evaluation: Evaluation;
  newest: Report['newest'];
  settled: Report['settled'];
  lifetime: Report['lifetime'];
  frames: RetainedFrame[];
}
