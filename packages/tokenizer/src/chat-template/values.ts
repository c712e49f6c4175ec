import { ChatTemplateValueError } from './errors.js';
import { isText, mark, plain, type Text } from './marked-text.js';

/** Jinja's undefined: falsy, empty, prints as nothing, fails in most operations. */
export class Undefined {
  constructor(readonly name: string) {}
}

/** A floating-point number; plain JavaScript numbers are integers. */
export class Float {
  constructor(readonly value: number) {}
}

/** A dictionary. `marked`: its keys come from the conversation. */
export class Dict {
  constructor(
    readonly entries: Map<string, Value>,
    readonly marked: boolean,
  ) {}

  key(name: string): Text {
    return this.marked ? mark(name) : name;
  }
}

/** What `namespace()` makes: the one thing whose attributes a template may set. */
export class Namespace {
  readonly entries = new Map<string, Value>();
}

/** Arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Something that can be called. */
export class Callable {
  constructor(
    readonly name: string,
    readonly call: (args: Arguments) => Value,
  ) {}
}

/** A value of a running template. */
export type Value = null | boolean | number | Float | Text | readonly Value[] | Dict | Namespace | Callable | Undefined;

/** A JavaScript value (JSON, or a function for `helpers`) as a template value; all text of it is marked as content. */
export function fromJson(value: unknown, depth = 0): Value {
  if (depth > 200) throw new ChatTemplateValueError('the conversation is nested more than 200 levels deep');
  if (value === undefined) return new Undefined('value');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return mark(value);
  if (typeof value === 'number') return Number.isInteger(value) ? value : new Float(value);
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map((item) => fromJson(item, depth + 1));
  if (typeof value === 'object') {
    const entries = new Map<string, Value>();
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) entries.set(key, fromJson(item, depth + 1));
    }
    return new Dict(entries, true);
  }
  throw new ChatTemplateValueError(`a ${typeof value} cannot be passed to a chat template`);
}

export function isTruthy(value: Value): boolean {
  if (value === null || value instanceof Undefined) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  if (value instanceof Float) return value.value !== 0;
  if (isText(value)) return plain(value) !== '';
  if (value instanceof Dict) return value.entries.size > 0;
  if (Array.isArray(value)) return value.length > 0;
  return true;
}

/** `value`, or `fallback` where there is none (None is a value). */
export function orElse<T extends Value | undefined>(value: Value | undefined, fallback: T): Value | T {
  return value === undefined ? fallback : value;
}

/** The type's name, as error messages give it. */
export function typeName(value: Value): string {
  if (value === null) return 'None';
  if (value instanceof Undefined) return `undefined (${value.name})`;
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'int';
  if (value instanceof Float) return 'float';
  if (isText(value)) return 'str';
  if (value instanceof Dict) return 'dict';
  if (Array.isArray(value)) return 'list';
  return value instanceof Namespace ? 'namespace' : 'function';
}

/** The numeric value of ints, floats and booleans; undefined for others. */
export function numeric(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Float ? value.value : undefined;
}

/** Python's `==`. */
export function equals(a: Value, b: Value): boolean {
  const x = numeric(a);
  const y = numeric(b);
  if (x !== undefined || y !== undefined) return x === y;
  if (isText(a) || isText(b)) return isText(a) && isText(b) && plain(a) === plain(b);
  if (a instanceof Undefined && b instanceof Undefined) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item: Value, i) => equals(item, b[i] as Value));
  }
  if (a instanceof Dict && b instanceof Dict) {
    if (a.entries.size !== b.entries.size) return false;
    for (const [key, value] of a.entries) {
      const other = b.entries.get(key);
      if (other === undefined || !equals(value, other)) return false;
    }
    return true;
  }
  return a === b;
}

/** Python's ordering of numbers, strings and lists: negative, zero or positive. */
export function compare(a: Value, b: Value): number {
  const x = numeric(a);
  const y = numeric(b);
  if (x !== undefined && y !== undefined) return x - y;
  if (isText(a) && isText(b)) return compareCodePoints(plain(a), plain(b));
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && i < b.length; i++) {
      const order = compare(a[i] as Value, b[i] as Value);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  throw new ChatTemplateValueError(`cannot order ${typeName(a)} and ${typeName(b)}`);
}

function compareCodePoints(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a.charCodeAt(i) === b.charCodeAt(i)) continue;
    return a.codePointAt(i)! - b.codePointAt(i)!;
  }
  return a.length - b.length;
}

/** The items of anything that a template may iterate over. */
export function iterate(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Dict) return [...value.entries.keys()].map((key) => value.key(key));
  if (value instanceof Undefined) return [];
  if (isText(value)) {
    const marked = typeof value !== 'string';
    const characters = Array.from(plain(value));
    return marked ? characters.map(mark) : characters;
  }
  throw new ChatTemplateValueError(`${typeName(value)} is not iterable`);
}
