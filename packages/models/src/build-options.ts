import type { DimSymbol, Numerics } from './contract.js';
import type { ModelConfig } from './config/model-config.js';
import { BuildOptionError } from './errors.js';

export interface BuildOptions {
  readonly numerics: Numerics;
  /** Largest step: T tokens, S sequences, R rows with logits, B KV blocks of one sequence. */
  readonly maxDims: Readonly<Record<DimSymbol, number>>;
  /** Token slots of a KV block. */
  readonly blockSize: number;
  /** Element type of the KV cache. Default: f32 in exact numerics (which takes no other), the checkpoint's dtype in fast. */
  readonly kvDtype?: 'f32' | 'f16' | 'bf16';
  /** Longest sequence that will run, in tokens; picks LongRoPE's set of factors. Default: B * blockSize, at most the model's own limit. */
  readonly maxSequenceLength?: number;
  /** `logits`: output `logits` [R, V]. `sample`: the sampler's outputs. Default `logits`. */
  readonly outputs?: 'logits' | 'sample';
  /** `sample`: most logprobs that a request may ask for, at least 1. Default 20. */
  readonly topLogprobs?: number;
  /** Also output `hidden` [T, D], every token's state after the final norm: what a multi-token-prediction module takes. Default false. */
  readonly hiddenStates?: boolean;
}

export type CheckedBuildOptions = Required<BuildOptions>;

/** Completes the options for a model. @throws BuildOptionError */
export function checkedBuildOptions(config: ModelConfig, options: BuildOptions): CheckedBuildOptions {
  const capacity = options.maxDims.B * options.blockSize;
  const maxSequenceLength = options.maxSequenceLength ?? Math.min(capacity, config.maxPositions);
  if (!Number.isSafeInteger(maxSequenceLength) || maxSequenceLength < 1 || maxSequenceLength > config.maxPositions) {
    throw new BuildOptionError(
      'maxSequenceLength',
      maxSequenceLength,
      `1 to ${config.maxPositions}, the model's own limit`,
    );
  }
  const topLogprobs = options.topLogprobs ?? 20;
  if (!Number.isSafeInteger(topLogprobs) || topLogprobs < 1 || topLogprobs > config.vocabSize) {
    throw new BuildOptionError('topLogprobs', topLogprobs, `1 to ${config.vocabSize}`);
  }
  return {
    numerics: options.numerics,
    maxDims: options.maxDims,
    blockSize: options.blockSize,
    kvDtype: options.kvDtype ?? (options.numerics === 'exact' ? 'f32' : config.dtype),
    maxSequenceLength,
    outputs: options.outputs ?? 'logits',
    topLogprobs,
    hiddenStates: options.hiddenStates ?? false,
  };
}
