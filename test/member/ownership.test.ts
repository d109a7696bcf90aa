/** Who takes which partition, on a real broker that stands still for longer than every lease. */
import { strict as assert } from 'node:assert';
import { Layout } from '../../src/cluster/layout.js';
import { tenureOf } from '../../src/cluster/lease.js';
import type { Cell } from '../../src/cluster/nats/cell.js';
import { connectNats, type NatsConnection } from '../../src/cluster/nats/connection.js';
import { answer } from '../../src/cluster/nats/questions.js';
import { readConfig } from '../../src/config/config.js';
import { Directory } from '../../src/member/directory.js';
import type { OwnedPartition } from '../../src/member/owned-partition.js';
import { Ownership } from '../../src/member/ownership.js';
import { ClusterMeters } from '../../src/telemetry/cluster-meters.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { until } from '../kit/system/system.js';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

describe('ownership', () => {
  const broker = new NatsServer();
  let connection: NatsConnection;

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
    connection = await connectNats({
      name: 'test',
      servers: [broker.url],
      connectTimeoutMs: 2000,
      heartbeatMs: 60_000,
      reconnectMs: 50,
    });
  });
  after(async () => {
    await connection?.close();
    await broker.close();
  });

  it('takes nothing from an owner that was silent only because the broker was', async () => {
    const sizes = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, timeoutMs: 300, retryMs: 20 };
    const cluster = { servers: [broker.url], partitions: 2, renewMs: 300, expiryMs: 1200, ...sizes };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const layout = new Layout(connection, settings);
    await layout.make();
    const [own, other] = [await layout.memberCell('a'), await layout.leaseCell(0)];
    let [ownRevision, otherRevision] = [0, 0];
    let renewals = 0;
    let over = false;
    const live = async () => {
      // whoever has heard a then has heard b before
      otherRevision = await other.write(otherRevision, Buffer.from(JSON.stringify({ owner: 'b', applied: 0 })));
      const info = { id: 'a', roles: ['evaluator'], url: '', readsReports: false };
      ownRevision = await own.write(ownRevision, Buffer.from(JSON.stringify(info)));
      renewals++;
    };
    await live();
    const living = (async () => {
      while (!over) await live();
    })();
    const directory = new Directory(layout, settings.expiryMs);
    await directory.start(ownRevision, (error) => assert.fail(String(error)));
    const opened: number[] = [];
    const ownership = await Ownership.start({
      id: 'a',
      settings,
      layout,
      directory,
      logger,
      meters: new ClusterMeters(
        () => [],
        () => 0,
      ),
      open: (partition) => {
        opened.push(partition);
        return new Promise(() => {});
      },
      gained() {},
      lost() {},
    });
    await until('it takes what nobody has', () => opened.includes(1));
    broker.suspend();
    await until('everybody was silent for long', () => directory.silenceMs('a') > 2 * settings.expiryMs);
    broker.resume();
    const before = renewals;
    await until('they go on', () => renewals > before + 20 && directory.silenceMs('a') < settings.expiryMs);
    assert.deepEqual(opened, [1]);
    assert.equal(tenureOf(directory.lease(0).bytes).owner, 'b');
    await ownership.stop();
    over = true;
    await living;
    directory.close();
  });

  it('takes what a silent owner had when nobody listens where it answered, and not while it may stand still', async () => {
    const sizes = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, timeoutMs: 300, retryMs: 20 };
    // nothing expires here
    const cluster = { name: 'absence', servers: [broker.url], partitions: 1, renewMs: 60, expiryMs: 600_000, ...sizes };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const layout = new Layout(connection, settings);
    await layout.make();
    const write = async (cell: Cell, what: object) => cell.write(0, Buffer.from(JSON.stringify(what)));
    await write(await layout.leaseCell(0), { owner: 'b', applied: 0 });
    const info = { roles: ['evaluator'], url: '', readsReports: false };
    await write(await layout.memberCell('a'), { id: 'a', ...info });
    const revision = await write(await layout.memberCell('b'), { id: 'b', ...info });
    const directory = new Directory(layout, settings.expiryMs);
    directory.silent = () => [{ id: 'b', revision }];
    let [looks, hearsItself] = [0, false];
    directory.silenceMs = () => {
      looks++;
      return hearsItself ? 0 : 2 * settings.renewMs;
    };
    await directory.start(revision, (error) => assert.fail(String(error)));
    let asked = 0;
    const stopAnswering = answer(connection, layout.processSubject('b'), () => {
      asked++;
      // it hears, and does not get to answer
      return new Promise(() => {});
    });
    const opened: number[] = [];
    const meters = new ClusterMeters(
      () => [],
      () => 0,
    );
    const open = (partition: number) => {
      opened.push(partition);
      return new Promise<OwnedPartition>(() => {});
    };
    const notes = { gained() {}, lost() {} };
    const ownership = await Ownership.start({ id: 'a', settings, layout, directory, logger, meters, open, ...notes });
    await until('it looks again and again', () => looks > 20);
    assert.equal(asked, 0, 'who does not hear itself asks nobody');
    hearsItself = true;
    await until('it was asked again and again', () => asked > 2);
    assert.equal(opened.length, 0);
    assert.deepEqual(
      directory.members('evaluator').map(({ id }) => id),
      ['a', 'b'],
    );
    stopAnswering();
    await until('its partition is taken', () => opened.includes(0));
    assert.equal(directory.members('evaluator').length, 1);
    await ownership.stop();
    directory.close();
  });

  it('takes what nobody holds although the brokers have lost the newest lease that it has heard', async () => {
    const sizes = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, timeoutMs: 300, retryMs: 20 };
    const times = { renewMs: 60, expiryMs: 400 };
    const cluster = { name: 'lost', servers: [broker.url], partitions: 1, ...times, ...sizes };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const layout = new Layout(connection, settings);
    await layout.make();
    const lease = await layout.leaseCell(0);
    await lease.write(0, Buffer.from(JSON.stringify({ owner: 'b', applied: 0 })));
    const info = { id: 'a', roles: ['evaluator'], url: '', readsReports: false };
    const own = await (await layout.memberCell('a')).write(0, Buffer.from(JSON.stringify(info)));
    const directory = new Directory(layout, settings.expiryMs);
    await directory.start(own, (error) => assert.fail(String(error)));
    assert.equal(directory.ownerOf(0), 'b');
    // whoever follows is not told of it
    await lease.clear();
    directory.silenceMs = () => 0;
    directory.silent = () => [];
    const opened: number[] = [];
    const meters = new ClusterMeters(
      () => [],
      () => 0,
    );
    const open = (partition: number) => {
      opened.push(partition);
      return new Promise<OwnedPartition>(() => {});
    };
    const notes = { gained() {}, lost() {} };
    const ownership = await Ownership.start({ id: 'a', settings, layout, directory, logger, meters, open, ...notes });
    await until('it is taken', () => opened.length === 1);
    await ownership.stop();
    directory.close();
  });

  it('takes a partition again that it lost while it was releasing it, once', async () => {
    const sizes = { logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22, timeoutMs: 300, retryMs: 20 };
    const times = { renewMs: 60, expiryMs: 60_000, moveMs: 1 };
    const cluster = { name: 'releasing', servers: [broker.url], partitions: 2, ...times, ...sizes };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    const layout = new Layout(connection, settings);
    await layout.make();
    const sayThat = async (id: string, more: object = {}) => {
      const cell = await layout.memberCell(id);
      const info = { id, roles: ['evaluator'], url: '', readsReports: false, ...more };
      return cell.write((await cell.read()).revision, Buffer.from(JSON.stringify(info)));
    };
    const directory = new Directory(layout, settings.expiryMs);
    await directory.start(await sayThat('a'), (error) => assert.fail(String(error)));
    directory.silenceMs = () => 0;
    directory.silent = () => [];
    const opened: number[] = [];
    const killed: number[] = [];
    const stops: Array<() => void> = [];
    const meters = new ClusterMeters(
      () => [],
      () => 0,
    );
    const open = async (partition: number) => {
      opened.push(partition);
      const live = { appliedPosition: 0, fenced: new Promise(() => {}), streams: () => [] };
      const stop = () => new Promise<void>((resolve) => void stops.push(resolve));
      const own = { partition, live, log: { replayed: 0, openMs: 0 }, cutAway() {}, stop };
      const kill = () => {
        killed.push(partition);
        return new Promise<void>((resolve) => void stops.push(resolve));
      };
      return { ...own, kill } as unknown as OwnedPartition;
    };
    const notes = { gained() {}, lost() {} };
    const ownership = await Ownership.start({ id: 'a', settings, layout, directory, logger, meters, open, ...notes });
    await until('it has both', () => ownership.owned.length === 2);
    await sayThat('b');
    await until('it releases one', () => stops.length === 1);
    const [kept] = ownership.owned.map(({ partition }) => partition);
    const lease = await layout.leaseCell(1 - kept);
    // another one had it for a moment, and is gone
    const write = async (owner: string | null) => {
      for (;;)
        try {
          const bytes = Buffer.from(JSON.stringify({ owner, applied: 0 }));
          return await lease.write((await lease.read()).revision, bytes);
        } catch {
          // it was renewed between the two
        }
    };
    await write('b');
    await until('it hears that it has lost it', () => killed.length === 1);
    await write(null);
    await sayThat('b', { gone: true });
    await until('its share is both again', () => directory.members('evaluator').length === 1);
    await until('it could have taken it', async () => {
      await new Promise((resolve) => setTimeout(resolve, settings.renewMs));
      return directory.lease(1 - kept).bytes.length > 0;
    });
    assert.deepEqual(opened.toSorted(), [0, 1], 'nothing is taken that is not yet released');
    // when it is closed, and not only when its release has ended
    stops[1]();
    await until('it has both again', () => ownership.owned.length === 2);
    assert.equal(opened.length, 3);
    // renewed as what it is: owned, by the one that was opened last
    const { revision } = await lease.read();
    await until('it is renewed', async () => (await lease.read()).revision > revision);
    assert.equal(ownership.owned.length, 2);
    const stopped = ownership.stop();
    await until('it stops', () => {
      for (const stop of stops) stop();
      return stopped.then(() => true);
    });
    directory.close();
  });
});
