import { MalformedFieldError } from '../errors.js';

/**
 * Strict reader for the JSON of a safetensors header: the caller asks for what the format has at each place, so nesting
 * is as deep as the format and never deeper, and repeated keys are seen (JSON.parse would drop them silently).
 */
export class JsonScanner {
  private position = 0;

  constructor(
    private readonly file: string,
    private readonly text: string,
  ) {}

  private skipSpace(): void {
    for (;;) {
      const c = this.text.charCodeAt(this.position);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.position++;
    }
  }

  fail(expected: string): never {
    const found = this.text.slice(this.position, this.position + 20);
    throw new MalformedFieldError(`header JSON at character ${this.position}: expected ${expected}`, {
      file: this.file,
      field: 'header JSON',
      value: found,
      limit: expected,
    });
  }

  /** Consumes `char` if it is next. */
  accept(char: string): boolean {
    this.skipSpace();
    if (this.text[this.position] !== char) return false;
    this.position++;
    return true;
  }

  expect(char: string): void {
    if (!this.accept(char)) this.fail(`"${char}"`);
  }

  /** Only white space may follow. */
  end(): void {
    this.skipSpace();
    if (this.position !== this.text.length) this.fail('the end of the header');
  }

  string(): string {
    this.expect('"');
    const start = this.position;
    let escaped = false;
    for (;;) {
      const c = this.text.charCodeAt(this.position);
      if (c !== c || c < 0x20) this.fail('a closed string');
      this.position++;
      if (c === 0x22) break;
      if (c === 0x5c) {
        escaped = true;
        this.position++;
      }
    }
    if (!escaped) return this.text.slice(start, this.position - 1);
    try {
      return JSON.parse(this.text.slice(start - 1, this.position)) as string;
    } catch {
      this.position = start;
      return this.fail('a string with valid escapes');
    }
  }

  /** A whole number from 0 to 2^53 - 1. */
  integer(): number {
    this.skipSpace();
    const start = this.position;
    while (this.position - start < 17) {
      const c = this.text.charCodeAt(this.position);
      if (!(c >= 0x30 && c <= 0x39)) break;
      this.position++;
    }
    const digits = this.text.slice(start, this.position);
    const value = Number(digits);
    if (digits === '' || (digits.length > 1 && digits[0] === '0') || !Number.isSafeInteger(value)) {
      this.position = start;
      this.fail('a whole number below 2^53');
    }
    return value;
  }

  /** `[item, item, ...]` of whole numbers, at most `limit`. */
  integers(limit: number): number[] {
    const out: number[] = [];
    this.expect('[');
    if (this.accept(']')) return out;
    do {
      if (out.length === limit) this.fail(`at most ${limit} numbers`);
      out.push(this.integer());
    } while (this.accept(','));
    this.expect(']');
    return out;
  }

  /** `{"key": ...}`: calls `member` with each key, which must consume the value. */
  object(member: (key: string) => void): void {
    this.expect('{');
    if (this.accept('}')) return;
    do {
      const key = this.string();
      this.expect(':');
      member(key);
    } while (this.accept(','));
    this.expect('}');
  }
}
