/**
 * Connections that have not said yet what they want: half a handshake, half a request, or silence between two requests.
 * There may be `most` of them, `perAddress` of one address; a new one beyond that closes the one that has waited
 * longest, so that a client that holds many open keeps nobody out, not even its own address. A connection that is being
 * answered does not wait, and one that is upgraded has left.
 */
import type { Socket } from 'node:net';

/** The two sockets of a TLS connection share their address and port. */
type Key = string;

export class WaitingConnections {
  /** in the order in which they began to wait */
  readonly #waiting = new Map<Key, Socket>();
  readonly #byAddress = new Map<string, Set<Key>>();
  /** open connections, waiting or being answered */
  readonly #open = new Map<Key, Socket>();

  constructor(
    readonly most: number,
    readonly perAddress: number,
  ) {}

  get size(): number {
    return this.#waiting.size;
  }

  /** A connection was accepted. */
  accept(socket: Socket): void {
    const key = keyOf(socket);
    this.#open.set(key, socket);
    socket.once('close', () => this.#leave(key, socket));
    this.#enter(key, socket);
  }

  /** A request has come whole. */
  requested({ socket }: { socket: Socket }): void {
    this.#exit(keyOf(socket), socket);
  }

  /** It is answered: the connection waits for the next one. */
  answered({ socket }: { socket: Socket }): void {
    const key = keyOf(socket);
    const open = this.#open.get(key);
    if (open && !open.destroyed) this.#enter(key, open);
  }

  /** It speaks another protocol from now on. */
  upgraded({ socket }: { socket: Socket }): void {
    const key = keyOf(socket);
    const open = this.#open.get(key);
    if (open) this.#leave(key, open);
  }

  #enter(key: Key, socket: Socket): void {
    const address = addressOf(socket);
    const same = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, same.add(key));
    this.#waiting.set(key, socket);
    if (same.size > this.perAddress) this.#close(same);
    else if (this.#waiting.size > this.most) this.#close(this.#waiting.keys());
  }

  #close([longest]: Iterable<Key>): void {
    const socket = this.#waiting.get(longest)!;
    this.#leave(longest, socket);
    socket.destroy();
  }

  #exit(key: Key, socket: Socket): void {
    this.#waiting.delete(key);
    const address = addressOf(socket);
    const same = this.#byAddress.get(address);
    same?.delete(key);
    if (same?.size === 0) this.#byAddress.delete(address);
  }

  #leave(key: Key, socket: Socket): void {
    if (this.#open.get(key) !== socket) return;
    this.#open.delete(key);
    this.#exit(key, socket);
  }
}

/** Node forgets whom a socket was connected to when it is destroyed. */
const addresses = new WeakMap<Socket, { address: string; key: Key }>();

function identify(socket: Socket): { address: string; key: Key } {
  let known = addresses.get(socket);
  if (!known) {
    const address = socket.remoteAddress ?? '';
    known = { address, key: `${address} ${socket.remotePort}` };
    addresses.set(socket, known);
  }
  return known;
}

const keyOf = (socket: Socket): Key => identify(socket).key;
const addressOf = (socket: Socket): string => identify(socket).address;
