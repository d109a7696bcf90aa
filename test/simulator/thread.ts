/** A simulated thread of heavy streams: its real duties in a process of this world, which may die. */
import { ThreadDuties } from '../../src/stream/thread-duties.js';
import type { Thread, ThreadAnswer, ThreadSetup, ThreadTask } from '../../src/stream/threads.js';
import type { Process, World } from './world.js';

type Listener = (value: never) => void;

export class SimulatedThread implements Thread {
  readonly process: Process;
  readonly #duties: ThreadDuties;
  readonly #listeners = new Map<string, Listener[]>();
  /** in each direction, messages keep their order */
  readonly #lastMs = { there: 0, back: 0 };

  constructor(
    readonly world: World,
    /** the evaluator's */
    readonly owner: Process,
    setup: ThreadSetup,
  ) {
    this.process = world.start(`${owner.name} thread`);
    owner.onDeath.push(() => world.kill(this.process));
    this.#duties = new ThreadDuties(setup, (answer) =>
      this.#carry('back', owner, structuredClone(answer), (sent: ThreadAnswer) => this.#emit('message', sent)),
    );
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }

  postMessage(task: ThreadTask): void {
    this.#carry('there', this.process, structuredClone(task), (sent) => this.#duties.receive(sent));
  }

  async terminate(): Promise<void> {
    this.world.kill(this.process);
  }

  /** As of too much memory, whatever it was doing. */
  die(): void {
    this.world.kill(this.process);
    this.world.after(this.world.between(0, 5), this.owner, () => {
      this.#emit('error', new Error('Worker terminated due to reaching memory limit'));
      this.#emit('exit', 1);
    });
  }

  #carry<T>(way: 'there' | 'back', to: Process, message: T, arrive: (message: T) => void): void {
    const atMs = Math.max(this.#lastMs[way], this.world.nowMs + this.world.between(0.01, 1));
    this.#lastMs[way] = atMs;
    // what a dead thread has sent is heard all the same
    this.world.push(atMs, to, () => arrive(message), null);
  }

  #emit(event: string, value: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(value as never);
  }
}
