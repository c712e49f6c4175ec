import { SentencePieceDecoder } from '../decoders/sentencepiece-decoder.js';
import { PieceEncoder } from '../models/piece-encoder.js';
import { WordPiece } from '../models/wordpiece.js';
import { bertNormalizer } from '../normalizers/bert.js';
import { preTokenizerFromJson } from '../pre-tokenizers/from-json.js';
import type { GgufModelParts, GgufVocabulary } from './model-parts.js';

/** Model `bert`: word pieces. GGUF marks the beginning of a word with ▁, where vocab.txt marks continuations with ##. */
export function wordPieceParts({ reader, tokens, vocabulary }: GgufVocabulary): GgufModelParts {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const split = preTokenizerFromJson({ type: 'BertPreTokenizer' }, 'tokenizer.ggml.pre');
  const model = new WordPiece({
    idOf: (token) => (token.startsWith('##') ? ids.get(token.slice(2)) : ids.get(`▁${token}`)),
    unknownId: reader.tokenId('tokenizer.ggml.unknown_token_id', tokens.length) ?? 100,
    continuingSubwordPrefix: '##',
    maxInputCharsPerWord: 100,
  });
  const lower = ![...ids.keys()].some((token) => /^▁?[A-Z]/.test(token));
  return {
    normalizer: bertNormalizer({
      cleanText: true,
      handleChineseCharacters: true,
      stripAccents: lower,
      lowercase: lower,
    }),
    encoder: new PieceEncoder(split, model),
    decoder: new SentencePieceDecoder(vocabulary.tokens, {
      textOf: (token, first) => (first ? token.replace('▁', '') : token.replace('▁', ' ')),
      byteFallback: false,
      strip: undefined,
    }),
    defaults: { addBos: true, addEos: false, addSep: true },
  };
}
