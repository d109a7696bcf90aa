/** What people say about incidents: over HTTP, with a token, and kept over a restart. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IncidentDesk } from '../../src/alerts/incident-desk.js';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import type { Identity } from '../../src/edge/access.js';
import { HttpFault } from '../../src/edge/http-fault.js';
import { handleIncident } from '../../src/edge/incident-actions.js';
import type { LivePort } from '../../src/edge/live-port.js';
import type { OpenIncident, Remark } from '../../src/wire/incidents.js';

const logger = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
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

  it('is kept with the incident, over a restart', () => {
    const body = { action: 'acknowledge', stream: 'gate-7', tracker: 'sort', profile: 'p', id: 3, note: 'on my way' };
    handleIncident({ live, desk: new IncidentDesk(dir, logger) }, body, somebody('gate-7'));
    const remark: Remark = { action: 'acknowledge', by: 'somebody', atMs: NOW_MS, note: 'on my way' };
    const desk = new IncidentDesk(dir, logger);
    assert.deepEqual(desk.remarkOn(INCIDENT), remark);
    assert.equal(desk.remarkOn({ ...INCIDENT, id: 4 }), undefined);
  });

  it('is refused for what is not open, not covered or not said well, with the remedy', () => {
    const desk = new IncidentDesk(dir, logger);
    const say = (body: unknown, who = somebody('*')) => handleIncident({ live, desk }, body, who);
    const refused = (body: unknown, code: string, who?: Identity) =>
      assert.throws(
        () => say(body, who),
        (error) => error instanceof HttpFault && error.code === code,
      );
    const close = { action: 'close', stream: 'gate-7', tracker: 'sort', profile: 'p' };
    refused({ ...close, id: 2 }, 'not_found');
    refused({ ...close, stream: 'yard' }, 'not_found');
    refused(close, 'stream_forbidden', somebody('yard'));
    refused({ action: 'mute', stream: '*', minutes: 5 }, 'stream_forbidden', somebody('gate-7'));
    refused({ action: 'mute', stream: 'gate-7', minutes: 0 }, 'request_invalid');
    refused({ action: 'unmute', id: 7 }, 'not_found');
    refused({ action: 'toString' }, 'request_invalid');
    refused(null, 'request_invalid');
    assert.equal(desk.remarkOn(INCIDENT), undefined);
    assert.deepEqual(desk.mutes(NOW_MS), []);
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
