import { ChatTemplateSyntaxError, ChatTemplateValueError } from './errors.js';
import { isText, plain, TextBuilder, type Text } from './marked-text.js';
import { toText } from './python-text.js';
import type { Run } from './run.js';
import { compare, Dict, equals, Float, iterate, numeric, typeName, Undefined, type Value } from './values.js';

export type BinaryOperator = (left: Value, right: Value, run: Run) => Value;

const OPERATORS: ReadonlyMap<string, BinaryOperator> = new Map<string, BinaryOperator>([
  ['==', (a, b) => equals(a, b)],
  ['!=', (a, b) => !equals(a, b)],
  ['<', (a, b) => compare(a, b) < 0],
  ['<=', (a, b) => compare(a, b) <= 0],
  ['>', (a, b) => compare(a, b) > 0],
  ['>=', (a, b) => compare(a, b) >= 0],
  ['in', (a, b) => contains(a, b)],
  ['not in', (a, b) => !contains(a, b)],
  ['~', (a, b, run) => run.concat(toText(a), toText(b))],
  ['+', add],
  ['-', (a, b) => arithmetic('-', a, b, (x, y) => x - y)],
  ['*', multiply],
  ['/', (a, b) => new Float(divide(a, b, '/'))],
  ['//', (a, b) => arithmetic('//', a, b, (x, y) => Math.floor(x / nonZero(y)))],
  ['%', (a, b) => arithmetic('%', a, b, (x, y) => x - Math.floor(x / nonZero(y)) * y)],
  ['**', power],
]);

export function binaryOperator(name: string): BinaryOperator {
  const found = OPERATORS.get(name);
  if (found === undefined) throw new ChatTemplateSyntaxError(`unknown operator "${name}"`);
  return found;
}

/** Python's `in`: membership by equality, keys of a dictionary, substrings. */
export function contains(item: Value, container: Value): boolean {
  if (container instanceof Dict) return isText(item) && container.entries.has(plain(item));
  if (isText(container)) {
    if (!isText(item)) throw new ChatTemplateValueError(`cannot look for ${typeName(item)} in str`);
    return plain(container).includes(plain(item));
  }
  return iterate(container).some((other) => equals(item, other));
}

function unsupported(operator: string, a: Value, b: Value): ChatTemplateValueError {
  return new ChatTemplateValueError(`cannot apply ${operator} to ${typeName(a)} and ${typeName(b)}`);
}

function add(a: Value, b: Value, run: Run): Value {
  if (isText(a) && isText(b)) return run.concat(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    run.step(a.length + b.length);
    return [...(a as Value[]), ...(b as Value[])];
  }
  return arithmetic('+', a, b, (x, y) => x + y);
}

function multiply(a: Value, b: Value, run: Run): Value {
  if (isText(a) && typeof b === 'number') return repeat(a, b, run);
  if (isText(b) && typeof a === 'number') return repeat(b, a, run);
  return arithmetic('*', a, b, (x, y) => x * y);
}

function repeat(text: Text, count: number, run: Run): Text {
  const times = Math.max(0, count);
  run.reserveText(plain(text).length * times);
  run.step(times);
  const builder = new TextBuilder();
  for (let i = 0; i < times; i++) builder.add(text);
  return builder.build();
}

function arithmetic(operator: string, a: Value, b: Value, compute: (x: number, y: number) => number): Value {
  const x = numeric(a);
  const y = numeric(b);
  if (x === undefined || y === undefined) throw unsupported(operator, a, b);
  const result = compute(x, y);
  return a instanceof Float || b instanceof Float ? new Float(result) : result;
}

function divide(a: Value, b: Value, operator: string): number {
  const x = numeric(a);
  const y = numeric(b);
  if (x === undefined || y === undefined) throw unsupported(operator, a, b);
  return x / nonZero(y);
}

function nonZero(value: number): number {
  if (value === 0) throw new ChatTemplateValueError('division by zero');
  return value;
}

function power(a: Value, b: Value): Value {
  const x = numeric(a);
  const y = numeric(b);
  if (x === undefined || y === undefined) throw unsupported('**', a, b);
  const result = x ** y;
  if (!Number.isFinite(result)) throw new ChatTemplateValueError(`${x} ** ${y} is not a finite real number`);
  return a instanceof Float || b instanceof Float || y < 0 ? new Float(result) : result;
}

/** `object[start:stop:step]` of a list or a string (by code points). */
export function sliceValue(object: Value, start: Value, stop: Value, step: Value, run: Run): Value {
  const by = bound(step) ?? 1;
  if (by === 0) throw new ChatTemplateValueError('slice step cannot be zero');
  if (!Array.isArray(object) && !isText(object)) {
    throw new ChatTemplateValueError(`${typeName(object)} cannot be sliced`);
  }
  const items = iterate(object);
  run.step(items.length >> 3);
  const [from, to] = sliceRange(items.length, bound(start), bound(stop), by);
  const result: Value[] = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) result.push(items[i]!);
  if (!isText(object)) return result;
  const builder = new TextBuilder();
  for (const item of result) builder.add(item as Text);
  return builder.build();
}

function bound(value: Value): number | undefined {
  if (value === null || value instanceof Undefined) return undefined;
  if (typeof value === 'number') return value;
  throw new ChatTemplateValueError(`slice indices must be integers, not ${typeName(value)}`);
}

function sliceRange(length: number, start: number | undefined, stop: number | undefined, step: number) {
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? length : length - 1;
  const clamp = (index: number) => Math.min(high, Math.max(low, index < 0 ? index + length : index));
  const from = start === undefined ? (step > 0 ? low : high) : clamp(start);
  const to = stop === undefined ? (step > 0 ? high : low) : clamp(stop);
  return [from, to] as const;
}
