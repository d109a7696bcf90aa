/**
 * A line to a broker that loses, while it is told to, what is published or delivered under some subjects, and passes on
 * everything else: as where brokers do not hear the leader of one stream, and hear those of all others.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';

const LINE_END = Buffer.from('\r\n');
const CARRIES = /^H?(PUB|MSG) /;

/** Cuts one side of the protocol into whole messages. */
class Messages {
  #rest = Buffer.alloc(0);

  *add(bytes: Buffer): Generator<{ line: string; bytes: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const at = this.#rest.indexOf(LINE_END);
      if (at < 0) return;
      const line = this.#rest.toString('latin1', 0, at);
      // the last number is the size of headers and payload
      const size = at + 2 + (CARRIES.test(line) ? Number(line.slice(line.lastIndexOf(' ') + 1)) + 2 : 0);
      if (this.#rest.length < size) return;
      yield { line, bytes: this.#rest.subarray(0, size) };
      this.#rest = this.#rest.subarray(size);
    }
  }
}

export class NatsLine {
  /** what is published, or delivered, under a subject that begins with this is lost */
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
    for (const [from, to] of [
      [client, broker],
      [broker, client],
    ]) {
      const messages = new Messages();
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on('data', (bytes: Buffer) => {
        for (const message of messages.add(bytes))
          if (this.#isLost(message.line)) this.lost++;
          else to.write(message.bytes);
      });
    }
  }

  #isLost(line: string): boolean {
    return this.loses !== null && CARRIES.test(line) && line.split(' ', 2)[1].startsWith(this.loses);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
