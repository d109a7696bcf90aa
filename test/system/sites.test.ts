/**
 * Sites and centre, with the configuration of src/sources/SITES.md: while the line is down the site keeps what its
 * trackers publish, and the evaluator in the centre judges all of it when the line is back.
 */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { parse } from 'yaml';
import { UNTIMED_PAIRING } from '../kit/settings.js';
import { frameText, SourceBench } from '../kit/sources.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { freePort, until } from '../kit/system/system.js';

const PAGE = readFileSync(new URL('../../../src/sources/SITES.md', import.meta.url), 'utf8');
/** The disk of a test need not be large. */
const streamOf = (kind: string) => ({ ...JSON.parse(blockOf(`json ${kind}`)), max_bytes: 100_000_000 });
const blockOf = (kind: string) => new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\``, 'm').exec(PAGE)![1];

/** The line between a site and the centre, which can be cut. */
class Line {
  #sockets = new Set<Socket>();
  #server: Server | null = null;

  constructor(
    readonly port: number,
    readonly target: number,
  ) {}

  connect(): void {
    this.#server = createServer((near) => {
      const far = connectSocket(this.target, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ]) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    }).listen(this.port, '127.0.0.1');
  }

  cut(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

describe('sites and centre', () => {
  const bench = new SourceBench();
  let site: NatsServer | undefined;
  let centre: NatsServer | undefined;
  let line: Line | undefined;
  const connections: NatsConnection[] = [];

  before(function () {
    skipUnlessNats(this);
  });
  after(async () => {
    for (const one of connections) await one.close();
    await bench.close();
    line?.cut();
    await site?.close();
    await centre?.close();
  });

  const connectionTo = async (server: NatsServer) => {
    const one = await connect({ servers: server.url });
    connections.push(one);
    return one;
  };

  it('judges in the centre what a site kept while the line was down, in order and once', async () => {
    const leafPort = await freePort();
    line = new Line(await freePort(), leafPort);
    line.connect();
    centre = new NatsServer({ text: blockOf('conf centre').replace('0.0.0.0:7422', `127.0.0.1:${leafPort}`) });
    site = new NatsServer({ text: blockOf('conf site').replace('centre.example:7422', `127.0.0.1:${line.port}`) });
    await centre.start();
    await site.start();
    const atSite = await connectionTo(site);
    const inCentre = await jetstreamManager(await connectionTo(centre));
    await (await jetstreamManager(atSite)).streams.add(streamOf('site'));
    await inCentre.streams.add(streamOf('centre'));

    const { sources } = parse(blockOf('yaml'));
    sources.nats[0].servers = [centre.url];
    await bench.start({ sources, streams: { gate: { windowFrames: 1000, pairing: UNTIMED_PAIRING } } });
    const tracker = jetstream(atSite);
    const publish = async (from: number, to: number) => {
      for (let k = from; k <= to; k++)
        for (const subject of ['gate.truths', 'gate.tracks']) await tracker.publish(subject, frameText(k));
    };
    await publish(1, 20);
    await bench.untilFrames('gate', 'camera', 20);
    line.cut();
    await publish(21, 60);
    assert.equal(await bench.frames('gate', 'camera'), 20, 'the centre hears nothing');
    line.connect();
    await publish(61, 80);
    await until('all is judged', async () => (await bench.frames('gate', 'camera')) === 80, 120_000);
    assert.equal((await inCentre.streams.info('SITES')).state.messages, 160);
    assert.equal((await bench.app.live.window('gate', 'camera', 'online-surveillance'))!.evaluation.distance, 0);
  });
});
