/** What decoders give out, checked like native frames: for the fuzzers. */
import type { Decoded } from '../../adapters/kit/adapter.js';
import { Fault } from '../../src/wire/fault.js';
import { checkFrame, type FrameRules } from '../../src/wire/frame-check.js';
import type { Shape } from '../../src/wire/objects.js';

export const rulesFor = (shape: Shape): FrameRules => ({
  objectsMax: 1e6,
  idLengthMax: 1e6,
  shape,
  dimensions: 0,
  geodesic: false,
  pointRemedy: '',
  strict: true,
});

/** What is wrong with a frame that came out; ids may stand twice, which only the whole frame tells. */
export function wrongWith(decoded: Decoded, rules: FrameRules): string | null {
  for (const part of decoded.parts) {
    const fault = checkFrame({ ...part, seq: 1 }, { ...rules, dimensions: 0 });
    if (
      fault instanceof Fault &&
      fault.code !== 'id_duplicate' &&
      !/side|width|height|1e12|1000000000000/.test(fault.message)
    )
      return `${fault.path}: ${fault.message}`;
  }
  for (const { path, message } of decoded.problems)
    if (typeof path !== 'string' || message.length < 5) return `no words: ${path} ${message}`;
  return decoded.parts.length > 0 && decoded.problems.length > 0 ? 'frames and problems at once' : null;
}
