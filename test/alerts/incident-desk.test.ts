/** What people say about incidents: over HTTP, with a token, and kept over a restart. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeskFile } from '../../src/alerts/desk-file.js';
import { IncidentDesk } from '../../src/alerts/incident-desk.js';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { HttpFault } from '../../src/edge/http-fault.js';
import { handleIncident } from '../../src/edge/incident-actions.js';
import type { LivePort } from '../../src/edge/live-port.js';
import type { Identity } from '../../src/edge/peers/access.js';
import type { Logger } from '../../src/telemetry/logger.js';
import type { OpenIncident, Remark } from '../../src/wire/incidents.js';
import { until } from '../kit/system/system.js';

const logger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
const LIMITS = { mutesMax: 3, remarksMax: 3 };
const NOW_MS = 1_763_251_200_000;
const INCIDENT: OpenIncident = {
  ...{ stream: 'gate-7', tracker: 'sort', profile: 'p', id: 3, times: 1, k: 5, at: 9, sinceMs: NOW_MS - 1000 },
  ...{ severity: 'critical', lasting: null, cause: 'silent', message: 'nothing comes from it', evidence: {} },
  signals: [],
};
const live = { streams: () => [{ incidents: [INCIDENT] }], now: () => NOW_MS } as unknown as LivePort;
const somebody = (streams: string): Identity => ({
  name: 'somebody',
  token: true,
  roles: new Set(['operate']),
  covers: (stream) => stream === streams || streams === '*',
  coversAll: streams === '*',
});

describe('what people say about incidents', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-desk-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const newDesk = (log: Pick<Logger, 'warn'> = logger) => new IncidentDesk(new DeskFile(dir, log), log, LIMITS);

  it('is kept with the incident, over a restart', async () => {
    const body = { action: 'acknowledge', stream: 'gate-7', tracker: 'sort', profile: 'p', id: 3, note: 'on my way' };
    await handleIncident({ live, desk: newDesk() }, body, somebody('gate-7'));
    const remark: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS, note: 'on my way' };
    const desk = newDesk();
    assert.deepEqual(desk.remarkOn(INCIDENT), remark);
    assert.equal(desk.remarkOn({ ...INCIDENT, id: 4 }), undefined);
  });

  it('is refused for what is not open, not covered or not said well, with the remedy', async () => {
    const desk = newDesk();
    const say = async (body: unknown, who = somebody('*')) => handleIncident({ live, desk }, body, who);
    const refused = (body: unknown, code: string, who?: Identity) =>
      assert.rejects(say(body, who), (error) => error instanceof HttpFault && error.code === code);
    const close = { action: 'close', stream: 'gate-7', tracker: 'sort', profile: 'p' };
    await refused({ ...close, id: 2 }, 'not_found');
    await refused({ ...close, stream: 'yard' }, 'not_found');
    await refused(close, 'stream_forbidden', somebody('yard'));
    await refused({ action: 'mute', stream: '*', minutes: 5 }, 'stream_forbidden', somebody('gate-7'));
    await refused({ action: 'mute', stream: 'gate-7', minutes: 0 }, 'request_invalid');
    await refused({ action: 'unmute', id: 7 }, 'not_found');
    await refused({ action: 'toString' }, 'request_invalid');
    await refused(null, 'request_invalid');
    assert.equal(desk.remarkOn(INCIDENT), undefined);
    assert.deepEqual(desk.mutes(NOW_MS), []);
  });

  it('has no effect when it cannot be written down', async () => {
    const desk = newDesk();
    const before = (await desk.mute({ stream: 'yard', tracker: '*', untilMs: NOW_MS + 1, by: 'me' }, NOW_MS))!;
    mkdirSync(join(dir, 'incidents.json.new'));
    const remark: Remark = { action: 'close', by: 'somebody', atMs: NOW_MS };
    await assert.rejects(desk.remark(INCIDENT, remark), { code: 'EISDIR' });
    await assert.rejects(desk.mute({ stream: '*', tracker: '*', untilMs: NOW_MS + 1, by: 'me' }, NOW_MS));
    await assert.rejects(desk.unmute(before.id));
    assert.equal(desk.remarkOn(INCIDENT), undefined);
    assert.deepEqual(desk.mutes(NOW_MS), [before]);
    assert.equal(desk.isMuted(INCIDENT, NOW_MS), false);
  });

  it('refuses one mute too many, aloud, and does not count those that are over', async () => {
    const desk = newDesk();
    const say = async (stream: string, nowMs: number) =>
      handleIncident(
        { live: { ...live, now: () => nowMs } as LivePort, desk },
        { action: 'mute', stream, minutes: 1 },
        somebody('*'),
      );
    for (const stream of ['a', 'b', 'c']) await say(stream, NOW_MS);
    await assert.rejects(
      say('d', NOW_MS),
      (error) => error instanceof HttpFault && error.code === 'mutes_exceeded' && /mutesMax/.test(error.message),
    );
    assert.deepEqual(
      desk.mutes(NOW_MS).map(({ stream }) => stream),
      ['a', 'b', 'c'],
    );
    await say('d', NOW_MS + 60_000);
    assert.deepEqual(
      desk.mutes(NOW_MS + 60_000).map(({ id, stream }) => [id, stream]),
      [[4, 'd']],
    );
  });

  it('forgets the oldest of too many remarks, and says so', async () => {
    const warned: string[] = [];
    const desk = newDesk({ warn: (event) => warned.push(event) });
    const remark: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS };
    for (const id of [1, 2, 3, 1, 4]) await desk.remark({ ...INCIDENT, id }, remark);
    assert.deepEqual(
      [1, 2, 3, 4].filter((id) => desk.remarkOn({ ...INCIDENT, id })),
      [1, 3, 4],
    );
    assert.deepEqual(warned, ['incident_remarks_forgotten']);
  });

  it('is no matter of a new incident under the same number, even if that cannot be written down', async () => {
    const warned: string[] = [];
    const desk = newDesk({ warn: (event) => warned.push(event) });
    await desk.remark(INCIDENT, { action: 'close', by: 'somebody', atMs: NOW_MS });
    desk.forget(INCIDENT, NOW_MS);
    assert.ok(desk.remarkOn(INCIDENT), 'said since it began, and told of it late');
    mkdirSync(join(dir, 'incidents.json.new'));
    desk.forget(INCIDENT, NOW_MS + 1);
    assert.equal(desk.remarkOn(INCIDENT), undefined);
    await until('it is logged', () => warned.length > 0);
    assert.deepEqual(warned, ['incident_desk_not_saved']);
    rmdirSync(join(dir, 'incidents.json.new'));
    await desk.remark({ ...INCIDENT, id: 9 }, { action: 'close', by: 'somebody', atMs: NOW_MS });
    assert.equal(newDesk().remarkOn(INCIDENT), undefined, 'and is made up for with the next remark');
    const next: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS + 1 };
    await desk.remark(INCIDENT, next);
    assert.deepEqual(desk.remarkOn(INCIDENT), next);
  });

  it('starts with nothing when what is kept cannot be read, and says so', () => {
    writeFileSync(join(dir, 'incidents.json'), '{"version":99}');
    const warned: string[] = [];
    assert.deepEqual(newDesk({ warn: (event) => warned.push(event) }).mutes(NOW_MS), []);
    assert.deepEqual(warned, ['incident_desk_unreadable']);
  });

  it('needs the role operate over HTTP, and a mute outlives a restart', async () => {
    const env = { READ: 'read-token-0123456789', OPERATE: 'operate-token-0123456789' };
    const tokens = [
      { name: 'reader', env: 'READ', roles: ['read'] },
      { name: 'oncall', env: 'OPERATE', roles: ['read', 'operate'] },
    ];
    const text = JSON.stringify({ listen: { port: 0 }, data: { dir }, tokens });
    const { config } = readConfig({ text, env });
    let app = await startApp(config, { env, logger });
    const ask = async (token: string, body?: unknown) => {
      const method = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await fetch(`${app.urls.http}/v1/incidents`, {
        headers: { authorization: `Bearer ${token}` },
        ...method,
      });
      // biome-ignore lint/suspicious/noExplicitAny: whatever was answered
      return { status: response.status, body: (await response.json()) as any };
    };
    try {
      const mute = { action: 'mute', stream: 'gate-*', minutes: 60, note: 'works on site' };
      assert.equal((await ask(env.READ, mute)).status, 403);
      const { status, body } = await ask(env.OPERATE, mute);
      assert.deepEqual([status, body.stream, body.tracker, body.by], [200, 'gate-*', '*', 'oncall']);
      await app.stop();
      app = await startApp(config, { env, logger });
      assert.deepEqual((await ask(env.READ)).body.mutes, [body]);
      assert.equal((await ask(env.OPERATE, { action: 'unmute', id: body.id })).status, 200);
      assert.deepEqual((await ask(env.READ)).body.mutes, []);
    } finally {
      await app.stop();
    }
  });
});
