/**
 * `tgospa serve`: reads the configuration, starts the evaluator and runs until it is told to stop. SIGTERM or SIGINT
 * stop it in order, with exit code 0; a second one at once.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type App, startApp } from '../app.js';
import { type ConfigSource, describeProblem, exampleYaml, readConfig, readConfigFile } from '../config/config.js';
import { UsageError } from './console/options.js';
import type { Console } from './eval/eval.js';

/** Taken when it is there and no other is named. */
const STANDARD_FILE = 'tgospa.yaml';

const HELP = `Usage: tgospa serve [options]

Evaluates trackers live: WebSocket in, Prometheus out, everything on one port.

  --config FILE     configuration (default: ${STANDARD_FILE} when it is there, else the defaults)
  --port PORT       port for everything, 9477 by default; 0 takes a free one
  --host ADDRESS    address to listen on, 127.0.0.1 by default
  --data DIR        folder of the log and the snapshots, tgospa-data by default
  --check           only check the configuration
  --example-config  print a configuration with every key, its default and its meaning
  --help            this text
`;

const OPTIONS = {
  config: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  data: { type: 'string' },
  check: { type: 'boolean' },
  'example-config': { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Values = {
  config?: string;
  port?: string;
  host?: string;
  data?: string;
  check?: boolean;
  'example-config'?: boolean;
  help?: boolean;
};

/** Runs until stopped. */
export async function run(args: string[], { out, err }: Pick<Console, 'out' | 'err'>): Promise<void> {
  const values = parse(args);
  if (values.help || values['example-config']) {
    out.write(values.help ? HELP : exampleYaml());
    return;
  }
  const file = values.config ?? (existsSync(STANDARD_FILE) ? STANDARD_FILE : undefined);
  const { config, warnings } =
    file === undefined ? readConfig({ overrides: overridesOf(values) }) : readConfigFile(file, overridesOf(values));
  for (const warning of warnings)
    err.write(`tgospa serve: warning: ${describeProblem(warning, file ?? 'configuration')}\n`);
  if (values.check) {
    out.write(`${file ?? 'the default configuration'} is in order\n`);
    return;
  }
  await untilSignal(await startApp(config), (app) => {
    out.write(`tgospa is listening on ${app.urls.http}  (feeds: ${app.urls.ingest}, metrics: ${app.urls.metrics})\n`);
  });
}

function parse(args: string[]): Values {
  try {
    return parseArgs({ args, options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function overridesOf({ port, host, data }: Values): ConfigSource['overrides'] {
  const listen: Record<string, unknown> = {};
  if (port !== undefined) listen.port = /^\d+$/.test(port) ? Number(port) : port;
  if (host !== undefined) listen.host = host;
  return {
    ...(Object.keys(listen).length > 0 ? { listen } : {}),
    ...(data === undefined ? {} : { data: { dir: data } }),
  };
}

/** Resolves once the app was told to stop and has stopped. */
export async function untilSignal(app: App, started: (app: App) => void): Promise<void> {
  const signal = new Promise<string>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.once(name, () => {
        // whoever asks twice does not want to wait
        for (const again of ['SIGTERM', 'SIGINT'] as const) process.once(again, () => process.exit(1));
        resolve(name);
      });
    }
  });
  started(app);
  app.logger.info('stopping', { signal: await signal });
  await app.stop();
  app.logger.info('stopped');
}
