/**
 * Which engine solves what: the one rule.
 *
 * A pair whose ends have no other pair in the window is always assigned. Everything else begins at the frontier. Where
 * a knot of it meets more than `STATES_MAX` states in one frame, or keeps more than `keptMax` for the frames to come,
 * or the budget is spent, everybody who hangs together with it in the window goes to the warm program, within the same
 * push, and stays there until the frame in which that happened has left the window. Then the frontier tries again; each
 * time it fails at once, the program keeps them for twice as many windows, up to `PATIENCE_MAX`. Under time weights
 * there is no frontier. The answer does not depend on the engine: both choose the same of several optima.
 */

/** States that one knot at the frontier may meet. */
export const STATES_MAX = 128;

/**
 * States that it may keep, given the price of half a switch in units of c^p. What is kept is worked in every frame
 * until it is decided, which takes the longer the dearer switches are: under `online-surveillance` (0.21) hardly
 * anything is kept for long, under `offline-scene-understanding` (5) a crowd keeps dozens of states for dozens of
 * frames, where the program takes half the time.
 */
export function keptMax(price: number): number {
  return Math.max(4, Math.min(STATES_MAX, Math.round(24 / price)));
}

/** Windows that the program keeps what the frontier failed with again and again. */
export const PATIENCE_MAX = 16;
