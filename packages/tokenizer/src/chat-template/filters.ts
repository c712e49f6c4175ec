import { ArgumentReader } from './arguments.js';
import { ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import type { Filter } from './filter.js';
import { formatPercent } from './format.js';
import { LIST_FILTERS } from './list-filters.js';
import { isText, markLike, plain, slice, TextBuilder } from './marked-text.js';
import { toJsonText, toText } from './python-text.js';
import type { Run } from './run.js';
import { capitalize, replace, strip, titleCase } from './string-methods.js';
import {
  type Arguments,
  Dict,
  Float,
  isTruthy,
  iterate,
  numeric,
  orElse,
  typeName,
  Undefined,
  type Value,
} from './values.js';

const TEXT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['tojson', tojson],
  ['string', (value) => toText(value)],
  ['safe', (value) => value],
  ['trim', (value, args) => strip(toText(value), args.string(0, 'chars'), true, true)],
  ['upper', (value) => markLike(plain(toText(value)).toUpperCase(), toText(value))],
  ['lower', (value) => markLike(plain(toText(value)).toLowerCase(), toText(value))],
  ['title', (value) => markLike(titleCase(plain(toText(value))), toText(value))],
  ['capitalize', (value) => capitalize(toText(value))],
  ['indent', indent],
  [
    'replace',
    (value, args, run) =>
      replace(
        toText(value),
        args.requiredText(0, 'old'),
        args.requiredText(1, 'new'),
        args.integer(2, 'count', -1),
        run,
      ),
  ],
  ['escape', escape],
  ['e', escape],
  ['wordcount', (value) => plain(toText(value)).match(/\w+/g)?.length ?? 0],
  ['length', length],
  ['count', length],
  ['default', orDefault],
  ['d', orDefault],
  ['int', toInteger],
  ['float', toFloat],
  ['abs', absolute],
  ['round', round],
]);

/** The filter of that name; `format` needs all its arguments and so stands apart. */
export function filter(name: string): (value: Value, args: Arguments, run: Run) => Value {
  if (name === 'format') return (value, args, run) => formatPercent(toText(value), args.positional, run);
  const found = TEXT_FILTERS.get(name) ?? LIST_FILTERS.get(name);
  if (found === undefined) throw new ChatTemplateSyntaxError(`there is no filter named "${name}"`);
  return (value, args, run) => found(value, new ArgumentReader(name, args), run);
}

function tojson(value: Value, args: ArgumentReader, run: Run): Value {
  const level = args.get(1, 'indent') ?? null;
  const separators = args.get(2, 'separators') ?? null;
  let indentText: string | undefined;
  if (isText(level)) indentText = plain(level);
  else if (level !== null) indentText = ' '.repeat(Math.min(64, Math.max(0, args.integer(1, 'indent', 0))));
  const [item, key] = separators === null ? [] : iterate(separators).map((part) => plain(toText(part)));
  const text = toJsonText(value, {
    ensureAscii: args.flag(0, 'ensure_ascii', false),
    indent: indentText,
    itemSeparator: item ?? (indentText === undefined ? ', ' : ','),
    keySeparator: key ?? ': ',
    sortKeys: args.flag(3, 'sort_keys', false),
  });
  run.reserveText(plain(text).length);
  return text;
}

function indent(value: Value, args: ArgumentReader, run: Run): Value {
  const text = toText(value);
  const width = args.get(0, 'width') ?? 4;
  const space = isText(width) ? plain(width) : ' '.repeat(Math.min(1000, Math.max(0, args.integer(0, 'width', 4))));
  const first = args.flag(1, 'first', false);
  const blank = args.flag(2, 'blank', false);
  const source = plain(text);
  const builder = new TextBuilder();
  let start = 0;
  for (let line = 0; start <= source.length; line++) {
    const end = source.indexOf('\n', start);
    const stop = end < 0 ? source.length : end;
    if (line === 0 ? first : blank || stop > start) builder.add(space);
    builder.add(slice(text, start, end < 0 ? stop : stop + 1));
    run.reserveText(builder.length);
    if (end < 0) break;
    start = end + 1;
  }
  return builder.build();
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

function escape(value: Value): Value {
  const text = toText(value);
  return markLike(
    plain(text).replace(/[&<>'"]/g, (c) => ENTITIES[c]!),
    text,
  );
}

function length(value: Value): number {
  if (isText(value)) return Array.from(plain(value)).length;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Dict) return value.entries.size;
  if (value instanceof Undefined) return 0;
  throw new ChatTemplateValueError(`${typeName(value)} has no length`);
}

function orDefault(value: Value, args: ArgumentReader): Value {
  const fallback = orElse(args.get(0, 'default_value'), '');
  if (value instanceof Undefined) return fallback;
  return args.flag(1, 'boolean', false) && !isTruthy(value) ? fallback : value;
}

function toInteger(value: Value, args: ArgumentReader): Value {
  const number = numeric(value);
  if (number !== undefined) return Math.trunc(number);
  const text = isText(value) ? plain(value).trim() : '';
  if (/^[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/.test(text)) return Math.trunc(Number(text));
  return orElse(args.get(0, 'default'), 0);
}

function toFloat(value: Value, args: ArgumentReader): Value {
  const number = numeric(value);
  if (number !== undefined) return new Float(number);
  const text = isText(value) ? plain(value).trim() : '';
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return new Float(Number(text));
  return orElse(args.get(0, 'default'), new Float(0));
}

function absolute(value: Value): Value {
  if (value instanceof Float) return new Float(Math.abs(value.value));
  const number = numeric(value);
  if (number === undefined) throw new ChatTemplateValueError(`abs needs a number, not ${typeName(value)}`);
  return Math.abs(number);
}

function round(value: Value, args: ArgumentReader): Value {
  const number = numeric(value);
  if (number === undefined) throw new ChatTemplateValueError(`round needs a number, not ${typeName(value)}`);
  const scale = 10 ** Math.min(15, Math.max(-15, args.integer(0, 'precision', 0)));
  const method = args.string(1, 'method') ?? 'common';
  if (method === 'ceil') return new Float(Math.ceil(number * scale) / scale);
  if (method === 'floor') return new Float(Math.floor(number * scale) / scale);
  return new Float(roundHalfEven(number * scale) / scale);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
