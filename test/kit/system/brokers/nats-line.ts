/**
 * A line to a broker that loses, while it is told to, what is published under some subjects, and passes on everything
 * else: as where brokers do not hear the leader of one stream, and hear those of all others.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';

const LINE_END = Buffer.from('\r\n');

/** Cuts a client's side of the protocol into whole messages. */
class Messages {
  #rest = Buffer.alloc(0);

  *add(bytes: Buffer): Generator<{ line: string; bytes: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const at = this.#rest.indexOf(LINE_END);
      if (at < 0) return;
      const line = this.#rest.toString('latin1', 0, at);
      const isPublished = /^H?PUB /.test(line);
      // the last number is the size of headers and payload
      const size = at + 2 + (isPublished ? Number(line.slice(line.lastIndexOf(' ') + 1)) + 2 : 0);
      if (this.#rest.length < size) return;
      yield { line, bytes: this.#rest.subarray(0, size) };
      this.#rest = this.#rest.subarray(size);
    }
  }
}

export class NatsLine {
  /** what is published under a subject that begins with this is lost */
  loses: string | null = null;
  /** messages so far */
  lost = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(readonly brokerPort: number) {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async to(url: string): Promise<NatsLine> {
    const line = new NatsLine(Number(new URL(url).port));
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #accept(client: Socket): void {
    const broker = tcpConnect(this.brokerPort, '127.0.0.1');
    const messages = new Messages();
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ]) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    broker.pipe(client);
    client.on('data', (bytes: Buffer) => {
      for (const message of messages.add(bytes))
        if (this.#isLost(message.line)) this.lost++;
        else broker.write(message.bytes);
    });
  }

  #isLost(line: string): boolean {
    return this.loses !== null && line.split(' ', 2)[1]?.startsWith(this.loses) === true && /^H?PUB /.test(line);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
