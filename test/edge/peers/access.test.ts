import { strict as assert } from 'node:assert';
import type { IncomingMessage } from 'node:http';
import { Access, type HttpRefusal, type Identity } from '../../../src/edge/peers/access.js';
import { configOf } from '../../kit/edge.js';

const env = { A: 'token-a-0123456789', B: 'token-b-0123456789' };
const tokens = (streams: string) =>
  `tokens: [{ name: a, env: A, roles: [ingest], streams: ${streams} }, { name: b, env: B, roles: [read] }]`;
const request = (headers: Record<string, string> = {}) =>
  ({ headers: { host: '127.0.0.1:9477', ...headers } }) as unknown as IncomingMessage;
const bearer = (token: string) => request({ authorization: `Bearer ${token}` });
const outcome = (answer: Identity | HttpRefusal) => ('code' in answer ? answer.code : answer.name);

describe('access', () => {
  it('knows tokens by header and by subprotocol, and their roles', () => {
    const access = new Access(configOf(tokens("['*']"), env), env);
    assert.equal(outcome(access.admit(bearer(env.A), 'ingest')), 'a');
    assert.equal(outcome(access.admit(request({ authorization: `bearer  ${env.A} ` }), 'ingest')), 'a');
    assert.equal(
      outcome(access.admit(request({ 'sec-websocket-protocol': `tgospa.v1, bearer.${env.B}` }), 'read')),
      'b',
    );
    assert.equal(outcome(access.admit(bearer(env.B), 'ingest')), 'role_forbidden');
    assert.equal(outcome(access.admit(request(), 'ingest')), 'token_missing');
    assert.equal(outcome(access.admit(request({ authorization: 'Basic abc' }), 'ingest')), 'token_missing');
    assert.equal(outcome(access.admit(bearer(`${env.A}x`), 'ingest')), 'token_unknown');
  });

  it('lets everybody in when there are no tokens', () => {
    const access = new Access(configOf(''), {});
    assert.equal(outcome(access.admit(request(), 'ingest')), 'anyone');
  });

  it('reads * in a pattern as any characters and everything else literally', () => {
    const identity = new Access(configOf(tokens("[gate-*, 'a.b', '*/north', 'x*y*y']"), env), env).admit(
      bearer(env.A),
      'ingest',
    ) as Identity;
    const covered = ['gate-7', 'gate-', 'a.b', 'site/north', 'xyy', 'x1y2y3y'];
    const others = ['agate-7', 'axb', 'a.bc', 'north', 'site/north2', 'xy', 'x1y', 'yy'];
    assert.deepEqual(
      covered.filter((stream) => !identity.covers(stream)),
      [],
    );
    assert.deepEqual(
      others.filter((stream) => identity.covers(stream)),
      [],
    );
    assert.equal(identity.coversAll, false);
    assert.equal(
      (new Access(configOf(tokens("['*']"), env), env).admit(bearer(env.A), 'ingest') as Identity).coversAll,
      true,
    );
  });

  it('refuses foreign origins and, on loopback, foreign names', () => {
    const access = new Access(configOf('origins: [https://board.example]'), {});
    const from = (headers: Record<string, string>) => outcome(access.admit(request(headers), 'read'));
    assert.equal(from({ origin: 'https://board.example' }), 'anyone');
    assert.equal(from({ origin: 'http://127.0.0.1:9477' }), 'anyone');
    assert.equal(from({ origin: 'http://127.0.0.1:80' }), 'origin_forbidden');
    assert.equal(from({ origin: 'null' }), 'origin_forbidden');
    assert.equal(from({ host: 'evil.example:9477' }), 'host_forbidden');
    assert.equal(from({ host: '[::1]:9477' }), 'anyone');
    assert.equal(from({ host: 'localhost' }), 'anyone');
    const named = new Access(configOf('listen: { host: 0.0.0.0, insecure: true, names: [evaluator] }'), {});
    const by = (host: string) => outcome(named.admit(request({ host }), 'read'));
    assert.deepEqual(['Evaluator:9477', '192.0.2.7:9477', 'localhost:9477', 'evil.example:9477'].map(by), [
      'anyone',
      'anyone',
      'anyone',
      'host_forbidden',
    ]);
    const open = new Access(configOf('listen: { host: 0.0.0.0, insecure: true }'), {});
    assert.equal(
      outcome(open.admit(request({ host: 'tgospa:9477' }), 'read')),
      'anyone',
      'a server in a network has a name there',
    );
  });
});
