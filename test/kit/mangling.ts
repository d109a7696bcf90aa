/**
 * Right texts made wrong by the million: far faster than fast-check, and without shrinking; a seed and a number repeat
 * a text.
 */
import { pick, type Random } from './random.js';

// biome-ignore format: a list of words
const STRANGE = [
  'null', 'true', '-1', '0', '-0', '1e308', '1e400', '9007199254740991', '9007199254740993', '0.1', '"', '""', '"x"', '\\', '\\u0000', '[]',
  '{}', '[[[[]]]]', '{"__proto__":1}', 'NaN', '\u0000', '\ud800', '\u{1f600}', ' ', '\n', '\r\n', '\t', ',', ':', '|', ';', '&', '&lt;', '&#x0;',
  '<', '</', '<!--', '-->', '<?', ']]>', '1111111111111111111111', '.', '..', '-', '+', 'e', 'E5', '2026-13-45T99:99:99Z', '"seq":', '"k":1e9',
] as const;

/** Values of JSON; what is around them stays JSON. */
// biome-ignore format: a list of words
const VALUES = [
  'null', 'true', '-1', '0', '-0', '1.5', '1e308', '9007199254740991', '"9007199254740993"', '""', '"x"', '"\\u0000"', '[]', '{}', '[[[[]]]]',
  '[1,2,3,4]', '[1e12,0,1e-9,1]', '{"__proto__":1}', '"NaN"', '"\\ud800"', '"1.5e3"', '"2026-10-10T12:24:57Z"', '{"id":"7","box":[1,2,3,4]}',
] as const;
const VALUE = /(?<=[:,[]\s*)(?:"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d[\d.eE+-]*)/g;
const NUMBER = /-?\d[\d.eE+-]*/g;

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[A-Za-z_]+|[^\s]/g;

/**
 * One of the texts after one to four changes: something lost, doubled, exchanged, put in, or taken from another text.
 */
export function mangled(texts: readonly string[], random: Random): string {
  let text = pick(random, texts);
  if (random() < 0.6) {
    for (let values = 1 + Math.floor(random() * 2); values > 0; values--)
      text = withToken(text, /^[[{]/.test(text) ? VALUE : NUMBER, pick(random, VALUES), random);
    return text;
  }
  for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) text = changed(text, texts, random);
  return text;
}

function changed(text: string, texts: readonly string[], random: Random): string {
  const at = Math.floor(random() * (text.length + 1));
  const end = Math.min(text.length, at + Math.floor(random() ** 3 * 40));
  switch (Math.floor(random() * 7)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, end) + text.slice(at);
    case 2:
      return text.slice(0, at) + pick(random, STRANGE) + text.slice(at);
    case 3:
      return text.slice(0, at) + pick(random, STRANGE) + text.slice(end);
    case 4: {
      const other = pick(random, texts);
      return text.slice(0, at) + other.slice(Math.floor(random() * other.length));
    }
    case 5:
      return text.slice(0, at) + String.fromCharCode(Math.floor(random() ** 4 * 65_536)) + text.slice(at + 1);
    default:
      return withToken(text, TOKEN, pick(random, STRANGE), random);
  }
}

/** A word, number or sign is replaced as a whole: what is around it stays right. */
function withToken(text: string, token: RegExp, by: string, random: Random): string {
  const tokens = [...text.slice(0, 4000).matchAll(token)];
  if (tokens.length === 0) return by;
  const { index, 0: old } = pick(random, tokens);
  return text.slice(0, index) + by + text.slice(index + old.length);
}
