import type { ArgumentReader } from './arguments.js';
import { ChatTemplateValueError } from './errors.js';
import { concat, isText, markLike, plain, slice, type Text, TextBuilder } from './marked-text.js';
import type { Run } from './run.js';
import { iterate, typeName, type Value } from './values.js';

type Method = (self: Text, args: ArgumentReader, run: Run) => Value;

/** Methods of strings, as Python has them. */
export const STRING_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['strip', (self, args) => strip(self, args.string(0, 'chars'), true, true)],
  ['lstrip', (self, args) => strip(self, args.string(0, 'chars'), true, false)],
  ['rstrip', (self, args) => strip(self, args.string(0, 'chars'), false, true)],
  ['upper', (self) => markLike(plain(self).toUpperCase(), self)],
  ['lower', (self) => markLike(plain(self).toLowerCase(), self)],
  ['title', (self) => markLike(titleCase(plain(self)), self)],
  ['capitalize', (self) => capitalize(self)],
  ['swapcase', (self) => markLike(swapCase(plain(self)), self)],
  ['split', (self, args, run) => split(self, args.string(0, 'sep'), args.integer(1, 'maxsplit', -1), run)],
  ['rsplit', (self, args, run) => rsplit(self, args.string(0, 'sep'), args.integer(1, 'maxsplit', -1), run)],
  ['splitlines', (self, args) => splitLines(self, args.flag(0, 'keepends', false))],
  ['partition', (self, args) => partition(self, plain(args.requiredText(0, 'sep')), false)],
  ['rpartition', (self, args) => partition(self, plain(args.requiredText(0, 'sep')), true)],
  ['startswith', (self, args) => affixes(args, 'prefix').some((affix) => plain(self).startsWith(affix))],
  ['endswith', (self, args) => affixes(args, 'suffix').some((affix) => plain(self).endsWith(affix))],
  ['removeprefix', (self, args) => removePrefix(self, plain(args.requiredText(0, 'prefix')))],
  ['removesuffix', (self, args) => removeSuffix(self, plain(args.requiredText(0, 'suffix')))],
  [
    'replace',
    (self, args, run) =>
      replace(self, args.requiredText(0, 'old'), args.requiredText(1, 'new'), args.integer(2, 'count', -1), run),
  ],
  ['find', (self, args) => codePointIndex(self, plain(self).indexOf(plain(args.requiredText(0, 'sub'))))],
  ['rfind', (self, args) => codePointIndex(self, plain(self).lastIndexOf(plain(args.requiredText(0, 'sub'))))],
  [
    'index',
    (self, args) => {
      const at = plain(self).indexOf(plain(args.requiredText(0, 'sub')));
      if (at < 0) throw new ChatTemplateValueError('substring not found');
      return codePointIndex(self, at);
    },
  ],
  ['count', (self, args) => countOf(plain(self), plain(args.requiredText(0, 'sub')))],
  ['join', (self, args, run) => join(args.get(0, 'iterable') ?? [], self, run)],
  ['isdigit', (self) => /^\p{Nd}+$/u.test(plain(self))],
  ['isnumeric', (self) => /^\p{N}+$/u.test(plain(self))],
  ['isalpha', (self) => /^\p{L}+$/u.test(plain(self))],
  ['isalnum', (self) => /^[\p{L}\p{N}]+$/u.test(plain(self))],
  ['isspace', (self) => plain(self) !== '' && plain(strip(self, undefined, true, false)) === ''],
  ['isupper', (self) => hasCase(plain(self)) && plain(self) === plain(self).toUpperCase()],
  ['islower', (self) => hasCase(plain(self)) && plain(self) === plain(self).toLowerCase()],
  ['zfill', (self, args, run) => zeroFill(self, args.integer(0, 'width', 0), run)],
  ['ljust', (self, args, run) => pad(self, args, run, 'right')],
  ['rjust', (self, args, run) => pad(self, args, run, 'left')],
  ['center', (self, args, run) => pad(self, args, run, 'both')],
]);

/** White space that Python's `str.strip` and `str.split` see. */
function isPythonSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 32 || (unit >= 9 && unit <= 13) || (unit >= 0x1c && unit <= 0x1f);
  return unit === 0x85 || (unit !== 0xfeff && /\s/.test(String.fromCharCode(unit)));
}

export function strip(self: Text, characters: string | undefined, left: boolean, right: boolean): Text {
  const text = plain(self);
  const set = characters === undefined ? undefined : new Set(characters);
  const strips = (unit: number) => (set === undefined ? isPythonSpace(unit) : set.has(String.fromCharCode(unit)));
  let start = 0;
  let end = text.length;
  if (left) while (start < end && strips(text.charCodeAt(start))) start++;
  if (right) while (end > start && strips(text.charCodeAt(end - 1))) end--;
  return slice(self, start, end);
}

function split(self: Text, separator: string | undefined, maxSplit: number, run: Run): Text[] {
  const text = plain(self);
  run.step(text.length >> 4);
  const limit = maxSplit < 0 ? Number.POSITIVE_INFINITY : maxSplit;
  const result: Text[] = [];
  if (separator !== undefined) {
    if (separator === '') throw new ChatTemplateValueError('empty separator');
    let start = 0;
    for (let at = text.indexOf(separator); at >= 0 && result.length < limit; at = text.indexOf(separator, start)) {
      result.push(slice(self, start, at));
      start = at + separator.length;
    }
    result.push(slice(self, start));
    run.step(result.length);
    return result;
  }
  let start = 0;
  for (;;) {
    while (start < text.length && isPythonSpace(text.charCodeAt(start))) start++;
    if (start === text.length) return result;
    if (result.length === limit) {
      result.push(slice(self, start));
      return result;
    }
    let end = start;
    while (end < text.length && !isPythonSpace(text.charCodeAt(end))) end++;
    result.push(slice(self, start, end));
    run.step();
    start = end;
  }
}

function rsplit(self: Text, separator: string | undefined, maxSplit: number, run: Run): Text[] {
  if (maxSplit < 0) return split(self, separator, -1, run);
  const text = plain(self);
  if (separator === undefined) throw new ChatTemplateValueError('rsplit() with maxsplit needs a separator');
  if (separator === '') throw new ChatTemplateValueError('empty separator');
  const result: Text[] = [];
  let end = text.length;
  while (result.length < maxSplit) {
    const at = end < separator.length ? -1 : text.lastIndexOf(separator, end - separator.length);
    if (at < 0) break;
    result.push(slice(self, at + separator.length, end));
    run.step();
    end = at;
  }
  result.push(slice(self, 0, end));
  return result.toReversed();
}

/** What `str.splitlines` splits at: the line breaks and the separators of files, groups and records. */
const LINE_BREAK = new RegExp('\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\u0085\\u2028\\u2029]', 'g');

function splitLines(self: Text, keepEnds: boolean): Text[] {
  const text = plain(self);
  const result: Text[] = [];
  let start = 0;
  for (const match of text.matchAll(LINE_BREAK)) {
    const end = match.index + match[0].length;
    result.push(slice(self, start, keepEnds ? end : match.index));
    start = end;
  }
  if (start < text.length) result.push(slice(self, start));
  return result;
}

function partition(self: Text, separator: string, fromEnd: boolean): Text[] {
  if (separator === '') throw new ChatTemplateValueError('empty separator');
  const text = plain(self);
  const at = fromEnd ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return fromEnd ? ['', '', self] : [self, '', ''];
  const end = at + separator.length;
  return [slice(self, 0, at), slice(self, at, end), slice(self, end)];
}

/** One affix or a tuple of them. */
function affixes(args: ArgumentReader, name: string): string[] {
  const value = args.get(0, name);
  const list = Array.isArray(value) ? (value as Value[]) : [value ?? null];
  return list.map((item) => {
    if (isText(item)) return plain(item);
    throw new ChatTemplateValueError(`${name} must be a string or a tuple of strings, not ${typeName(item)}`);
  });
}

function removePrefix(self: Text, prefix: string): Text {
  return plain(self).startsWith(prefix) ? slice(self, prefix.length) : self;
}

function removeSuffix(self: Text, suffix: string): Text {
  return plain(self).endsWith(suffix) ? slice(self, 0, plain(self).length - suffix.length) : self;
}

/** Python's `str.replace`; the parts that stay keep their marks. */
export function replace(self: Text, old: Text, fresh: Text, count: number, run: Run): Text {
  const text = plain(self);
  const search = plain(old);
  const limit = count < 0 ? Number.POSITIVE_INFINITY : count;
  const builder = new TextBuilder();
  let start = 0;
  let done = 0;
  for (let at = text.indexOf(search); at >= 0 && done < limit; done++) {
    builder.add(slice(self, start, at));
    builder.add(fresh);
    start = at + search.length;
    run.reserveText(builder.length);
    if (search !== '') {
      at = text.indexOf(search, start);
    } else {
      if (at >= text.length) at = -1;
      else at += text.codePointAt(at)! > 0xffff ? 2 : 1;
    }
  }
  builder.add(slice(self, start));
  run.reserveText(builder.length);
  return builder.build();
}

/** Joins the items of an iterable; all of them must be strings. */
export function join(items: Value, separator: Text, run: Run): Text {
  const builder = new TextBuilder();
  iterate(items).forEach((item, i) => {
    if (!isText(item)) throw new ChatTemplateValueError(`cannot join ${typeName(item)}`);
    if (i > 0) builder.add(separator);
    builder.add(item);
    run.step();
    if (builder.length > run.limits.maxOutputLength) run.reserveText(builder.length);
  });
  run.reserveText(builder.length);
  return builder.build();
}

export function capitalize(self: Text): Text {
  const text = plain(self);
  const width = text.length > 0 && text.codePointAt(0)! > 0xffff ? 2 : 1;
  return markLike(text.slice(0, width).toUpperCase() + text.slice(width).toLowerCase(), self);
}

export function titleCase(text: string): string {
  return text.toLowerCase().replace(/\p{L}+/gu, (word) => word[0]!.toUpperCase() + word.slice(1));
}

function swapCase(text: string): string {
  return Array.from(text, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');
}

function hasCase(text: string): boolean {
  return text.toLowerCase() !== text.toUpperCase();
}

function codePointIndex(self: Text, at: number): number {
  return at < 0 ? -1 : Array.from(plain(self).slice(0, at)).length;
}

function countOf(text: string, search: string): number {
  if (search === '') return Array.from(text).length + 1;
  let count = 0;
  for (let at = text.indexOf(search); at >= 0; at = text.indexOf(search, at + search.length)) count++;
  return count;
}

function zeroFill(self: Text, width: number, run: Run): Text {
  const text = plain(self);
  const missing = width - Array.from(text).length;
  if (missing <= 0) return self;
  run.reserveText(width);
  const sign = /^[+-]/.test(text) ? 1 : 0;
  return concat(slice(self, 0, sign), '0'.repeat(missing), slice(self, sign));
}

function pad(self: Text, args: ArgumentReader, run: Run, side: 'left' | 'right' | 'both'): Text {
  const width = args.integer(0, 'width', 0);
  const fill = args.string(1, 'fillchar') ?? ' ';
  const missing = width - Array.from(plain(self)).length;
  if (missing <= 0) return self;
  run.reserveText(width);
  let left = side === 'left' ? missing : 0;
  if (side === 'both') left = (missing >> 1) + (missing & width & 1);
  return concat(fill.repeat(left), self, fill.repeat(missing - left));
}
