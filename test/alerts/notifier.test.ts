/** Alerts to Alertmanagers and webhooks, against a server of our own that may be down, slow to agree, or strict. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeskFile } from '../../src/alerts/desk-file.js';
import { IncidentDesk } from '../../src/alerts/incident-desk.js';
import { Notifier, type NotifierMemory } from '../../src/alerts/notifier.js';
import { ConfigError, notifyReceivers, notifySecrets, readConfig } from '../../src/config/config.js';
import type { NotificationCounts } from '../../src/telemetry/spec.js';
import type { IncidentEvent, IncidentSignalName, OpenIncident } from '../../src/wire/incidents.js';
import { freePort, skipInFastRun, until } from '../kit/system/system.js';

const START_MS = Date.parse('2025-11-16T00:00:00.000Z');

type Changes = Partial<IncidentEvent> & { signal?: IncidentSignalName };

const incident = ({ signal = 'missed', ...changes }: Changes = {}): IncidentEvent => ({
  type: 'incident',
  phase: 'start',
  reason: 'signals',
  stream: 'gate-7',
  tracker: 'sort',
  profile: 'online-surveillance',
  id: 1,
  times: 1,
  k: 421,
  at: 424,
  sinceMs: START_MS - 250,
  severity: signal === 'missed' ? 'critical' : 'warning',
  lasting: null,
  cause: 'late',
  message: 'it is late by 5 frames: moved by that, 92 of 97 possible pairs fit',
  evidence: { frames: 5 },
  signals: [{ signal, expected: 0.4, observed: 6.25, concerned: 18, of: 20, objects: ['6', '11'], over: false }],
  n: 1,
  atMs: START_MS,
  ...changes,
});
const over = (changes: Changes = {}): IncidentEvent =>
  incident({ phase: 'end', at: 500, reason: 'recovered', atMs: START_MS + 2500, ...changes });

const SIGNALS = ['missed', 'false', 'switch', 'localization', 'silence', 'wiring', 'timing'] as const;

/** Tells at once, and takes back at once. */
const AT_ONCE =
  '  resolveAfterMs: 0\n  minimumMs: { missed: 0, false: 0, switch: 0, localization: 0, silence: 0, wiring: 0, timing: 0 }\n';

interface Alerted {
  status: string;
  labels: Record<string, string>;
}

interface Taken {
  path: string;
  authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  body: any;
}

/** Takes what is posted to it; answers with the next status of `answers`, then 200. */
class Inbox {
  readonly taken: Taken[] = [];
  answers: number[] = [];
  #server: Server | null = null;

  async open(port = 0): Promise<string> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const status = this.answers.shift() ?? 200;
        const { authorization } = request.headers;
        if (status === 200) this.taken.push({ path: request.url ?? '', authorization, body: JSON.parse(text) });
        response.writeHead(status).end('an answer nobody reads');
      });
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => (this.#server ? this.#server.close(resolve) : resolve(0)));
    this.#server = null;
  }
}

describe('notify', () => {
  let dir: string;
  let inbox: Inbox;
  let logged: string[];
  let nowMs: number;
  let streams: string[];
  const open: Notifier[] = [];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-notify-'));
    inbox = new Inbox();
    logged = [];
    nowMs = START_MS + 60_000;
    streams = [];
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((notifier) => notifier.stop()));
    await inbox.close();
    rmSync(dir, { recursive: true, force: true });
  });

  function start(
    yaml: string,
    active: OpenIncident[] = [],
    env: NodeJS.ProcessEnv = {},
    early: IncidentEvent[] = [],
    memory?: NotifierMemory,
  ): Notifier {
    const { config } = readConfig({ text: yaml, env });
    const write = (event: string, fields = {}) => logged.push(JSON.stringify({ event, ...fields }));
    const parts = {
      settings: config.notify,
      receivers: notifyReceivers(config, env),
      ...{ dir, logger: { info: write, warn: write }, now: () => nowMs },
    };
    const desk = new IncidentDesk(new DeskFile(dir, parts.logger), parts.logger, config.notify);
    const notifier = new Notifier({ ...parts, memory, desk });
    open.push(notifier);
    for (const event of early) notifier.observe(event);
    notifier.start('http://127.0.0.1:9477', active, () => streams);
    return notifier;
  }

  const receiver = (lines: string, settings = '') =>
    `notify:\n${settings.includes('resolveAfterMs') ? '' : AT_ONCE}${settings}  receivers:\n  - name: oncall\n${lines}`;
  const webhook = (url: string, settings = '  retryFirstMs: 5\n') =>
    receiver(`    type: webhook\n    url: ${url}/hook\n`, settings);
  const alertmanager = (url: string, settings = '  retryFirstMs: 5\n') => receiver(`    url: ${url}\n`, settings);
  const counts = (notifier: Notifier): NotificationCounts => notifier.counts()[0][1];
  const statuses = () =>
    inbox.taken.flatMap(({ body }) => body.alerts.map((alert: { status: string }) => alert.status));
  const reached = (count: number) => until(`${count} messages`, () => inbox.taken.length >= count);
  const idle = (notifier: Notifier) => until('nothing waits', () => counts(notifier).waiting === 0);

  it('sends what was observed before the page had an address once it has one, and each spike once', async () => {
    const notifier = start(webhook(await inbox.open()), [incident()], {}, [incident(), incident({ tracker: 'other' })]);
    await reached(2);
    await idle(notifier);
    assert.deepEqual(
      inbox.taken.map(({ body }) => body.groupLabels.tracker),
      ['sort', 'other'],
    );
    assert.match(inbox.taken[1].body.alerts[0].generatorURL, /^http:\/\/127\.0\.0\.1:9477\//);
  });

  it('goes on where another one was that noted elsewhere what it told, and tells nothing that it cannot note', async () => {
    let kept = '';
    let isOver = false;
    const memory = () => ({
      text: kept,
      save: async (text: string) => {
        if (isOver) throw new Error('another process notifies');
        kept = text;
      },
    });
    const url = await inbox.open();
    const first = start(webhook(url), [incident()], {}, [], memory());
    await reached(1);
    await idle(first);
    assert.deepEqual(statuses(), ['firing']);
    // the next one knows it, and tells of what is new and of what is over
    const second = start(webhook(url), [incident({ tracker: 'other' })], {}, [], memory());
    await reached(3);
    await idle(second);
    assert.deepEqual(statuses().sort(), ['firing', 'firing', 'resolved']);
    isOver = true;
    first.observe(incident({ tracker: 'third' }));
    await until('it fails', () => counts(first).failed > 0);
    assert.equal(inbox.taken.length, 3, 'who cannot note it does not tell it');
  });

  it('tells again what the one before had noted and perhaps not told, and nothing that had arrived', async () => {
    const saved: string[] = [];
    const memory = (text = '') => ({ text, save: async (next: string) => void saved.push(next) });
    const url = await inbox.open();
    await idle(start(webhook(url), [incident()], {}, [], memory()));
    await until('it is noted that it has arrived', () => saved.length === 2);
    const [before, after] = saved.splice(0);
    await idle(start(webhook(url), [incident()], {}, [], memory(after)));
    assert.deepEqual(statuses(), ['firing']);
    // killed between the note and the answer
    await idle(start(webhook(url), [incident()], {}, [], memory(before)));
    assert.deepEqual(statuses(), ['firing', 'firing']);
  });

  it('sends a webhook what Alertmanager would send, and the resolution', async () => {
    const notifier = start(webhook(await inbox.open()));
    notifier.observe(incident());
    await reached(1);
    notifier.observe(over());
    await reached(2);
    const labels = {
      alertname: 'TrackerMissSpike',
      severity: 'critical',
      by: 'evaluator',
      stream: 'gate-7',
      tracker: 'sort',
      profile: 'online-surveillance',
      signal: 'missed',
    };
    const annotations = {
      summary:
        'Tracker sort of gate-7 misses 18 of 20 objects since 23:59:59 UTC on 2025-11-15: it is late by 5 frames: moved by that, 92 of 97 possible pairs fit.',
      description:
        'Likely cause: it is late by 5 frames: moved by that, 92 of 97 possible pairs fit. Missed objects per frame: 6.25 (18 of 20 objects) where 0.4 is usual. It began at 23:59:59 UTC on 2025-11-15, frame 421 (profile online-surveillance). Affected: 6, 11. The moment: http://127.0.0.1:9477/#/s/gate-7/sort/online-surveillance?k=421',
      cause: 'late',
      runbook_url: 'dashboards/RUNBOOK.md#trackermissspike',
    };
    const message = (status: string, endsAt: string) => ({
      version: '4',
      groupKey: '{}:{stream="gate-7", tracker="sort"}',
      truncatedAlerts: 0,
      status,
      receiver: 'oncall',
      groupLabels: { stream: 'gate-7', tracker: 'sort' },
      commonLabels: labels,
      commonAnnotations: annotations,
      externalURL: 'http://127.0.0.1:9477/',
      alerts: [
        {
          status,
          labels,
          annotations,
          startsAt: '2025-11-15T23:59:59.750Z',
          endsAt,
          generatorURL: 'http://127.0.0.1:9477/#/s/gate-7/sort/online-surveillance?k=421',
          fingerprint: inbox.taken[0].body.alerts[0].fingerprint,
        },
      ],
    });
    assert.deepEqual(inbox.taken, [
      { path: '/hook', authorization: undefined, body: message('firing', '0001-01-01T00:00:00Z') },
      { path: '/hook', authorization: undefined, body: message('resolved', '2025-11-16T00:01:00.000Z') },
    ]);
    assert.match(inbox.taken[0].body.alerts[0].fingerprint, /^[0-9a-f]{16}$/);
    await idle(notifier);
    assert.deepEqual(counts(notifier), { sent: 2, failed: 0, dropped: 0, waiting: 0 });
  });

  it('names each signal as the rules and the runbook do', async () => {
    const notifier = start(webhook(await inbox.open()));
    for (const signal of SIGNALS) notifier.observe(incident({ signal, tracker: signal }));
    await idle(notifier);
    const alerts = inbox.taken.flatMap(({ body }) => body.alerts);
    const rules = readFileSync(new URL('../../../dashboards/prometheus/rules.yml', import.meta.url), 'utf8');
    const runbook = readFileSync(new URL('../../../dashboards/RUNBOOK.md', import.meta.url), 'utf8').toLowerCase();
    assert.equal(alerts.length, SIGNALS.length);
    for (const { labels, annotations } of alerts) {
      assert.ok(rules.includes(`alert: ${labels.alertname}`), labels.alertname);
      assert.ok(runbook.includes(`## ${annotations.runbook_url.split('#')[1]}`), annotations.runbook_url);
    }
  });

  it('posts to an Alertmanager and repeats what goes on, so that it does not time out', async () => {
    const url = await inbox.open();
    const text = receiver(`    url: ${url}/am/\n    tokenEnv: AM\n    labels: { team: night }\n`, '  repeatMs: 10\n');
    const notifier = start(text, [], { AM: 'very-secret-token' });
    notifier.observe(incident());
    await reached(3);
    notifier.observe(over());
    await until('resolved', () => inbox.taken.some(({ body }) => body[0].endsAt));
    const count = inbox.taken.length;
    const [{ path, authorization, body }] = inbox.taken;
    assert.deepEqual([path, authorization], ['/am/api/v2/alerts', 'Bearer very-secret-token']);
    assert.equal(body.length, 1);
    assert.equal(body[0].labels.team, 'night');
    assert.equal(body[0].startsAt, '2025-11-15T23:59:59.750Z');
    assert.ok(!('endsAt' in body[0]) && !('key' in body[0]));
    for (const { body: again } of inbox.taken.slice(0, count - 1)) assert.deepEqual(again, body);
    assert.deepEqual(inbox.taken[count - 1].body, [{ ...body[0], endsAt: '2025-11-16T00:01:00.000Z' }]);
  });

  it('tries again until the receiver takes it, first what came first', async () => {
    const notifier = start(webhook(await inbox.open()));
    inbox.answers = [503, 500, 429];
    notifier.observe(incident());
    notifier.observe(over());
    notifier.observe(incident({ tracker: 'other', n: 3 }));
    await idle(notifier);
    assert.deepEqual(statuses(), ['firing', 'resolved', 'firing']);
    assert.equal(counts(notifier).failed, 3);
    assert.equal(logged.filter((line) => line.includes('notification_failed')).length, 3);
  });

  it('reaches a receiver that comes up later', async () => {
    const port = await freePort();
    const notifier = start(webhook(`http://127.0.0.1:${port}`, '  retryFirstMs: 5\n  retryMaxMs: 20\n'));
    notifier.observe(incident());
    await until('a failure', () => counts(notifier).failed >= 2);
    await inbox.open(port);
    await idle(notifier);
    assert.deepEqual(statuses(), ['firing']);
  });

  it('waits twice as long after each failure', async () => {
    const notifier = start(webhook(await inbox.open(), '  retryFirstMs: 1\n  retryMaxMs: 4\n'));
    inbox.answers = [500, 500, 500, 500, 500];
    notifier.observe(incident());
    await idle(notifier);
    assert.deepEqual(
      logged.map((line) => JSON.parse(line).retryMs),
      [1, 2, 4, 4, 4],
    );
  });

  it('does not try again what was refused', async () => {
    const notifier = start(webhook(await inbox.open()));
    inbox.answers = [400];
    notifier.observe(incident());
    await idle(notifier);
    notifier.observe(incident({ tracker: 'other' }));
    await idle(notifier);
    assert.deepEqual(counts(notifier), { sent: 1, failed: 1, dropped: 0, waiting: 0 });
    assert.match(logged[0], /notification_refused.*answered 400/);
  });

  it('holds a limited number of alerts for a receiver that is down, and tells the others when there is room', async function () {
    skipInFastRun(this);
    const port = await freePort();
    const notifier = start(
      webhook(`http://127.0.0.1:${port}`, '  queueAlerts: 3\n  retryFirstMs: 5\n  retryMaxMs: 20\n'),
    );
    for (let n = 0; n < 10; n++) notifier.observe(incident({ tracker: `t${n}` }));
    assert.deepEqual([counts(notifier).dropped, counts(notifier).waiting], [0, 3]);
    await inbox.open(port);
    await reached(10);
    assert.deepEqual(
      inbox.taken.map(({ body }) => body.groupLabels.tracker),
      Array.from({ length: 10 }, (_, n) => `t${n}`),
    );
  });

  it('takes back what is over, however much has begun meanwhile', async function () {
    skipInFastRun(this);
    const url = await inbox.open();
    const notifier = start(webhook(url, '  queueAlerts: 3\n  retryFirstMs: 5\n  retryMaxMs: 20\n'));
    notifier.observe(incident());
    await idle(notifier);
    // as good as down
    inbox.answers = Array.from({ length: 3 }, () => 503);
    notifier.observe(over());
    for (let n = 0; n < 10; n++) notifier.observe(incident({ tracker: `t${n}` }));
    await reached(12);
    const told = inbox.taken.map(({ body }) => `${body.groupLabels.tracker} ${body.status}`);
    assert.deepEqual(told.slice(0, 2), ['sort firing', 'sort resolved']);
    assert.deepEqual(
      told.slice(2),
      Array.from({ length: 10 }, (_, n) => `t${n} firing`),
    );
  });

  it('tells each receiver only what it wants', async () => {
    const url = await inbox.open();
    const notifier = start(
      receiver(`    type: webhook\n    url: ${url}\n    streams: ["gate-*"]\n    signals: [switch]\n`),
    );
    notifier.observe(incident({ stream: 'hall', signal: 'switch' }));
    notifier.observe(incident({ signal: 'missed' }));
    notifier.observe(incident({ stream: 'gate-9', signal: 'switch' }));
    await idle(notifier);
    assert.deepEqual(
      inbox.taken.map(({ body }) => body.commonLabels.stream),
      ['gate-9'],
    );
  });

  it('takes back after a restart what ended meanwhile, and goes on with what lasts', async () => {
    const url = await inbox.open();
    const first = start(webhook(url));
    first.observe(incident());
    first.observe(incident({ tracker: 'ended' }));
    await idle(first);
    await first.stop();
    const before = inbox.taken.length;
    // one goes on, one has ended, one has begun while nobody was told
    const second = start(webhook(url), [incident(), incident({ tracker: 'begun' })]);
    await idle(second);
    const told = inbox.taken.slice(before).flatMap(({ body }) => body.alerts);
    assert.deepEqual(
      told.map(({ status, labels, endsAt }) => [status, labels.tracker, endsAt]),
      [
        ['firing', 'begun', '0001-01-01T00:00:00Z'],
        ['resolved', 'ended', '2025-11-16T00:01:00.000Z'],
      ],
    );
    // the same event again, as after a crash, is no news
    second.observe(incident());
    second.observe(over());
    await idle(second);
    assert.deepEqual(statuses().slice(-1), ['resolved']);
    assert.equal(statuses().filter((status) => status === 'firing').length, 3);
  });

  it('tells an Alertmanager at once after a restart what goes on', async () => {
    const url = await inbox.open();
    const first = start(alertmanager(url));
    first.observe(incident());
    await idle(first);
    await first.stop();
    const second = start(alertmanager(url), [incident()]);
    await idle(second);
    assert.equal(inbox.taken.length, 2);
    assert.deepEqual(inbox.taken[1].body, inbox.taken[0].body);
  });

  it('says so when the file of what it remembered is of another version', async () => {
    writeFileSync(join(dir, 'notifications.json'), '{"version":2,"told":{}}');
    start(webhook(await inbox.open()));
    assert.match(logged[0], /notifications_unreadable/);
  });

  it('goes on without what it remembered when the file is damaged', async () => {
    writeFileSync(join(dir, 'notifications.json'), '{"version":1,"to');
    const notifier = start(webhook(await inbox.open()));
    assert.match(logged[0], /notifications_unreadable/);
    notifier.observe(incident());
    await idle(notifier);
    assert.equal(JSON.parse(readFileSync(join(dir, 'notifications.json'), 'utf8')).told.oncall.length, 1);
  });

  describe('about incidents', () => {
    const settings = (text: string) => `  retryFirstMs: 5\n  resolveAfterMs: 60000\n${text}`;
    const minimum = settings('  minimumMs: { missed: 3000 }\n');

    it('says nothing of a glitch, and once of what lasts', async () => {
      const notifier = start(webhook(await inbox.open(), minimum));
      notifier.observe(incident({ atMs: nowMs }));
      nowMs += 1000;
      notifier.observe(over({ atMs: nowMs }));
      notifier.observe(incident({ tracker: 'other', atMs: nowMs }));
      nowMs += 3000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(
        inbox.taken.map(({ body }) => body.groupLabels.tracker),
        ['other'],
      );
    });

    it('waits until a spike is beyond doubt, and tells of it once; of what stays in doubt as less urgent', async () => {
      const notifier = start(webhook(await inbox.open(), settings('  minimumMs: { missed: 1000 }\n  doubtMs: 8000\n')));
      const inDoubt = (tracker: string, change: object = {}) => {
        const event = incident({ tracker, severity: 'warning', atMs: nowMs, ...change });
        for (const signal of event.signals) signal.certain = false;
        return event;
      };
      notifier.observe(inDoubt('certain soon'));
      notifier.observe(inDoubt('in doubt'));
      notifier.observe(inDoubt('over soon'));
      nowMs += 3000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(statuses(), []);
      const { signals } = incident();
      const certain = signals.map((signal) => ({ ...signal, certain: true }));
      notifier.observe(incident({ tracker: 'certain soon', phase: 'update', signals: certain, atMs: nowMs }));
      notifier.observe(inDoubt('over soon', { phase: 'end', reason: 'recovered' }));
      nowMs += 5000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(
        inbox.taken.flatMap(({ body }) =>
          body.alerts.map((a: Alerted) => [a.labels.tracker, a.status, a.labels.severity]),
        ),
        [
          ['certain soon', 'firing', 'critical'],
          ['in doubt', 'firing', 'warning'],
        ],
      );
    });

    it('does not flap: what is back within a minute was never taken back', async () => {
      const notifier = start(webhook(await inbox.open(), settings('  minimumMs: { missed: 0 }\n')));
      for (let times = 1; times <= 9; times++) {
        notifier.observe(incident({ times, atMs: nowMs }));
        nowMs += 5000;
        notifier.observe(over({ times, atMs: nowMs }));
        nowMs += 15_000;
        notifier.look();
      }
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing']);
      nowMs += 60_000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing', 'resolved']);
    });

    it('tells of what lasts as less urgent before it takes back the urgent alert', async () => {
      const notifier = start(webhook(await inbox.open()));
      notifier.observe(incident());
      notifier.observe(incident({ phase: 'update', reason: 'adopted', lasting: 'adopted', severity: 'warning' }));
      await idle(notifier);
      const told = inbox.taken.flatMap(({ body }) => body.alerts);
      assert.deepEqual(
        told.map(({ status, labels }) => [status, labels.severity]),
        [
          ['firing', 'critical'],
          ['firing', 'warning'],
          ['resolved', 'critical'],
        ],
      );
      assert.match(
        told[1].annotations.description,
        /^Still bad since 23:59:59 UTC on 2025-11-15, and by now learned as normal/,
      );
    });

    it('tells of many streams at once by one alert, until all of them are well', async () => {
      streams = Array.from({ length: 50 }, (_, n) => `cam-${n}`);
      const groups = '  groups: [{ name: north, streams: ["cam-*"], atLeast: 5, labels: { site: north } }]\n';
      const notifier = start(webhook(await inbox.open(), settings(`  minimumMs: { missed: 3000 }\n${groups}`)));
      for (const [n, stream] of streams.entries()) {
        if (n < 46) notifier.observe(incident({ stream, atMs: nowMs + 20 * n }));
      }
      nowMs += 3000;
      notifier.look();
      nowMs += 5000;
      notifier.look();
      await idle(notifier);
      assert.equal(inbox.taken.length, 1);
      const [alert] = inbox.taken[0].body.alerts;
      assert.deepEqual([alert.labels.alertname, alert.labels.site], ['TrackerGroupIncident', 'north']);
      assert.match(alert.annotations.summary, /^46 of 50 streams of north are in trouble: 46 late\.$/);
      // they recover one after the other, which is nobody's news
      for (const [n, stream] of streams.entries()) {
        if (n < 45) notifier.observe(over({ stream, atMs: nowMs }));
      }
      nowMs += 60_000;
      notifier.look();
      await idle(notifier);
      assert.equal(inbox.taken.length, 1);
      notifier.observe(over({ stream: 'cam-45', atMs: nowMs }));
      nowMs += 60_000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing', 'resolved']);
    });

    it('reminds a webhook of what lasts, unless somebody looks after it', async () => {
      const notifier = start(webhook(await inbox.open(), `${AT_ONCE.replace('0\n', '60000\n')}  remindMs: 1000\n`));
      notifier.observe(incident());
      await idle(notifier);
      notifier.look();
      nowMs += 1000;
      notifier.look();
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing', 'firing']);
      await open[0].desk.remark(incident(), { action: 'acknowledge', by: 'me', atMs: nowMs });
      nowMs += 5000;
      notifier.look();
      await idle(notifier);
      assert.equal(statuses().length, 2);
    });

    it('says nothing of muted streams, over a restart, until the mute is over', async () => {
      const url = await inbox.open();
      const first = start(webhook(url));
      await first.desk.mute({ stream: 'gate-*', tracker: '*', untilMs: nowMs + 10_000, by: 'me' }, nowMs);
      await first.stop();
      const second = start(webhook(url));
      second.observe(incident());
      await idle(second);
      assert.deepEqual(statuses(), []);
      nowMs += 10_000;
      second.look();
      await idle(second);
      assert.deepEqual(statuses(), ['firing']);
    });

    it('takes back what somebody has closed, and tells of the next one', async () => {
      const notifier = start(webhook(await inbox.open()));
      notifier.observe(incident());
      await idle(notifier);
      await notifier.desk.remark(incident(), { action: 'close', by: 'me', atMs: nowMs });
      notifier.look();
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing', 'resolved']);
      notifier.observe(over());
      notifier.observe(incident({ id: 2 }));
      await idle(notifier);
      assert.deepEqual(statuses(), ['firing', 'resolved', 'firing']);
    });
  });

  describe('configuration', () => {
    const complaint = (lines: string, env: NodeJS.ProcessEnv = {}): string => {
      try {
        readConfig({ text: receiver(lines), env });
        return '';
      } catch (error) {
        assert.ok(error instanceof ConfigError);
        return error.message;
      }
    };

    it('needs exactly one address, without a password in it', () => {
      assert.match(complaint('    type: webhook\n'), /give exactly one of url, urlEnv and urlFile/);
      assert.match(complaint('    url: http://a\n    urlEnv: B\n'), /give exactly one of/);
      const withPassword = complaint('    url: http://me:pass-word@a\n');
      assert.match(withPassword, /contains a user name or password; use tokenEnv or tokenFile/);
      assert.match(complaint('    url: ftp://a\n'), /must begin with http/);
      assert.match(complaint('    url: nowhere\n'), /is not an address/);
      assert.match(complaint('    urlEnv: HOOK\n'), /environment variable HOOK is not set/);
      assert.match(complaint('    url: http://a\n    tokenEnv: X\n    tokenFile: y\n'), /not both/);
      assert.match(complaint('    url: http://a\n  - name: oncall\n    url: http://b\n'), /same name/);
    });

    it('keeps secrets out of messages and lines of the log', () => {
      const env = { HOOK: 'https://hooks.example/T000/secret-part', TOKEN: 'not usable because of spaces' };
      const message = complaint('    urlEnv: HOOK\n    tokenEnv: TOKEN\n', env);
      assert.match(message, /does not hold a valid token/);
      assert.ok(!message.includes(env.HOOK) && !message.includes(env.TOKEN));
      const { config } = readConfig({
        text: receiver('    urlEnv: HOOK\n    tokenEnv: TOKEN\n'),
        env: { ...env, TOKEN: 'abc-123' },
      });
      assert.deepEqual(notifySecrets(config, { ...env, TOKEN: 'abc-123' }), [env.HOOK, 'abc-123']);
    });
  });
});
