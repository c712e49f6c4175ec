import { UnsupportedTokenizerError } from '../errors.js';
import { digitClass, propertyClass, spaceClass, wordClass } from './unicode-classes.js';

/**
 * Translates a regular expression of Oniguruma's Ruby syntax, as tokenizer files hold them, to a JavaScript one (flags
 * `gv`). Possessive and atomic parts become look-ahead captures, `(?i:…)` becomes classes, `\s` and `\p{…}` become
 * explicit ranges so that every runtime agrees with the reference's Unicode version.
 * @throws UnsupportedTokenizerError for syntax outside this subset
 */
export function translateRegex(pattern: string): RegExp {
  const source = new Translator(pattern).translate();
  try {
    return new RegExp(source, 'gv');
  } catch (error) {
    throw new UnsupportedTokenizerError('regular expression', pattern, [], String(error));
  }
}

/** Insides of bracket expressions for the escapes that name a class (`\\h` is a hexadecimal digit in Ruby's syntax). */
const NAMED_ESCAPES: ReadonlyMap<string, () => string> = new Map([
  ['s', spaceClass],
  ['d', digitClass],
  ['w', wordClass],
  ['h', () => '0-9A-Fa-f'],
]);

class Translator {
  private at = 0;
  private ignoreCase = false;
  private groups = 0;

  constructor(private readonly pattern: string) {}

  translate(): string {
    const source = this.alternatives();
    if (this.at < this.pattern.length) this.fail(`unexpected "${this.pattern[this.at]!}"`);
    return source;
  }

  private fail(problem: string): never {
    throw new UnsupportedTokenizerError('regular expression', this.pattern, [], `At ${this.at}: ${problem}.`);
  }

  private alternatives(): string {
    const outer = this.ignoreCase;
    const parts = [this.sequence()];
    while (this.pattern[this.at] === '|') {
      this.at++;
      parts.push(this.sequence());
    }
    this.ignoreCase = outer;
    return parts.join('|');
  }

  private sequence(): string {
    let result = '';
    while (this.at < this.pattern.length && this.pattern[this.at] !== '|' && this.pattern[this.at] !== ')') {
      result += this.quantified();
    }
    return result;
  }

  private quantified(): string {
    let atom = this.atom();
    for (;;) {
      const quantifier = this.quantifier();
      if (quantifier === undefined) return atom;
      if (this.pattern[this.at] === '?') {
        this.at++;
        atom = `(?:${atom}${quantifier}?)`;
      } else if (this.pattern[this.at] === '+' && !quantifier.startsWith('{')) {
        this.at++;
        atom = this.atomic(`(?:${atom})${quantifier}`);
      } else {
        atom = `(?:${atom}${quantifier})`;
      }
    }
  }

  private quantifier(): string | undefined {
    const c = this.pattern[this.at];
    if (c === '?' || c === '*' || c === '+') {
      this.at++;
      return c;
    }
    const counted = /^\{(\d*)(?:(,)(\d*))?\}/.exec(this.pattern.slice(this.at, this.at + 24));
    if (counted === null || (counted[1] === '' && (counted[3] ?? '') === '')) return undefined;
    this.at += counted[0].length;
    return `{${counted[1] === '' ? '0' : counted[1]!}${counted[2] ?? ''}${counted[3] ?? ''}}`;
  }

  /** A match of `source` that is never given back: look-ahead is atomic in JavaScript. */
  private atomic(source: string): string {
    const name = `a${this.groups++}`;
    return `(?:(?=(?<${name}>${source}))\\k<${name}>)`;
  }

  private atom(): string {
    const c = this.pattern[this.at]!;
    switch (c) {
      case '(':
        return this.group();
      case '[':
        return this.characterClass();
      case '.':
        this.at++;
        return '[^\\n]';
      case '^':
        this.at++;
        return '(?<![^\\n])';
      case '$':
        this.at++;
        return '(?![^\\n])';
      case '\\':
        return this.escape();
      case '*':
      case '+':
      case '?':
        return this.fail('nothing to repeat');
    }
    const codePoint = this.pattern.codePointAt(this.at)!;
    this.at += codePoint > 0xffff ? 2 : 1;
    return this.literal(codePoint);
  }

  private group(): string {
    const rest = this.pattern.slice(this.at);
    const flags = /^\(\?([imx]*)(?:-([imx]+))?([:)])/.exec(rest);
    if (flags !== null) {
      if (/[mx]/.test(flags[1]! + (flags[2] ?? ''))) this.fail('only the option i is supported');
      this.at += flags[0].length;
      const outer = this.ignoreCase;
      if (flags[1]!.includes('i')) this.ignoreCase = true;
      if (flags[2]?.includes('i') === true) this.ignoreCase = false;
      if (flags[3] === ')') return `(?:)`; // holds to the end of the enclosing group, which restores it
      const body = this.alternatives();
      this.ignoreCase = outer;
      return this.close(`(?:${body}`);
    }
    const head = /^\((?:\?(?:[=!>]|<[=!]))?/.exec(rest)![0];
    this.at += head.length;
    if (head === '(' && this.pattern[this.at] === '?') this.fail('unknown kind of group');
    const body = this.alternatives();
    if (head === '(?>') {
      this.expectClose();
      return this.atomic(body);
    }
    return this.close(`${head === '(' ? '(?:' : head}${body}`);
  }

  private expectClose(): void {
    if (this.pattern[this.at] !== ')') this.fail('a group is not closed');
    this.at++;
  }

  private close(open: string): string {
    this.expectClose();
    return `${open})`;
  }

  private literal(codePoint: number): string {
    const text = escapeLiteral(codePoint);
    if (!this.ignoreCase) return text;
    const variants = caseVariants(codePoint);
    return variants.length === 1 ? text : `[${variants.map(escapeInClass).join('')}]`;
  }

  private escape(): string {
    const c = this.pattern[this.at + 1];
    if (c === 'A') return this.skip(2, '(?<![\\s\\S])');
    if (c === 'z') return this.skip(2, '(?![\\s\\S])');
    if (c === 'Z') return this.skip(2, '(?=\\n?(?![\\s\\S]))');
    if (c === 'b' || c === 'B') {
      const word = `[${wordClass()}]`;
      const edge = `(?<=${word})(?!${word})|(?<!${word})(?=${word})`;
      return this.skip(2, c === 'b' ? `(?:${edge})` : `(?!${edge})`);
    }
    const set = this.classEscape();
    return set !== undefined ? `[${set}]` : this.literal(this.characterEscape());
  }

  private skip(length: number, result: string): string {
    this.at += length;
    return result;
  }

  /** A class that `\s`, `\p{…}` and the like stand for, as the inside of a bracket expression; else undefined. */
  private classEscape(): string | undefined {
    const c = this.pattern[this.at + 1];
    const lower = c?.toLowerCase() ?? '';
    const named = NAMED_ESCAPES.get(lower);
    if (named !== undefined) return this.skip(2, c === lower ? named() : `[^${named()}]`);
    if (lower !== 'p') return undefined;
    const property = /^\\[pP](?:\{(\^?)([^}]*)\}|(L|N|M|P|S|Z|C))/.exec(this.pattern.slice(this.at, this.at + 60));
    if (property === null) return this.fail('malformed property');
    const set = propertyClass(property[2] ?? property[3]!);
    if (set === undefined) return this.fail(`unknown property "${property[2]!}"`);
    this.at += property[0].length;
    return (c === 'P') !== (property[1] === '^') ? `[^${set}]` : set;
  }

  private characterEscape(): number {
    const rest = this.pattern.slice(this.at, this.at + 14);
    const hex = /^\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4}))/.exec(rest);
    if (hex !== null) {
      this.at += hex[0].length;
      return Number.parseInt(hex[1] ?? hex[2] ?? hex[3]!, 16);
    }
    const control: Record<string, number> = { n: 10, r: 13, t: 9, f: 12, v: 11, a: 7, e: 27 };
    const codePoint = this.pattern.codePointAt(this.at + 1);
    if (codePoint === undefined) return this.fail('a backslash ends the pattern');
    const c = String.fromCodePoint(codePoint);
    if (/[0-9A-Za-z]/.test(c) && control[c] === undefined) this.fail(`unknown escape "\\${c}"`);
    this.at += 1 + c.length;
    return control[c] ?? codePoint;
  }

  private characterClass(): string {
    this.at++;
    let result = '[';
    if (this.pattern[this.at] === '^') {
      this.at++;
      result += '^';
    }
    const operands: string[] = [];
    let items = '';
    for (let first = true; ; first = false) {
      const c = this.pattern[this.at];
      if (c === undefined) this.fail('a class is not closed');
      if (c === ']' && !first) break;
      if (this.pattern.startsWith('&&', this.at)) {
        this.at += 2;
        operands.push(items);
        items = '';
      } else {
        items += this.classItem();
      }
    }
    this.at++;
    operands.push(items);
    if (operands.length === 1) return `${result}${items}]`;
    return `${result}${operands.map((operand) => `[${operand}]`).join('&&')}]`;
  }

  private classItem(): string {
    if (this.pattern[this.at] === '[') {
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.pattern.slice(this.at, this.at + 20));
      if (posix === null) return this.characterClass();
      const set = propertyClass(posix[2]!);
      if (set === undefined) this.fail(`unknown class "${posix[2]!}"`);
      return this.skip(posix[0].length, posix[1] === '^' ? `[^${set}]` : set);
    }
    if (this.pattern[this.at] === '\\') {
      const set = this.classEscape();
      if (set !== undefined) return set;
    }
    const low = this.classCharacter();
    if (this.pattern[this.at] !== '-' || (this.pattern[this.at + 1] ?? ']') === ']') return this.classLiteral(low);
    this.at++;
    const high = this.classCharacter();
    if (high < low) this.fail('an empty range');
    const range = `${escapeInClass(low)}-${escapeInClass(high)}`;
    if (!this.ignoreCase) return range;
    if (high > 0x7f) this.fail('a case-insensitive range beyond ASCII');
    let extra = '';
    for (let c = low; c <= high; c++) for (const variant of caseVariants(c)) extra += escapeInClass(variant);
    return range + extra;
  }

  private classCharacter(): number {
    if (this.pattern[this.at] === '\\') return this.characterEscape();
    const codePoint = this.pattern.codePointAt(this.at)!;
    this.at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  private classLiteral(codePoint: number): string {
    return (this.ignoreCase ? caseVariants(codePoint) : [codePoint]).map(escapeInClass).join('');
  }
}

/** Code points that simple case folding equates with `codePoint`. */
function caseVariants(codePoint: number): number[] {
  const text = String.fromCodePoint(codePoint);
  const variants = new Set([codePoint]);
  for (const other of [text.toLowerCase(), text.toUpperCase(), text.toUpperCase().toLowerCase()]) {
    const only = other.codePointAt(0)!;
    if (String.fromCodePoint(only) === other) variants.add(only);
  }
  if (variants.has(0x73)) variants.add(0x17f); // ſ folds to s
  if (variants.has(0x6b)) variants.add(0x212a); // the Kelvin sign folds to k
  if (variants.has(0xe5)) variants.add(0x212b); // the Ångström sign folds to å
  return [...variants];
}

function escapeLiteral(codePoint: number): string {
  const text = String.fromCodePoint(codePoint);
  if (/[\^$\\.*+?()[\]{}|/]/.test(text)) return `\\${text}`;
  return codePoint < 32 ? escapeInClass(codePoint) : text;
}

export function escapeInClass(codePoint: number): string {
  if ((codePoint >= 48 && codePoint <= 57) || (codePoint >= 65 && codePoint <= 90))
    return String.fromCharCode(codePoint);
  if (codePoint >= 97 && codePoint <= 122) return String.fromCharCode(codePoint);
  return `\\u{${codePoint.toString(16)}}`;
}
