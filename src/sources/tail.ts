/**
 * A file that another program appends to: every line is a message. A line counts when its end has been written; when
 * the file is rotated away (renamed, replaced or truncated), what is left of it is read first, then the new one.
 *
 * Lines are numbered through all files, and the number of a line is the number of its message in the feed. So the log
 * itself knows how far we are: after a restart the first line that is not stored is the one to read next. A checkpoint
 * beside the log says which file that number belongs to, and a place in it from which lines can be counted.
 * Invariant: the checkpoint is never ahead of the log.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FORMATS } from '../store/formats.js';
import { Backoff, type Source, SourceFeed, type SourceParts, type TailSettings, textOf } from './source.js';

interface Identity {
  inode: number;
  /** hash of the first `headBytes`: an inode may be used again */
  head: string;
  headBytes: number;
}

/** In this file, line number `lines`, counted through all files, ends at `offset`. */
interface Checkpoint {
  version: number;
  file: Identity;
  lines: number;
  offset: number;
}

const CHUNK_BYTES = 256 * 1024;
const HEAD_BYTES = 256;
/** lines between two checkpoints: what is counted again at the next start */
const CHECKPOINT_LINES = 10_000;
/** files of a folder that are looked at for one that was renamed */
const FOLDER_MAX = 1000;

export class TailSource implements Source {
  readonly #feed: SourceFeed;
  readonly #backoff: Backoff;
  #file: FileHandle | null = null;
  #identity: Identity = { inode: 0, head: '', headBytes: 0 };
  #checkpoint: Checkpoint | null = null;
  /** bytes read, and what of them is no whole line yet */
  #offset = 0;
  #rest = Buffer.alloc(0);
  /** lines enqueued, counted through all files */
  #lines = 0;
  /** inside a line that is too long */
  #skipping = false;
  #stopping = false;
  #written: Promise<void> = Promise.resolve();
  readonly #stopped: Promise<void>;
  #wake: () => void = () => {};

  constructor(
    readonly settings: TailSettings,
    readonly parts: SourceParts,
  ) {
    const { pollMs, backoffMaxMs } = parts.config.sources;
    this.#backoff = new Backoff(pollMs, Math.min(backoffMaxMs, 20 * pollMs));
    this.#feed = new SourceFeed(settings.name, settings, parts);
    parts.meter.waiting = () => this.#feed.waiting;
    this.#stopped = this.#run();
  }

  async #run(): Promise<void> {
    const opened = await Promise.race([this.#feed.opened(), this.#pause(null)]);
    let ready = false;
    while (!this.#stopping) {
      try {
        if (!ready) await this.#start(opened! - 1);
        ready = true;
        if (!(await this.#readOn())) await this.#pause(this.parts.config.sources.pollMs);
      } catch (error) {
        this.#failed(error as Error);
        await this.#pause(this.#backoff.next());
      }
    }
    await this.#file?.close();
  }

  #failed({ message }: Error): void {
    const { meter, logger } = this.parts;
    if (meter.connected || meter.faults === 0) {
      meter.faults++;
      logger.warn('source_failed', { source: this.settings.name, path: this.settings.path, error: message });
    }
    meter.connected = false;
  }

  /** Finds the first line that is not stored; `stored` lines are, through all files. */
  async #start(stored: number): Promise<void> {
    const checkpoint = await this.#readCheckpoint();
    this.#lines = stored;
    const path = checkpoint ? await this.#find(checkpoint) : this.settings.path;
    if (path === null) {
      // it is gone, with whatever was not read of it
      const { settings, parts } = this;
      const how = 'while the evaluator was away, and the rest of it is gone';
      parts.logger.warn('source_rotated', { source: settings.name, path: settings.path, how, lines: stored });
      await this.#openFromStart(settings.path);
      return;
    }
    await this.#open(path);
    // a feed that was retired meanwhile counts from the start again, the file does not
    const behind = !checkpoint || stored < checkpoint.lines ? stored : checkpoint.lines;
    const offset = checkpoint?.offset ?? 0;
    this.#offset =
      checkpoint && stored < checkpoint.lines ? offset : await this.#endOfLine(stored, checkpoint ? behind : 0, offset);
    await this.#mark(this.#identity, this.#lines, this.#offset);
  }

  /** The end of line `wanted`, counted from a place that is known; a file that is too short is read from its start. */
  async #endOfLine(wanted: number, lines: number, offset: number): Promise<number> {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    while (lines < wanted) {
      const { bytesRead } = await this.#file!.read(chunk, 0, chunk.length, offset);
      if (bytesRead === 0) return 0;
      let from = 0;
      for (; lines < wanted; lines++) {
        const end = chunk.subarray(0, bytesRead).indexOf(10, from);
        if (end < 0) break;
        from = end + 1;
      }
      offset += lines < wanted ? bytesRead : from;
    }
    return offset;
  }

  /** Where the file of the checkpoint is now: in its place, under another name in the same folder, or null. */
  async #find(checkpoint: Checkpoint): Promise<string | null> {
    const { path } = this.settings;
    const folder = dirname(path);
    const others = (await readdir(folder)).slice(0, FOLDER_MAX).map((name) => join(folder, name));
    for (const candidate of [path, ...others]) {
      const found = await stat(candidate).catch(() => null);
      if (found?.ino !== checkpoint.file.inode || !found.isFile() || found.size < checkpoint.offset) continue;
      const file = await open(candidate, 'r');
      const same = hash(await headOf(file, checkpoint.file.headBytes)) === checkpoint.file.head;
      await file.close();
      if (same) return candidate;
    }
    // say so now when there is nothing to read instead
    await stat(path);
    return null;
  }

  /** Reads a file from its start. The checkpoint stays in the file before until a line of this one is stored. */
  async #openFromStart(path: string): Promise<void> {
    await this.#open(path);
    this.#offset = 0;
  }

  async #open(path: string): Promise<void> {
    const file = await open(path, 'r');
    await this.#file?.close();
    this.#file = file;
    this.#rest = Buffer.alloc(0);
    this.#skipping = false;
    const head = await headOf(file, HEAD_BYTES);
    this.#identity = { inode: (await file.stat()).ino, head: hash(head), headBytes: head.length };
    this.#backoff.reset();
    const { meter, logger } = this.parts;
    if (!meter.connected) logger.info('source_connected', { source: this.settings.name, path });
    meter.connected = true;
  }

  /** Reads what is there; false when there was nothing new. */
  async #readOn(): Promise<boolean> {
    const file = this.#file!;
    const { size } = await file.stat();
    if (size < this.#offset || !(await this.#headHolds(size))) {
      await this.#change('truncated');
      return true;
    }
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - this.#offset));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, this.#offset);
    this.#offset += bytesRead;
    if (bytesRead > 0) await this.#enqueueLines(chunk.subarray(0, bytesRead));
    if (bytesRead > 0 || this.#stopping) return true;
    // between its renaming and the first line of the next file there may be none of this name
    const now = await stat(this.settings.path).catch(() => null);
    if (!now || now.ino === this.#identity.inode) return false;
    // what was written since its end was seen is read first
    if ((await file.stat()).size > this.#offset) return true;
    await this.#change('rotated');
    return true;
  }

  /** Whether the file still begins as it did; a short one may have grown. */
  async #headHolds(size: number): Promise<boolean> {
    if (size === this.#offset) return true;
    const { head, headBytes } = this.#identity;
    const now = await headOf(this.#file!, HEAD_BYTES);
    if (hash(now.subarray(0, headBytes)) !== head) return false;
    if (now.length > headBytes) {
      Object.assign(this.#identity, { head: hash(now), headBytes: now.length });
      if (this.#checkpoint?.file === this.#identity) await this.#writeCheckpoint(this.#checkpoint);
    }
    return true;
  }

  async #change(how: 'rotated' | 'truncated'): Promise<void> {
    const { name, path } = this.settings;
    // nobody is going to end this line
    if (how === 'rotated' && this.#rest.length > 0) await this.#enqueueLines(Buffer.from('\n'));
    if (this.#stopping) return;
    this.parts.logger.info('source_rotated', { source: name, path, how, lines: this.#lines });
    await this.#openFromStart(path);
  }

  async #enqueueLines(bytes: Buffer): Promise<void> {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0 && !this.#stopping; end = bytes.indexOf(10, from)) {
      const line = Buffer.concat([this.#rest, bytes.subarray(from, end)]);
      this.#rest = Buffer.alloc(0);
      from = end + 1;
      await this.#enqueueLine(line, this.#offset - bytes.length + from);
    }
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(from)]);
    if (this.#rest.length <= this.parts.config.sources.payloadBytes) return;
    // its end is awaited, its bytes are not kept
    this.#rest = Buffer.alloc(0);
    this.#skipping = true;
  }

  /** Every line uses up its number, also an empty one and one that is refused. */
  async #enqueueLine(line: Buffer, end: number): Promise<void> {
    const { meter, config } = this.parts;
    const lines = ++this.#lines;
    meter.messages++;
    meter.bytes += line.length + 1;
    meter.lastMs = Date.now();
    const tooLong = this.#skipping || line.length > config.sources.payloadBytes;
    this.#skipping = false;
    const text = tooLong ? null : textOf(line);
    if (text?.trim() === '') this.#feed.skip();
    else if (text === null) {
      const limit = `line ${lines} is longer than sources.payloadBytes (now ${config.sources.payloadBytes})`;
      this.#feed.refuse(tooLong ? 'payload_too_large' : 'message_invalid', tooLong ? limit : 'is not UTF-8', '');
      this.#feed.skip();
    } else {
      const file = this.#identity;
      await this.#feed.enqueue(text, () => this.#stored(file, lines, end));
    }
  }

  #stored(file: Identity, lines: number, offset: number): void {
    if (this.#checkpoint?.file === file && lines - this.#checkpoint.lines < CHECKPOINT_LINES) return;
    // a checkpoint that cannot be written costs time at the next start, nothing else
    this.#mark(file, lines, offset).catch(() => {});
  }

  async #mark(file: Identity, lines: number, offset: number): Promise<void> {
    this.#checkpoint = { version: FORMATS.checkpoint.version, file, lines, offset };
    await this.#writeCheckpoint(this.#checkpoint);
  }

  get #checkpointPath(): string {
    return join(this.parts.config.data.dir, 'sources', `${encodeURIComponent(this.settings.name)}.json`);
  }

  async #readCheckpoint(): Promise<Checkpoint | null> {
    try {
      const checkpoint = JSON.parse(await readFile(this.#checkpointPath, 'utf8')) as Checkpoint;
      return checkpoint.version === FORMATS.checkpoint.version ? checkpoint : null;
    } catch {
      return null;
    }
  }

  /** One after the other: the last one counts. */
  #writeCheckpoint(checkpoint: Checkpoint): Promise<void> {
    const text = `${JSON.stringify(checkpoint)}\n`;
    const written = this.#written.then(() => this.#replaceCheckpoint(text));
    this.#written = written.catch(() => {});
    return written;
  }

  async #replaceCheckpoint(text: string): Promise<void> {
    const path = this.#checkpointPath;
    await mkdir(dirname(path), { recursive: true });
    const file = await open(`${path}.new`, 'w');
    try {
      await writeFile(file, text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }

  /** Waits; null: until the source is stopped. */
  #pause(ms: number | null): Promise<undefined> {
    if (this.#stopping) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(() => resolve(undefined), ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    await this.#feed.finish({ heldComesAgain: true });
    await this.#stopped;
    await this.#written;
  }
}

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function headOf(file: FileHandle, bytes: number): Promise<Buffer> {
  const head = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(head, 0, bytes, 0);
  return head.subarray(0, bytesRead);
}
