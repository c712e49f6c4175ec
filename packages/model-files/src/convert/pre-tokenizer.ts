import { UnsupportedConversionError } from './errors.js';

interface PreTokenizer {
  readonly type?: string;
  readonly pretokenizers?: PreTokenizer[];
  readonly pattern?: { readonly Regex?: string; readonly String?: string };
  readonly use_regex?: boolean;
  readonly individual_digits?: boolean;
}

/** The rules of a pre-tokenizer in order, each as one string. */
function rules(node: PreTokenizer | null | undefined): string[] {
  switch (node?.type) {
    case 'Sequence':
      return (node.pretokenizers ?? []).flatMap(rules);
    case 'Split':
      return [node.pattern?.Regex ?? node.pattern?.String ?? ''];
    case 'Digits':
      return [node.individual_digits === true ? 'digits' : 'numbers'];
    case 'ByteLevel':
      return node.use_regex === false ? [] : ['gpt2'];
    default:
      return node?.type === undefined ? [] : [`unknown ${node.type}`];
  }
}

const contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`;
const tail = String.raw`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const word = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;
const casedWords = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`;

/** tokenizer.ggml.pre by how the rules look. */
const known: readonly (readonly [string, (rules: readonly string[]) => boolean])[] = [
  ['gpt-2', (r) => r.length === 1 && r[0] === 'gpt2'],
  ['smollm', (r) => r.length === 2 && r[0] === 'digits' && r[1] === 'gpt2'],
  ['llama-bpe', (r) => r.length === 1 && r[0] === String.raw`${contractions}|${word}|\p{N}{1,3}${tail}`],
  ['qwen2', (r) => r.length === 1 && r[0] === String.raw`${contractions}|${word}|\p{N}${tail}`],
  ['tekken', (r) => r.length === 1 && r[0]!.startsWith(`${casedWords}|`) && r[0]!.includes(String.raw`|\p{N}|`)],
  [
    'gpt-4o',
    (r) => r.length === 1 && r[0]!.startsWith(casedWords + contractions) && r[0]!.includes(String.raw`\p{N}{1,3}`),
  ],
  ['deepseek-v3', (r) => r.length === 3 && r[0] === String.raw`\p{N}{1,3}` && r[1]!.startsWith('[一-龥')],
  ['deepseek-llm', (r) => r.length >= 5 && r[0] === '[\r\n]' && r[1]!.startsWith(String.raw`\s?[A-Za-z`)],
  ['deepseek-coder', (r) => r.length >= 4 && r[0] === '[\r\n]' && r[1] === String.raw`\s?\p{L}+`],
];

/**
 * llama.cpp's name for a byte-level pre-tokenizer, found by its rules.
 *
 * @throws UnsupportedConversionError if the rules are not among those known
 */
export function preTokenizerName(preTokenizer: unknown, file: string): string {
  const found = rules(preTokenizer as PreTokenizer | null);
  for (const [name, matches] of known) if (matches(found)) return name;
  throw new UnsupportedConversionError('the pre-tokenizer is none of those known; name it with preTokenizer', {
    file,
    field: 'pre_tokenizer',
    value: found.join(' , ').slice(0, 200),
    limit: known.map(([name]) => name).join(', '),
  });
}

const split = (regex: string) => ({ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false });
const gpt2Rule = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** The splits before the byte-level step for a name that `preTokenizerName` gives; undefined where they are not kept. */
export function preTokenizerRules(name: string): Record<string, unknown>[] | undefined {
  switch (name) {
    case 'gpt-2':
      return [split(gpt2Rule)];
    case 'smollm':
      return [{ type: 'Digits', individual_digits: true }, split(gpt2Rule)];
    case 'llama-bpe':
      return [split(String.raw`${contractions}|${word}|\p{N}{1,3}${tail}`)];
    case 'qwen2':
    case 'deepseek-r1-qwen':
      return [split(String.raw`${contractions}|${word}|\p{N}${tail}`)];
    case 'deepseek-v3':
      return [
        split(String.raw`\p{N}{1,3}`),
        split('[一-龥぀-ゟ゠-ヿ]+'),
        split(
          String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` +
            '`' +
            String.raw`{|}~][A-Za-z]+|[^` +
            '\r\n' +
            String.raw`\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[` +
            '\r\n' +
            String.raw`]*|\s*[` +
            '\r\n' +
            String.raw`]+|\s+(?!\S)|\s+`,
        ),
      ];
    default:
      return undefined;
  }
}
