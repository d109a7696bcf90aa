/**
 * Which engine solves what: the one rule.
 *
 * A pair whose ends have no other pair in the window is always assigned. Everything else begins at the frontier. Where a knot of it meets more than
 * `STATES_MAX` states in one frame, everybody who hangs together with it in the window goes to the warm program, within the same push, and stays there
 * until the frame in which that happened has left the window. Under time weights there is no frontier.
 */

/** States of one knot at the frontier. */
export const STATES_MAX = 48;
