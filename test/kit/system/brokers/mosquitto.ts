/** A real broker for tests: Debian's mosquitto on loopback, in a folder of its own, stopped by its process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '../system.js';

/** Debian puts it where only root looks. */
const PROGRAM = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto'].find((path) => existsSync(path)) ?? null;

export const hasMosquitto = PROGRAM !== null;

export class Mosquitto {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tgospa-mosquitto-'));
  #process: ChildProcess | null = null;
  port = 0;

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  /** With a user, nobody else may connect. */
  async start(user?: { name: string; password: string }, more: string[] = []): Promise<void> {
    this.port ||= await freePort();
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      'persistence true',
      `persistence_location ${this.#folder}/`,
      ...more,
    ];
    if (user) {
      const file = join(this.#folder, 'passwords');
      writeFileSync(file, '', { mode: 0o644 });
      spawnSync('mosquitto_passwd', ['-b', file, user.name, user.password]);
      lines.push('allow_anonymous false', `password_file ${file}`);
    } else lines.push('allow_anonymous true');
    const config = join(this.#folder, 'mosquitto.conf');
    writeFileSync(config, `${lines.join('\n')}\nuser root\n`);
    this.#process = spawn(PROGRAM!, ['-c', config], { stdio: 'ignore' });
    await until('the broker answers', () => this.#answers());
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.on('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  }

  /** A persistent session survives this. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    running.kill(signal);
    await once(running, 'exit');
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
