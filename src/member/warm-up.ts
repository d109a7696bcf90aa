/**
 * An evaluator that owns nothing has code that has never run, and whoever waits for a takeover would wait for its
 * compilation. So it judges made-up streams, by the settings of every stream, in slices and for a bounded number of
 * frames and of work: as a takeover does, from records that are decoded, and now and then from a snapshot. Compilers
 * forget what they have made of code as soon as it meets something new: so the scenes are as varied as real ones.
 * Nobody sees the result.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { type Config, resolveStream } from '../config/config.js';
import type { Box, Frame } from '../metric/evaluation.js';
import { crossingScene, plazaFrames } from '../simulation/walkers.js';
import { packSnapshot, unpackSnapshot } from '../store/formats.js';
import { type LogRecord, RecordReader, RecordWriter } from '../store/record.js';
import type { StreamPlan } from '../stream/plan.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import type { Role } from '../wire/feed.js';
import { pack, type WireObject } from '../wire/objects.js';

/** frames of a stream between two snapshots */
const SNAPSHOT_FRAMES = 60;
const TRACKER = 'tracker';
const FRAME_MS = 100;
const METRES_PER_DEGREE = 111_000;
/** of work: some settings need much of it */
const WORK_MS_MAX = 5000;
/** pixels of a scene that are as far apart as things that may be taken for each other */
const CLOSE_PIXELS = 50;

/**
 * Judges so many frames of each feed, or until the signal says that there is real work, or that much work was done;
 * resolves with how many.
 */
export async function warmUp(
  config: Config,
  frames: number,
  signal: AbortSignal,
  workMsMax = WORK_MS_MAX,
): Promise<number> {
  const plan = resolveStream(config, 'warm-up');
  if ('message' in plan || frames === 0) return 0;
  // what has run once is forgotten after a while of idleness otherwise
  setFlagsFromString('--no-flush-bytecode');
  const { auditEvery, heavyMs, sliceMs } = config.evaluation;
  const scenes = [...crossingScene().trackers.map((tracker) => tracker.frames), plazaFrames()];
  const streams = scenes.map((scene, n) => new MadeUpStream(`warm-up-${n}`, scene, plan, { auditEvery, heavyMs }));
  let [workMs, sliceBegan] = [0, performance.now()];
  for (let frame = 1; frame <= frames; frame++) {
    streams[frame % streams.length].judge();
    const sinceMs = performance.now() - sliceBegan;
    if (sinceMs < sliceMs) continue;
    workMs += sinceMs;
    // others may need this machine, a new owner above all
    await delay(sinceMs);
    if (signal.aborted || workMs > workMsMax) return frame;
    sliceBegan = performance.now();
  }
  return frames;
}

class MadeUpStream {
  readonly #plan: StreamPlan;
  #stream: Stream;
  #position = 0;
  #frame = 0;
  readonly #writer = new RecordWriter();

  constructor(
    readonly name: string,
    /** over and over again, each time with other people */
    readonly scene: readonly Frame[],
    settings: Omit<StreamPlan, 'patch'>,
    readonly options: StreamOptions,
  ) {
    this.#plan = { ...settings, patch: {} };
    this.#stream = new Stream(name, this.#plan, options);
    for (const role of ['reference', 'tracker'] as const)
      this.#apply({ kind: 'open', stream: name, atMs: 0, ...feedOf(role), settings: this.#plan });
  }

  /** The next frame of both feeds. */
  judge(): void {
    const frame = ++this.#frame;
    const round = Math.ceil(frame / this.scene.length);
    const seen = this.scene[(frame - 1) % this.scene.length];
    for (const role of ['reference', 'tracker'] as const) {
      const objects = (seen[role] as ReadonlyArray<{ id: string; box: Box }>).map(({ id, box }) => ({
        id: `${id}-${round}`,
        ...this.#place(box),
      }));
      const part = { seq: frame, k: frame, objects: pack(objects) };
      this.#apply({ kind: 'part', stream: this.name, atMs: frame * FRAME_MS, ...feedOf(role), part });
    }
    if (frame % SNAPSHOT_FRAMES === 0) this.#restore();
  }

  #place([left, top, width, height]: Box): Pick<WireObject, 'box' | 'point'> {
    if (this.#plan.shape === 'box') return { box: [left, top, width, height] };
    const scale = closeBy(this.#plan) / CLOSE_PIXELS;
    return { point: [left * scale, top * scale] };
  }

  #apply(record: LogRecord): void {
    this.#writer.truncate(0);
    this.#writer.write(record);
    const read = new RecordReader(Buffer.from(this.#writer.bytes())).read();
    for (const _applied of this.#stream.apply(read, ++this.#position));
  }

  /** Continues with what a snapshot says. */
  #restore(): void {
    const { position } = this.#stream;
    this.#stream.snapshot(({ state }) => {
      const stored = unpackSnapshot(packSnapshot(state), this.name);
      this.#stream.dispose();
      this.#stream = Stream.fromJSON(this.name, { state: stored, position }, this.options);
    });
  }
}

const feedOf = (role: Role) => ({ role, tracker: role === 'tracker' ? TRACKER : null });

/** Points that are further apart than this are no pairs. */
function closeBy({ profiles }: StreamPlan): number {
  const params = Object.values(profiles);
  const cutoff = Math.max(...params.map((one) => one.cutoff));
  return params[0].distance === 'geodesic' ? Math.min(cutoff / METRES_PER_DEGREE, 3) : cutoff;
}
