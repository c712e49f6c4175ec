import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { regexFinder, split } from '../pre-tokenizers/split.js';
import { translateRegex } from '../regex/onig-to-js.js';
import { CodeUnitBuffer, wellFormed } from '../unicode/utf16.js';
import {
  DEEPSEEK_V3_PATTERNS,
  GPT2_PATTERN,
  LLAMA3_PATTERN,
  QWEN2_PATTERN,
  QWEN35_PATTERN,
  scannerFor,
} from './patterns.js';
import type { Scanner } from './scanner.js';

const POOLS = [
  'abzABZ',
  '0123٣½Ⅷ',
  ' ',
  ' \t\n\r\u000b\u0085\u00a0\u2003\u2028\u3000',
  '\r\n',
  '.,!?\'"()/\\<>|_$^+=~`',
  "'sStTreRvVmMlLdDſ",
  'éßÅıΣσǅ',
  '中文龥龦一ひゟ゠ーヿ。「・',
  '각힣',
  '\u0301\u0302\u064b\u200d\ufe0f',
  '😀👍🏽𝒽𐐀𠀀',
  '\u0000\u0001\u007f\u200b\ufeff\ufffd\u0378\ue000',
];

const text = fc
  .array(
    fc
      .constantFrom(...POOLS)
      .chain((pool) => fc.array(fc.constantFrom(...Array.from(pool)), { minLength: 1, maxLength: 5 })),
    { maxLength: 10 },
  )
  .map((parts) => wellFormed(parts.flat().join('')));

function scan(scanner: Scanner, input: string): string[] {
  const buffer = new CodeUnitBuffer();
  const length = buffer.load(input);
  const pieces: string[] = [];
  for (let start = 0; start < length;) {
    const end = scanner.next(buffer.units, start, length);
    pieces.push(input.slice(start, end));
    start = end;
  }
  return pieces;
}

function splitByRegexes(patterns: readonly string[], input: string): string[] {
  let pieces = [input];
  for (const pattern of patterns) {
    const find = regexFinder(translateRegex(pattern));
    pieces = pieces.flatMap((piece) => {
      const out: string[] = [];
      split(piece, find, 'Isolated', false, out);
      return out;
    });
  }
  return pieces;
}

describe.each([
  ['GPT-2', [GPT2_PATTERN]],
  ['Llama 3', [LLAMA3_PATTERN]],
  ['Qwen2', [QWEN2_PATTERN]],
  ['Qwen 3.5', [QWEN35_PATTERN]],
  ['DeepSeek-V3', DEEPSEEK_V3_PATTERNS],
] as const)('the scanner for %s', (_name, patterns) => {
  const scanner = scannerFor(patterns)!;

  it('cuts as the regular expressions do', () => {
    fc.assert(
      fc.property(text, (input) => {
        expect(scan(scanner, input)).toEqual(splitByRegexes(patterns, input).filter((piece) => piece !== ''));
      }),
      { numRuns: 1500 },
    );
  });

  it('cuts single characters of the whole range as the regular expressions do', () => {
    for (let c = 0; c < 0x110000; c += c < 0x3400 ? 3 : 389) {
      if (c >= 0xd800 && c < 0xe000) continue;
      const input = `a${String.fromCodePoint(c)}1 ${String.fromCodePoint(c)}`;
      expect(scan(scanner, input), c.toString(16)).toEqual(splitByRegexes(patterns, input));
    }
  });
});

describe('scannerFor', () => {
  it('knows patterns with their line breaks escaped or not', () => {
    const escaped = DEEPSEEK_V3_PATTERNS.map((p) => p.replaceAll('\r', '\\r').replaceAll('\n', '\\n'));
    expect(scannerFor(escaped)).toBeDefined();
    expect(scannerFor(['[^a]+'])).toBeUndefined();
  });
});
