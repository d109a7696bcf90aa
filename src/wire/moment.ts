/**
 * A moment as a file: frames of one series around the frame that somebody looked at, its profile, and how the frames
 * were judged. The page saves it; the page, `tgospa eval` and `tgospa replay` open it again.
 * Invariant: a moment that was read is complete, its frames are in order, and the kernel accepts all of them.
 */
import type { Frame, FrameEvaluation, Obj } from '../metric/evaluation.js';
import { FramePacker, framesFor } from '../metric/frame.js';
import { InputError, noting, type Problem } from '../metric/input-error.js';
import { checkParams, type Params } from '../metric/params.js';
import type { SeriesId } from './series-key.js';

export const MOMENT_FORMAT = 'tgospa-moment';
export const MOMENT_VERSION = 1;
const FRAMES_MAX = 20_000;

export interface MomentFrame extends Frame {
  k: number;
  /** its own time, epoch seconds */
  t?: number;
  /** when it came, epoch milliseconds */
  atMs?: number;
}

export interface SavedMoment extends SeriesId {
  format: typeof MOMENT_FORMAT;
  version: typeof MOMENT_VERSION;
  /** the frame that was looked at */
  k: number;
  /** the first frames only fill the window */
  lead: number;
  params: Params & { windowFrames: number };
  frames: MomentFrame[];
  /** of each frame what was made of it when it was the newest; for readers of the file */
  judged?: FrameEvaluation[];
}

/** The moment in a text, or one InputError that says what is wrong with it; `file` names it there. */
export function readMoment(text: string, file: string): SavedMoment {
  const value = parsed(text, file);
  const problems = problemsOf(value, file);
  if (problems.length > 0) throw new InputError(problems);
  const { stream, tracker, profile, k, lead = 0, params, frames } = value as unknown as SavedMoment;
  return { format: MOMENT_FORMAT, version: MOMENT_VERSION, stream, tracker, profile, k, lead, params, frames };
}

/** The frames of the window that ends with the frame that was looked at. */
export function windowFramesOf({ frames, k, params }: SavedMoment): MomentFrame[] {
  const end = frames.findIndex((frame) => frame.k === k) + 1;
  return frames.slice(Math.max(0, end - params.windowFrames), end);
}

export const shapeOf = ({ frames }: SavedMoment): 'box' | 'point' => {
  const objects = frames.flatMap(({ reference, tracker }): Obj[] => [reference[0] ?? tracker[0]].filter(Boolean));
  return objects.length > 0 && 'point' in objects[0] ? 'point' : 'box';
};

function parsed(text: string, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError([{ path: file, value: text.slice(0, 40), message: 'is not a moment: it is not JSON' }]);
  }
  const { format, version } = (typeof value === 'object' && value ? value : {}) as Record<string, unknown>;
  if (format !== MOMENT_FORMAT)
    throw new InputError([
      { path: file, value: format, message: `is not a moment saved by the page: its format must be ${MOMENT_FORMAT}` },
    ]);
  if (version !== MOMENT_VERSION)
    throw new InputError([
      { path: file, value: version, message: `is of another version; this program reads version ${MOMENT_VERSION}` },
    ]);
  return value as Record<string, unknown>;
}

function problemsOf({ stream, tracker, profile, k, lead, params, frames }: Record<string, unknown>, file: string) {
  const problems: Problem[] = [];
  const expect = (ok: boolean, path: string, value: unknown, message: string) =>
    ok || problems.push({ path: `${file}: ${path}`, value, message });
  for (const [path, value] of Object.entries({ stream, tracker, profile }))
    expect(typeof value === 'string' && value !== '', path, value, 'must be a name');
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  expect(lead === undefined || isCount(lead), 'lead', lead, 'must be a number of frames');
  const isList = Array.isArray(frames) && frames.length > 0 && frames.length <= FRAMES_MAX;
  expect(isList, 'frames', isList || frames, `must be 1 to ${FRAMES_MAX} frames`);
  const isThere = isList && frames.some((frame) => frame?.k === k);
  expect(!isList || isThere, 'k', k, 'must be the number of one of the frames');
  noting(problems, () => checkParams(params as Params, ['windowFrames', 'settleFrames']));
  const { windowFrames } = (params ?? {}) as SavedMoment['params'];
  expect(isCount(windowFrames) && windowFrames > 0, 'params.windowFrames', windowFrames, 'must be a number of frames');
  if (problems.length === 0) checkFrames(frames as MomentFrame[], params as Params, problems);
  return problems;
}

/** In order, and sound for the kernel, which looks at every object. */
function checkFrames(frames: MomentFrame[], { distance }: Params, problems: Problem[]): void {
  const packer = new FramePacker();
  frames.forEach((frame, n) => {
    const isNext = Number.isSafeInteger(frame?.k) && (n === 0 || frame.k > frames[n - 1]?.k);
    if (!isNext) problems.push({ path: `frames[${n}].k`, value: frame?.k, message: 'must be above the one before' });
    else noting(problems, () => packer.pack(framesFor(distance, [frame])[0], distance, `frames[${n}]`));
  });
}
