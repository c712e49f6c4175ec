import { ByteBpe } from '../bpe/byte-bpe.js';
import { MergeTable } from '../bpe/merge-table.js';
import { ByteLevelDecoder } from '../decoders/byte-level-decoder.js';
import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import { createByteLevel } from '../models/byte-level-encoder.js';
import type { SpecialFrame } from '../post-processors/post-processor.js';
import type { SpecialToken, SpecialTokens } from '../special-tokens.js';
import type { ChatTemplateSource, TokenizerParts } from '../tokenizer-parts.js';
import { atOnce } from '../slices.js';
import { type AddedToken, Vocabulary } from '../vocabulary.js';
import { knownTokens } from '../json/config.js';
import { type GgufMetadata, MetadataReader } from './metadata.js';
import { type GgufModelParts, type GgufVocabulary, TokenType } from './model-parts.js';
import { ggufPreTokenizer } from './pre-tokenizers.js';
import { sentencePieceParts } from './sentencepiece.js';
import { unigramParts } from './unigram.js';
import { wordPieceParts } from './wordpiece.js';

export type { GgufMetadata } from './metadata.js';

const MODELS: Readonly<Record<string, (source: GgufVocabulary) => GgufModelParts>> = {
  gpt2: byteLevelParts,
  llama: sentencePieceParts,
  t5: unigramParts,
  bert: wordPieceParts,
};

export function tokenizerFromGguf(metadata: GgufMetadata): TokenizerParts {
  const reader = new MetadataReader(metadata);
  const model = reader.string('tokenizer.ggml.model');
  if (model === undefined) throw new TokenizerFormatError('tokenizer.ggml.model', 'is missing');
  const build = Object.hasOwn(MODELS, model) ? MODELS[model] : undefined;
  if (build === undefined) throw new UnsupportedTokenizerError('tokenizer.ggml.model', model, Object.keys(MODELS));
  const tokens = reader.strings('tokenizer.ggml.tokens');
  if (tokens === undefined || tokens.length === 0)
    throw new TokenizerFormatError('tokenizer.ggml.tokens', 'is missing');
  const types = reader.numbers('tokenizer.ggml.token_type', tokens.length) ?? new Uint8Array(tokens.length).fill(1);
  const vocabulary = new Vocabulary([...tokens], addedTokens(tokens, types));
  const parts = build({ reader, tokens, types, vocabulary });
  const specialTokens = readSpecialTokens(reader, vocabulary, model);
  return {
    vocabulary,
    normalizer: parts.normalizer,
    encoder: parts.encoder,
    decoder: parts.decoder,
    frame: readFrame(reader, specialTokens, parts.defaults),
    specialTokens,
    chatTemplate: readChatTemplate(reader),
  };
}

function addedTokens(tokens: readonly string[], types: ArrayLike<number>): AddedToken[] {
  const added: AddedToken[] = [];
  for (let id = 0; id < tokens.length; id++) {
    const type = types[id];
    if (type !== TokenType.Control && type !== TokenType.UserDefined && type !== TokenType.Unknown) continue;
    added.push({
      id,
      content: tokens[id]!,
      special: type !== TokenType.UserDefined,
      normalized: false,
      lstrip: false,
      rstrip: false,
      singleWord: false,
    });
  }
  return added;
}

function byteLevelParts({ reader, tokens, types }: GgufVocabulary): GgufModelParts {
  const rule = ggufPreTokenizer(reader.string('tokenizer.ggml.pre') ?? 'default');
  const lines = reader.strings('tokenizer.ggml.merges');
  if (lines === undefined) throw new TokenizerFormatError('tokenizer.ggml.merges', 'is missing');
  const ids = new Map<string, number>();
  const ordinary: (string | undefined)[] = [];
  for (let id = 0; id < tokens.length; id++) {
    // Control tokens are no results of merges, so that text cannot spell them.
    const usable = types[id] === TokenType.Normal || types[id] === TokenType.UserDefined || types[id] === undefined;
    ordinary.push(usable ? tokens[id]! : undefined);
    if (usable) ids.set(tokens[id]!, id);
  }
  const merges = new MergeTable(lines.length);
  for (let rank = 0; rank < lines.length; rank++) {
    const line = lines[rank]!;
    const space = line.indexOf(' ', 1);
    const left = line.slice(0, space);
    const right = line.slice(space + 1);
    const a = ids.get(left);
    const b = ids.get(right);
    const merged = ids.get(left + right);
    if (space < 0 || a === undefined || b === undefined || merged === undefined) {
      throw new TokenizerFormatError(`tokenizer.ggml.merges[${rank}]`, `${JSON.stringify(line)} names unknown tokens`);
    }
    merges.add(a, b, rank, merged);
  }
  const bpe = atOnce(ByteBpe.create({ tokens: ordinary, merges, ignoreMerges: rule.ignoreMerges }));
  return {
    normalizer: rule.nfc ? (text) => text.normalize('NFC') : undefined,
    encoder: createByteLevel(
      rule.steps.map((spec, i) => ({ spec, path: `tokenizer.ggml.pre[${i}]` })),
      { addPrefixSpace: reader.boolean('tokenizer.ggml.add_space_prefix', false), useRegex: rule.byteLevelRegex },
      bpe,
    ),
    decoder: new ByteLevelDecoder(tokens),
    defaults: { addBos: rule.addBos, addEos: false, addSep: rule.addSep },
  };
}

const SPECIAL_KEYS: readonly (readonly [keyof SpecialTokens, readonly string[]])[] = [
  ['bos', ['bos_token_id', 'cls_token_id']],
  ['eos', ['eos_token_id', 'seperator_token_id', 'separator_token_id']],
  ['pad', ['padding_token_id']],
  ['unk', ['unknown_token_id']],
  ['sep', ['seperator_token_id', 'separator_token_id']],
  ['cls', ['cls_token_id']],
  ['mask', ['mask_token_id']],
  ['eot', ['eot_token_id']],
  ['fimPrefix', ['fim_pre_token_id', 'prefix_token_id']],
  ['fimSuffix', ['fim_suf_token_id', 'suffix_token_id']],
  ['fimMiddle', ['fim_mid_token_id', 'middle_token_id']],
];

/** Ids that hold where a file leaves the key out. */
const DEFAULT_IDS: Readonly<Record<string, Partial<Record<keyof SpecialTokens, number>>>> = {
  gpt2: { bos: 11, eos: 11 },
  llama: { bos: 1, eos: 2, unk: 0 },
  t5: { eos: 1, unk: 2, pad: 0 },
  bert: { bos: 101, cls: 101, unk: 100, sep: 102, eos: 102, pad: 0, mask: 103 },
};

function readSpecialTokens(reader: MetadataReader, vocabulary: Vocabulary, model: string): SpecialTokens {
  const result: Partial<Record<keyof SpecialTokens, SpecialToken>> = { ...knownTokens(vocabulary) };
  for (const [name, keys] of SPECIAL_KEYS) {
    let id: number | undefined;
    for (const key of keys) id ??= reader.tokenId(`tokenizer.ggml.${key}`, vocabulary.size);
    const fallback = DEFAULT_IDS[model]?.[name];
    if (id === undefined && fallback !== undefined && fallback < vocabulary.size) id = fallback;
    if (id !== undefined) result[name] = { id, token: vocabulary.tokenOf(id)! };
  }
  return result;
}

function readFrame(reader: MetadataReader, tokens: SpecialTokens, defaults: GgufModelParts['defaults']): SpecialFrame {
  const prefix: number[] = [];
  const suffix: number[] = [];
  const { bos, eos, sep } = tokens;
  if (reader.boolean('tokenizer.ggml.add_bos_token', defaults.addBos) && bos !== undefined) prefix.push(bos.id);
  if (reader.boolean('tokenizer.ggml.add_eos_token', defaults.addEos) && eos !== undefined) suffix.push(eos.id);
  else if (reader.boolean('tokenizer.ggml.add_sep_token', defaults.addSep)) {
    const end = sep ?? eos;
    if (end !== undefined) suffix.push(end.id);
  }
  return { prefix, suffix };
}

function readChatTemplate(reader: MetadataReader): ChatTemplateSource | undefined {
  const main = reader.string('tokenizer.chat_template');
  const names = reader.strings('tokenizer.chat_templates');
  if (names === undefined || names.length === 0) return main;
  const templates = main === undefined ? [] : [{ name: 'default', template: main }];
  for (const name of names) {
    const template = reader.string(`tokenizer.chat_template.${name}`);
    if (template !== undefined) templates.push({ name, template });
  }
  return templates;
}
