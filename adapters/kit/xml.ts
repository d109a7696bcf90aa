/**
 * A small reader of XML: elements, attributes and text, one after the other, without building a tree. Names lose their
 * namespace prefix. Nothing is ever expanded: a document type is refused, and of the entities only the five that every
 * document has, and characters by number, are read. Attribute values are found when the tag is read and made into text
 * or numbers only when asked for. Invariant: tags are closed in the order they were opened, and nesting is at most
 * DEPTH_MAX.
 */

import { Mistake } from './adapter.js';
import { readDecimal } from './decimal.js';

const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 64;

const GREATER = 62;
const SLASH = 47;
const EQUALS = 61;
const QUOTE = 34;
const APOSTROPHE = 39;
const EXCLAMATION = 33;
const QUESTION = 63;
const COLON = 58;

const isSpace = (code: number) => code === 32 || code === 10 || code === 13 || code === 9;
/** Whether a code may stand in a name; wider than the standard, which changes no meaning here. */
const isName = (code: number) =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 58) ||
  code === 95 ||
  code === 45 ||
  code === 46 ||
  code > 127;

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export class XmlReader {
  /** local name of the element that was opened or closed last */
  name = '';
  /** how many elements are open */
  depth = 0;
  readonly #text: string;
  #at = 0;
  /** full names of the open elements */
  readonly #open: string[] = [];
  #closing = false;
  #attributes = 0;
  readonly #names: string[] = [];
  readonly #starts = new Int32Array(ATTRIBUTES_MAX);
  readonly #ends = new Int32Array(ATTRIBUTES_MAX);
  #tagStart = 0;
  #contentStart = 0;
  #rootSeen = false;
  /** full name to local name: documents use few of them */
  readonly #locals = new Map<string, string>();

  constructor(text: string) {
    this.#text = text;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  /**
   * Goes to the next tag: 'open', 'close', or 'end' when the document is over. An empty element is opened, then closed.
   */
  next(): 'open' | 'close' | 'end' {
    if (this.#closing) return this.#close();
    const text = this.#text;
    this.#contentStart = this.#at;
    for (;;) {
      const less = text.indexOf('<', this.#at);
      if (this.depth === 0 && text.slice(this.#at, less < 0 ? undefined : less).trim() !== '')
        throw this.mistake(this.#at, 'text stands outside of all elements');
      if (less < 0) return this.#finish();
      this.#at = less + 1;
      const code = text.charCodeAt(this.#at);
      if (code === QUESTION) this.#skipTo('?>', less);
      else if (code === EXCLAMATION) this.#special(less);
      else {
        this.#tagStart = less;
        return code === SLASH ? this.#endTag() : this.#startTag();
      }
    }
  }

  /** Reads the first tag, which must have this name. */
  openRoot(name: string, what: string): void {
    if (this.next() !== 'open' || this.name !== name) throw this.tagMistake(`must be <${name}>, ${what}`);
  }

  /** Text between the tag before and the tag at hand, with its entities read. Ask when a 'close' has come. */
  content(): string {
    const raw = this.#text.slice(this.#contentStart, this.#tagStart);
    if (raw.includes('<')) return decoded(raw.replace(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>/g, ''), this).trim();
    return (raw.includes('&') ? decoded(raw, this) : raw).trim();
  }

  has(name: string): boolean {
    return this.#find(name) >= 0;
  }

  attribute(name: string): string | undefined {
    const index = this.#find(name);
    if (index < 0) return undefined;
    const raw = this.#text.slice(this.#starts[index], this.#ends[index]);
    return raw.includes('&') ? decoded(raw, this) : raw;
  }

  /** The attribute as a finite number, or a mistake that names it. */
  number(name: string): number {
    const index = this.#find(name);
    const value = index < 0 ? Number.NaN : readDecimal(this.#text, this.#starts[index], this.#ends[index]);
    if (!Number.isFinite(value)) throw this.attributeMistake(name, 'must be a finite number');
    return value;
  }

  attributeMistake(name: string, expected: string): Mistake {
    const index = this.#find(name);
    const place = index < 0 ? this.#tagStart : this.#starts[index];
    return this.mistake(place, `${name} of <${this.name}> ${expected}`, this.attribute(name));
  }

  /** A mistake at the tag at hand. */
  tagMistake(message: string): Mistake {
    return this.mistake(this.#tagStart, message);
  }

  mistake(offset: number, message: string, value?: string): Mistake {
    const before = this.#text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - (before.lastIndexOf('\n') + 1) + 1;
    const shown = value ?? this.#text.slice(offset, offset + 60);
    return new Mistake(`${line}:${column}`, shown, message);
  }

  #find(name: string): number {
    for (let index = 0; index < this.#attributes; index++) if (this.#names[index] === name) return index;
    return -1;
  }

  #finish(): 'end' {
    const last = this.#open.at(-1);
    if (last !== undefined) throw this.mistake(this.#text.length, `<${last}> is never closed`);
    if (!this.#rootSeen) throw this.mistake(0, 'must be an XML document');
    this.#at = this.#text.length;
    return 'end';
  }

  #skipTo(mark: string, from: number): void {
    const end = this.#text.indexOf(mark, this.#at);
    if (end < 0) throw this.mistake(from, `is never closed by ${mark}`);
    this.#at = end + mark.length;
  }

  #special(from: number): void {
    const text = this.#text;
    if (text.startsWith('!--', this.#at)) {
      this.#at += 3;
      this.#skipTo('-->', from);
    } else if (text.startsWith('![CDATA[', this.#at)) {
      throw this.mistake(from, 'CDATA is not read here');
    } else throw this.mistake(from, 'document types and entities are refused');
  }

  #startTag(): 'open' {
    const text = this.#text;
    if (this.depth === 0 && this.#rootSeen) throw this.mistake(this.#tagStart, 'a second document begins here');
    if (this.depth >= DEPTH_MAX) throw this.mistake(this.#tagStart, `elements are nested deeper than ${DEPTH_MAX}`);
    const full = this.#readName();
    this.#attributes = 0;
    for (;;) {
      let code = text.charCodeAt(this.#at);
      if (isSpace(code)) {
        while (isSpace(code)) code = text.charCodeAt(++this.#at);
        if (isName(code)) {
          this.#readAttribute();
          continue;
        }
      }
      if (code === SLASH && text.charCodeAt(this.#at + 1) === GREATER) {
        this.#closing = true;
        this.#at += 2;
      } else if (code === GREATER) this.#at++;
      else throw this.mistake(this.#at, 'is not what may stand in a tag; expected an attribute, > or />');
      break;
    }
    this.#open.push(full);
    this.#rootSeen = true;
    this.depth++;
    this.name = this.#local(full);
    return 'open';
  }

  #readAttribute(): void {
    const text = this.#text;
    const from = this.#at;
    const name = this.#readName();
    let at = this.#at;
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) !== EQUALS) throw this.mistake(from, 'an attribute needs a value: name="value"');
    at++;
    while (isSpace(text.charCodeAt(at))) at++;
    const quote = text.charCodeAt(at);
    if (quote !== QUOTE && quote !== APOSTROPHE) throw this.mistake(at, 'the value of an attribute stands in quotes');
    const end = text.indexOf(quote === QUOTE ? '"' : "'", at + 1);
    if (end < 0) throw this.mistake(at, 'the value of an attribute is never closed');
    const local = this.#local(name);
    if (this.#attributes >= ATTRIBUTES_MAX)
      throw this.mistake(from, `a tag has more than ${ATTRIBUTES_MAX} attributes`);
    if (name === local && this.#find(name) >= 0) throw this.mistake(from, `attribute ${name} stands twice in one tag`);
    this.#names[this.#attributes] = local;
    this.#starts[this.#attributes] = at + 1;
    this.#ends[this.#attributes++] = end;
    this.#at = end + 1;
  }

  #endTag(): 'close' {
    this.#at++;
    const full = this.#readName();
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#text.charCodeAt(this.#at) !== GREATER)
      throw this.mistake(this.#tagStart, 'a closing tag is never closed');
    this.#at++;
    const open = this.#open.at(-1);
    if (open !== full)
      throw this.mistake(this.#tagStart, `</${full}> closes ${open === undefined ? 'nothing' : `<${open}>`}`);
    return this.#close();
  }

  #close(): 'close' {
    this.#closing = false;
    this.#attributes = 0;
    this.depth--;
    this.name = this.#local(this.#open.pop()!);
    return 'close';
  }

  #readName(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    while (isName(text.charCodeAt(at))) at++;
    if (at === start) throw this.mistake(start, 'expected a name');
    this.#at = at;
    return text.slice(start, at);
  }

  #local(full: string): string {
    let local = this.#locals.get(full);
    if (local === undefined) {
      local = full.slice(full.lastIndexOf(String.fromCharCode(COLON)) + 1);
      this.#locals.set(full, local);
    }
    return local;
  }
}

/** Reads the entities every document has, and characters by number. */
function decoded(raw: string, reader: XmlReader): string {
  return raw.replace(/&([^;&]{0,16});?/g, (whole, name: string) => {
    const known = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : characterOf(name);
    if (known === null || !whole.endsWith(';'))
      throw reader.tagMistake(`entity ${whole} is unknown; none are declared`);
    return known;
  });
}

function characterOf(name: string): string | null {
  const digits = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name);
  if (!digits) return null;
  const code = digits[1] ? Number.parseInt(digits[1], 16) : Number(digits[2]);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}
