import { CATEGORY_COUNT, Category, isWhitespace } from '../unicode/categories.js';
import { ClassTable, type Scanner, SURROGATE } from './scanner.js';

// Classes up to MARK may stand before a word as its one optional character or inside it.
const GAP = 0; // matched by nothing: controls, format characters, unassigned code points
const LETTER = 1;
const PUNCTUATION = 2; // \p{P} and \p{S} outside ASCII punctuation
const ASCII_PUNCTUATION = 3;
const NUMBER = 4;
const CJK = 5;
const BLANK = 6;
const SPACE = 7;
const NEWLINE = 8;
// Like CJK in a segment of their own with it, where the third pattern cuts them from the letters.
const CJK_PUNCTUATION = 9;
const CJK_GAP = 10;

let shared: ClassTable | undefined;

function table(): ClassTable {
  if (shared !== undefined) return shared;
  const byCategory = new Uint8Array(CATEGORY_COUNT);
  byCategory.fill(LETTER, Category.UppercaseLetter, Category.OtherLetter + 1);
  byCategory.fill(NUMBER, Category.OtherNumber, Category.DecimalNumber + 1);
  byCategory[Category.Mark] = LETTER;
  byCategory[Category.Punctuation] = PUNCTUATION;
  byCategory[Category.Symbol] = PUNCTUATION;
  shared = new ClassTable(byCategory, (bmp) => {
    for (let c = 0; c < 0x10000; c++) if (isWhitespace(c)) bmp[c] = BLANK;
    bmp[32] = SPACE;
    bmp[10] = NEWLINE;
    bmp[13] = NEWLINE;
    for (let c = 33; c < 127; c++) if (bmp[c] === PUNCTUATION) bmp[c] = ASCII_PUNCTUATION;
    bmp.fill(CJK, 0x4e00, 0x9fa6);
    for (let c = 0x3040; c < 0x3100; c++) {
      if (bmp[c] === LETTER) bmp[c] = CJK;
      else bmp[c] = bmp[c] === PUNCTUATION ? CJK_PUNCTUATION : CJK_GAP;
    }
  });
  return shared;
}

function isAsciiLetter(unit: number): boolean {
  const lower = unit | 32;
  return unit < 0x80 && lower >= 97 && lower <= 122;
}

/**
 * DeepSeek-V3's three splits in sequence: `\p{N}{1,3}`, then `[一-龥぀-ゟ゠-ヿ]+`, then
 * ``[!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+``.
 *
 * The first two cut the text into segments which the third sees alone, so a number or a CJK character ends a segment:
 * `(?!\S)` holds in front of it. What the third does not match (controls, joiners) forms a piece up to its next match.
 */
export class DeepseekV3Scanner implements Scanner {
  private readonly classes = table();

  next(units: Uint16Array, start: number, end: number): number {
    const classes = this.classes;
    const bmp = classes.bmp;
    const unit = units[start]!;
    let c = bmp[unit]!;
    let after = start + 1;
    if (c === LETTER) return classes.runEnd(units, after, end, LETTER);
    if (c === SURROGATE) {
      c = classes.astral(units, start);
      after++;
      if (c === LETTER) return classes.runEnd(units, after, end, LETTER);
    }
    switch (c) {
      case CJK:
      case CJK_PUNCTUATION:
        return classes.runEnd(units, after, end, c);
      case CJK_GAP:
        return this.gapEnd(units, start, end, CJK_GAP, CJK);
      case NUMBER:
        return this.numberEnd(units, after, end);
      case ASCII_PUNCTUATION:
        if (after < end && isAsciiLetter(units[after]!)) {
          do after++;
          while (after < end && isAsciiLetter(units[after]!));
          return after;
        }
        return this.punctuationEnd(units, after, end);
      case PUNCTUATION:
        return this.punctuationEnd(units, after, end);
      case NEWLINE:
        return this.blankPiece(units, start, end);
    }
    if (c === GAP) return this.gapEnd(units, start, end, GAP, LETTER);
    if (after < end) {
      const letters = classes.runEnd(units, after, end, LETTER);
      if (letters > after) return letters;
    }
    if (c === SPACE && after < end) {
      const following = classes.at(units, after);
      if (following === PUNCTUATION || following === ASCII_PUNCTUATION) return this.punctuationEnd(units, after, end);
    }
    return this.blankPiece(units, start, end);
  }

  private numberEnd(units: Uint16Array, index: number, end: number): number {
    for (let digits = 1; digits < 3 && index < end; digits++) {
      if (this.classes.at(units, index) !== NUMBER) break;
      index += (units[index]! & 0xfc00) === 0xd800 ? 2 : 1;
    }
    return index;
  }

  /** `[\p{P}\p{S}]*[\r\n]*` */
  private punctuationEnd(units: Uint16Array, index: number, end: number): number {
    const classes = this.classes;
    const bmp = classes.bmp;
    while (index < end) {
      const c = bmp[units[index]!]!;
      if (c === PUNCTUATION || c === ASCII_PUNCTUATION) index++;
      else if (c === SURROGATE && classes.astral(units, index) === PUNCTUATION) index += 2;
      else break;
    }
    while (index < end && bmp[units[index]!] === NEWLINE) index++;
    return index;
  }

  /**
   * Unmatched characters run on until one that begins a match. That may be one of them: in front of letters, it is the
   * letters' optional first character.
   */
  private gapEnd(units: Uint16Array, start: number, end: number, gap: number, letter: number): number {
    const classes = this.classes;
    let index = start;
    while (index < end && classes.at(units, index) === gap) {
      const after = index + ((units[index]! & 0xfc00) === 0xd800 ? 2 : 1);
      const letters = classes.runEnd(units, after, end, letter);
      if (letters > after) return index === start ? letters : index;
      index = after;
    }
    return index;
  }

  private blankPiece(units: Uint16Array, start: number, end: number): number {
    const bmp = this.classes.bmp;
    let stop = start;
    while (stop < end && bmp[units[stop]!]! >= BLANK && bmp[units[stop]!]! <= NEWLINE) stop++;
    for (let i = stop - 1; i >= start; i--) if (bmp[units[i]!] === NEWLINE) return i + 1;
    if (stop === end || stop - start === 1) return stop;
    const following = this.classes.at(units, stop);
    const endsSegment = following === NUMBER || following === CJK || following >= CJK_PUNCTUATION;
    return endsSegment ? stop : stop - 1;
  }
}
