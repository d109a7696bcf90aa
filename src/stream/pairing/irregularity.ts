/**
 * What is said about a part that is not as it should be: which part of which feed, what is wrong with it, and the
 * remedy.
 */
import type { PairingSettings } from '../../config/config.js';
import type { Irregularity } from '../../wire/events.js';
import type { Role } from '../../wire/feed.js';
import type { FeedPart } from '../../wire/objects.js';

export const ENDED = 'arrived after the feed had ended; say hello again to continue';
export const UNNUMBERED = 'has no frame number, but the stream is paired by frame; send k, or set pairing.by to time';
export const SUSPENDED = 'did not arrive in time; judgement is suspended';
export const MISSED = 'did not arrive in time; it is judged with no tracks';

/** `message` goes on where the name of the part ends; `count` is the number of frames concerned. */
export function irregularity(
  type: Irregularity['type'],
  role: Role,
  tracker: string,
  { k, t }: Pick<FeedPart, 'k' | 't'>,
  count: number,
  message: string,
): Irregularity {
  const name = k === undefined ? (t === undefined ? 'a part' : `the part at ${t} s`) : `frame ${k}`;
  return {
    type,
    role,
    tracker: role === 'tracker' ? tracker : null,
    ...(k === undefined ? {} : { k }),
    count,
    message: `${name} of the ${role === 'tracker' ? `tracker ${tracker}` : 'reference'} ${message}`,
  };
}

/** Why a part is refused: its step is closed, it came before, or the tracker has waited for it in vain. */
export type RefusalReason = 'late' | 'duplicate' | 'awaited';

export function refusal(reason: RefusalReason, settings: PairingSettings): string {
  const { latenessMs, latenessFrames, bufferFrames } = settings;
  if (reason === 'duplicate') return 'was delivered before; the first one counts';
  if (reason === 'awaited')
    return `came too late: the tracker's frame had waited for it and was given up; it is not judged; raise pairing.latenessMs (now ${latenessMs}) or pairing.bufferFrames (now ${bufferFrames}) to wait longer`;
  return `arrived after its step was closed; raise pairing.latenessMs (now ${latenessMs}) or pairing.latenessFrames (now ${latenessFrames}) to accept it`;
}

export const gap = (by: 'frame' | 'time', skipped: number, { silenceMs }: PairingSettings): string =>
  by === 'frame'
    ? `came after ${skipped} skipped frame number${skipped === 1 ? '' : 's'}`
    : `jumped ahead in time by more than pairing.silenceMs (now ${silenceMs})`;

/** Of a part whose number was doubted and is not believed. */
export const setAside = (by: 'frame' | 'time', before: number): string =>
  by === 'frame'
    ? `is out of line with frame ${before} before it and with what came after it; it was set aside`
    : 'is out of line with the times before and after it; it was set aside';

export const restart = (by: 'frame' | 'time', before: number, now: number): string =>
  by === 'frame'
    ? `begins a new numbering (${before} came before it)`
    : `falls back by ${Math.round(before - now)} ms: its clock was set`;
