/** Why a hello is refused: the code for programs, the place for their authors, and a sentence with the remedy. */
import { isDeepStrictEqual } from 'node:util';
import { pointProfileLines } from '../config/config.js';
import type { StreamPlan } from '../stream/plan.js';
import type { Shape } from '../wire/objects.js';

/** A refused hello. */
export interface Refusal {
  code: string;
  path: string;
  message: string;
}

export const exceeded = (
  limit: 'streams' | 'trackersPerStream',
  path: string,
  fact: string,
  most: number,
): Refusal => ({
  code: limit === 'streams' ? 'streams_exceeded' : 'trackers_exceeded',
  path,
  message: `${fact}; raise limits.${limit} (now ${most}), or wait until an idle one is retired`,
});

/** Boxes for a stream of points, or points for a stream of boxes. */
export function refuseShape({ shape: expected, settings }: StreamPlan, stream: string, shape?: Shape): Refusal | null {
  if (shape === undefined || shape === expected) return null;
  const profiles = settings.profiles.join(', ');
  if (shape === 'box')
    return {
      code: 'settings_invalid',
      path: 'shape',
      message: `stream ${stream} is judged by ${profiles}, which compares points; send points, or configure a profile for boxes`,
    };
  return {
    code: 'profile_missing',
    path: 'stream',
    message: `points have no natural cut-off, and stream ${stream} is judged by ${profiles}, which compares boxes; add to tgospa.yaml, with your own numbers:\n${pointProfileLines(stream)}`,
  };
}

/** The first setting of a hello that differs from those the stream runs with. */
export function refuseSettings(settings: object, patch: object, path = 'settings'): Refusal | null {
  for (const [key, wanted] of Object.entries(patch)) {
    if (wanted === undefined) continue;
    const place = `${path}.${key}`;
    const running = (settings as Record<string, unknown>)[key];
    const nested = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted);
    if (nested) {
      const inner = refuseSettings(running as object, wanted, place);
      if (inner) return inner;
    } else if (!isDeepStrictEqual(running, wanted)) {
      return {
        code: 'settings_invalid',
        path: place,
        message: `${place} is ${JSON.stringify(wanted)}, but the stream runs with ${JSON.stringify(running)}; leave it out, or use another stream name`,
      };
    }
  }
  return null;
}
