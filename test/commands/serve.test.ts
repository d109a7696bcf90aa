/** The real command in a process of its own. */
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { frame, hello, Probe } from '../kit/edge.js';
import { MAIN, Program } from '../kit/system/program.js';
import { skipInFastRun } from '../kit/system/system.js';

const ENV = { PATH: process.env.PATH };

describe('serve', () => {
  let folder: string;
  let server: Program | undefined;

  before(function () {
    skipInFastRun(this);
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-serve-'));
  });
  afterEach(async () => {
    await server?.end('SIGKILL');
    server = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts the server; resolves with its address once it listens. */
  async function start(args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<string> {
    server = Program.tgospa(['serve', '--port', '0', '--data', join(folder, 'data'), ...args], { cwd: folder, env });
    const [, address] = await server.shows(/listening on http:\/\/(\S+)/);
    return `ws://${address}`;
  }

  const once_ = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    spawnSync(process.execPath, [MAIN, 'serve', ...args], { cwd: folder, env: { ...ENV, ...env }, encoding: 'utf8' });

  it('stops on SIGTERM: acks, closes with 1001, exits with 0 within seconds, and continues after a start', async () => {
    const started = performance.now();
    const url = await start();
    const startMs = performance.now() - started;
    const probe = await Probe.open(`${url}/v1/ingest`);
    probe.send(hello());
    await probe.nextOf('welcome');
    const reader = await Probe.open(`${url}/v1/live`);
    for (let seq = 1; seq <= 20; seq++) probe.send(frame(seq));
    while ((await probe.nextOf('ack')).seq !== 20);
    const began = performance.now();
    assert.equal(await server!.end('SIGTERM'), 0, server!.output);
    // on a machine where a start takes seconds, as many times longer
    const stopMs = performance.now() - began;
    assert.ok(stopMs < Math.max(4000, 4 * startMs), `${stopMs} ms, after a start of ${startMs} ms`);
    assert.equal((await probe.closed).code, 1001);
    assert.equal((await reader.closed).code, 1001);
    const again = await Probe.open(`${await start()}/v1/ingest`);
    again.send(hello());
    assert.equal((await again.nextOf('welcome')).nextSeq, 21);
    again.socket.terminate();
  });

  it('has both engines at hand: audited windows agree', async () => {
    writeFileSync(join(folder, 'tgospa.yaml'), 'evaluation: { auditEvery: 1 }\n');
    const url = await start();
    const feeds = [await Probe.open(`${url}/v1/ingest`), await Probe.open(`${url}/v1/ingest`)];
    feeds[0].send(hello());
    feeds[1].send(hello({ role: 'reference', tracker: undefined }));
    for (const feed of feeds) await feed.nextOf('welcome');
    // two objects that are contested by two tracks, so that there is something to solve
    const objects = (shift: number) => [0, 1].map((n) => ({ id: `${n}`, box: [n * 8 + shift, 0, 40, 40] }));
    for (let seq = 1; seq <= 10; seq++) {
      feeds[0].send(frame(seq, { objects: objects((seq * 3) % 7) }));
      feeds[1].send(frame(seq, { objects: objects(0) }));
    }
    const metric = async (name: string) => {
      const text = await (await fetch(`${url.replace('ws', 'http')}/metrics`)).text();
      return text
        .split('\n')
        .find((line) => line.startsWith(`${name}{`))
        ?.split(' ')[1];
    };
    while ((await metric('tgospa_audits_total')) !== '10');
    assert.equal(await metric('tgospa_audit_disagreements_total'), '0');
    for (const feed of feeds) feed.socket.terminate();
  });

  it('writes structured log lines without any token', async () => {
    writeFileSync(join(folder, 'tgospa.yaml'), 'tokens: [{ name: all, env: SECRET }]\nlogging: { level: debug }\n');
    const SECRET = 'very-secret-0123456789';
    const url = await start([], { SECRET });
    await Probe.refused(`${url}/v1/ingest`, { protocols: ['tgospa.v1', 'bearer.wrong-0123456789abc'] });
    const probe = await Probe.open(`${url}/v1/ingest`, { protocols: ['tgospa.v1', `bearer.${SECRET}`] });
    probe.send(hello());
    await probe.nextOf('welcome');
    await server!.end('SIGTERM');
    const { output } = server!;
    assert.ok(!output.includes(SECRET) && !output.includes('wrong-0123456789abc'), output);
    const lines = output
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    for (const event of ['listening', 'upgrade_refused', 'feed_opened', 'stopping', 'stopped'])
      assert.ok(
        lines.some((line) => line.event === event),
        event,
      );
  });

  it('reports every mistake of its configuration with exit code 1, before it opens a port', () => {
    writeFileSync(join(folder, 'bad.yaml'), 'listen: { host: 0.0.0.0 }\nlimits: { objects: none }\n');
    const result = once_(['--config', 'bad.yaml', '--port', 'x']);
    assert.equal(result.status, 1);
    for (const text of [
      'bad.yaml:1:11 listen.host: is reachable by others',
      'bad.yaml:2:11 limits.objects',
      'command line listen.port',
    ])
      assert.ok(result.stderr.includes(text), result.stderr);
  });

  it('checks a configuration, prints an example and its help, and refuses unknown options', () => {
    writeFileSync(
      join(folder, 'short.yaml'),
      'streams: { defaults: { profiles: [offline-scene-understanding], windowFrames: 20 } }\n',
    );
    const checked = once_(['--check', '--config', 'short.yaml']);
    assert.equal(checked.status, 0);
    assert.match(checked.stdout, /short.yaml is in order/);
    assert.match(checked.stderr, /warning: short.yaml:1:\d+ streams.defaults.windowFrames: .*never shows a switch/);
    const example = once_(['--example-config']);
    writeFileSync(join(folder, 'example.yaml'), example.stdout);
    assert.equal(once_(['--check', '--config', 'example.yaml']).status, 0);
    assert.match(once_(['--help']).stdout, /--port PORT/);
    const wrong = once_(['--prot', '1', '--check=yes', 'here']);
    assert.equal(wrong.status, 2);
    assert.deepEqual(wrong.stderr.split('\n').slice(0, 3), [
      'tgospa serve: unknown option --prot; did you mean --port?',
      'tgospa serve: --check takes no value, got "yes"',
      'tgospa serve: "here" is not an option; tgospa serve --help lists them all',
    ]);
  });
});
