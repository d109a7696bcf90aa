/**
 * One connection to /v1/live that reconnects by itself, with exponential back-off and jitter, so that many pages do not
 * return at the same moment. A connection that has been quiet for a while is pinged; one that does not answer is
 * closed.
 */
import { protocols } from './api.js';

export type SocketState = { open: true } | { open: false; code: number; retryAtMs: number };

/** a connection that does not answer for two and a half times as long is no connection */
const QUIET_MS = 4000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8000;

export interface SocketEvents {
  message(message: { type: string }): void;
  state(state: SocketState): void;
}

export class LiveSocket {
  #socket: WebSocket | null = null;
  #retryMs = FIRST_RETRY_MS;
  #retry: number | undefined;
  #watch: number;
  #heardMs = 0;
  #closed = false;

  constructor(
    readonly query: Record<string, string>,
    readonly events: SocketEvents,
  ) {
    this.#watch = window.setInterval(() => this.#checkAlive(), QUIET_MS / 2);
    this.#connect();
  }

  #connect(): void {
    const url = new URL(`/v1/live?${new URLSearchParams(this.query)}`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url, protocols());
    this.#socket = socket;
    this.#heardMs = performance.now();
    socket.onopen = () => {
      this.#retryMs = FIRST_RETRY_MS;
      this.events.state({ open: true });
    };
    socket.onmessage = ({ data }) => {
      this.#heardMs = performance.now();
      const message = JSON.parse(data);
      if (message.type !== 'pong') this.events.message(message);
    };
    socket.onclose = ({ code }) => {
      if (this.#closed || this.#socket !== socket) return;
      this.#socket = null;
      const waitMs = this.#retryMs * (0.75 + Math.random() / 2);
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
      this.#retry = window.setTimeout(() => this.#connect(), waitMs);
      this.events.state({ open: false, code, retryAtMs: Date.now() + waitMs });
    };
  }

  #checkAlive(): void {
    const quietMs = performance.now() - this.#heardMs;
    if (this.#socket?.readyState !== WebSocket.OPEN || quietMs < QUIET_MS) return;
    if (quietMs > 2.5 * QUIET_MS) this.#socket.close();
    else this.#socket.send('{"type":"ping"}');
  }

  /** Reconnects at once, for example with another token. */
  reconnect(): void {
    clearTimeout(this.#retry);
    hangUp(this.#socket);
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#watch);
    hangUp(this.#socket);
  }
}

/** Closes silently. A socket that is still connecting is closed once it is open: browsers log an error otherwise. */
function hangUp(socket: WebSocket | null): void {
  if (!socket) return;
  socket.onmessage = socket.onclose = null;
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}
