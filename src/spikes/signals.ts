/** The four signals that are watched. */

export const SIGNALS = ['missed', 'false', 'switch', 'localization'] as const;
export type Signal = (typeof SIGNALS)[number];
