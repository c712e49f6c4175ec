import { lowercase } from './lowercase.js';
import { categoryTable, Category, isWhitespace } from '../unicode/categories.js';
import type { Normalizer } from './normalizer.js';

/** Options of BERT's normalizer. */
export interface BertOptions {
  /** Remove controls, make all white space a space. */
  readonly cleanText: boolean;
  /** Put spaces around CJK ideographs. */
  readonly handleChineseCharacters: boolean;
  readonly stripAccents: boolean;
  readonly lowercase: boolean;
}

export function bertNormalizer(options: BertOptions): Normalizer {
  return (text) => {
    if (options.cleanText) text = cleanText(text);
    if (options.handleChineseCharacters) text = spaceIdeographs(text);
    if (options.stripAccents) text = text.normalize('NFD').replace(/\p{Mn}/gu, '');
    return options.lowercase ? lowercase(text) : text;
  };
}

/** Removes combining marks, without decomposing first. */
export function stripAccents(text: string): string {
  return text.replace(/\p{M}/gu, '');
}

function cleanText(text: string): string {
  const categories = categoryTable();
  let result = '';
  for (const character of text) {
    const c = character.codePointAt(0)!;
    if (c === 0 || c === 0xfffd) continue;
    if (isWhitespace(c)) {
      result += ' ';
      continue;
    }
    const category = categories[c];
    if (category === Category.Other || category === Category.Surrogate) continue;
    result += character;
  }
  return result;
}

function spaceIdeographs(text: string): string {
  let result = '';
  for (const character of text) result += isIdeograph(character.codePointAt(0)!) ? ` ${character} ` : character;
  return result;
}

function isIdeograph(c: number): boolean {
  return (
    (c >= 0x4e00 && c <= 0x9fff) ||
    (c >= 0x3400 && c <= 0x4dbf) ||
    (c >= 0x20000 && c <= 0x2a6df) ||
    (c >= 0x2a700 && c <= 0x2b73f) ||
    (c >= 0x2b740 && c <= 0x2b81f) ||
    (c >= 0x2b920 && c <= 0x2ceaf) ||
    (c >= 0xf900 && c <= 0xfaff) ||
    (c >= 0x2f800 && c <= 0x2fa1f)
  );
}
