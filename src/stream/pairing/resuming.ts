/**
 * Coming back: a feed that was cut off, or all feeds after the evaluator was away, return seconds apart and send again
 * what was not acked. Until they have caught up nobody is late and nobody is silent. This is bounded: a feed that is
 * not back within resumeMs is treated as if there had been no interruption. Those that are back have half as long again
 * to catch up, and longer while every few moments a step is complete: after a long outage of many streams there is much
 * to send again.
 */
import type { PairingSettings } from '../../config/config.js';
import type { Role } from '../../wire/feed.js';
import type { Placed } from '../../wiring/resampling.js';
import { type LaneState, LOWEST } from './lane-state.js';

/** share of resumeMs that is added for whoever is back and still sends again what it holds */
const RESEND_SHARE = 0.5;
/** milliseconds that a feed that is back has at least, to send again what it holds */
const RESEND_MS = 1000;

/** share of resumeMs in which a step must be complete, however long people are content to wait for one */
const STUCK_SHARE = 0.25;
/** in terms of resumeMs, after which nobody waits any more, whatever comes */
const CATCH_UP_MAX = 10;

/** The lane waits for this feed from now on; an interruption during another one makes it no longer. */
export function awaitFeed(state: LaneState, role: Role, nowMs: number, { resumeMs }: PairingSettings): void {
  if (resumeMs === 0 || state.finished || state[role].ended) return;
  state.resuming ??= { sinceMs: nowMs, absent: [], backMs: nowMs, checkMs: nowMs + resumeMs };
  const { absent } = state.resuming;
  if (!absent.includes(role)) absent.push(role);
}

/** A feed was heard, or has ended: it is not waited for. */
export function returnFeed({ resuming }: LaneState, role: Role, nowMs: number): void {
  if (!resuming?.absent.includes(role)) return;
  resuming.absent = resuming.absent.filter((one) => one !== role);
  resuming.backMs = nowMs;
  resuming.checkMs = Math.min(resuming.checkMs, nowMs + RESEND_MS);
}

/** Ends the resuming when its time is up, or everybody has caught up; `waiting` is what the next step waits for. */
export function reviewResuming(
  state: LaneState,
  waiting: Placed | undefined,
  nowMs: number,
  { resumeMs, latenessMs }: PairingSettings,
): void {
  const { resuming } = state;
  if (!resuming) return;
  const { sinceMs, absent, backMs } = resuming;
  if (state.steps !== resuming.steps) {
    resuming.steps = state.steps;
    resuming.movedMs = nowMs;
  }
  const graceMs = absent.length > 0 ? 0 : Math.min(backMs - sinceMs, resumeMs * RESEND_SHARE);
  const stuckMs = absent.length > 0 ? LOWEST : resuming.movedMs! + Math.min(latenessMs, resumeMs * STUCK_SHARE);
  const untilMs = Math.max(sinceMs + resumeMs + graceMs, Math.min(stuckMs, sinceMs + resumeMs * CATCH_UP_MAX));
  const isResent = absent.length === 0 && nowMs >= backMs + RESEND_MS;
  const isCurrent = !waiting || waiting.sinceMs > nowMs - latenessMs / 2;
  if (nowMs < untilMs && !(isResent && isCurrent)) {
    if (nowMs >= resuming.checkMs) resuming.checkMs = untilMs;
    return;
  }
  // whoever is not back has been late all the time
  state.countsFromMs = absent.length > 0 ? LOWEST : nowMs;
  state.resuming = null;
}

/** The clock has moved, for nobody's fault. */
export function shiftResuming(state: LaneState, deltaMs: number): void {
  if (state.countsFromMs !== LOWEST) state.countsFromMs += deltaMs;
  if (!state.resuming) return;
  for (const key of ['sinceMs', 'backMs', 'checkMs', 'movedMs'] as const)
    if (state.resuming[key] !== undefined) state.resuming[key] += deltaMs;
}
