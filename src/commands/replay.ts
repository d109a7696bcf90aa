/**
 * `tgospa replay`: sends recorded files to a running evaluator, as real clients would: one connection for
 * each feed, at the pace of a camera or as fast as frames are stored, coming back after every cut.
 * Invariant: every frame of every feed is sent once and in order; the command ends when all are stored and settled.
 */
import { basename, extname } from 'node:path';
import { type AlignedStep, alignRecordings, objectsAt } from '../../adapters/kit/alignment.js';
import { ClientError, type ClientObject, type FeedClient, type Reject } from '../client.js';
import { defaultConfig } from '../config/config.js';
import { InputError, type Problem } from '../index.js';
import { NAME_PATTERN } from '../wire/feed.js';
import { type MomentFrame, type SavedMoment, shapeOf } from '../wire/moment.js';
import type { Shape } from '../wire/objects.js';
import { type Console, stopSignal, write, writeNotes } from './console/console.js';
import { whole } from './console/numbers.js';
import { CommandLine, type OptionGroup, optionHelp } from './console/options.js';
import { Progress } from './console/progress.js';
import { type FileFormats, FORMAT_OPTIONS, readFormats } from './files/formats.js';
import { MOMENT_FILE, readMomentFile } from './files/moments.js';
import { shortNames } from './files/names.js';
import { readRecordings } from './files/recordings.js';
import { openFeed, Pace } from './player.js';

const { listen } = defaultConfig();
const DEFAULT_URL = `ws://${listen.host}:${listen.port}`;
const DEFAULT_FPS = 30;
const DEFAULT_PATIENCE_SECONDS = 30;
/** Frames that a connection holds until they are stored; keeps the feeds close together. */
const BUFFER_FRAMES = 256;
const REJECTS_SHOWN_MAX = 5;
const FPS_MAX = 10_000;
const NAME_CHARS_MAX = 64;

const OPTIONS: OptionGroup = {
  options: {
    reference: { value: 'FILE', help: 'ground truth, or another tracker to take as the truth' },
    tracker: { value: 'FILE', repeat: true, help: 'output of a tracker' },
    ...FORMAT_OPTIONS,
    url: { value: 'URL', help: `address of the evaluator, ${DEFAULT_URL} by default` },
    stream: {
      value: 'NAME',
      help: 'stream to send to; by default named after the reference file, or after the stream and frame of a moment',
    },
    fps: {
      value: 'NUMBER|max',
      help: `frames per second, ${DEFAULT_FPS} by default; max: as fast as they can be stored`,
    },
    loop: { help: 'start over at the end, with new ids, until stopped' },
    profile: { value: 'NAME', repeat: true, help: 'judge under this profile of the evaluator' },
    patience: {
      value: 'SECONDS',
      help: `how long the evaluator waits for a feed that loses its connection, ${DEFAULT_PATIENCE_SECONDS} by default; 0: as the settings of the stream say`,
    },
    'all-rows': { help: 'send every row of a MOTChallenge reference, regardless of its flag and class' },
    help: { help: 'this text' },
  },
};

function replayHelp(): string {
  return [
    'Usage: tgospa replay --reference FILE --tracker FILE [--tracker FILE ...] [options]',
    '       tgospa replay FILE.moment.json [options]',
    '',
    'Sends recorded files, or a moment saved on the page, to a running evaluator (tgospa serve), as real clients would.',
    ...optionHelp([OPTIONS]),
    '',
    'The token, if there is one, is taken from the environment variable TGOSPA_TOKEN.',
    '',
  ].join('\n');
}

/** Recorded files, each a feed. */
interface Files {
  reference: string;
  trackers: string[];
  formats: FileFormats;
}

interface Job {
  source: Files | SavedMoment;
  /** names of the trackers */
  names: string[];
  shape: Shape;
  url: string;
  stream: string;
  /** infinity: as fast as frames are stored */
  fps: number;
  loop: boolean;
  settings: Record<string, unknown>;
  token?: string;
}

/** A file and the connection it is sent over. */
interface Feed {
  /** null for the reference */
  tracker: string | null;
  client: FeedClient;
}

/** Sends the files; resolves when everything is stored and settled, or when asked to stop. */
export async function runReplay(args: string[], console: Console, signal = stopSignal()): Promise<void> {
  const line = new CommandLine('replay', [OPTIONS], args, MOMENT_FILE);
  if (line.has('help')) return write(console.out, replayHelp());
  const job = readJob(line);
  const { source } = job;
  const steps = 'format' in source ? momentSteps(source) : await fileSteps(source, console);
  await new Replay(job, steps, console, signal).play();
}

async function fileSteps({ reference, trackers, formats }: Files, console: Console): Promise<AlignedStep[]> {
  const recordings = readRecordings([
    { file: reference, format: formats.reference, role: 'reference' },
    ...trackers.map((file) => ({
      file,
      format: formats.trackers.get(file) ?? formats.tracker,
      role: 'tracker' as const,
    })),
  ]);
  const notes = recordings.flatMap((recording) => recording.notes);
  await writeNotes(console, notes);
  return alignRecordings(recordings);
}

/** The frames of a moment, by their numbers. */
function momentSteps({ frames }: SavedMoment): AlignedStep[] {
  // what an object costs alone follows from the settings of the stream
  const sent = (objects: MomentFrame['reference']) =>
    objects.map(({ alone: _, ...object }) => object as unknown as ClientObject);
  return frames.map(({ k, reference, tracker }) => ({
    k,
    parts: [reference, tracker].map((objects) => ({ k, objects: sent(objects) })) as AlignedStep['parts'],
  }));
}

/** One run of the command. */
class Replay {
  readonly #feeds: Feed[];
  /** what one round adds to frame numbers or times */
  readonly #span: number;
  readonly #rejects: Array<Reject & { feed: string }> = [];
  #rejectCount = 0;
  #sentFrames = 0;
  #storedFrames = 0;

  constructor(
    readonly job: Job,
    readonly steps: AlignedStep[],
    readonly console: Console,
    readonly signal: AbortSignal,
  ) {
    this.#span = spanOf(steps);
    this.#feeds = [null, ...job.names].map((tracker) => ({ tracker, client: this.#open(tracker) }));
  }

  async play(): Promise<void> {
    const progress = new Progress(this.console.progress);
    const startMs = performance.now();
    this.#feeds[0].client.on('ack', () => this.#showStored(progress));
    const abandon = () => this.#close();
    this.signal.addEventListener('abort', abandon, { once: true });
    try {
      await this.#send(progress);
    } catch (error) {
      if (!this.signal.aborted) throw this.#explained(error);
    } finally {
      this.signal.removeEventListener('abort', abandon);
      await progress.stop();
      this.#close();
    }
    this.#conclude((performance.now() - startMs) / 1000);
  }

  #open(tracker: string | null): FeedClient {
    const { url, stream, settings, token, shape } = this.job;
    const feed = tracker === null ? { role: 'reference' as const } : { role: 'tracker' as const, tracker };
    const client = openFeed({
      url,
      stream,
      ...feed,
      token,
      settings,
      shape,
      bufferFrames: BUFFER_FRAMES,
    });
    const label = tracker ?? 'reference';
    client.on('reject', (reject) => {
      this.#rejectCount++;
      if (this.#rejects.length < REJECTS_SHOWN_MAX) this.#rejects.push({ ...reject, feed: label });
    });
    client.on('reconnecting', ({ attempt, code, reason }) => {
      // the first attempts fail within a second; then somebody should know
      if (attempt === 3)
        this.console.err.write(`${label}: no connection to ${url} (${code} ${reason}); still trying\n`);
    });
    return client;
  }

  async #send(progress: Progress): Promise<void> {
    const { fps, loop, stream } = this.job;
    const pace = new Pace(fps, this.signal);
    for (let lap = 0; lap === 0 || loop; lap++) {
      const label = loop ? `${stream}, round ${lap + 1}` : stream;
      progress.start({ label, step: 1, steps: 1, total: this.steps.length, unit: 'frames' });
      for (const step of this.steps) {
        if (!(await pace.due())) return;
        await Promise.all(this.#feeds.map(({ client }, feed) => this.#sendStep(client, step, feed, lap)));
        this.#sentFrames++;
      }
    }
    await Promise.all(this.#feeds.map(({ client }) => client.end()));
  }

  /** By number every step is a frame, if an empty one; by time a feed is silent where it has nothing. */
  async #sendStep(client: FeedClient, step: AlignedStep, feed: number, lap: number): Promise<void> {
    const objects = objectsAt(step, feed).map((object) => inLap(object, lap));
    const part = step.parts[feed];
    if (part?.reports)
      await client.sendReports(objects.map((object) => ({ ...object, t: object.t! + lap * this.#span })));
    else if (step.k !== undefined) await client.send({ k: step.k + lap * this.#span, objects });
    else if (part) await client.send({ t: part.t! + lap * this.#span, objects });
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
    if (more > 0) problems.push({ path: this.job.stream, value: more, message: 'more frames were refused' });
    return new InputError(problems);
  }

  #conclude(seconds: number): void {
    const refusal = this.#refusal();
    if (refusal) throw refusal;
    const { stream } = this.job;
    const names = this.#feeds.flatMap(({ tracker }) => tracker ?? []).join(', ');
    const rate = whole(Math.round(this.#sentFrames / Math.max(seconds, 0.001)));
    const what = this.signal.aborted ? 'stopped after' : 'stored and settled';
    const how = `${seconds.toFixed(1)} s (${rate} frames/s)`;
    this.console.out.write(`stream ${stream}, trackers ${names}: ${what} ${this.#sentFrames} frames in ${how}\n`);
  }
}

/** Every round brings new people. */
const inLap = (object: ClientObject, lap: number): ClientObject =>
  lap === 0 ? object : { ...object, id: `${object.id}~${lap + 1}` };

/** From the first frame of a round to the first of the next. */
function spanOf(steps: AlignedStep[]): number {
  const first = steps[0];
  const last = steps.at(-1);
  if (!first || !last) return 0;
  if (first.k !== undefined) return last.k! + 1 - first.k;
  return last.t! - first.t! + (last.t! - first.t!) / Math.max(1, steps.length - 1);
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

function readJob(line: CommandLine): Job {
  const files = line.files.length > 0 ? null : readFiles(line);
  const fps = readFps(line);
  const isPatience = (seconds: number) => seconds >= 0 && seconds < 1e6;
  const patience = line.numberWhere('patience', DEFAULT_PATIENCE_SECONDS, isPatience, 'a number of seconds from 0');
  const url = readUrl(line);
  const stream = line.text('stream');
  if (stream !== undefined && !NAME_PATTERN.test(stream))
    line.wrong(`--stream must be letters, digits and . _ : / - (at most ${NAME_CHARS_MAX}), not ${stream}`);
  if (line.files.length > 1) line.wrong('one moment is sent at a time; name one file');
  if (!files)
    for (const name of ['reference', 'tracker', 'all-rows', ...Object.keys(FORMAT_OPTIONS)])
      if (line.has(name)) line.wrong(`--${name} and a moment exclude each other: it brings its own frames`);
  line.throwMistakes();
  const moment = files ? null : readMomentFile(line.files[0]);
  const profiles = line.texts('profile');
  const settings = settingsOf(moment && profiles.length === 0 ? [moment.profile] : profiles, patience * 1000);
  return {
    source: moment ?? files!,
    names: moment ? [moment.tracker] : trackerNames(files!.trackers),
    shape: moment ? shapeOf(moment) : files!.formats.tracker.shape,
    url,
    stream: stream ?? (moment ? wireName(`${moment.stream}-${moment.k}`) : streamOf(files!)),
    fps,
    loop: line.has('loop'),
    settings: moment ? { ...settings, windowFrames: moment.params.windowFrames } : settings,
    token: process.env.TGOSPA_TOKEN || undefined,
  };
}

const streamOf = ({ reference }: Files) => wireName(basename(reference, extname(reference)));

function readFiles(line: CommandLine): Files {
  const reference = line.text('reference');
  const trackers = line.texts('tracker');
  if (reference === undefined) line.wrong('--reference is missing; name the file that is believed');
  if (trackers.length === 0) line.wrong('--tracker is missing; name at least one file to judge');
  const formats = readFormats(line, line.has('all-rows') ? { allRows: true } : {});
  return { reference: reference ?? '', trackers, formats: formats! };
}

function readFps(line: CommandLine): number {
  if (line.text('fps') === 'max') return Number.POSITIVE_INFINITY;
  const isSound = (fps: number) => fps > 0 && fps <= FPS_MAX;
  return line.numberWhere('fps', DEFAULT_FPS, isSound, `max or a number above 0 up to ${FPS_MAX}`);
}

function readUrl(line: CommandLine): string {
  const url = line.text('url') ?? DEFAULT_URL;
  if (!/^(ws|http)s?:\/\/[^/]/.test(url) || !URL.canParse(url))
    line.wrong(`--url must be an address like ${DEFAULT_URL}, not ${url}`);
  return url;
}

/** A recording is never late: a connection that is cut comes back with every frame. */
function settingsOf(profiles: string[], patienceMs: number): Job['settings'] {
  return {
    ...(profiles.length > 0 ? { profiles } : {}),
    ...(patienceMs > 0 ? { pairing: { latenessMs: patienceMs, silenceMs: patienceMs } } : {}),
  };
}
