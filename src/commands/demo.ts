/**
 * `tgospa demo`: the evaluator at work within a minute. Starts it, and beside it a simulated scene whose reference and two
 * trackers, a good one and one with scripted faults, are sent over real WebSockets by the package's own client. Shows what the
 * evaluator says about them in one line, and runs until stopped.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type App, startApp } from '../app.js';
import type { ClientObject, FeedClient } from '../client.js';
import { readConfig } from '../config/config.js';
import type { Frame, Obj } from '../index.js';
import { crossingScene, type Fault, type Scene } from '../simulation/walkers.js';
import { createLogger } from '../telemetry/logger.js';
import type { LiveEvent, ReportEvent, SpikeEvent } from '../wire/events.js';
import { UsageError } from './console/options.js';
import { CLEAR_LINE } from './console/progress.js';
import type { Console } from './eval/eval.js';
import { openFeed, Pace, stopSignal } from './player.js';

const DEFAULT_PORT = 9477;
const DEFAULT_FPS = 20;
/** One round is 15 s: long enough to learn what is usual. */
const DEFAULT_CALM = 1;
const STREAM = 'crossing';
const GOOD = 'steady';
const FAULTY = 'faulty';
/** The scripted fault that only a live feed can have; frames of one round, 1-based. */
const SILENCE: Fault = { from: 20, to: 69, what: 'says nothing at all' };
/** Short enough for the silence to show: it lasts 2.5 s at the default pace. */
const SETTINGS = { pairing: { latenessMs: 500, silenceMs: 1000 } };
/** How often the summary is drawn, on a terminal and elsewhere. */
const REDRAW_MS = 200;
const LINE_MS = 2000;
/** The first round is the scene that `tgospa eval --demo` shows. */
const FIRST_SEED = 7;

const HELP = `Usage: tgospa demo [options]

Starts the evaluator and a simulated scene with two trackers, one of them faulty, and runs until stopped (Ctrl-C).

  --port PORT     port for everything, ${DEFAULT_PORT} by default; a free one when it is taken
  --host ADDRESS  address to listen on, 127.0.0.1 by default; whoever reaches another one may look and send
  --data DIR      folder to keep the log in; a temporary one unless given
  --fps NUMBER    frames per second, from 1 to 100, ${DEFAULT_FPS} by default
  --calm ROUNDS   rounds in which the faulty tracker is good too, so that its usual level is known, ${DEFAULT_CALM} by default
  --help          this text
`;

const OPTIONS = {
  port: { type: 'string', default: String(DEFAULT_PORT) },
  host: { type: 'string', default: '127.0.0.1' },
  data: { type: 'string' },
  fps: { type: 'string', default: String(DEFAULT_FPS) },
  calm: { type: 'string', default: String(DEFAULT_CALM) },
  help: { type: 'boolean', default: false },
} as const;

interface Job {
  port: number;
  host: string;
  /** null: a temporary folder */
  data: string | null;
  fps: number;
  /** rounds without faults */
  calm: number;
}

/** Runs until stopped. */
export async function run(args: string[], console: Console, signal = stopSignal()): Promise<void> {
  const job = parseJob(args);
  if (job === null) {
    console.out.write(HELP);
    return;
  }
  const dir = job.data ?? mkdtempSync(join(tmpdir(), 'tgospa-demo-'));
  try {
    const app = await startSomewhere(job, dir, console);
    try {
      console.out.write(introduction(app, job));
      await show(app, job, console, signal);
    } finally {
      await app.stop();
    }
  } finally {
    if (job.data === null) rmSync(dir, { recursive: true, force: true });
  }
}

/** Starts the evaluator; where the port is taken, on a free one. */
async function startSomewhere({ port, host }: Job, dir: string, { err }: Console): Promise<App> {
  try {
    return await start(port, host, dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    err.write(`port ${port} is taken, perhaps by another demo or tgospa serve; taking a free one instead\n`);
    return start(0, host, dir);
  }
}

function start(port: number, host: string, dir: string): Promise<App> {
  // whatever the environment says about tokens is meant for a real evaluator
  const { config } = readConfig({ overrides: { listen: { port, host, insecure: true }, data: { dir } }, env: {} });
  return startApp(config, { env: {}, logger: createLogger({ level: 'warn' }) });
}

/** Sends the scene and draws the summary until told to stop. */
async function show(app: App, { fps, calm }: Job, console: Console, signal: AbortSignal): Promise<void> {
  const summary = new Summary(console);
  const subscription = app.live.events$.subscribe((event) => summary.note(event));
  const feeds = {
    reference: openFeed({ url: app.urls.ingest, stream: STREAM, role: 'reference', settings: SETTINGS }),
    good: openFeed({ url: app.urls.ingest, stream: STREAM, role: 'tracker', tracker: GOOD, settings: SETTINGS }),
    faulty: openFeed({ url: app.urls.ingest, stream: STREAM, role: 'tracker', tracker: FAULTY, settings: SETTINGS }),
  };
  try {
    await play(feeds, { first: lastFrame(app) + 1, calm }, new Pace(fps, signal));
  } finally {
    summary.stop();
    subscription.unsubscribe();
    for (const client of Object.values(feeds)) await client.close({ flush: false });
  }
}

/** Round after round, with new people each time; the first `calm` of them without faults. */
async function play(
  feeds: Record<'reference' | 'good' | 'faulty', FeedClient>,
  { first, calm }: { first: number; calm: number },
  pace: Pace,
) {
  for (let k = first, lap = 1; ; lap++) {
    const scene = crossingScene(FIRST_SEED + 3 * (lap - 1));
    const good = framesOf(scene, GOOD);
    const isCalm = lap <= calm;
    const faulty = isCalm ? good.map(asFaultyNames) : framesOf(scene, FAULTY);
    for (let index = 0; index < good.length; index++, k++) {
      if (!(await pace.due())) return;
      const send = (client: FeedClient, objects: Obj[]) =>
        client.send({ k, t: Date.now() / 1000, objects: renamed(objects, lap) });
      await send(feeds.reference, good[index].reference);
      await send(feeds.good, good[index].tracker);
      if (isCalm || !isSilent(index + 1)) await send(feeds.faulty, faulty[index].tracker);
    }
  }
}

const framesOf = (scene: Scene, tracker: string) => scene.trackers.find(({ name }) => name === tracker)!.frames;

/** What the faulty tracker says when it is good: the good one's tracks under its own names. */
const asFaultyNames = (frame: Frame): Frame => ({
  ...frame,
  tracker: frame.tracker.map((object) => ({ ...object, id: object.id.replace(/^a/, 'c') })),
});

const isSilent = (frame: number) => frame >= SILENCE.from && frame <= SILENCE.to;

const renamed = (objects: Obj[], lap: number): ClientObject[] =>
  objects.map((object) => ({ ...object, id: `${object.id}/${lap}` }) as ClientObject);

/** Where an earlier demo in the same folder stopped. */
const lastFrame = (app: App) =>
  Math.max(0, ...app.live.streams().flatMap(({ series }) => series.map(({ k }) => k ?? 0)));

/** One line: what the evaluator says about both trackers, and what happened last. */
class Summary {
  readonly #newest = new Map<string, ReportEvent>();
  readonly #switches = new Map<string, number>();
  /** spikes that last, in words, by tracker and signal */
  readonly #spikes = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;
  #event = '';

  constructor(readonly console: Console) {
    this.#timer = setInterval(() => this.#draw(), this.#inPlace ? REDRAW_MS : LINE_MS);
  }

  get #inPlace(): boolean {
    return Number.isFinite(this.console.screen.columns);
  }

  note(event: LiveEvent): void {
    if (event.type === 'report') this.#newest.set(event.tracker, event);
    else this.#event = describe(event) ?? this.#event;
    if (event.type === 'spike') this.#noteSpike(event);
    if (event.type === 'switch')
      this.#switches.set(event.tracker, (this.#switches.get(event.tracker) ?? 0) + event.switches);
  }

  #noteSpike({ tracker, signal, phase, k, expected, observed }: SpikeEvent): void {
    const key = `${tracker} ${signal}`;
    if (phase === 'end') this.#spikes.delete(key);
    else this.#spikes.set(key, `SPIKE ${key}: ${short(observed)}, usual ${short(expected)}, since frame ${k}`);
  }

  stop(): void {
    clearInterval(this.#timer);
    if (this.#inPlace && this.#newest.size > 0) this.console.out.write('\n');
  }

  #draw(): void {
    if (this.#newest.size === 0) return;
    const k = Math.max(...[...this.#newest.values()].map((event) => event.k));
    const parts = [GOOD, FAULTY].flatMap((name) => this.#partOf(name));
    const line = [`frame ${k}`, ...this.#spikes.values(), ...parts, ...(this.#event ? [this.#event] : [])].join(' | ');
    const { columns } = this.console.screen;
    this.console.out.write(this.#inPlace ? `${CLEAR_LINE}${line.slice(0, columns - 1)}` : `${line}\n`);
  }

  #partOf(tracker: string): string[] {
    const event = this.#newest.get(tracker);
    if (!event) return [];
    const { distance, count } = event.report;
    const switches = this.#switches.get(tracker) ?? 0;
    return [`${tracker} ${distance.toFixed(2)}: ${count.missed} missed, ${count.false} false, ${switches} switches`];
  }
}

const short = (value: number) => String(Number(value.toPrecision(2)));

/** The last remarkable event in a few words; null for those that say nothing here. */
function describe(event: LiveEvent): string | null {
  if (event.type === 'switch')
    return `${event.tracker}: truth ${event.truth} switched from ${event.from ?? 'none'} to ${event.to ?? 'none'}`;
  if (event.type === 'spike' && event.phase === 'end') return `${event.tracker}: ${event.signal} is as usual again`;
  if (event.type === 'silence') return `${event.tracker ?? 'reference'} ${event.over ? 'is back' : 'is silent'}`;
  return null;
}

function introduction({ urls }: App, { fps, calm }: Job): string {
  const { trackers } = crossingScene();
  const faults = [...trackers.find(({ name }) => name === FAULTY)!.faults, SILENCE].sort((a, b) => a.from - b.from);
  const round = trackers[0].frames.length;
  return [
    `page      ${urls.http}/`,
    `metrics   ${urls.metrics}`,
    `live      ${urls.live}?stream=${STREAM}`,
    '',
    `A simulated scene is sent to ${urls.ingest} at ${fps} frames per second. Tracker ${GOOD} is good; ${FAULTY}${calm > 0 ? ` is good for ${calm} ${calm === 1 ? 'round' : 'rounds'}, then` : ','} in each round of`,
    `${round} frames (${Math.round(round / fps)} s):`,
    ...faults.map(
      ({ from, to, what }) => `  ${(from === to ? `frame ${from}` : `frames ${from}-${to}`).padEnd(14)}  ${what}`,
    ),
    '',
    'Below: SPIKE while a tracker is worse than usual; TGOSPA distance of the last 60 frames, what they missed and what was false,',
    'switches so far. Ctrl-C stops.',
    '',
    '',
  ].join('\n');
}

/** null: only the help is wanted. */
function parseJob(args: string[]): Job | null {
  const values = parse(args);
  if (values.help) return null;
  const port = Number(values.port);
  const fps = Number(values.fps);
  const calm = Number(values.calm);
  const mistakes: string[] = [];
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || values.port.trim() === '')
    mistakes.push(`--port must be a whole number from 0 to 65535, not ${values.port}`);
  if (!(fps >= 1 && fps <= 100)) mistakes.push(`--fps must be a number from 1 to 100, not ${values.fps}`);
  if (!Number.isInteger(calm) || calm < 0 || calm > 1000 || values.calm.trim() === '')
    mistakes.push(`--calm must be a whole number of rounds from 0 to 1000, not ${values.calm}`);
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return { port, fps, calm, host: values.host, data: values.data ?? null };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
