import type { ArgumentReader } from './arguments.js';
import { ChatTemplateValueError } from './errors.js';
import type { Filter } from './filter.js';
import { isText, plain, type Text, TextBuilder } from './marked-text.js';
import { dictItems } from './members.js';
import { predicate } from './predicates.js';
import { toText } from './python-text.js';
import type { Run } from './run.js';
import {
  compare,
  Dict,
  equals,
  Float,
  isTruthy,
  iterate,
  Namespace,
  numeric,
  orElse,
  typeName,
  Undefined,
  type Value,
} from './values.js';

/** Filters of lists and dictionaries. */
export const LIST_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['list', (value, _args, run) => counted(iterate(value), run)],
  ['first', (value) => orElse(iterate(value)[0], new Undefined('first item'))],
  ['last', (value) => orElse(iterate(value).at(-1), new Undefined('last item'))],
  ['reverse', reverse],
  ['join', joinFilter],
  ['sort', sort],
  ['unique', unique],
  ['sum', sum],
  ['min', (value, args, run) => extreme(value, args, run, -1)],
  ['max', (value, args, run) => extreme(value, args, run, 1)],
  ['map', map],
  ['select', (value, args, run) => choose(value, args, run, true, false)],
  ['reject', (value, args, run) => choose(value, args, run, false, false)],
  ['selectattr', (value, args, run) => choose(value, args, run, true, true)],
  ['rejectattr', (value, args, run) => choose(value, args, run, false, true)],
  ['items', (value, _args, run) => items(value, run)],
  ['dictsort', dictSort],
  ['batch', batch],
  ['groupby', groupBy],
]);

function counted(list: readonly Value[], run: Run): readonly Value[] {
  run.step(list.length);
  return list;
}

function reverse(value: Value, _args: ArgumentReader, run: Run): Value {
  const list = counted(iterate(value), run).toReversed();
  if (!isText(value)) return list;
  const builder = new TextBuilder();
  for (const character of list) builder.add(character as Text);
  return builder.build();
}

function joinFilter(value: Value, args: ArgumentReader, run: Run): Value {
  const separator = args.text(0, 'd') ?? '';
  const name = args.string(1, 'attribute');
  const builder = new TextBuilder();
  counted(iterate(value), run).forEach((item, i) => {
    if (i > 0) builder.add(separator);
    builder.add(toText(name === undefined ? item : lookup(item, name)));
    if (builder.length > run.limits.maxOutputLength) run.reserveText(builder.length);
  });
  run.reserveText(builder.length);
  return builder.build();
}

/** `a.b.0`: items of dictionaries and lists. */
function lookup(value: Value, path: string): Value {
  let current = value;
  for (const part of path.split('.')) {
    let next: Value | undefined;
    if (current instanceof Dict || current instanceof Namespace) next = current.entries.get(part);
    else if (Array.isArray(current) && /^\d+$/.test(part)) next = current[Number(part)] as Value | undefined;
    if (next === undefined) return new Undefined(path);
    current = next;
  }
  return current;
}

function foldCase(value: Value, caseSensitive: boolean): Value {
  return !caseSensitive && isText(value) ? plain(value).toLowerCase() : value;
}

function sort(value: Value, args: ArgumentReader, run: Run): Value {
  const descending = args.flag(0, 'reverse', false);
  const caseSensitive = args.flag(1, 'case_sensitive', false);
  const name = args.string(2, 'attribute');
  const list = counted(iterate(value), run);
  run.step(list.length * Math.ceil(Math.log2(list.length + 1)));
  const keyed = list.map((item) => ({
    item,
    key: foldCase(name === undefined ? item : lookup(item, name), caseSensitive),
  }));
  keyed.sort((a, b) => (descending ? compare(b.key, a.key) : compare(a.key, b.key)));
  return keyed.map(({ item }) => item);
}

function unique(value: Value, args: ArgumentReader, run: Run): Value {
  const caseSensitive = args.flag(0, 'case_sensitive', false);
  const name = args.string(1, 'attribute');
  const seen: Value[] = [];
  return iterate(value).filter((item) => {
    const key = foldCase(name === undefined ? item : lookup(item, name), caseSensitive);
    run.step(seen.length + 1);
    if (seen.some((other) => equals(other, key))) return false;
    seen.push(key);
    return true;
  });
}

function sum(value: Value, args: ArgumentReader, run: Run): Value {
  const name = args.string(0, 'attribute');
  let total = args.integer(1, 'start', 0);
  let isFloat = false;
  for (const item of counted(iterate(value), run)) {
    const part = name === undefined ? item : lookup(item, name);
    const number = numeric(part);
    if (number === undefined) throw new ChatTemplateValueError(`sum needs numbers, not ${typeName(part)}`);
    if (part instanceof Float) isFloat = true;
    total += number;
  }
  return isFloat ? new Float(total) : total;
}

function extreme(value: Value, args: ArgumentReader, run: Run, sign: number): Value {
  const caseSensitive = args.flag(0, 'case_sensitive', false);
  const name = args.string(1, 'attribute');
  const keyOf = (item: Value) => foldCase(name === undefined ? item : lookup(item, name), caseSensitive);
  let best: Value | undefined;
  for (const item of counted(iterate(value), run)) {
    if (best === undefined || compare(keyOf(item), keyOf(best)) * sign > 0) best = item;
  }
  return orElse(best, new Undefined('item of an empty sequence'));
}

function map(value: Value, args: ArgumentReader, run: Run): Value {
  const list = counted(iterate(value), run);
  const name = args.get(-1, 'attribute');
  if (name !== undefined) {
    const fallback = args.get(-1, 'default');
    return list.map((item) => {
      const found = lookup(item, plain(toText(name)));
      return found instanceof Undefined && fallback !== undefined ? fallback : found;
    });
  }
  const apply = run.filter(plain(args.requiredText(0, 'filter')));
  const rest = args.after(1);
  return list.map((item) => apply(item, rest, run));
}

function choose(value: Value, args: ArgumentReader, run: Run, keep: boolean, byAttribute: boolean): Value {
  const shift = byAttribute ? 1 : 0;
  const name = byAttribute ? plain(args.requiredText(0, 'attribute')) : undefined;
  const testName = args.string(shift, 'test');
  const test = testName === undefined ? isTruthy : predicate(testName);
  const argument = args.get(shift + 1, 'argument') ?? null;
  return counted(iterate(value), run).filter(
    (item) => test(name === undefined ? item : lookup(item, name), argument) === keep,
  );
}

function items(value: Value, run: Run): Value {
  if (value instanceof Undefined) return [];
  if (value instanceof Dict) return dictItems(value, run);
  throw new ChatTemplateValueError(`items needs a mapping, not ${typeName(value)}`);
}

function dictSort(value: Value, args: ArgumentReader, run: Run): Value {
  if (!(value instanceof Dict)) throw new ChatTemplateValueError(`dictsort needs a mapping, not ${typeName(value)}`);
  const caseSensitive = args.flag(0, 'case_sensitive', false);
  const by = args.string(1, 'by') ?? 'key';
  const descending = args.flag(2, 'reverse', false);
  const at = by === 'value' ? 1 : 0;
  const pairs = dictItems(value, run) as (readonly Value[])[];
  const key = (pair: readonly Value[]) => foldCase(pair[at]!, caseSensitive);
  pairs.sort((a, b) => (descending ? compare(key(b), key(a)) : compare(key(a), key(b))));
  return pairs;
}

function batch(value: Value, args: ArgumentReader, run: Run): Value {
  const size = args.integer(0, 'linecount', 0);
  if (size < 1) throw new ChatTemplateValueError(`batch needs a positive size, not ${size}`);
  const fill = args.get(1, 'fill_with');
  const list = counted(iterate(value), run);
  const result: Value[][] = [];
  for (let i = 0; i < list.length; i += size) result.push(list.slice(i, i + size));
  const last = result.at(-1);
  if (fill !== undefined && last !== undefined) {
    run.step(size);
    while (last.length < size) last.push(fill);
  }
  return result;
}

function groupBy(value: Value, args: ArgumentReader, run: Run): Value {
  const name = plain(args.requiredText(0, 'attribute'));
  const fallback = args.get(1, 'default');
  const keyOf = (item: Value) => {
    const key = lookup(item, name);
    return key instanceof Undefined && fallback !== undefined ? fallback : key;
  };
  const sorted = counted(iterate(value), run).toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  const groups: Dict[] = [];
  let current: Value[] = [];
  let key: Value | undefined;
  for (const item of sorted) {
    const own = keyOf(item);
    if (key === undefined || !equals(key, own)) {
      key = own;
      current = [];
      groups.push(
        new Dict(
          new Map<string, Value>([
            ['grouper', own],
            ['list', current],
          ]),
          false,
        ),
      );
    }
    current.push(item);
  }
  return groups;
}
