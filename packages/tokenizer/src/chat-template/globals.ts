import { ArgumentReader } from './arguments.js';
import { ChatTemplateRaisedError, ChatTemplateValueError } from './errors.js';
import { isText, plain } from './marked-text.js';
import { toText } from './python-text.js';
import { type Run, Scope } from './run.js';
import { strftime } from './strftime.js';
import { type Arguments, Callable, Dict, iterate, Namespace, typeName, type Value } from './values.js';

/** Jinja's sandbox has the same bound. */
const MAX_RANGE = 100_000;

/** The scope that every template starts from: Jinja's functions and those that Transformers adds. */
export function globalScope(run: Run): Scope {
  const scope = new Scope(undefined);
  const define = (name: string, call: (args: Arguments) => Value) => scope.set(name, new Callable(name, call));
  define('range', (args) => range(args, run));
  define('namespace', (args) => {
    const result = new Namespace();
    for (const source of args.positional) for (const [key, value] of pairs(source)) result.entries.set(key, value);
    for (const [key, value] of args.named) result.entries.set(key, value);
    return result;
  });
  define('dict', (args) => {
    const entries = new Map<string, Value>();
    let marked = false;
    for (const source of args.positional) {
      if (source instanceof Dict && source.marked) marked = true;
      for (const [key, value] of pairs(source)) entries.set(key, value);
    }
    for (const [key, value] of args.named) entries.set(key, value);
    return new Dict(entries, marked);
  });
  define('raise_exception', (args) => {
    throw new ChatTemplateRaisedError(plain(toText(args.positional[0] ?? '')));
  });
  define('strftime_now', (args) =>
    strftime(run.now(), plain(new ArgumentReader('strftime_now', args).requiredText(0, 'format'))),
  );
  return scope;
}

function* pairs(source: Value): Generator<[string, Value]> {
  if (source instanceof Dict) {
    yield* source.entries;
    return;
  }
  for (const pair of iterate(source)) {
    const [key, value] = iterate(pair);
    if (key === undefined || value === undefined || !isText(key)) {
      throw new ChatTemplateValueError(`expected pairs of a string and a value, got ${typeName(pair)}`);
    }
    yield [plain(key), value];
  }
}

function range(args: Arguments, run: Run): Value {
  const [a, b, c] = args.positional.map((value) => {
    if (typeof value === 'number') return value;
    throw new ChatTemplateValueError(`range() needs integers, not ${typeName(value)}`);
  });
  if (a === undefined) throw new ChatTemplateValueError('range() needs an argument');
  const start = b === undefined ? 0 : a;
  const stop = b ?? a;
  const step = c ?? 1;
  if (step === 0) throw new ChatTemplateValueError('range() step must not be zero');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (count > MAX_RANGE)
    throw new ChatTemplateValueError(`range() of ${count} items is above the limit of ${MAX_RANGE}`);
  run.step(count >> 3);
  return Array.from({ length: count }, (_, i) => start + i * step);
}
