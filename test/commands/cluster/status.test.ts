/** `tgospa cluster status`: what it prints, and its exit code, with a real broker and processes that come and go. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Layout } from '../../../src/cluster/layout.js';
import { connectNats } from '../../../src/cluster/nats/connection.js';
import { runCluster } from '../../../src/commands/cluster/cluster.js';
import { isWell, statusText } from '../../../src/commands/cluster/status.js';
import { readConfig } from '../../../src/config/config.js';
import { NatsServer, skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { SYSTEM_TIMEOUT_MS, until } from '../../kit/system/system.js';

async function run(...args: string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const write = (chunk: string) => (text += chunk);
  const code = await runCluster(['status', ...args], { out: { write }, err: { write } } as never);
  return { code, text };
}

describe('tgospa cluster status', function () {
  this.timeout(SYSTEM_TIMEOUT_MS);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-status-'));
  });
  after(() => rmSync(folder, { recursive: true }));
  const file = (text: string) => {
    const path = join(folder, 'tgospa.yaml');
    writeFileSync(path, text);
    return path;
  };

  it('has tables that align, of processes and of the partitions in trouble', () => {
    const roles = ['gateway', 'evaluator'];
    const processes = [
      { id: 'long-name-of-a-process', lives: true, roles, url: 'http://a:9477' },
      { id: 'b', lives: false, roles: ['notifier'], url: '' },
    ];
    const partitions = [
      { partition: 0, owner: 'long-name-of-a-process', lives: true, behind: 3 },
      { partition: 1, owner: 'b', lives: false, behind: 70 },
      { partition: 2, owner: null, lives: false, behind: 1200 },
    ];
    assert.deepEqual(statusText({ processes, partitions }, false).split('\n'), [
      '1 of 3 partitions are served by 1 process.',
      '',
      'process                 state   roles              partitions  page',
      'long-name-of-a-process  lives   gateway evaluator           1  http://a:9477',
      'b                       silent  notifier                    1',
      '',
      'partition  batches behind  owner',
      '        1              70  b (silent)',
      '        2            1200  nobody',
      '',
    ]);
    assert.match(statusText({ processes, partitions }, true), /^ +0 +3 {2}long-name-of-a-process$/m);
    assert.equal(isWell({ processes, partitions }), false);
    assert.equal(isWell({ processes, partitions: partitions.slice(0, 1) }), true);
  });

  it('says what is missing when there is nothing to ask', async () => {
    const absent = await run('--config', join(folder, 'none.yaml'));
    assert.equal(absent.code, 1);
    assert.match(absent.text, /none.yaml does not exist; name the configuration with --config/);
    const alone = await run('--config', file('listen: { port: 1 }'));
    assert.equal(alone.code, 1);
    assert.match(alone.text, /has no section cluster/);
    const unheard = await run('--config', file('cluster: { servers: [nats://127.0.0.1:1] }'));
    assert.equal(unheard.code, 1);
    assert.match(unheard.text, /the brokers nats:\/\/127.0.0.1:1 cannot be queried/);
  });

  it('tells owners that live from those that are silent, by its exit code too', async function () {
    skipUnlessNats(this);
    const broker = new NatsServer();
    await broker.start();
    const cluster = {
      servers: [broker.url],
      partitions: 1,
      renewMs: 100,
      expiryMs: 500,
      logMaxBytes: 1 << 22,
      stateMaxBytes: 1 << 22,
    };
    const text = JSON.stringify({ cluster });
    const settings = readConfig({ text, env: {} }).config.cluster!;
    const connection = await connectNats({
      name: 'test',
      servers: [broker.url],
      connectTimeoutMs: 5000,
      heartbeatMs: 5000,
    });
    const layout = new Layout(connection, settings);
    await layout.make();
    const config = ['--config', file(text)];
    const nobody = await run(...config);
    assert.equal(nobody.code, 1);
    assert.match(nobody.text, /^0 of 1 partitions are served by 0 processes\.$/m);

    const [member, lease] = [await layout.memberCell('a'), await layout.leaseCell(0)];
    const revisions = [0, 0];
    let over = false;
    const living = (async () => {
      const info = { id: 'a', roles: ['evaluator'], url: 'http://a:9477', readsReports: false };
      while (!over) {
        revisions[0] = await member.write(revisions[0], Buffer.from(JSON.stringify(info)));
        revisions[1] = await lease.write(revisions[1], Buffer.from(JSON.stringify({ owner: 'a', applied: 0 })));
      }
    })();
    const well = await until('it is well', async () => {
      const status = await run(...config);
      return status.code === 0 && status;
    });
    assert.match(well.text, /^1 of 1 partitions are served by 1 process\.$/m);
    assert.match(well.text, /^a +lives +evaluator +1 +http:\/\/a:9477$/m);
    over = true;
    await living;
    const silent = await run(...config, '--json');
    assert.equal(silent.code, 1);
    const { processes, partitions } = JSON.parse(silent.text);
    assert.deepEqual(
      [processes[0].lives, partitions],
      [false, [{ partition: 0, owner: 'a', lives: false, behind: 0 }]],
    );
    await connection.close();
    await broker.close();
  });
});
