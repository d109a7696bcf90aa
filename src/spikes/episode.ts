/**
 * One spike from its beginning to its end: what was observed while it lasted, and when it is over. It is over once
 * the level, smoothed over the last frames, has stayed in the lowest third between what is usual and what the spike
 * brought, for `calmFrames`; or after `adoptFrames`, when the new level is taken for the usual one.
 */

const AT = { frames: 0, fast: 1, active: 2, calm: 3, firstFrame: 4, lasted: 5, sum: 6, bad: 7 } as const;

export const EPISODE_SIZE = 8;

export interface EpisodeSettings {
  calmFrames: number;
  adoptFrames: number;
}

export type Ending = 'recovered' | 'adopted';

export class Episode {
  constructor(
    private readonly state: Float64Array,
    private readonly settings: EpisodeSettings,
    /** frames over which the level is smoothed */
    private readonly smoothFrames: number,
  ) {}

  get active(): boolean {
    return this.state[AT.active] === 1;
  }

  /** The level lately. */
  get observed(): number {
    return this.state[AT.fast];
  }

  get firstFrame(): number {
    return this.state[AT.firstFrame];
  }

  /** Mean level while the spike lasted. */
  get mean(): number {
    return this.state[AT.lasted] === 0 ? this.state[AT.bad] : this.state[AT.sum] / this.state[AT.lasted];
  }

  observe(level: number): void {
    const { state } = this;
    if (state[AT.frames] < this.smoothFrames) state[AT.frames]++;
    state[AT.fast] += (level - state[AT.fast]) / state[AT.frames];
  }

  start(firstFrame: number, observed: number): void {
    const { state } = this;
    state[AT.active] = 1;
    state[AT.firstFrame] = firstFrame;
    state[AT.bad] = state[AT.fast] = observed;
    state[AT.calm] = state[AT.lasted] = state[AT.sum] = 0;
  }

  stop(): void {
    this.state[AT.active] = 0;
  }

  /** One more frame of the spike; how it ended, when it did. */
  follow(level: number, usual: number): Ending | null {
    const { state } = this;
    state[AT.lasted]++;
    state[AT.sum] += level;
    const calm = state[AT.fast] <= usual + Math.max(0, state[AT.bad] - usual) / 3;
    state[AT.calm] = calm ? state[AT.calm] + 1 : 0;
    const ending =
      state[AT.calm] >= this.settings.calmFrames
        ? 'recovered'
        : state[AT.lasted] >= this.settings.adoptFrames
          ? 'adopted'
          : null;
    if (ending) state[AT.active] = 0;
    return ending;
  }
}
