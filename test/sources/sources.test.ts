/** The section `sources` of the configuration: what it accepts, what it refuses, and what its page shows. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { ConfigError, readConfig, sourceSecrets } from '../../src/config/config.js';

const page = readFileSync(new URL('../../../src/sources/README.md', import.meta.url), 'utf8');

const read = (sources: object, env: NodeJS.ProcessEnv = {}, more: object = {}) =>
  readConfig({ text: JSON.stringify({ ...more, sources }), env }).config;

/** `path: message` of every mistake. */
function mistakes(sources: object, env: NodeJS.ProcessEnv = {}, more: object = {}): string[] {
  try {
    read(sources, env, more);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map(({ path, message }) => `${path}: ${message}`);
  }
}

const feed = { topic: 't', stream: 's', tracker: 'x' };
const broker = (changes: object = {}) => ({ mqtt: [{ name: 'b', url: 'mqtt://host', feeds: [feed], ...changes }] });
const file = (changes: object = {}) => ({ tail: [{ name: 'f', path: 'p', stream: 's', tracker: 'x', ...changes }] });

describe('the configuration of sources', () => {
  it('is shown on their page by examples that are right', () => {
    const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text);
    assert.equal(blocks.length, 4);
    for (const text of blocks) {
      const { config } = readConfig({ text, env: { MQTT_PASSWORD: 'x' } });
      const { mqtt, nats, rosbridge, tail } = config.sources;
      assert.ok(mqtt.length + nats.length + rosbridge.length + tail.length > 0);
    }
  });

  it('has sensible defaults', () => {
    const { mqtt } = read(broker()).sources;
    const { qos, protocol, acknowledge } = mqtt[0];
    assert.deepEqual({ qos, protocol, acknowledge }, { qos: 1, protocol: 5, acknowledge: 'stored' });
    assert.deepEqual(mqtt[0].feeds[0], { ...feed, role: 'tracker', format: 'native', options: {}, stamp: 'none' });
  });

  it('refuses what cannot work, all of it at once', () => {
    const wrong = {
      mqtt: [
        { name: 'a', url: 'http://host', feeds: [{ ...feed, role: 'reference' }] },
        { name: 'b', url: 'mqtt://me:secret@host', feeds: [{ topic: 't', stream: 's' }] },
        { name: 'c', url: 'mqtt://host', feeds: [] },
      ],
      tail: [{ name: 'f', path: 'p', stream: 'a b', tracker: 'x' }],
    };
    const found = mistakes(wrong);
    for (const start of [
      'sources.mqtt[0].url: must look like mqtt://host:port',
      'sources.mqtt[0].feeds[0].tracker: must be left out',
      'sources.mqtt[1].url: must not hold a user or password',
      'sources.mqtt[1].feeds[0].tracker: is required',
      'sources.mqtt[2].feeds:',
      'sources.tail[0].stream:',
    ])
      assert.ok(
        found.some((one) => one.startsWith(start)),
        `${start} is not among ${found.join('\n')}`,
      );
    assert.ok(!found.join().includes('secret'), 'a password in an address is not shown');
  });

  it('checks formats and their options', () => {
    assert.match(
      mistakes(file({ format: 'nope' }))[0],
      /^sources\.tail\[0\]\.format: there is no format nope; known formats are/,
    );
    assert.match(
      mistakes(file({ format: 'motchallenge', options: { scale: 2 } }))[0],
      /^sources\.tail\[0\]\.options\.scale/,
    );
    assert.match(mistakes(file({ options: { frameOffset: 1 } }))[0], /^sources\.tail\[0\]\.options: need a name/);
    const formats = { mine: { adapter: 'native', options: { frameOffset: 1 } } };
    assert.deepEqual(mistakes(file({ format: 'mine' }), {}, { formats }), []);
    assert.match(mistakes(file({ format: 'motchallenge', stamp: 'arrival' }))[0], /stamp: must be none/);
  });

  it('refuses two sources of one name', () => {
    assert.match(mistakes({ ...broker({ name: 'f' }), ...file() })[0], /is already used by another source/);
  });

  it('takes passwords from the environment or a file, and says when they are not there', () => {
    assert.match(
      mistakes(broker({ passwordEnv: 'NOT_SET' }))[0],
      /passwordEnv: environment variable NOT_SET is not set/,
    );
    assert.match(mistakes(broker({ passwordFile: 'no/such/file' }))[0], /passwordFile: ENOENT/);
    assert.match(mistakes(broker({ passwordEnv: 'A', passwordFile: 'B' }), { A: 'x' })[0], /not both/);
    const config = read(broker({ passwordEnv: 'A' }), { A: 'hush' });
    assert.deepEqual(sourceSecrets(config, { A: 'hush' }), ['hush']);
    assert.ok(!JSON.stringify(config).includes('hush'));
  });
});
