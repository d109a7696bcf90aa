/** The scanner gives what JSON.parse and checkFrame give, or leaves the message to them. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FrameScanner } from '../../../src/edge/feeds/frame-scanner.js';
import { Fault } from '../../../src/wire/fault.js';
import { checkFrame, type FrameRules } from '../../../src/wire/frame-check.js';
import { parseMessage } from '../../../src/wire/messages.js';
import { dimensionsOf, unpack } from '../../../src/wire/objects.js';
import type { StoredPart } from '../../kit/fake-live.js';
import { drawn, skipInFastRun } from '../../kit/system/system.js';

const SEED = 20261116;
const RULES: FrameRules = {
  objectsMax: 50,
  idLengthMax: 80,
  shape: 'box',
  dimensions: 0,
  geodesic: false,
  pointRemedy: '',
  strict: false,
};

/** What the scanner gives, with the objects one by one. */
const scan = (text: string, rules = RULES, scanner = new FrameScanner()) =>
  scanner.scan(Buffer.from(text), rules)?.map((part) => ({ ...part, objects: unpack(part.objects) })) ?? null;

/** The general way, frame by frame as a session does it; null when anything is wrong. */
function general(text: string, given: FrameRules): StoredPart[] | null {
  const rules = { ...given };
  const message = parseMessage(text);
  if (message instanceof Fault || (message.type !== 'frame' && message.type !== 'frames')) return null;
  const parts: StoredPart[] = [];
  for (const raw of message.type === 'frame' ? [message.raw] : message.raw) {
    const part = checkFrame(raw, rules);
    if (part instanceof Fault) return null;
    rules.dimensions = dimensionsOf(part.objects) || rules.dimensions;
    parts.push({ ...part, objects: unpack(part.objects) });
  }
  return parts;
}

const coordinate = fc.oneof(
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.integer({ min: -5000, max: 5000 }),
  fc.constantFrom(0, -0, 1e12, -1e12, 1.5e-9, 123456789012.123, 2 ** 40 + 0.1, 5e-324),
);
const side = fc.oneof(fc.double({ min: 1e-9, max: 1e6, noNaN: true }), fc.integer({ min: 1, max: 500 }));
const id = fc.oneof(
  fc.integer({ min: 0, max: 30 }).map(String),
  fc.string({ minLength: 1, maxLength: 80 }),
  fc.string({ minLength: 60, maxLength: 80, unit: fc.constantFrom('a', 'b') }),
);
const extras = fc.record({ class: fc.string({ maxLength: 10 }), confidence: coordinate }, { requiredKeys: [] });
const placed = (shape: 'box' | 'point') =>
  shape === 'box'
    ? fc.record({ id, box: fc.tuple(coordinate, coordinate, side, side) })
    : fc.record({ id, point: fc.array(coordinate, { minLength: 1, maxLength: 9 }) });
const frameOf = (shape: 'box' | 'point') =>
  fc
    .tuple(
      fc.record({ seq: fc.integer({ min: 1, max: 2 ** 40 }) }),
      fc.record({ k: fc.nat(), t: fc.double({ min: 0, max: 1e11, noNaN: true }) }, { requiredKeys: [] }),
      fc.array(
        fc.tuple(placed(shape), extras).map(([one, more]) => ({ ...one, ...more })),
        { maxLength: 12 },
      ),
    )
    .map(([seq, when, objects]) => ({ ...seq, ...when, objects }));
const messageOf = (shape: 'box' | 'point') =>
  fc.oneof(
    frameOf(shape).map((frame) => ({ type: 'frame', ...frame })),
    fc.array(frameOf(shape), { minLength: 1, maxLength: 4 }).map((frames) => ({ type: 'frames', frames })),
  );
/** As JSON.stringify writes it, as Python does, and with lines. */
const written = (shape: 'box' | 'point') =>
  fc.tuple(messageOf(shape), fc.constantFrom(0, 1, 2)).map(([message, style]) => {
    if (style === 0) return JSON.stringify(message);
    const text = JSON.stringify(message, null, 1);
    return style === 1 ? text : text.replaceAll(/\n\s*/g, ' ');
  });
const damaged = (shape: 'box' | 'point') =>
  fc
    .tuple(
      written(shape),
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.constantFrom('', ' ', '0', '-', '.', '"', ',', '}', 'e5', '\\', 'é'),
    )
    .map(([text, at, count, by]) => text.slice(0, at % text.length) + by + text.slice((at % text.length) + count));

describe('the frame scanner', () => {
  for (const shape of ['box', 'point'] as const) {
    it(`reads ${shape === 'box' ? 'boxes' : 'points'} as JSON.parse and checkFrame do`, () => {
      const scanner = new FrameScanner();
      let scanned = 0;
      fc.assert(
        fc.property(written(shape), (text) => {
          const parts = scan(text, { ...RULES, shape }, scanner);
          const expected = general(text, { ...RULES, shape });
          if (parts) scanned++;
          if (parts) assert.deepStrictEqual(parts, expected);
        }),
        { seed: SEED, numRuns: 2000 },
      );
      assert.ok(scanned > 100, `only ${scanned} of 2000 were scanned`);
    });

    it(`leaves damaged messages with ${shape === 'box' ? 'boxes' : 'points'} to them, unless they are right after all`, function () {
      skipInFastRun(this);
      const scanner = new FrameScanner();
      let refused = 0;
      fc.assert(
        fc.property(damaged(shape), (text) => {
          const parts = scan(text, { ...RULES, shape }, scanner);
          const expected = general(text, { ...RULES, shape });
          if (!expected) refused++;
          if (parts) assert.deepStrictEqual(parts, expected);
        }),
        { seed: SEED, numRuns: drawn(5000) },
      );
      assert.ok(refused > 1000, `only ${refused} of 5000 were damaged`);
    });
  }

  it('scans what clients send', () => {
    const box = '{"id":"7","box":[1,2.5,3,4],"class":"car","confidence":0.5}';
    for (const text of [
      `{"type":"frame","seq":1,"k":1,"t":1763251200.033,"objects":[${box}]}`,
      `{"type": "frame", "seq": 1, "k": 1, "objects": [{"id": "7", "box": [1.0, 2e2, 3, 4]}, {"id": "8", "box": [1, 2, 3, 4]}]}`,
      `{"type":"frames","frames":[{"seq":2,"k":2,"objects":[]},{"type":"frame","seq":3,"t":0,"objects":[${box}]}]}`,
    ])
      assert.deepStrictEqual(scan(text) ?? assert.fail(text), general(text, RULES));
  });

  it('refuses what checkFrame refuses', () => {
    const frame = (objects: string, rest = '"k":1') => `{"type":"frame","seq":1,${rest},"objects":[${objects}]}`;
    const wrong = [
      frame('{"id":"7","box":[1,2,0,4]}'),
      frame('{"id":"7","box":[1,2,3]}'),
      frame('{"id":"7","box":[1,2,3,1e13]}'),
      frame('{"id":"","box":[1,2,3,4]}'),
      frame('{"id":7,"box":[1,2,3,4]}'),
      frame('{"id":"7","box":[1,2,3,4]},{"id":"7","box":[1,2,3,4]}'),
      frame('{"id":"7","point":[1,2]}'),
      frame('{"id":"7","box":[1,2,3,4],"speed":1}'),
      frame('{"id":"7","box":[01,2,3,4]}'),
      frame('{"id":"7","box":[1.,2,3,4]}'),
      frame('{"id":"7","box":[1,2,3,4]},'),
      frame('', '"k":-1'),
      frame('', '"k":1.5'),
      frame('', '"t":1e12'),
      frame('').replace('"seq":1', '"seq":0'),
      frame('').replace('"seq":1,', ''),
      `${frame('')} x`,
      frame(Array.from({ length: 51 }, (_, n) => `{"id":"${n}","box":[1,2,3,4]}`).join(',')),
    ];
    for (const text of wrong) {
      assert.equal(scan(text), null, text);
      assert.equal(general(text, RULES), null, text);
    }
  });

  it('finds ids that come twice, also when its table is crowded', () => {
    const scanner = new FrameScanner();
    const rules = { ...RULES, objectsMax: 100_000 };
    const message = (ids: string[]) =>
      `{"type":"frame","seq":1,"k":1,"objects":[${ids.map((one) => `{"id":"${one}","box":[1,2,3,4]}`).join(',')}]}`;
    const many = Array.from({ length: 40_000 }, (_, n) => `id-${n}`);
    assert.equal(scan(message(many), rules, scanner)?.[0].objects.length, many.length);
    for (const twice of [0, 1, 17, 39_000]) assert.equal(scan(message([...many, many[twice]]), rules, scanner), null);
    assert.equal(scan(message(['7', '7']), rules, scanner), null);
    assert.ok(scan(message(['7', '8']), rules, scanner));
  });

  it('rounds numbers as Number does', () => {
    const scanner = new FrameScanner();
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 12 });
    const number = fc.tuple(fc.constantFrom('', '-'), digits, digits, fc.constantFrom('', '', '', 'e3', 'E-7', 'e+2'));
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 8 }), (numbers) => {
        const texts = numbers.map(([sign, whole, rest, power]) => `${sign}${BigInt(whole)}.${rest}${power}`);
        const text = `{"type":"frame","seq":1,"k":1,"objects":[{"id":"a","point":[${texts.join(',')}]}]}`;
        const point = scan(text, { ...RULES, shape: 'point' }, scanner)?.[0].objects[0].point;
        if (point) for (const [n, one] of texts.entries()) assert.ok(Object.is(point[n], Number(one)), one);
        else assert.ok(texts.some((one) => Math.abs(Number(one)) > 1e12));
      }),
      { seed: SEED, numRuns: drawn(5000) },
    );
  });
});
