/** What the demo shows on a terminal of 80 columns: events scroll, the line of figures stays, nothing is wider. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { DemoSummary } from '../../src/commands/demo-summary.js';
import type { LiveEvent } from '../../src/wire/events.js';

/** What stands on a terminal: lines that were cleared are gone. */
function terminal(columns: number, scrolls: boolean) {
  let text = '';
  const out = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  const lines = () =>
    text.split('\n').map((line) => {
      const [before, ...drawn] = line.split('\r\x1b[2K');
      return drawn.at(-1) ?? before;
    });
  return { console: { out, err: out, screen: { columns, colors: false }, progress: false, scrolls }, lines };
}

const series = { stream: 'crossing', profile: 'online-surveillance' };
const report = (tracker: string, k: number, distance: number, missed: number) =>
  ({
    type: 'report',
    ...series,
    tracker,
    k,
    report: { distance, exact: distance < 1000, count: { missed, false: 0 } },
  }) as unknown as LiveEvent;
const events = [
  report('steady', 1234, 0.934, 2),
  report('faulty', 1234, 12.41, 34),
  { type: 'silence', ...series, tracker: 'faulty', over: false },
  {
    type: 'spike',
    ...series,
    tracker: 'faulty',
    signal: 'missed',
    phase: 'start',
    k: 320,
    expected: 0.123,
    observed: 4.2,
  },
  { type: 'incident', ...series, tracker: 'faulty', phase: 'start', cause: 'unknown', message: 'no single cause' },
  {
    type: 'incident',
    ...series,
    tracker: 'faulty',
    phase: 'update',
    cause: 'silent',
    message: 'the tracker reports nothing at all, and the reference has four objects in every frame',
  },
  { type: 'incident', ...series, tracker: 'faulty', phase: 'update', cause: 'silent', message: 'the same' },
  { type: 'switch', ...series, tracker: 'faulty', k: 422, truth: '2/1', from: 'c2/1', to: null, switches: 1 },
  { type: 'incident', ...series, tracker: 'faulty', phase: 'end', cause: 'silent', message: 'over' },
] as unknown as LiveEvent[];

describe('the terminal of the demo', () => {
  it('keeps what happened, and the newest figures in the last line, within 80 columns', () => {
    const { console, lines } = terminal(80, true);
    const summary = new DemoSummary(['steady', 'faulty'], console);
    for (const event of events) summary.apply(event);
    summary.stop();
    const shown = lines();
    for (const line of shown) assert.ok(line.length < 80, line);
    const untimed = shown.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''));
    assert.deepEqual(untimed, [
      'faulty is silent',
      'SPIKE faulty missed: 4.2, usual 0.12, since frame 320',
      'INCIDENT faulty, silent: the tracker reports nothing at all, and the',
      '          reference has four objects in every frame',
      'faulty: truth 2/1 switched from c2/1 to none, frame 422',
      'faulty: all is well again',
      'frame 1234 | steady 0.934: 2 missed, 0 false | faulty 12.4: 34 missed, 0 false',
      '',
    ]);
  });

  it('is never cut: large figures are short, and marked where they are not proven', () => {
    const { console, lines } = terminal(80, true);
    const summary = new DemoSummary(['sharp', 'blunt'], console);
    summary.apply(report('sharp', 123_456, 2561, 1234));
    summary.apply({ type: 'silence', ...series, tracker: 'blunt', over: false } as unknown as LiveEvent);
    summary.apply(report('blunt', 123_456, 998, 12_345));
    summary.apply({ type: 'silence', ...series, tracker: 'blunt', over: true } as unknown as LiveEvent);
    summary.stop();
    assert.equal(lines().at(-2), 'frame 123456 | sharp <= 2.56k: 1234 m, 0 f | blunt 998: 12345 m, 0 f');
  });

  it('has the switches too where there is room', () => {
    const { console, lines } = terminal(120, true);
    const summary = new DemoSummary(['steady', 'faulty'], console);
    for (const event of events) summary.apply(event);
    summary.stop();
    assert.match(lines().at(-2)!, /\| faulty 12\.4: 34 missed, 0 false, 1 switches$/);
  });

  it('clears nothing where output is no terminal', () => {
    const { console, lines } = terminal(80, false);
    const summary = new DemoSummary(['steady', 'faulty'], console);
    for (const event of events) summary.apply(event);
    summary.stop();
    assert.equal(lines().filter((line) => line.includes('frame 1234')).length, 0);
    assert.equal(lines().length, 7);
  });
});
