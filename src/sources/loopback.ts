/**
 * A WebSocket to the cores of this same process: sources feed the evaluator by the very conversation that clients
 * have, with its checks, acks, credit and resume, and without a network in between.
 */
import type { WebSocketConstructor, WebSocketLike } from '../client.js';
import type { FeedConversation } from '../edge/feeds/feed-port.js';
import type { LivePort } from '../edge/live-port.js';
import type { Peer } from '../edge/peers/peer.js';

export interface LoopbackPort {
  /** for `connect` */
  WebSocket: WebSocketConstructor;
  /** whether all that was sent is stored or was refused, but for messages that wait for the rest of their frame */
  onlyHeld(): boolean;
}

/** Where feeds connect. */
export type Ingest = Pick<LivePort, 'converse'>;

/** Opens a way to the cores; `name` stands in the log. */
export function loopback(ingest: Ingest, name: string): LoopbackPort {
  let newest: Loopback | null = null;
  class Newest extends Loopback {
    constructor() {
      super(ingest, name);
      newest = this;
    }
  }
  return { WebSocket: Newest, onlyHeld: () => newest?.onlyHeld ?? true };
}

class Loopback implements WebSocketLike {
  readyState = 0;
  bufferedAmount = 0;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  #session: FeedConversation;
  #paused = false;
  /** sent while nobody reads; bounded by the credit */
  #unread: string[] = [];

  constructor(ingest: Ingest, name: string) {
    const peer: Peer = {
      send: (text) => this.#later(() => this.onmessage?.({ data: String(text) } as never)),
      close: (code, reason) => this.#gone(code, reason),
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#later(() => this.#read());
      },
      backlogBytes: () => 0,
      address: `source:${name}`,
    };
    const identity = {
      name: `source ${name}`,
      token: false,
      roles: new Set(['ingest' as const]),
      covers: () => true,
      coversAll: true,
    };
    this.#session = ingest.converse(peer, identity);
    this.#later(() => {
      if (this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen?.({} as never);
    });
  }

  get onlyHeld(): boolean {
    return this.#unread.length === 0 && this.#session.onlyHeld;
  }

  send(data: string): void {
    if (this.readyState !== 1) return;
    this.#unread.push(data);
    this.#later(() => this.#read());
  }

  close(): void {
    if (this.readyState >= 2) return;
    this.readyState = 3;
    this.#session.closed();
  }

  #read(): void {
    while (!this.#paused && this.readyState === 1 && this.#unread.length > 0)
      this.#session.receive(Buffer.from(this.#unread.shift()!));
  }

  #gone(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#later(() => this.onclose?.({ code, reason } as never));
  }

  /** As on a network, nothing is heard before the call that caused it has returned. */
  #later(action: () => void): void {
    queueMicrotask(action);
  }
}
