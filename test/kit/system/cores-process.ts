/**
 * An evaluator in a process of its own whose single workers can be killed too: run by `CoresProcess` with its folder,
 * its port and a configuration.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startApp } from '../../../src/app.js';
import { readConfig } from '../../../src/config/config.js';
import type { Host } from '../../../src/cores/host.js';
import { createLogger } from '../../../src/telemetry/logger.js';

const FILE = fileURLToPath(import.meta.url);

type Order = { killWorker: number } | 'stop';

export class CoresProcess {
  private constructor(readonly child: ChildProcess) {}

  /** Resolves when its port is open. */
  static async start(overrides: object): Promise<CoresProcess> {
    const child = fork(FILE, [JSON.stringify(overrides)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (message !== 'listening') throw new Error(`it did not start: ${message}`);
    return new CoresProcess(child);
  }

  async #order(order: Order): Promise<void> {
    this.child.send(order);
    await once(this.child, 'message');
  }

  /** Resolves when the worker is gone. */
  killWorker(slot: number): Promise<void> {
    return this.#order({ killWorker: slot });
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit');
    await this.#order('stop');
    this.child.disconnect();
    await gone;
  }
}

if (process.argv[1] === FILE && process.send) {
  const { config } = readConfig({ overrides: JSON.parse(process.argv[2]), env: {} });
  // that workers fail is what they are killed for
  const logger = createLogger({
    level: 'error',
    write: (line) => line.includes('worker_failed') || console.error(line),
  });
  const app = await startApp(config, { env: {}, logger });
  process.on('message', async (order: Order) => {
    if (order === 'stop') await app.stop();
    else await (app.live as Host).killWorker(order.killWorker);
    process.send!('done');
  });
  process.on('disconnect', () => process.exit(0));
  process.send('listening');
}
