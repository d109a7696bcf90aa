/** What people say of incidents, in processes of a cluster, on a real broker. */
import assert from 'node:assert/strict';
import { IncidentDesk } from '../../src/alerts/incident-desk.js';
import { Layout } from '../../src/cluster/layout.js';
import { connectNats, type NatsConnection } from '../../src/cluster/nats/connection.js';
import { readConfig } from '../../src/config/config.js';
import { HttpFault } from '../../src/edge/http-fault.js';
import { Directory } from '../../src/member/directory.js';
import { SharedText } from '../../src/member/shared-text.js';
import type { Remark } from '../../src/wire/incidents.js';
import { NatsServer, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { until } from '../kit/system/system.js';

const LIMITS = { mutesMax: 20, remarksMax: 3 };
const NOW_MS = 1_763_251_200_000;
const INCIDENT = { stream: 'gate-7', tracker: 'sort', profile: 'p' };
const REMARK: Remark = { action: 'acknowledge', by: 'me', atMs: NOW_MS };
const logger = { warn: () => {} };
const muteOf = (stream: string) => ({ stream, tracker: '*', untilMs: NOW_MS + 60_000, by: 'me' });
const range = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('a text that processes share', () => {
  const broker = new NatsServer();
  let connection: NatsConnection;
  let layout: Layout;
  let directory: Directory;
  let cells = 0;
  let name = '';

  before(async function () {
    skipUnlessNats(this);
    await broker.start();
    const cluster = { servers: [broker.url], partitions: 1, logMaxBytes: 1 << 22, stateMaxBytes: 1 << 22 };
    const settings = readConfig({ text: JSON.stringify({ cluster }), env: {} }).config.cluster!;
    connection = await connectNats({ name: 'test', servers: [broker.url], connectTimeoutMs: 5000, heartbeatMs: 5000 });
    layout = new Layout(connection, settings);
    await layout.make();
    directory = new Directory(layout, 1000);
    // it resolves with the first thing that is said
    void directory.start(1, (error) => {
      throw error;
    });
  });
  beforeEach(() => {
    name = `said-${++cells}`;
  });
  after(async () => {
    directory?.close();
    await connection?.close();
    await broker.close();
  });

  const newText = async (patienceMs?: number) =>
    new SharedText(await layout.leaseCell(name), () => directory.lease(name), patienceMs);
  const newDesk = async () => new IncidentDesk(await newText(), logger, LIMITS);

  it('loses nothing of what many say at once, and keeps the limits for all of them together', async () => {
    const desks = [await newDesk(), await newDesk()];
    const made = await Promise.all(range(24).map((n) => desks[n % 2].mute(muteOf(`cam-${n}`), NOW_MS)));
    const mutes = made.flatMap((mute) => mute ?? []);
    const ids = mutes.map(({ id }) => id).sort((a, b) => a - b);
    assert.deepEqual(
      ids,
      range(LIMITS.mutesMax).map((n) => n + 1),
      'each has a number of its own',
    );
    for (const desk of [...desks, await newDesk()]) {
      await until('it hears of all', () => desk.mutes(NOW_MS).length === LIMITS.mutesMax);
      assert.deepEqual(
        desk.mutes(NOW_MS),
        mutes.sort((a, b) => a.id - b.id),
      );
    }
    assert.ok(await desks[0].unmute(7));
    assert.equal(await desks[1].unmute(7), false, 'it is over, though it need not have heard of that');
    await Promise.all(range(6).map((id) => desks[id % 2].remark({ ...INCIDENT, id }, REMARK)));
    const remarked = (desk: IncidentDesk) => range(6).filter((id) => desk.remarkOn({ ...INCIDENT, id }));
    await until('both know the same', () => String(remarked(desks[0])) === String(remarked(desks[1])));
    assert.equal(remarked(desks[0]).length, LIMITS.remarksMax);
    assert.equal(desks[0].mutes(NOW_MS).length, LIMITS.mutesMax - 1, 'and that mutes nothing');
  });

  it('is changed in one process after it was changed in another, and heard of within a second', async () => {
    const [one, other] = [await newDesk(), await newDesk()];
    await one.remark({ ...INCIDENT, id: 1 }, REMARK);
    const sinceMs = performance.now();
    await until('the other hears of it', () => other.remarkOn({ ...INCIDENT, id: 1 }) !== undefined);
    assert.ok(performance.now() - sinceMs < 1000);
    other.forget({ ...INCIDENT, id: 1 }, NOW_MS + 1);
    assert.equal(other.remarkOn({ ...INCIDENT, id: 1 }), undefined, 'at once where it is known');
    await until('so does the first', () => one.remarkOn({ ...INCIDENT, id: 1 }) === undefined);
    const closed: Remark = { ...REMARK, action: 'close', atMs: NOW_MS + 2 };
    await one.remark({ ...INCIDENT, id: 1 }, closed);
    await until('the new one is heard of', () => other.remarkOn({ ...INCIDENT, id: 1 })?.action === 'close');
  });

  it('gives up when the brokers do not store it in time, and changes nothing here', async () => {
    const text = await newText(300);
    await text.change(() => 'one');
    const tooLarge = 'x'.repeat(connection.info!.max_payload);
    await assert.rejects(
      text.change(() => tooLarge),
      { code: 'not_stored', message: /would have \d+ bytes.*raise max_payload/ },
    );
    assert.equal((await newText()).text, 'one', 'whoever hears it hears nothing else');
    broker.suspend();
    try {
      await assert.rejects(
        text.change((before) => `${before} two`),
        (error) => error instanceof HttpFault && error.code === 'not_stored',
      );
      assert.equal(text.text, 'one');
    } finally {
      broker.resume();
    }
    await (await newText()).change((before) => `${before} three`);
    const again = await newText();
    await until('what came later is heard', () => / three$/.test(again.text));
    assert.match(again.text, /^one( two)? three( two)?$/);
  });
});
