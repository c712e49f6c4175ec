import { categoryTable, Category, isWhitespace } from '../unicode/categories.js';

const C = Category;
const LETTERS = [C.UppercaseLetter, C.LowercaseLetter, C.TitlecaseLetter, C.ModifierLetter, C.OtherLetter];
const OTHERS = [C.Other, C.Unassigned, C.Surrogate];

/** Properties that the category table answers exactly, by lower-case name. */
const PROPERTIES: Readonly<Record<string, readonly number[]>> = {
  l: LETTERS,
  letter: LETTERS,
  alpha: [...LETTERS, C.Mark],
  lu: [C.UppercaseLetter],
  upper: [C.UppercaseLetter],
  ll: [C.LowercaseLetter],
  lower: [C.LowercaseLetter],
  lt: [C.TitlecaseLetter],
  lm: [C.ModifierLetter],
  lo: [C.OtherLetter],
  n: [C.OtherNumber, C.DecimalNumber],
  number: [C.OtherNumber, C.DecimalNumber],
  nd: [C.DecimalNumber],
  digit: [C.DecimalNumber],
  alnum: [...LETTERS, C.Mark, C.DecimalNumber],
  m: [C.Mark],
  mark: [C.Mark],
  p: [C.Punctuation],
  punctuation: [C.Punctuation],
  punct: [C.Punctuation],
  s: [C.Symbol],
  symbol: [C.Symbol],
  z: [C.Separator],
  separator: [C.Separator],
  c: OTHERS,
  other: OTHERS,
};

/** Properties left to the JavaScript engine. */
const NATIVE: Readonly<Record<string, string>> = {
  han: 'Script=Han',
  hiragana: 'Script=Hiragana',
  katakana: 'Script=Katakana',
  hangul: 'Script=Hangul',
  thai: 'Script=Thai',
  latin: 'Script=Latin',
  greek: 'Script=Greek',
  cyrillic: 'Script=Cyrillic',
  arabic: 'Script=Arabic',
  hebrew: 'Script=Hebrew',
  devanagari: 'Script=Devanagari',
  mn: 'Mn',
  mc: 'Mc',
  me: 'Me',
  nl: 'Nl',
  no: 'No',
  pc: 'Pc',
  pd: 'Pd',
  ps: 'Ps',
  pe: 'Pe',
  pi: 'Pi',
  pf: 'Pf',
  po: 'Po',
  sm: 'Sm',
  sc: 'Sc',
  sk: 'Sk',
  so: 'So',
  zs: 'Zs',
  zl: 'Zl',
  zp: 'Zp',
  cc: 'Cc',
  cf: 'Cf',
  emoji: 'Emoji',
  extended_pictographic: 'Extended_Pictographic',
};

/** Insides of bracket expressions for the escapes without a name. */
export function spaceClass(): string {
  return memo('space', isWhitespace);
}

export function digitClass(): string {
  return propertyClass('nd')!;
}

export function wordClass(): string {
  return `${propertyClass('alnum')!}\\p{Pc}`;
}

/** The inside of a bracket expression (flag `u`) for `\w` in Rust's regular expressions. */
export const RUST_WORD_CLASS = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';

/** The inside of a bracket expression (flag `v`) for a Unicode property or POSIX class; undefined for unknown names. */
export function propertyClass(name: string): string | undefined {
  const key = name
    .toLowerCase()
    .replace(/^(?:script|sc|general_category|gc)=/, '')
    .replace(/[\s-]/g, '_');
  if (key === 'space') return spaceClass();
  if (key === 'word') return wordClass();
  if (key === 'any') return '\\u{0}-\\u{10ffff}';
  const categories = PROPERTIES[key];
  if (categories !== undefined) return categoryClass(key, categories);
  const native = NATIVE[key];
  return native === undefined ? undefined : `\\p{${native}}`;
}

const classes = new Map<string, string>();

function categoryClass(key: string, categories: readonly number[]): string {
  const table = categoryTable();
  return memo(key, (c) => categories.includes(table[c]!));
}

function memo(key: string, contains: (codePoint: number) => boolean): string {
  let source = classes.get(key);
  if (source === undefined) {
    source = ranges(contains);
    classes.set(key, source);
  }
  return source;
}

function ranges(contains: (codePoint: number) => boolean): string {
  let source = '';
  for (let c = 0; c < 0x110000; c++) {
    if (!contains(c)) continue;
    let end = c;
    while (end + 1 < 0x110000 && contains(end + 1)) end++;
    source += end === c ? `\\u{${c.toString(16)}}` : `\\u{${c.toString(16)}}-\\u{${end.toString(16)}}`;
    c = end;
  }
  return source;
}
