/**
 * A simulated network between clients and the evaluator. What is sent on one connection arrives in order, as with TCP;
 * connections overtake each other. Lines can be cut, with each end hearing of it in its own time or not at all, stand
 * still, and lead nowhere for a while. To the client a connection is a WebSocket, to the evaluator a Peer.
 */
import type { WebSocketConstructor, WebSocketLike } from '../../src/client.js';
import type { Conversation, Peer } from '../../src/edge/peers/peer.js';
import type { Site } from '../../src/edge/sockets.js';
import type { Process, World } from './world.js';

/** the evaluator pings this often, and gives up a connection that answers none of two */
const HEARTBEAT_MS = 15_000;
const SILENT_BEATS_MAX = 2;

/** What is served, and by which process. */
interface Listener {
  process: Process;
  site: Site;
}

/** The way from one client to the evaluator. */
export class Line {
  /** nothing moves before then */
  stillUntilMs = 0;
  /** new connections fail before then */
  deadUntilMs = 0;
  readonly connections = new Set<Connection>();

  constructor(
    readonly network: Network,
    readonly process: Process,
  ) {}

  /** For the client. */
  get WebSocket(): WebSocketConstructor {
    const line = this;
    return class extends Connection {
      constructor() {
        super(line);
      }
    };
  }

  /** All connections die; each end hears of it within so long. New ones fail for a while. */
  cut(clientHearsMs: number, serverHearsMs: number, deadMs: number): void {
    const { world } = this.network;
    this.deadUntilMs = Math.max(this.deadUntilMs, world.nowMs + deadMs);
    for (const connection of this.connections) connection.sever(clientHearsMs, serverHearsMs);
  }

  /** Nothing moves for a while. */
  stall(forMs: number): void {
    this.stillUntilMs = Math.max(this.stillUntilMs, this.network.world.nowMs + forMs);
  }
}

export class Network {
  listener: Listener | null = null;
  /** milliseconds on the way, from and to */
  latencyMs: [number, number] = [0.1, 2];

  constructor(readonly world: World) {}

  line(process: Process): Line {
    return new Line(this, process);
  }

  latency(): number {
    return this.world.between(...this.latencyMs);
  }
}

/** One direction of a connection: what is on its way, in order. */
class Way {
  #lastMs = 0;
  #bytes = 0;
  open = true;

  constructor(
    readonly line: Line,
    readonly to: () => Process | null,
  ) {}

  /** Sent and not there yet. */
  get bytes(): number {
    return this.#bytes;
  }

  send(bytes: number, arrive: () => void, last = false): void {
    const { network } = this.line;
    const { world } = network;
    this.#bytes += bytes;
    const atMs = Math.max(world.nowMs + network.latency(), this.line.stillUntilMs, this.#lastMs);
    this.#lastMs = atMs;
    const process = this.to();
    if (!process) return;
    world.push(
      atMs,
      process,
      () => {
        this.#bytes -= bytes;
        if (!this.open) return;
        if (last) this.open = false;
        arrive();
      },
      null,
    );
  }
}

class Connection implements WebSocketLike {
  readyState = 0;
  bufferedAmount = 0;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly #up: Way;
  readonly #down: Way;
  #server: Process | null = null;
  #conversation: Conversation | null = null;
  #serverOpen = false;
  #paused = false;
  readonly #unread: string[] = [];
  #silentBeats = 0;

  constructor(readonly line: Line) {
    this.#up = new Way(line, () => this.#server);
    this.#down = new Way(line, () => line.process);
    line.connections.add(this);
    const { network } = line;
    const { world } = network;
    const waitMs = Math.max(0, line.stillUntilMs - world.nowMs) + network.latency();
    world.after(waitMs, line.process, () => this.#connect());
  }

  get #world(): World {
    return this.line.network.world;
  }

  #connect(): void {
    const { listener } = this.line.network;
    const reachable = this.#world.nowMs >= this.line.deadUntilMs;
    if (this.readyState !== 0) return;
    if (!listener?.process.alive || !reachable) {
      this.#clientGone(1006, '');
      return;
    }
    this.#server = listener.process;
    this.#world.after(this.line.network.latency(), listener.process, () => this.#accept(listener));
    // the machine of a killed evaluator says so to whoever is connected
    listener.process.onDeath.push(() => {
      this.#down.open = false;
      this.#world.after(this.line.network.latency(), this.line.process, () => this.#clientGone(1006, ''));
    });
  }

  #accept({ site, process }: Listener): void {
    const endpoint = site.endpoints.get('/v1/ingest')!;
    const identity = { name: 'anyone', token: false, roles: new Set<never>(), covers: () => true, coversAll: true };
    const converse = endpoint.open(new URLSearchParams(), identity);
    if (typeof converse !== 'function') throw new Error(converse.message);
    this.#serverOpen = true;
    this.#conversation = converse(this.#peer());
    this.#down.send(0, () => {
      if (this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen?.({} as never);
    });
    this.#world.after(HEARTBEAT_MS, process, () => this.#beat(process));
  }

  #peer(): Peer {
    return {
      address: this.line.process.name,
      send: (text, sent) => {
        const data = String(text);
        this.#down.send(data.length, () => this.onmessage?.({ data } as never));
        if (sent) this.#world.after(this.line.network.latency(), this.#server!, sent);
      },
      close: (code, reason) => {
        this.#down.send(0, () => this.#clientGone(code, reason), true);
        this.#world.after(this.line.network.latency(), this.#server!, () => this.#serverGone());
      },
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#world.after(0, this.#server!, () => this.#read());
      },
      backlogBytes: () => this.#down.bytes,
    };
  }

  /** A peer that has answered none of two heartbeats is given up; the client's machine answers pings by itself. */
  #beat(process: Process): void {
    if (!this.#serverOpen) return;
    if (this.#conversation!.paused) this.#silentBeats = 0;
    if (this.#silentBeats++ >= SILENT_BEATS_MAX) this.#serverGone();
    else
      this.#down.send(2, () => {
        if (this.readyState === 1)
          this.#up.send(2, () => {
            this.#silentBeats = 0;
          });
      });
    this.#world.after(HEARTBEAT_MS, process, () => this.#beat(process));
  }

  send(data: string): void {
    if (this.readyState !== 1) return;
    this.#up.send(data.length, () => {
      this.#silentBeats = 0;
      this.#unread.push(data);
      this.#read();
    });
  }

  #read(): void {
    while (!this.#paused && this.#serverOpen && this.#unread.length > 0)
      this.#conversation!.receive(Buffer.from(this.#unread.shift()!));
  }

  close(): void {
    if (this.readyState >= 2) return;
    this.readyState = 3;
    this.line.connections.delete(this);
    this.#up.send(0, () => this.#serverGone(), true);
  }

  sever(clientHearsMs: number, serverHearsMs: number): void {
    this.#up.open = false;
    this.#down.open = false;
    this.#world.after(clientHearsMs, this.line.process, () => this.#clientGone(1006, ''));
    if (this.#server) this.#world.after(serverHearsMs, this.#server, () => this.#serverGone());
  }

  #clientGone(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.line.connections.delete(this);
    this.onerror?.({ message: 'connection lost' } as never);
    this.onclose?.({ code, reason } as never);
  }

  #serverGone(): void {
    if (!this.#serverOpen) return;
    this.#serverOpen = false;
    this.#up.open = false;
    this.#conversation!.closed();
  }
}
