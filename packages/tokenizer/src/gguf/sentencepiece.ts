import { CharBpe } from '../bpe/char-bpe.js';
import { MergeTable } from '../bpe/merge-table.js';
import { SentencePieceDecoder } from '../decoders/sentencepiece-decoder.js';
import { TokenizerFormatError } from '../errors.js';
import { PieceEncoder } from '../models/piece-encoder.js';
import { type GgufModelParts, type GgufVocabulary, TokenType } from './model-parts.js';

/** Model `llama`: SentencePiece BPE with byte fallback, whose merges follow from the tokens' scores. */
export function sentencePieceParts({ reader, tokens, types }: GgufVocabulary): GgufModelParts {
  const scores = reader.numbers('tokenizer.ggml.scores', tokens.length);
  if (scores === undefined) throw new TokenizerFormatError('tokenizer.ggml.scores', 'is missing');
  const ids = new Map<string, number>();
  const ordinary: (string | undefined)[] = [];
  for (let id = 0; id < tokens.length; id++) {
    const usable = types[id] === TokenType.Normal || types[id] === TokenType.UserDefined;
    ordinary.push(usable ? tokens[id]! : undefined);
    if (usable && !ids.has(tokens[id]!)) ids.set(tokens[id]!, id);
  }
  const byteIds = new Map<string, number>();
  for (let id = 0; id < tokens.length; id++) if (types[id] === TokenType.Byte) byteIds.set(tokens[id]!, id);
  const addPrefix = reader.boolean('tokenizer.ggml.add_space_prefix', true);
  const bpe = new CharBpe({
    tokens: ordinary,
    idOf: (token) => byteIds.get(token) ?? ids.get(token),
    merges: mergesFromScores(ordinary, ids, scores),
    byteFallback: byteIds.size > 0,
    unknownId: reader.tokenId('tokenizer.ggml.unknown_token_id', tokens.length) ?? 0,
    fuseUnknown: true,
    ignoreMerges: false,
    continuingSubwordPrefix: '',
    endOfWordSuffix: '',
  });
  return {
    normalizer: (text) => {
      const escaped = text.replaceAll(' ', '▁');
      return addPrefix && escaped !== '' ? `▁${escaped}` : escaped;
    },
    encoder: new PieceEncoder(undefined, bpe),
    decoder: new SentencePieceDecoder(tokens, {
      textOf: (token) => token.replaceAll('▁', ' '),
      byteFallback: byteIds.size > 0,
      strip: addPrefix ? { content: ' ', count: 1 } : undefined,
    }),
    defaults: { addBos: true, addEos: false, addSep: false },
  };
}

/** Every way to put a token together from two others, ranked by the token's score: equal scores have equal ranks. */
function mergesFromScores(
  tokens: readonly (string | undefined)[],
  ids: ReadonlyMap<string, number>,
  scores: ArrayLike<number>,
): MergeTable {
  const found: number[] = []; // triples: left, right, merged
  for (let id = 0; id < tokens.length; id++) {
    const token = tokens[id];
    if (token === undefined) continue;
    for (let cut = 1; cut < token.length; cut++) {
      if ((token.charCodeAt(cut) & 0xfc00) === 0xdc00) continue;
      const left = ids.get(token.slice(0, cut));
      if (left === undefined) continue;
      const right = ids.get(token.slice(cut));
      if (right !== undefined) found.push(left, right, id);
    }
  }
  const distinct = [...new Set(Array.from(scores))].toSorted((a, b) => b - a);
  const rankOf = new Map(distinct.map((score, rank) => [score, rank]));
  const merges = new MergeTable(found.length / 3);
  for (let i = 0; i < found.length; i += 3) {
    const merged = found[i + 2]!;
    merges.add(found[i]!, found[i + 1]!, rankOf.get(scores[merged]!)!, merged);
  }
  return merges;
}
