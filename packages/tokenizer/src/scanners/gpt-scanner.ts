import { CATEGORY_COUNT, Category, isWhitespace } from '../unicode/categories.js';
import { ClassTable, type Scanner, SURROGATE } from './scanner.js';

const OTHER = 0;
const LETTER = 1;
const NUMBER = 2;
const SPACE = 3;
const BLANK = 4; // white space that is neither a space nor a line break
const NEWLINE = 5;

let shared: ClassTable | undefined;
let sharedMarks: ClassTable | undefined;

function build(marksAreLetters: boolean): ClassTable {
  const byCategory = new Uint8Array(CATEGORY_COUNT);
  byCategory.fill(LETTER, Category.UppercaseLetter, Category.OtherLetter + 1);
  byCategory.fill(NUMBER, Category.OtherNumber, Category.DecimalNumber + 1);
  if (marksAreLetters) byCategory[Category.Mark] = LETTER;
  return new ClassTable(byCategory, (bmp) => {
    for (let c = 0; c < 0x10000; c++) if (isWhitespace(c)) bmp[c] = BLANK;
    bmp[32] = SPACE;
    bmp[10] = NEWLINE;
    bmp[13] = NEWLINE;
  });
}

function table(marksAreLetters: boolean): ClassTable {
  if (marksAreLetters) return (sharedMarks ??= build(true));
  return (shared ??= build(false));
}

/** End of a white-space run that starts at `start`: class values SPACE to NEWLINE are contiguous. */
function blankEnd(bmp: Uint8Array, units: Uint16Array, start: number, end: number): number {
  while (start < end) {
    const c = bmp[units[start]!]!;
    if (c < SPACE || c > NEWLINE) break;
    start++;
  }
  return start;
}

/** Length of an English contraction suffix after the apostrophe at `start` (0: none), as `(?i:'s|'t|'re|'ve|'m|'ll|'d)`. */
function contraction(units: Uint16Array, start: number, end: number, ignoreCase: boolean): number {
  if (start + 1 >= end) return 0;
  const fold = ignoreCase ? 32 : 0;
  const a = units[start + 1]!;
  // Unicode case folding makes U+017F (long s) an s.
  if (ignoreCase && a === 0x17f) return 2;
  const first = a < 0x80 ? a | fold : a;
  if (first === 115 || first === 116 || first === 109 || first === 100) return 2;
  if (start + 2 >= end || units[start + 2]! >= 0x80) return 0;
  const second = units[start + 2]! | fold;
  if ((first === 114 || first === 118) && second === 101) return 3;
  return first === 108 && second === 108 ? 3 : 0;
}

/** GPT-2's pattern: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`. */
export class Gpt2Scanner implements Scanner {
  private readonly classes = table(false);

  next(units: Uint16Array, start: number, end: number): number {
    const classes = this.classes;
    const bmp = classes.bmp;
    const unit = units[start]!;
    if (unit === 39) {
      const suffix = contraction(units, start, end, false);
      if (suffix > 0) return start + suffix;
    }
    let c = bmp[unit]!;
    let from = start;
    if (c === SPACE && start + 1 < end) {
      const after = classes.at(units, start + 1);
      if (after <= NUMBER) {
        c = after;
        from = start + 1;
      }
    }
    if (c === SURROGATE) c = classes.astral(units, start);
    if (c <= NUMBER) return classes.runEnd(units, from, end, c);
    const stop = blankEnd(bmp, units, start, end);
    return stop === end || stop - start === 1 ? stop : stop - 1;
  }
}

/** What differs between the patterns of the cl100k family. */
export interface Cl100kOptions {
  /** The longest run of numbers in one piece: 1 (Qwen2), 3 (Llama 3) or Infinity. */
  readonly maxDigits: number;
  /** Marks (`\p{M}`) count as letters (Qwen 3.5). */
  readonly marksAreLetters?: boolean;
}

/**
 * The cl100k family (Llama 3, Qwen2, Phi-4, ...):
 * `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,k}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.
 */
export class Cl100kScanner implements Scanner {
  private readonly classes: ClassTable;
  private readonly maxDigits: number;

  constructor(options: Cl100kOptions) {
    this.classes = table(options.marksAreLetters === true);
    this.maxDigits = options.maxDigits;
  }

  next(units: Uint16Array, start: number, end: number): number {
    const classes = this.classes;
    const bmp = classes.bmp;
    const unit = units[start]!;
    let c = bmp[unit]!;
    if (c === LETTER) return classes.runEnd(units, start + 1, end, LETTER);
    let after = start + 1;
    if (c === SURROGATE) {
      c = classes.astral(units, start);
      after++;
      if (c === LETTER) return classes.runEnd(units, after, end, LETTER);
    }
    if (c === NUMBER) return this.numberEnd(units, after, end);
    if (unit === 39) {
      const suffix = contraction(units, start, end, true);
      if (suffix > 0) return start + suffix;
    }
    if (c !== NEWLINE && after < end) {
      const letters = classes.runEnd(units, after, end, LETTER);
      if (letters > after) return letters;
    }
    if (c === OTHER || (c === SPACE && after < end && classes.at(units, after) === OTHER)) {
      let stop = classes.runEnd(units, after, end, OTHER);
      while (stop < end && bmp[units[stop]!] === NEWLINE) stop++;
      return stop;
    }
    return blankPiece(bmp, units, start, end);
  }

  private numberEnd(units: Uint16Array, index: number, end: number): number {
    for (let digits = 1; digits < this.maxDigits && index < end; digits++) {
      if (this.classes.at(units, index) !== NUMBER) break;
      index += (units[index]! & 0xfc00) === 0xd800 ? 2 : 1;
    }
    return index;
  }
}

/** `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line break, else all but the last blank, which joins what follows. */
function blankPiece(bmp: Uint8Array, units: Uint16Array, start: number, end: number): number {
  const stop = blankEnd(bmp, units, start, end);
  for (let i = stop - 1; i >= start; i--) if (bmp[units[i]!] === NEWLINE) return i + 1;
  return stop === end || stop - start === 1 ? stop : stop - 1;
}
