/**
 * Hostile texts at every place of every format: whatever stands where a number, a name or a row is expected, a message
 * is read in a time that grows with its length and no faster. What is measured is processor time, with a bound far
 * above what one pass takes and far below what a second pass for each character would.
 */
import { strict as assert } from 'node:assert';
import { adapters, formatByName } from '../../adapters/index.js';
import type { Format } from '../../adapters/kit/adapter.js';
import { readDecimal } from '../../adapters/kit/decimal.js';
import { NEEDED, SAMPLES, STAMPED } from '../kit/adapter-samples.js';
import { skipInFastRun } from '../kit/system/system.js';

const LONG = 100_000;
const HUGE = 1_000_000;
/** a pass over a million characters takes some ten milliseconds, a pass for each of 100,000 takes many seconds */
const BOUND_MS = 2000;

const SHAPES: ReadonlyArray<(length: number) => string> = [
  (n) => `${'1'.repeat(n)}x`,
  (n) => `${'1'.repeat(n / 2)}.${'1'.repeat(n / 2)}x`,
  (n) => `1e${'1'.repeat(n)}x`,
  (n) => `${'1.'.repeat(n / 2)}x`,
  (n) => `${' '.repeat(n)}x`,
  (n) => '-'.repeat(n),
  (n) => 'a,'.repeat(n / 2),
  (n) => 'a\n'.repeat(n / 2),
  (n) => `2026-10-10T12:24:57.${'1'.repeat(n)}`,
  (n) => '&amp'.repeat(n / 4),
  (n) => '<!--'.repeat(n / 4),
  (n) => '|'.repeat(n),
];

/** A sample with one of its words or numbers replaced, for each of the first of them. */
function* hostile(sample: unknown, text: string): Generator<unknown> {
  if (typeof sample === 'string') {
    const words = [...sample.matchAll(/[\w.-]+/g)].slice(0, 24);
    for (const { index, 0: word } of words) yield sample.slice(0, index) + text + sample.slice(index + word.length);
    return;
  }
  const json = JSON.stringify(sample);
  const values = [...json.matchAll(/(?<=[:[,])("[^"]*"(?!:)|-?\d[\d.]*)/g)].slice(0, 24);
  for (const { index, 0: value } of values)
    yield json.slice(0, index) + JSON.stringify(text) + json.slice(index + value.length);
}

function spentMs(action: () => unknown): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('hostile texts', () => {
  for (const name of adapters.keys()) {
    it(`${name} is read in one pass, whatever stands in its fields`, function () {
      skipInFastRun(this);
      const format = formatByName(name, NEEDED[name]) as Format;
      const stamp = STAMPED.has(name) ? { k: 1 } : {};
      for (const [length, shapes] of [
        [LONG, SHAPES],
        [HUGE, SHAPES.slice(0, 2)],
      ] as const)
        for (const [shape, make] of shapes.entries())
          for (const message of hostile(SAMPLES[name], make(length))) {
            const ms = spentMs(() => format.decoder('tracker').decode(message, stamp));
            assert.ok(
              ms < BOUND_MS,
              `shape ${shape} of ${length} characters: ${ms} ms in ${String(message).slice(0, 99)}`,
            );
          }
    });
  }

  it('decimals are told from other texts in one pass', () => {
    for (const make of SHAPES) {
      const text = make(HUGE);
      const ms = spentMs(() => assert.ok(Number.isNaN(readDecimal(text, 0, text.length))));
      assert.ok(ms < BOUND_MS, `${ms} ms`);
    }
    for (const text of ['1', '1.', '.5', '-1.5e3', '+2E-7', `0.${'3'.repeat(40)}`, '123456789012345678901', '1e400'])
      assert.equal(readDecimal(`x${text}x`, 1, 1 + text.length), Number(text));
    for (const text of ['', '.', '-', '1e', 'e5', '1.2.3', '0x10', '1_0', 'Infinity', ' 1'])
      assert.ok(Number.isNaN(readDecimal(text, 0, text.length)), text);
  });
});
