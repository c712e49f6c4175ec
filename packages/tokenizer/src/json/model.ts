import type { MergeTable } from '../bpe/merge-table.js';
import type { TokenIndex } from '../bpe/token-index.js';
import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import type { Model } from '../models/model.js';
import { Unigram } from '../models/unigram.js';
import { WordPiece } from '../models/wordpiece.js';
import { array, boolean, type JsonObject, number, optionalString, string, tokenId } from './access.js';
import type { TokenizerJson } from './read.js';

/** BPE as a file describes it: enough for both the byte-level and the character-level form. */
export interface JsonBpe {
  readonly tokens: readonly (string | undefined)[];
  readonly idOf: (token: string) => number | undefined;
  readonly merges: MergeTable;
  readonly byteFallback: boolean;
  readonly unknownId: number | undefined;
  readonly fuseUnknown: boolean;
  readonly ignoreMerges: boolean;
  readonly continuingSubwordPrefix: string;
  readonly endOfWordSuffix: string;
  /** Whether a prefix or suffix changes how characters are spelled. */
  readonly decorated: boolean;
}

/** The `model` section: either BPE data or a finished model. */
export interface JsonModel {
  readonly tokens: readonly (string | undefined)[];
  readonly unknownToken: string | undefined;
  readonly bpe: JsonBpe | undefined;
  readonly model: Model | undefined;
}

export function readModel({ model: spec, vocab, merges }: TokenizerJson): JsonModel {
  // Files from before the field was written are told apart by their content.
  const type = optionalString(spec['type'], 'model.type') ?? guessType(vocab, merges);
  switch (type) {
    case 'BPE':
      return readBpe(spec, required(vocab), merges);
    case 'Unigram':
      return readUnigram(spec);
    case 'WordPiece':
      return readWordPiece(spec, required(vocab));
  }
  throw new UnsupportedTokenizerError('model', type, ['BPE', 'Unigram', 'WordPiece']);
}

function guessType(vocab: TokenIndex | undefined, merges: TokenizerJson['merges']): string {
  if (merges !== undefined) return 'BPE';
  return vocab === undefined ? 'Unigram' : 'WordPiece';
}

function required(vocab: TokenIndex | undefined): TokenIndex {
  if (vocab === undefined) throw new TokenizerFormatError('model.vocab', 'expected an object of tokens and ids');
  return vocab;
}

function readBpe(spec: JsonObject, vocab: TokenIndex, merges: TokenizerJson['merges']): JsonModel {
  const dropout = spec['dropout'];
  if (typeof dropout === 'number' && dropout > 0) {
    throw new UnsupportedTokenizerError('model.dropout', String(dropout), ['null', '0'], 'Encoding here is exact.');
  }
  if (merges === undefined) throw new TokenizerFormatError('model.merges', 'is missing');
  const prefix = optionalString(spec['continuing_subword_prefix'], 'model.continuing_subword_prefix') ?? '';
  const suffix = optionalString(spec['end_of_word_suffix'], 'model.end_of_word_suffix') ?? '';
  const unknownToken = optionalString(spec['unk_token'], 'model.unk_token');
  const bpe: JsonBpe = {
    tokens: vocab.tokens,
    idOf: (token) => vocab.idOf(token),
    merges: merges(vocab, prefix.length),
    byteFallback: boolean(spec['byte_fallback'], 'model.byte_fallback', false),
    unknownId: unknownToken === undefined ? undefined : unknownId(vocab, unknownToken),
    fuseUnknown: boolean(spec['fuse_unk'], 'model.fuse_unk', false),
    ignoreMerges: boolean(spec['ignore_merges'], 'model.ignore_merges', false),
    continuingSubwordPrefix: prefix,
    endOfWordSuffix: suffix,
    decorated: prefix !== '' || suffix !== '',
  };
  return { tokens: vocab.tokens, unknownToken, bpe, model: undefined };
}

function unknownId(vocab: TokenIndex, token: string): number {
  const id = vocab.idOf(token);
  if (id !== undefined) return id;
  throw new TokenizerFormatError('model.unk_token', `${JSON.stringify(token)} is not in the vocabulary`);
}

function readUnigram(spec: JsonObject): JsonModel {
  const list = array(spec['vocab'], 'model.vocab');
  const tokens: string[] = [];
  const scores = new Float64Array(list.length);
  const ids = new Map<string, number>();
  for (let id = 0; id < list.length; id++) {
    const entry = array(list[id], `model.vocab[${id}]`);
    const token = string(entry[0], `model.vocab[${id}][0]`);
    tokens.push(token);
    scores[id] = number(entry[1], `model.vocab[${id}][1]`);
    ids.set(token, id);
  }
  const unknown = spec['unk_id'];
  const unknownId = unknown === null || unknown === undefined ? undefined : tokenId(unknown, 'model.unk_id');
  if (unknownId !== undefined && unknownId >= tokens.length) {
    throw new TokenizerFormatError('model.unk_id', `${unknownId} is outside the vocabulary of ${tokens.length}`);
  }
  const model = new Unigram({
    tokens,
    scores,
    unknownId,
    byteFallback: boolean(spec['byte_fallback'], 'model.byte_fallback', false),
    idOf: (token) => ids.get(token),
  });
  return { tokens, unknownToken: unknownId === undefined ? undefined : tokens[unknownId], bpe: undefined, model };
}

function readWordPiece(spec: JsonObject, vocab: TokenIndex): JsonModel {
  const unknownToken = optionalString(spec['unk_token'], 'model.unk_token') ?? '[UNK]';
  const prefix = optionalString(spec['continuing_subword_prefix'], 'model.continuing_subword_prefix');
  const model = new WordPiece({
    idOf: (token) => vocab.idOf(token),
    unknownId: unknownId(vocab, unknownToken),
    continuingSubwordPrefix: prefix ?? '##',
    maxInputCharsPerWord: number(spec['max_input_chars_per_word'], 'model.max_input_chars_per_word', 100),
  });
  return { tokens: vocab.tokens, unknownToken, bpe: undefined, model };
}
