/**
 * `tgospa demo`: the evaluator at work within a minute. Starts it, and beside it a simulated scene whose reference and
 * two trackers, a good one and one with scripted faults, are sent over real WebSockets by the package's own client.
 * Shows what the evaluator reports on them in one line, and runs until stopped.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../app.js';
import type { ClientObject, FeedClient } from '../client.js';
import { defaultConfig, readConfig } from '../config/config.js';
import type { Frame, Obj } from '../index.js';
import { crossingScene, type Fault, type SimulatedScene } from '../simulation/walkers.js';
import { createLogger } from '../telemetry/logger.js';
import type { LiveEvent, ReportEvent, SpikeEvent } from '../wire/events.js';
import { type Console, stopSignal, write } from './console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from './console/options.js';
import { CLEAR_LINE } from './console/progress.js';
import { openFeed, Pace } from './player.js';

const { port: DEFAULT_PORT, host: DEFAULT_HOST } = defaultConfig().listen;
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

const OPTIONS: OptionGroup = {
  options: {
    port: { value: 'PORT', help: `port for everything, ${DEFAULT_PORT} by default; a free one when it is taken` },
    host: {
      value: 'ADDRESS',
      help: `address to listen on, ${DEFAULT_HOST} by default; whoever reaches another one may look and send`,
    },
    name: { value: 'NAME', help: 'a name it answers to, besides addresses and localhost' },
    data: { value: 'DIR', help: 'folder to keep the log in; a temporary one unless given' },
    fps: { value: 'NUMBER', help: `frames per second, from 1 to 100, ${DEFAULT_FPS} by default` },
    calm: {
      value: 'ROUNDS',
      help: `rounds in which the faulty tracker is good too, so that its usual level is known, ${DEFAULT_CALM} by default`,
    },
    help: { help: 'this text' },
  },
};

function demoHelp(): string {
  return [
    'Usage: tgospa demo [options]',
    '',
    'Starts the evaluator and a simulated scene with two trackers, one of them faulty, and runs until stopped (Ctrl-C).',
    ...optionHelp([OPTIONS]),
    '',
  ].join('\n');
}

interface Job {
  port: number;
  host: string;
  name: string | null;
  /** null: a temporary folder */
  data: string | null;
  fps: number;
  /** rounds without faults */
  calm: number;
}

/** Runs until stopped. */
export async function runDemo(args: string[], console: Console, signal = stopSignal()): Promise<void> {
  const line = new CommandLine('demo', [OPTIONS], args);
  if (line.has('help')) return write(console.out, demoHelp());
  const job = readJob(line);
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
async function startSomewhere({ port, host, name }: Job, dir: string, { err }: Console): Promise<App> {
  try {
    return await start(port, host, name, dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    err.write(`port ${port} is taken, perhaps by another demo or tgospa serve; taking a free one instead\n`);
    return start(0, host, name, dir);
  }
}

function start(port: number, host: string, name: string | null, dir: string): Promise<App> {
  // tokens in the environment are meant for a real evaluator
  const listen = { port, host, insecure: true, names: name === null ? [] : [name] };
  const { config } = readConfig({ overrides: { listen, data: { dir } }, env: {} });
  return startApp(config, { env: {}, logger: createLogger({ level: 'warn' }) });
}

/** Sends the scene and draws the summary until asked to stop. */
async function show(app: App, { fps, calm }: Job, console: Console, signal: AbortSignal): Promise<void> {
  const summary = new Summary(console);
  const subscription = app.live.events$.subscribe((event) => summary.apply(event));
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

const framesOf = (scene: SimulatedScene, tracker: string) =>
  scene.trackers.find(({ name }) => name === tracker)!.frames;

/** The faulty tracker while it is good: the good one's tracks under its own names. */
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

/** One line: what the evaluator reports on both trackers, and what happened last. */
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

  apply(event: LiveEvent): void {
    if (event.type === 'report') this.#newest.set(event.tracker, event);
    else this.#event = describe(event) ?? this.#event;
    if (event.type === 'spike') this.#applySpike(event);
    if (event.type === 'switch')
      this.#switches.set(event.tracker, (this.#switches.get(event.tracker) ?? 0) + event.switches);
  }

  #applySpike({ tracker, signal, phase, k, expected, observed }: SpikeEvent): void {
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

/** An event in a few words; null for those that are not worth a line. */
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

function readJob(line: CommandLine): Job {
  const isWhole = (max: number) => (value: number) => Number.isInteger(value) && value >= 0 && value <= max;
  const job = {
    port: line.numberWhere('port', DEFAULT_PORT, isWhole(65_535), 'a whole number from 0 to 65535'),
    fps: line.numberWhere('fps', DEFAULT_FPS, (fps) => fps >= 1 && fps <= 100, 'a number from 1 to 100'),
    calm: line.numberWhere('calm', DEFAULT_CALM, isWhole(1000), 'a whole number of rounds from 0 to 1000'),
    host: line.text('host') ?? DEFAULT_HOST,
    name: line.text('name') ?? null,
    data: line.text('data') ?? null,
  };
  line.throwMistakes();
  return job;
}
