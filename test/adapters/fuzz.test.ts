/**
 * Malformed messages by the thousand for every decoder: nothing is thrown, nothing hangs, nothing grows, and whatever
 * comes out passes the checks of native frames. The seed is fixed; fast-check prints the smallest message of a failure.
 */
import { strict as assert } from 'node:assert';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { adapters, formatByName } from '../../adapters/index.js';
import type { Decoder, Format } from '../../adapters/kit/adapter.js';
import { readRecording } from '../../adapters/kit/recording.js';
import { InputError } from '../../src/metric/input-error.js';
import { fuzzAdapters } from '../fuzz.js';
import { NEEDED, SAMPLES, STAMPED } from '../kit/adapter-samples.js';
import { rulesFor, wrongWith } from '../kit/decoded-frames.js';
import { garbled, mutated, strange } from '../kit/mutations.js';
import { drawn, skipInFastRun } from '../kit/system/system.js';

const SEED = 20260516;
const formatOf = (name: string) => formatByName(name, NEEDED[name]) as Format;
const textOf = (message: unknown) => (typeof message === 'string' ? message : JSON.stringify(message));

describe('fuzzed adapters', () => {
  for (const [name, adapter] of adapters) {
    const sample = SAMPLES[name];
    const stamp = STAMPED.has(name) ? { k: 3 } : {};
    const rules = rulesFor(formatOf(name).shape);
    const json = fc.oneof({ weight: 6, arbitrary: mutated([sample]) }, { weight: 1, arbitrary: strange });
    const text = fc.oneof(
      { weight: 4, arbitrary: garbled([textOf(sample)]) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
      { weight: 1, arbitrary: strange },
    );
    const messages = adapter.message === 'json' ? fc.oneof(json, json, text) : text;

    it(`${name} lives through whatever comes, and goes on`, () => {
      fc.assert(
        fc.property(fc.array(messages, { minLength: 1, maxLength: 8 }), (list) => {
          const decoder: Decoder = formatOf(name).decoder('tracker');
          for (const message of list) assert.equal(wrongWith(decoder.decode(message, stamp), rules), null);
          assert.equal(wrongWith(decoder.flush(), rules), null);
          // a right message is still taken, unless the feed was tied to another camera, sensor or frame
          const { problems } = decoder.decode(sample, stamp);
          for (const { message } of problems) assert.match(message, /option |columns/);
        }),
        { numRuns: drawn(300), seed: SEED },
      );
    });

    it(`${name} gives frames or mistakes for any file`, () => {
      fc.assert(
        fc.property(fc.oneof(garbled([textOf(sample)]), fc.string({ unit: 'binary', maxLength: 100 })), (content) => {
          const entry = adapter.frameOfFile ? { entry: '00_000_000001.txt' } : {};
          try {
            readRecording('f', [{ file: 'f', text: content, ...entry }], formatOf(name), 'reference');
          } catch (error) {
            assert.ok(error instanceof InputError, String(error));
          }
        }),
        { numRuns: drawn(200), seed: SEED },
      );
    });
  }

  it('hold no more than a frame and what their options allow, however long a feed is', function () {
    skipInFastRun(this);
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heap = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const next: Record<string, (n: number) => unknown> = {
      frigate: (n) => ({
        type: 'new',
        after: { id: `${n}`, camera: 'c', frame_time: n, label: 'p', box: [1, 2, 3, 4] },
      }),
      'onvif-json': (n) => ({
        Frame: {
          '@UtcTime': '2026-10-10T12:24:57Z',
          ObjectTree: { Rename: { from: { '@ObjectId': n }, to: { '@ObjectId': n + 1e9 } } },
        },
      }),
      motchallenge: (n) => `${n + 1},${n},1,1,1,1\n`,
      kitti: (n) => `${n} ${n} Car 0 0 0 1 1 2 2 0 0 0 0 0 0 0\n`,
    };
    const options: Record<string, Record<string, unknown>> = { 'onvif-json': { renames: 'follow' } };
    for (const [name, make] of Object.entries(next)) {
      const decoder = (formatByName(name, { ...NEEDED[name], ...options[name] }) as Format).decoder('tracker');
      for (let n = 0; n < 11_000; n++) decoder.decode(make(n));
      const before = heap();
      for (let n = 11_000; n < 16_000; n++) decoder.decode(make(n));
      const grown = heap() - before;
      assert.ok(grown < 2e6, `${name} has grown by ${grown} bytes`);
      assert.ok(decoder.flush().parts.every(({ objects }) => objects.length <= 2000));
    }
  });

  it('live through 5,000 messages of the long run', () => {
    const tally = fuzzAdapters(5000, SEED);
    for (const name of adapters.keys()) assert.ok(tally[`${name} mistakes`] > 0, name);
  });

  it('never expand entities, whatever a document declares', () => {
    const lines = Array.from({ length: 30 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`);
    const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">${lines.join('')}]><annotations>&e30;</annotations>`;
    for (const name of ['cvat', 'onvif-xml']) {
      const { parts, problems } = formatOf(name).decoder('tracker').decode(bomb);
      assert.deepEqual(parts, []);
      assert.match(problems[0].message, /refused/);
    }
  });

  it('read large and deep messages in one pass', () => {
    const many = 200_000;
    const hostile: Array<[string, string]> = [
      ['cvat', '<a>'.repeat(many)],
      ['cvat', `<annotations>${'<!---->'.repeat(many)}</annotations>`],
      ['cvat', `<annotations ${'a="1" '.repeat(many)}>`],
      ['cvat', `<annotations><track id="${'&amp;'.repeat(many)}" label="x"></track></annotations>`],
      ['onvif-xml', `<MetadataStream>${'<x/>'.repeat(many)}</MetadataStream>`],
      ['supervision-csv', `x_min,y_min,x_max,y_max${',""'.repeat(many)}\n`],
      ['supervision-csv', '"\n'.repeat(many)],
      ['kitti', 'a '.repeat(many)],
      ['motchallenge', ','.repeat(many)],
      ['deepstream-kitti', '\n'.repeat(many)],
      ['native', '['.repeat(many)],
      ['mapping', `{"tracks":${'['.repeat(many)}${']'.repeat(many)}}`],
      ['deepstream-minimal', JSON.stringify({ id: 1, objects: ['|'.repeat(many)] })],
      ['ultralytics', JSON.stringify(Array.from({ length: 2000 }, () => ({ box: '1'.repeat(100) })))],
    ];
    for (const [name, message] of hostile) {
      const { problems } = formatOf(name)
        .decoder('tracker')
        .decode(message, STAMPED.has(name) ? { k: 1 } : {});
      assert.ok(problems.length <= 1000, name);
    }
  });
});
