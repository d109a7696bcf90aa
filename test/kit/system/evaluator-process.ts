/**
 * `tgospa serve` in a process of its own, on one folder and one port: it can be killed, suspended and started again as
 * often as a test likes, and finds what it left behind. `timeless` makes what two runs say comparable.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HERE, type Place } from './network.js';
import { Program } from './program.js';
import { freePort } from './system.js';

export class EvaluatorProcess {
  /** lines of the log at level error, of all processes that were killed */
  errors = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'tgospa-evaluator-'));
  #program: Program | null = null;

  private constructor(
    readonly port: number,
    config: object,
    readonly place: Place,
  ) {
    writeFileSync(join(this.#folder, 'tgospa.yaml'), JSON.stringify(config));
  }

  /** A folder with this configuration and a port; nothing runs yet. */
  static async create(config: object, place = HERE): Promise<EvaluatorProcess> {
    return new EvaluatorProcess(await freePort(), config, place);
  }

  get http(): string {
    return `http://${this.place.address}:${this.port}`;
  }

  /** Its data folder. */
  get data(): string {
    return join(this.#folder, 'data');
  }

  /** What it has printed since its last start. */
  get output(): string {
    return this.#program?.output ?? '';
  }

  get pid(): number {
    return this.#program!.child.pid!;
  }

  /** Whether it ran, and has ended without being asked to. */
  get hasEnded(): boolean {
    return this.#program?.ended ?? false;
  }

  async start(preload?: string): Promise<void> {
    const args = ['serve', '--host', this.place.address, '--port', String(this.port), '--data', this.data];
    this.#program = Program.tgospa(args, { cwd: this.#folder, preload, place: this.place });
    await this.#program.shows(/listening on http/);
  }

  signal(signal: NodeJS.Signals): void {
    this.#program!.child.kill(signal);
  }

  async kill(): Promise<void> {
    const program = this.#program!;
    this.#program = null;
    if (program.ended) throw new Error(`it had ended by itself: ${program.output}`);
    await program.end('SIGKILL');
    for (const line of program.output.split('\n')) if (line.includes('"level":"error"')) this.errors += `${line}\n`;
  }

  /** Asks it to stop, and waits until it has. */
  async end(): Promise<void> {
    await this.#program?.end('SIGTERM');
    this.#program = null;
  }

  /** Kills it if it runs, and removes its folder. */
  async dispose(): Promise<void> {
    await this.#program?.end('SIGKILL');
    this.#program = null;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async json<T = unknown>(path: string): Promise<T> {
    return (await (await fetch(`${this.http}${path}`)).json()) as T;
  }
}

/** What depends on the clock, and on nothing else. */
const TIMES = ['atMs', 'receivedMs', 'lastReceivedMs', 'solveMs', 'since'];

/** A value without its times, and without the other keys named. */
export const timeless = (value: unknown, ...others: string[]): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner) => (TIMES.includes(key) || others.includes(key) ? undefined : inner)));
