import type { ByteBpe } from '../bpe/byte-bpe.js';
import { isObject, type JsonObject } from '../json/access.js';
import { byteLevelSplit, preTokenizerFromJson } from '../pre-tokenizers/from-json.js';
import { sequence } from '../pre-tokenizers/pre-tokenizer.js';
import { GPT2_PATTERN, scannerFor } from '../scanners/patterns.js';
import { ByteBpeEncoder } from './byte-bpe-encoder.js';
import type { SegmentEncoder } from './model.js';
import { ByteBpePieces, PieceEncoder } from './piece-encoder.js';

/** The ByteLevel step that ends a pre-tokenizer. */
export interface ByteLevelSpec {
  readonly addPrefixSpace: boolean;
  readonly useRegex: boolean;
}

/** A pre-tokenizer section and where it stands. */
export interface Step {
  readonly spec: JsonObject;
  readonly path: string;
}

/** Byte-level BPE behind `steps`: with a scanner where there is one, else piece by piece. */
export function createByteLevel(steps: readonly Step[], byteLevel: ByteLevelSpec, bpe: ByteBpe): SegmentEncoder {
  const patterns = steps.map(isolatedPattern);
  if (!patterns.includes(undefined) && (steps.length === 0 || !(byteLevel.useRegex || byteLevel.addPrefixSpace))) {
    const all = byteLevel.useRegex ? [...patterns, GPT2_PATTERN] : patterns;
    const scanner = scannerFor(all as string[]);
    if (scanner !== undefined || all.length === 0) return new ByteBpeEncoder(bpe, scanner, byteLevel.addPrefixSpace);
  }
  const splits = steps.map(({ spec, path }) => preTokenizerFromJson(spec, path));
  splits.push(byteLevelSplit(byteLevel.addPrefixSpace, byteLevel.useRegex));
  return new PieceEncoder(sequence(splits), new ByteBpePieces(bpe));
}

/** The pattern of a split that keeps both matches and gaps, which is also what "remove what does not match" amounts to when all text matches. */
function isolatedPattern({ spec }: Step): string | undefined {
  if (spec['type'] !== 'Split' || !isObject(spec['pattern'])) return undefined;
  const regex = spec['pattern']['Regex'];
  if (typeof regex !== 'string') return undefined;
  const inverted = spec['invert'] === true;
  if (spec['behavior'] === 'Isolated') return regex;
  return spec['behavior'] === 'Removed' && inverted && regex.endsWith('|\\s+') ? regex : undefined;
}
