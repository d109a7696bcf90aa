/**
 * From what the store holds to running streams: their snapshots, then the records after them. The state is then that of
 * the log, whatever happened to the process before.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Config, completePairing, resolveStream } from '../config/config.js';
import type { Log } from '../store/log.js';
import type { LogRecord } from '../store/record.js';
import type { StreamPlan } from '../stream/plan.js';
import type { RunningStream } from '../stream/running-stream.js';
import type { LiveEvent } from '../wire/events.js';
import type { Logger, Published, Streams } from './streams.js';

/** What workers make of the records they apply. */
interface Results {
  subscribe(next: (published: Published) => void): { unsubscribe(): void };
}

/** Restores the streams; returns the events that the process before may not have published. */
export async function recover(log: Log, streams: Streams, results: Results): Promise<LiveEvent[]> {
  const { publishedUpTo } = log;
  const unpublished: LiveEvent[] = [];
  const keep = ({ position, events }: Published) => {
    if (position > publishedUpTo) unpublished.push(...events);
  };
  const subscription = results.subscribe(keep);
  await restore(log, streams);
  await replay(log, streams, keep);
  subscription.unsubscribe();
  return unpublished;
}

async function restore(log: Log, streams: Streams): Promise<void> {
  for await (const snapshot of log.snapshots()) {
    if (snapshot.state === null) continue;
    const state = snapshot.state as { plan: StreamPlan };
    await streams.restore({ ...snapshot, state: { ...state, plan: completePlan(state.plan) } });
  }
}

async function replay(log: Log, streams: Streams, publish: (published: Published) => void): Promise<void> {
  for await (const { position, record } of log.records()) {
    if ('settings' in record && record.settings) record.settings = completePlan(record.settings as StreamPlan);
    for (const events of streams.apply(streams.enqueue(position, [record]))) publish({ position, events });
    await streams.caughtUp(record.stream);
  }
  await streams.drained();
}

/** How a recovered stream is judged from now on: by the configuration of this start, where that is possible. */
export function planAtStart({ name, plan }: RunningStream, config: Config, logger: Logger): StreamPlan {
  const resolved = resolveStream(config, name, plan.patch);
  if (!('message' in resolved)) return { ...resolved, patch: plan.patch };
  logger.warn('settings_kept', { stream: name, ...resolved });
  return plan;
}

/** With these records a recovered stream goes on: the time away counts for nobody, and a changed plan takes effect. */
export function resumption({ name: stream, plan }: RunningStream, next: StreamPlan, atMs: number): LogRecord[] {
  const resume: LogRecord = { kind: 'resume', stream, atMs };
  const unchanged = isDeepStrictEqual(plan, JSON.parse(JSON.stringify(next)));
  return unchanged ? [resume] : [resume, { kind: 'configure', stream, atMs, settings: next }];
}

/** A plan as this version would have stored it. */
const completePlan = ({ settings, ...plan }: StreamPlan): StreamPlan => ({
  ...plan,
  settings: { ...settings, pairing: completePairing(settings.pairing) },
});
