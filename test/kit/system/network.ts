/**
 * Machines of a test: network namespaces on one bridge, each with an address of its own, and lines between any two of
 * them that can be cut. What is sent over a cut line is lost without a word, as behind a broken switch: both ends have
 * a permanent neighbour entry that names a card nobody has. The test itself reaches every machine whatever is cut.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { hasProgram, skipUnless } from './system.js';

const ip = (...words: string[]) => execFileSync('ip', words, { stdio: ['ignore', 'pipe', 'pipe'] });
/** of no card */
const NOBODY = '02:00:00:00:00:01';
let networks = 0;

/** Whether this process may make namespaces and bridges. */
function isAllowed(): boolean {
  const name = `tg${process.pid}x`;
  const made = hasProgram('ip') && spawnSync('ip', ['netns', 'add', name], { stdio: 'ignore' }).status === 0;
  if (made) ip('netns', 'del', name);
  return made;
}

export function skipUnlessNetworks(test: Mocha.Context): void {
  skipUnless(test, isAllowed(), 'root and `ip` are needed for network namespaces; Debian: apt-get install iproute2');
}

/** Where a program runs. */
export interface Place {
  readonly address: string;
  /** the words that start a program there */
  command(program: string, args: readonly string[]): [string, string[]];
}

/** This machine. */
export const HERE: Place = { address: '127.0.0.1', command: (program, args) => [program, [...args]] };

export class Machine implements Place {
  constructor(
    readonly name: string,
    readonly address: string,
  ) {}

  /** `ip netns exec` would give it mounts of its own besides, and a disk that it does not let go. */
  command(program: string, args: readonly string[]): [string, string[]] {
    return ['nsenter', [`--net=/run/netns/${this.name}`, program, ...args]];
  }
}

export class Network {
  readonly #name = `tg${process.pid}n${networks++}`;
  readonly #subnet = `10.${64 + (process.pid % 128)}.${(networks + (process.pid >> 7)) % 256}`;
  readonly #machines: Machine[] = [];
  #cuts: Array<[Machine, Machine]> = [];

  constructor() {
    ip('link', 'add', this.#name, 'type', 'bridge');
    ip('addr', 'add', `${this.#subnet}.1/24`, 'dev', this.#name);
    ip('link', 'set', this.#name, 'up');
  }

  machine(): Machine {
    const n = this.#machines.length;
    const machine = new Machine(`${this.#name}m${n}`, `${this.#subnet}.${n + 2}`);
    const { name, address } = machine;
    this.#machines.push(machine);
    ip('netns', 'add', name);
    ip('link', 'add', `${this.#name}v${n}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', `${this.#name}v${n}`, 'master', this.#name, 'up');
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    for (const link of ['eth0', 'lo']) ip('-n', name, 'link', 'set', link, 'up');
    return machine;
  }

  /** From now on neither hears the other. */
  cut(one: Machine, other: Machine): void {
    this.#cuts.push([one, other]);
    for (const [near, far] of bothWays(one, other))
      ip('-n', near.name, 'neigh', 'replace', far.address, 'lladdr', NOBODY, 'nud', 'permanent', 'dev', 'eth0');
  }

  /** Everybody hears everybody again. */
  heal(): void {
    for (const [one, other] of this.#cuts)
      for (const [near, far] of bothWays(one, other)) ip('-n', near.name, 'neigh', 'del', far.address, 'dev', 'eth0');
    this.#cuts = [];
  }

  close(): void {
    for (const { name } of this.#machines) ip('netns', 'del', name);
    ip('link', 'del', this.#name);
  }
}

const bothWays = (one: Machine, other: Machine) => [
  [one, other],
  [other, one],
];
