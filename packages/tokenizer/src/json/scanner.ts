import { TokenizerFormatError } from '../errors.js';

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Walks JSON text without building values for it: for the large sections of tokenizer.json, whose hundred thousands of
 * keys are slow to build as an object. Positions are UTF-16 indices; blanks are skipped before every token.
 */
export class JsonScanner {
  at = 0;

  constructor(readonly text: string) {}

  fail(problem: string): never {
    throw new TokenizerFormatError('tokenizer.json', `not valid JSON: ${problem} at ${this.at}`);
  }

  /** The next character's code without consuming it; NaN at the end. */
  peek(): number {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) return unit;
      this.at++;
    }
  }

  /** Consumes one character, which must be this one. */
  expect(character: string): void {
    if (this.peek() !== character.charCodeAt(0)) this.fail(`expected "${character}"`);
    this.at++;
  }

  /** Consumes one character if it is this one. */
  accept(character: string): boolean {
    if (this.peek() !== character.charCodeAt(0)) return false;
    this.at++;
    return true;
  }

  /** Gives each key of an object, positioned at the value, which whoever iterates must consume. */
  *keys(): Generator<string, void, undefined> {
    this.expect('{');
    if (this.accept('}')) return;
    do {
      const key = this.string();
      this.expect(':');
      yield key;
    } while (this.accept(','));
    this.expect('}');
  }

  /** Gives the index of each item of an array, positioned at the item, which whoever iterates must consume. */
  *items(): Generator<number, void, undefined> {
    this.expect('[');
    if (this.accept(']')) return;
    let index = 0;
    do yield index++;
    while (this.accept(','));
    this.expect(']');
  }

  string(): string {
    this.expect('"');
    const text = this.text;
    const start = this.at;
    let end = start;
    for (; ; end++) {
      const unit = text.charCodeAt(end);
      if (unit === QUOTE) break;
      if (unit === BACKSLASH) return this.escapedString(start);
      if (!(unit >= 32)) this.fail('a string is not closed');
    }
    this.at = end + 1;
    // Longer slices would keep the whole text alive.
    return end - start < 13 ? text.slice(start, end) : copy(text, start, end);
  }

  private escapedString(start: number): string {
    const text = this.text;
    let end = start;
    while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    this.at = end + 1;
    return this.parse(start - 1, this.at) as string;
  }

  /** A number without fraction or exponent, or -1 when the value is something else. */
  unsignedInteger(): number {
    this.peek();
    const start = this.at;
    let value = 0;
    for (; ; this.at++) {
      const digit = this.text.charCodeAt(this.at) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    const next = this.text.charCodeAt(this.at);
    return this.at === start || next === 46 || (next | 32) === 101 ? -1 : value;
  }

  /** Consumes any value and returns it. */
  value(): unknown {
    this.peek();
    const start = this.at;
    this.skip();
    return this.parse(start, this.at);
  }

  private parse(start: number, end: number): unknown {
    try {
      return JSON.parse(this.text.slice(start, end));
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  /** Consumes any value. */
  skip(): void {
    const text = this.text;
    let depth = 0;
    this.peek();
    do {
      const unit = text.charCodeAt(this.at);
      if (Number.isNaN(unit)) this.fail('the text ends early');
      if (unit === QUOTE) this.skipString();
      else if (unit === 123 || unit === 91) depth++;
      else if (unit === 125 || unit === 93) depth--;
      else if (depth === 0) {
        this.skipWord();
        return;
      }
      if (unit !== QUOTE) this.at++;
    } while (depth > 0);
  }

  private skipString(): void {
    const text = this.text;
    let end = this.at + 1;
    while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    if (end >= text.length) this.fail('a string is not closed');
    this.at = end + 1;
  }

  private skipWord(): void {
    const start = this.at;
    while (/[\w+.-]/.test(this.text[this.at] ?? '')) this.at++;
    if (this.at === start) this.fail('expected a value');
  }
}

/** A string of its own, rather than a view of `text`. */
function copy(text: string, start: number, end: number): string {
  const units: number[] = [];
  for (let i = start; i < end; i++) units.push(text.charCodeAt(i));
  return units.length > 4096 ? text.slice(start, end) : String.fromCharCode(...units);
}
