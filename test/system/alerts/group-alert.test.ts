/**
 * Fifty streams that fail together, with a real Alertmanager under the shipped configuration: it is down when they do,
 * there is one page, and nothing is resolved while anything is broken.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeskFile } from '../../../src/alerts/desk-file.js';
import { IncidentDesk } from '../../../src/alerts/incident-desk.js';
import { Notifier } from '../../../src/alerts/notifier.js';
import { notifyReceivers, readConfig } from '../../../src/config/config.js';
import type { IncidentEvent } from '../../../src/wire/incidents.js';
import { Receiver, startAlertmanager } from '../../kit/system/monitoring.js';
import type { Program } from '../../kit/system/program.js';
import { freePort, hasProgram, skipInFastRun, skipUnless, until } from '../../kit/system/system.js';

const STREAMS = Array.from({ length: 50 }, (_, n) => `cam-${n}`);
const DEADLINE_MS = 60_000;

const incident = (stream: string, changes: Partial<IncidentEvent> = {}): IncidentEvent => ({
  ...{ type: 'incident', phase: 'start', reason: 'signals', stream, tracker: 'sort', profile: 'p', id: 1, times: 1 },
  ...{ k: 100, at: 104, sinceMs: Date.now(), severity: 'critical', lasting: null, cause: 'silent' },
  ...{ message: 'nothing comes from it', evidence: {}, atMs: Date.now() },
  signals: [{ signal: 'missed', expected: 0.1, observed: 20, concerned: 20, of: 20, objects: [], over: false }],
  ...changes,
});

describe('fifty streams that fail together', () => {
  let folder: string;
  let receiver: Receiver | undefined;
  let alertmanager: Program | undefined;
  let notifier: Notifier | undefined;

  before(function () {
    skipInFastRun(this);
    skipUnless(this, hasProgram('prometheus-alertmanager'), 'alertmanager is needed; Debian: prometheus-alertmanager');
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tgospa-group-'));
  });
  afterEach(async () => {
    await notifier?.stop();
    await alertmanager?.stop();
    await receiver?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are one page, which is not lost while Alertmanager is down and not resolved while anything is broken', async () => {
    receiver = await Receiver.start();
    const { notices } = receiver;
    const port = await freePort();
    const notify = {
      retryFirstMs: 50,
      retryMaxMs: 200,
      repeatMs: 500,
      resolveAfterMs: 0,
      minimumMs: { missed: 500, false: 0 },
      groups: [{ name: 'north', streams: ['cam-*'], atLeast: 5 }],
      receivers: [{ name: 'am', url: `http://127.0.0.1:${port}` }],
    };
    const { config } = readConfig({ text: JSON.stringify({ notify }), env: {} });
    const logger = { info: () => {}, warn: () => {} };
    const desk = new IncidentDesk(new DeskFile(folder, logger), logger, config.notify);
    notifier = new Notifier({
      settings: config.notify,
      receivers: notifyReceivers(config, {}),
      dir: folder,
      desk,
      logger,
    });
    notifier.start('http://127.0.0.1:9477', [], () => STREAMS);
    const { counts } = { counts: () => notifier!.counts()[0][1] };
    for (const stream of STREAMS) notifier.observe(incident(stream));
    await until('a delivery has failed', () => counts().failed > 0, DEADLINE_MS);
    alertmanager = startAlertmanager(folder, port, receiver.url);
    await alertmanager.ready(`http://127.0.0.1:${port}/-/ready`);
    await until('the page', () => receiver!.has('firing', { alertname: 'TrackerGroupIncident' }), DEADLINE_MS);
    assert.match(notices[0].annotations.summary, /^50 of 50 streams of north are in trouble: 50 silent\.$/);

    // learned, gone, and all but one well again: still broken; what comes behind that proves that nothing else came
    for (const [n, stream] of STREAMS.entries()) {
      const lasting = n % 2 === 0 ? 'adopted' : 'retired';
      notifier.observe(incident(stream, { phase: 'update', reason: lasting, lasting, severity: 'warning' }));
    }
    for (const stream of STREAMS.slice(1)) notifier.observe(incident(stream, { phase: 'end', reason: 'recovered' }));
    notifier.observe(incident('yard', { signals: [{ ...incident('yard').signals[0], signal: 'false' }] }));
    await until('the marker', () => receiver!.has('firing', { stream: 'yard' }), DEADLINE_MS);
    assert.deepEqual(
      notices.map(({ status, labels }) => [status, labels.alertname]),
      [
        ['firing', 'TrackerGroupIncident'],
        ['firing', 'TrackerFalseSpike'],
      ],
    );

    notifier.observe(incident(STREAMS[0], { phase: 'end', reason: 'recovered' }));
    await until('the end', () => receiver!.has('resolved', { alertname: 'TrackerGroupIncident' }), DEADLINE_MS);
    assert.equal(notices.filter(({ labels }) => labels.stream?.startsWith('cam-')).length, 0);
  });
});
