import { UnsupportedTokenizerError } from '../errors.js';
import type { JsonObject } from '../json/access.js';
import {
  DEEPSEEK_CODER_PATTERNS,
  DEEPSEEK_LLM_PATTERNS,
  DEEPSEEK_V3_PATTERNS,
  GPT2_PATTERN,
  GPT4O_PATTERN,
  KIMI_K2_PATTERN,
  LLAMA3_PATTERN,
  QWEN2_PATTERN,
  QWEN35_PATTERN,
  TEKKEN_PATTERN,
} from '../scanners/patterns.js';

/** What the value of `tokenizer.ggml.pre` stands for, as the tokenizer.json of these models says it. */
export interface GgufPreTokenizer {
  /** A `pre_tokenizer` section without the final ByteLevel. */
  readonly steps: readonly JsonObject[];
  /** Whether ByteLevel applies GPT-2's pattern after them. */
  readonly byteLevelRegex: boolean;
  /** Unicode normal form of the text. */
  readonly nfc: boolean;
  /** A piece that is a token needs no merges. */
  readonly ignoreMerges: boolean;
  /** BOS is added unless the file says otherwise. */
  readonly addBos: boolean;
  /** The separator is added at the end unless the file says otherwise. */
  readonly addSep: boolean;
}

type RuleOptions = Partial<Omit<GgufPreTokenizer, 'steps'>>;

function isolated(pattern: string): JsonObject {
  return { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
}

function splits(patterns: readonly string[], options: RuleOptions = {}): GgufPreTokenizer {
  return rule(patterns.map(isolated), options);
}

function rule(steps: readonly JsonObject[], options: RuleOptions = {}): GgufPreTokenizer {
  return { steps, byteLevelRegex: false, nfc: false, ignoreMerges: false, addBos: false, addSep: false, ...options };
}

const GPT2 = rule([], { byteLevelRegex: true });
const SINGLE_DIGITS = rule([{ type: 'Digits', individual_digits: true }], { byteLevelRegex: true });
const LLAMA3 = splits([LLAMA3_PATTERN], { ignoreMerges: true, addBos: true });
const GPT_NEOX = { ...GPT2, nfc: true };
const CL100K = splits([LLAMA3_PATTERN]);
const QWEN2 = splits([QWEN2_PATTERN], { nfc: true });
const QWEN2_RAW = splits([QWEN2_PATTERN]);
const GPT4O = splits([GPT4O_PATTERN]);
const BLOOM = splits([' ?[^(\\s|[.,!?…。，、।۔،])]+']);
const BAILING = splits([
  "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
]);
const FALCON_STEPS: readonly JsonObject[] = [
  { type: 'Punctuation', behavior: 'Contiguous' },
  isolated(GPT2_PATTERN),
  { type: 'Digits', individual_digits: false },
  isolated('[0-9][0-9][0-9]'),
];

/** Every name, in groups that share a rule. */
const GROUPS: readonly (readonly [GgufPreTokenizer, string])[] = [
  [rule(FALCON_STEPS), 'default falcon'],
  [LLAMA3, 'llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano'],
  [splits(DEEPSEEK_LLM_PATTERNS), 'deepseek-llm'],
  [splits(DEEPSEEK_CODER_PATTERNS), 'deepseek-coder'],
  [splits(DEEPSEEK_V3_PATTERNS), 'deepseek-v3 hunyuan-dense joyai-llm'],
  [QWEN2, 'qwen2 deepseek-r1-qwen kormo f2llmv2 megrez'],
  [splits([QWEN35_PATTERN], { nfc: true }), 'qwen35'],
  [QWEN2_RAW, 'stablelm2 hunyuan grok-2 solar-open'],
  [
    GPT2,
    'gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum exaone4 jais trillion granite-docling',
  ],
  [{ ...GPT2, addSep: true }, 'jina-v1-en jina-v2-code roberta-bpe'],
  [GPT_NEOX, 'mpt olmo modern-bert'],
  [SINGLE_DIGITS, 'starcoder refact command-r smollm codeshell exaone minerva-7b'],
  [CL100K, 'dbrx smaug-bpe glm4 chatglm-bpe'],
  [splits([TEKKEN_PATTERN], { ignoreMerges: true, addBos: true }), 'tekken'],
  [GPT4O, 'gpt-4o llama4 kanana2 talkie minimax-m2'],
  [splits([KIMI_K2_PATTERN]), 'kimi-k2'],
  [BLOOM, 'bloom poro-chat gpt3-finnish'],
  [rule([isolated(' ?[^(\\s|[.,!?…。，、।۔،])]+'), { type: 'Digits', individual_digits: true }]), 'viking'],
  [BAILING, 'bailingmoe bailingmoe2 llada-moe'],
  [
    splits([
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    ]),
    'seed-coder',
  ],
];

const RULES: ReadonlyMap<string, GgufPreTokenizer> = new Map(
  GROUPS.flatMap(([value, names]) => names.split(' ').map((name) => [name, value] as const)),
);

/** The rule for a value of `tokenizer.ggml.pre`. */
export function ggufPreTokenizer(name: string): GgufPreTokenizer {
  const found = RULES.get(name);
  if (found !== undefined) return found;
  throw new UnsupportedTokenizerError(
    'tokenizer.ggml.pre',
    name,
    [...RULES.keys()].toSorted(),
    'Load the tokenizer.json of the model instead.',
  );
}
