/**
 * An evaluator that owns nothing has code that has never run, and whoever waits for a takeover would wait for its
 * compilation. So it judges a made-up stream, by the settings of every stream, in slices and for a bounded number of
 * frames and of work: as a takeover does, from records that are decoded, and now and then from a snapshot. Nobody sees
 * the result.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { type Config, resolveStream } from '../config/config.js';
import { packSnapshot, unpackSnapshot } from '../store/formats.js';
import { type LogRecord, RecordReader, RecordWriter } from '../store/record.js';
import type { StreamPlan } from '../stream/plan.js';
import { Stream, type StreamOptions } from '../stream/stream.js';
import type { Role } from '../wire/feed.js';
import { pack, type Shape, type WireObject } from '../wire/objects.js';

/** frames between two snapshots */
const SNAPSHOT_FRAMES = 60;
const OBJECTS = 20;
const NAME = 'warm-up';
const TRACKER = 'tracker';
const FRAME_MS = 100;
const METRES_PER_DEGREE = 111_000;
/** of work: some settings need much of it */
const WORK_MS_MAX = 5000;

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
  const plan = resolveStream(config, NAME);
  if ('message' in plan || frames === 0) return 0;
  // what has run once is forgotten after a while of idleness otherwise
  setFlagsFromString('--no-flush-bytecode');
  const { auditEvery, heavyMs, sliceMs } = config.evaluation;
  const scene = new MadeUpStream({ ...plan, patch: {} }, { auditEvery, heavyMs });
  let [workMs, sliceBegan] = [0, performance.now()];
  for (let frame = 1; frame <= frames; frame++) {
    scene.judge(frame);
    if (frame % SNAPSHOT_FRAMES === 0) scene.restore();
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
  #stream: Stream;
  #position = 0;
  readonly #writer = new RecordWriter();
  readonly #unit: number;

  constructor(
    readonly plan: StreamPlan,
    readonly options: StreamOptions,
  ) {
    this.#stream = new Stream(NAME, plan, options);
    this.#unit = unitOf(plan);
    for (const role of ['reference', 'tracker'] as const)
      this.#apply({ kind: 'open', stream: NAME, atMs: 0, ...feedOf(role), settings: plan });
  }

  judge(frame: number): void {
    const { shape } = this.plan;
    for (const role of ['reference', 'tracker'] as const) {
      const part = { seq: frame, k: frame, objects: pack(objectsAt(frame, role, shape, this.#unit)) };
      this.#apply({ kind: 'part', stream: NAME, atMs: frame * FRAME_MS, ...feedOf(role), part });
    }
  }

  #apply(record: LogRecord): void {
    this.#writer.truncate(0);
    this.#writer.write(record);
    const read = new RecordReader(Buffer.from(this.#writer.bytes())).read();
    for (const _applied of this.#stream.apply(read, ++this.#position));
  }

  /** Continues with what a snapshot says. */
  restore(): void {
    const { position } = this.#stream;
    this.#stream.snapshot(({ state }) => {
      const stored = unpackSnapshot(packSnapshot(state), NAME);
      this.#stream.dispose();
      this.#stream = Stream.fromJSON(NAME, { state: stored, position }, this.options);
    });
  }
}

const feedOf = (role: Role) => ({ role, tracker: role === 'tracker' ? TRACKER : null });

/** Each on its own way, far from the others; the tracker is a little off, and misses and confuses some. */
function objectsAt(frame: number, role: Role, shape: Shape, unit: number): WireObject[] {
  return Array.from({ length: OBJECTS }, (_, n): WireObject[] => {
    const age = frame + 37 * n;
    const isTrack = role === 'tracker';
    if (isTrack && (age * 7) % 23 === 0) return [];
    const id = `${n}-${Math.floor(age / (isTrack ? 90 : 240))}`;
    const off = isTrack ? Math.sin(age * 0.7) / 20 : 0;
    const x = unit * (4 * (n % 5) + (age % 240) / 240 + off);
    const y = unit * (4 * Math.floor(n / 5) + Math.sin(age / 40) / 2 - off);
    return [shape === 'box' ? { id, box: [x, y, unit, 2 * unit] } : { id, point: [x, y] }];
  }).flat();
}

/** Objects that are further apart than a few of these are no pairs. */
function unitOf({ shape, profiles }: StreamPlan): number {
  if (shape === 'box') return 50;
  const params = Object.values(profiles);
  const cutoff = Math.max(...params.map((one) => one.cutoff));
  return params[0].distance === 'geodesic' ? Math.min(cutoff / METRES_PER_DEGREE, 3) : cutoff;
}
