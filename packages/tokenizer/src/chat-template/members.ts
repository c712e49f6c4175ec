import { ArgumentReader } from './arguments.js';
import { ChatTemplateValueError } from './errors.js';
import { formatFields } from './format.js';
import { isText, mark, plain, type Text } from './marked-text.js';
import type { Run } from './run.js';
import { STRING_METHODS } from './string-methods.js';
import { Callable, Dict, equals, Namespace, orElse, typeName, Undefined, type Value } from './values.js';

/** `object.name`: a method first, then an item (as Jinja's `getattr`). */
export function attribute(object: Value, name: string, run: Run): Value {
  failOnUndefined(object, name);
  return orElse(orElse(method(object, name, run), item(object, name)), new Undefined(name));
}

/** `object[key]`: an item first, then a method. */
export function subscript(object: Value, key: Value, run: Run): Value {
  failOnUndefined(object, isText(key) ? plain(key) : String(key));
  if (typeof key === 'number') return orElse(indexed(object, key), new Undefined(String(key)));
  if (isText(key)) {
    const name = plain(key);
    return orElse(orElse(item(object, name), method(object, name, run)), new Undefined(name));
  }
  return new Undefined(typeName(key));
}

function failOnUndefined(object: Value, name: string): void {
  if (object instanceof Undefined) {
    throw new ChatTemplateValueError(`"${object.name}" is undefined, so it has no "${name}"`);
  }
}

function item(object: Value, name: string): Value | undefined {
  return object instanceof Dict || object instanceof Namespace ? object.entries.get(name) : undefined;
}

function indexed(object: Value, index: number): Value | undefined {
  if (Array.isArray(object)) return object[index < 0 ? index + object.length : index] as Value | undefined;
  if (!isText(object)) return undefined;
  const characters = Array.from(plain(object));
  const character = characters[index < 0 ? index + characters.length : index];
  if (character === undefined) return undefined;
  return typeof object === 'string' ? character : mark(character);
}

function method(object: Value, name: string, run: Run): Value | undefined {
  if (isText(object)) {
    const found = STRING_METHODS.get(name);
    if (found === undefined) return name === 'format' ? formatMethod(object, run) : undefined;
    return new Callable(name, (args) => found(object, new ArgumentReader(name, args), run));
  }
  if (object instanceof Dict) return dictMethod(object, name, run);
  if (Array.isArray(object)) return listMethod(object as readonly Value[], name, run);
  return undefined;
}

/** `items()`, `keys()`, … of a dictionary. */
function dictMethod(dict: Dict, name: string, run: Run): Value | undefined {
  switch (name) {
    case 'get':
      return new Callable(name, (args) => {
        const reader = new ArgumentReader(name, args);
        const key = args.positional[0];
        const found = key !== undefined && isText(key) ? dict.entries.get(plain(key)) : undefined;
        return orElse(orElse(found, reader.get(1, 'default')), null);
      });
    case 'items':
      return new Callable(name, () => dictItems(dict, run));
    case 'keys':
      return new Callable(name, () => [...dict.entries.keys()].map((key) => dict.key(key)));
    case 'values':
      return new Callable(name, () => [...dict.entries.values()]);
    case 'copy':
      return new Callable(name, () => new Dict(new Map(dict.entries), dict.marked));
    case 'update':
    case 'pop':
    case 'popitem':
    case 'clear':
    case 'setdefault':
      return refused(name);
  }
  return undefined;
}

export function dictItems(dict: Dict, run: Run): Value[] {
  run.step(dict.entries.size);
  return [...dict.entries].map(([key, value]) => [dict.key(key), value]);
}

function listMethod(list: readonly Value[], name: string, run: Run): Value | undefined {
  switch (name) {
    case 'index':
      return new Callable(name, (args) => {
        run.step(list.length);
        const at = list.findIndex((other) => equals(other, args.positional[0] ?? null));
        if (at < 0) throw new ChatTemplateValueError('value is not in list');
        return at;
      });
    case 'count':
      return new Callable(name, (args) => list.filter((other) => equals(other, args.positional[0] ?? null)).length);
    case 'copy':
      return new Callable(name, () => [...list]);
    case 'append':
    case 'extend':
    case 'insert':
    case 'pop':
    case 'remove':
    case 'clear':
    case 'sort':
    case 'reverse':
      return refused(name);
  }
  return undefined;
}

/** Values are immutable in the sandbox. */
function refused(name: string): Callable {
  return new Callable(name, () => {
    throw new ChatTemplateValueError(`${name}() would change a value, which a chat template must not`);
  });
}

/** `"{} {name}".format(…)`: fields without conversions or format specifications. */
function formatMethod(self: Text, run: Run): Callable {
  return new Callable('format', (args) => formatFields(self, args.positional, args.named, run));
}
