import { SentencePieceDecoder } from '../decoders/sentencepiece-decoder.js';
import { TokenizerFormatError } from '../errors.js';
import { PieceEncoder } from '../models/piece-encoder.js';
import { Unigram } from '../models/unigram.js';
import type { Normalizer } from '../normalizers/normalizer.js';
import { CharacterMap } from '../normalizers/precompiled.js';
import { metaspace } from '../pre-tokenizers/metaspace.js';
import { type GgufModelParts, type GgufVocabulary, TokenType } from './model-parts.js';

const CHARSMAP_KEY = 'tokenizer.ggml.precompiled_charsmap';

/** Model `t5`: SentencePiece unigram. */
export function unigramParts({ reader, tokens, types }: GgufVocabulary): GgufModelParts {
  const scores = reader.numbers('tokenizer.ggml.scores', tokens.length);
  if (scores === undefined) throw new TokenizerFormatError('tokenizer.ggml.scores', 'is missing');
  const ids = new Map<string, number>();
  const excluded = new Set<number>();
  for (let id = 0; id < tokens.length; id++) {
    if (!ids.has(tokens[id]!)) ids.set(tokens[id]!, id);
    if (types[id] !== TokenType.Normal && types[id] !== TokenType.UserDefined) excluded.add(id);
  }
  const addPrefix = reader.boolean('tokenizer.ggml.add_space_prefix', true);
  const hasBytes = Array.from(types).includes(TokenType.Byte);
  const model = new Unigram({
    tokens,
    scores,
    unknownId: reader.tokenId('tokenizer.ggml.unknown_token_id', tokens.length) ?? 2,
    byteFallback: hasBytes,
    idOf: (token) => ids.get(token),
    excluded,
  });
  return {
    normalizer: readNormalizer(
      reader.get(CHARSMAP_KEY),
      reader.boolean('tokenizer.ggml.remove_extra_whitespaces', false),
    ),
    encoder: new PieceEncoder(metaspace('▁', addPrefix ? 'always' : 'never', true), model),
    decoder: new SentencePieceDecoder(tokens, {
      textOf: (token, first) => token.replaceAll('▁', first && addPrefix ? '' : ' '),
      byteFallback: hasBytes,
      strip: undefined,
    }),
    defaults: { addBos: false, addEos: true, addSep: false },
  };
}

function readNormalizer(charsmap: unknown, removeExtra: boolean): Normalizer | undefined {
  let map: CharacterMap | undefined;
  if (charsmap !== undefined && charsmap !== null) {
    const isList = Array.isArray(charsmap) || ArrayBuffer.isView(charsmap);
    if (!isList) throw new TokenizerFormatError(CHARSMAP_KEY, 'expected an array of bytes');
    map = new CharacterMap(Uint8Array.from(charsmap as ArrayLike<number>), CHARSMAP_KEY);
  }
  if (map === undefined && !removeExtra) return undefined;
  return (text) => {
    const mapped = map === undefined ? text : map.normalize(text);
    return removeExtra ? mapped.replace(/ {2,}/g, ' ').replace(/^ | $/g, '') : mapped;
  };
}
