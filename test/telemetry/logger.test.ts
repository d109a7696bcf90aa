import { strict as assert } from 'node:assert';
import { createLogger } from '../../src/telemetry/logger.js';

describe('logger', () => {
  const lines: string[] = [];
  const options = { write: (line: string) => lines.push(line), now: () => new Date(0) };
  beforeEach(() => lines.splice(0));

  it('writes one JSON object per line', () => {
    createLogger(options).warn('feed_opened', { stream: 'gate-7', nextSeq: 3 });
    assert.deepEqual(lines, [
      '{"time":"1970-01-01T00:00:00.000Z","level":"warn","event":"feed_opened","stream":"gate-7","nextSeq":3}\n',
    ]);
  });

  it('leaves out what is below its level', () => {
    const logger = createLogger({ ...options, level: 'warn' });
    logger.info('quiet');
    logger.error('loud');
    createLogger({ ...options, level: 'silent' }).error('nothing');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ['loud'],
    );
  });

  it('never lets a secret out, wherever it stands', () => {
    const logger = createLogger({ ...options, secrets: ['correct-horse'] });
    logger.info('correct-horse', {
      header: 'Bearer correct-horse',
      nested: { list: ['xcorrect-horsex'] },
      error: new Error('bad token correct-horse'),
    });
    assert.ok(!lines[0].includes('correct-horse'));
    assert.equal(JSON.parse(lines[0]).header, 'Bearer [secret]');
  });

  it('shows errors with their message and stack', () => {
    createLogger(options).error('failed', { error: new Error('no') });
    const { error } = JSON.parse(lines[0]);
    assert.equal(error.message, 'no');
    assert.match(error.stack, /logger\.test/);
  });
});
