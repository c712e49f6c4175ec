import { CATEGORY_RUNS } from './category-data.js';

/** General category groups, in the order of the letters in {@link CATEGORY_RUNS}. */
export const Category = {
  UppercaseLetter: 1,
  LowercaseLetter: 2,
  TitlecaseLetter: 3,
  ModifierLetter: 4,
  OtherLetter: 5,
  OtherNumber: 6,
  DecimalNumber: 7,
  Mark: 8,
  Punctuation: 9,
  Symbol: 10,
  Other: 11,
  Separator: 12,
  Unassigned: 13,
  Surrogate: 14,
} as const;

export const CATEGORY_COUNT = 15;
const CODE_POINTS = 0x110000;

let table: Uint8Array | undefined;

/** The category of every code point (index = code point, 1.1 MB, built on first use and shared; do not modify). */
export function categoryTable(): Uint8Array {
  if (table !== undefined) return table;
  const result = new Uint8Array(CODE_POINTS);
  let position = 0;
  for (let i = 0; i < CATEGORY_RUNS.length;) {
    const category = CATEGORY_RUNS.charCodeAt(i++) - 97;
    let length = 0;
    for (; i < CATEGORY_RUNS.length; i++) {
      const unit = CATEGORY_RUNS.charCodeAt(i);
      if (unit >= 97) break;
      length = length * 36 + (unit < 58 ? unit - 48 : unit - 55);
    }
    if (length === 0) length = 1;
    result.fill(category, position, position + length);
    position += length;
  }
  table = result;
  return result;
}

/** Oniguruma's `\s`: Unicode White_Space (unlike JavaScript's, with U+0085 and without U+FEFF). */
export function isWhitespace(codePoint: number): boolean {
  if (codePoint < 0x80) return codePoint === 32 || (codePoint >= 9 && codePoint <= 13);
  return (
    codePoint === 0x85 ||
    codePoint === 0xa0 ||
    codePoint === 0x1680 ||
    (codePoint >= 0x2000 && codePoint <= 0x200a) ||
    codePoint === 0x2028 ||
    codePoint === 0x2029 ||
    codePoint === 0x202f ||
    codePoint === 0x205f ||
    codePoint === 0x3000
  );
}
