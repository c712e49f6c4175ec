import { MergeTable } from '../bpe/merge-table.js';
import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import type { Model } from '../models/model.js';
import { Unigram } from '../models/unigram.js';
import { WordPiece } from '../models/wordpiece.js';
import { array, boolean, type JsonObject, number, object, optionalString, string, tokenId } from './access.js';

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

export function readModel(spec: JsonObject): JsonModel {
  // Files from before the field was written are told apart by their content.
  const type = optionalString(spec['type'], 'model.type') ?? guessType(spec);
  switch (type) {
    case 'BPE':
      return readBpe(spec);
    case 'Unigram':
      return readUnigram(spec);
    case 'WordPiece':
      return readWordPiece(spec);
  }
  throw new UnsupportedTokenizerError('model', type, ['BPE', 'Unigram', 'WordPiece']);
}

function guessType(spec: JsonObject): string {
  if (spec['merges'] !== undefined) return 'BPE';
  return Array.isArray(spec['vocab']) ? 'Unigram' : 'WordPiece';
}

/** `{token: id}` as ids by token and tokens by id. */
function readVocab(value: unknown): { ids: Map<string, number>; tokens: (string | undefined)[] } {
  const vocab = object(value, 'model.vocab');
  const ids = new Map<string, number>();
  let size = 0;
  for (const token in vocab) {
    const id = tokenId(vocab[token], `model.vocab[${JSON.stringify(token)}]`);
    ids.set(token, id);
    if (id >= size) size = id + 1;
  }
  const tokens: (string | undefined)[] = [];
  for (let id = 0; id < size; id++) tokens.push(undefined);
  for (const [token, id] of ids) tokens[id] = token;
  return { ids, tokens };
}

function readBpe(spec: JsonObject): JsonModel {
  const dropout = spec['dropout'];
  if (typeof dropout === 'number' && dropout > 0) {
    throw new UnsupportedTokenizerError('model.dropout', String(dropout), ['null', '0'], 'Encoding here is exact.');
  }
  const { ids, tokens } = readVocab(spec['vocab']);
  const prefix = optionalString(spec['continuing_subword_prefix'], 'model.continuing_subword_prefix') ?? '';
  const suffix = optionalString(spec['end_of_word_suffix'], 'model.end_of_word_suffix') ?? '';
  const list = array(spec['merges'], 'model.merges');
  const merges = new MergeTable(list.length);
  for (let rank = 0; rank < list.length; rank++) addMerge(merges, ids, list[rank], rank, prefix.length);
  const unknownToken = optionalString(spec['unk_token'], 'model.unk_token');
  const unknownId = unknownToken === undefined ? undefined : ids.get(unknownToken);
  if (unknownToken !== undefined && unknownId === undefined) {
    throw new TokenizerFormatError('model.unk_token', `${JSON.stringify(unknownToken)} is not in the vocabulary`);
  }
  const bpe: JsonBpe = {
    tokens,
    idOf: (token) => ids.get(token),
    merges,
    byteFallback: boolean(spec['byte_fallback'], 'model.byte_fallback', false),
    unknownId,
    fuseUnknown: boolean(spec['fuse_unk'], 'model.fuse_unk', false),
    ignoreMerges: boolean(spec['ignore_merges'], 'model.ignore_merges', false),
    continuingSubwordPrefix: prefix,
    endOfWordSuffix: suffix,
    decorated: prefix !== '' || suffix !== '',
  };
  return { tokens, unknownToken, bpe, model: undefined };
}

function addMerge(
  merges: MergeTable,
  ids: ReadonlyMap<string, number>,
  entry: unknown,
  rank: number,
  prefix: number,
): void {
  let left: unknown;
  let right: unknown;
  if (typeof entry === 'string') {
    const space = entry.indexOf(' ');
    if (space > 0 && entry.indexOf(' ', space + 1) < 0) {
      left = entry.slice(0, space);
      right = entry.slice(space + 1);
    }
  } else if (Array.isArray(entry) && entry.length === 2) {
    [left, right] = entry as unknown[];
  }
  if (typeof left !== 'string' || typeof right !== 'string') {
    throw new TokenizerFormatError(`model.merges[${rank}]`, 'expected two tokens');
  }
  const a = ids.get(left);
  const b = ids.get(right);
  const merged = ids.get(left + (prefix > 0 ? right.slice(prefix) : right));
  if (a === undefined || b === undefined || merged === undefined) {
    const missing = a === undefined ? left : b === undefined ? right : left + right;
    throw new TokenizerFormatError(`model.merges[${rank}]`, `${JSON.stringify(missing)} is not in the vocabulary`);
  }
  merges.add(a, b, rank, merged);
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

function readWordPiece(spec: JsonObject): JsonModel {
  const { ids, tokens } = readVocab(spec['vocab']);
  const unknownToken = optionalString(spec['unk_token'], 'model.unk_token') ?? '[UNK]';
  const unknownId = ids.get(unknownToken);
  if (unknownId === undefined) {
    throw new TokenizerFormatError('model.unk_token', `${JSON.stringify(unknownToken)} is not in the vocabulary`);
  }
  const model = new WordPiece({
    idOf: (token) => ids.get(token),
    unknownId,
    continuingSubwordPrefix:
      optionalString(spec['continuing_subword_prefix'], 'model.continuing_subword_prefix') ?? '##',
    maxInputCharsPerWord: number(spec['max_input_chars_per_word'], 'model.max_input_chars_per_word', 100),
  });
  return { tokens, unknownToken, bpe: undefined, model };
}
