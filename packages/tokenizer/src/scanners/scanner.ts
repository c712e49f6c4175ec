import { categoryTable } from '../unicode/categories.js';
import { pairAt } from '../unicode/utf16.js';

/**
 * Cuts text into the pieces that a pre-tokenizer's regular expressions would give, without running them.
 * Pieces cover the text: the next one starts where the last one ended. Scanners keep no state and take linear time.
 */
export interface Scanner {
  /**
   * The end (exclusive) of the piece that starts at `start`.
   * @param units UTF-16 code units, surrogates paired
   * @param start start of the piece, a code point boundary, less than `end`
   * @param end end of the text: what follows is invisible, also to look-ahead
   */
  next(units: Uint16Array, start: number, end: number): number;
}

/** Class value of both halves of a surrogate pair in the tables below; {@link ClassTable.astral} tells the real class. */
export const SURROGATE = 31;

/** Character classes of one scanner: a table for the basic plane and one by category beyond it. */
export class ClassTable {
  /** Class of every UTF-16 code unit; {@link SURROGATE} for surrogates. */
  readonly bmp = new Uint8Array(0x10000);
  private readonly categories = categoryTable();

  /**
   * @param byCategory class of each general category (index: values of `Category`)
   * @param refine exceptions for code points of the basic plane
   */
  constructor(
    private readonly byCategory: Uint8Array,
    refine: (table: Uint8Array) => void,
  ) {
    const bmp = this.bmp;
    for (let c = 0; c < 0x10000; c++) bmp[c] = byCategory[this.categories[c]!]!;
    refine(bmp);
    bmp.fill(SURROGATE, 0xd800, 0xe000);
  }

  /** Class of the surrogate pair at `index`. */
  astral(units: Uint16Array, index: number): number {
    return this.byCategory[this.categories[pairAt(units, index)]!]!;
  }

  /** Class of the character at `index`. */
  at(units: Uint16Array, index: number): number {
    const c = this.bmp[units[index]!]!;
    return c === SURROGATE ? this.astral(units, index) : c;
  }

  /** End of the run of class `wanted` that starts at `index` (= `index` when there is none). */
  runEnd(units: Uint16Array, index: number, end: number, wanted: number): number {
    const bmp = this.bmp;
    while (index < end) {
      const c = bmp[units[index]!]!;
      if (c === wanted) index++;
      else if (c === SURROGATE && this.astral(units, index) === wanted) index += 2;
      else break;
    }
    return index;
  }
}
