import { concat, isText, plain, type Text, TextBuilder, markLike } from './marked-text.js';
import { Dict, Float, type Value, Undefined, Namespace, typeName } from './values.js';
import { ChatTemplateValueError } from './errors.js';

/** Python's `str()` of a value, which is also what printing it gives. */
export function toText(value: Value): Text {
  if (isText(value)) return value;
  if (value instanceof Undefined) return '';
  return repr(value);
}

/** Python's `repr()`. */
export function repr(value: Value): Text {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (value instanceof Float) return floatText(value.value);
  if (isText(value)) return markLike(quote(plain(value)), value);
  const builder = new TextBuilder();
  if (Array.isArray(value)) {
    builder.add('[');
    value.forEach((item: Value, i) => {
      if (i > 0) builder.add(', ');
      builder.add(repr(item));
    });
    builder.add(']');
    return builder.build();
  }
  if (value instanceof Dict) {
    builder.add('{');
    let first = true;
    for (const [key, item] of value.entries) {
      if (!first) builder.add(', ');
      first = false;
      builder.add(concat(repr(value.key(key)), ': ', repr(item)));
    }
    builder.add('}');
    return builder.build();
  }
  if (value instanceof Undefined) return 'Undefined';
  return value instanceof Namespace ? '<Namespace>' : '<function>';
}

/** Python's repr of a float: shortest digits, exponent from 1e16 up and below 1e-4. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    const [digits, exponent] = value.toExponential().split('e') as [string, string];
    const power = Math.abs(Number(exponent));
    return `${digits}e${exponent.startsWith('-') ? '-' : '+'}${power < 10 ? '0' : ''}${power}`;
  }
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) ? `${text}.0` : text;
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let result = mark;
  for (const character of text) {
    const c = character.codePointAt(0)!;
    if (character === mark || character === '\\') result += `\\${character}`;
    else if (c === 10) result += '\\n';
    else if (c === 13) result += '\\r';
    else if (c === 9) result += '\\t';
    else if (c < 32 || c === 127) result += `\\x${c.toString(16).padStart(2, '0')}`;
    else result += character;
  }
  return result + mark;
}

export interface JsonOptions {
  readonly ensureAscii: boolean;
  /** Spaces for each level, or the text of one level; undefined: one line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

/** Python's `json.dumps`. */
export function toJsonText(value: Value, options: JsonOptions): Text {
  const builder = new TextBuilder();
  writeJson(value, options, 0, builder);
  return builder.build();
}

function writeJson(value: Value, options: JsonOptions, depth: number, out: TextBuilder): void {
  if (value === null) out.add('null');
  else if (typeof value === 'boolean') out.add(value ? 'true' : 'false');
  else if (typeof value === 'number') out.add(String(value));
  else if (value instanceof Float) out.add(jsonFloat(value.value));
  else if (isText(value)) out.add(jsonString(value, options.ensureAscii));
  else if (Array.isArray(value)) writeList(value, options, depth, out);
  else if (value instanceof Dict) writeDict(value, options, depth, out);
  else throw new ChatTemplateValueError(`${typeName(value)} is not JSON serializable`);
}

function writeList(list: readonly Value[], options: JsonOptions, depth: number, out: TextBuilder): void {
  if (list.length === 0) {
    out.add('[]');
    return;
  }
  out.add('[');
  list.forEach((item, i) => {
    if (i > 0) out.add(options.itemSeparator);
    newLine(options, depth + 1, out);
    writeJson(item, options, depth + 1, out);
  });
  newLine(options, depth, out);
  out.add(']');
}

function writeDict(dict: Dict, options: JsonOptions, depth: number, out: TextBuilder): void {
  if (dict.entries.size === 0) {
    out.add('{}');
    return;
  }
  const keys = [...dict.entries.keys()];
  if (options.sortKeys) keys.sort();
  out.add('{');
  keys.forEach((key, i) => {
    if (i > 0) out.add(options.itemSeparator);
    newLine(options, depth + 1, out);
    out.add(jsonString(dict.key(key), options.ensureAscii));
    out.add(options.keySeparator);
    writeJson(dict.entries.get(key)!, options, depth + 1, out);
  });
  newLine(options, depth, out);
  out.add('}');
}

function newLine(options: JsonOptions, depth: number, out: TextBuilder): void {
  if (options.indent !== undefined) out.add(`\n${options.indent.repeat(depth)}`);
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  return floatText(value);
}

function jsonString(text: Text, ensureAscii: boolean): Text {
  let quoted = JSON.stringify(plain(text));
  if (ensureAscii) {
    quoted = quoted.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
  return concat('"', markLike(quoted.slice(1, -1), text), '"');
}
