/** What people say about incidents: over HTTP, with a token, and kept over a restart. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IncidentDesk } from '../../src/alerts/incident-desk.js';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { HttpFault } from '../../src/edge/http-fault.js';
import { handleIncident } from '../../src/edge/incident-actions.js';
import type { LivePort } from '../../src/edge/live-port.js';
import type { Identity } from '../../src/edge/peers/access.js';
import type { OpenIncident, Remark } from '../../src/wire/incidents.js';

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

  it('is kept with the incident, over a restart', async () => {
    const body = { action: 'acknowledge', stream: 'gate-7', tracker: 'sort', profile: 'p', id: 3, note: 'on my way' };
    await handleIncident({ live, desk: new IncidentDesk(dir, logger, LIMITS) }, body, somebody('gate-7'));
    const remark: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS, note: 'on my way' };
    const desk = new IncidentDesk(dir, logger, LIMITS);
    assert.deepEqual(desk.remarkOn(INCIDENT), remark);
    assert.equal(desk.remarkOn({ ...INCIDENT, id: 4 }), undefined);
  });

  it('is refused for what is not open, not covered or not said well, with the remedy', async () => {
    const desk = new IncidentDesk(dir, logger, LIMITS);
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

  it('has no effect when it cannot be written down', () => {
    const desk = new IncidentDesk(dir, logger, LIMITS);
    const before = desk.mute({ stream: 'yard', tracker: '*', untilMs: NOW_MS + 1, by: 'me' }, NOW_MS)!;
    mkdirSync(join(dir, 'incidents.json.new'));
    const remark: Remark = { action: 'close', by: 'somebody', atMs: NOW_MS };
    assert.throws(() => desk.remark(INCIDENT, remark), { code: 'EISDIR' });
    assert.throws(() => desk.mute({ stream: '*', tracker: '*', untilMs: NOW_MS + 1, by: 'me' }, NOW_MS));
    assert.throws(() => desk.unmute(before.id));
    assert.equal(desk.remarkOn(INCIDENT), undefined);
    assert.deepEqual(desk.mutes(NOW_MS), [before]);
    assert.equal(desk.isMuted(INCIDENT, NOW_MS), false);
  });

  it('refuses one mute too many, aloud, and does not count those that are over', () => {
    const desk = new IncidentDesk(dir, logger, LIMITS);
    const say = (stream: string, nowMs: number) =>
      handleIncident(
        { live: { ...live, now: () => nowMs } as LivePort, desk },
        { action: 'mute', stream, minutes: 1 },
        somebody('*'),
      );
    for (const stream of ['a', 'b', 'c']) say(stream, NOW_MS);
    assert.throws(
      () => say('d', NOW_MS),
      (error) => error instanceof HttpFault && error.code === 'mutes_exceeded' && /mutesMax/.test(error.message),
    );
    assert.deepEqual(
      desk.mutes(NOW_MS).map(({ stream }) => stream),
      ['a', 'b', 'c'],
    );
    say('d', NOW_MS + 60_000);
    assert.deepEqual(
      desk.mutes(NOW_MS + 60_000).map(({ id, stream }) => [id, stream]),
      [[4, 'd']],
    );
  });

  it('forgets the oldest of too many remarks, and says so', () => {
    const warned: string[] = [];
    const desk = new IncidentDesk(dir, { warn: (event) => warned.push(event) }, LIMITS);
    const remark: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS };
    for (const id of [1, 2, 3, 1, 4]) desk.remark({ ...INCIDENT, id }, remark);
    assert.deepEqual(
      [1, 2, 3, 4].filter((id) => desk.remarkOn({ ...INCIDENT, id })),
      [1, 3, 4],
    );
    assert.deepEqual(warned, ['incident_remarks_forgotten']);
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
