/** What people have said about incidents, in a file beside the log: written and flushed before a change is over. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.js';
import type { DeskMemory } from './incident-desk.js';

const FILE = 'incidents.json';
/** the store says what is wrong with the folder */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

export class DeskFile implements DeskMemory {
  readonly #file: string;
  text: string;

  constructor(
    dir: string,
    readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.#file = join(dir, FILE);
    this.text = this.#load();
  }

  #load(): string {
    try {
      return readFileSync(this.#file, 'utf8');
    } catch (error) {
      if (!ABSENT.has((error as NodeJS.ErrnoException).code ?? ''))
        this.logger.warn('incident_desk_unreadable', { file: FILE, error });
      return '';
    }
  }

  async change(next: (text: string) => string | null): Promise<void> {
    const text = next(this.text);
    if (text === null) return;
    writeFileSync(`${this.#file}.new`, text, { flush: true });
    renameSync(`${this.#file}.new`, this.#file);
    this.text = text;
  }
}
