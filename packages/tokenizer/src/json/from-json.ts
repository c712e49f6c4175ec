import { ByteBpe } from '../bpe/byte-bpe.js';
import { CharBpe } from '../bpe/char-bpe.js';
import { decoderFromJson } from '../decoders/from-json.js';
import { TokenizerFormatError } from '../errors.js';
import { type ByteLevelSpec, createByteLevel, type Step } from '../models/byte-level-encoder.js';
import { PieceEncoder } from '../models/piece-encoder.js';
import { preTokenizerFromJson } from '../pre-tokenizers/from-json.js';
import type { SegmentEncoder } from '../models/model.js';
import { isIdentity, normalizerFromJson } from '../normalizers/from-json.js';
import { frameFromJson } from '../post-processors/post-processor.js';
import type { TokenizerParts } from '../tokenizer-parts.js';
import type { Slices } from '../slices.js';
import { type AddedToken, Vocabulary } from '../vocabulary.js';
import { array, boolean, type JsonObject, object, string, tokenId } from './access.js';
import { readConfig } from './config.js';
import { type JsonModel, readModel } from './model.js';
import { readTokenizerJson } from './read.js';

/** Reads tokenizer.json and, optionally, tokenizer_config.json. */
export function* tokenizerFromJson(json: string | object, config?: string | object): Slices<TokenizerParts> {
  const source = yield* readTokenizerJson(json);
  const { root } = source;
  const settings = readConfig(config === undefined ? {} : parse(config, 'tokenizer_config.json'));
  const model = readModel(source);
  const added = readAddedTokens(root['added_tokens'] ?? [], settings.addedTokens);
  const vocabulary = new Vocabulary(model.tokens.slice(), added);
  yield* vocabulary.index();
  const encoder = yield* createEncoder(root['pre_tokenizer'], model);
  yield;
  const frame = frameFromJson(root['post_processor'], 'post_processor');
  const specialTokens = settings.specialTokens(vocabulary, model.unknownToken);
  return {
    vocabulary,
    normalizer: isIdentity(root['normalizer']) ? undefined : normalizerFromJson(root['normalizer'], 'normalizer'),
    encoder,
    decoder: decoderFromJson(root['decoder'], 'decoder', vocabulary.tokens),
    frame: settings.completeFrame(frame, specialTokens),
    specialTokens,
    chatTemplate: settings.chatTemplate,
  };
}

function parse(value: string | object, path: string): JsonObject {
  if (typeof value !== 'string') return object(value, path);
  try {
    return object(JSON.parse(value), path);
  } catch (error) {
    if (error instanceof TokenizerFormatError) throw error;
    throw new TokenizerFormatError(path, `not valid JSON: ${(error as Error).message}`);
  }
}

function readAddedTokens(value: unknown, extra: readonly AddedToken[]): AddedToken[] {
  const tokens = array(value, 'added_tokens').map((entry, i): AddedToken => {
    const path = `added_tokens[${i}]`;
    const spec = object(entry, path);
    const special = boolean(spec['special'], `${path}.special`, false);
    return {
      id: tokenId(spec['id'], `${path}.id`),
      content: string(spec['content'], `${path}.content`),
      special,
      normalized: boolean(spec['normalized'], `${path}.normalized`, !special),
      lstrip: boolean(spec['lstrip'], `${path}.lstrip`, false),
      rstrip: boolean(spec['rstrip'], `${path}.rstrip`, false),
      singleWord: boolean(spec['single_word'], `${path}.single_word`, false),
    };
  });
  const ids = new Set(tokens.map((token) => token.id));
  for (const token of extra) if (!ids.has(token.id)) tokens.push(token);
  return tokens;
}

/** The pre-tokenizer and the model as one encoder; byte-level BPE takes the fast way. */
function* createEncoder(preTokenizer: unknown, model: JsonModel): Slices<SegmentEncoder> {
  const steps = flatten(preTokenizer, 'pre_tokenizer');
  const last = steps.at(-1);
  if (
    model.bpe !== undefined &&
    !model.bpe.decorated &&
    !model.bpe.byteFallback &&
    last?.spec['type'] === 'ByteLevel'
  ) {
    const byteLevel: ByteLevelSpec = {
      addPrefixSpace: boolean(last.spec['add_prefix_space'], `${last.path}.add_prefix_space`, true),
      useRegex: boolean(last.spec['use_regex'], `${last.path}.use_regex`, true),
    };
    return createByteLevel(steps.slice(0, -1), byteLevel, yield* ByteBpe.create(model.bpe));
  }
  const split = steps.length === 0 ? undefined : preTokenizerFromJson(preTokenizer, 'pre_tokenizer');
  if (model.bpe !== undefined) return new PieceEncoder(split, new CharBpe(model.bpe));
  return new PieceEncoder(split, model.model!);
}

function flatten(value: unknown, path: string): Step[] {
  if (value === null || value === undefined) return [];
  const spec = object(value, path);
  if (spec['type'] !== 'Sequence') return [{ spec, path }];
  return array(spec['pretokenizers'], `${path}.pretokenizers`).flatMap((part, i) =>
    flatten(part, `${path}.pretokenizers[${i}]`),
  );
}
