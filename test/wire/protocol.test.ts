import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { helloReader } from '../../src/config/config.js';
import { CLOSE_CODES, HTTP_CODES, REJECT_CODES, SKIP_RULES } from '../../src/wire/codes.js';
import { Fault } from '../../src/wire/fault.js';
import { FINDINGS } from '../../src/wire/findings.js';
import { checkFrame, type FrameRules, type SkippedObject } from '../../src/wire/frame-check.js';
import { CAUSES } from '../../src/wire/incidents.js';
import { checkHello, parseMessage } from '../../src/wire/messages.js';
import { NO_OBJECTS, unpack } from '../../src/wire/objects.js';
import { configOf, frame, Probe, type RunningEdge, startEdge } from '../kit/edge.js';
import { drawn } from '../kit/system/system.js';

const page = readFileSync(new URL('../../../src/wire/PROTOCOL.md', import.meta.url), 'utf8');

/** Rows of the table under a sentence, as cells. */
function table(after: string): string[][] {
  const lines = page
    .slice(page.indexOf(after) + after.length)
    .trimStart()
    .split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines
    .slice(2, end < 0 || end > lines.length ? undefined : end)
    .filter(Boolean)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const boxes: FrameRules = {
  objectsMax: 5,
  idLengthMax: 8,
  shape: 'box',
  dimensions: 0,
  geodesic: false,
  pointRemedy: '',
  strict: false,
};
const points: FrameRules = { ...boxes, shape: 'point' };

/** Code and path of what is wrong with a frame. */
const wrong = (raw: unknown, rules = boxes) => {
  const result = checkFrame(raw, rules);
  return result instanceof Fault ? `${result.code} ${result.path}` : 'ok';
};
const withObject = (object: unknown) => frame(1, { objects: [object] });

/** The rule by which an object is left out beside a good one, or what becomes of the frame. */
function fateOf(object: unknown, good: unknown, rules: FrameRules): string {
  const skipped: SkippedObject[] = [];
  const result = checkFrame(frame(1, { objects: [object, good] }), rules, skipped);
  if (result instanceof Fault) return `${result.code} ${result.path}`;
  if (skipped.length === 0) return 'kept';
  const [{ rule, fault }] = skipped;
  assert.equal(unpack(result.objects).length, 1);
  return `${rule} ${fault.path}`;
}

describe('incomplete objects', () => {
  const box = { id: 'a', box: [1, 2, 3, 4] };
  const cases: Array<[unknown, string]> = [
    [null, 'object_missing objects[0]'],
    [{ box: [1, 2, 3, 4] }, 'id_missing objects[0].id'],
    [{ id: '', box: [1, 2, 3, 4] }, 'id_missing objects[0].id'],
    [{ id: 'b' }, 'place_missing objects[0].box'],
    [{ id: 'b', box: null }, 'place_missing objects[0].box'],
    [{ id: 'b', box: [1, null, 3, 4] }, 'coordinate_missing objects[0].box[1]'],
    [{ id: 'b', box: [1e13, 2, 3, 4] }, 'coordinate_impossible objects[0].box[0]'],
    [{ id: 'b', box: [1, 2, 0, 4] }, 'size_impossible objects[0].box[2]'],
    [{ id: 'b', box: [1, 2, 3, -4] }, 'size_impossible objects[0].box[3]'],
    [{ id: 'b', box: [1, 2, 3, 4], confidence: null }, 'attribute_missing objects[0].confidence'],
  ];
  const mistakes: Array<[unknown, string]> = [
    [7, 'frame_invalid objects[0]'],
    [{ id: 7, box: [1, 2, 0, 4] }, 'frame_invalid objects[0].id'],
    [{ id: 'b', box: ['1', 2, 3, 4] }, 'frame_invalid objects[0].box[0]'],
    [{ id: 'b', box: [1, 2, 3] }, 'frame_invalid objects[0].box'],
    [{ id: 'b', box: [1, 2, 0, 4], speed: 3 }, 'frame_invalid objects[0].speed'],
    [{ id: 'b', point: [1, 2] }, 'shape_mismatch objects[0].point'],
    [{ id: 'a', box: [1, 2, 3, 4] }, 'id_duplicate objects[1].id'],
  ];

  it('are left out by their rule, and the others kept', () => {
    for (const [object, fate] of cases) assert.equal(fateOf(object, box, boxes), fate);
    const earth = { ...points, geodesic: true, dimensions: 2 };
    const far = fateOf({ id: 'b', point: [91, 0] }, { id: 'a', point: [50, 1] }, earth);
    assert.equal(far, 'coordinate_impossible objects[0].point');
  });

  it('refuse the frame on a stream that is strict', () => {
    for (const [object] of cases)
      assert.match(fateOf(object, box, { ...boxes, strict: true }), /^frame_invalid objects\[0\]/);
  });

  it('refuse the frame when none is left, because that is no empty scene', () => {
    for (const [object, fate] of cases) assert.equal(wrong(withObject(object)), `frame_invalid ${fate.split(' ')[1]}`);
  });

  it('are something else than mistakes of the sender, which always refuse the frame', () => {
    for (const [object, fate] of mistakes) assert.equal(fateOf(object, box, boxes), fate);
  });
});

/** what the examples of points are judged under */
const PROFILES =
  'profiles: { harbour: { distance: geodesic, cutoff: 200, admissibleError: 136, shortSwitchDistance: 68 } }';

describe('protocol', () => {
  describe('page', () => {
    it('lists exactly the close codes of the code, with their meaning', () => {
      assert.deepEqual(
        table('whether a client should come back:'),
        Object.entries(CLOSE_CODES).map(([code, { meaning, retry }]) => [code, meaning, retry ? 'yes' : 'no']),
      );
    });

    for (const client of ['src/client.ts', 'adapters/python/tgospa_live/client.py'])
      it(`is what ${client} goes by: it stays away after the codes that say so`, () => {
        const text = readFileSync(new URL(`../../../${client}`, import.meta.url), 'utf8');
        const [, list] = /FINAL_CLOSE_CODES.*?[[{]([\d, ]+)[\]}]/.exec(text)!;
        const stay = Object.entries(CLOSE_CODES).flatMap(([code, { retry }]) =>
          retry || code === '1000' ? [] : [code],
        );
        assert.deepEqual(list.split(', '), stay);
      });

    it('lists exactly the codes of reject, with what follows', () => {
      assert.deepEqual(
        table('Codes of `reject`, and what follows:'),
        Object.entries(REJECT_CODES).map(([code, { meaning, close }]) => [
          `\`${code}\``,
          meaning,
          close ? `closes with ${close}` : 'stays open',
        ]),
      );
    });

    it('lists exactly the rules by which an object is left out', () => {
      assert.deepEqual(
        table('Rules by which an object is left out of its frame:'),
        Object.entries(SKIP_RULES).map(([rule, meaning]) => [`\`${rule}\``, meaning]),
      );
    });

    it('lists exactly the codes of HTTP answers', () => {
      assert.deepEqual(
        table('Codes of HTTP answers:'),
        Object.entries(HTTP_CODES).map(([code, { meaning, status }]) => [String(status), `\`${code}\``, meaning]),
      );
    });

    it('lists exactly the findings', () => {
      assert.deepEqual(
        table('it explains. The kinds:'),
        Object.entries(FINDINGS).map(([name, meaning]) => [`\`${name}\``, meaning]),
      );
    });

    it('lists exactly the causes of incidents', () => {
      assert.deepEqual(
        table('and in the log. The causes:'),
        Object.entries(CAUSES).map(([name, meaning]) => [`\`${name}\``, meaning]),
      );
    });

    const conversations = [...page.matchAll(/```conversation\n([\s\S]*?)```/g)].map((match) =>
      match[1].trim().split('\n'),
    );
    let edge: RunningEdge | undefined;
    afterEach(async () => {
      await edge?.stop();
      edge = undefined;
    });

    for (const [n, lines] of conversations.entries()) {
      it(`shows conversation ${n + 1} as it really goes`, async () => {
        edge = await startEdge(PROFILES);
        let probe = await Probe.open(`${edge.ws}/v1/ingest`);
        let session = '';
        for (const line of lines) {
          if (line.startsWith('-> ')) probe.send(line.slice(3).replace('(of the last welcome)', session));
          else if (line === 'cut') {
            probe.socket.terminate();
            probe = await Probe.open(`${edge.ws}/v1/ingest`);
          } else if (line.startsWith('<- closed ')) assert.equal((await probe.closed).code, Number(line.slice(10)));
          else {
            const message = await probe.next();
            if (message.type === 'welcome') session = message.session as string;
            assertMatches(message, JSON.parse(line.slice(3)));
          }
        }
        assert.ok(lines.length > 0);
      });
    }

    it('has conversations at all', () => assert.ok(conversations.length >= 4));
  });

  describe('frame', () => {
    it('passes with box, class, confidence, and k or t', () => {
      assert.deepEqual(
        checkFrame(
          {
            type: 'frame',
            seq: 3,
            t: 1.5,
            objects: [{ id: 'a', box: [-1, 0, 0.5, 2], class: 'car', confidence: 0.5 }],
          },
          boxes,
        ),
        {
          seq: 3,
          t: 1.5,
          objects: {
            ...{ shape: 'box', stride: 4, ids: ['a'], coordinates: [-1, 0, 0.5, 2] },
            ...{ classes: ['car'], confidences: [0.5] },
          },
        },
      );
      assert.deepEqual(checkFrame({ seq: 1, k: 0, objects: [] }, points), { seq: 1, k: 0, objects: NO_OBJECTS });
    });

    it('keeps points of one dimension', () => {
      const object = (...point: number[]) => ({ id: String(point), point });
      assert.equal(wrong(frame(1, { objects: [object(1, 2, 3), object(4, 5, 6)] }), points), 'ok');
      assert.equal(
        wrong(frame(1, { objects: [object(1, 2, 3), object(4, 5)] }), points),
        'shape_mismatch objects[1].point',
      );
      assert.equal(wrong(withObject(object(1, 2)), { ...points, dimensions: 3 }), 'shape_mismatch objects[0].point');
      assert.equal(
        wrong(withObject(object(91, 2)), { ...points, dimensions: 2, geodesic: true }),
        'frame_invalid objects[0].point',
      );
      assert.equal(wrong(withObject(object(89, 179)), { ...points, dimensions: 2, geodesic: true }), 'ok');
    });

    for (const [what, raw, expected, rules] of [
      ['no object', 7, 'frame_invalid '],
      ['no seq', { k: 1, objects: [] }, 'frame_invalid seq'],
      ['seq 0', frame(0), 'frame_invalid seq'],
      ['a fraction as seq', frame(1.5), 'frame_invalid seq'],
      ['text as k', frame(1, { k: '1' }), 'frame_invalid k'],
      ['neither k nor t', frame(1, { k: undefined }), 'frame_invalid k'],
      ['milliseconds as t', frame(1, { t: 1763251200033 }), 'frame_invalid t'],
      ['an infinite t', frame(1, { t: Number.POSITIVE_INFINITY }), 'frame_invalid t'],
      ['an unknown field', frame(1, { fps: 30 }), 'frame_invalid fps'],
      ['an own __proto__', JSON.parse('{"seq":1,"k":1,"objects":[],"__proto__":{}}'), 'frame_invalid __proto__'],
      ['objects that are no array', frame(1, { objects: {} }), 'frame_invalid objects'],
      ['too many objects', frame(1, { objects: [1, 2, 3, 4, 5, 6] }), 'objects_exceeded objects'],
      ['null as object', withObject(null), 'frame_invalid objects[0]'],
      ['an object without id', withObject({ box: [0, 0, 1, 1] }), 'frame_invalid objects[0].id'],
      ['a number as id', withObject({ id: 7, box: [0, 0, 1, 1] }), 'frame_invalid objects[0].id'],
      ['an empty id', withObject({ id: '', box: [0, 0, 1, 1] }), 'frame_invalid objects[0].id'],
      ['a long id', withObject({ id: '123456789', box: [0, 0, 1, 1] }), 'frame_invalid objects[0].id'],
      [
        'an id twice',
        frame(1, {
          objects: [
            { id: 'a', box: [0, 0, 1, 1] },
            { id: 'a', box: [5, 5, 1, 1] },
          ],
        }),
        'id_duplicate objects[1].id',
      ],
      ['no box', withObject({ id: 'a' }), 'frame_invalid objects[0].box'],
      ['three numbers as box', withObject({ id: 'a', box: [0, 0, 1] }), 'frame_invalid objects[0].box'],
      ['text in a box', withObject({ id: 'a', box: [0, '0', 1, 1] }), 'frame_invalid objects[0].box[1]'],
      ['null in a box', withObject({ id: 'a', box: [0, 0, 1, null] }), 'frame_invalid objects[0].box[3]'],
      [
        'an infinite coordinate',
        withObject({ id: 'a', box: [JSON.parse('1e999'), 0, 1, 1] }),
        'frame_invalid objects[0].box[0]',
      ],
      ['NaN as coordinate', withObject({ id: 'a', box: [Number.NaN, 0, 1, 1] }), 'frame_invalid objects[0].box[0]'],
      [
        'a coordinate beyond all measure',
        withObject({ id: 'a', box: [1e13, 0, 1, 1] }),
        'frame_invalid objects[0].box[0]',
      ],
      ['a width of 0', withObject({ id: 'a', box: [0, 0, 0, 1] }), 'frame_invalid objects[0].box[2]'],
      ['a negative height', withObject({ id: 'a', box: [0, 0, 1, -1] }), 'frame_invalid objects[0].box[3]'],
      ['a point among boxes', withObject({ id: 'a', point: [1, 2] }), 'shape_mismatch objects[0].point'],
      [
        'box and point at once',
        withObject({ id: 'a', box: [0, 0, 1, 1], point: [1, 2] }),
        'shape_mismatch objects[0].point',
      ],
      ['a box among points', withObject({ id: 'a', box: [0, 0, 1, 1] }), 'shape_mismatch objects[0].box', points],
      ['an empty point', withObject({ id: 'a', point: [] }), 'frame_invalid objects[0].point', points],
      [
        'a point of too many dimensions',
        withObject({ id: 'a', point: [1, 2, 3, 4, 5, 6, 7, 8, 9] }),
        'frame_invalid objects[0].point',
        points,
      ],
      ['a number as class', withObject({ id: 'a', box: [0, 0, 1, 1], class: 3 }), 'frame_invalid objects[0].class'],
      [
        'text as confidence',
        withObject({ id: 'a', box: [0, 0, 1, 1], confidence: 'high' }),
        'frame_invalid objects[0].confidence',
      ],
      [
        'an unknown field of an object',
        withObject({ id: 'a', box: [0, 0, 1, 1], speed: 3 }),
        'frame_invalid objects[0].speed',
      ],
    ] as Array<[string, unknown, string, FrameRules?]>) {
      it(`is rejected with ${what}`, () => assert.equal(wrong(raw, rules), expected));
    }

    it('names the sequence number, the value and the remedy', () => {
      const fault = checkFrame(frame(58, { objects: [{ id: 'a', box: [0, 0, -2, 1] }] }), boxes) as Fault;
      assert.deepEqual(fault.toMessage(), {
        type: 'reject',
        seq: 58,
        code: 'frame_invalid',
        path: 'objects[0].box[2]',
        value: '-2',
        message: 'objects[0].box[2] is -2; the width of a box must be above 0; leave the object out or repair it',
      });
    });

    it('that passes holds only finite numbers, unique ids and known fields', () => {
      fc.assert(
        fc.property(anyFrame, (raw) => {
          const skipped: SkippedObject[] = [];
          const part = checkFrame(raw, boxes, skipped);
          if (part instanceof Fault) return;
          const objects = unpack(part.objects);
          assert.ok(
            objects.every((object) => object.box!.every(Number.isFinite) && object.box![2] > 0 && object.box![3] > 0),
          );
          assert.equal(new Set(objects.map((object) => object.id)).size, objects.length);
          const { objects: sent } = raw as unknown as { objects: object[] };
          const gone = new Set(skipped.map(({ fault }) => Number(/^objects\[(\d+)\]/.exec(fault.path)![1])));
          assert.deepEqual(
            objects,
            sent.filter((_, n) => !gone.has(n)).map((object) => ({ ...object })),
          );
        }),
        { seed: 20261116, numRuns: drawn(2000) },
      );
    });
  });

  describe('message', () => {
    const codeOf = (text: string) => {
      const message = parseMessage(text);
      return message instanceof Fault ? `${message.code} ${message.path}` : message.type;
    };

    it('is rejected by its outside', () => {
      assert.equal(codeOf('{'), 'json_invalid ');
      assert.equal(codeOf('[]'), 'message_invalid ');
      assert.equal(codeOf('null'), 'message_invalid ');
      assert.equal(codeOf('{"type":"dance"}'), 'message_invalid type');
      assert.equal(codeOf('{"type":"end","now":1}'), 'message_invalid now');
      assert.equal(codeOf('{"type":"frames","frames":[]}'), 'message_invalid frames');
      assert.equal(codeOf('{"type":"frames","frames":[1],"x":1}'), 'message_invalid x');
      assert.equal(codeOf('{"type":"end"}'), 'end');
    });

    it('may be nested as deeply as its size allows', () => {
      const deep = '['.repeat(300_000) + ']'.repeat(300_000);
      const message = parseMessage(`{"type":"frame","seq":1,"k":1,"objects":[{"id":${deep}}]}`);
      assert.ok(!(message instanceof Fault));
      assert.equal(wrong((message as { raw: unknown }).raw), 'frame_invalid objects[0].id');
    });
  });

  it('takes the resume field and the settings of a hello', () => {
    const read = helloReader(configOf(''));
    const hello = checkHello(
      {
        type: 'hello',
        stream: 'a/b',
        role: 'reference',
        settings: { windowFrames: 20 },
        resume: { session: 's', seq: 5 },
      },
      read,
    );
    assert.deepEqual(hello, {
      feed: { stream: 'a/b', role: 'reference', tracker: null },
      format: 'native',
      options: undefined,
      shape: undefined,
      settings: { windowFrames: 20 },
      resume: { session: 's', seq: 5 },
    });
  });
});

const anyNumber = fc.oneof(
  fc.double(),
  fc.integer({ min: -5, max: 50 }),
  fc.constant(0),
  fc.constant(Number.NaN),
  fc.constant(Number.POSITIVE_INFINITY),
);
const anyObject = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      id: fc.oneof(fc.constantFrom('1', '2', '3', '4'), fc.string()),
      box: fc.tuple(
        fc.integer(),
        fc.double({ noNaN: true, min: -1e9, max: 1e9 }),
        fc.integer({ min: 1, max: 9 }),
        anyNumber,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.object() },
);
const anyFrame = fc.record({
  seq: fc.integer({ min: 1, max: 9 }),
  k: fc.nat(),
  objects: fc.array(anyObject, { maxLength: 6 }),
});

/** Every field of the pattern is there; "…" matches anything. */
function assertMatches(message: unknown, pattern: unknown): void {
  if (pattern === '…') return;
  if (typeof pattern !== 'object' || pattern === null) {
    assert.deepEqual(message, pattern);
    return;
  }
  for (const [key, value] of Object.entries(pattern)) assertMatches((message as Record<string, unknown>)[key], value);
}
