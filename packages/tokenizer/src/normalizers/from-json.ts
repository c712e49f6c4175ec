import { BYTE_TO_UNIT } from '../bpe/byte-alphabet.js';
import { UnsupportedTokenizerError } from '../errors.js';
import { array, boolean, isObject, type JsonObject, object, string } from '../json/access.js';
import { patternFinder } from '../pre-tokenizers/from-json.js';
import { isWhitespace } from '../unicode/categories.js';
import { utf8 } from '../unicode/utf16.js';
import { bertNormalizer, stripAccents } from './bert.js';
import { lowercase } from './lowercase.js';
import { nmt } from './nmt.js';
import { type Normalizer, sequence } from './normalizer.js';
import { precompiled } from './precompiled.js';

type Build = (spec: JsonObject, path: string) => Normalizer;

const BUILDERS: Readonly<Record<string, Build>> = {
  Sequence: (spec, path) =>
    sequence(
      array(spec['normalizers'], `${path}.normalizers`).map((part, i) =>
        normalizerFromJson(part, `${path}.normalizers[${i}]`),
      ),
    ),
  NFC: () => (text) => text.normalize('NFC'),
  NFD: () => (text) => text.normalize('NFD'),
  NFKC: () => (text) => text.normalize('NFKC'),
  NFKD: () => (text) => text.normalize('NFKD'),
  Lowercase: () => lowercase,
  Strip: (spec, path) => {
    const left = boolean(spec['strip_left'], `${path}.strip_left`, true);
    const right = boolean(spec['strip_right'], `${path}.strip_right`, true);
    return (text) => strip(text, left, right);
  },
  StripAccents: () => stripAccents,
  Prepend: (spec, path) => {
    const prefix = string(spec['prepend'], `${path}.prepend`);
    return (text) => (text === '' ? text : prefix + text);
  },
  Replace: (spec, path) => {
    const content = string(spec['content'], `${path}.content`);
    const pattern = spec['pattern'];
    if (isObject(pattern) && typeof pattern['String'] === 'string' && pattern['String'] !== '') {
      const literal = pattern['String'];
      return (text) => text.replaceAll(literal, () => content);
    }
    const find = patternFinder(pattern, `${path}.pattern`);
    return (text) => {
      let result = '';
      let start = 0;
      find(text, (end, isMatch) => {
        result += isMatch ? content : text.slice(start, end);
        start = end;
      });
      return result;
    };
  },
  BertNormalizer: (spec, path) => {
    const lower = boolean(spec['lowercase'], `${path}.lowercase`, true);
    return bertNormalizer({
      cleanText: boolean(spec['clean_text'], `${path}.clean_text`, true),
      handleChineseCharacters: boolean(spec['handle_chinese_chars'], `${path}.handle_chinese_chars`, true),
      stripAccents: boolean(spec['strip_accents'], `${path}.strip_accents`, lower),
      lowercase: lower,
    });
  },
  Nmt: () => nmt,
  Precompiled: (spec, path) => precompiled(string(spec['precompiled_charsmap'], `${path}.precompiled_charsmap`), path),
  ByteLevel: () => (text) => {
    let result = '';
    for (const byte of utf8(text)) result += String.fromCharCode(BYTE_TO_UNIT[byte]!);
    return result;
  },
};

/** The normalizer that a `normalizer` section describes; undefined when it changes nothing. */
export function normalizerFromJson(value: unknown, path: string): Normalizer {
  const spec = object(value, path);
  const type = string(spec['type'], `${path}.type`);
  const build = Object.hasOwn(BUILDERS, type) ? BUILDERS[type] : undefined;
  if (build === undefined) throw new UnsupportedTokenizerError('normalizer', type, Object.keys(BUILDERS));
  return build(spec, path);
}

/** Whether a `normalizer` section leaves every text as it is. */
export function isIdentity(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (!isObject(value) || value['type'] !== 'Sequence') return false;
  return Array.isArray(value['normalizers']) && value['normalizers'].every(isIdentity);
}

function strip(text: string, left: boolean, right: boolean): string {
  let start = 0;
  let end = text.length;
  if (left) while (start < end && isWhitespace(text.charCodeAt(start))) start++;
  if (right) while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
