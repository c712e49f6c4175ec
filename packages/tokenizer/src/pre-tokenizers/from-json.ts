import { BYTE_TO_UNIT } from '../bpe/byte-alphabet.js';
import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import { array, boolean, isObject, type JsonObject, number, object, string } from '../json/access.js';
import { translateRegex } from '../regex/onig-to-js.js';
import { RUST_WORD_CLASS } from '../regex/unicode-classes.js';
import { GPT2_PATTERN } from '../scanners/patterns.js';
import { categoryTable, Category, isWhitespace } from '../unicode/categories.js';
import { legacyPunctuation } from '../unicode/legacy-sets.js';
import { utf8 } from '../unicode/utf16.js';
import { metaspace, type PrependScheme } from './metaspace.js';
import { type PreTokenizer, sequence } from './pre-tokenizer.js';
import {
  characterFinder,
  type Finder,
  literalFinder,
  regexFinder,
  split,
  SPLIT_BEHAVIORS,
  type SplitBehavior,
  trailingBlankFinder,
} from './split.js';

/** `\w+|[^\w\s]+` as Rust's regular expressions read it: their words include joiners and letter-like numbers. */
const RUST_WORDS = new RegExp(`[${RUST_WORD_CLASS}]+|[^${RUST_WORD_CLASS}\\p{White_Space}]+`, 'gu');

type Build = (spec: JsonObject, path: string) => PreTokenizer;

const BUILDERS: Readonly<Record<string, Build>> = {
  Sequence: (spec, path) =>
    sequence(
      array(spec['pretokenizers'], `${path}.pretokenizers`).map((part, i) =>
        preTokenizerFromJson(part, `${path}.pretokenizers[${i}]`),
      ),
    ),
  Split: (spec, path) =>
    splitting(
      patternFinder(spec['pattern'], `${path}.pattern`),
      splitBehavior(spec['behavior'], `${path}.behavior`),
      boolean(spec['invert'], `${path}.invert`, false),
    ),
  ByteLevel: (spec, path) => {
    const prefix = boolean(spec['add_prefix_space'], `${path}.add_prefix_space`, true);
    const useRegex = boolean(spec['use_regex'], `${path}.use_regex`, true);
    return sequence([byteLevelSplit(prefix, useRegex), spellBytes]);
  },
  Metaspace: (spec, path) => {
    const legacy = boolean(spec['add_prefix_space'], `${path}.add_prefix_space`, true) ? 'always' : 'never';
    const scheme = spec['prepend_scheme'] === undefined ? legacy : string(spec['prepend_scheme'], path);
    if (scheme !== 'always' && scheme !== 'first' && scheme !== 'never') {
      throw new UnsupportedTokenizerError(`${path}.prepend_scheme`, scheme, ['always', 'first', 'never']);
    }
    const replacement = string(spec['replacement'], `${path}.replacement`);
    return metaspace(replacement, scheme satisfies PrependScheme, boolean(spec['split'], `${path}.split`, true));
  },
  Whitespace: () => splitting(regexFinder(RUST_WORDS), 'Removed', true),
  WhitespaceSplit: () => splitting(characterFinder(isWhitespace), 'Removed', false),
  Punctuation: (spec, path) =>
    splitting(characterFinder(isPunctuation), splitBehavior(spec['behavior'] ?? 'Isolated', `${path}.behavior`), false),
  Digits: (spec, path) =>
    splitting(
      characterFinder(isNumeric),
      boolean(spec['individual_digits'], `${path}.individual_digits`, false) ? 'Isolated' : 'Contiguous',
      false,
    ),
  CharDelimiterSplit: (spec, path) =>
    splitting(literalFinder(string(spec['delimiter'], `${path}.delimiter`)), 'Removed', false),
  BertPreTokenizer: () =>
    sequence([
      splitting(characterFinder(isWhitespace), 'Removed', false),
      splitting(characterFinder(isPunctuation), 'Isolated', false),
    ]),
  FixedLength: (spec, path) => fixedLength(number(spec['length'], `${path}.length`, 5)),
};

/** The pre-tokenizer that a `pre_tokenizer` section describes. */
export function preTokenizerFromJson(value: unknown, path: string): PreTokenizer {
  const spec = object(value, path);
  const type = string(spec['type'], `${path}.type`);
  const build = Object.hasOwn(BUILDERS, type) ? BUILDERS[type] : undefined;
  if (build === undefined) throw new UnsupportedTokenizerError('pre_tokenizer', type, Object.keys(BUILDERS));
  return build(spec, path);
}

/** A `pattern` value: `{ "String": … }` or `{ "Regex": … }`. */
export function patternFinder(value: unknown, path: string): Finder {
  if (typeof value === 'string') return literalFinder(value);
  if (isObject(value)) {
    if (typeof value['String'] === 'string') return literalFinder(value['String']);
    // Searching this one would look at every run of blanks once for each of its characters.
    if (value['Regex'] === '\\s+$') return trailingBlankFinder;
    if (typeof value['Regex'] === 'string') return regexFinder(translateRegex(value['Regex']));
  }
  throw new TokenizerFormatError(path, 'expected {"String": …} or {"Regex": …}');
}

export function splitBehavior(value: unknown, path: string): SplitBehavior {
  const name = string(value, path);
  // Older files write snake case.
  const known = SPLIT_BEHAVIORS.find((b) => b === name || b.toLowerCase() === name.replaceAll('_', '').toLowerCase());
  if (known === undefined) throw new UnsupportedTokenizerError(path, name, SPLIT_BEHAVIORS);
  return known;
}

export function splitting(find: Finder, behavior: SplitBehavior, invert: boolean): PreTokenizer {
  return (piece, _context, out) => split(piece, find, behavior, invert, out);
}

/** ByteLevel without the spelling in the byte alphabet. */
export function byteLevelSplit(addPrefixSpace: boolean, useRegex: boolean): PreTokenizer {
  const find = useRegex ? regexFinder(translateRegex(GPT2_PATTERN)) : undefined;
  return (piece, _context, out) => {
    if (piece === '') return;
    const text = addPrefixSpace && !piece.startsWith(' ') ? ` ${piece}` : piece;
    if (find === undefined) out.push(text);
    else split(text, find, 'Isolated', false, out);
  };
}

const spellBytes: PreTokenizer = (piece, _context, out) => {
  let text = '';
  for (const byte of utf8(piece)) text += String.fromCharCode(BYTE_TO_UNIT[byte]!);
  out.push(text);
};

function isPunctuation(codePoint: number): boolean {
  return legacyPunctuation().has(codePoint);
}

function isNumeric(codePoint: number): boolean {
  const category = categoryTable()[codePoint];
  return category === Category.DecimalNumber || category === Category.OtherNumber;
}

function fixedLength(length: number): PreTokenizer {
  return (piece, _context, out) => {
    const characters = Array.from(piece);
    for (let i = 0; i < characters.length; i += length) out.push(characters.slice(i, i + length).join(''));
  };
}
