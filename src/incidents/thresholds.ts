/**
 * Every threshold of a diagnosis, in one place, by what it decides. What an operator may want otherwise stands in the
 * configuration (`streams.*.spikes`: critical, sameIncidentSeconds, lateFrames); these are facts about trackers and
 * scenes, found on MOT17 with `npm run bench -- spikes --parts faults`, and few would know how to choose them.
 */

// how often an incident is looked at

/** frames after its start at which it is looked at again; then at twice as many, and so on */
export const FIRST_LOOK = 3;
/** looks after which a diagnosis stands */
export const LOOKS_MAX = 6;
/** frames after which what comes back is another incident, where times are not known */
export const BACK_FRAMES = 18_000;

// what is looked at

/** frames since the trouble began, the newest */
export const BAD_MAX = 40;
/** pairs of objects that are compared, in all frames together, and frames that are compared at least */
export const COMPARED_MAX = 150_000;
export const PAIRED_MIN = 4;

// silent, frozen, frames skipped

/** frames without which nothing is said */
export const FRAMES_MIN = 3;
/** share of the frames that must be empty of tracks for a tracker to be silent */
export const SILENT_SHARE = 0.9;
/** share of the frames in which a tracker that skips some has nothing, or nothing new */
export const SKIPPED_MIN = 0.25;
/** runs of skipped frames for each frame between them */
export const RUNS_SHARE = 0.3;
/** share of the distances between answered frames that must be the same for that to be the rule */
export const REGULAR_SHARE = 0.75;
/** share of the tracks, and at most of the truths, that do not move */
export const STILL_SHARE = 0.9;
export const STILL_TRUTHS_MAX = 0.6;
/** share of its way that a track is from where it began, if it moves: one that wavers stays where it is */
export const WAY_SHARE = 0.5;

// late and early

/** frames that a tracker is off by at least, beyond what may be chance; and where its usual lag is not known */
export const LAG_MIN = 0.45;
export const UNKNOWN_LAG_MIN = 1.5;
/**
 * truths of which no error is known; and what a shift must explain where these tell alone: times what fits without it,
 * and of what fitted before
 */
export const FEW_TELLERS = 1.8;
export const FEW_GAIN_MIN = 1.5;
export const AS_BEFORE = 0.85;
/** a standard error above this says nothing of a frame; many looks together say something, each by its own error */
export const ERROR_MAX = 0.25;
export const LOOK_ERROR_MAX = 0.5;
/** frames before the trouble from which the usual lag is taken, and truths that must tell of it */
export const BEFORE_MIN = 12;
export const LAG_TRUTHS_MIN = 3;
/**
 * frames to both sides that a velocity is taken from: from one to the next it is mostly rounding; and of so many one is
 * looked at for a slight lag
 */
export const VELOCITY_REACH = 4;
/** what a shift in time must explain beyond what is there without it */
export const GAIN_MIN = 1.04;
/** frames after which a slight lag is looked for; more once so many looks know what is usual and nothing is in doubt */
export const TIMING_FRAMES = 40;
export const TIMING_FRAMES_CALM = 80;
export const KNOWN_LOOKS = 30;
export const DOUBT = 1;
/** before any look tracks are believed to be in time, as if from so many */
export const USUAL_PRIOR_LOOKS = 8;
/** looks from which it is known how late the tracks usually are, over which that is learned, and that are held back */
export const USUAL_LOOKS = 2;
export const USUAL_LOOKS_MAX = 200;
export const HELD_LOOKS = 4;
export const HELD_LOOKS_MAX = 48;
/** of the lag in one look: the variance that is believed, with the weight of so many looks, and looks of a block */
export const VARIANCE_PRIOR = 0.06;
export const VARIANCE_LOOKS = 8;
export const BLOCK_LOOKS = 16;
/** looks in which a truth lies off alike, as long as it is not known; and blocks that tell it as well as that does */
export const ALIKE_LOOKS = 5;
export const DOUBTED_BLOCKS = 3;
/** what looks before tell of that variance counts as much as so many truths of this one */
export const VARIANCE_FREEDOM = 8;
/** more evidence is asked for in an old series, by this share; and so many times the most that ever came to nothing */
export const AGED = 0.25;
export const PEAK_FACTOR = 2;
/** of which so much is kept from one time to the next */
export const PEAK_KEPT = 0.99995;
/** frames that come so many times as fast or slowly come at another pace */
export const PACE_FACTOR = 1.3;
/** log likelihood ratio that one look may come to, and that one truth in it may */
export const LOOK_EVIDENCE_MAX = 6;
export const TELLER_EVIDENCE = 1;

// coordinates that are read otherwise, scaled or moved

/** moments, pairs, and the share of the possible pairs that an explanation rests on */
export const MOMENTS_MIN = 2;
export const PAIRS_MIN = 8;
export const SHARE_MIN = 0.25;
/** the scene as it is has at most so much of the share that the explanation has */
export const AS_IT_IS_MAX = 0.5;
/** of a shift in space: standard errors of the residuals, and what it must explain beyond what is there without it */
export const SHIFT_ERRORS = 6;
export const SHIFT_GAIN = 1.15;

// a region or a class lost

/** cells of the scene along each axis, and objects without which nothing is said */
export const CELLS = 6;
export const TRUTHS_MIN = 8;
/** share that is missed inside what was lost; and beyond it, at most */
export const INSIDE_MIN = 0.75;
export const OUTSIDE_MAX = 0.4;
/** of a class, twice the log likelihood ratio, per object: frames of one object are not independent */
export const RATIO_MIN = 6;

// identities, duplicates, ghosts, clutter

/** objects that change their track in one frame, and as a share of those that could */
export const AT_ONCE_MIN = 3;
export const AT_ONCE_SHARE = 0.4;
/** changes since the trouble began, and how many times as many for each pair as before */
export const CHANGES_MIN = 4;
export const CHANGES_FACTOR = 4;
/** share of the new partners that nobody had before, when ids begin anew */
export const NEW_SHARE = 0.7;
/** share of what has no partner that lies on an object with one; for each pair, and how many times as before */
export const DOUBLE_SHARE = 0.5;
export const DOUBLE_PER_PAIR = 0.2;
export const DOUBLE_FACTOR = 2;
/** pairs in a frame, as a share of those before the trouble: fewer are chance, and tell nothing of identities */
export const STILL_PAIRED_SHARE = 0.5;
/** frames that a ghost is there for, half of those looked at at least, and the share of the frames since it came */
export const RISEN_MIN = 0.4;
export const MISSED_SHARE = 0.5;
/** frames that a ghost is there for, of those looked at half at least, and the share of the frames since it came */
export const GHOST_FRAMES = 5;
export const GHOST_SHARE = 0.6;
/** what of all false tracks stays, at least; and for how many lives of those that are gone: clutter does not */
export const STAYING_SHARE = 0.65;
export const GONE_LIVES = 6;
