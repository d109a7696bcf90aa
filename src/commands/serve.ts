/**
 * `tgospa serve`: reads the configuration, starts the evaluator and runs until it is asked to stop. SIGTERM or SIGINT
 * stop it in order, with exit code 0; a second one at once.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { App } from '../app.js';
import {
  type ConfigSource,
  defaultConfig,
  describeProblem,
  exampleYaml,
  readConfig,
  readConfigFile,
} from '../config/config.js';
import { type Console, stopSignal } from './console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from './console/options.js';
import { asStartError } from './start-error.js';

/** Read when it is there and no other is named. */
const STANDARD_FILE = 'tgospa.yaml';
const { listen, data } = defaultConfig();

const OPTIONS: OptionGroup = {
  options: {
    config: { value: 'FILE', help: `configuration (default: ${STANDARD_FILE} if it exists, otherwise the defaults)` },
    port: { value: 'PORT', help: `port for everything, ${listen.port} by default; 0: any free one` },
    host: { value: 'ADDRESS', help: `address to listen on, ${listen.host} by default` },
    data: { value: 'DIR', help: `folder for the log and snapshots, ${data.dir} by default` },
    check: { help: 'only check the configuration' },
    'example-config': { help: 'print a configuration with every key, its default and its meaning' },
    help: { help: 'this text' },
  },
};

function serveHelp(): string {
  return [
    'Usage: tgospa serve [options]',
    '',
    'Evaluates trackers live: WebSocket in, Prometheus out, everything on one port.',
    ...optionHelp([OPTIONS]),
    '',
  ].join('\n');
}

/** Runs until stopped. */
export async function runServe(args: string[], { out, err }: Pick<Console, 'out' | 'err'>): Promise<void> {
  const line = new CommandLine('serve', [OPTIONS], args);
  if (line.has('help') || line.has('example-config')) {
    out.write(line.has('help') ? serveHelp() : exampleYaml());
    return;
  }
  line.throwMistakes();
  const file = line.text('config') ?? (existsSync(STANDARD_FILE) ? STANDARD_FILE : undefined);
  const { config, warnings } =
    file === undefined ? readConfig({ overrides: overridesOf(line) }) : readConfigFile(file, overridesOf(line));
  for (const warning of warnings)
    err.write(`tgospa serve: warning: ${describeProblem(warning, file ?? 'configuration')}\n`);
  if (line.has('check')) {
    out.write(`${file ?? 'the default configuration'} is in order\n`);
    return;
  }
  // what follows is most of the program, and no part of a look at the configuration
  const { startApp } = await import('../app.js');
  const app = await startApp(config).catch((error) => {
    throw asStartError(error, config);
  });
  const signal = stopSignal();
  out.write(`tgospa is listening on ${app.urls.http}  (feeds: ${app.urls.ingest}, metrics: ${app.urls.metrics})\n`);
  await stopOn(signal, app);
}

function overridesOf(line: CommandLine): ConfigSource['overrides'] {
  const [port, host, data] = ['port', 'host', 'data'].map((name) => line.text(name));
  const listen: Record<string, unknown> = {};
  if (port !== undefined) listen.port = /^\d+$/.test(port) ? Number(port) : port;
  if (host !== undefined) listen.host = host;
  return {
    ...(Object.keys(listen).length > 0 ? { listen } : {}),
    ...(data === undefined ? {} : { data: { dir: data } }),
  };
}

/** Resolves once the app was asked to stop and has stopped. */
async function stopOn(signal: AbortSignal, app: App): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  app.logger.info('stopping', { signal: signal.reason });
  await app.stop();
  app.logger.info('stopped');
}
