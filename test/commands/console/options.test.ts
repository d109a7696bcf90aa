/** The table of options that every command has: what is read from a command line, and what it complains about. */

import assert from 'node:assert/strict';
import { asTyped, CommandLine, type OptionGroup, optionHelp } from '../../../src/commands/console/options.js';

const GROUP: OptionGroup = {
  options: {
    port: { value: 'PORT', help: 'where to listen' },
    add: { value: 'NAME', repeat: true, help: 'something more' },
    mode: { value: 'NAME', choices: ['fast', 'slow'], help: 'how' },
    quiet: { help: 'say nothing' },
  },
};
const lineOf = (...args: string[]) => new CommandLine('test', [GROUP], args);

describe('a command line', () => {
  it('has what it was given, in order', () => {
    const line = lineOf('--add', 'a', '--quiet', '--add=b', '--port', '-1');
    assert.deepEqual(line.mistakes, []);
    assert.deepEqual(line.texts('add'), ['a', 'b']);
    assert.equal(line.number('port'), -1);
    assert.deepEqual([line.has('quiet'), line.has('mode'), line.text('mode')], [true, false, undefined]);
    assert.deepEqual(
      line.order.map(({ name, value }) => `${name} ${value}`),
      ['add a', 'quiet ', 'add b', 'port -1'],
    );
  });

  it('collects every mistake, and reports them together', () => {
    const line = lineOf('--prot', '1', 'x', '--mode', 'odd', '--quiet=yes', '--port', '1', '--port', '2', '--add');
    line.numberWhere('port', 0, (port) => port > 5, 'a number above 5');
    assert.deepEqual(line.mistakes, [
      'unknown option --prot; did you mean --port?',
      '"x" is not an option; tgospa test --help lists them all',
      '--mode must be one of fast, slow, got "odd"',
      '--quiet takes no value, got "yes"',
      '--port is given twice',
      '--add needs a value: --add NAME',
      '--port must be a number above 5, not 1',
    ]);
    assert.throws(() => line.throwMistakes(), { name: 'UsageError', message: line.mistakes.join('\n') });
  });

  it('has a number, or the standard one, and complains of words and blanks', () => {
    const whole = (line: CommandLine) => line.numberWhere('port', 7, Number.isInteger, 'a whole number');
    assert.equal(whole(lineOf()), 7);
    assert.equal(whole(lineOf('--port', '8')), 8);
    for (const text of ['', ' ', 'x', '1.5']) {
      const line = lineOf('--port', text);
      whole(line);
      assert.deepEqual(line.mistakes, [`--port must be a whole number, not ${text}`]);
    }
  });

  it('can be typed again as it was', () => {
    assert.equal(
      asTyped('eval', ['--tracker', "a b's.txt", '--cutoff=0.5']),
      "tgospa eval --tracker 'a b'\\''s.txt' --cutoff=0.5",
    );
  });
});

describe('the help on options', () => {
  it('is a column as wide as the names need', () => {
    assert.deepEqual(optionHelp([GROUP]), [
      '',
      '  --port PORT  where to listen',
      '  --add NAME   something more; may be repeated',
      '  --mode NAME  how',
      '  --quiet      say nothing',
    ]);
  });

  it('has a heading for each group, and a line of its own for a long name', () => {
    const options = { 'a-name-that-is-far-too-long': { value: 'VALUE', help: 'x' } };
    assert.deepEqual(optionHelp([{ title: 'First', options }]), [
      '',
      'First:',
      '  --a-name-that-is-far-too-long VALUE',
      `${' '.repeat(30)}x`,
    ]);
  });
});
