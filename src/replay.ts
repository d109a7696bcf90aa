/**
 * `tgospa replay`: sends recorded MOTChallenge files to a running evaluator, as real clients would: one connection for
 * each feed, at the pace of a camera or as fast as frames are stored, coming back after every cut.
 * Invariant: every frame of every feed is sent once and in order; the command ends when all are stored and settled.
 */
import { basename, extname } from 'node:path';
import { parseArgs } from 'node:util';
import type { MotFeed } from '../adapters/motchallenge.js';
import { ClientError, type FeedClient, type Reject } from './client.js';
import { type Console, readFeeds, referenceNotes, shortNames } from './eval.js';
import { InputError, type Problem } from './index.js';
import { UsageError } from './options.js';
import { openFeed, Pace, stopSignal } from './player.js';
import { Progress } from './progress.js';
import { NAME_PATTERN } from './protocol.js';

const DEFAULT_URL = 'ws://127.0.0.1:9477';
const DEFAULT_FPS = 30;
const DEFAULT_PATIENCE_SECONDS = 30;
/** Frames that a connection holds until they are stored; keeps the feeds close together. */
const BUFFER_FRAMES = 256;
const REJECTS_SHOWN_MAX = 5;
const FPS_MAX = 10_000;
const NAME_CHARS_MAX = 64;

const HELP = `Usage: tgospa replay --reference FILE --tracker FILE [--tracker FILE ...] [options]

Sends recorded MOTChallenge files to a running evaluator (tgospa serve), as real clients would.

  --reference FILE    ground truth, or another tracker that is believed
  --tracker FILE      output of a tracker; may be repeated
  --url URL           evaluator, ${DEFAULT_URL} by default
  --stream NAME       stream to send to; named after the reference file unless given
  --fps NUMBER|max    frames per second, ${DEFAULT_FPS} by default; max: as fast as they are stored
  --loop              begin again at the end, with new ids, until stopped
  --profile NAME      judge under this profile of the evaluator; may be repeated
  --patience SECONDS  how long the evaluator waits for a feed that is cut off, ${DEFAULT_PATIENCE_SECONDS} by default;
                      0 leaves that to the settings of the stream
  --all-rows          send every row of the reference, whatever its flag and class
  --help              this text

A token is taken from the environment variable TGOSPA_TOKEN.
`;

const OPTIONS = {
  reference: { type: 'string' },
  tracker: { type: 'string', multiple: true },
  url: { type: 'string', default: DEFAULT_URL },
  stream: { type: 'string' },
  fps: { type: 'string', default: String(DEFAULT_FPS) },
  loop: { type: 'boolean', default: false },
  profile: { type: 'string', multiple: true },
  patience: { type: 'string', default: String(DEFAULT_PATIENCE_SECONDS) },
  'all-rows': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

interface Job {
  reference: string;
  trackers: string[];
  url: string;
  stream: string;
  /** infinity: as fast as frames are stored */
  fps: number;
  loop: boolean;
  settings: Record<string, unknown>;
  allRows: boolean;
  token?: string;
}

/** A file and the connection it is sent over. */
interface Feed {
  /** null for the reference */
  tracker: string | null;
  recording: MotFeed;
  client: FeedClient;
}

/** Sends the files; resolves when everything is stored and settled, or when told to stop. */
export async function run(args: string[], console: Console, signal = stopSignal()): Promise<void> {
  const job = parseJob(args);
  if (job === null) {
    console.out.write(HELP);
    return;
  }
  const { reference, trackers, allRows } = job;
  const recordings = readFeeds([
    { kind: 'reference', file: reference, allRows },
    ...trackers.map((file) => ({ kind: 'tracker' as const, file })),
  ]);
  for (const note of referenceNotes(recordings[0])) console.err.write(`${note}\n`);
  await new Replay(job, recordings, console, signal).play();
}

/** One run of the command. */
class Replay {
  readonly #feeds: Feed[];
  readonly #frameCount: number;
  readonly #rejects: Array<Reject & { feed: string }> = [];
  #rejectCount = 0;
  #sentFrames = 0;
  #storedFrames = 0;

  constructor(
    readonly job: Job,
    recordings: MotFeed[],
    readonly console: Console,
    readonly signal: AbortSignal,
  ) {
    const names = trackerNames(job.trackers);
    this.#frameCount = Math.max(...recordings.map(({ lastFrame }) => lastFrame));
    this.#feeds = recordings.map((recording, n) => {
      const tracker = n === 0 ? null : names[n - 1];
      return { tracker, recording, client: this.#open(tracker) };
    });
  }

  async play(): Promise<void> {
    const progress = new Progress(this.console.progress);
    const began = performance.now();
    this.#feeds[0].client.on('ack', () => this.#showStored(progress));
    const giveUp = () => this.#close();
    this.signal.addEventListener('abort', giveUp, { once: true });
    try {
      await this.#send(progress);
    } catch (error) {
      if (!this.signal.aborted) throw this.#explained(error);
    } finally {
      this.signal.removeEventListener('abort', giveUp);
      await progress.stop();
      this.#close();
    }
    this.#conclude((performance.now() - began) / 1000);
  }

  #open(tracker: string | null): FeedClient {
    const { url, stream, settings, token } = this.job;
    const feed = tracker === null ? { role: 'reference' as const } : { role: 'tracker' as const, tracker };
    const client = openFeed({ url, stream, ...feed, token, settings, shape: 'box', bufferFrames: BUFFER_FRAMES });
    const label = tracker ?? 'reference';
    client.on('reject', (reject) => {
      this.#rejectCount++;
      if (this.#rejects.length < REJECTS_SHOWN_MAX) this.#rejects.push({ ...reject, feed: label });
    });
    client.on('reconnecting', ({ attempt, code, reason }) => {
      // the first attempts fail within a second; then somebody should know
      if (attempt === 3) this.console.err.write(`${label}: no connection to ${url} (${code} ${reason}); trying on\n`);
    });
    return client;
  }

  async #send(progress: Progress): Promise<void> {
    const { fps, loop, stream } = this.job;
    const pace = new Pace(fps, this.signal);
    for (let lap = 0; lap === 0 || loop; lap++) {
      const label = loop ? `${stream}, round ${lap + 1}` : stream;
      progress.begin({ label, step: 1, steps: 1, total: this.#frameCount, unit: 'frames' });
      for (let frame = 1; frame <= this.#frameCount; frame++) {
        if (!(await pace.due())) return;
        const k = lap * this.#frameCount + frame;
        await Promise.all(
          this.#feeds.map(({ client, recording }) => client.send({ k, objects: objectsAt(recording, frame, lap) })),
        );
        this.#sentFrames++;
      }
    }
    await Promise.all(this.#feeds.map(({ client }) => client.end()));
  }

  /** Draws how many frames of the reference are stored. */
  #showStored(progress: Progress): void {
    const stored = this.#sentFrames - this.#feeds[0].client.pending;
    for (; this.#storedFrames < stored; this.#storedFrames++) progress.tick();
  }

  #close(): void {
    for (const { client } of this.#feeds) client.close({ flush: false }).catch(() => {});
  }

  /** A refusal in the words of the evaluator, where it gave any. */
  #explained(error: unknown): unknown {
    if (!(error instanceof ClientError)) return error;
    return this.#refusal() ?? new InputError([{ path: this.job.url, value: error.code, message: error.message }]);
  }

  #refusal(): InputError | null {
    if (this.#rejects.length === 0) return null;
    const problems: Problem[] = this.#rejects.map(({ feed, seq, path, code, message }) => ({
      path: [feed, seq === undefined ? '' : `frame ${seq}`, path].filter(Boolean).join(' '),
      value: code,
      message,
    }));
    const more = this.#rejectCount - problems.length;
    if (more > 0) problems.push({ path: this.job.stream, value: more, message: 'as many more were refused' });
    return new InputError(problems);
  }

  #conclude(seconds: number): void {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    const { stream } = this.job;
    const names = this.#feeds.flatMap(({ tracker }) => tracker ?? []).join(', ');
    const rate = Math.round(this.#sentFrames / Math.max(seconds, 0.001)).toLocaleString('en-US');
    const what = this.signal.aborted ? 'stopped after' : 'stored and settled';
    const how = `${seconds.toFixed(1)} s (${rate} frames/s)`;
    this.console.out.write(`stream ${stream}, trackers ${names}: ${what} ${this.#sentFrames} frames in ${how}\n`);
  }
}

/** The rows of a frame that count; every round brings new people. */
function objectsAt({ frames }: MotFeed, frame: number, lap: number) {
  const rows = frames.get(frame) ?? [];
  return rows.flatMap(({ counted, object: { id, box } }) =>
    counted ? [{ id: lap === 0 ? id : `${id}~${lap + 1}`, box }] : [],
  );
}

/** Names of files as names on the wire, all different. */
function trackerNames(files: string[]): string[] {
  const names = shortNames(files).map(wireName);
  return names.map((name, n) => (names.indexOf(name) === n ? name : `${name.slice(0, NAME_CHARS_MAX - 4)}-${n + 1}`));
}

function wireName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._:/-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return name.slice(-NAME_CHARS_MAX).replace(/^[^A-Za-z0-9]+/, '') || 'unnamed';
}

/** null: only the help is wanted. */
function parseJob(args: string[]): Job | null {
  const values = parse(args);
  if (values.help) return null;
  const { reference, tracker: trackers = [], url, stream } = values;
  const mistakes: string[] = [];
  if (reference === undefined) mistakes.push('--reference is missing; name the file that is believed');
  if (trackers.length === 0) mistakes.push('--tracker is missing; name at least one file to judge');
  const fps = values.fps === 'max' ? Number.POSITIVE_INFINITY : Number(values.fps);
  if (values.fps !== 'max' && !(fps > 0 && fps <= FPS_MAX))
    mistakes.push(`--fps must be max or a number above 0 up to ${FPS_MAX}, not ${values.fps}`);
  const patience = Number(values.patience);
  if (!(patience >= 0 && patience < 1e6))
    mistakes.push(`--patience must be a number of seconds from 0, not ${values.patience}`);
  if (!/^(ws|http)s?:\/\/[^/]/.test(url) || !URL.canParse(url))
    mistakes.push(`--url must be an address like ${DEFAULT_URL}, not ${url}`);
  if (stream !== undefined && !NAME_PATTERN.test(stream))
    mistakes.push(`--stream must be letters, digits and . _ : / - (at most ${NAME_CHARS_MAX}), not ${stream}`);
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return {
    reference: reference!,
    trackers,
    url,
    stream: stream ?? wireName(basename(reference!, extname(reference!))),
    fps,
    loop: values.loop,
    settings: settingsOf(values.profile, patience * 1000),
    allRows: values['all-rows'],
    token: process.env.TGOSPA_TOKEN || undefined,
  };
}

/** A recording is never late: a connection that is cut comes back with every frame. */
function settingsOf(profiles: string[] | undefined, patienceMs: number): Job['settings'] {
  return {
    ...(profiles ? { profiles } : {}),
    ...(patienceMs > 0 ? { pairing: { latenessMs: patienceMs, silenceMs: patienceMs } } : {}),
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
