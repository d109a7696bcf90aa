/**
 * The metric's parameters in words: from the numbers in force to words, back through the kernel's own `profile`, and as
 * lines for tgospa.yaml.
 */
import { type Params, type ProfileWords, profile } from '../../metric/params.js';

export type SwitchNotion = 'short' | 'long' | 'none';

export interface Wish {
  distance: Params['distance'];
  cutoff: number;
  admissibleError: number;
  notion: SwitchNotion;
  shortSwitchDistance: number;
  longSwitchFrames: number;
  missShare: number;
}

/** Six digits: as much as a slider can mean, and as little as reads well in a file. */
export const tidy = (value: number) => Number(value.toPrecision(6));

/** The words for parameters in force. */
export function wishOf(params: Params): Wish {
  const { distance, cutoff, exponent, switchPenalty, missShare = 0.5 } = params;
  const power = cutoff ** exponent;
  const lasting = switchPenalty ** exponent / power;
  const short = power - 2 * switchPenalty ** exponent;
  return {
    distance,
    cutoff: tidy(cutoff),
    admissibleError: tidy(cutoff / 2 ** (1 / exponent)),
    notion: switchPenalty === 0 ? 'none' : short >= 0 ? 'short' : 'long',
    shortSwitchDistance: tidy(short >= 0 ? short ** (1 / exponent) : cutoff / 3),
    longSwitchFrames: lasting > 0.5 ? tidy(lasting) : 10,
    missShare,
  };
}

/** Only the words that apply. */
export function wordsOf(wish: Wish): ProfileWords {
  const { distance, cutoff, notion, missShare } = wish;
  const half = cutoff / 2;
  // a slider cannot be set to what the definition forbids
  const admissibleError = tidy(Math.min(Math.max(wish.admissibleError, half), cutoff * 0.999));
  const switches =
    notion === 'none'
      ? { switchPenalty: 0 }
      : notion === 'short'
        ? { shortSwitchDistance: tidy(Math.min(wish.shortSwitchDistance, cutoff * 0.999)) }
        : { longSwitchFrames: wish.longSwitchFrames };
  return { distance, cutoff, admissibleError, ...switches, ...(missShare === 0.5 ? {} : { missShare }) };
}

export const paramsOf = (wish: Wish): Params => profile(wordsOf(wish));

/** The lines to put into tgospa.yaml. */
export function yamlOf(wish: Wish, stream: string, name = 'my-profile'): string {
  const entries = Object.entries(wordsOf(wish)).map(([key, value]) => `    ${key}: ${value}`);
  return ['profiles:', `  ${name}:`, ...entries, 'streams:', `  ${stream}: { profiles: [${name}] }`, ''].join('\n');
}
