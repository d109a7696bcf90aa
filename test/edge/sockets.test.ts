/** Who may connect, who is cut off, and the port itself. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as requestTls } from 'node:https';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';
import { codeOf, frame, hello, openFeed, Probe, type RunningEdge, raw, startEdge, untilTurn } from '../kit/edge.js';

describe('sockets', () => {
  let edge: RunningEdge;

  afterEach(async () => {
    await edge?.stop();
  });

  it('closes with 1009 above limits.payloadBytes and with 1008 above limits.fragments', async () => {
    edge = await startEdge('limits: { payloadBytes: 2000, fragments: 4 }');
    const { probe } = await openFeed(edge);
    probe.send(' '.repeat(3000));
    assert.equal((await probe.closed).code, 1009);
    const { probe: other } = await openFeed(edge);
    for (let n = 0; n < 6; n++) other.socket.send('[', { fin: false });
    assert.equal((await other.closed).code, 1008);
  });

  it('cuts off a peer that answers no ping, and only that one', async () => {
    edge = await startEdge('limits: { heartbeatMs: 20 }');
    const { probe } = await openFeed(edge);
    const mute = new WebSocket(`${edge.ws}/v1/ingest`, ['tgospa.v1'], { autoPong: false });
    await once(mute, 'open');
    mute.send(JSON.stringify(hello({ tracker: 'mute' })));
    const [code] = await once(mute, 'close');
    assert.equal(code, 1006);
    probe.send(frame(1));
    assert.equal((await probe.nextOf('ack')).seq, 1);
  });

  it('cuts off who does not answer its goodbye within limits.stopMs', async () => {
    edge = await startEdge('limits: { stopMs: 50 }');
    const { probe } = await openFeed(edge);
    const deaf = await Probe.open(`${edge.ws}/v1/live`);
    deaf.socket.pause();
    await edge.stop();
    assert.equal((await probe.closed).code, 1001);
    await untilTurn(() => edge.sockets.counts().live === 0);
    deaf.socket.terminate();
  });

  it('limits connections altogether and by address', async () => {
    edge = await startEdge('limits: { connections: 2 }');
    const [first] = await Promise.all([Probe.open(`${edge.ws}/v1/live`), Probe.open(`${edge.ws}/v1/live`)]);
    assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v1/live`)), [503, 'connections_exceeded']);
    await first.close();
    await untilTurn(() => edge.sockets.counts().live === 1);
    await Probe.open(`${edge.ws}/v1/live`);
    await edge.stop();
    edge = await startEdge('limits: { connectionsPerAddress: 1 }');
    await Probe.open(`${edge.ws}/v1/live`);
    assert.deepEqual(await codeOf(Probe.refused(`${edge.ws}/v1/live`)), [429, 'address_exceeded']);
  });

  it('serves wss and https with a certificate', async () => {
    const [certFile, keyFile] = ['pem', 'key'].map((end) =>
      fileURLToPath(new URL(`../../../test/cases/tls/test-only.${end}`, import.meta.url)),
    );
    edge = await startEdge(`tls: { certFile: ${certFile}, keyFile: ${keyFile} }`);
    assert.match(edge.url, /^https:/);
    const socket = new WebSocket(`${edge.ws}/v1/ingest`, ['tgospa.v1'], { ca: readFileSync(certFile) });
    await once(socket, 'open');
    socket.send(JSON.stringify(hello()));
    const [data] = await once(socket, 'message');
    assert.equal(JSON.parse(String(data)).type, 'welcome');
    socket.terminate();
    const shown = await new Promise<{ config: { tls: object } }>((resolve, reject) => {
      requestTls(`${edge.url}/v1/config`, { ca: readFileSync(certFile), agent: false }, async (response) =>
        resolve(JSON.parse(String(Buffer.concat(await response.toArray())))),
      )
        .on('error', reject)
        .end();
    });
    assert.deepEqual(Object.keys(shown.config.tls), ['certFile']);
  });

  it('survives an upgrade to no address at all', async () => {
    edge = await startEdge();
    const { port } = new URL(edge.url);
    assert.match(
      await raw(
        Number(port),
        'GET // HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      ),
      /^HTTP\/1.1 404/,
    );
  });
});
