import { describe, expect, it } from 'vitest';
import { UnsupportedTokenizerError } from '../errors.js';
import { translateRegex } from './onig-to-js.js';

function matches(pattern: string, text: string): string[] {
  return Array.from(text.matchAll(translateRegex(pattern)), (match) => match[0]);
}

describe('translateRegex', () => {
  it.each([
    ["(?i:'s|'LL)", "'S 'll 'ſ", ["'S", "'ll", "'ſ"]],
    ['(?i)k+x', 'Kkx', ['Kkx']],
    ['\\s+', 'a\u0085\u2003b\ufeff', ['\u0085\u2003']],
    ['\\d', '1٣½', ['1', '٣']],
    ['\\p{L}+', 'aé中1', ['aé中']],
    ['\\P{L}+', 'a12b', ['12']],
    ['[^\\s\\p{L}]+', 'a,1 b', [',1']],
    ['[\\p{L}&&[^a-c]]+', 'abcdé', ['dé']],
    ['a++b?+', 'aab', ['aab']],
    ['a++a', 'aaa', []],
    ['(?>a|ab)c', 'abc', []],
    ['x{2,3}', 'xxxxx', ['xxx', 'xx']],
    ['x{,2}y', 'xxxy', ['xxy']],
    ['^b$', 'a\nb\nc', ['b']],
    ['\\Aa\\z', 'a', ['a']],
    ['a.c', 'abc a\nc', ['abc']],
    ['[]a]', ']', [']']],
    ['[a\\-z]', '-', ['-']],
    ['\\x41\\x{42}\\u0043', 'ABC', ['ABC']],
    ['[[:alpha:]]+', 'ab1', ['ab']],
    ['(?<=a)b(?=c)(?!cd)', 'abc abcd', ['b']],
    ['\\bcat\\b', 'cat concat', ['cat']],
    ['\\p{Han}+', 'a中文', ['中文']],
    ['\\h+', 'xyzfF0', ['fF0']],
  ] as const)('%s', (pattern, text, expected) => {
    expect(matches(pattern, text)).toEqual(expected);
  });

  it.each(['(a', '[a', 'a)', '*a', '\\p{Nonsense}', '\\K', '(?m:a)', '(?P<x>a)', 'a\\'])('refuses %s', (pattern) => {
    expect(() => translateRegex(pattern)).toThrow(UnsupportedTokenizerError);
  });
});
