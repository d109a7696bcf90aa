/**
 * `tgospa demo`: the evaluator at work within a minute. Starts it, and beside it a simulated scene whose reference and
 * two trackers, a good one and one with scripted faults, are sent over real WebSockets by the package's own client.
 * Shows what the evaluator reports on them, and runs until stopped. Each scene has a file of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../app.js';
import { defaultConfig, readConfig } from '../config/config.js';
import { createLogger } from '../telemetry/logger.js';
import { type Console, stopSignal, write } from './console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from './console/options.js';
import { wrapText } from './console/table.js';
import { radarDemo } from './demo-radar.js';
import type { DemoFault, DemoScene } from './demo-scene.js';
import { DemoSummary } from './demo-summary.js';
import { crossingDemo, plazaDemo } from './demo-walkers.js';
import { Pace } from './player.js';
import { asStartError, StartError } from './start-error.js';

const { port: DEFAULT_PORT, host: DEFAULT_HOST } = defaultConfig().listen;
/** One round is 15 or 30 s: long enough to learn what is usual. */
const DEFAULT_CALM = 1;
const COLUMNS = 80;
/** Every scene, with its usual pace. */
const SCENES = {
  crossing: { about: 'seven people in front of a camera', fps: 20, build: crossingDemo },
  plaza: { about: 'forty of them', fps: 20, build: plazaDemo },
  radar: { about: 'aircraft with and without transponders, in turns of the antenna', fps: 4, build: radarDemo },
};
type SceneName = keyof typeof SCENES;
const SCENE_NAMES = Object.keys(SCENES) as SceneName[];
const DEFAULT_SCENE = 'crossing';

const OPTIONS: OptionGroup = {
  options: {
    scene: {
      value: 'NAME',
      choices: SCENE_NAMES,
      help: `${SCENE_NAMES.map((name) => `${name}: ${SCENES[name].about}`).join('; ')} (default ${DEFAULT_SCENE})`,
    },
    port: { value: 'PORT', help: `port for everything, ${DEFAULT_PORT} by default; if it is taken, a free one` },
    host: {
      value: 'ADDRESS',
      help: `address to listen on, ${DEFAULT_HOST} by default; anybody who can reach it may watch and send`,
    },
    name: { value: 'NAME', help: 'host name to answer to, besides addresses and localhost' },
    data: { value: 'DIR', help: 'folder for the log; a temporary one by default' },
    fps: {
      value: 'NUMBER',
      help: `frames per second, from 1 to 100 (default ${SCENE_NAMES.map((name) => `${name} ${SCENES[name].fps}`).join(', ')})`,
    },
    calm: {
      value: 'ROUNDS',
      help: `rounds before the faults begin, to learn what is usual; ${DEFAULT_CALM} by default`,
    },
    help: { help: 'this text' },
  },
};

function demoHelp(): string {
  return [
    'Usage: tgospa demo [options]',
    '',
    'Starts the evaluator with a simulated scene and two trackers, one of them faulty, and runs until you stop it (Ctrl-C).',
    ...optionHelp([OPTIONS]),
    '',
  ].join('\n');
}

interface Job {
  scene: DemoScene;
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
  const dir = job.data ?? temporaryFolder();
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

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'tgospa-demo-'));
  } catch (cause) {
    throw new StartError(`cannot create a folder in ${tmpdir()}; name one that is writable with --data`, { cause });
  }
}

/** Starts the evaluator; where the port is taken, on a free one. */
async function startSomewhere({ scene, port, host, name }: Job, dir: string, { err }: Console): Promise<App> {
  try {
    return await start(scene, port, host, name, dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    err.write(`port ${port} is taken, perhaps by another tgospa demo or serve; using a free one instead\n`);
    return start(scene, 0, host, name, dir);
  }
}

function start({ config: own }: DemoScene, port: number, host: string, name: string | null, dir: string): Promise<App> {
  // tokens in the environment are meant for a real evaluator
  const listen = { port, host, insecure: true, names: name === null ? [] : [name] };
  // one stream has no use for workers, whose start takes half a second
  const overrides = { listen, data: { dir }, evaluation: { workers: 0 } };
  const { config } = readConfig({ text: JSON.stringify(own), overrides, env: {} });
  return startApp(config, { env: {}, logger: createLogger({ level: 'error' }) }).catch((error) => {
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? error : asStartError(error, config);
  });
}

/** Sends the scene and draws the summary until asked to stop. */
async function show(app: App, { scene, fps, calm }: Job, console: Console, signal: AbortSignal): Promise<void> {
  const summary = new DemoSummary(scene.trackers, console);
  const subscription = app.live.events$.subscribe((event) => summary.apply(event));
  app.live.readReports(true);
  const feeds = scene.open(app.urls.ingest);
  try {
    await scene.play(feeds, { first: (await lastFrame(app)) + 1, calm }, new Pace(fps, signal));
  } finally {
    summary.stop();
    subscription.unsubscribe();
    for (const client of Object.values(feeds)) await client.close({ flush: false });
  }
}

/** Where an earlier demo in the same folder stopped. */
const lastFrame = async (app: App) =>
  Math.max(0, ...(await app.live.streams()).flatMap(({ series }) => series.map(({ k }) => k ?? 0)));

function introduction({ urls }: App, { scene, fps, calm }: Job): string {
  const { stream, roundLength, faults, about, unit } = scene;
  const [good, faulty] = scene.trackers;
  const learns = calm > 0 ? ` is good for ${calm} ${calm === 1 ? 'round' : 'rounds'}, then wrong` : ' is wrong';
  const often = faults.some(({ round }) => round !== undefined) ? 'in one way a round' : 'in each round';
  return [
    `page      ${urls.http}/`,
    `metrics   ${urls.metrics}`,
    `live      ${urls.live}?stream=${stream}`,
    '',
    ...about,
    `A simulated scene is sent to ${urls.ingest} at ${fps} ${unit}s/s.`,
    ...wrapText(
      `Tracker ${good} is good; ${faulty}${learns} ${often} of ${roundLength} ${unit}s (${Math.round(roundLength / fps)} s):`,
      COLUMNS,
      '',
    ),
    ...faults.flatMap((fault) => wrapText(`  ${whenOf(fault, unit, calm)}  ${fault.what}`, COLUMNS, ' '.repeat(27))),
    ...(often === 'in one way a round'
      ? ['Then the faults repeat; what recurs becomes usual, and is reported less.']
      : []),
    '',
    'Below: what happens, and on the last line the TGOSPA distance over the last 60',
    'frames with the numbers of missed objects and false tracks. Ctrl-C stops.',
    '',
    '',
  ].join('\n');
}

function whenOf({ round, from, to }: DemoFault, unit: string, calm: number): string {
  const when = from === to ? `${unit} ${from}` : `${unit}s ${from}-${to}`;
  return round === undefined ? when.padEnd(14) : `round ${calm + round}, ${when}`.padEnd(23);
}

function readJob(line: CommandLine): Job {
  const isWhole = (max: number) => (value: number) => Number.isInteger(value) && value >= 0 && value <= max;
  const asked = line.text('scene') as SceneName | undefined;
  const name = asked && SCENE_NAMES.includes(asked) ? asked : DEFAULT_SCENE;
  const job = {
    port: line.numberWhere('port', DEFAULT_PORT, isWhole(65_535), 'a whole number from 0 to 65535'),
    fps: line.numberWhere('fps', SCENES[name].fps, (fps) => fps >= 1 && fps <= 100, 'a number from 1 to 100'),
    calm: line.numberWhere('calm', DEFAULT_CALM, isWhole(1000), 'a whole number of rounds from 0 to 1000'),
    host: line.text('host') ?? DEFAULT_HOST,
    name: line.text('name') ?? null,
    data: line.text('data') ?? null,
  };
  line.throwMistakes();
  return { ...job, scene: SCENES[name].build() };
}
