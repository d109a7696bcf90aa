/**
 * A rosbridge v2 server for tests, true to its protocol as far as subscribers see it: subscribe with id, type,
 * throttle_rate, queue_length and compression, unsubscribe, publish, status. Messages published while nobody subscribes
 * are gone.
 */
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type WebSocket from 'ws';
import { WebSocketServer } from 'ws';

interface Subscription {
  op: string;
  id?: string;
  topic: string;
  type?: string;
  throttle_rate?: number;
  queue_length?: number;
  compression?: string;
  fragment_size?: number;
}

export class RosbridgeServer {
  readonly subscriptions: Subscription[] = [];
  #http = createHttp();
  #server = new WebSocketServer({ server: this.#http });
  #readers = new Map<WebSocket, Set<string>>();
  #types: ReadonlyMap<string, string>;

  /** `types`: what each topic is advertised as. */
  constructor(types: Record<string, string>) {
    this.#types = new Map(Object.entries(types));
    this.#server.on('connection', (socket) => {
      this.#readers.set(socket, new Set());
      socket.on('message', (data) => this.#received(socket, JSON.parse(String(data))));
      socket.on('close', () => this.#readers.delete(socket));
      socket.on('error', () => {});
    });
  }

  async listen(port = 0): Promise<string> {
    this.#http.listen(port, '127.0.0.1');
    await once(this.#http, 'listening');
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  #received(socket: WebSocket, message: Subscription): void {
    if (message.op === 'subscribe') {
      const advertised = this.#types.get(message.topic);
      if (advertised !== undefined && message.type !== undefined && message.type !== advertised) {
        const msg = `subscribe: Tried to subscribe to topic ${message.topic} with type ${message.type}, but it has ${advertised}`;
        socket.send(JSON.stringify({ op: 'status', level: 'error', msg, id: message.id }));
        return;
      }
      this.subscriptions.push(message);
      this.#readers.get(socket)!.add(message.topic);
    } else if (message.op === 'unsubscribe') this.#readers.get(socket)!.delete(message.topic);
    else socket.send(JSON.stringify({ op: 'status', level: 'error', msg: `Unknown operation: ${message.op}` }));
  }

  /** Connections that listen to a topic. */
  readers(topic: string): number {
    return [...this.#readers.values()].filter((topics) => topics.has(topic)).length;
  }

  publish(topic: string, msg: unknown): void {
    this.send(JSON.stringify({ op: 'publish', topic, msg }), topic);
  }

  /** Sends anything at all to the subscribers of a topic. */
  send(data: string | Buffer, topic: string): void {
    for (const [socket, topics] of this.#readers) if (topics.has(topic)) socket.send(data);
  }

  cut(): void {
    for (const socket of this.#readers.keys()) socket.terminate();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

/** Accepts connections and never says a word. */
export async function muteServer(): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
