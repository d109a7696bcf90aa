/**
 * `tgospa cluster size`: how many cores, how much disk and how many series so many streams need, from what a frame
 * costs on this machine. What was not measured here is said.
 */
import type { Console } from '../console/console.js';
import { CommandLine, type OptionGroup, optionHelp } from '../console/options.js';
import { drawTable, screenOf } from '../console/table.js';
import { type FrameDemand, measureFrameDemand } from './frame-demand.js';

const OPTIONS: OptionGroup = {
  options: {
    streams: { value: 'N', help: 'streams that are judged at the same time (default: 1000)' },
    fps: { value: 'N', help: 'frames a second of each feed (default: 10)' },
    objects: { value: 'N', help: 'objects in a frame (default: 20)' },
    json: { help: 'figures as JSON' },
    help: { help: 'this text' },
  },
};

const HELP = [
  'Usage: tgospa cluster size [options]',
  '',
  'Says what so many streams with two feeds each need, from what a frame costs on this machine. It measures for a few',
  'seconds; on a busy machine the figures come out too high.',
  ...optionHelp([OPTIONS]),
  '',
].join('\n');

/** Feeds of a stream: the reference and one tracker. */
const FEEDS = 2;
const REPLICAS = 3;
/** Cores of three brokers for a frame, with batches; measured once, with nats-server 2.10.27, not here. */
const BROKER_US = 7;
/** Series of /metrics for a stream with one tracker and one profile. */
const SERIES = 59;
/** A core is never full: half of it is left for peaks and takeovers. */
const LOAD_MAX = 0.5;
/** So many streams fit into the takeover of a partition within five seconds. */
const STREAMS_PER_PARTITION = 200;
const PARTITIONS = 64;

export interface ClusterSize {
  framesPerSecond: number;
  logMegabytesPerSecond: number;
  diskMegabytesPerSecond: number;
  gatewayCores: number;
  evaluatorCores: number;
  evaluatorCoresCrowded: number;
  brokerCores: number;
  snapshotMegabytes: number;
  series: number;
  streamsPerPartition: number;
}

export function clusterSize(streams: number, fps: number, cost: FrameDemand): ClusterSize {
  const framesPerSecond = streams * fps * FEEDS;
  const cores = (us: number) => (framesPerSecond * us) / 1e6;
  const logMegabytesPerSecond = (framesPerSecond * cost.logBytes) / 1e6;
  return {
    framesPerSecond,
    logMegabytesPerSecond,
    diskMegabytesPerSecond: logMegabytesPerSecond * REPLICAS,
    gatewayCores: cores(cost.parseUs + cost.encodeUs),
    evaluatorCores: cores(cost.decodeUs + cost.calmUs),
    evaluatorCoresCrowded: cores(cost.decodeUs + cost.crowdUs),
    brokerCores: cores(BROKER_US),
    snapshotMegabytes: (streams * cost.snapshotBytes) / 1e6,
    series: streams * SERIES,
    streamsPerPartition: Math.ceil(streams / PARTITIONS),
  };
}

/** What breaks first, in sentences. */
export function concerns({ streamsPerPartition, diskMegabytesPerSecond, series }: ClusterSize): string[] {
  return [
    ...(streamsPerPartition > STREAMS_PER_PARTITION
      ? [
          `${streamsPerPartition} streams share a partition: a takeover lasts longer than five seconds; make several clusters`,
        ]
      : []),
    ...(diskMegabytesPerSecond > 500
      ? ['the brokers write more than an ordinary disk can handle; split into several clusters']
      : []),
    ...(series > 1e6 ? ['that is too many series for one Prometheus; give each cluster its own'] : []),
  ];
}

/** Prints what is needed. */
export async function runSize(
  args: string[],
  { out }: Pick<Console, 'out'>,
  measure: (objects: number) => FrameDemand = measureFrameDemand,
): Promise<void> {
  const line = new CommandLine('cluster size', [OPTIONS], args);
  if (line.has('help')) return void out.write(HELP);
  const isCount = (value: number) => Number.isInteger(value) && value >= 1;
  const streams = line.numberWhere('streams', 1000, isCount, 'a whole number above 0');
  const fps = line.numberWhere('fps', 10, (value) => value > 0 && value <= 1000, 'a number between 0 and 1000');
  const objects = line.numberWhere('objects', 20, (value) => isCount(value) && value <= 1000, 'between 1 and 1000');
  line.throwMistakes();
  const cost = measure(objects);
  const size = clusterSize(streams, fps, cost);
  out.write(line.has('json') ? `${JSON.stringify({ streams, fps, objects, cost, size })}\n` : textOf(cost, size));
}

function textOf(cost: FrameDemand, size: ClusterSize): string {
  const number = (value: number) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(2));
  const rows: Array<[string, string, string]> = [
    ['frames a second', number(size.framesPerSecond), ''],
    ['gateway cores', number(size.gatewayCores), `${number(cost.parseUs + cost.encodeUs)} µs a frame`],
    ['evaluator cores, calm', number(size.evaluatorCores), `${number(cost.decodeUs + cost.calmUs)} µs a frame`],
    [
      'evaluator cores, crowded',
      number(size.evaluatorCoresCrowded),
      `${number(cost.decodeUs + cost.crowdUs)} µs a frame`,
    ],
    ['broker cores', number(size.brokerCores), `${BROKER_US} µs a frame, not measured here`],
    ['log, MB/s', number(size.logMegabytesPerSecond), `${cost.logBytes} bytes a frame (${cost.jsonBytes} as JSON)`],
    ['disks of three brokers, MB/s', number(size.diskMegabytesPerSecond), ''],
    ['snapshots, MB', number(size.snapshotMegabytes), `${number(cost.snapshotBytes)} bytes a stream`],
    ['series in Prometheus', number(size.series), ''],
  ];
  const columns = [0, 1, 2].map((n) => ({
    title: ['needed', '', 'measured on this machine'][n],
    align: n === 1 ? ('right' as const) : ('left' as const),
    cells: rows.map((row) => row[n]),
  }));
  const cores = (size.gatewayCores + size.evaluatorCoresCrowded + size.brokerCores) / LOAD_MAX;
  return [
    ...drawTable(columns, { ...screenOf(process.stdout), colors: false }),
    '',
    `Have about ${Math.max(1, Math.ceil(cores))} cores: crowded, and half of each left for peaks and takeovers.`,
    ...concerns(size).map((sentence) => `Note: ${sentence}.`),
    '',
  ].join('\n');
}
