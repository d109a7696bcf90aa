import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  beyondCeiling,
  ConfigError,
  completeSettings,
  describeProblem,
  exampleYaml,
  helloReader,
  isLoopback,
  jsonSchema,
  pointProfileLines,
  readConfig,
  readConfigFile,
  resolveStream,
  type SettingsPatch,
  streamSettings,
  tokenSecrets,
} from '../../src/config/config.js';
import { presets } from '../../src/metric/params.js';

const SCHEMA_FILE = new URL('../../../src/config/tgospa.schema.json', import.meta.url);
const EXAMPLE_FILE = new URL('../../../src/config/tgospa.example.yaml', import.meta.url);

const read = (text: string, env: NodeJS.ProcessEnv = {}) => readConfig({ text, env, source: 'tgospa.yaml' });

/** `line path` of every mistake. */
function mistakes(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  try {
    read(text, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map((problem) => `${problem.line ?? '-'} ${problem.path}`);
  }
}

/** A committed file that is generated; TGOSPA_UPDATE_GOLDEN=1 writes it anew. */
function assertFresh(file: URL, text: string): void {
  if (process.env.TGOSPA_UPDATE_GOLDEN === '1') writeFileSync(file, text);
  const remedy = 'TGOSPA_UPDATE_GOLDEN=1 npm test -- config writes it anew; read the diff';
  assert.equal(readFileSync(file, 'utf8'), text, `${file.pathname} is out of date: ${remedy}`);
}

describe('config', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-config-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is sensible without a file', () => {
    const { config, warnings } = read('');
    assert.deepEqual(config.listen, { host: '127.0.0.1', port: 9477, insecure: false, names: null });
    assert.deepEqual(config.streams.defaults.profiles, ['online-surveillance']);
    assert.equal(config.streams.defaults.windowFrames, 60);
    assert.deepEqual(warnings, []);
    assert.deepEqual(read('limits:\ntls:\n').config, config, 'an empty section is no mistake');
  });

  it('completes settings of an older version with today’s defaults', () => {
    const { reports: _reports, coverage: _coverage, classes: _classes, ...today } = read('').config.streams.defaults;
    const { heldTrackers: _, ...older } = { ...today.pairing, latenessMs: 7 };
    const expected = { ...read('').config.streams.defaults, pairing: { ...older, heldTrackers: [] } };
    const { reference: _reference, tracker: _tracker, ...filter } = today.filter;
    assert.deepEqual(completeSettings({ ...today, filter, pairing: older }), expected);
  });

  it('reports all mistakes together, with their lines', () => {
    const text = `listen:
  prot: 12
limits:
  objects: 0
  payloadBytes: big
profiles:
  mine: { distance: euclidean, cutoff: 2, admissibleError: 0.5, longSwitchFrames: 3 }
  yours: { cutoff: 0.5 }
streams:
  defaults:
    profiles: [nope]
  gate-7:
    pairing: { by: luck }
    windowFrames: 20.5
  "a b": {}
tokens:
  - { name: a, env: NOT_SET }
  - { name: b }
tls:
  certFile: /nonexistent
bogus: 1
`;
    assert.deepEqual(mistakes(text), [
      '2 listen.prot',
      '4 limits.objects',
      '5 limits.payloadBytes',
      '7 profiles.mine.admissibleError',
      '8 profiles.yours.exponent',
      '8 profiles.yours.switchPenalty',
      '11 streams.defaults.profiles[0]',
      '13 streams.gate-7.pairing.by',
      '14 streams.gate-7.windowFrames',
      '15 streams.a b',
      '17 tokens[0].env',
      '18 tokens[1].file',
      '19 tls.keyFile',
      '20 tls.certFile',
      '21 bogus',
    ]);
  });

  it('says what came, what the key means and its default', () => {
    assert.throws(() => read('limits:\n  objects: 0'), {
      message:
        '1 mistake in the configuration\n  tgospa.yaml:2:3 limits.objects: Too small: expected number to be >=1 (got 0); objects is: objects in one frame; a frame with more is rejected, default 2000 objects',
    });
    assert.throws(
      () => read('limit: {}'),
      /tgospa.yaml:1:1 limit: is not a known key; known keys here: listen, tls, origins,/,
    );
  });

  it('reports broken YAML and repeated keys with their lines', () => {
    assert.deepEqual(mistakes('listen:\n  port: 1\n  port: 2\n'), ['3 yaml']);
    assert.deepEqual(mistakes('a: [1,\nb: 2\n'), ['2 yaml']);
    assert.deepEqual(mistakes('- 1'), ['- configuration']);
    assert.throws(() => readConfigFile(join(folder, 'absent.yaml')), /cannot be read: ENOENT/);
  });

  it('lets the command line override the file', () => {
    const { config } = readConfig({
      text: 'listen: { port: 1, host: ::1 }',
      overrides: { listen: { port: 2 }, data: { dir: '/d' } },
      env: {},
    });
    assert.deepEqual([config.listen.port, config.listen.host, config.data.dir], [2, '::1', '/d']);
  });

  it('refuses to listen beyond loopback without tokens, unless told that this is wanted', () => {
    assert.deepEqual(mistakes('listen: { host: 0.0.0.0 }'), ['1 listen.host']);
    assert.deepEqual(
      mistakes('listen: { host: 0.0.0.0 }\nlimits: { objects: 0 }'),
      ['1 listen.host', '2 limits.objects'],
      'also among other mistakes',
    );
    assert.deepEqual(mistakes('listen: { host: 0.0.0.0, insecure: true }'), []);
    assert.deepEqual(mistakes('listen: { host: 0.0.0.0 }\ntokens: [{ name: a, env: A }]', { A: 'a'.repeat(20) }), []);
    assert.deepEqual(mistakes('listen: { host: 0.0.0.0 }', { TGOSPA_TOKEN: 'a'.repeat(20) }), []);
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) assert.ok(isLoopback(host), host);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.evil.example'])
      assert.ok(!isLoopback(host), host);
  });

  it('reads tokens from the environment and from files, and never shows them', () => {
    const secret = 'correct-horse-battery';
    writeFileSync(join(folder, 'token'), `${secret}\nsecond line\n`);
    const text = `tokens: [{ name: file, file: ${join(folder, 'token')}, roles: [read] }, { name: env, env: TOKEN, streams: [gate-*] }]`;
    const { config } = read(text, { TOKEN: 'from-the-environment' });
    assert.deepEqual(tokenSecrets(config, { TOKEN: 'from-the-environment' }), [
      { name: 'file', roles: ['read'], streams: ['*'], secret },
      { name: 'env', roles: ['ingest', 'read'], streams: ['gate-*'], secret: 'from-the-environment' },
    ]);
    assert.ok(!JSON.stringify(config).includes(secret));
    assert.throws(
      () => read(text, { TOKEN: 'tooshort!' }),
      (error: Error) =>
        /holds 9 characters that do not form a valid token/.test(error.message) && !error.message.includes('tooshort'),
    );
  });

  it('checks files of TLS', () => {
    assert.deepEqual(mistakes(`tls: { certFile: ${join(folder, 'no.pem')}, keyFile: ${join(folder, 'no.key')} }`), [
      '1 tls.certFile',
      '1 tls.keyFile',
    ]);
  });

  it('merges defaults, a stream and a hello, key by key', () => {
    const { config } = read(
      'streams: { defaults: { windowFrames: 30, pairing: { toleranceMs: 5 } }, gate-7: { pairing: { by: time } } }',
    );
    const settings = streamSettings(config, 'gate-7', { pairing: { latenessMs: 7 }, settleFrames: 3 });
    assert.deepEqual([settings.windowFrames, settings.settleFrames], [30, 3]);
    const { by, toleranceMs, latenessMs, silenceMs } = settings.pairing;
    assert.deepEqual([by, toleranceMs, latenessMs, silenceMs], ['time', 5, 7, 5000]);
    assert.equal(
      streamSettings(config, 'constructor').windowFrames,
      30,
      'a name of Object.prototype is a stream like any other',
    );
    assert.equal(streamSettings(config, 'defaults').windowFrames, 30);
  });

  it('resolves profiles to parameters, own ones before presets', () => {
    const { config } = read(`profiles:
  online-surveillance: { cutoff: 0.4, exponent: 1, switchPenalty: 0 }
  metres: { distance: geodesic, cutoff: 100, exponent: 2, switchPenalty: 0, forgetting: 0.9 }
streams: { ships: { profiles: [metres] }, training: { profiles: [detector-training] } }`);
    const resolve = (stream: string) => {
      const resolved = resolveStream(config, stream);
      assert.ok('profiles' in resolved);
      return resolved;
    };
    assert.equal(resolve('any').profiles['online-surveillance'].cutoff, 0.4);
    assert.deepEqual(resolve('training').profiles, { 'detector-training': presets['detector-training'] });
    assert.deepEqual(resolve('ships').profiles.metres, {
      distance: 'geodesic',
      cutoff: 100,
      exponent: 2,
      switchPenalty: 0,
      weights: { forgetting: 0.9 },
    });
    assert.deepEqual([resolve('any').shape, resolve('ships').shape], ['box', 'point']);
  });

  it('refuses settings that contradict each other', () => {
    const profiles = 'profiles: { points: { distance: euclidean, cutoff: 2, exponent: 1, switchPenalty: 0 } }\n';
    assert.deepEqual(mistakes(`${profiles}streams: { a: { profiles: [points, detector-training] } }`), [
      '2 streams.a.profiles',
    ]);
    assert.deepEqual(mistakes('streams: { a: { profiles: [detector-training, detector-training] } }'), [
      '1 streams.a.profiles',
    ]);
    assert.deepEqual(mistakes('streams: { a: { windowFrames: 10, settleFrames: 11 } }'), ['1 streams.a.settleFrames']);
    assert.deepEqual(mistakes('streams: { a: { pairing: { reference: hold, heldTrackers: ["*"] } } }'), [
      '1 streams.a.pairing',
    ]);
    assert.deepEqual(mistakes('streams: { a: { pairing: { heldTrackers: ["a b"] } } }'), [
      '1 streams.a.pairing.heldTrackers[0]',
    ]);
    assert.deepEqual(
      mistakes('limits: { objects: 0 }\nstreams: { a: { windowFrames: 10, settleFrames: 11 }, b: { x: 1 } }'),
      ['1 limits.objects', '2 streams.b.x', '2 streams.a.settleFrames'],
    );
  });

  it('knows one broker of a cluster or several, and keeps one copy, three or five', () => {
    const servers = (...names: string[]) => names.map((name) => `nats://${name}:4222`).join(', ');
    assert.equal(read(`cluster: { servers: [${servers('a')}] }`).config.cluster!.replicas, 1);
    const three = read(`cluster: { servers: [${servers('a', 'b', 'c')}], replicas: 3 }`).config.cluster!;
    assert.deepEqual([three.servers.length, three.replicas], [3, 3]);
    // two copies are safe against nothing: without either of them nothing is stored
    assert.throws(() => read(`cluster: { servers: [${servers('a', 'b')}], replicas: 2 }`), /replicas/);
  });

  it('warns when a window is too short ever to show a long switch', () => {
    const warnings = (windowFrames: number) =>
      read(`streams:\n  a: { profiles: [offline-scene-understanding], windowFrames: ${windowFrames} }`).warnings.map(
        (problem) => describeProblem(problem, 'f'),
      );
    assert.equal(warnings(21).length, 1);
    assert.match(
      warnings(21)[0],
      /^f:2:\d+ streams\.a\.windowFrames: profile offline-scene-understanding: a window of 21 frames never shows a switch/,
    );
    assert.deepEqual(warnings(22), []);
    const custom =
      'profiles: { slow: { cutoff: 0.5, admissibleError: 0.34, longSwitchFrames: 40 } }\nstreams: { defaults: { profiles: [slow] } }';
    assert.equal(read(custom).warnings.length, 1);
  });

  it('offers lines for streams of points that are themselves right', () => {
    const resolved = resolveStream(read(pointProfileLines('gate-7')).config, 'gate-7');
    assert.ok('shape' in resolved && resolved.shape === 'point');
  });

  it('has an up-to-date JSON schema for editors, in which every key is described', () => {
    assertFresh(SCHEMA_FILE, `${JSON.stringify(jsonSchema(), null, 2)}\n`);
    const undescribed: string[] = [];
    const walk = (schema: ReturnType<typeof jsonSchema>, path: string) => {
      for (const [key, inner] of Object.entries(schema.properties ?? {})) {
        if (!inner.description) undescribed.push(`${path}${key}`);
        walk(inner, `${path}${key}.`);
      }
      for (const inner of [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])])
        if (typeof inner === 'object') walk(inner, `${path}*.`);
    };
    walk(jsonSchema(), '');
    assert.deepEqual(undescribed, []);
  });

  it('has an up-to-date example file that holds exactly the defaults', () => {
    assertFresh(EXAMPLE_FILE, exampleYaml());
    assert.deepEqual(read(exampleYaml()).config, read('').config);
    const schema = JSON.stringify(jsonSchema());
    for (const [, key] of schema.matchAll(/"([A-Za-z]+)":\{"(?:default|type|description|anyOf)"/g))
      if (!['items', 'additionalProperties', 'propertyNames'].includes(key))
        assert.match(exampleYaml(), new RegExp(`\\b${key}:`), key);
  });

  it('names the first setting of a hello that goes beyond limits.hello, unless the file itself goes there', () => {
    const { config } = read('streams: { long: { windowFrames: 9000 } }');
    const beyond = (patch: SettingsPatch, stream = 's') => beyondCeiling(config, stream, patch)?.path;
    assert.equal(beyond({ windowFrames: 100_000 }), 'windowFrames');
    assert.equal(beyond({ pairing: { bufferFrames: 1e9 } }), 'pairing.bufferFrames');
    assert.equal(beyond({ idleMinutes: 1e9 }), 'idleMinutes');
    assert.equal(beyond({ profiles: Array(9).fill('online-surveillance') }), 'profiles');
    assert.equal(beyond({ windowFrames: 3000, idleMinutes: 1440, pairing: { bufferFrames: 8192 } }), undefined);
    assert.equal(beyond({ windowFrames: 9000 }, 'long'), undefined);
    assert.equal(beyond({ windowFrames: 9001 }, 'long'), 'windowFrames');
    const { message } = beyondCeiling(config, 's', { windowFrames: 100_000 })!;
    assert.match(message, /asks for 100000, but limits\.hello\.windowFrames allows only 3000; ask for less, or raise/);
  });

  it('names the fields there are where a hello has another', () => {
    const complaint = (fields: object) => {
      const result = helloReader(read('').config)({ type: 'hello', stream: 's', role: 'reference', ...fields });
      return 'message' in result ? `${result.path}: ${result.message}` : '';
    };
    assert.match(
      complaint({ settings: { windowFrams: 3 } }),
      /^settings\.windowFrams: no such field; there are .*\bwindowFrames,/,
    );
    assert.match(
      complaint({ settings: { pairing: { late: 3 } } }),
      /^settings\.pairing\.late: .* there are .*\blatenessMs\b/,
    );
    assert.match(complaint({ colour: 'red' }), /^colour: no such field; there are type, stream, role, tracker, feed, /);
    assert.match(
      complaint({ resume: { session: 'x', sequence: 3 } }),
      /^resume\.sequence: .*; there are session, seq$/,
    );
  });

  it('says where a mistake was made: in the file, or on the command line over it', () => {
    const text = 'listen: { host: localhost }\n';
    assert.throws(
      () => readConfig({ text, source: 'a.yaml', overrides: { listen: { port: 'x' } }, env: {} }),
      /\n {2}command line listen\.port: .*got "x"/,
    );
    assert.throws(
      () => readConfig({ text: 'listen: { port: x }\n', source: 'a.yaml', env: {} }),
      /\n {2}a\.yaml:1:11 listen\.port: /,
    );
  });
});
