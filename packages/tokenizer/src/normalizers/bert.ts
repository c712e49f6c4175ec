import { lowercase } from './lowercase.js';
import { categoryTable, Category, isWhitespace } from '../unicode/categories.js';
import { type CodePointSet, legacyMarks, legacyNonspacingMarks } from '../unicode/legacy-sets.js';
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
    if (options.stripAccents) text = without(text.normalize('NFD'), legacyNonspacingMarks());
    return options.lowercase ? lowercase(text) : text;
  };
}

/** Removes combining marks, without decomposing first. */
export function stripAccents(text: string): string {
  return without(text, legacyMarks());
}

function without(text: string, removed: CodePointSet): string {
  let result = '';
  for (const character of text) if (!removed.has(character.codePointAt(0)!)) result += character;
  return result;
}

function cleanText(text: string): string {
  let result = '';
  for (const character of text) {
    const c = character.codePointAt(0)!;
    if (c === 9 || c === 10 || c === 13) result += ' ';
    else if (c === 0 || c === 0xfffd || isControl(c)) continue;
    else result += isWhitespace(c) ? ' ' : character;
  }
  return result;
}

/** Controls, format characters and private use, but for format characters that the reference's tables do not know. */
function isControl(c: number): boolean {
  if (categoryTable()[c] !== Category.Other) return false;
  return c !== 0x890 && c !== 0x891 && c !== 0x8e2 && c !== 0x110cd && !(c >= 0x13430 && c <= 0x1343f);
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
