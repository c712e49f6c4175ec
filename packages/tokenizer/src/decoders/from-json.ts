import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import { array, boolean, isObject, type JsonObject, number, object, string } from '../json/access.js';
import { patternFinder } from '../pre-tokenizers/from-json.js';
import { ByteLevelDecoder } from './byte-level-decoder.js';
import { ChainDecoder, type DecoderStep } from './chain-decoder.js';
import type { TokenDecoder } from './decoder.js';
import { SentencePieceDecoder, type SentencePieceRules } from './sentencepiece-decoder.js';
import { bpeSuffix, byteFallback, byteLevelStep, ctc, fuse, stripStep, wordPiece } from './steps.js';

type Tokens = readonly (string | undefined)[];

/** The decoder that a `decoder` section describes; without one, tokens are joined with spaces. */
export function decoderFromJson(value: unknown, path: string, tokens: Tokens): TokenDecoder {
  if (value === null || value === undefined) return new ChainDecoder(tokens, [], ' ');
  const parts = flatten(value, path);
  if (parts.length === 1 && parts[0]!.spec['type'] === 'ByteLevel') return new ByteLevelDecoder(tokens);
  const rules = sentencePieceRules(parts);
  if (rules !== undefined) return new SentencePieceDecoder(tokens, rules);
  return new ChainDecoder(
    tokens,
    parts.map(({ spec, path: at }) => stepFromJson(spec, at)),
    '',
  );
}

interface Part {
  readonly spec: JsonObject;
  readonly path: string;
}

function flatten(value: unknown, path: string): Part[] {
  const spec = object(value, path);
  if (spec['type'] !== 'Sequence') return [{ spec, path }];
  return array(spec['decoders'], `${path}.decoders`).flatMap((part, i) => flatten(part, `${path}.decoders[${i}]`));
}

/** Chains of the shape Replace* / Metaspace, ByteFallback?, Fuse?, Strip(start)? take the fast incremental decoder. */
function sentencePieceRules(parts: readonly Part[]): SentencePieceRules | undefined {
  const maps: ((token: string, first: boolean) => string)[] = [];
  let strip: SentencePieceRules['strip'];
  let stage = 0; // 0: per token, 1: after ByteFallback, 2: after Fuse, 3: after Strip
  let hasBytes = false;
  for (const { spec, path } of parts) {
    switch (spec['type']) {
      case 'Replace': {
        if (stage > 0) return undefined;
        const replace = replacement(spec, path);
        maps.push((token) => replace(token));
        break;
      }
      case 'Metaspace':
        if (stage > 0) return undefined;
        maps.push(metaspaceMap(spec, path));
        break;
      case 'ByteFallback':
        if (stage > 0) return undefined;
        stage = 1;
        hasBytes = true;
        break;
      case 'Fuse':
        if (stage > 1) return undefined;
        stage = 2;
        break;
      case 'Strip': {
        if (stage !== 2 || number(spec['stop'], `${path}.stop`, 0) > 0) return undefined;
        stage = 3;
        strip = {
          content: string(spec['content'], `${path}.content`),
          count: number(spec['start'], `${path}.start`, 0),
        };
        if (strip.content === '') throw new TokenizerFormatError(`${path}.content`, 'must not be empty');
        break;
      }
      default:
        return undefined;
    }
  }
  return {
    textOf: (token, first) => maps.reduce((text, map) => map(text, first), token),
    byteFallback: hasBytes,
    strip,
  };
}

function replacement(spec: JsonObject, path: string): (text: string) => string {
  const content = string(spec['content'], `${path}.content`);
  const pattern = spec['pattern'];
  if (isObject(pattern) && typeof pattern['String'] === 'string' && pattern['String'] !== '') {
    const literal = pattern['String'];
    return (text) => text.replaceAll(literal, () => content);
  }
  const find = patternFinder(pattern, `${path}.pattern`);
  return (text) => {
    let result = '';
    let start = 0;
    find(text, (end, isMatch) => {
      result += isMatch ? content : text.slice(start, end);
      start = end;
    });
    return result;
  };
}

function metaspaceMap(spec: JsonObject, path: string): (token: string, first: boolean) => string {
  const mark = string(spec['replacement'], `${path}.replacement`);
  const scheme = spec['prepend_scheme'] ?? (boolean(spec['add_prefix_space'], path, true) ? 'always' : 'never');
  return (token, first) => token.replaceAll(mark, first && scheme !== 'never' ? '' : ' ');
}

function stepFromJson(spec: JsonObject, path: string): DecoderStep {
  const type = string(spec['type'], `${path}.type`);
  switch (type) {
    case 'ByteLevel':
      return byteLevelStep;
    case 'ByteFallback':
      return byteFallback;
    case 'Fuse':
      return fuse;
    case 'Metaspace': {
      const map = metaspaceMap(spec, path);
      return (tokens) => tokens.map((token, i) => map(token, i === 0));
    }
    case 'Replace': {
      const replace = replacement(spec, path);
      return (tokens) => tokens.map(replace);
    }
    case 'Strip':
      return stripStep(
        string(spec['content'], `${path}.content`),
        number(spec['start'], `${path}.start`, 0),
        number(spec['stop'], `${path}.stop`, 0),
      );
    case 'WordPiece':
      return wordPiece(string(spec['prefix'] ?? '##', `${path}.prefix`), boolean(spec['cleanup'], path, true));
    case 'BPEDecoder':
      return bpeSuffix(string(spec['suffix'] ?? '</w>', `${path}.suffix`));
    case 'CTC':
      return ctc(
        string(spec['pad_token'] ?? '<pad>', `${path}.pad_token`),
        string(spec['word_delimiter_token'] ?? '|', `${path}.word_delimiter_token`),
        boolean(spec['cleanup'], path, true),
      );
  }
  throw new UnsupportedTokenizerError('decoder', type, [
    'ByteLevel',
    'ByteFallback',
    'Fuse',
    'Metaspace',
    'Replace',
    'Strip',
    'WordPiece',
    'BPEDecoder',
    'CTC',
    'Sequence',
  ]);
}
