/**
 * A connection of a feed in the thread with the sockets. Its first messages are looked at here, to find out which
 * stream it is for; from the hello on everything goes to the worker that owns the partition of that stream, unread.
 * What a hello is refused for is that worker's business.
 */
import type { Config } from '../config/config.js';
import type { FeedConversation, FeedRefusal } from '../edge/feeds/feed-port.js';
import type { Identity } from '../edge/peers/access.js';
import type { Peer } from '../edge/peers/peer.js';
import type { Logger } from '../telemetry/logger.js';
import type { Meters } from '../telemetry/meters.js';
import { CLOSE_CODES, REJECT_CODES } from '../wire/codes.js';
import { Fault } from '../wire/fault.js';
import { parseMessage } from '../wire/messages.js';
import type { RoutedPeer, WorkerCore } from './worker-core.js';

/** Where a hello is looked at. */
export interface HelloDesk {
  workerOf(stream: string): WorkerCore;
  reserve(client: string, stream: string): FeedRefusal | undefined;
}

interface Surroundings {
  config: Config;
  meters: Meters;
  logger: Logger;
}

export class RoutedConversation implements FeedConversation, RoutedPeer {
  readonly #helloTimer: NodeJS.Timeout;
  #worker: WorkerCore | null = null;
  #connection = 0;
  #over = false;
  #paused = false;
  pausedByWorker = false;
  #messages = 0;
  handled = { messages: 0, onlyHeld: true };

  constructor(
    readonly desk: HelloDesk,
    readonly peer: Peer,
    readonly identity: Identity,
    readonly around: Surroundings,
  ) {
    const { helloTimeoutMs } = around.config.limits;
    this.#helloTimer = setTimeout(() => this.#giveUp(helloTimeoutMs), helloTimeoutMs);
  }

  get paused(): boolean {
    return this.#paused;
  }

  get onlyHeld(): boolean {
    return this.#over || (this.handled.messages === this.#messages && this.handled.onlyHeld);
  }

  receive(bytes: Buffer): void {
    if (this.#over) return;
    if (!this.#worker && !this.#route(bytes)) return;
    this.#messages++;
    this.#worker!.receive(this.#connection, bytes);
  }

  receiveBinary(byteCount: number): void {
    if (this.#over || (!this.#worker && !this.#connect(''))) return;
    this.#worker!.receiveBinary(this.#connection, byteCount);
  }

  closed(): void {
    if (!this.#over) this.#worker?.closed(this.#connection);
    this.released();
  }

  released(): void {
    this.#over = true;
    clearTimeout(this.#helloTimer);
  }

  regulate(): void {
    const paused = !this.#over && (this.pausedByWorker || (this.#worker?.holds ?? false));
    if (paused === this.#paused) return;
    this.#paused = paused;
    if (paused) this.peer.pause();
    else this.peer.resume();
  }

  /** Finds the worker that a message is for; false when it is for nobody. */
  #route(bytes: Buffer): boolean {
    const message = parseMessage(bytes.toString());
    if (!(message instanceof Fault) && message.type === 'ping') {
      this.peer.send('{"type":"pong"}');
      return false;
    }
    const { stream } = message instanceof Fault || message.type !== 'hello' ? { stream: '' } : message.raw;
    // whatever is wrong with it, a worker says what
    return this.#connect(typeof stream === 'string' ? stream : '');
  }

  #connect(stream: string): boolean {
    const { name, token } = this.identity;
    const worker = this.desk.workerOf(stream);
    clearTimeout(this.#helloTimer);
    if (!worker.serving) {
      this.released();
      this.peer.close(1013, CLOSE_CODES[1013].meaning);
      return false;
    }
    const covers = this.identity.covers(stream);
    const client = token ? `token ${name}` : `address ${this.peer.address}`;
    const ifNew = covers && stream !== '' ? this.desk.reserve(client, stream) : undefined;
    this.#worker = worker;
    this.#connection = worker.open(this, { name, token, covers }, stream, ifNew);
    return true;
  }

  #giveUp(helloTimeoutMs: number): void {
    const fault = new Fault('hello_timeout', '', `no hello within ${helloTimeoutMs} ms; send it first`);
    const { meters, logger } = this.around;
    meters.refused(fault.code);
    const { code, path, message } = fault;
    logger.warn('session_refused', { code, path, message, address: this.peer.address });
    this.peer.send(JSON.stringify(fault.toMessage()));
    this.released();
    this.peer.close(REJECT_CODES[code].close ?? 4400, code);
  }
}
