/**
 * `tgospa cluster status`: who is there, who owns what, who is behind, read from the brokers of a configuration. Exit
 * code 0 when every partition has an owner that lives, 1 when not, or when the brokers cannot be asked.
 */
import { existsSync } from 'node:fs';
import { Layout } from '../../cluster/layout.js';
import { checkServerVersion, connectNats, type NatsConnection } from '../../cluster/nats/connection.js';
import { type ClusterStatus, readClusterStatus } from '../../cluster/status.js';
import { type ClusterSettings, clusterPassword } from '../../config/cluster.js';
import { readConfigFile } from '../../config/config.js';
import type { Console } from '../console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from '../console/options.js';
import { drawTable, screenOf } from '../console/table.js';

const STANDARD_FILE = 'tgospa.yaml';
const CONNECT_MS = 5000;

const OPTIONS: OptionGroup = {
  options: {
    config: { value: 'FILE', help: `configuration with a section cluster (default: ${STANDARD_FILE})` },
    partitions: { help: 'every partition, not only those in trouble' },
    json: { help: 'everything as JSON' },
    help: { help: 'this text' },
  },
};

const HELP = [
  'Usage: tgospa cluster status [options]',
  '',
  'Asks the brokers which processes are running, what each owns, and which are behind. It asks twice, cluster.expiryMs',
  'apart: a process that sent nothing in between is silent. Exit code 0: every partition has a live owner; 1: otherwise.',
  ...optionHelp([OPTIONS]),
  '',
].join('\n');

/** Batches that are on their way are no lag. */
const BEHIND_SHOWN = 500;

/** Resolves with the exit code. */
export async function runStatus(args: string[], { out, err }: Pick<Console, 'out' | 'err'>): Promise<number> {
  const line = new CommandLine('cluster status', [OPTIONS], args);
  if (line.has('help')) {
    out.write(HELP);
    return 0;
  }
  line.throwMistakes();
  const file = line.text('config') ?? STANDARD_FILE;
  const complain = (sentence: string) => {
    err.write(`tgospa cluster status: ${sentence}\n`);
    return 1;
  };
  if (!existsSync(file)) return complain(`${file} does not exist; name the configuration with --config`);
  const { cluster } = readConfigFile(file).config;
  if (!cluster) return complain(`${file} has no section cluster; this evaluator is alone`);
  try {
    const status = await clusterStatus(cluster);
    out.write(line.has('json') ? `${JSON.stringify(status)}\n` : statusText(status, line.has('partitions')));
    return isWell(status) ? 0 : 1;
  } catch (error) {
    return complain(`the brokers ${cluster.servers.join(', ')} cannot be queried: ${(error as Error).message}`);
  }
}

async function clusterStatus(settings: ClusterSettings): Promise<ClusterStatus> {
  const password = clusterPassword(settings, process.env);
  const access = { name: 'tgospa cluster status', connectTimeoutMs: CONNECT_MS, heartbeatMs: CONNECT_MS };
  const connection: NatsConnection = await connectNats({ ...settings, password, ...access });
  try {
    checkServerVersion(connection.info?.version ?? '0');
    const patience = AbortSignal.timeout(CONNECT_MS + settings.expiryMs + 10 * settings.timeoutMs);
    return await readClusterStatus(new Layout(connection, settings), settings.expiryMs, patience);
  } finally {
    await connection.close();
  }
}

/** Every partition is served. */
export const isWell = ({ partitions }: ClusterStatus): boolean => partitions.every(({ lives }) => lives);

export function statusText({ processes, partitions }: ClusterStatus, all: boolean): string {
  const screen = { ...screenOf(process.stdout), colors: false };
  const owners = processes.map(({ id, lives, roles, url }) => ({
    cells: [
      id,
      lives ? 'lives' : 'silent',
      roles.join(' '),
      String(partitions.filter((p) => p.owner === id).length),
      url,
    ],
  }));
  const shown = partitions.filter(({ lives, behind }) => all || !lives || behind > BEHIND_SHOWN);
  const standing = ({ owner, lives }: { owner: string | null; lives: boolean }) =>
    owner === null ? 'nobody' : lives ? owner : `${owner} (silent)`;
  const served = partitions.filter(({ lives }) => lives).length;
  const living = processes.filter(({ lives }) => lives).length;
  return [
    `${served} of ${partitions.length} partitions are served by ${living} ${living === 1 ? 'process' : 'processes'}.`,
    '',
    ...drawTable(
      ['process', 'state', 'roles', 'partitions', 'page'].map((title, n) => ({
        title,
        align: n === 3 ? ('right' as const) : ('left' as const),
        cells: owners.map(({ cells }) => cells[n]),
        key: n === 0,
      })),
      screen,
    ),
    ...(shown.length === 0
      ? []
      : [
          '',
          ...drawTable(
            [
              { title: 'partition', align: 'right', cells: shown.map(({ partition }) => String(partition)), key: true },
              { title: 'batches behind', align: 'right', cells: shown.map(({ behind }) => String(behind)) },
              { title: 'owner', align: 'left', cells: shown.map(standing) },
            ],
            screen,
          ),
        ]),
    '',
  ].join('\n');
}
