/** Starts the edge on a free loopback port and talks to it as a peer would; waits for events, never for time. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect as connectTcp } from 'node:net';
import WebSocket from 'ws';
import { type Config, readConfig } from '../../src/config/config.js';
import { Core } from '../../src/edge/core.js';
import { EdgeServer } from '../../src/edge/edge.js';
import type { FeedDesk } from '../../src/edge/feeds/feed-desk.js';
import { Access } from '../../src/edge/peers/access.js';
import { Sockets } from '../../src/edge/sockets.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { Meters } from '../../src/telemetry/meters.js';
import { FakeLive } from './fake-live.js';

/** The page as `npm run build` makes it. */
export const PAGE = new URL('../../page/', import.meta.url);

export interface RunningEdge {
  url: string;
  ws: string;
  live: FakeLive;
  desk: FeedDesk;
  sockets: Sockets;
  meters: Meters;
  logLines: string[];
  stop(): Promise<void>;
}

export function configOf(text: string, env: NodeJS.ProcessEnv = {}): Config {
  return readConfig({ text, overrides: { listen: { port: 0 } }, env }).config;
}

export async function startEdge(
  text = '',
  { live = new FakeLive(), env = {} as NodeJS.ProcessEnv } = {},
): Promise<RunningEdge> {
  const config = configOf(text, env);
  live.config = config;
  const meters = new Meters(config.limits.series);
  const access = new Access(config, env);
  const logLines: string[] = [];
  const logger = createLogger({ level: 'debug', write: (line) => logLines.push(line) });
  const sockets = new Sockets({ config, access, meters, logger });
  const build = { version: '1.2.3', node: 'v20' };
  const core = new Core({ config, live, meters, logger });
  const parts = { config, live: core, sockets, access, meters, logger, build, notifications: () => [] };
  const edge = new EdgeServer({ ...parts, pageFolder: PAGE, processMetrics: false });
  const url = await edge.listen();
  const stop = async () => {
    await edge.quiesce();
    await sockets.close();
  };
  return { url, ws: url.replace(/^http/, 'ws'), live, desk: core.desk, sockets, meters, logLines, stop };
}

type Message = Record<string, unknown> & { type: string };

/** A peer without any cleverness: sends what it is told, keeps what it gets. */
export class Probe {
  readonly socket: WebSocket;
  readonly received: Message[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #waiting: Array<(message: Message | null) => void> = [];
  #read = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      this.received.push(JSON.parse(String(data)));
      this.#waiting.shift()?.(this.received[this.#read++]);
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: String(reason) });
        for (const wait of this.#waiting.splice(0)) wait(null);
      });
    });
    socket.on('error', () => {});
  }

  static async open(
    url: string,
    { protocols = ['tgospa.v1'], headers = {} as Record<string, string> } = {},
  ): Promise<Probe> {
    const probe = new Probe(new WebSocket(url, protocols, { headers, perMessageDeflate: false }));
    await once(probe.socket, 'open');
    return probe;
  }

  /** Status and body of an upgrade that is refused. */
  static refused(
    url: string,
    { protocols = ['tgospa.v1'], headers = {} as Record<string, string> } = {},
  ): Promise<{ status: number; body: { code: string; message: string } }> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, protocols, { headers });
      socket.on('open', () => reject(new Error('the upgrade was not refused')));
      socket.on('error', () => {});
      socket.on('unexpected-response', (_, response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
      });
    });
  }

  send(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** The next message not read yet; throws when the connection closes first. */
  async next(): Promise<Message> {
    if (this.#read < this.received.length) return this.received[this.#read++];
    const message = await new Promise<Message | null>((resolve) => this.#waiting.push(resolve));
    if (message === null) throw new Error(`closed while waiting for a message: ${JSON.stringify(await this.closed)}`);
    return message;
  }

  /** Reads on until a message of this type. */
  async nextOf(type: string): Promise<Message> {
    for (;;) {
      const message = await this.next();
      if (message.type === type) return message;
    }
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

export const hello = (changes: object = {}) => ({
  type: 'hello',
  stream: 'gate-7',
  role: 'tracker',
  tracker: 'sort',
  format: 'native',
  ...changes,
});

/** A feed that was welcomed. */
export async function openFeed({ ws }: Pick<RunningEdge, 'ws'>, changes: object = {}) {
  const probe = await Probe.open(`${ws}/v1/ingest`);
  probe.send(hello(changes));
  return { probe, welcome: await probe.nextOf('welcome') };
}

export const frame = (seq: number, changes: object = {}) => ({
  type: 'frame',
  seq,
  k: seq,
  objects: [{ id: '7', box: [10, 20, 30, 40] }],
  ...changes,
});

/** GET with a name of the caller's choice in the Host header, which fetch does not allow. */
export function get(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', reject).end();
  });
}

/** What a raw request is answered, for requests that no client would send. */
export function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connectTcp(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}

/** Waits for a condition that no event announces, turn by turn of the event loop. */
export async function untilTurn(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Status and code of a refusal. */
export const codeOf = async (answer: Promise<{ status: number; body: { code: string } }>) => {
  const { status, body } = await answer;
  return [status, body.code];
};
