import { ChatTemplateValueError } from './errors.js';
import { plain, slice, type Text, TextBuilder } from './marked-text.js';
import { repr, toText } from './python-text.js';
import type { Run } from './run.js';
import { numeric, typeName, type Value } from './values.js';

/** `str.format` with plain fields: `{}`, `{0}`, `{name}`, `{{`, `}}`. */
export function formatFields(
  self: Text,
  positional: readonly Value[],
  named: ReadonlyMap<string, Value>,
  run: Run,
): Text {
  const text = plain(self);
  const builder = new TextBuilder();
  let next = 0;
  let start = 0;
  for (const match of text.matchAll(/\{\{|\}\}|\{([^{}]*)\}/g)) {
    builder.add(slice(self, start, match.index));
    start = match.index + match[0].length;
    const field = match[1];
    if (field === undefined) {
      builder.add(match[0][0]!);
      continue;
    }
    if (!/^\w*$/.test(field)) throw new ChatTemplateValueError(`format field "{${field}}" is not supported`);
    const value = /^\d*$/.test(field) ? positional[field === '' ? next++ : Number(field)] : named.get(field);
    if (value === undefined) throw new ChatTemplateValueError(`format field "{${field}}" has no argument`);
    builder.add(toText(value));
    run.reserveText(builder.length);
  }
  builder.add(slice(self, start));
  return builder.build();
}

/** Python's `%` formatting with `%s`, `%r`, `%d`, `%i`, `%f` and `%%`. */
export function formatPercent(self: Text, values: readonly Value[], run: Run): Text {
  const text = plain(self);
  const builder = new TextBuilder();
  let next = 0;
  let start = 0;
  for (const match of text.matchAll(/%(?:\.(\d{1,2}))?([a-zA-Z%])/g)) {
    builder.add(slice(self, start, match.index));
    start = match.index + match[0].length;
    if (match[2] === '%') {
      builder.add('%');
      continue;
    }
    const value = values[next++];
    if (value === undefined) throw new ChatTemplateValueError('not enough arguments for the format string');
    builder.add(converted(match[2]!, match[1] === undefined ? 6 : Number(match[1]), value));
    run.reserveText(builder.length);
  }
  builder.add(slice(self, start));
  return builder.build();
}

function converted(conversion: string, digits: number, value: Value): Text {
  if (conversion === 's') return toText(value);
  if (conversion === 'r') return repr(value);
  const number = numeric(value);
  if (number === undefined) throw new ChatTemplateValueError(`%${conversion} needs a number, not ${typeName(value)}`);
  if (conversion === 'd' || conversion === 'i') return String(Math.trunc(number));
  if (conversion === 'f') return number.toFixed(digits);
  throw new ChatTemplateValueError(`format conversion "%${conversion}" is not supported`);
}
