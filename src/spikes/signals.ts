/** The four signals that are watched, and what else an incident gathers. */

export const SIGNALS = ['missed', 'false', 'switch', 'localization'] as const;
/** What an incident may gather: besides spikes, that nothing comes, feeds that do not fit, tracks that are late. */
export const INCIDENT_SIGNALS = [...SIGNALS, 'silence', 'wiring', 'timing'] as const;
export type Signal = (typeof SIGNALS)[number];
