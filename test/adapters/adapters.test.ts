/** One contract for every adapter of the table. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { adapters, formatByName } from '../../adapters/index.js';
import { type Format, makeFormat } from '../../adapters/kit/adapter.js';
import { optionFromText, readOptions } from '../../adapters/kit/options.js';
import { readRecording } from '../../adapters/kit/recording.js';
import { evalLine, readJob } from '../../src/commands/eval/options.js';
import { NEEDED, SAMPLES, STAMPED } from '../kit/adapter-samples.js';

const formatOf = (name: string) => {
  const format = formatByName(name, NEEDED[name]);
  assert.ok(format !== null && !Array.isArray(format), `${name}: ${JSON.stringify(format)}`);
  return format as Format;
};

describe('every adapter', () => {
  for (const [name, adapter] of adapters) {
    describe(name, () => {
      it('has a name for command lines, a title, and help on every option', () => {
        assert.match(name, /^[a-z][a-z0-9-]*$/);
        assert.ok(adapter.title.length > 10);
        for (const [key, spec] of Object.entries(adapter.options)) {
          assert.match(key, /^[a-z][A-Za-z]*$/);
          assert.ok(spec.help.length > 5, key);
          if (spec.default !== undefined) {
            const read = readOptions({ [key]: spec }, { [key]: spec.default });
            assert.ok(!Array.isArray(read), `the default of ${key} is no value it takes`);
          }
        }
      });

      it('works with the options it calls required, and says which are missing', () => {
        const required = Object.keys(adapter.options).filter((key) => adapter.options[key].required);
        const without = makeFormat(adapter, {});
        if (Array.isArray(without)) assert.ok(without.every(({ path }) => path in adapter.options));
        else assert.deepEqual(required, []);
        formatOf(name);
      });

      it('refuses options it does not know', () => {
        const problems = makeFormat(adapter, { ...NEEDED[name], colour: 'red' });
        assert.ok(Array.isArray(problems) && problems.some(({ path }) => path === 'colour'));
      });

      it('tells what is wrong with messages of every other kind, and goes on', () => {
        const decoder = formatOf(name).decoder('tracker');
        for (const message of [null, undefined, 7, true, '', '{', '<', [], [[]], {}, { objects: 3 }, 'a,b\nc']) {
          const { parts, problems, held } = decoder.decode(message);
          assert.ok(Array.isArray(parts) && Array.isArray(problems) && typeof held === 'boolean');
          for (const problem of problems) assert.ok(typeof problem.path === 'string' && problem.message.length > 5);
        }
      });

      it('decodes a right message, as JSON and as its text, the same each time', () => {
        const message = SAMPLES[name];
        assert.ok(message !== undefined, `give ${name} a sample in test/kit/adapter-samples.ts`);
        const decode = (form: unknown) => {
          const decoder = formatOf(name).decoder('tracker');
          const first = decoder.decode(form, STAMPED.has(name) ? { k: 3 } : {});
          assert.deepEqual(first.problems, []);
          const last = decoder.flush();
          assert.deepEqual([last.held, last.problems], [false, []]);
          return [...first.parts, ...last.parts];
        };
        const parts = decode(message);
        assert.ok(parts.length > 0 && parts.some(({ objects }) => objects.length > 0));
        const { shape } = formatOf(name);
        for (const { k, t, objects } of parts) {
          assert.ok(k !== undefined || t !== undefined);
          for (const object of objects) assert.ok(typeof object.id === 'string' && object[shape] !== undefined);
        }
        assert.deepEqual(decode(message), parts);
        if (adapter.message === 'json') assert.deepEqual(decode(JSON.stringify(message)), parts);
      });

      it('takes a frame number beside its messages only when it has none of its own', () => {
        const { problems } = formatOf(name).decoder('tracker').decode(SAMPLES[name], { k: 3 });
        if (adapter.numbering === 'own') assert.match(problems[0]?.message ?? '', /leave out k and t/);
        const without = formatOf(name).decoder('tracker').decode(SAMPLES[name]);
        if (adapter.numbering === 'stamp') assert.match(without.problems[0]?.message ?? '', /k or t/);
      });

      it('adds nothing of a message that is wrong', () => {
        const decoder = formatOf(name).decoder('tracker');
        const stamp = STAMPED.has(name) ? { k: 3 } : {};
        const before = [...decoder.decode(SAMPLES[name], stamp).parts];
        const wrong = decoder.decode(adapter.message === 'json' ? { objects: 1 } : 'x y z', stamp);
        assert.deepEqual(wrong.parts, []);
        assert.ok(wrong.problems.length > 0);
        before.push(...decoder.flush().parts);
        const alone = formatOf(name).decoder('tracker');
        assert.deepEqual(before, [...alone.decode(SAMPLES[name], stamp).parts, ...alone.flush().parts]);
      });

      it('holds nothing before the first message', () => {
        assert.deepEqual(formatOf(name).decoder('reference').flush(), { parts: [], problems: [], held: false });
      });
    });
  }
});

describe('options of adapters', () => {
  const table = {
    text: { kind: 'text', help: 'a text' },
    texts: { kind: 'texts', help: 'texts' },
    number: { kind: 'number', above: 0, default: 2, help: 'a number' },
    whole: { kind: 'whole', min: 1, help: 'a whole number' },
    numbers: { kind: 'numbers', length: 2, help: 'two numbers' },
    on: { kind: 'switch', help: 'a switch' },
    choice: { kind: 'choice', choices: ['a', 'b'], required: true, help: 'a choice' },
  } as const;

  it('are read from texts of a command line by their kinds', () => {
    const given = { text: '12', texts: 'a,b', number: '0.5', whole: '3', numbers: '1,-2', on: 'true', choice: 'b' };
    const values = Object.fromEntries(
      Object.entries(given).map(([key, text]) => [key, optionFromText(table, key, text)]),
    );
    assert.deepEqual(readOptions(table, values), {
      text: '12',
      texts: ['a', 'b'],
      number: 0.5,
      whole: 3,
      numbers: [1, -2],
      on: true,
      choice: 'b',
    });
  });

  it('have defaults, and may be left out', () => {
    const values = readOptions(table, { choice: 'a' });
    assert.ok(!Array.isArray(values));
    assert.deepEqual([values.number, values.text], [2, undefined]);
  });

  it('are refused all together, each with what was expected', () => {
    const problems = readOptions(table, { text: 5, texts: 'a', number: 0, whole: 1.5, numbers: [1], on: 'yes', x: 1 });
    assert.ok(Array.isArray(problems));
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['x', 'text', 'texts', 'number', 'whole', 'numbers', 'on', 'choice'],
    );
    assert.match(problems[3].message, /above 0/);
    assert.match(problems[7].message, /needed/);
  });
});

describe('the README of adapters', () => {
  const page = readFileSync(new URL('../../../adapters/README.md', import.meta.url), 'utf8');
  const section = (name: string) => new RegExp(`^## ${name}\\n([\\s\\S]*?)(?=^## )`, 'm').exec(page)?.[1] ?? '';

  for (const name of adapters.keys())
    it(`has a sample of ${name}, which decodes, and a command that takes it`, () => {
      const text = section(name);
      const sample = /```(?:json|csv|text|xml)\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
      const args = /```sh\ntgospa (eval .*)\n```/.exec(text)?.[1].split(' ').slice(1) ?? [];
      assert.ok(sample !== '' && args.length > 0, `adapters/README.md lacks ${name}`);
      const { files } = readJob(evalLine(args));
      const format = files!.formats.tracker;
      assert.equal(format.adapter.name, name);
      const source = {
        file: 'sample',
        text: sample,
        ...(adapters.get(name)!.frameOfFile && { entry: '00_000_000001.txt' }),
      };
      const { parts } = readRecording('sample', [source], format, 'tracker');
      assert.ok(parts.some(({ objects }) => objects.length > 0));
    });
});
